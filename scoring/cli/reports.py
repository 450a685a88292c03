"""The text and JSON of the backfill job."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from scoring.jobs.backfill import BackfillPlan, LogReport
from scoring.text import printable, spans


def backfill_line(report: LogReport, dry_run: bool = False) -> str:
    """Return one log in one line."""
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


def backfill_text(reports: Sequence[LogReport], plan: BackfillPlan) -> str:
    """Return the table at the end: what was done, why, what was kept, and where the logs are blind."""
    totals = _totals(reports)
    done = "would be scored" if plan.dry_run else "scored"
    lines = [
        f"\nBackfill — rubric {printable(plan.rubric.version)}{' (dry run)' if plan.dry_run else ''}\n\n",
        f"{'LOGS':<28}{totals['logs']}\n",
        f"{'ITERATIONS ' + done:<28}{totals['scored']}\n",
        f"{'           up to date':<28}{totals['up_to_date']}\n",
        f"{'           kept':<28}{totals['kept']}\n",
        f"{'           passed over':<28}{totals['passed_over']}\n",
        f"{'LOGS failed':<28}{totals['failed']}\n",
        f"{'TIME':<28}{totals['seconds']:.1f} s\n",
    ]
    for title, rows in (
        ("Why", [(r, _by_reason(r)) for r in reports if r.scored and plan.dry_run]),
        ("Kept, because the transcripts no longer cover the window", [(r, _kept(r)) for r in reports if r.kept]),
        ("Git answers differently (--refresh-git scores these)", [(r, _git(r)) for r in reports if r.git_changed]),
        ("Failed", [(r, [printable(r.error)]) for r in reports if r.error]),
    ):
        if rows:
            lines.append(f"\n{title}:\n")
            lines += [f"  {printable(str(r.iter_log_dir))}: {text}\n" for r, texts in rows for text in texts]
    absent: Counter[tuple[str, str]] = sum((r.absent for r in reports), Counter())
    if absent:
        lines.append(f"\n{'ABSENT SIGNAL':<22}{'ITERATIONS':<12}REASON\n")
        lines += [
            f"{printable(signal):<22}{count:<12}{printable(reason)}\n"
            for (signal, reason), count in sorted(absent.items(), key=lambda item: (-item[1], item[0]))
        ]
    return "".join(lines)


def _totals(reports: Sequence[LogReport]) -> dict[str, Any]:
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
    return [f"{spans(iterations)}: {printable(reason)}" for reason, iterations in reasons.items()]


def _kept(report: LogReport) -> list[str]:
    return [f"{iteration}: {' and '.join(lost)}" for iteration, lost in report.kept.items()]


def _git(report: LogReport) -> list[str]:
    return [spans(report.git_changed)]


def backfill_payload(reports: Sequence[LogReport], plan: BackfillPlan) -> dict[str, Any]:
    """Return the whole backfill as JSON."""
    return {
        "rubric_version": plan.rubric.version,
        "dry_run": plan.dry_run,
        "totals": _totals(reports),
        "logs": [report.as_dict() for report in reports],
    }
