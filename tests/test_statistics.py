"""Bootstrap intervals: what they cover, and that they are the same every time."""

import random

import pytest

from scoring.statistics import DRAWS, Interval, bootstrap_interval, difference_interval


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
    @pytest.mark.parametrize(
        ("values", "interval"),
        [([], None), ([0.5], None), ([0.2, 0.8], (0.2, 0.8)), ([0.7] * 30, (0.7, 0.7))],
        ids=["no value", "one value", "two values", "equal values"],
    )
    def test_of_few_or_equal_values(
        self, values: list[float], interval: tuple[float, float] | None
    ) -> None:
        assert bootstrap_interval(values) == interval

    @pytest.mark.parametrize("rare", [0.5, 0.01], ids=["even", "skewed"])
    def test_of_many_values_is_that_of_the_binomial(self, rare: float) -> None:
        """The sum of 0s and 1s drawn with repetition is binomial, so its quantiles are known."""
        from scipy import stats  # half a second, which only this test needs

        source = random.Random(4)
        values = [float(source.random() > rare) for _ in range(1500)]
        found, share = bootstrap_interval(values), sum(values) / 1500
        low, high = (
            stats.binom.ppf(chance, 1500, share) / 1500 for chance in (0.025, 0.975)
        )
        assert found == pytest.approx((low, high), abs=0.06 * (high - low))

    def test_is_the_same_every_time(self) -> None:
        values = made(40)
        assert bootstrap_interval(values) == bootstrap_interval(list(values))

    @pytest.mark.parametrize("count", [5, 40, 300])
    def test_is_that_of_the_textbook(self, count: int) -> None:
        values = made(count)
        found, expected = bootstrap_interval(values), plain_bootstrap(values, 3)
        assert found == pytest.approx(
            expected, abs=0.08 * (expected.high - expected.low)
        )

    def test_covers_the_true_mean_about_as_often_as_it_says(self) -> None:
        true = 5 / 6.5
        found = [bootstrap_interval(made(30, seed)) for seed in range(200)]
        covered = sum(
            interval is not None and interval.low <= true <= interval.high
            for interval in found
        )
        assert 175 <= covered <= 199


class TestPairs:
    def test_two_groups_may_be_of_different_sizes(self) -> None:
        found = difference_interval([0.2, 0.3, 0.4], [0.8, 0.9])
        assert found is not None
        assert 0.35 < found.low < 0.55 < found.high < 0.75

    @pytest.mark.parametrize(
        "sides",
        [([0.1], [0.2]), ([0.1, 0.2], [0.3])],
        ids=["one-pair", "one-in-a-group"],
    )
    def test_of_fewer_than_two_there_is_none(
        self, sides: tuple[list[float], list[float]]
    ) -> None:
        assert difference_interval(*sides) is None
