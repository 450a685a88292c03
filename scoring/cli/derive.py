"""``da-score derive``: write the entries that are missing."""

from pathlib import Path
from typing import Any

import click

from scoring.frozen import PlainData
from scoring.jobs.derive import Derivation, DerivedEntry, derive, derive_runs
from scoring.log.find import holds_entries
from scoring.log.selection import first_day
from scoring.log.settings import Settings
from scoring.text import counted, printable, short
from scoring.views.table import Block, Cells, Column, Page, Table

from .init import write_settings_as_found
from .options import (
    EVIDENCE_OPTIONS,
    FROM_DAYS,
    PATH,
    author_options,
    flag,
    shared_options,
    valued,
)
from .output import progress, reply, say, warn
from .reading import observing_sources, settings_of_whole_repository

_RUN_COLUMNS = {
    "iteration": "ITER",
    "source": "RUN",
    "task": "TASK",
    "harness": "HARNESS",
    "reward": "REWARD",
}

_ENTRY_COLUMNS = ("ITER", "DATE", "COMMIT", "FOUND BY", "SESSION", "SUMMARY")
_SKIPPED_COLUMNS = ("SKIPPED", Column("REASON", prose=True))


@click.command
@shared_options(*EVIDENCE_OPTIONS)
@valued("--since", "DAYS", f"Only commits {FROM_DAYS}")
@author_options
@flag("--landed-only", "Only commits of the trunk, and tips of local branches.")
@flag(
    "--assisted",
    "Also commits that only say that an agent assisted: Assisted-by, Generated with.",
)
@valued(
    "--jobs",
    "DIR",
    "Entries of graded runs alone: Harbor jobs, or runs of da eval.",
    type=PATH,
)
@flag("--dry-run", "Say what would be written, and write nothing.")
def command(
    options: PlainData,
    since: str | None,
    jobs: Path | None,
    dry_run: bool,
    **which: Any,
) -> None:
    """Write an entry for every commit of an agent that has none.

    A commit is an agent's when it names a checkpoint, when a transcript shows a session making
    it, or when an agent is its author, committer or co-author. Looks at the commits of the trunk,
    without merges, and at work that is on no trunk: on any branch, in checkpoints that no commit
    names, and in transcripts alone. An entry says what git and the session show, and claims
    nothing. Never changes an entry that exists. In a repository without settings and log, also
    writes the settings that init would write.

    Example:  da-score derive --since 2026-06-01 --dry-run
    """
    settings = settings_of_whole_repository(options)
    if jobs is not None:
        _derive_runs(settings, jobs, dry_run)
        return

    without_files = settings_of_whole_repository(options, files=False)
    is_bare = settings == without_files and not holds_entries(settings.iter_log_dir)
    with progress("Looking for commits of agents"):
        derivation = derive(
            settings.iter_log_dir,
            observing_sources(settings),
            since=first_day(since),
            dry_run=dry_run,
            **which,
        )
    for text in derivation.broken:
        warn(f"{text}; left as it is")

    if is_bare and derivation.written and not dry_run:
        settings_file = write_settings_as_found(settings)
        if not settings.json:
            say(f"Wrote {printable(settings_file)}\n")
    reply(settings, derivation.as_dict(), _page(derivation, settings, dry_run))


def _derive_runs(settings: Settings, jobs: Path, dry_run: bool) -> None:
    """Write the entries of graded runs below a folder, and print them."""
    runs = derive_runs(settings.iter_log_dir, settings.repo_dir, jobs, dry_run)
    rows = [
        {"iteration": number, "kind": "run", **run._asdict()} for number, run in runs
    ]

    page: list[Block] = []
    if rows:
        cells = []
        for row in rows:
            texts = [
                str(row[key]) if row[key] is not None else "" for key in _RUN_COLUMNS
            ]
            cells.append([printable(text) or "-" for text in texts])
        page = [Table(list(_RUN_COLUMNS.values()), cells), ""]

    advice = f"; score them with: da-score run --transcript-dir {jobs}"
    page.append(_count_text(len(rows), settings, dry_run, advice))
    reply(settings, {"written": rows, "skipped": []}, page)


def _count_text(count: int, settings: Settings, dry_run: bool, advice: str) -> str:
    """Return how many entries were written, and what to do with them if there are any."""
    entries = f"{counted(count, 'entry', 'entries')} to {settings.iter_log_dir}"
    if dry_run:
        return f"Would write {entries}"
    return f"Wrote {entries}{advice if count else ''}"


def _page(derivation: Derivation, settings: Settings, dry_run: bool) -> Page:
    """Yield the new entries, the commits that have one already, and what to do next."""
    if derivation.written:
        yield Table(_ENTRY_COLUMNS, [_entry_row(entry) for entry in derivation.written])
        yield ""

    if derivation.skipped:
        skipped = [(short(each.commit), each.reason) for each in derivation.skipped]
        yield Table(_SKIPPED_COLUMNS, skipped)
        yield ""

    if derivation.written:
        advice = "; score them with: da-score run"
        yield _count_text(len(derivation.written), settings, dry_run, advice)
    elif derivation.skipped:
        yield "Every commit of an agent has its entry; nothing is left to write"
    else:
        yield (
            "No commit of an agent was found: no commit names a checkpoint, no agent is author or "
            "co-author of one, and no transcript shows one being made. da-score doctor shows which "
            "transcripts are found; da-score work says what became of what a session wrote and a "
            "person committed; da-score log entry new writes an entry by hand"
        )


def _entry_row(entry: DerivedEntry) -> Cells:
    """Return the cells of an entry: of several sessions the first and the number of others."""
    sessions = "-"
    if entry.session_ids:
        sessions = entry.session_ids[0]
    if len(entry.session_ids) > 1:
        sessions += f" +{len(entry.session_ids) - 1}"

    commit = entry.commit
    sha = short(commit.sha) or "-"
    return (
        entry.iteration,
        commit.date,
        sha,
        entry.found_by,
        sessions,
        commit.subject or "-",
    )
