"""``da-score derive``: write the entries that are missing."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from scoring.cli.init import write_settings_as_found
from scoring.cli.options import EVIDENCE_OPTIONS, PATH, shared_options
from scoring.cli.output import reply, say, warn
from scoring.cli.reading import settings_of_whole_repository, sources
from scoring.evidence.rules import ATTRIBUTED
from scoring.jobs.derive import Derivation, DerivedEntry, derive
from scoring.jobs.derive_runs import derive_runs
from scoring.log.find import holds_entries
from scoring.log.selection import first_day
from scoring.log.settings import Settings
from scoring.text import counted, printable
from scoring.views.table import Block, Column, Line, Table

_RUN_COLUMNS = {
    "iteration": "ITER",
    "source": "RUN",
    "task": "TASK",
    "harness": "HARNESS",
    "reward": "REWARD",
}

_ENTRY_COLUMNS = (
    Column("ITER", width=6),
    Column("DATE", width=10),
    Column("COMMIT", width=12),
    Column("FOUND BY", width=10),
    Column("SESSION", width=36),
    Column("SUMMARY", width=0),
)

_SKIPPED_COLUMNS = (Column("SKIPPED", width=12), Column("REASON", width=0, prose=True))


@click.command(epilog="Example:  da-score derive --since 2026-06-01 --dry-run")
@shared_options(*EVIDENCE_OPTIONS)
@click.option("--since", metavar="DAYS", help="Only commits from the first of these days on.")
@click.option("--mine", is_flag=True, help="Only your work, by your name and address in git.")
@click.option(
    "--author",
    "authors",
    multiple=True,
    metavar="NAME|EMAIL",
    help="Only the work of this author.",
)
@click.option(
    "--landed-only", is_flag=True, help="Only commits of the trunk, and tips of local branches."
)
@click.option(
    "--assisted",
    is_flag=True,
    help="Also commits that only say that an agent assisted: Assisted-by, Generated with.",
)
@click.option(
    "--jobs",
    type=PATH,
    metavar="DIR",
    help="Entries of graded runs alone: Harbor jobs, or runs of da eval.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
def command(
    options: dict[str, Any],
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
    """
    settings = settings_of_whole_repository(options)
    if jobs is not None:
        _derive_runs(settings, jobs, dry_run)
        return

    is_bare = _has_neither_settings_nor_entries(settings, options)
    derivation = derive(
        settings.iter_log_dir,
        sources(settings, ATTRIBUTED),
        since=first_day(since),
        dry_run=dry_run,
        **which,
    )
    for text in derivation.broken:
        warn(f"{text}; left as it is")

    if is_bare and derivation.written and not dry_run:
        settings_file = write_settings_as_found(settings)
        if not settings.json:
            say(f"Wrote {printable(str(settings_file))}\n")
    reply(settings.json, derivation.as_dict(), _page(derivation, settings, dry_run))


def _has_neither_settings_nor_entries(settings: Settings, options: dict[str, Any]) -> bool:
    without_files = settings_of_whole_repository(options, files=False)
    return settings == without_files and not holds_entries(settings.iter_log_dir)


def _derive_runs(settings: Settings, jobs: Path, dry_run: bool) -> None:
    """Write the entries of graded runs below a folder, and print them."""
    runs = derive_runs(settings.iter_log_dir, settings.repo_dir, jobs, dry_run)
    rows: list[dict[str, Any]] = []
    for iteration, run in runs:
        rows.append({"iteration": iteration, "kind": "run", **run._asdict()})

    page = _runs_page(rows, settings, jobs, dry_run)
    reply(settings.json, {"written": rows, "skipped": []}, page)


def _runs_page(
    rows: Sequence[dict[str, Any]],
    settings: Settings,
    jobs: Path,
    dry_run: bool,
) -> Iterator[Block]:
    if rows:
        columns = [Column(head) for head in _RUN_COLUMNS.values()]
        cells = [[_run_cell(row[key]) for key in _RUN_COLUMNS] for row in rows]
        yield Table(columns, cells)
        yield Line()

    count = counted(len(rows), "entry", "entries")
    if dry_run:
        yield Line(f"Would write {count} to {settings.iter_log_dir}")
    elif rows:
        advice = f"score them with: da-score run --transcript-dir {jobs}"
        yield Line(f"Wrote {count} to {settings.iter_log_dir}; {advice}")
    else:
        yield Line(f"Wrote {count} to {settings.iter_log_dir}")


def _run_cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    return printable(str(value))


def _page(derivation: Derivation, settings: Settings, dry_run: bool) -> Iterator[Block]:
    if derivation.written:
        yield Table(_ENTRY_COLUMNS, [_entry_row(entry) for entry in derivation.written])
        yield Line()

    if derivation.skipped:
        skipped = [(each.commit[:12], each.reason) for each in derivation.skipped]
        yield Table(_SKIPPED_COLUMNS, skipped)
        yield Line()

    count = counted(len(derivation.written), "entry", "entries")
    if dry_run:
        yield Line(f"Would write {count} to {settings.iter_log_dir}")
    elif derivation.written:
        yield Line(f"Wrote {count} to {settings.iter_log_dir}; score them with: da-score run")
    elif derivation.skipped:
        yield Line("Every commit of an agent has its entry; nothing was written")
    else:
        yield Line(
            "No commit of an agent was found: no commit names a checkpoint, no agent is author or "
            "co-author of one, and no transcript shows one being made. da-score doctor shows which "
            "transcripts are found; da-score log entry new writes an entry by hand"
        )


def _entry_row(entry: DerivedEntry) -> tuple[int | str, ...]:
    sessions = "-"
    if entry.session_ids:
        sessions = entry.session_ids[0]
    if len(entry.session_ids) > 1:
        sessions += f" +{len(entry.session_ids) - 1}"

    return (
        entry.iteration,
        entry.commit.date,
        entry.commit.sha[:12] or "-",
        entry.found_by,
        sessions,
        entry.commit.subject or "-",
    )
