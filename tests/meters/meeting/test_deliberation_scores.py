"""The scores of a round from its own evidence, and where a record states otherwise."""

import math
from typing import Any

import pytest
from helpers.meetings import ALL_DEEP, ALL_NONE, ALL_SHALLOW, last, record, used

from scoring.meters.meeting import score_meeting
from scoring.meters.meeting.round_scores import Scores


def scores(**given: Any) -> Scores:
    return last([record(**given)]).scores


# Exploration


@pytest.mark.parametrize(
    ("levels", "score"),
    [
        pytest.param({}, 0.0, id="nothing listed"),
        pytest.param(ALL_NONE, 0.0, id="none"),
        pytest.param(ALL_SHALLOW, 0.5, id="shallow"),
        pytest.param(ALL_DEEP, 1.0, id="deep"),
        pytest.param(
            {"objectives": "deep", "constraints": "shallow"},
            1.5 / 8,
            id="what is not listed is none",
        ),
        pytest.param({"legal": "deep"}, 1 / 9, id="a further aspect"),
        pytest.param(
            {**ALL_DEEP, "legal": "none", "tax": "shallow"},
            8.5 / 10,
            id="two further aspects",
        ),
    ],
)
def test_exploration_is_the_mean_over_the_checklist_and_further_aspects(
    levels: dict[str, str], score: float
) -> None:
    assert scores(levels=levels).exploration == pytest.approx(score, abs=1e-15)


# Convergence


@pytest.mark.parametrize(
    ("experts", "score"),
    [
        pytest.param((), 0.0, id="no experts"),
        pytest.param((("A", 0.5),), 0.5, id="one"),
        pytest.param((("A", 0.7), ("B", 0.6), ("A", 0.8)), 0.5, id="most experts"),
        pytest.param(
            (("A", 0.5), ("A", 0.5), ("B", 1.0)),
            1 / 3,
            id="most experts before most confidence",
        ),
        pytest.param(
            (("A", 0.5), ("B", 0.9)), 0.45, id="as many experts: the surer ones"
        ),
        pytest.param(
            (("defer decision", 0.9), ("defer decision", 0.9)),
            0.9,
            id="deferring is an option",
        ),
        pytest.param((("A", 0.0),), 0.0, id="not sure at all"),
    ],
)
def test_convergence_is_support_times_confidence(
    experts: tuple[tuple[str, float], ...], score: float
) -> None:
    assert scores(experts=experts).convergence == pytest.approx(score, abs=1e-15)


@pytest.mark.parametrize(
    ("experts", "option"),
    [
        pytest.param((("B", 0.5), ("A", 0.5)), "B", id="first named"),
        pytest.param((("B", 0.3), ("A", 0.1 + 0.2)), "B", id="equal within 1e-9"),
        pytest.param((("B", 0.3), ("A", 0.31)), "A", id="surer"),
    ],
)
def test_the_leading_option_is_the_first_named_of_equals(
    experts: tuple[tuple[str, float], ...], option: str
) -> None:
    assert (
        f'"{option}" (1 of 2 experts'
        in last([record(experts=experts)]).facilitator_prompt
    )


@pytest.mark.parametrize(
    ("options", "spread"),
    [
        pytest.param("", 0.0, id="no experts"),
        pytest.param("AAAA", 0.0, id="one option"),
        pytest.param("AB", 1.0, id="evenly over two"),
        pytest.param("ABC", 1.0, id="evenly over three"),
        pytest.param(
            "AAB",
            -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)) / math.log(2),
            id="two to one",
        ),
    ],
)
def test_disagreement_is_the_entropy_of_choices(options: str, spread: float) -> None:
    found = scores(experts=[(option, 0.5) for option in options]).disagreement
    assert found == pytest.approx(spread, abs=1e-12)
    assert 0 <= found <= 1


# Focus, novelty and completeness


@pytest.mark.parametrize(
    ("messages", "score"),
    [
        ((0, 0, 0), 1.0),
        ((10, 4, 2), 0.75),
        ((0, 1, 0), 0.5),
        ((0, 0, 1), 0.0),
        ((1, 0, 0), 1.0),
    ],
)
def test_focus_counts_background_half(
    messages: tuple[int, int, int], score: float
) -> None:
    assert scores(messages=messages).focus == score


