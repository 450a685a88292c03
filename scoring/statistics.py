"""How sure a mean is, and how well a figure foretells: seeded 95 % bootstrap intervals, the same on every machine."""

import functools
import math
import operator
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    import random  # loads more than most commands do

T = TypeVar("T")

DRAWS = 2000  # how many means an interval is taken from

SEED = 20120607
CONFIDENCE = 0.95
_MOST_DRAWN = 1000  # of more values the means are drawn from the distribution that they follow, see :func:`_means`
_MOST_CHOSEN, _LEAST_DRAWS = 20_000_000, 200  # of more than 10,000 groups fewer draws are made
_AT_ONCE = 2_000_000  # how many weights are looked at together
_FEW = 64  # of up to so many values the draws are kept: a log has many sessions of one size


class Interval(NamedTuple):
    """The values between which a mean lies with 95 % confidence, both included."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.2f}–{self.high:.2f}"


def wilson(agreed: int, total: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the Wilson score interval that holds a true share with this confidence; (0, 1) without any answer."""
    if total == 0:
        return 0.0, 1.0
    from statistics import NormalDist  # loads fractions and random

    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = agreed / total, z * z / total
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / total + spread / (4 * total))
    return max(0.0, centre - half), min(1.0, centre + half)


def bootstrap_interval(
    values: Sequence[float], draws: int = DRAWS, seed: int = SEED
) -> Interval | None:
    """Return the bootstrap interval of the mean of finite values; None for fewer than two, no width if all equal."""
    if len(values) < 2:
        return None
    if len(values) > _FEW or min(values) == max(values):
        return _middle(_means(values, draws, _source(seed)))
    return _middle(
        [math.fsum(pick(values)) / len(values) for pick in _few(len(values), draws, seed)]
    )


def resampled(values: Sequence[T], statistic: Callable[[list[T]], float | None]) -> Interval | None:
    """Return the bootstrap interval of any statistic; None for fewer than two values, or where few draws have it."""
    source = _source(SEED)
    drawn = (
        statistic(source.choices(values, k=len(values)))
        for _ in range(DRAWS if len(values) > 1 else 0)
    )
    known = [value for value in drawn if value is not None]
    return _middle(known) if 2 * len(known) > DRAWS else None


def difference_interval(before: Sequence[float], after: Sequence[float]) -> Interval | None:
    """Return the interval of the difference of the means of two groups; None where either has fewer than two."""
    if len(before) < 2 or len(after) < 2:
        return None
    source = _source(SEED)
    first, second = _means(before, DRAWS, source), _means(after, DRAWS, source)
    return _middle([b - a for a, b in zip(first, second, strict=True)])


@functools.lru_cache(maxsize=_FEW)
def _few(count: int, draws: int, seed: int) -> list[Callable[[Sequence[float]], Sequence[float]]]:
    source = _source(seed)
    return [operator.itemgetter(*source.choices(range(count), k=count)) for _ in range(draws)]


def _source(seed: int) -> "random.Random":
    import random

    return random.Random(seed)  # noqa: S311 - the same numbers every time are the point of it


def _means(values: Sequence[float], draws: int, source: "random.Random") -> list[float]:
    """Return means of resampled values; of many, drawn from the normal with the Cornish-Fisher correction for skew."""
    count = len(values)
    if min(values) == max(values):
        return [values[0]] * draws
    if count <= _MOST_DRAWN:
        return [math.fsum(source.choices(values, k=count)) / count for _ in range(draws)]
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / count
    spread, third = (
        math.sqrt(variance / count),
        math.fsum((value - mean) ** 3 for value in values) / count,
    )
    skew = third / variance**1.5 / math.sqrt(count) if variance else 0.0
    normal = (source.gauss(0, 1) for _ in range(draws))
    return [mean + spread * (z + skew * (z * z - 1) / 6) for z in normal]


def _middle(means: Sequence[float]) -> Interval:
    found = sorted(means)
    tail = (1 - CONFIDENCE) / 2 * (len(found) - 1)
    return Interval(found[round(tail)], found[-1 - round(tail)])


def auc(
    values: Sequence[float], truths: Sequence[float], weights: Sequence[int] | None = None
) -> float | None:
    """Return the chance, 0 to 1, that a truth of 1 has a higher value than one of 0, ties half; None without both."""
    good, bad = Counter[float](), Counter[float]()
    for value, truth, weight in zip(values, truths, weights or [1] * len(values), strict=True):
        (good if truth else bad)[value] += weight
    above = below = 0
    for value in sorted(good.keys() | bad.keys()):
        above += good[value] * (2 * below + bad[value])
        below += bad[value]
    pairs = good.total() * below
    return above / 2 / pairs if pairs else None


def spearman(
    values: Sequence[float], truths: Sequence[float], weights: Sequence[int] | None = None
) -> float | None:
    """Return Spearman's correlation of ranks, -1 to 1, cases counted by weight; None where either side is all equal."""
    weights = weights or [1] * len(values)
    x, y = _ranks(values, weights), _ranks(truths, weights)
    together = math.fsum(w * p * q for w, p, q in zip(weights, x, y, strict=True))
    alone = math.prod(
        math.fsum(w * p * p for w, p in zip(weights, ranks, strict=True)) for ranks in (x, y)
    )
    return together / math.sqrt(alone) if alone else None


def _ranks(values: Sequence[float], weights: Sequence[int]) -> list[float]:
    """Return how far the rank of each value is above the mean of all ranks."""
    count = Counter[float]()
    for value, weight in zip(values, weights, strict=True):
        count[value] += weight
    rank, below, mean = {}, 0, (count.total() + 1) / 2
    for value in sorted(count):
        rank[value] = below + (count[value] + 1) / 2 - mean
        below += count[value]
    return [rank[value] for value in values]


