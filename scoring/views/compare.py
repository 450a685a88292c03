"""Two rubrics side by side, and what the step from one to the other does to the scores of a log. Pure.

A score is a weighted mean, so only the proportions of its weights matter. The change of a value is therefore attributed
to signals in two exact steps. First the sub-scores of the signals that vote on both sides change, each worth its
effective weight times its change. Then the weights change: those of the second rubric are scaled so that the signals
that vote on both sides weigh as much together as before, and what a signal gains beyond that pulls the value towards
its sub-score. The effects of all signals add up to the change, and a signal whose proportion stays has none.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from rubric import BAND_INSUFFICIENT, Rubric, Score, SignalContribution, SignalSpec
from scoring.score import ScoredIteration, ScoredLog
from scoring.signals.landed import LANDED
from scoring.signals.scope import SCOPE
from scoring.statistics import Interval, paired_interval

EQUAL_WITHIN = 1e-9
"""Values no further apart are equal: weights are decimals, and their sums are not."""

DATA = ("evidence", "claims_vote", "minimum_coverage", "loading", "text", "sidecar", "test_flags")
"""What a rubric's data says beside signals, method and bands."""

Change: TypeAlias = Literal["added", "removed", "changed", "same"]
Cause: TypeAlias = Literal["presence", "sub-score", "weight"]
_Rows: TypeAlias = Mapping[str, SignalContribution]


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
        names = ("label", "weight", "description", "two_way", "profile")
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

    @property
    def same_proportions(self) -> bool:
        """Whether the signals of both rubrics weigh the same in proportion to each other."""
        pairs = [(s.before.weight, s.after.weight) for s in self.signals if s.before and s.after]
        ratios = [after / before for before, after in pairs]
        return not ratios or max(ratios) - min(ratios) <= EQUAL_WITHIN

    @property
    def changed_data(self) -> dict[str, tuple[Any, Any]]:
        """What else differs in the data of both, by :data:`DATA`."""
        sides = {name: (getattr(self.before, name), getattr(self.after, name)) for name in DATA}
        return {name: (a, b) for name, (a, b) in sides.items() if a != b}


def diff_rubrics(before: Rubric, after: Rubric) -> RubricDiff:
    """Compare two rubrics, signal by signal."""
    names = dict.fromkeys(spec.id for rubric in (after, before) for spec in rubric.signals)
    return RubricDiff(before, after, tuple(SpecChange(name, before.signal(name), after.signal(name)) for name in names))


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


class Reason(NamedTuple):
    """A rule that moved an iteration, the signals that it moved (none where it is about the band), and in words."""

    rule: str
    signals: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class IterationDiff:
    """One iteration under two rubrics, with a line for each signal of either.

    ``reasons`` say by which rules its value or its band moved; they are found where the facts of both sides are known.
    """

    before: Score
    after: Score
    signals: tuple[SignalMove, ...]
    reasons: tuple[Reason, ...] = ()

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

    @property
    def suffices(self) -> bool:
        """Whether both sides are scored on enough evidence, so that the change counts in a mean."""
        return self.change is not None and BAND_INSUFFICIENT not in (self.before.band, self.after.band)


