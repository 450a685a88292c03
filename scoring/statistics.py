"""How sure a mean is: seeded bootstrap intervals, the same for the same values on every machine.

The bootstrap draws as many values as there are, with repetition, takes their mean, and does so 2,000 times; the middle
95 % of these means are the interval. It asks nothing of how the values are distributed (Efron and Tibshirani, An
Introduction to the Bootstrap, 1993).
"""

import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # most pages show no interval and draw nothing
    import random

DRAWS = 2000
"""How many means an interval is taken from."""

SEED = 20120607
CONFIDENCE = 0.95

_MOST_DRAWN = 1000
"""Of more values the means are drawn from the distribution that means of so many follow, see :func:`_means`."""


_FEW = 64
"""Of up to so many values the draws are kept: a log has many sessions of one size."""


class Interval(NamedTuple):
    """The values between which a mean lies with 95 % confidence, both included."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.2f}–{self.high:.2f}"


def bootstrap_interval(values: Sequence[float], draws: int = DRAWS, seed: int = SEED) -> Interval | None:
    """Return the bootstrap interval of the mean of some finite values; None for fewer than two.

    One value says nothing of how much others would differ from it. The interval of values that are all the same has
    no width: it only says what those values say.
    """
    if len(values) < 2:
        return None
    if len(values) > _FEW or min(values) == max(values):
        return _middle(_means(values, draws, _source(seed)))
    return _middle([math.fsum(draw(values)) / len(values) for draw in _few(len(values), draws, seed)])


def paired_interval(
    before: Sequence[float], after: Sequence[float], draws: int = DRAWS, seed: int = SEED
) -> Interval | None:
    """Return the interval of the mean change of the same things, measured twice; None for fewer than two.

    Each pair is drawn as one, so what makes all values of a pair high or low does not widen the interval.

    Raises:
        ValueError: there are not as many values before as after.
    """
    return bootstrap_interval([b - a for a, b in zip(before, after, strict=True)], draws, seed)


def difference_interval(
    before: Sequence[float], after: Sequence[float], draws: int = DRAWS, seed: int = SEED
) -> Interval | None:
    """Return the interval of the difference of the means of two groups; None where either has fewer than two.

    The draws of both groups go in pairs; the groups need not be of one size, as two periods of a log.
    """
    if len(before) < 2 or len(after) < 2:
        return None
    source = _source(seed)
    first, second = _means(before, draws, source), _means(after, draws, source)
    return _middle(b - a for a, b in zip(first, second, strict=True))


@functools.lru_cache(maxsize=_FEW)
def _few(count: int, draws: int, seed: int) -> list[Callable[[Sequence[float]], Sequence[float]]]:
    """Return how ``draws`` samples are taken of two values or more: the same samples as :func:`_means` takes."""
    source, places = _source(seed), range(count)
    return [operator.itemgetter(*source.choices(places, k=count)) for _ in range(draws)]


def _source(seed: int) -> "random.Random":
    import random

    return random.Random(seed)  # noqa: S311 - the same numbers every time are the point of it


def _means(values: Sequence[float], draws: int, source: "random.Random") -> list[float]:
    """Return the means of ``draws`` samples, with repetition and as large as the values.

    To draw 10,000 values 2,000 times takes seconds. The mean of so many follows the normal distribution but for its
    skew, so each mean is drawn from that, with the Cornish-Fisher correction for the skew. The ends of the interval
    then differ from those of real samples by less than two runs of real samples differ from each other.
    """
    count = len(values)
    if min(values) == max(values):
        return [values[0]] * draws
    if count <= _MOST_DRAWN:
        return [math.fsum(source.choices(values, k=count)) / count for _ in range(draws)]
    mean = math.fsum(values) / count
    variance = math.fsum((value - mean) ** 2 for value in values) / count
    spread, third = math.sqrt(variance / count), math.fsum((value - mean) ** 3 for value in values) / count
    skew = third / variance**1.5 / math.sqrt(count) if variance else 0.0
    normal = (source.gauss(0, 1) for _ in range(draws))
    return [mean + spread * (z + skew * (z * z - 1) / 6) for z in normal]


def _middle(means: "Iterator[float] | Sequence[float]") -> Interval:
    """Return where the middle 95 % of some means begin and end."""
    found = sorted(means)
    tail = (1 - CONFIDENCE) / 2 * (len(found) - 1)
    return Interval(found[round(tail)], found[-1 - round(tail)])
