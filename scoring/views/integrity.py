"""Claims against facts over a whole log, per role and signal, and in words."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rubric import SignalID
from scoring.evidence.transcripts.facts import Observed
from scoring.signals.values import AgentRole, SignalSet
from scoring.text import counted, spans
from scoring.views.table import AnyCell, Block, Column, Line, Table, TableRow

_FIGURES = (("PAIRS", 6), ("OVER", 6), ("MEAN", 8), ("WORST", 8))
_COLUMNS = [Column("ROLE", width=10), Column("SIGNAL", width=22)]
_COLUMNS += [Column(head, width=width, right=True) for head, width in _FIGURES]
_COLUMNS += [Column("OVER-CLAIMED IN", width=0)]


@dataclass(frozen=True, slots=True)
class IntegritySummary:
    """One role's claims about a signal against what was observed; deltas in [-1, 1], None if nothing compares."""

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
        return {
            name: list(v) if isinstance(v := getattr(self, name), tuple) else v
            for name in self.__slots__
        }


def summarize_integrity(sets: Iterable[SignalSet]) -> list[IntegritySummary]:
    """Summarise the integrity observations of a log, one row per role and signal, in order of first appearance."""
    compared: dict[tuple[AgentRole, SignalID], list[tuple[int, float]]] = {}
    for signals in sets:
        for one in signals.integrity:
            found = compared.setdefault((one.role, one.signal), [])
            if one.comparable:
                found.append((signals.iteration, one.delta))
    rows = []
    for (role, signal), found in compared.items():
        over = tuple(iteration for iteration, delta in found if delta < 0)
        deltas = [delta for _, delta in found]
        mean, worst = (sum(deltas) / len(deltas), min(deltas)) if deltas else (None, None)
        iterations = tuple(iteration for iteration, _ in found)
        rows.append(
            IntegritySummary(role, signal, len(found), len(over), mean, worst, iterations, over)
        )
    return rows


class WordsSummary(NamedTuple):
    """How many claims in words that tests pass have which result; ``not_compared`` have nothing to compare with."""

    confirmed: int = 0
    no_run: int = 0
    last_run_failed: int = 0
    not_compared: int = 0

    @property
    def text(self) -> str:
        """The counts in words."""
        confirmed, without, against, rest = self
        found = []
        if compared := confirmed + without + against:
            found = [
                f"{confirmed} of {compared} confirmed, {without} without a run, {against} against the last run"
            ]
        if rest:
            found.append(
                f"{counted(rest, 'more claim' if compared else 'claim')} with nothing to compare with"
            )
        return f"Claims in words that tests pass: {'; '.join(found) or 'no claims found'}."


def summarize_words(observed: Iterable[Observed | None]) -> WordsSummary | None:
    """Count the claims in words of a log, one that iterations share once; None under rules that look at no words."""
    looked = [one for one in observed if one is not None]
    results = Counter(
        {claim.where: claim.result for one in looked for claim in one.claims}.values()
    )
    counts = (results[result] for result in ("confirmed", "no run", "last run failed", None))
    return WordsSummary(*counts) if looked else None


def integrity_page(
    rows: Iterable[IntegritySummary], source: Path, words: WordsSummary | None = None
) -> Iterator[Block]:
    """Yield claimed against observed for the log at ``source``, a row per role and signal, and the claims in words."""
    found = []
    for row in rows:
        deltas = ("-" if d is None else f"{d:+.3f}" for d in (row.mean_delta, row.worst_delta))
        over = spans(row.over_claimed) or "-"
        cells: list[AnyCell] = [
            row.role,
            row.signal,
            row.comparable,
            row.over_claims,
            *deltas,
            over,
        ]
        found.append(TableRow(cells, style="red" if row.over_claims else ""))
    yield from (
        Line(f"Claimed against observed — {source}", "bold"),
        Line(),
        Table(_COLUMNS, found),
        Line(),
    )
    yield Line(
        "Deltas are observed minus claimed: below 0 the agent claimed more than was observed.",
        "dim",
    )
    if words:
        yield from (Line(), Line(words.text))
