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

HIGH, LOW = 0.5 + 1.1e-9, 0.5 - 1.1e-9
"""Weights that miss 0.5 by more than the billionth by which a sum may miss 1."""
PROFILES = ", ".join(profile_names())

# Validity: one row per invariant. The change on the left breaks it, the one on the right just does
# not.

INVARIANTS: list[tuple[Changes, str, Changes]] = [
    ({"version": ""}, "version is empty", {"version": "0"}),
    ({"combination": ""}, "combination method is empty", {}),
    (
        {"combination": "median"},
        "combination method 'median' is unknown; known: weighted_mean_renormalized",
        {},
    ),
    ({"signals": ()}, "there are no signals", weights(1.0)),
    (first(id=""), "a signal has no id", first(id=" ")),
    (first(id="b"), "signal 'b' is listed twice", first(id="B")),
    (
        weights(1.0, 0.0),
        "signal 'b' has weight 0.0; weights are above 0",
        weights(1.0, 5e-324),
    ),
    (
        weights(1.25, -0.25),
        "signal 'b' has weight -0.25; weights are above 0",
        weights(0.75, 0.25),
    ),
    (
        weights(0.5, HIGH),
        f"weights sum to {0.5 + HIGH}; they must sum to 1",
        weights(0.5, 0.5 + 0.9e-9),
    ),
    (
        weights(0.5, LOW),
        f"weights sum to {0.5 + LOW}; they must sum to 1",
        weights(0.5, 0.5 - 0.9e-9),
    ),
    (
        first(profile="dr"),
        f"signal 'a' names the profile 'dr'; released: {PROFILES}",
        first(profile="dr-1"),
    ),
    ({"bands": ()}, "there are no bands", bands(any=0.0)),
    (
        bands(good=0.5, **{"": 0.0}),
        "the band from 0.0 has no name",
        bands(good=0.5, **{" ": 0.0}),
    ),
    (
        bands(good=0.5, fair=0.5, bad=0.0),
        "band 'fair' (0.5) does not lie below 'good' (0.5)",
        bands(good=0.5, fair=math.nextafter(0.5, 0.0), bad=0.0),
    ),
    (
        bands(fair=0.5, good=0.75, bad=0.0),
        "band 'good' (0.75) does not lie below 'fair' (0.5)",
        bands(good=0.75, fair=0.5, bad=0.0),
    ),
    (
        bands(good=0.5, bad=5e-324),
        "the lowest band starts at 5e-324; it must start at 0",
        bands(good=5e-324, bad=0.0),
    ),
    (
        bands(good=0.5, bad=-0.25),
        "the lowest band starts at -0.25; it must start at 0",
        bands(good=0.5, bad=-0.0),
    ),
]


@pytest.mark.parametrize(
    ("broken", "problem", "sound"),
    INVARIANTS,
    ids=[problem for _, problem, _ in INVARIANTS],
)
def test_a_broken_invariant_is_named_and_nothing_else_is(
    broken: Changes, problem: str, sound: Changes
) -> None:
    rubric = replace(VALID, **broken)
    assert list(rubric.problems()) == [problem]
    with pytest.raises(RubricError) as caught:
        rubric.validate()
    assert str(caught.value) == f"rubric {rubric.version or '(no version)'}: {problem}"
    replace(VALID, **sound).validate()


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_weight_that_is_not_finite_is_refused_and_spoils_the_sum(
    number: float,
) -> None:
    assert list(replace(VALID, **weights(0.5, number)).problems()) == [
        f"signal 'b' has weight {number}; weights are above 0",
        f"weights sum to {number}; they must sum to 1",
    ]


def test_a_band_that_starts_nowhere_is_refused() -> None:
    def problems(**minima: float) -> list[str]:
        return list(replace(VALID, **bands(**minima)).problems())

    assert problems(good=math.nan, bad=0.0) == [
        "band 'bad' (0.0) does not lie below 'good' (nan)"
    ]
    assert problems(bad=math.nan) == [
        "the lowest band starts at nan; it must start at 0"
    ]


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
    ("band", "values"),
    [
        ("excellent", [math.inf, 7.0, math.nextafter(1.0, 2), 1.0, 0.85]),
        ("good", [math.nextafter(0.85, 0), 0.70]),
        ("fair", [math.nextafter(0.70, 0), 0.50]),
        ("poor", [math.nextafter(0.50, 0), 0.0, -0.0, -0.5, -math.inf, math.nan]),
    ],
)
def test_a_value_is_named_by_the_band_it_lies_in_or_the_nearest(
    version: str, band: str, values: list[float]
) -> None:
    assert {released_rubric(version).band(value) for value in values} == {band}


# Looking signals up


@pytest.mark.parametrize(
    ("name", "found"), [("b", 1), ("", None), ("B", None), ("b ", None), ("d", None)]
)
def test_a_signal_is_found_by_its_exact_id(name: str, found: int | None) -> None:
    assert VALID.signal(name) == (None if found is None else VALID.signals[found])


def test_two_way_signals_come_in_rubric_order_and_one_way_signals_do_not_come() -> None:
    assert [spec.id for spec in VALID.two_way_signals()] == ["a", "c"]
    assert replace(VALID, **weights(0.5, 0.5)).two_way_signals() == ()
