"""Outcomes for people: the table of a log's, and one in words."""

from collections import Counter
from collections.abc import Iterator, Sequence

from scoring.outcomes.outcome import Outcome
from scoring.views.table import Block, Cell, Column, Line, Table

_COLUMNS = (
    Column("ITER", right=True),
    Column("STATUS"),
    Column("COMMIT"),
    Column("ADDED", right=True),
    Column("CHANGED", right=True),
    Column("SURVIVED", right=True),
    Column("FIXED", right=True),
    Column("REVERTED BY"),
    Column("DEFECTIVE"),
)
_SHORT = 12


def outcome_table(outcomes: Sequence[Outcome]) -> Table:
    """Return the table of a log's outcomes, a row for each iteration; what is not known is a dash."""
    rows = []
    for one in outcomes:
        numbers = (_count(one.lines_added), _count(one.lines_changed), _share(one.survival), _count(one.lines_fixed))
        defective = Cell(one.defective, "-") if one.defective is None else Cell(one.defective, _yes(one.defective))
        if one.defective:
            defective = defective._replace(style="red")
        commits = _commit(one.commit), _commit(one.reverted_by)
        status = one.status.replace("_", " ")
        rows.append((one.iteration, status, commits[0], *numbers, commits[1], defective))
    return Table(_COLUMNS, rows)


def outcomes_page(outcomes: Sequence[Outcome], horizon_days: float, table: Table) -> Iterator[Block]:
    """Yield what became of the work of a log: the table, and a line that counts it."""
    if not outcomes:
        yield Line("no iterations")
        return
    yield table
    yield Line()
    count = Counter(one.status for one in outcomes)
    known = [one for one in outcomes if one.status == "known"]
    defective = sum(bool(one.defective) for one in known)
    reverted = sum(bool(one.reverted) for one in known)
    yield Line(
        f"within {horizon_days:g} days: {len(known)} known, {defective} of them defective, {reverted} reverted; "
        f"{count['too_young']} too young, {count['not_landed']} not landed"
    )


def outcome_text(outcome: Outcome, horizon_days: float) -> str:
    """Return in a sentence what became of the work of an iteration."""
    within = f"within {horizon_days:g} days"
    if outcome.status == "not_landed":
        return "No commit of the trunk brought this work, so nothing can be said of what became of it."
    if outcome.status == "too_young":
        return f"It landed less than {horizon_days:g} days before the newest commit of the trunk: too young to tell."
    parts = [f"{within} {outcome.lines_changed} of the {outcome.lines_added} lines of code that it added were changed"]
    if outcome.lines_fixed:
        parts.append(f"{outcome.lines_fixed} of them by a fix")
    if outcome.reverted_by:
        parts.append(f"it was reverted by {outcome.reverted_by[:_SHORT]}")
    text = ", ".join(parts) if outcome.lines_added else "; ".join(("it added no line of code", *parts[1:]))
    verdict = "It counts as defective." if outcome.defective else "It does not count as defective."
    return f"{text[0].upper()}{text[1:]}. {verdict}"


def _count(value: int | None) -> Cell:
    return Cell(value, "-" if value is None else str(value))


def _share(value: float | None) -> Cell:
    return Cell(value, "-" if value is None else f"{value * 100:.0f} %")


def _commit(sha: str | None) -> Cell:
    return Cell(sha, sha[:_SHORT] if sha else "-")


def _yes(value: bool) -> str:
    return "yes" if value else "no"