class Totals(NamedTuple):
    """What the step does to a whole log.

    ``mean_change`` is over the iterations that are scored on both sides on enough evidence, with the ``interval`` of a
    paired bootstrap where there are two; ``mean_move`` is over those of them that moved. They are None where there is
    no such iteration. ``band_changes`` counts pairs of bands that differ, ``signals`` has the number of iterations that
    a signal moved and its mean effect on them, ``insufficient`` counts the iterations that have too little evidence on
    one side, ``reasons`` the iterations by the rules that moved them.
    """

    iterations: int
    moved: int
    mean_change: float | None
    mean_move: float | None
    band_changes: Mapping[tuple[str, str], int]
    signals: Mapping[str, tuple[int, float]]
    interval: Interval | None
    insufficient: int
    reasons: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LogDiff:
    """A log under two rubrics, iterations in order."""

    iterations: tuple[IterationDiff, ...]

    def totals(self) -> Totals:
        """Add up what moved."""
        there = [diff for diff in self.iterations if diff.suffices]
        changes = [diff.after.value - diff.before.value for diff in there]
        moves = [change for change in changes if abs(change) > EQUAL_WITHIN]
        bands = Counter((diff.before.band, diff.after.band) for diff in self.iterations if diff.band_changed)
        effects: dict[str, list[float]] = {}
        for move in (move for diff in self.iterations for move in diff.signals if move.moved):
            effects.setdefault(move.signal, []).append(move.effect)
        return Totals(
            iterations=len(self.iterations),
            moved=sum(diff.moved for diff in self.iterations),
            mean_change=_mean(changes),
            mean_move=_mean(moves),
            band_changes=bands,
            signals={signal: (len(moved), math.fsum(moved) / len(moved)) for signal, moved in effects.items()},
            interval=paired_interval([diff.before.value for diff in there], [diff.after.value for diff in there]),
            insufficient=sum(BAND_INSUFFICIENT in (d.before.band, d.after.band) for d in self.iterations),
            reasons=Counter(name for diff in self.iterations for name in {reason.rule for reason in diff.reasons}),
        )


def _mean(numbers: Sequence[float]) -> float | None:
    return math.fsum(numbers) / len(numbers) if numbers else None


def diff_logs(before: ScoredLog, after: ScoredLog) -> LogDiff:
    """Compare the scores of one log under two rubrics, and say by which rules each iteration moved.

    Raises:
        ValueError: they are not of the same iterations.
    """
    pairs = zip(before.iterations, after.iterations, strict=True)
    return LogDiff(tuple(_explained(before.rubric, a, after.rubric, b) for a, b in pairs))


class _Side(NamedTuple):
    """One iteration under one rubric."""

    rubric: Rubric
    one: ScoredIteration


def _explained(first: Rubric, a: ScoredIteration, second: Rubric, b: ScoredIteration) -> IterationDiff:
    diff = diff_scores(a.score, b.score)
    if not (diff.moved or diff.band_changed):
        return diff
    return replace(diff, reasons=tuple(_reasons(diff, _Side(first, a), _Side(second, b))))


def diff_scores(before: Score, after: Score) -> IterationDiff:
    """Compare the scores of one iteration under two rubrics, and attribute the change to signals.

    Raises:
        ValueError: the two are not of the same iteration.
    """
    if before.iteration != after.iteration:
        raise ValueError(f"scores of iterations {before.iteration} and {after.iteration} do not compare")
    first, second = ({row.signal: row for row in score.breakdown} for score in (before, after))
    both = [name for name, row in first.items() if row.present and _votes(second.get(name))]
    weighed = sum(_weight(second[name]) for name in both)
    scale = sum(_weight(first[name]) for name in both) / weighed if weighed else 1.0
    effects = _effects(first, second, both, scale) if before.scored and after.scored else {}
    moves = tuple(
        SignalMove(name, a, b, effects.get(name, 0.0), _causes(a, b, scale))
        for name in dict.fromkeys((*second, *first))
        for a, b in [(first.get(name), second.get(name))]
    )
    return IterationDiff(before, after, moves)


def _effects(first: _Rows, second: _Rows, both: Sequence[str], scale: float) -> dict[str, float]:
    """Return what each signal adds to the change; ``both`` vote on both sides and weighed ``scale`` times as much."""
    shifts = {name: first[name].effective_weight * (second[name].sub_score - first[name].sub_score) for name in both}
    value = sum(row.contribution for row in first.values()) + sum(shifts.values())
    effects = {}
    for name in first.keys() | second.keys():
        before, after = _weight(first.get(name)), _weight(second.get(name))
        sub_score = second[name].sub_score if after else first[name].sub_score if before else 0.0
        effects[name] = shifts.get(name, 0.0) + (after - before / scale) * (sub_score - value)
    return effects


