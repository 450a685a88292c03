"""Claims against facts over a whole log, per role and signal."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rubric import SignalID
from scoring.signals.values import AgentRole, SignalSet
from scoring.text import spans
from scoring.views.table import Block, Cell, Column, Line, Table, TableRow

_COLUMNS = (
    Column("ROLE", "role", 10),
    Column("SIGNAL", "signal", 22),
    Column("PAIRS", "comparable", 6, right=True),
    Column("OVER", "over_claims", 6, right=True),
    Column("MEAN", "mean_delta", 8, right=True),
    Column("WORST", "worst_delta", 8, right=True),
    Column("", "iterations", only="json"),
    Column("OVER-CLAIMED IN", "over_claimed", 0),
)


@dataclass(frozen=True, slots=True)
class IntegritySummary:
    """How the claims of one role about one signal compare with what was observed.

    ``comparable`` counts pairs with both sides; ``over_claims`` counts those that claimed more than was observed.
    Deltas are observed minus claimed, in [-1, 1]; None when nothing compares. ``iterations`` are those that compare,
    ``over_claimed`` those among them that over-claimed.
    """

    role: AgentRole
    signal: SignalID
    comparable: int
    over_claims: int
    mean_delta: float | None
    worst_delta: float | None
    iterations: tuple[int, ...]
    over_claimed: tuple[int, ...]

    def as_dict(self) -> dict[str, object]:
        """Return plain data."""
        return {name: list(v) if isinstance(v := getattr(self, name), tuple) else v for name in self.__slots__}


def summarize_integrity(sets: Iterable[SignalSet]) -> list[IntegritySummary]:
    """Summarise the integrity observations of a log, one row per role and signal, in order of first appearance."""
    deltas: dict[tuple[AgentRole, SignalID], list[tuple[int, float]]] = {}
    for signals in sets:
        for one in signals.integrity:
            compared = deltas.setdefault((one.role, one.signal), [])
            if one.comparable:
                compared.append((signals.iteration, one.delta))
    return [_summary(role, signal, compared) for (role, signal), compared in deltas.items()]


def _summary(role: AgentRole, signal: SignalID, deltas: list[tuple[int, float]]) -> IntegritySummary:
    over = tuple(iteration for iteration, delta in deltas if delta < 0)
    return IntegritySummary(
        role,
        signal,
        comparable=len(deltas),
        over_claims=len(over),
        mean_delta=sum(delta for _, delta in deltas) / len(deltas) if deltas else None,
        worst_delta=min(delta for _, delta in deltas) if deltas else None,
        iterations=tuple(iteration for iteration, _ in deltas),
        over_claimed=over,
    )


def integrity_table(rows: Iterable[IntegritySummary]) -> Table:
    """Return claims against observations as a table, a row per role and signal."""
    return Table(_COLUMNS, [TableRow(_cells(row), style="red" if row.over_claims else "") for row in rows])


def _cells(row: IntegritySummary) -> Sequence[Cell | str | int]:
    iterations, over = Cell(list(row.iterations)), Cell(list(row.over_claimed), spans(row.over_claimed) or "-")
    mean, worst = _delta(row.mean_delta), _delta(row.worst_delta)
    return row.role, row.signal, row.comparable, row.over_claims, mean, worst, iterations, over


def _delta(delta: float | None) -> Cell:
    return Cell(delta, "-" if delta is None else f"{delta:+.3f}")


def integrity_page(rows: Iterable[IntegritySummary], source: Path) -> Iterator[Block]:
    """Yield claimed against observed for the log at ``source``."""
    yield from (Line(f"Claimed against observed — {source}", "bold"), Line(), integrity_table(rows), Line())
    yield Line("Deltas are observed minus claimed: below 0 the agent claimed more than was seen.", "dim")
