"""Agreement: the published example, other implementations, and what is not defined."""

import pytest

from scoring.evidence.labels import Judgment
from scoring.statistics import DRAWS, resampled
from scoring.views.label_agreement import (
    agreement,
    krippendorff_alpha,
    weighted_kappa,
)


def units(*rows: str) -> list[list[float]]:
    """Return the values of each unit, from a row of digits per observer; a point is no value."""
    return [[float(v) for v in unit if v.isdigit()] for unit in zip(*rows, strict=True)]


PUBLISHED = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
"""Four observers and twelve units.

From Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011).
"""


def test_alpha_of_the_published_example() -> None:
    assert krippendorff_alpha(units(*PUBLISHED)) == pytest.approx(0.815, abs=0.0005)


CASES = [
    ("220102 220202 220102", 0.911458333, 0.903225806),
    (".01110.011 1.10001111", 0.133333333, 0.086956522),
    ("3.3.111022 .03330.001", 0.45411985, 0.411764706),
    ("200120 121120 202110 021110", 0.174925109, 0.28),
    ("00.2.02.12 0220000011 0.12200.20 10120.0020", 0.177696078, -0.181818182),
    (".13312..30 2110.21.03 13.3223020", -0.406411201, -0.631578947),
    ("101110 111111", -0.1, 0.0),
    ("00.11. 0.01.0", 1.0, 1.0),
    (".03.22132..121321000 21133131.0102.301000", 0.50351357, 0.448818898),
]
"""Rows of digits per person, with ordinal alpha by the package krippendorff 0.9.0.

The quadratic kappa of the first two rows is by scikit-learn 1.9.1.
"""


@pytest.mark.parametrize(("rows", "alpha", "kappa"), CASES)
def test_agrees_with_other_implementations(
    rows: str, alpha: float, kappa: float
) -> None:
    assert krippendorff_alpha(units(*rows.split())) == pytest.approx(alpha, abs=1e-8)
    first, second = rows.split()[:2]
    pairs = [
        (float(a), float(b))
        for a, b in zip(first, second, strict=True)
        if a.isdigit() and b.isdigit()
    ]
    assert weighted_kappa(pairs) == pytest.approx(kappa, abs=1e-8)


@pytest.mark.parametrize(
    "given",
    [[], [[1], [2], []], [[2, 2], [2, 2, 2]]],
    ids=["nothing", "no pair", "one value"],
)
def test_alpha_is_not_defined(given: list[list[float]]) -> None:
    assert krippendorff_alpha(given) is None


@pytest.mark.parametrize("pairs", [[], [(1.0, 1.0)] * 3], ids=["nothing", "one value"])
def test_kappa_is_not_defined(pairs: list[tuple[float, float]]) -> None:
    assert weighted_kappa(pairs) is None


def test_an_interval_of_one_value_or_of_mostly_undefined_ones_is_not_defined() -> None:
    assert resampled([1.0], lambda v: v[0]) is None
    assert resampled([1.0, 2.0], lambda _: None) is None


def test_full_agreement_is_one_and_disagreement_below_nought() -> None:
    assert krippendorff_alpha([[0, 0], [3, 3], [1, 1]]) == 1
    assert weighted_kappa([(0, 0), (3, 3)]) == 1
    assert weighted_kappa([(0, 3), (3, 0)]) == -1


def test_an_interval_is_the_same_every_time_and_holds_the_value() -> None:
    data = units(*(row * 3 for row in ("0123012301", "0123112300", "0133012201")))
    found = resampled(data, krippendorff_alpha)
    assert found == resampled(data, krippendorff_alpha)
    assert found
    value = krippendorff_alpha(data)
    assert value is not None
    assert found[0] < value < found[1]


def test_the_mean_of_many_has_the_interval_that_theory_gives() -> None:
    values = [float(n % 2) for n in range(100)]  # a standard error of 0.05
    found = resampled(values, lambda drawn: sum(drawn) / len(drawn))
    assert found is not None
    assert found[0] == pytest.approx(0.402, abs=0.02)
    assert found[1] == pytest.approx(0.598, abs=0.02)
    assert DRAWS == 2000


def test_the_score_is_compared_by_ranks() -> None:
    assert agreement(
        {}, [(0.1, 1), (0.2, 4), (0.9, 9), (0.95, 100)]
    ).score.value == pytest.approx(1)
    assert agreement({}, [(1, 1), (2, 1), (3, 2)]).score.value == pytest.approx(
        0.866025, abs=1e-6
    )
    assert agreement({}, [(1, 1), (1, 3)]).score.value is None


def test_pairs_that_share_no_iteration_have_no_kappa() -> None:
    found = agreement({1: {"ann": Judgment(1)}, 2: {"bob": Judgment(2)}}, [])
    assert (found.actors, dict(found.kappa), found.alpha["correctness"].n) == (
        ("ann", "bob"),
        {},
        0,
    )
