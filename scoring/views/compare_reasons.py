"""By which rule an iteration moved between two rubrics: a claim without a vote, a commit counted before, and so on.

A rule looks at the facts, rows and bands of both sides, never at the texts of details. :data:`RULES` lists them; a
signal that moved is explained by the first that knows why.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from rubric import BAND_INSUFFICIENT, Rubric, SignalContribution
from scoring.evidence.facts import IterationFacts
from scoring.signals.landed import LANDED
from scoring.signals.scope import SCOPE


@dataclass(frozen=True, slots=True)
class Reason:
    """One rule that moved an iteration, the signals that it moved (none where it is about the band), and in words."""

    rule: str
    signals: tuple[str, ...]
    text: str


class Side(NamedTuple):
    """One iteration under one rubric."""

    rubric: Rubric
    facts: IterationFacts
    value: float
    band: str
    weight: float
    """The share of the weight that voted, 0 to 1."""
    rows: Sequence[SignalContribution]


class Sides(NamedTuple):
    """One signal of one iteration, before and after; a row is None where that rubric does not have the signal."""

    signal: str
    before: SignalContribution | None
    after: SignalContribution | None


Rule: TypeAlias = Callable[[Sides, Side, Side], bool]


def _joined(row: Sides, before: Side, after: Side) -> bool:  # noqa: ARG001 - a rule takes both sides
    return row.before is None


def _left(row: Sides, before: Side, after: Side) -> bool:  # noqa: ARG001
    return row.after is None


def _counted_before(row: Sides, before: Side, after: Side) -> bool:
    there, gone = _present(row.before), not _present(row.after)
    own = before.facts.counted_for is None and after.facts.counted_for is not None
    return own and there and gone and row.signal in (LANDED, SCOPE)


def _claim(row: Sides, before: Side, after: Side) -> bool:
    claimed = row.before is not None and row.before.source == "claimed"
    return claimed and before.rubric.claims_vote and not after.rubric.claims_vote


def _claim_dropped(row: Sides, before: Side, after: Side) -> bool:
    return _claim(row, before, after) and not _present(row.after)


def _claim_replaced(row: Sides, before: Side, after: Side) -> bool:
    return _claim(row, before, after) and _present(row.after)


def _not_applicable(row: Sides, before: Side, after: Side) -> bool:  # noqa: ARG001
    return row.before is not None and row.after is not None and row.before.applicable and not row.after.applicable


def _evidence(row: Sides, before: Side, after: Side) -> bool:  # noqa: ARG001
    return before.rubric.evidence != after.rubric.evidence


def _meter(row: Sides, before: Side, after: Side) -> bool:  # noqa: ARG001
    return True


RULES: Sequence[tuple[str, str, Rule]] = (
    ("signal_joined", "signal joined", _joined),
    ("signal_left", "signal left", _left),
    ("commit_counted_before", "commit already counted for iteration {counted_for}", _counted_before),
    ("claim_dropped", "claim dropped", _claim_dropped),
    ("claim_replaced", "claim replaced by what was observed", _claim_replaced),
    ("not_applicable", "not applicable", _not_applicable),
    ("other_evidence", "other evidence", _evidence),
    ("other_meter", "its meter goes by other data", _meter),
)
"""The rules for what moved a signal: name, words, and whether it is this one; the first that is counts."""


def reasons(moved: Sequence[Sides], by_weight: Sequence[str], before: Side, after: Side) -> tuple[Reason, ...]:
    """Return why an iteration moved.

    ``moved`` are the signals whose evidence differs or that vote on one side only, ``by_weight`` those that moved the
    value by their weight alone.
    """
    found: list[Reason] = []
    for name, words, holds in RULES:
        signals = tuple(row.signal for row in moved if holds(row, before, after))
        moved = [row for row in moved if row.signal not in signals]
        if signals:
            text = words.format(counted_for=after.facts.counted_for)
            found.append(Reason(name, signals, f"{text}: {', '.join(signals)}"))
    if before.band != after.band:
        found += _about_bands(before, after)
    if by_weight:
        found.append(Reason("weights", tuple(by_weight), f"weights: {', '.join(by_weight)}"))
    return tuple(found)


def _about_bands(before: Side, after: Side) -> list[Reason]:
    """Return why the band is another than the value says."""
    if after.band == BAND_INSUFFICIENT:
        return [Reason("too_little_evidence", (), f"too little evidence: {_lack(after)}")]
    if before.band == BAND_INSUFFICIENT:
        return [Reason("enough_evidence", (), f"enough evidence: {after.weight * 100:.1f} % of the weight")]
    capping = tuple(row.signal for row in after.rows if row.cap)
    if capping and after.band != after.rubric.band(after.value):
        return [Reason("last_test_run_failed", capping, f"last test run failed: at best {after.band}")]
    return []


def _lack(side: Side) -> str:
    needed = side.rubric.minimum_coverage
    if side.rubric.suffices(side.weight):
        return "none of its own tool calls was seen"
    return f"{side.weight * 100:.1f} % of the weight, {needed * 100:.1f} % needed"


def _present(row: SignalContribution | None) -> bool:
    return row is not None and row.present