def within(
    groups: Sequence[str], values: Sequence[float], truths: Sequence[float]
) -> tuple[float | None, Interval | None]:
    """Return how often, of two cases of one group, the better one has the higher value, with a bootstrap of groups."""
    members: dict[str, list[tuple[float, float]]] = {}
    for group, *one in zip(groups, values, truths, strict=True):
        members.setdefault(group, []).append((one[0], one[1]))
    pairs = (
        [(a > b) + (a == b) / 2 for a, better in own for b, worse in own if worse < better]
        for own in members.values()
    )
    compared = [(sum(won), len(won)) for won in pairs if won]
    if not compared:
        return None, None
    source, figures = _source(SEED), []
    for _ in range(DRAWS if len(compared) > 1 else 0):
        drawn = source.choices(compared, k=len(compared))
        figures.append(sum(one[0] for one in drawn) / sum(one[1] for one in drawn))
    return sum(one[0] for one in compared) / sum(one[1] for one in compared), _middle(
        figures
    ) if figures else None


class GroupedDraws:
    """Measures figures of cases against their truths, with one set of draws of whole groups; ``binary`` by AUC."""

    def __init__(
        self,
        groups: Sequence[str],
        truths: Sequence[float],
        binary: bool = True,
        draws: int = DRAWS,
    ) -> None:
        self.truths, self._how = truths, auc if binary else spearman
        place = {name: n for n, name in enumerate(sorted(set(groups)))}
        self._group, self._places, self._most = (
            [place[name] for name in groups],
            range(len(place)),
            draws,
        )
        self._weights: Any = None

    @functools.cached_property
    def _draws(self) -> "list[array[int]]":
        """How often each draw has each group."""
        source, places = _source(SEED), self._places
        draws = (
            min(self._most, max(_MOST_CHOSEN // len(places), _LEAST_DRAWS))
            if len(places) > 1
            else 0
        )
        drawn = (Counter(source.choices(places, k=len(places))) for _ in range(draws))
        return [array("H", [count[group] for group in places]) for count in drawn]

    def measured(
        self, figures: Sequence[float | None]
    ) -> tuple[int, float | None, Interval | None]:
        """Return of how many cases there is a figure, how well these tell, and the interval of that."""
        there = [n for n, figure in enumerate(figures) if figure is not None]
        values = [figure for figure in figures if figure is not None]
        found = self._how(values, [self.truths[n] for n in there])
        return (
            len(there),
            found,
            None if found is None else self.interval(self.drawn(values, there)),
        )

    def gain(
        self, before: Sequence[float], after: Sequence[float]
    ) -> tuple[float, Interval | None]:
        """Return how much better one figure of all cases tells than another, and the interval of that: pairs draws."""
        there = range(len(self.truths))
        pairs = zip(self.drawn(before, there), self.drawn(after, there), strict=True)
        known = [b - a for a, b in pairs if a is not None and b is not None]
        gained = (self._how(after, self.truths) or 0.0) - (self._how(before, self.truths) or 0.0)
        return gained, self.interval(known)

    @staticmethod
    def interval(figures: Sequence[float | None]) -> Interval | None:
        """Return the interval of a figure from what it was in each draw; None where no draw has one."""
        known = [figure for figure in figures if figure is not None]
        return _middle(known) if known else None

    def drawn(self, values: Sequence[float], there: Sequence[int]) -> list[float | None]:
        """Return the figure of each draw; None where the cases of a draw leave nothing to tell."""
        truths, groups = [self.truths[n] for n in there], [self._group[n] for n in there]
        try:
            import numpy as np  # where it is there, it is ten to thirty times as fast
        except ImportError:
            return [
                self._how(values, truths, [count[group] for group in groups])
                for count in self._draws
            ]
        if not self._draws:
            return []
        if self._weights is None:
            self._weights = np.array(self._draws)
        how = _fast_auc if self._how is auc else _fast_spearman
        figures: list[float | None] = []
        rows = max(1, _AT_ONCE // max(len(groups), 1))
        for n in range(0, len(self._weights), rows):
            weights = self._weights[n : n + rows, groups].astype(np.int64)
            figures += how(np, np.array(values), np.array(truths), weights)
        return figures


def _fast_auc(np: Any, values: Any, truths: Any, weights: Any) -> list[float | None]:
    good, bad = (
        _by_level(np, weights * (truths.astype(bool) == kind), values)[0] for kind in (True, False)
    )
    below = np.cumsum(bad, axis=1) - bad
    above = (good * (2 * below + bad)).sum(axis=1)
    pairs = good.sum(axis=1) * bad.sum(axis=1)
    return [None if not p else float(a) / 2 / float(p) for a, p in zip(above, pairs, strict=True)]


def _fast_spearman(np: Any, values: Any, truths: Any, weights: Any) -> list[float | None]:
    def centred(figures: Any) -> Any:
        count, place = _by_level(np, weights, figures)
        ranks = np.cumsum(count, axis=1) - count + (count + 1) / 2
        return ranks[:, place] - (weights.sum(axis=1, keepdims=True) + 1) / 2

    x, y = centred(values), centred(truths)
    together = (weights * x * y).sum(axis=1)
    alone = (weights * x * x).sum(axis=1) * (weights * y * y).sum(axis=1)
    return [
        None if not a > 0 else float(t) / math.sqrt(float(a))
        for t, a in zip(together, alone, strict=True)
    ]


def _by_level(np: Any, weights: Any, figures: Any) -> tuple[Any, Any]:
    """Add up the columns of equal figures: a row for each draw, a column for each level; and the level of each case."""
    levels, place = np.unique(figures, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(levels)))
    return np.add.reduceat(weights[:, order], starts, axis=1), place