def _causes(before: SignalContribution | None, after: SignalContribution | None, scale: float) -> tuple[Cause, ...]:
    if _votes(before) != _votes(after):
        return ("presence",)
    causes: list[Cause] = []
    if before is not None and after is not None and before.present:
        if abs(after.sub_score - before.sub_score) > EQUAL_WITHIN:
            causes.append("sub-score")
        if abs(after.effective_weight * scale - before.effective_weight) > EQUAL_WITHIN:
            causes.append("weight")
    return tuple(causes)


def _votes(row: SignalContribution | None) -> bool:
    return row is not None and row.present


def _weight(row: SignalContribution | None) -> float:
    return row.effective_weight if row is not None and row.present else 0.0


# Why an iteration moved


def _counted_before(move: SignalMove, old: _Side, new: _Side) -> bool:
    counted = old.one.facts.counted_for is None and new.one.facts.counted_for is not None
    return counted and _votes(move.before) and not _votes(move.after) and move.signal in (LANDED, SCOPE)


def _claim(move: SignalMove, old: _Side, new: _Side) -> bool:
    claimed = move.before is not None and move.before.source == "claimed"
    return claimed and old.rubric.claims_vote and not new.rubric.claims_vote


RULES: Sequence[tuple[str, str, Callable[[SignalMove, _Side, _Side], bool]]] = (
    ("signal_joined", "signal joined", lambda move, *_: move.before is None),
    ("signal_left", "signal left", lambda move, *_: move.after is None),
    ("commit_counted_before", "commit already counted for iteration {counted_for}", _counted_before),
    ("claim_dropped", "claim dropped", lambda move, *sides: _claim(move, *sides) and not _votes(move.after)),
    ("claim_replaced", "claim replaced by what was observed", _claim),
    ("not_applicable", "not applicable", lambda move, *_: _applies(move.before) and not _applies(move.after)),
    ("other_evidence", "other evidence", lambda _, old, new: old.rubric.evidence != new.rubric.evidence),
    ("other_meter", "its meter goes by other data", lambda *_: True),
)
"""What may have moved a signal: name, words, and whether it did; the first that did is given.

A rule looks at the facts and the rows of both sides, never at the texts of details.
"""


def _reasons(diff: IterationDiff, old: _Side, new: _Side) -> Iterator[Reason]:
    moved = [move for move in diff.signals if set(move.causes) - {"weight"}]
    for name, words, holds in RULES:
        signals = tuple(move.signal for move in moved if holds(move, old, new))
        moved = [move for move in moved if move.signal not in signals]
        if signals:
            text = words.format(counted_for=new.one.facts.counted_for)
            yield Reason(name, signals, f"{text}: {', '.join(signals)}")
    if diff.band_changed:
        yield from _about_bands(diff, new.rubric)
    if by_weight := tuple(move.signal for move in diff.signals if move.moved and move.causes == ("weight",)):
        yield Reason("weights", by_weight, f"weights: {', '.join(by_weight)}")


def _about_bands(diff: IterationDiff, rubric: Rubric) -> Iterator[Reason]:
    """Yield why the band is another one than the value says."""
    after, weight = diff.after, diff.after.coverage.weight
    capping = tuple(row.signal for row in after.breakdown if row.cap)
    if after.band == BAND_INSUFFICIENT:
        lack = f"{weight * 100:.1f} % of the weight, {rubric.minimum_coverage * 100:.1f} % needed"
        lack = "none of its own tool calls was seen" if rubric.suffices(weight) else lack
        yield Reason("too_little_evidence", (), f"too little evidence: {lack}")
    elif diff.before.band == BAND_INSUFFICIENT:
        yield Reason("enough_evidence", (), f"enough evidence: {weight * 100:.1f} % of the weight")
    elif (capping := tuple(row.signal for row in after.breakdown if row.cap)) and after.band != rubric.band(
        after.value
    ):
        yield Reason("last_test_run_failed", capping, f"last test run failed: at best {after.band}")


def _applies(row: SignalContribution | None) -> bool:
    return row is not None and row.applicable
