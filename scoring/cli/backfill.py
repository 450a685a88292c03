"""``da-score backfill``: bring one or many logs up to date."""

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from msgspec.structs import replace

from scoring.errors import DaScoreError, OptionError
from scoring.evidence.rules import rules_of
from scoring.frozen import PlainData
from scoring.grouping import lists_by_key
from scoring.jobs.backfill import BackfillPlan, LogReport
from scoring.jobs.backfill_many import backfill_logs
from scoring.log.find import FoundLog, find_logs, roots_from_file
from scoring.log.selection import first_day
from scoring.text import printable, spans
from scoring.views.table import Column, Line, Page, Table, pairs
from scoring.worker_processes import sigterm_as_interrupt

from .options import (
    FROM_DAYS,
    PATH,
    ROOTS,
    SCORING_OPTIONS,
    Whole,
    flag,
    prepared_settings,
    shared_options,
    valued,
)
from .output import complain_of_fault, reply, say, warn
from .reading import (
    report_broken_entries,
    rubric_of,
    settings_of_log,
    settings_without_effect,
)

_ABSENT_COLUMNS = ("ABSENT SIGNAL", "ITERATIONS", Column("REASON", prose=True))


@click.command
@ROOTS
@shared_options(*SCORING_OPTIONS)
@valued("--from-file", "LIST", "Read roots from a file, one on each line.", type=PATH)
@flag("--dry-run", "Say what would be scored and why, and write nothing.")
@flag("--force", "Score what is up to date too.")
@flag("--refresh-git", "Also score where only git says something else now.")
@flag("--allow-evidence-loss", "Replace sidecars even if their transcripts are gone.")
@valued("--since", "DAYS", f"Only iterations {FROM_DAYS}")
@valued(
    "--jobs",
    "K",
    "How many logs at once.  [default: one per core]",
    key="at_once",
    type=Whole(1, 64),
)
def command(
    roots: tuple[Path, ...],
    options: PlainData,
    from_file: Path | None,
    since: str | None,
    at_once: int | None,
    **flags: bool,
) -> None:
    """Score what is missing or out of date in one log or many.

    A ROOT is a repository, a folder of repositories, or a log directory; by default it is what
    --iter-log-dir names, or the current directory. Scores iterations without a sidecar, with one of
    another rubric, and with one from inputs that changed. Skips what is up to date, continues after
    a broken log, and can be interrupted and started again. Exits with 1 when a log failed.

    Example:  da-score backfill . --dry-run
    """
    settings = prepared_settings(options)
    rubric = rubric_of(settings)

    all_roots = list(roots)
    if from_file:
        all_roots += roots_from_file(from_file)
    if options["iter-log-dir"] is None:
        logs = find_logs(all_roots or [settings.repo_dir])
    elif all_roots:
        raise OptionError(
            "--iter-log-dir names one log, and ROOT or --from-file name others: give one of them"
        )
    else:
        logs = [FoundLog(settings.iter_log_dir, settings.repo_dir)]

    processes = min(at_once or os.cpu_count() or 1, len(logs))
    plan = BackfillPlan(
        settings,
        rubric,
        since=first_day(since),
        **flags,
    )
    reports = _backfill(
        logs, plan, processes, options, prints_progress=not settings.json
    )

    value = {
        "rubric_version": rubric.version,
        "dry_run": plan.dry_run,
        "totals": _totals(reports),
        "logs": [report.as_dict() for report in reports],
    }
    reply(settings, value, _page(reports, plan))

    failed = [report for report in reports if report.error]
    if failed:
        raise DaScoreError(
            f"{len(failed)} of {len(reports)} logs failed; each is named above with its error"
        )


@sigterm_as_interrupt()
def _backfill(
    logs: list[FoundLog],
    plan: BackfillPlan,
    processes: int,
    options: PlainData,
    prints_progress: bool,
) -> list[LogReport]:
    """Bring logs up to date, and return what was done, in the order of the logs.

    A line for each log is printed if ``prints_progress`` is set. A log with settings that cannot
    be used has failed, and the others go on.
    """
    plans = []
    failed = []
    for log in logs:
        try:
            settings = settings_of_log(log, options)
            if processes > 1:  # each reads one log
                settings = replace(settings, processes=1)
            rubric = rubric_of(settings)
        except DaScoreError as e:
            failed.append(LogReport(log.iter_log_dir, error=str(e)))
            continue

        for text in settings_without_effect(settings, rules_of(rubric)):
            warn(f"{log.iter_log_dir}: {text}")
        plans.append(plan._replace(settings=settings, rubric=rubric))

    reports = []
    for report in itertools.chain(failed, backfill_logs(plans, processes)):
        reports.append(report)
        if prints_progress:
            say(_line_of_log(report, plan.dry_run))
        _print_problems(report)

    order = [log.iter_log_dir for log in logs]
    return sorted(reports, key=lambda report: order.index(report.iter_log_dir))


