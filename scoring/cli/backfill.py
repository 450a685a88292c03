"""``da-score backfill``: bring one or many logs up to date."""

import itertools
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from rubric import find_rubric
from scoring.cli.app import PATH, SCORING_OPTIONS, Whole, shared_options, swept
from scoring.cli.output import reply, say, warn
from scoring.cli.reading import broken_entries, settings_of, without_effect
from scoring.errors import DaScoreError, OptionError
from scoring.evidence.rules import rules_of
from scoring.jobs.backfill import BackfillPlan, LogJob, LogReport, backfill_logs
from scoring.log.find import FoundLog, find_logs, roots_from_file
from scoring.log.selection import parse_day
from scoring.log.settings import cache_dir_of, resolve_settings
from scoring.text import printable, spans
from scoring.views.table import Block, Column, Line, Table, pairs


@click.command(epilog="Example:  da-score backfill . --dry-run")
@click.argument("roots", nargs=-1, type=PATH, metavar="[ROOT]...")
@shared_options(*(name for name in SCORING_OPTIONS if name != "iter-log-dir"))
@click.option("--from-file", type=PATH, metavar="LIST", help="Read roots from a file, one a line.")
@click.option(
    "--dry-run", is_flag=True, help="Say what would be scored and why, and write nothing."
)
@click.option("--force", is_flag=True, help="Score what is up to date too.")
@click.option(
    "--refresh-git", is_flag=True, help="Score also where only git says something else now."
)
@click.option(
    "--allow-evidence-loss", is_flag=True, help="Replace sidecars where transcripts are gone."
)
@click.option("--since", metavar="DATE", help="Only iterations of this day (YYYY-MM-DD) or later.")
@click.option(
    "--only",
    metavar="SIGNAL",
    help="Only iterations where this signal is absent, or without a sidecar.",
)
@click.option(
    "--jobs",
    "at_once",
    type=Whole(1, 64),
    metavar="K",
    help="Logs at once.  [default: one per core]",
)
def command(
    roots: tuple[Path, ...],
    options: dict[str, Any],
    from_file: Path | None,
    since: str | None,
    only: str | None,
    at_once: int | None,
    **flags: bool,
) -> None:
    """Score what is missing or out of date in the logs at ROOT: no sidecar, another rubric, or changed inputs.

    A ROOT is a repository, a folder of repositories, or a log directory; by default the current directory. Skips what
    is up to date, continues past a broken log, can be interrupted and started again. Exit 1 when a log failed.
    """
    settings = swept(resolve_settings(options))
    rubric = find_rubric(settings.rubric)
    if only is not None and rubric.signal(only) is None:
        raise OptionError(f"--only {only!r} is no signal of rubric {rubric.version}")
    found = find_logs(
        [*roots, *(roots_from_file(from_file) if from_file else ())] or [settings.repo_dir]
    )
    wanted = min(at_once or os.cpu_count() or 1, len(found))
    plan = BackfillPlan(
        rubric,
        since=None if since is None else parse_day(since),
        only_absent=only,
        cache_dir=cache_dir_of(settings),
        processes=settings.processes if wanted == 1 else 1,
        **flags,
    )
    reports: list[LogReport] = []
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        jobs, broken = _jobs(found, options)
        done: Iterable[LogReport] = itertools.chain(broken, backfill_logs(jobs, plan, wanted))
        if drawn := sys.stderr is not None and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import track

            done = track(done, "backfill", len(found), console=Console(stderr=True), transient=True)
        for report in done:
            reports.append(report)
            if not (drawn or settings.json):
                say(_log_line(report, plan.dry_run))
            for text in report.warnings:
                warn(text)
            broken_entries(
                *report.broken[report.error is not None :]
            )  # the first is the error of a log that failed
    finally:
        signal.signal(signal.SIGTERM, previous)
    order = [log.iter_log_dir for log in found]
    reports.sort(key=lambda report: order.index(report.iter_log_dir))
    head = {
        "rubric_version": rubric.version,
        "dry_run": plan.dry_run,
        "totals": _backfill_totals(reports),
    }
    reply(
        settings.json,
        {**head, "logs": [report.as_dict() for report in reports]},
        _backfill_page(reports, plan),
    )
    if failed := [r for r in reports if r.error]:
        raise DaScoreError(
            f"{len(failed)} of {len(reports)} logs failed; each is named above with its error"
        )


