"""What became of the work of iterations, for people: a table, and a sentence for one of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from scoring.log.model import IterationRecord
from scoring.outcomes.outcome import Outcome
from scoring.text import short
from scoring.views.table import (
    NAMED,
    AnyCell,
    Cell,
    Cells,
    Line,
    Page,
    Table,
    columns_of,
    named_cells,
    numeric,
)

_COLUMNS = columns_of(
    *NAMED,
    "STATUS",
    numeric("ADDED"),
    numeric("CHANGED"),
    numeric("SURVIVED"),
    numeric("FIXED"),
    "UNDONE BY",
    "DEFECTIVE",
)


def outcomes_page(
    outcomes: Sequence[Outcome],
    records: Iterable[IterationRecord],
    subjects: Mapping[int, str],
    horizon_days: float,
) -> Page:
    """Yield what became of the work of a log: a row for each iteration, and their number by status.

    Args:
        outcomes: the outcomes, in the order in which they are shown.
        records: the entries of these iterations.
        subjects: the subjects of their commits.
        horizon_days: how many days after it landed the work was judged.
    """
    if not outcomes:
        yield Line("no iterations")
        return

    record_of = {record.iteration: record for record in records}
    rows = []
    for outcome in outcomes:
        number = outcome.iteration
        rows.append(_outcome_row(outcome, record_of[number], subjects[number]))
    yield Table(_COLUMNS, rows, full=True)

    yield Line()
    yield Line(_counts(outcomes, horizon_days))
    for outcome in outcomes:
        facts = _facts(outcome)
        if facts:
            yield Line(f"Iteration {outcome.iteration}: {', '.join(facts)}.")


def _outcome_row(outcome: Outcome, record: IterationRecord, subject: str) -> Cells:
    commit = outcome.commit or record.commit
    survival = "-" if outcome.survival is None else f"{outcome.survival * 100:.0f} %"
    defective = {None: "-", True: "yes", False: "no"}[outcome.defective]
    return (
        *named_cells(outcome.iteration, record.task_id, subject, commit),
        outcome.status.replace("_", " "),
        _count_cell(outcome.lines_added),
        _count_cell(outcome.lines_changed),
        survival,
        _count_cell(outcome.lines_fixed),
        short(outcome.taken_back.by if outcome.taken_back else "-"),
        Cell(defective, style="red" if outcome.defective else ""),
    )


def _count_cell(count: int | None) -> AnyCell:
    if count is None:
        return "-"
    return count


def _counts(outcomes: Sequence[Outcome], horizon_days: float) -> str:
    count = Counter(outcome.status for outcome in outcomes)
    known = [outcome for outcome in outcomes if outcome.status == "known"]
    defective = sum(bool(outcome.defective) for outcome in known)
    reverted = sum(bool(outcome.reverted) for outcome in known)
    return (
        f"within {horizon_days:g} days: {len(known)} known, {defective} of them defective, "
        f"{reverted} reverted; {count['too_young']} too young, {count['not_landed']} not landed"
    )


def outcome_text(outcome: Outcome, horizon_days: float) -> str:
    """Return in one or two sentences what became of landed work, or "" of work that did not land.

    Args:
        outcome: what became of it.
        horizon_days: how many days after it landed it was judged.
    """
    if outcome.status == "not_landed":
        return ""
    if outcome.status == "too_young":
        return (
            f"It landed less than {horizon_days:g} days before the newest commit of the trunk: "
            "too young to tell."
        )

    text = _lines_text(outcome, horizon_days)
    verdict = "It counts as defective." if outcome.defective else "It does not count as defective."
    return f"{text[0].upper()}{text[1:]}. {verdict}"


def _lines_text(outcome: Outcome, horizon_days: float) -> str:
    changes = []
    if outcome.lines_fixed:
        changes.append(f"{outcome.lines_fixed} of them by what is called a fix")
    if outcome.reverted_by:
        changes.append(f"it was reverted by {short(outcome.reverted_by)}")
    elif outcome.taken_back:
        changes.append(f"it was taken back by {short(outcome.taken_back.by)}")
    changes += _facts(outcome)

    if not outcome.lines_added:
        return "; ".join(["it added no line of code", *changes])
    changed = (
        f"within {horizon_days:g} days {outcome.lines_changed} of the {outcome.lines_added} "
        "lines of code that it added were changed"
    )
    return ", ".join([changed, *changes])


def _facts(outcome: Outcome) -> list[str]:
    """Return what is certain of landed work beyond its state."""
    facts = []
    if outcome.gone_in and not outcome.taken_back:
        facts.append(f"all {outcome.lines_added} of its lines went in {short(outcome.gone_in)}")

    part = outcome.partly_reverted
    if part:
        facts.append(f"{short(part.by)} reverted {part.lines} of its {part.of} lines")
    back = outcome.came_back
    if back:
        came_back = f"came back in {short(back.back_in)}"
        facts.append(f"it was taken back by {short(back.by)} and {came_back}")
    return facts
