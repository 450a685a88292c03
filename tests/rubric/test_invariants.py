"""What makes a rubric valid, and what can be asked of one."""

import math
from dataclasses import replace

import pytest
from helpers.rubrics import VALID, Changes, bands, first, weights

from rubric import (
    CombinationMethod,
    Rubric,
    RubricError,
    profile_names,
    released_rubric,
    rubric_versions,
)

# Validity: one row per invariant. The change on the left breaks it, the one on the right just does not.

INVARIANTS = [
    pytest.param({"version": ""}, "version is empty", {"version": "0"}, id="a version is needed"),
    pytest.param({"combination": ""}, "combination method is empty", {}, id="a method is needed"),
    pytest.param(
        {"combination": "median"},
        "combination method 'median' is unknown; known: weighted_mean_renormalized",
        {"combination": "weighted_mean_renormalized"},
        id="the method must be a known one",
    ),
    pytest.param({"signals": ()}, "there are no signals", weights(1.0), id="one signal is needed and enough"),
    pytest.param(first(id=""), "a signal has no id", first(id=" "), id="a signal needs an id"),
    pytest.param(first(id="b"), "signal 'b' is listed twice", first(id="B"), id="ids are unique, with regard to case"),
    pytest.param(
        weights(1.0, 0.0),
        "signal 'b' has weight 0.0; weights are above 0",
        weights(1.0, 5e-324),
        id="a weight of 0 is too small, the smallest number is not",
    ),
    pytest.param(
        weights(1.25, -0.25),
        "signal 'b' has weight -0.25; weights are above 0",
        weights(0.75, 0.25),
        id="a weight is not negative",
    ),
    pytest.param(
        weights(0.5, 0.5 + 1.1e-9),
        f"weights sum to {0.5 + (0.5 + 1.1e-9)}; they must sum to 1",
        weights(0.5, 0.5 + 0.9e-9),
        id="weights may sum to a billionth more than 1",
    ),
    pytest.param(
        weights(0.5, 0.5 - 1.1e-9),
        f"weights sum to {0.5 + (0.5 - 1.1e-9)}; they must sum to 1",
        weights(0.5, 0.5 - 0.9e-9),
        id="weights may sum to a billionth less than 1",
    ),
    pytest.param(
        first(profile="dr"),
        f"signal 'a' names the profile 'dr'; released: {', '.join(profile_names())}",
        first(profile="dr-1"),
        id="a profile must be a released one",
    ),
    pytest.param({"bands": ()}, "there are no bands", bands(any=0.0), id="one band is needed and enough"),
    pytest.param(
        bands(good=0.5, **{"": 0.0}),
        "the band from 0.0 has no name",
        bands(good=0.5, **{" ": 0.0}),
        id="a band needs a name",
    ),
    pytest.param(
        bands(good=0.5, fair=0.5, bad=0.0),
        "band 'fair' (0.5) does not lie below 'good' (0.5)",
        bands(good=0.5, fair=math.nextafter(0.5, 0.0), bad=0.0),
        id="bands do not start together",
    ),
    pytest.param(
        bands(fair=0.5, good=0.75, bad=0.0),
        "band 'good' (0.75) does not lie below 'fair' (0.5)",
        bands(good=0.75, fair=0.5, bad=0.0),
        id="bands go from best to worst",
    ),
    pytest.param(
        bands(good=0.5, bad=5e-324),
        "the lowest band starts at 5e-324; it must start at 0",
        bands(good=5e-324, bad=0.0),
        id="the lowest band starts at 0",
    ),
    pytest.param(
        bands(good=0.5, bad=-0.25),
        "the lowest band starts at -0.25; it must start at 0",
        bands(good=0.5, bad=-0.0),
        id="no band starts below 0",
    ),
]


@pytest.mark.parametrize(("broken", "problem", "sound"), INVARIANTS)
def test_a_broken_invariant_is_named_and_nothing_else_is(broken: Changes, problem: str, sound: Changes) -> None:
    rubric = replace(VALID, **broken)
    assert list(rubric.problems()) == [problem]
    with pytest.raises(RubricError) as caught:
        rubric.validate()
    assert str(caught.value) == f"rubric {rubric.version or '(no version)'}: {problem}"
    replace(VALID, **sound).validate()


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        *(
            (
                weights(0.5, weight),
                [
                    f"signal 'b' has weight {weight}; weights are above 0",
                    f"weights sum to {weight}; they must sum to 1",
                ],
            )
            for weight in (math.nan, math.inf, -math.inf)
        ),
        (bands(good=math.nan, bad=0.0), ["band 'bad' (0.0) does not lie below 'good' (nan)"]),
        (bands(bad=math.nan), ["the lowest band starts at nan; it must start at 0"]),
    ],
)
def test_a_number_that_is_not_finite_is_refused(changes: Changes, problems: list[str]) -> None:
    assert list(replace(VALID, **changes).problems()) == problems


def test_all_problems_are_listed_in_reading_order_and_the_first_is_raised() -> None:
    broken = Rubric("", CombinationMethod(""), (), ())
    assert list(broken.problems()) == [
        "version is empty",
        "combination method is empty",
        "there are no signals",
        "there are no bands",
    ]
    with pytest.raises(RubricError, match=r"^rubric \(no version\): version is empty$"):
        broken.validate()


# Bands


@pytest.mark.parametrize("version", rubric_versions())
@pytest.mark.parametrize(
    ("value", "band"),
    [
        pytest.param(1.0, "excellent", id="the best value"),
        pytest.param(0.85, "excellent", id="the edge belongs to the upper band: 0.85"),
        pytest.param(math.nextafter(0.85, 0), "good", id="a hair below 0.85"),
        pytest.param(0.70, "good", id="the edge belongs to the upper band: 0.70"),
        pytest.param(math.nextafter(0.70, 0), "fair", id="a hair below 0.70"),
        pytest.param(0.50, "fair", id="the edge belongs to the upper band: 0.50"),
        pytest.param(math.nextafter(0.50, 0), "poor", id="a hair below 0.50"),
        pytest.param(0.0, "poor", id="the worst value"),
        pytest.param(-0.0, "poor", id="minus zero is zero"),
        pytest.param(math.nextafter(1.0, 2), "excellent", id="a hair above 1"),
        pytest.param(7.0, "excellent", id="far above 1"),
        pytest.param(math.inf, "excellent", id="infinity"),
        pytest.param(-0.5, "poor", id="below 0"),
        pytest.param(-math.inf, "poor", id="minus infinity"),
        pytest.param(math.nan, "poor", id="not a number"),
    ],
)
def test_a_value_is_named_by_the_band_it_lies_in_or_the_nearest(version: str, value: float, band: str) -> None:
    assert released_rubric(version).band(value) == band


# Looking signals up


@pytest.mark.parametrize(("name", "found"), [("b", 1), ("", None), ("B", None), ("b ", None), ("d", None)])
def test_a_signal_is_found_by_its_exact_id(name: str, found: int | None) -> None:
    assert VALID.signal(name) == (None if found is None else VALID.signals[found])


def test_two_way_signals_come_in_rubric_order_and_one_way_signals_do_not_come() -> None:
    assert [spec.id for spec in VALID.two_way_signals()] == ["a", "c"]
    assert replace(VALID, **weights(0.5, 0.5)).two_way_signals() == ()
