"""How sure a score is: bounds, what is not applicable, the least evidence for a band, and caps."""

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from helpers.rubrics import Vote, voting
from hypothesis import given, settings
from hypothesis import strategies as st

from rubric import (
    BAND_INSUFFICIENT,
    BAND_UNSCORED,
    Bounds,
    Coverage,
    Rubric,
    Score,
    released_rubric,
    rubric_versions,
)

RUBRIC = released_rubric("3.1.0")
OLD = released_rubric("2.2.0")


def score(rubric: Any = RUBRIC, tool_calls: Any = 1, **given: Any) -> Score:
    found: Score = rubric.score(voting(tool_calls, **given))
    return found


NOT_APPLICABLE = Vote(False, applicable=False)


# Bounds


def test_bounds_are_what_the_absent_signals_could_make_of_the_value() -> None:
    found = score(landed=1.0, correction_pressure=0.5).bounds
    assert found.low == pytest.approx(0.1564 + 0.1012 / 2)
    assert found.high == pytest.approx(found.low + 1 - 0.1564 - 0.1012)


def test_bounds_of_everything_are_the_value() -> None:
    every = score(**{spec.id: 0.75 for spec in RUBRIC.signals})
    assert every.bounds.low == pytest.approx(0.75)
    assert every.bounds.high == pytest.approx(0.75)


def test_bounds_of_nothing_are_the_whole_range() -> None:
    assert score().bounds == Bounds(0.0, 1.0)
    assert replace(score(), breakdown=()).bounds == Bounds(0.0, 1.0)
    assert score(
        **{spec.id: NOT_APPLICABLE for spec in RUBRIC.signals}
    ).bounds == Bounds(0.0, 1.0)


shares = st.floats(0, 1)


@st.composite
def scores(draw: st.DrawFn) -> Score:
    rubric = released_rubric(draw(st.sampled_from(rubric_versions())))
    vote = shares.map(lambda share: Vote(True, share)) | st.sampled_from(
        [Vote(False), NOT_APPLICABLE]
    )
    return score(rubric, **{spec.id: draw(vote) for spec in rubric.signals})


@settings(derandomize=True)
@given(scores())
def test_bounds_hold_the_value_and_are_as_far_apart_as_weight_is_absent(
    found: Score,
) -> None:
    low, high = found.bounds.low, found.bounds.high
    assert 0 <= low <= high <= 1
    assert high - low == pytest.approx(
        1 - found.coverage.weight if found.coverage.total else 1
    )
    assert low == pytest.approx(found.value * found.coverage.weight)
    if found.scored:
        assert low - 1e-12 <= found.value <= high + 1e-12


@settings(derandomize=True)
@given(scores(), st.data())
def test_whatever_the_absent_signals_turn_out_to_be_the_value_is_within_the_bounds(
    found: Score, data: st.DataObject
) -> None:
    rows = [row for row in found.breakdown if row.applicable]
    known = {
        row.signal: row.sub_score if row.present else data.draw(shares) for row in rows
    }
    rubric = released_rubric(found.rubric_version)
    later = score(
        rubric,
        **{spec.id: known.get(spec.id, NOT_APPLICABLE) for spec in rubric.signals},
    )
    if rows:
        assert found.bounds.low - 1e-12 <= later.value <= found.bounds.high + 1e-12


def test_what_is_not_applicable_is_neither_covered_nor_missing() -> None:
    without = score(landed=1.0, tests=NOT_APPLICABLE)
    assert without.coverage == Coverage(1, 8, 0.1564 / math.fsum((1, -0.1288)))
    assert without.bounds.high == pytest.approx(1)
    assert not next(
        row for row in without.breakdown if row.signal == "tests"
    ).applicable
    absent = score(landed=1.0, tests=Vote(False))
    assert absent.coverage == Coverage(1, 9, 0.1564)


# The least evidence for a band


@pytest.mark.parametrize(
    ("more", "weight", "band"),
    [
        ("", 0.331, "insufficient"),
        ("tests", 0.460, "excellent"),
        ("tests scope", 0.561, "excellent"),
        ("tests scope verifier", 0.699, "excellent"),
    ],
)
def test_typical_evidence_suffices_or_does_not(
    more: str, weight: float, band: str
) -> None:
    found = score(
        landed=1.0,
        correction_pressure=1.0,
        token_efficiency=1.0,
        **dict.fromkeys(more.split(), 1.0),
    )
    assert found.coverage.weight == pytest.approx(weight, abs=5e-4)
    assert (found.band, found.scored) == (band, True)
    assert found.value == pytest.approx(1)


