"""Agreement: the published example, other implementations, and what is not defined."""

import random
import time

import pytest

from scoring.evidence.labels import Judgement
from scoring.views.agreement import (
    DRAWS,
    Level,
    agreement,
    krippendorff_alpha,
    rank_correlation,
    resampled,
    weighted_kappa,
)

LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")


def units(*rows: str) -> list[list[float]]:
    """Return the values that each unit was given, from a row of digits per observer; a point is no value."""
    return [[float(v) for v in unit if v.isdigit()] for unit in zip(*rows, strict=True)]


PUBLISHED = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
"""Four observers and twelve units, from Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011)."""


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_of_the_published_example(level: Level, value: float) -> None:
    found = krippendorff_alpha(units(*PUBLISHED), level)
    assert found == pytest.approx(value, abs=0.0005)


CASES = [
    ("220102 220202 220102", (0.815217391, 0.911458333, 0.9375, 0.974550898), 0.903225806),
    (".01110.011 1.10001111", (0.133333333, 0.133333333, 0.133333333, 0.133333333), 0.086956522),
    ("3.3.111022 .03330.001", (0.169811321, 0.45411985, 0.45, 0.261243324), 0.411764706),
    ("200120 121120 202110 021110", (0.277486911, 0.174925109, 0.167130919, 0.381618656), 0.28),
    ("00.2.02.12 0220000011 0.12200.20 10120.0020", (0.146551724, 0.177696078, 0.14527027, 0.257541478), -0.181818182),
    (".13312..30 2110.21.03 13.3223020", (0.045918367, -0.406411201, -0.388349515, 0.047202334), -0.631578947),
    ("101110 111111", (-0.1, -0.1, -0.1, -0.1), 0.0),
    ("00.11. 0.01.0", (1.0, 1.0, 1.0, 1.0), 1.0),
    (".03.22132..121321000 21133131.0102.301000", (0.252595156, 0.50351357, 0.46, 0.441648015), 0.448818898),
]
"""Rows of digits per person; alpha by the package krippendorff 0.9.0, per level; and the quadratic kappa of the first
two rows by scikit-learn 1.9.1."""


@pytest.mark.parametrize(("rows", "alphas", "kappa"), CASES)
def test_agrees_with_other_implementations(rows: str, alphas: tuple[float, ...], kappa: float) -> None:
    table = units(*rows.split())
    for level, value in zip(LEVELS, alphas, strict=True):
        assert krippendorff_alpha(table, level) == pytest.approx(value, abs=1e-8), level
    first, second = rows.split()[:2]
    pairs = [(float(a), float(b)) for a, b in zip(first, second, strict=True) if a.isdigit() and b.isdigit()]
    assert weighted_kappa(pairs) == pytest.approx(kappa, abs=1e-8)


def test_alpha_agrees_with_the_package_where_it_is_installed() -> None:
    package = pytest.importorskip("krippendorff")
    chance = random.Random(3)
    for _ in range(30):
        rows = [[float(chance.randrange(4)) for _ in range(12)] for _ in range(3)]
        wanted = package.alpha(reliability_data=rows, level_of_measurement="ordinal")
        assert krippendorff_alpha(list(zip(*rows, strict=True)), "ordinal") == pytest.approx(wanted)


class TestNotDefined:
    @pytest.mark.parametrize(
        "given",
        [
            pytest.param([], id="nothing"),
            pytest.param([[1], [2], []], id="nobody labelled what another did"),
            pytest.param([[2, 2], [2, 2, 2]], id="all values are equal"),
        ],
    )
    def test_alpha(self, given: list[list[float]]) -> None:
        assert krippendorff_alpha(given) is None

    @pytest.mark.parametrize("pairs", [[], [(1.0, 1.0)] * 3], ids=["nothing", "one value"])
    def test_kappa(self, pairs: list[tuple[float, float]]) -> None:
        assert weighted_kappa(pairs) is None

    @pytest.mark.parametrize("pairs", [[], [(1.0, 2.0)], [(1.0, 1.0), (1.0, 3.0)]], ids=["none", "one", "flat"])
    def test_correlation(self, pairs: list[tuple[float, float]]) -> None:
        assert rank_correlation(pairs) is None

    def test_an_interval_of_one_value_and_of_what_is_mostly_undefined(self) -> None:
        assert resampled([1.0], lambda v: v[0]) is None
        assert resampled([1.0, 2.0], lambda _: None) is None


def test_full_agreement_is_one_and_disagreement_below_nought() -> None:
    assert krippendorff_alpha([[0, 0], [3, 3], [1, 1]]) == 1
    assert weighted_kappa([(0, 0), (3, 3)]) == 1
    assert weighted_kappa([(0, 3), (3, 0)]) == -1


def test_correlation_goes_by_ranks_and_shares_ties() -> None:
    assert rank_correlation([(0.1, 1), (0.2, 4), (0.9, 9), (0.95, 100)]) == pytest.approx(1)
    assert rank_correlation([(1, 1), (2, 1), (3, 2)]) == pytest.approx(0.866025, abs=1e-6)


@pytest.mark.slow
def test_an_interval_is_the_same_every_time_and_holds_the_value() -> None:
    data = units(*(row * 3 for row in ("0123012301", "0123112300", "0133012201")))
    found = resampled(data, krippendorff_alpha)
    assert found == resampled(data, krippendorff_alpha)
    assert found
    value = krippendorff_alpha(data)
    assert value is not None
    assert found[0] < value < found[1]
    assert found != resampled(data, krippendorff_alpha, seed=2)


def test_the_mean_of_many_has_the_interval_that_theory_gives() -> None:
    values = [float(n % 2) for n in range(100)]  # a standard error of 0.05
    found = resampled(values, lambda drawn: sum(drawn) / len(drawn))
    assert found is not None
    assert found[0] == pytest.approx(0.402, abs=0.02)
    assert found[1] == pytest.approx(0.598, abs=0.02)
    assert DRAWS == 2000


@pytest.mark.slow
def test_a_hundred_iterations_take_a_moment() -> None:
    chance = random.Random(1)
    given = {
        n: {name: Judgement(chance.randrange(4), "partial", "none") for name in ("ann", "bob", "cid")}
        for n in range(100)
    }
    began = time.monotonic()
    found = agreement(given, [(0.1, 0.2)] * 100)
    assert time.monotonic() - began < 20
    assert (found.alpha["correctness"].n, found.alpha["scope"].value, len(found.kappa)) == (100, None, 3)


def test_pairs_that_share_no_iteration_have_no_kappa() -> None:
    found = agreement({1: {"ann": Judgement(1)}, 2: {"bob": Judgement(2)}}, [])
    assert (found.actors, dict(found.kappa), found.alpha["correctness"].n) == (("ann", "bob"), {}, 0)
