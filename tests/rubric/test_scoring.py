"""How a rubric scores what is present, and how much of it that covers."""

import math
from dataclasses import replace
from fractions import Fraction

from helpers.rubrics import VALID, Votes, voting, weights
from hypothesis import given, settings
from hypothesis import strategies as st

from rubric import (
    BAND_INSUFFICIENT,
    Coverage,
    Rubric,
    Score,
    coverage_of,
    default_rubric,
    released_rubric,
    rubric_versions,
)


def weighing(*given: float) -> Rubric:
    return replace(VALID, **weights(*given))


def breakdown(score: Score) -> dict[str, tuple[float, float, float]]:
    return {
        row.signal: (row.sub_score, row.effective_weight, row.contribution)
        for row in score.breakdown
    }


def test_a_rubric_without_bands_names_none() -> None:
    assert replace(VALID, bands=()).band(0.5) == ""


def test_the_weights_of_absent_signals_go_to_the_present_ones() -> None:
    """The digits are those of the reference."""
    score = default_rubric().score(
        voting(
            landed=1.0,
            verifier=0.75,
            tests=0.5,
            correction_pressure=0.5,
            scope=1.0,
            token_efficiency=0.9,
        )
    )
    assert breakdown(score) == {
        "landed": (1.0, 0.22222222222222224, 0.22222222222222224),
        "verifier": (0.75, 0.19999999999999998, 0.15),
        "tests": (0.5, 0.18888888888888888, 0.09444444444444444),
        "correction_pressure": (0.5, 0.14444444444444446, 0.07222222222222223),
        "scope": (1.0, 0.14444444444444446, 0.14444444444444446),
        "hook_outcomes": (0.0, 0.0, 0.0),
        "token_efficiency": (0.9, 0.09999999999999999, 0.09),
    }
    assert (score.value, score.scored, score.band) == (0.7733333333333333, True, "good")


def test_effective_weights_are_rounded_before_they_are_multiplied_and_nothing_is_clamped() -> (
    None
):
    """The reference's last digit: dividing once at the end would give exactly 1."""
    ones = dict.fromkeys(
        (
            "landed",
            "verifier",
            "tests",
            "correction_pressure",
            "scope",
            "token_efficiency",
        ),
        1.0,
    )
    score = default_rubric().score(voting(**ones))
    assert score.value == 1.0000000000000002
    assert score.band == "excellent"


def test_sums_run_in_rubric_order() -> None:
    forward = weighing(0.1, 0.2, 0.3, 0.4)
    backward = replace(forward, signals=forward.signals[::-1])
    readings = voting(a=1.0, b=1.0, c=1.0)
    assert forward.score(readings).value == 0.9999999999999999
    assert backward.score(readings).value == 1.0


def test_a_reading_the_rubric_does_not_ask_for_has_no_vote() -> None:
    assert VALID.score(voting(a=0.5, other=1.0)) == VALID.score(voting(a=0.5))


def test_many_iterations_are_scored_in_the_order_they_come() -> None:
    readings = [Votes(iteration=n) for n in (3, 1, 2, 1)]
    assert VALID.score_all(readings) == [VALID.score(one) for one in readings]


sub_scores = st.floats(0, 1) | st.sampled_from([-0.0, 0.0, 1.0, 5e-324])


@st.composite
def rubrics_and_sub_scores(draw: st.DrawFn) -> tuple[Rubric, dict[str, float]]:
    rubric = released_rubric(draw(st.sampled_from(rubric_versions())))
    given_ids = draw(
        st.sets(st.sampled_from([str(spec.id) for spec in rubric.signals]))
    )
    return rubric, {name: draw(sub_scores) for name in sorted(given_ids)}


ROUNDING = 1e-15
"""What the roundings of one score can add up to; the contract clamps nothing."""


@settings(derandomize=True)
@given(rubrics_and_sub_scores())
def test_any_score_is_the_mean_of_what_is_present(
    drawn: tuple[Rubric, dict[str, float]],
) -> None:
    rubric, given_scores = drawn
    score = rubric.score(voting(**given_scores))
    assert score.scored is bool(given_scores)
    assert 0.0 <= score.value <= 1.0 + ROUNDING  # which NaN is not
    assert math.copysign(1.0, score.value) == 1.0
    total = 0.0
    for row in score.breakdown:
        total += row.contribution
    assert score.value == total
    voted = [
        (Fraction(spec.weight), Fraction(given_scores[spec.id]))
        for spec in rubric.signals
        if spec.id in given_scores
    ]
    if voted:
        exact = sum(w * s for w, s in voted) / sum(w for w, _ in voted)
        assert abs(score.value - exact) <= ROUNDING
        assert abs(sum(row.effective_weight for row in score.breakdown) - 1) <= ROUNDING
        enough = score.coverage.weight >= rubric.minimum_coverage
        assert score.band == (rubric.band(score.value) if enough else BAND_INSUFFICIENT)


@settings(derandomize=True)
@given(rubrics_and_sub_scores(), st.data())
def test_a_better_sub_score_never_lowers_the_value(
    drawn: tuple[Rubric, dict[str, float]], data: st.DataObject
) -> None:
    rubric, given_scores = drawn
    better = {
        name: data.draw(st.floats(max(score, 0.0), 1))
        for name, score in given_scores.items()
    }
    assert (
        rubric.score(voting(**better)).value
        >= rubric.score(voting(**given_scores)).value
    )


# Coverage


def test_coverage_counts_the_signals_that_voted_and_their_weight() -> None:
    coverage = VALID.score(voting(a=0.0, c=1.0)).coverage
    assert coverage == Coverage(present=2, total=3, weight=0.75)
    assert str(coverage) == "2 of 3 signals, 75.0 % of the weight"


def test_nothing_is_not_covered() -> None:
    assert VALID.score(Votes()).coverage == Coverage(present=0, total=3, weight=0.0)
    assert coverage_of([]) == Coverage(present=0, total=0, weight=0.0)
    assert str(coverage_of([])) == "0 of 0 signals, 0.0 % of the weight"
