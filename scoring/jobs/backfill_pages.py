"""What ``backfill`` says: a line for each log as it is done, and a page at the end."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from scoring.jobs.backfill import BackfillPlan, LogReport
from scoring.text import printable, spans
from scoring.views.table import Block, Column, Line, Table, pairs


def log_line(report: LogReport, dry_run: bool) -> str:
    """Return what was done with one log, or would be."""
    place = printable(str(report.iter_log_dir))
    if report.error:
        return f"{place}: failed: {printable(report.error)}\n"
    parts = [f"{len(report.scored)} {'to score' if dry_run else 'scored'}", f"{report.up_to_date} up to date"]
    if report.kept:
        parts.append(f"{len(report.kept)} kept (evidence lost)")
    if report.git_changed:
        parts.append(f"{len(report.git_changed)} with other answers of git")
    if report.passed_over:
        parts.append(f"{report.passed_over} passed over")
    return f"{place}: {', '.join(parts)}\n"


def backfill_page(reports: Sequence[LogReport], plan: BackfillPlan) -> Iterator[Block]:
    """Yield the tables at the end: what was done, why, what was kept, and where the logs are blind."""
    totals = backfill_totals(reports)
    counts = {
        "LOGS": totals["logs"],
        f"ITERATIONS {'would be scored' if plan.dry_run else 'scored'}": totals["scored"],
        "           up to date": totals["up_to_date"],
        "           kept": totals["kept"],
        "           passed over": totals["passed_over"],
        "LOGS failed": totals["failed"],
        "TIME": f"{totals['seconds']:.1f} s",
    }
    yield Line()
    yield Line(f"Backfill — rubric {plan.rubric.version}{' (dry run)' if plan.dry_run else ''}", "bold")
    yield Line()
    yield pairs([(name, str(count)) for name, count in counts.items()], 26)
    for title, texts in (
        ("Why", [(r, text) for r in reports if plan.dry_run for text in _by_reason(r)]),
        (
            "Kept, because the transcripts no longer cover the window",
            [(r, f"{iteration}: {' and '.join(lost)}") for r in reports for iteration, lost in r.kept.items()],
        ),
        (
            "Git answers differently (--refresh-git scores these)",
            [(r, spans(r.git_changed)) for r in reports if r.git_changed],
        ),
        ("Failed", [(r, r.error) for r in reports if r.error]),
    ):
        if texts:
            yield from (Line(), Line(f"{title}:"))
            yield from (Line(f"  {report.iter_log_dir}: {text}") for report, text in texts)
    absent: Counter[tuple[str, str]] = sum((r.absent for r in reports), Counter())
    if absent:
        yield Line()
        found = sorted(absent.items(), key=lambda item: (-item[1], item[0]))
        columns = (
            Column("ABSENT SIGNAL", width=20),
            Column("ITERATIONS", width=10),
            Column("REASON", prose=True, width=0),
        )
        yield Table(columns, [(signal, count, reason) for (signal, reason), count in found])


def backfill_totals(reports: Sequence[LogReport]) -> dict[str, Any]:
    """Return the sums over some logs, as ``--json`` has them; ``seconds`` is their time together."""
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