def _jobs(found: list[FoundLog], options: dict[str, Any]) -> tuple[list[LogJob], list[LogReport]]:
    jobs: list[LogJob] = []
    broken: list[LogReport] = []
    for log in found:
        try:
            settings = settings_of(log, options)
            rubric = find_rubric(settings.rubric)
        except DaScoreError as e:
            broken.append(LogReport(log.iter_log_dir, error=str(e)))
            continue
        for text in without_effect(settings, rules_of(rubric)):
            warn(f"{log.iter_log_dir}: {text}")
        jobs.append(LogJob(log.iter_log_dir, settings, rubric))
    return jobs, broken


def _log_line(report: LogReport, dry_run: bool) -> str:
    place = printable(str(report.iter_log_dir))
    if report.error:
        return f"{place}: failed: {printable(report.error)}\n"
    parts = [
        f"{len(report.scored)} {'to score' if dry_run else 'scored'}",
        f"{report.up_to_date} up to date",
    ]
    more = {
        "kept (evidence lost)": len(report.kept),
        "with other answers of git": len(report.git_changed),
    }
    more |= {"passed over": report.passed_over}
    return f"{place}: {', '.join([*parts, *(f'{count} {what}' for what, count in more.items() if count)])}\n"


def _backfill_page(reports: Sequence[LogReport], plan: BackfillPlan) -> Iterator[Block]:
    totals = _backfill_totals(reports)
    counts = {
        "LOGS": totals["logs"],
        f"ITERATIONS {'would be scored' if plan.dry_run else 'scored'}": totals["scored"],
        "           up to date": totals["up_to_date"],
        "           kept": totals["kept"],
        "           passed over": totals["passed_over"],
        "LOGS failed": totals["failed"],
        "TIME": f"{totals['seconds']:.1f} s",
    }
    head = f"Backfill — rubric {plan.rubric.version}{' (dry run)' if plan.dry_run else ''}"
    yield from (Line(), Line(head, "bold"), Line())
    yield pairs([(name, str(count)) for name, count in counts.items()], 26)
    kept = [
        (r, f"{iteration}: {' and '.join(lost)}")
        for r in reports
        for iteration, lost in r.kept.items()
    ]
    by_git = [(r, spans(r.git_changed)) for r in reports if r.git_changed]
    for title, texts in (
        ("Why", [(r, text) for r in reports if plan.dry_run for text in _by_reason(r)]),
        ("Kept, because the transcripts no longer cover the window", kept),
        ("Git answers differently (--refresh-git scores these)", by_git),
        ("Failed", [(r, r.error) for r in reports if r.error]),
    ):
        if texts:
            yield from (Line(), Line(f"{title}:"))
            yield from (Line(f"  {report.iter_log_dir}: {text}") for report, text in texts)
    absent: Counter[tuple[str, str]] = sum((r.absent for r in reports), Counter())
    if absent:
        yield Line()
        found = sorted(absent.items(), key=lambda item: (-item[1], item[0]))
        columns = [
            Column(head, width=width) for head, width in (("ABSENT SIGNAL", 20), ("ITERATIONS", 10))
        ]
        columns.append(Column("REASON", prose=True, width=0))
        yield Table(columns, [(signal, count, reason) for (signal, reason), count in found])


def _backfill_totals(reports: Sequence[LogReport]) -> dict[str, Any]:
    return {
        "logs": len(reports),
        "scored": sum(len(r.scored) for r in reports),
        "up_to_date": sum(r.up_to_date for r in reports),
        "kept": sum(len(r.kept) for r in reports),
        "git_changed": sum(len(r.git_changed) for r in reports),
        "passed_over": sum(r.passed_over for r in reports),
        "failed": sum(r.error is not None for r in reports),
        "seconds": round(sum(r.seconds for r in reports), 3),
    }


def _by_reason(report: LogReport) -> list[str]:
    reasons: dict[str, list[int]] = {}
    for iteration, reason in report.scored.items():
        reasons.setdefault(reason, []).append(iteration)
    return [f"{spans(iterations)}: {reason}" for reason, iterations in reasons.items()]