def recent(*records: dict[str, Any]) -> list[float]:
    return [verdict.scores.novelty_recent for verdict in score_meeting(records)]


def test_recent_novelty_of_the_first_record_is_what_it_states() -> None:
    stated: dict[str, Any] = {"points": (1, 1), "novelty__novelty_score_recent": 0.3}
    assert recent(record(4, **stated)) == [0.3]
    assert recent(record(4, points=(1, 1), novelty__novelty_score_recent=None)) == [0.5]
    assert recent(record(4, points=(1, 1), novelty__novelty_score_recent=0)) == [0.0]


def test_recent_novelty_after_a_gap_is_that_of_the_round_whatever_is_stated() -> None:
    stated: dict[str, Any] = {"points": (1, 1), "novelty__novelty_score_recent": 0.3}
    assert recent(record(1, points=(3, 1)), record(3, **stated)) == [0.75, 0.5]
    assert recent(record(1, points=(3, 1)), record(2, **stated)) == [0.75, 4 / 6]


# What is stated otherwise


COMPOSITE = {
    "exploration_score": 1.0,
    "convergence_score": 0.8,
    "focus_score": 0.8,
    "low_novelty_score": 0.9,
    "weights_used": {
        "exploration": 0.35,
        "convergence": 0.35,
        "focus": 0.2,
        "low_novelty": 0.1,
    },
    "meeting_completeness_index": 0.88,
}
STATED = {
    "exploration__exploration_score": 1.0,
    "convergence__leading_option_support_fraction": 1.0,
    "convergence__leading_option_avg_confidence": 0.8,
    "convergence__convergence_score": 0.8,
    "focus__focus_score": 0.8,
    "novelty__novelty_score_overall": 0.1,
    "novelty__novelty_score_recent": 0.1,
}
SAME: dict[str, Any] = {
    **STATED,
    "composite": COMPOSITE,
    "cost_time": used(),
    "stop_continue_recommendation": {
        "status": "ready_to_decide",
        "rationale": [],
        "next_round_focus_prompts": [],
    },
}


def differences(**given: Any) -> list[tuple[str, Any, Any]]:
    found = last([record(2), record(**{**SAME, **given})]).stated_differences
    return [(d.field, d.stated, d.computed) for d in found]


def test_what_is_stated_as_it_is_computed_is_no_difference() -> None:
    assert differences() == []
    assert last([record()]).stated_differences == ()


def test_a_weight_that_the_meter_does_not_know_is_ignored() -> None:
    composite: dict[str, Any] = {**COMPOSITE}
    composite["weights_used"] = composite["weights_used"] | {"extra": 0.1}
    stated = record(**{**SAME, "composite": composite})
    for weight in (0.3, "much"):
        assert (
            last([record(2), stated], ("weights.extra", weight)).stated_differences
            == ()
        )


@pytest.mark.parametrize(
    "name",
    [*STATED, *(f"composite.{name}" for name in COMPOSITE if name != "weights_used")],
)
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_number_differs_by_more_than_its_margin(name: str, sign: int) -> None:
    field = name.partition(".")[2]
    computed = COMPOSITE[field] if field else STATED[name]
    assert isinstance(computed, float)

    def given(by: float) -> dict[str, Any]:
        stated = computed + sign * by
        return {"composite": {**COMPOSITE, field: stated}} if field else {name: stated}

    assert differences(**given(0.02)) == []
    assert differences(**given(0.02 + 5e-10)) == []
    ((found, stated, exact),) = differences(**given(0.021))
    assert found == (name if field else name.replace("__", "."))
    assert (stated, exact) == (computed + sign * 0.021, pytest.approx(computed))


@pytest.mark.parametrize(
    ("block", "name", "stated", "computed"),
    [
        ("cost_time", "round_index", 4, 3),
        ("cost_time", "max_rounds", 9, 10),
        ("cost_time", "round_index", -1, 3),
        ("stop_continue_recommendation", "status", "must_continue", "ready_to_decide"),
    ],
)
def test_cost_time_and_status_may_contradict_the_record_or_the_config(
    block: str, name: str, stated: Any, computed: Any
) -> None:
    assert differences(**{block: {**SAME[block], name: stated}}) == [
        (f"{block}.{name}", stated, computed)
    ]