def _print_problems(report: LogReport) -> None:
    """Print the warnings and the broken entries of a log, but not the error that stopped it."""
    for text in report.warnings:
        warn(text)
    if report.error is None:
        report_broken_entries(*report.broken)
        return
    for text in report.broken[1:]:  # the first is the error itself
        complain_of_fault(text)


def _line_of_log(report: LogReport, dry_run: bool) -> str:
    """Return what was done with a log, or would be in a dry run, as one line."""
    log = printable(report.iter_log_dir)
    if report.error:
        return f"{log}: failed: {printable(report.error)}\n"

    parts = [
        f"{len(report.scored)} {'to score' if dry_run else 'scored'}",
        f"{report.up_to_date} up to date",
    ]
    if report.kept:
        parts.append(f"{len(report.kept)} kept (evidence lost)")
    if report.git_changed:
        parts.append(f"{len(report.git_changed)} with other answers of git")
    if report.passed_over:
        parts.append(f"{report.passed_over} passed over")
    return f"{log}: {', '.join(parts)}\n"


def _page(reports: list[LogReport], plan: BackfillPlan) -> Page:
    """Yield the totals of all logs, and then what people may have to look at, each as a list."""
    versions = {report.rubric_version for report in reports} - {""}
    title = "Backfill"
    if versions:
        word = "rubric" if len(versions) == 1 else "rubrics"
        title += f" — {word} {', '.join(sorted(versions))}"
    if plan.dry_run:
        title += " (dry run)"
    yield ""
    yield Line(title, "bold")
    yield ""
    totals = _totals(reports)
    rows = {
        "LOGS": totals["logs"],
        f"ITERATIONS {'would be scored' if plan.dry_run else 'scored'}": totals[
            "scored"
        ],
        "           up to date": totals["up_to_date"],
        "           kept": totals["kept"],
        "           passed over": totals["passed_over"],
        "LOGS failed": totals["failed"],
        "TIME": f"{totals['seconds']:.1f} s",
    }
    yield pairs([(name, str(value)) for name, value in rows.items()])

    if plan.dry_run:
        yield from _list_of("Why", _reasons_to_score(reports))
    for cause, texts in _kept_by_cause(reports).items():
        yield from _list_of(f"Kept, because {cause}", texts)
    yield from _list_of(
        "Git answers differently (--refresh-git scores these)",
        [
            (report, spans(report.git_changed))
            for report in reports
            if report.git_changed
        ],
    )
    yield from _list_of(
        "Failed", [(report, report.error) for report in reports if report.error]
    )
    yield from _absent_signals(reports)


def _totals(reports: list[LogReport]) -> PlainData:
    """Return the sums over all logs, as ``--json`` has them."""
    return {
        "logs": len(reports),
        "scored": sum(len(report.scored) for report in reports),
        "up_to_date": sum(report.up_to_date for report in reports),
        "kept": sum(len(report.kept) for report in reports),
        "git_changed": sum(len(report.git_changed) for report in reports),
        "passed_over": sum(report.passed_over for report in reports),
        "failed": sum(report.error is not None for report in reports),
        "seconds": round(sum(report.seconds for report in reports), 3),
    }


def _list_of(title: str, texts: Iterable[tuple[LogReport, str | None]]) -> Page:
    """Yield a title with a list of texts about logs, if there are any."""
    lines = [f"  {report.iter_log_dir}: {text}" for report, text in texts]
    if lines:
        yield ""
        yield f"{title}:"
        yield from lines


def _reasons_to_score(reports: list[LogReport]) -> Iterator[tuple[LogReport, str]]:
    """Yield each log once for each reason to score in it, with a text: ``1-3, 7: the reason``."""
    for report in reports:
        by_reason = lists_by_key(
            (reason, iteration) for iteration, reason in report.scored.items()
        )
        for reason, iterations in by_reason.items():
            yield report, f"{spans(iterations)}: {reason}"


def _kept_by_cause(
    reports: list[LogReport],
) -> dict[str, list[tuple[LogReport, str]]]:
    """Return each iteration that kept its old score, with what it would lose, by the cause."""
    return lists_by_key(
        (kept.cause, (report, f"{iteration}: {' and '.join(kept.lost)}"))
        for report in reports
        for iteration, kept in report.kept.items()
    )


def _absent_signals(reports: list[LogReport]) -> Page:
    """Yield a table of the signals that are absent and why, the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    for report in reports:
        counts.update(report.absent)
    if not counts:
        return

    rows = [(signal, count, reason) for (signal, reason), count in counts.items()]
    rows.sort(key=lambda row: (-row[1], row[0], row[2]))
    yield ""
    yield Table(_ABSENT_COLUMNS, rows)
