"""Bootstrap intervals: what they cover, that they are the same every time, and what they cost."""

import math
import random
import time

import pytest

from scoring.statistics import DRAWS, Interval, bootstrap_interval, difference_interval, paired_interval


def made(count: int, seed: int = 1) -> list[float]:
    source = random.Random(seed)
    return [source.betavariate(5, 1.5) for _ in range(count)]


def plain_bootstrap(values: list[float], seed: int) -> Interval:
    """The textbook's way, written anew: an index at a time."""
    source, means = random.Random(seed), []
    for _ in range(DRAWS):
        drawn = [values[source.randrange(len(values))] for _ in values]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    return Interval(means[int(0.025 * DRAWS)], means[int(0.975 * DRAWS) - 1])


class TestInterval:
    @pytest.mark.parametrize("values", [[], [0.5]], ids=["no-value", "one-value"])
    def test_of_fewer_than_two_values_there_is_none(self, values: list[float]) -> None:
        assert bootstrap_interval(values) is None

    def test_of_two_values_is_between_them(self) -> None:
        assert bootstrap_interval([0.2, 0.8]) == (0.2, 0.8)

    def test_of_equal_values_has_no_width(self) -> None:
        assert bootstrap_interval([0.7] * 30) == (0.7, 0.7)

    def test_is_the_same_every_time_and_another_with_another_seed(self) -> None:
        values = made(40)
        assert bootstrap_interval(values) == bootstrap_interval(list(values))
        assert bootstrap_interval(values) != bootstrap_interval(values, seed=2)

    @pytest.mark.sampled(100)
    @pytest.mark.parametrize("count", [5, 40, 300])
    def test_is_that_of_the_textbook(self, count: int) -> None:
        values = made(count)
        found, expected = bootstrap_interval(values), plain_bootstrap(values, 3)
        assert found is not None
        width = expected.high - expected.low
        assert found.low == pytest.approx(expected.low, abs=0.08 * width)
        assert found.high == pytest.approx(expected.high, abs=0.08 * width)

    @pytest.mark.parametrize("rare", [0.5, 0.01], ids=["even", "skewed"])
    def test_of_many_values_is_that_of_the_textbook_too(self, rare: float) -> None:
        source = random.Random(4)
        values = [float(source.random() > rare) for _ in range(1500)]
        found = bootstrap_interval(values)
        # The sum of 0s and 1s that are drawn with repetition is binomial; its quantiles need no draws.
        assert found is not None
        low, high = _binomial_quantiles(len(values), sum(values) / len(values))
        width = high - low
        assert found.low == pytest.approx(low, abs=0.06 * width)
        assert found.high == pytest.approx(high, abs=0.06 * width)

    @pytest.mark.slow
    def test_covers_the_true_mean_about_as_often_as_it_says(self) -> None:
        true = 5 / 6.5
        found = [bootstrap_interval(made(30, seed), draws=400) for seed in range(200)]
        covered = sum(interval is not None and interval.low <= true <= interval.high for interval in found)
        assert 175 <= covered <= 199

    def test_of_ten_thousand_values_takes_no_seconds(self) -> None:
        values = made(10_000)
        began = time.process_time()
        found = bootstrap_interval(values)
        assert time.process_time() - began < 0.5
        assert found is not None
        assert found.low < sum(values) / len(values) < found.high


def _binomial_quantiles(count: int, share: float) -> tuple[float, float]:
    def log_chance(k: int) -> float:
        ways = math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        return ways + k * math.log(share) + (count - k) * math.log1p(-share)

    total = 0.0
    found: list[float] = []
    for k in range(count + 1):
        total += math.exp(log_chance(k))
        while len(found) < 2 and total >= (0.025, 0.975)[len(found)]:
            found.append(k / count)
    return found[0], found[1]


class TestPairs:
    def test_what_all_share_does_not_widen_the_interval(self) -> None:
        before = made(60)
        after = [value - 0.1 for value in before]
        paired, apart = paired_interval(before, after), difference_interval(before, after)
        assert paired is not None
        assert apart is not None
        assert paired.high - paired.low < 1e-9
        assert apart.high - apart.low > 0.05
        assert paired.low == pytest.approx(-0.1)

    def test_that_are_no_pairs_are_refused(self) -> None:
        with pytest.raises(ValueError, match="shorter"):
            paired_interval([0.1, 0.2], [0.3])

    def test_two_groups_may_be_of_different_sizes(self) -> None:
        found = difference_interval([0.2, 0.3, 0.4], [0.8, 0.9])
        assert found is not None
        assert 0.35 < found.low < 0.55 < found.high < 0.75

    @pytest.mark.parametrize("sides", [([0.1], [0.2]), ([0.1, 0.2], [0.3])], ids=["one-pair", "one-in-a-group"])
    def test_of_fewer_than_two_there_is_none(self, sides: tuple[list[float], list[float]]) -> None:
        assert difference_interval(*sides) is None
