"""Two rubrics side by side, and what the step from one to the other does to the scores of a log.

A change is attributed to signals exactly: first the sub-scores change, then the weights in proportion.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from rubric import BAND_INSUFFICIENT, Rubric, Score, SignalContribution, SignalSpec
from scoring.scored import ScoredLog
from scoring.statistics import Interval, bootstrap_interval

EQUAL_WITHIN = (
    1e-9  # values no further apart are equal: weights are decimals, and their sums are not
)

DATA = ("evidence", "claims_vote", "minimum_coverage", "loading", "text", "sidecar", "test_flags")
"""What a rubric's data says beside signals, method and bands."""

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
        if self.before is None or self.after is None:
            return "added" if self.before is None else "removed"
        return "same" if self.before == self.after else "changed"

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that differ, where both rubrics have the signal."""
        if self.before is None or self.after is None:
            return ()
        names = ("label", "weight", "description", "two_way", "profile")
        return tuple(
            name for name in names if getattr(self.before, name) != getattr(self.after, name)
        )


@dataclass(frozen=True, slots=True)
class RubricDiff:
    """Two rubrics side by side: signals in the order of the second, those that only the first has at the end."""

    before: Rubric
    after: Rubric
    signals: tuple[SpecChange, ...]

    @property
    def same_proportions(self) -> bool:
        """Whether the signals of both rubrics weigh the same in proportion to each other."""
        ratios = [s.after.weight / s.before.weight for s in self.signals if s.before and s.after]
        return not ratios or max(ratios) - min(ratios) <= EQUAL_WITHIN

    @property
    def changed_data(self) -> dict[str, tuple[Any, Any]]:
        """What else differs in the data of both, by :data:`DATA`."""
        sides = {name: (getattr(self.before, name), getattr(self.after, name)) for name in DATA}
        return {name: (a, b) for name, (a, b) in sides.items() if a != b}

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called: their versions, with a letter where those are equal."""
        before, after = self.before.version, self.after.version
        return (before, after) if before != after else (f"{before} (A)", f"{after} (B)")


def diff_rubrics(before: Rubric, after: Rubric) -> RubricDiff:
    """Compare two rubrics, signal by signal."""
    names = dict.fromkeys(spec.id for rubric in (after, before) for spec in rubric.signals)
    return RubricDiff(
        before,
        after,
        tuple(SpecChange(name, before.signal(name), after.signal(name)) for name in names),
    )


@dataclass(frozen=True, slots=True)
class SignalMove:
    """One signal of one iteration under two rubrics; ``effect`` is what it adds to the change of the value."""

    signal: str
    before: SignalContribution | None
    after: SignalContribution | None
    effect: float
    causes: tuple[Cause, ...]

    @property
    def moved(self) -> bool:
        """Whether the signal has a part in the change of the value."""
        return abs(self.effect) > EQUAL_WITHIN


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
        return (
            self.after.value - self.before.value
            if self.before.scored and self.after.scored
            else None
        )

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

    @property
    def suffices(self) -> bool:
        """Whether both sides are scored on enough evidence, so that the change counts in a mean."""
        return self.change is not None and BAND_INSUFFICIENT not in (
            self.before.band,
            self.after.band,
        )


class Totals(NamedTuple):
    """What the step does to a whole log; means over iterations with enough evidence, None where there is none."""

    iterations: int
    moved: int
    mean_change: float | None
    mean_move: float | None
    band_changes: Mapping[tuple[str, str], int]
    signals: Mapping[str, tuple[int, float]]
    interval: Interval | None
    insufficient: int


@dataclass(frozen=True, slots=True)
class LogDiff:
    """A log under two rubrics, iterations in order."""

    iterations: tuple[IterationDiff, ...]

    def totals(self) -> Totals:
        """Add up what moved."""
        sure = [diff for diff in self.iterations if diff.suffices]
        changes = [diff.after.value - diff.before.value for diff in sure]
        moves = [change for change in changes if abs(change) > EQUAL_WITHIN]
        effects: dict[str, list[float]] = {}
        for move in (move for diff in self.iterations for move in diff.signals if move.moved):
            effects.setdefault(move.signal, []).append(move.effect)
        return Totals(
            iterations=len(self.iterations),
            moved=sum(diff.moved for diff in self.iterations),
            mean_change=math.fsum(changes) / len(changes) if changes else None,
            mean_move=math.fsum(moves) / len(moves) if moves else None,
            band_changes=Counter(
                (diff.before.band, diff.after.band) for diff in self.iterations if diff.band_changed
            ),
            signals={
                signal: (len(moved), math.fsum(moved) / len(moved))
                for signal, moved in effects.items()
            },
            interval=bootstrap_interval(changes),
            insufficient=sum(
                BAND_INSUFFICIENT in (diff.before.band, diff.after.band) for diff in self.iterations
            ),
        )


def diff_logs(before: ScoredLog, after: ScoredLog) -> LogDiff:
    """Compare the scores of one log under two rubrics; ValueError where they are not of the same iterations."""
    pairs = zip(before.iterations, after.iterations, strict=True)
    return LogDiff(tuple(diff_scores(a.score, b.score) for a, b in pairs))


def diff_scores(before: Score, after: Score) -> IterationDiff:
    """Attribute the change of one iteration's score to signals; ValueError where the two are not of one iteration."""
    if before.iteration != after.iteration:
        raise ValueError(
            f"scores of iterations {before.iteration} and {after.iteration} do not compare"
        )
    first, second = ({row.signal: row for row in score.breakdown} for score in (before, after))
    both = [name for name, row in first.items() if row.present and _votes(second.get(name))]
    weighed = sum(second[name].effective_weight for name in both)
    scale = sum(first[name].effective_weight for name in both) / weighed if weighed else 1.0
    shifts = {
        name: first[name].effective_weight * (second[name].sub_score - first[name].sub_score)
        for name in both
    }
    value = sum(row.contribution for row in first.values()) + sum(shifts.values())
    moves = []
    for name in dict.fromkeys((*second, *first)):
        a, b = first.get(name), second.get(name)
        effect = 0.0
        if before.scored and after.scored:
            was, now = (row.effective_weight if row and row.present else 0.0 for row in (a, b))
            sub_score = b.sub_score if b and now else a.sub_score if a and was else 0.0
            effect = shifts.get(name, 0.0) + (now - was / scale) * (sub_score - value)
        moves.append(SignalMove(name, a, b, effect, tuple(_causes(a, b, scale))))
    return IterationDiff(before, after, tuple(moves))


def _causes(
    before: SignalContribution | None, after: SignalContribution | None, scale: float
) -> Iterator[Cause]:
    if _votes(before) != _votes(after):
        yield "presence"
    elif before and after and before.present:
        if abs(after.sub_score - before.sub_score) > EQUAL_WITHIN:
            yield "sub-score"
        if abs(after.effective_weight * scale - before.effective_weight) > EQUAL_WITHIN:
            yield "weight"


def _votes(row: SignalContribution | None) -> bool:
    return row is not None and row.present
