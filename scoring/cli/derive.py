"""``da-score derive``: write the entries that an agent's harness did not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from scoring.cli.app import EVIDENCE_OPTIONS, PATH, shared_options
from scoring.cli.init import settings_as_here
from scoring.cli.output import reply, say, warn
from scoring.cli.reading import settings_of_whole, sources
from scoring.evidence.rules import ATTRIBUTED
from scoring.jobs.derive import Derivation, derive, derive_runs
from scoring.log.find import holds_entries
from scoring.log.selection import parse_day
from scoring.log.settings import Settings
from scoring.text import counted, printable
from scoring.views.table import Block, Column, Line, Table


@click.command(epilog="Example:  da-score derive --since 2026-06-01 --dry-run")
@shared_options(*EVIDENCE_OPTIONS)
@click.option("--since", metavar="DATE", help="Only commits of this day (YYYY-MM-DD) or later.")
@click.option(
    "--mine", is_flag=True, help="Only your own work, by the name and address that git has of you."
)
@click.option(
    "--author", "authors", multiple=True, metavar="NAME|EMAIL", help="Only the work of an author."
)
@click.option(
    "--landed-only", is_flag=True, help="Only commits of the trunk, and tips of local branches."
)
@click.option(
    "--jobs",
    type=PATH,
    metavar="DIR",
    help="Entries of graded runs alone: Harbor jobs, or runs of da eval.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
def command(
    options: dict[str, Any], since: str | None, jobs: Path | None, dry_run: bool, **which: Any
) -> None:
    """Write an entry for every commit that an agent made and no entry names.

    An agent made a commit when the commit names a checkpoint, when a transcript shows a session making it, or when an
    agent is its co-author. Looks at the commits of the trunk, without merges, and at what became no commit of it: on
    any branch, in checkpoints that no commit names, and in transcripts alone. Fills in what git and the session say,
    claims nothing. Never changes an entry that is there. Where there are no settings and no log yet, writes the
    settings that 'init' would.
    """
    settings = settings_of_whole(options)
    bare = settings == settings_of_whole(options, files=False) and not holds_entries(
        settings.iter_log_dir
    )
    if jobs is not None:
        runs = derive_runs(settings.iter_log_dir, settings.repo_dir, jobs, dry_run)
        rows = [{"iteration": n, "kind": "run", **run._asdict()} for n, run in runs]
        reply(
            settings.json,
            {"written": rows, "skipped": []},
            _runs_page(rows, settings, jobs, dry_run),
        )
        return
    which["since"] = None if since is None else parse_day(since)
    done = derive(settings.iter_log_dir, sources(settings, ATTRIBUTED), dry_run=dry_run, **which)
    for text in done.broken:
        warn(f"{text}; left as it is")
    made = settings_as_here(settings) if bare and done.written and not dry_run else None
    if made and not settings.json:
        say(f"Wrote {printable(str(made))}\n")
    reply(settings.json, done.as_dict(), _page(done, settings, dry_run))


def _runs_page(
    rows: list[dict[str, Any]], settings: Settings, jobs: Path, dry_run: bool
) -> Iterator[Block]:
    if rows:
        heads = {
            "iteration": "ITER",
            "source": "RUN",
            "task": "TASK",
            "harness": "HARNESS",
            "reward": "REWARD",
        }
        shown = [
            ["-" if row[key] in (None, "") else printable(str(row[key])) for key in heads]
            for row in rows
        ]
        yield from (Table([Column(name) for name in heads.values()], shown), Line())
    count = counted(len(rows), "entry", "entries")
    score = (
        "" if dry_run or not rows else f"; score them with: da-score run --transcript-dir {jobs}"
    )
    yield Line(f"{'Would write' if dry_run else 'Wrote'} {count} to {settings.iter_log_dir}{score}")


def _page(done: Derivation, settings: Settings, dry_run: bool) -> Iterator[Block]:
    if done.written:
        heads = {"ITER": 6, "DATE": 10, "COMMIT": 12, "FOUND BY": 10, "SESSION": 36, "SUMMARY": 0}
        rows = []
        for n, commit, ids, found_by, *_ in done.written:
            session = f"{ids[0]}{f' +{len(ids) - 1}' if len(ids) > 1 else ''}" if ids else "-"
            rows.append(
                (n, commit.date, commit.sha[:12] or "-", found_by, session, commit.subject or "-")
            )
        yield Table([Column(name, width=width) for name, width in heads.items()], rows)
        yield Line()
    if done.skipped:
        columns = [Column("SKIPPED", width=12), Column("REASON", width=0, prose=True)]
        yield Table(columns, [(one.commit[:12], one.reason) for one in done.skipped])
        yield Line()
    count = counted(len(done.written), "entry", "entries")
    if dry_run:
        yield Line(f"Would write {count} to {settings.iter_log_dir}")
    elif done.written:
        yield Line(f"Wrote {count} to {settings.iter_log_dir}; score them with: da-score run")
    elif done.skipped:
        yield Line("Every commit of an agent has its entry; nothing was written")
    else:
        yield Line(
            "No commit of an agent was found: no commit names a checkpoint or an agent as co-author, and no transcript "
            "shows one being made. da-score doctor shows which transcripts are found; da-score entry new writes an "
            "entry by hand"
        )