def test_what_is_not_applicable_can_make_the_rest_suffice() -> None:
    few = {"landed": 1.0, "correction_pressure": 1.0, "scope": 1.0}
    assert score(**few).band == BAND_INSUFFICIENT
    assert score(**few, tests=NOT_APPLICABLE).band == "excellent"


def weighing(*weights: float) -> Rubric:
    specs = (
        replace(spec, weight=weight)
        for spec, weight in zip(RUBRIC.signals, weights, strict=False)
    )
    return replace(RUBRIC, signals=tuple(specs))


def test_exactly_the_minimum_suffices_whatever_rounding_makes_of_it() -> None:
    tenths = weighing(*[0.1] * 4, *[0.12] * 5)
    tenths.validate()
    for signals in (weighing(0.4, 0.6), weighing(0.1, 0.1, 0.1, 0.1, 0.6), tenths):
        names = [spec.id for spec in signals.signals]
        for count in range(1, 5):
            for chosen in combinations(names, count):
                weight = sum(
                    spec.weight for spec in signals.signals if spec.id in chosen
                )
                band = score(signals, **dict.fromkeys(chosen, 1.0)).band
                assert band == (
                    "excellent" if round(weight, 6) >= 0.4 else BAND_INSUFFICIENT
                )


def test_a_hair_below_the_minimum_does_not() -> None:
    assert score(weighing(0.399999, 0.600001), landed=1.0).band == BAND_INSUFFICIENT


@pytest.mark.parametrize(
    ("calls", "band"), [(0, BAND_INSUFFICIENT), (1, "excellent"), (None, "excellent")]
)
def test_without_one_tool_call_of_its_own_nothing_suffices(
    calls: int | None, band: str
) -> None:
    assert (
        score(tool_calls=calls, **{spec.id: 1.0 for spec in RUBRIC.signals}).band
        == band
    )


@pytest.mark.parametrize(
    ("rubric", "band"),
    [(RUBRIC, BAND_INSUFFICIENT), (OLD, BAND_UNSCORED)],
    ids=["3.1", "2.2"],
)
def test_nothing_at_all_has_no_score(rubric: Rubric, band: str) -> None:
    nothing = score(rubric, tool_calls=0)
    assert (nothing.scored, nothing.value, nothing.band) == (False, 0, band)


def test_a_rubric_without_a_minimum_takes_any_evidence() -> None:
    assert score(OLD, tool_calls=None, token_efficiency=1.0).band == "excellent"


# Caps and sources


@pytest.mark.parametrize(
    ("share", "cap", "band"),
    [
        pytest.param(1.0, "fair", "fair", id="a better band"),
        pytest.param(0.6, "fair", "fair", id="the same band"),
        pytest.param(0.1, "fair", "poor", id="a worse band"),
        pytest.param(1.0, "", "excellent", id="no cap"),
        pytest.param(
            1.0, "splendid", "excellent", id="a band that the rubric does not have"
        ),
    ],
)
def test_a_cap_lowers_a_band_and_never_raises_one(
    share: float, cap: str, band: str
) -> None:
    votes: dict[str, float | Vote] = {spec.id: share for spec in RUBRIC.signals}
    assert score(**votes | {"tests": Vote(True, share, cap=cap)}).band == band


def test_a_cap_says_nothing_where_evidence_does_not_suffice() -> None:
    assert score(tests=Vote(True, 0.0, cap="fair")).band == BAND_INSUFFICIENT


def test_a_row_keeps_what_its_reading_says_of_itself() -> None:
    found = score(
        landed=Vote(True, 1, source="observed"),
        tests=Vote(True, 0, source="claimed", cap="fair"),
    )
    rows = {row.signal: row for row in found.breakdown}
    assert (rows["landed"].source, rows["tests"].source, rows["scope"].source) == (
        "observed",
        "claimed",
        None,
    )
    assert (rows["landed"].cap, rows["tests"].cap) == ("", "fair")
