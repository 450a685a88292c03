"""How far the people of a log agree in their labels, and how far the score agrees with the labels.

Krippendorff's alpha takes any number of people, and labels may be missing. Cohen's kappa, weighted
by the square of the distance, takes two people on what both labeled. Both are 1 for full agreement
and 0 for chance.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

from scoring.evidence.labels import (
    CORRECTNESS,
    HALLUCINATIONS,
    SCOPES,
    Judgment,
    LabelFacts,
    LabelRecord,
)
from scoring.frozen import PlainData, Texts
from scoring.prediction import SPEARMAN
from scoring.sidecars.scores import PersistedScore
from scoring.signals.human_label import HUMAN_LABEL, label_value, latest_labels
from scoring.statistics import DRAWS, Interval, resampled
from scoring.text import counted

from .labeled import NO_LABELS
from .table import Page, Table, number, numeric, titled

Ratings = Sequence[Sequence[float]]
"""For each unit, such as an iteration, the ratings that it got."""

SCALES: dict[str, Sequence[Any]] = {
    "correctness": CORRECTNESS,
    "scope": SCOPES,
    "hallucination": HALLUCINATIONS,
}
"""The judgments, with their values from the worst to the best."""


def krippendorff_alpha(units: Ratings) -> float | None:
    """Return Krippendorff's ordinal alpha, at most 1, or None without two different values.

    Args:
        units: the values of each unit; a unit with fewer than two does not count.
    """
    counts = Counter(tuple(sorted(unit)) for unit in units if len(unit) > 1)
    values = sorted({value for unit in counts for value in unit})
    if len(values) < 2:
        return None

    # How often each value was given, and how often each pair of values in one unit.
    totals: Counter[float] = Counter()
    coincidences: dict[tuple[float, float], float] = {}
    for unit, times in counts.items():
        in_unit = Counter(unit)
        for first, first_count in in_unit.items():
            totals[first] += times * first_count
            for second, second_count in in_unit.items():
                others = second_count - (first == second)
                pairs = times * first_count * others / (len(unit) - 1)
                coincidences[first, second] = (
                    coincidences.get((first, second), 0) + pairs
                )

    @cache
    def distance(first: float, second: float) -> float:
        """Return the ordinal distance: the square of how many ratings lie between two values."""
        if first == second:
            return 0.0
        low, high = sorted((first, second))
        between = sum(totals[value] for value in values if low <= value <= high)
        return (between - (totals[first] + totals[second]) / 2) ** 2

    observed = sum(count * distance(*pair) for pair, count in coincidences.items())
    expected = 0.0
    for first, second in product(values, repeat=2):
        expected += totals[first] * totals[second] * distance(first, second)
    if not expected:
        return None
    return 1 - (sum(totals.values()) - 1) * observed / expected


def weighted_kappa(pairs: Ratings) -> float | None:
    """Return Cohen's kappa, weighted by squared distance, or None without a pair or a difference.

    Args:
        pairs: the two ratings of each unit.
    """
    observed = sum((first - second) ** 2 for first, second in pairs)
    expected = 0.0
    first_ratings = Counter(first for first, _ in pairs)
    second_ratings = Counter(second for _, second in pairs)
    for first, second in product(first_ratings, second_ratings):
        expected += (
            first_ratings[first] * second_ratings[second] * (first - second) ** 2
        )
    if not expected:
        return None
    return 1 - len(pairs) * observed / expected


class Measured(NamedTuple):
    """A measure of agreement.

    Attributes:
        n: how many iterations it is over.
        value: the measure; None where it is not defined.
        interval: its 95 % interval; None where it is not defined.
    """

    n: int
    value: float | None
    interval: Interval | None


class LabelAgreement(NamedTuple):
    """How far labels agree.

    Attributes:
        iterations: how many iterations have labels.
        actors: the people who labeled.
        alpha: Krippendorff's alpha by judgment.
        kappa: Cohen's kappa by pair of people and judgment.
        score: the rank correlation of the score with the labels.
    """

    iterations: int
    actors: Texts
    alpha: Mapping[str, Measured]
    kappa: Mapping[tuple[str, str], Mapping[str, Measured]]
    score: Measured

    def as_dict(self) -> PlainData:
        """Return plain data for JSON."""
        alpha = {
            name: {"level": "ordinal", **measured._asdict()}
            for name, measured in self.alpha.items()
        }
        kappa = []
        for pair, by_judgment in self.kappa.items():
            measures = {
                name: measured._asdict() for name, measured in by_judgment.items()
            }
            kappa.append({"actors": pair, "weights": "quadratic", **measures})

        return {
            "iterations": self.iterations,
            "actors": self.actors,
            "draws": DRAWS,
            "alpha": alpha,
            "kappa": kappa,
            "score": {"measure": "spearman", **self.score._asdict()},
        }


_Statistic = Callable[[Ratings], float | None]

Judgments = Mapping[str, Judgment]
"""What each person said last of one iteration, by the person."""


def agreement(judgments: Mapping[int, Judgments], scores: Ratings) -> LabelAgreement:
    """Measure how far people agree, and how far a score agrees with them.

    Args:
        judgments: what each person said last, by iteration.
        scores: pairs of a score and the value of the labels.
    """
    iterations = judgments.values()
    actors = sorted({actor for by_actor in iterations for actor in by_actor})

    def by_judgment(
        people: Sequence[str], statistic: _Statistic
    ) -> dict[str, Measured]:
        """Return a statistic of some people for each judgment."""
        return {
            name: _measured(_ratings(iterations, name, people), statistic)
            for name in SCALES
        }

    kappa = {}
    for pair in combinations(actors, 2):
        if any(by_actor.keys() >= set(pair) for by_actor in iterations):
            kappa[pair] = by_judgment(pair, weighted_kappa)

    return LabelAgreement(
        iterations=len(judgments),
        actors=tuple(actors),
        alpha=by_judgment(actors, krippendorff_alpha),
        kappa=kappa,
        score=_measured(scores, _rank_correlation),
    )


def _ratings(
    iterations: Iterable[Judgments], name: str, people: Sequence[str]
) -> Ratings:
    """Return the ratings of one judgment for each iteration that two or more of the people rated.

    Ratings are places on the scale from the worst (0) to the best, in the order of ``people``; a
    person who gave none is left out.
    """
    units = []
    for by_actor in iterations:
        ratings = []
        for person in people:
            value = getattr(by_actor.get(person), name, None)
            if value is not None:
                ratings.append(float(SCALES[name].index(value)))
        if len(ratings) > 1:
            units.append(ratings)
    return units


def _measured(values: Ratings, statistic: _Statistic) -> Measured:
    return Measured(len(values), statistic(values), resampled(values, statistic))


def _rank_correlation(pairs: Ratings) -> float | None:
    return SPEARMAN.of([score for score, _ in pairs], [label for _, label in pairs])


def agreement_of(
    labels: Mapping[int, tuple[LabelRecord, ...]], scores: Sequence[PersistedScore]
) -> LabelAgreement:
    """Measure how far the people of a log agree, and how far the score agrees with their labels.

    The score is compared without what the labels add to it.

    Args:
        labels: the labels by iteration.
        scores: the scores of the log.
    """
    judgments = {}
    for iteration, records in labels.items():
        by_actor = {
            label.actor: label.latest.judgment for label in latest_labels(records)
        }
        if by_actor:
            judgments[iteration] = by_actor

    pairs = []
    for score in scores:
        value = score.without(HUMAN_LABEL)
        facts = LabelFacts(Path(), labels.get(score.iteration, ()))
        label = label_value(facts, score.iteration)
        if value is not None and label.present:
            pairs.append((value, label.sub_score))
    return agreement(judgments, pairs)


def agreement_page(result: LabelAgreement) -> Page:
    """Yield a measured agreement as tables."""
    if not result.iterations:
        yield NO_LABELS
        return

    iterations = counted(result.iterations, "labeled iteration")
    people = counted(len(result.actors), "person", "people")
    yield f"{iterations}, {people}."

    title = (
        "Krippendorff's alpha, ordinal, over iterations that two or more people labeled"
    )
    yield from _measures(title, "JUDGMENT", result.alpha)

    kappa = {}
    for (first, second), by_judgment in result.kappa.items():
        for name, measured in by_judgment.items():
            kappa[f"{first} and {second}: {name}"] = measured
    yield from _measures(
        "Cohen's kappa, weighted by the square, per two people", "PEOPLE", kappa
    )

    title = "The score, without what labels add to it, against the labels"
    yield from _measures(
        title, "MEASURE", {"Spearman's rank correlation": result.score}
    )


def _measures(title: str, head: str, measures: Mapping[str, Measured]) -> Page:
    """Yield a table of measures under a title, or nothing without measures."""
    if not measures:
        return

    rows = []
    for name, measured in measures.items():
        interval = "-"
        if measured.interval:
            interval = f"{measured.interval.low:.3f} to {measured.interval.high:.3f}"
        value = number(measured.value)
        rows.append((name, measured.n, value, interval))

    columns = (head, numeric("N"), numeric("VALUE"), "95 % INTERVAL")
    yield from titled(title, Table(columns, rows, indent=2))
