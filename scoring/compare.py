"""Two rubrics side by side, and what the step from one to the other does to the scores of a log. Pure.

A score is a weighted mean, so only the proportions of its weights matter. The change of a value is therefore laid to
signals in two exact steps. First the sub-scores of the signals that vote on both sides change, each worth its effective
weight times its change. Then the weights change: those of the second rubric are scaled so that the signals that vote on
both sides weigh as much together as before, and what a signal gains beyond that pulls the value towards its sub-score.
The effects of all signals add up to the change, and a signal whose proportion stays has none.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rubric import Rubric, Score, SignalContribution, SignalSpec
from scoring.errors import DaScoreError
from scoring.score import ScoredLog

EQUAL_WITHIN = 1e-9
"""Values no further apart are equal: weights are decimals, and their sums are not."""

Change: TypeAlias = Literal["added", "removed", "changed", "same"]
Cause: TypeAlias = Literal["presence", "sub-score", "weight"]


@dataclass(frozen=True, slots=True)
class SpecChange:
    """One signal in two rubrics; a side is None where that rubric does not have it."""

    signal: str
    before: SignalSpec | None
    after: SignalSpec | None

    @property
    def change(self) -> Change:
        """What became of the signal, its words included."""
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        return "same" if self.before == self.after else "changed"

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that differ, where both rubrics have the signal."""
        if self.before is None or self.after is None:
            return ()
        names = ("label", "weight", "description", "two_way")
        return tuple(name for name in names if getattr(self.before, name) != getattr(self.after, name))


@dataclass(frozen=True, slots=True)
class RubricDiff:
    """Two rubrics side by side: signals in the order of the second, those that only the first has at the end."""

    before: Rubric
    after: Rubric
    signals: tuple[SpecChange, ...]

    @property
    def same_bands(self) -> bool:
        """Whether both name values alike."""
        return self.before.bands == self.after.bands

    @property
    def same_combination(self) -> bool:
        """Whether both combine signals alike."""
        return self.before.combination == self.after.combination


def diff_rubrics(before: Rubric, after: Rubric) -> RubricDiff:
    """Lay two rubrics side by side."""
    names = dict.fromkeys(spec.id for rubric in (after, before) for spec in rubric.signals)
    return RubricDiff(
        before, after, tuple(SpecChange(name, before.signal(name), after.signal(name)) for name in names)
    )


@dataclass(frozen=True, slots=True)
class SignalMove:
    """One signal of one iteration under two rubrics; a side is None where that rubric does not have it.

    ``effect`` is what the signal adds to the change of the value. ``causes`` say why: it votes on one side only
    (presence), its sub-score differs, or its weight does in proportion to the others.
    """

    signal: str
    before: SignalContribution | None
    after: SignalContribution | None
    effect: float
    causes: tuple[Cause, ...]

    @property
    def moved(self) -> bool:
        """Whether the signal has a part in the change of the value."""
        return abs(self.effect) > EQUAL_WITHIN

    @property
    def same_detail(self) -> bool:
        """Whether both sides say the same of the signal."""
        return self.before is not None and self.after is not None and self.before.detail == self.after.detail


@dataclass(frozen=True, slots=True)
class IterationDiff:
    """One iteration under two rubrics, with a line for each signal of either."""

    before: Score
    after: Score
    signals: tuple[SignalMove, ...]

    @property
    def iteration(self) -> int:
        """Its number."""
        return self.before.iteration

    @property
    def change(self) -> float | None:
        """The second value minus the first, in [-1, 1]; None unless both are scored."""
        return self.after.value - self.before.value if self.before.scored and self.after.scored else None

    @property
    def moved(self) -> bool:
        """Whether the value changed, or whether there is one."""
        if self.change is None:
            return self.before.scored != self.after.scored
        return abs(self.change) > EQUAL_WITHIN

    @property
    def band_changed(self) -> bool:
        """Whether the value has another name."""
        return self.before.band != self.after.band


@dataclass(frozen=True, slots=True)
class Totals:
    """What the step does to a whole log.

    ``mean_change`` is over the iterations that are scored on both sides, ``mean_move`` over those of them that moved;
    both are None where there is no such iteration. ``band_changes`` counts pairs of bands that differ.
    """

    iterations: int
    moved: int
    mean_change: float | None
    mean_move: float | None
    band_changes: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class LogDiff:
    """A log under two rubrics, iterations in order."""

    iterations: tuple[IterationDiff, ...]

    def totals(self) -> Totals:
        """Add up what moved."""
        changes = [diff.change for diff in self.iterations if diff.change is not None]
        moves = [change for change in changes if abs(change) > EQUAL_WITHIN]
        bands = Counter((diff.before.band, diff.after.band) for diff in self.iterations if diff.band_changed)
        return Totals(
            len(self.iterations), sum(diff.moved for diff in self.iterations), _mean(changes), _mean(moves), bands
        )


def _mean(numbers: Sequence[float]) -> float | None:
    return math.fsum(numbers) / len(numbers) if numbers else None


def diff_logs(before: ScoredLog, after: ScoredLog) -> LogDiff:
    """Compare the scores of one log under two rubrics.

    Raises:
        ValueError: the two are not of the same iterations.
    """
    pairs = zip(before.iterations, after.iterations, strict=True)
    return LogDiff(tuple(diff_scores(a.score, b.score) for a, b in pairs))


def diff_scores(before: Score, after: Score) -> IterationDiff:
    """Compare the scores of one iteration under two rubrics, and lay the change to signals.

    Raises:
        ValueError: the two are not of the same iteration.
    """
    if before.iteration != after.iteration:
        raise ValueError(f"scores of iterations {before.iteration} and {after.iteration} do not compare")
    first, second = ({row.signal: row for row in score.breakdown} for score in (before, after))
    names = dict.fromkeys((*second, *first))
    effects = _effects(first, second) if before.scored and after.scored else {}
    return IterationDiff(
        before, after, tuple(_move(name, first.get(name), second.get(name), effects) for name in names)
    )
