"""How far people agree on the labels they gave, and how far the score agrees with them (``docs/LOG.md``, "Labels").

Krippendorff's alpha takes any number of people and labels that are missing; Cohen's kappa, weighted by the square of
the distance, takes two people on what both labelled. Both are 1 for full agreement and 0 for what chance gives.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations
from typing import Any, TypeAlias, TypeVar

from scoring.evidence.labels import CORRECTNESS, HALLUCINATIONS, SCOPES, Judgement
from scoring.statistics import spearman

Interval: TypeAlias = tuple[float, float]

DRAWS, SEED, COVERED = 2_000, 20_260_101, 0.95
"""Draws of a bootstrap, what makes them the same every time, and the share of them that an interval holds."""

SCALES: Mapping[str, Sequence[Any]] = {"correctness": CORRECTNESS, "scope": SCOPES, "hallucination": HALLUCINATIONS}
"""The judgements, with their values from the worst to the best."""

T = TypeVar("T")


def krippendorff_alpha(units: Iterable[Sequence[float]]) -> float | None:
    """Return Krippendorff's ordinal alpha of units, each a sequence of the values that it was given, at most 1.

    Units with fewer than two values say nothing. None where there is nothing to agree on: all values are equal.
    """
    counts = Counter(tuple(sorted(unit)) for unit in units if len(unit) > 1)
    values = sorted({value for unit in counts for value in unit})
    if len(values) < 2:
        return None
    together: dict[tuple[float, float], float] = {}  # the coincidences of two values
    total: Counter[float] = Counter()
    for unit, times in counts.items():
        of = Counter(unit)
        for a, n in of.items():
            total[a] += times * n
            for b, m in of.items():
                together[a, b] = together.get((a, b), 0) + times * n * (m - (a == b)) / (len(unit) - 1)

    @cache
    def distance(a: float, b: float) -> float:
        between = sum(total[value] for value in values if min(a, b) <= value <= max(a, b))
        return (between - (total[a] + total[b]) / 2) ** 2 if a != b else 0.0

    observed = sum(n * distance(*pair) for pair, n in together.items())
    expected = sum(total[a] * total[b] * distance(a, b) for a in values for b in values)
    return 1 - (sum(total.values()) - 1) * observed / expected if expected else None


def weighted_kappa(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Cohen's kappa of what two people said, a pair for each thing, weighted by the square of the distance.

    None without a pair, and where chance leaves nothing to disagree on: both say one and the same value throughout.
    """
    firsts, seconds = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum((a - b) ** 2 for a, b in pairs)
    expected = sum(n * m * (a - b) ** 2 for a, n in firsts.items() for b, m in seconds.items())
    return 1 - len(pairs) * observed / expected if expected else None


def resampled(values: Sequence[T], statistic: Callable[[list[T]], float | None]) -> Interval | None:
    """Return the bootstrap interval of a statistic; None for fewer than two values, or where few draws have it."""
    if len(values) < 2:
        return None
    chance = random.Random(SEED)  # noqa: S311 - not a secret: the same interval every time
    drawn = (statistic(chance.choices(values, k=len(values))) for _ in range(DRAWS))
    found = sorted(value for value in drawn if value is not None)
    if 2 * len(found) <= DRAWS:
        return None
    cut = (1 - COVERED) / 2 * (len(found) - 1)
    return found[round(cut)], found[round(len(found) - 1 - cut)]


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure of agreement: over how many iterations, its value, and its interval; None where it is not defined."""

    n: int
    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """How far labels agree: ``alpha`` per judgement, ``kappa`` per judgement for every two people, and ``score``.

    ``score`` is the rank correlation of the score, without what labels add to it, with the mean of the labels.
    """

    iterations: int
    actors: tuple[str, ...]
    alpha: Mapping[str, Measured]
    kappa: Mapping[tuple[str, str], Mapping[str, Measured]]
    score: Measured

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "iterations": self.iterations,
            "actors": list(self.actors),
            "draws": DRAWS,
            "alpha": {name: {"level": "ordinal", **asdict(found)} for name, found in self.alpha.items()},
            "kappa": [
                {"actors": list(pair), "weights": "quadratic", **{name: asdict(m) for name, m in found.items()}}
                for pair, found in self.kappa.items()
            ],
            "score": {"measure": "spearman", **asdict(self.score)},
        }


Given: TypeAlias = Mapping[int, Mapping[str, Judgement]]
"""What each person said last of each iteration."""


def agreement(given: Given, scores: Sequence[tuple[float, float]]) -> LabelAgreement:
    """Measure agreement; ``scores`` are pairs of a score without labels and the value of the labels, 0 to 1."""
    actors = sorted({actor for said in given.values() for actor in said})
    kappa = {
        (a, b): {name: _kappa(given, name, a, b) for name in SCALES}
        for a, b in combinations(actors, 2)
        if any(a in said and b in said for said in given.values())
    }
    alpha = {name: _alpha(given, name) for name in SCALES}
    return LabelAgreement(len(given), tuple(actors), alpha, kappa, _measured(scores, _correlation))


def _measured(values: Sequence[T], statistic: Callable[[Sequence[T]], float | None]) -> Measured:
    return Measured(len(values), statistic(values), resampled(values, statistic))


def _correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    return spearman([a for a, _ in pairs], [b for _, b in pairs])


def _alpha(given: Given, name: str) -> Measured:
    values = ([_rank(name, judgement) for judgement in said.values()] for said in given.values())
    units = [tuple(sorted(v for v in unit if v is not None)) for unit in values]
    return _measured([unit for unit in units if len(unit) > 1], krippendorff_alpha)


def _kappa(given: Given, name: str, a: str, b: str) -> Measured:
    both = [(_rank(name, said[a]), _rank(name, said[b])) for said in given.values() if a in said and b in said]
    return _measured([(x, y) for x, y in both if x is not None and y is not None], weighted_kappa)


def _rank(name: str, judgement: Judgement) -> float | None:
    value = getattr(judgement, name)
    return None if value is None else float(SCALES[name].index(value))
