"""The rules of the deliberation meter: each one firing and not, each boundary, and their order."""

from collections.abc import Mapping
from typing import Any

import pytest
from helpers.meetings import ALL_DEEP, ALL_SHALLOW, last, record, used

from scoring.meters.meeting import MeetingVerdict
from scoring.meters.meeting.decision_rules import DOUBTS
from scoring.meters.meeting.obstacles import words

EQUAL = [pytest.param(0.0, id="equal"), pytest.param(5e-10, id="above within 1e-9")]
"""How far above a score its threshold may be and still be reached."""

BEYOND = 1e-6
"""Further than that is not equal."""

HALF = {
    **ALL_DEEP,
    "constraints": "shallow",
    "key_assumptions": "shallow",
    "stakeholders_impact": "none",
}
"""E is 0.75, and 5 of 8 aspects are deep."""

SPREAD = (("A", 0.8), ("A", 0.8), ("A", 0.8), ("B", 0.8))
"""C is 0.6."""

E_MIN = "thresholds.exploration.min_to_allow_end"
C_MIN = "thresholds.convergence.min_to_allow_end"
F_MIN = "thresholds.focus.min_acceptable"
F_GOOD = "thresholds.focus.target_good"
FLOOR = "thresholds.novelty.novelty_floor_recent"
COVERAGE = "rules.require_exploration_coverage"
EARLY = "rules.early_consensus_requires_extra_check"
STALLED = "rules.stalled_debate_detection"
LATE = "rules.late_rounds"
Setting = tuple[str, Any]


def decided(verdict: MeetingVerdict) -> tuple[str, str]:
    return verdict.rule, verdict.status


# Whether ending is allowed


@pytest.mark.parametrize("beyond", EQUAL)
@pytest.mark.parametrize(
    ("given", "path", "score", "status"),
    [
        pytest.param({"levels": HALF}, E_MIN, 0.75, "must_continue", id="exploration"),
        pytest.param(
            {"levels": HALF},
            f"{COVERAGE}.min_fraction_deep_overall",
            0.625,
            "must_continue",
            id="coverage",
        ),
        pytest.param(
            {"experts": SPREAD}, C_MIN, 0.6, "continue_targeted", id="convergence"
        ),
        pytest.param(
            {"messages": (6, 1, 3)}, F_MIN, 0.65, "continue_targeted", id="focus"
        ),
    ],
)
def test_a_score_that_equals_its_minimum_reaches_it(
    given: Mapping[str, Any], path: str, score: float, status: str, beyond: float
) -> None:
    target = [
        (
            path.replace("min_to_allow_end", "target_good").replace(
                "min_acceptable", "target_good"
            ),
            0.9,
        )
    ]
    reached = last([record(**given)], *target, (path, score + beyond))
    assert reached.ending_allowed
    missed = last([record(**given)], *target, (path, score + BEYOND))
    assert (missed.ending_allowed, missed.status) == (False, status)
    assert len(missed.reasons) == 1


# 1 The last round


@pytest.mark.parametrize("number", [10, 11])
def test_the_last_round_decides_when_ending_is_allowed(number: int) -> None:
    verdict = last([record(number, points=(9, 1))])
    assert decided(verdict) == ("round_limit", "ready_to_decide")
    assert verdict.strength is None


def test_the_last_round_parks_with_what_is_missing() -> None:
    verdict = last(
        [record(10, levels=ALL_SHALLOW, experts=SPREAD[1:], messages=(1, 0, 9))]
    )
    assert decided(verdict) == ("round_limit", "park_or_abort")
    assert verdict.reasons == (
        "round 10 of at most 10",
        "exploration 0.5 is below its minimum of 0.6",
        "problem_clarity, objectives, risks_failure_modes must be deep; "
        "0 of all aspects are deep, at least 0.6 must be",
        "convergence 0.5333 is below its minimum of 0.6",
        "focus 0.1 is below its minimum of 0.6",
    )
    assert '"no decision"' in verdict.facilitator_prompt


# 2 Early consensus


def test_early_consensus_forces_a_focus() -> None:
    verdict = last(
        [
            record(
                1,
                levels={**ALL_SHALLOW, "objectives": "none", "problem_clarity": "deep"},
            )
        ]
    )
    assert decided(verdict) == ("early_consensus", "continue_targeted")
    assert verdict.next_round_focus_prompts == (
        "objectives",
        "risks_failure_modes",
        "options_alternatives",
    )
    assert verdict.reasons == (
        "early consensus: convergence 0.8 in round 1",
        "exploration 0.5 is below 0.55",
        "nothing has been said about objectives",
    )
    assert verdict.facilitator_prompt.startswith(
        'Most of us like "A". Before we agree this early, let us look at'
    )
    assert verdict.facilitator_prompt.endswith("and at what happens if we do nothing.")


# 3 Too early to end


@pytest.mark.parametrize(
    ("levels", "about"),
    [
        (
            {**ALL_DEEP, "objectives": "shallow", "constraints": "shallow"},
            "let us go into objectives",
        ),
        ({**ALL_DEEP, "constraints": "shallow"}, "let us go into constraints"),
        (ALL_DEEP, "let us use another round"),
    ],
    ids=["a required aspect", "another one", "none"],
)
def test_what_must_go_on_goes_into_what_is_not_deep(
    levels: Mapping[str, str], about: str
) -> None:
    assert (
        last([record(2, levels=levels)]).facilitator_prompt
        == f"It is too early to end: {about}."
    )


# 4 Ready


def test_a_refused_end_asks_for_doubts_once_in_the_same_round() -> None:
    doubt = record(3, user_confirmed=False)
    verdict = last([doubt])
    assert decided(verdict) == ("doubted", "continue_targeted")
    assert (
        verdict.next_round_focus_prompts
        == (DOUBTS,)
        == ("any remaining doubts or risks?",)
    )
    assert DOUBTS in verdict.facilitator_prompt
    assert (verdict.strength, verdict.ends) == (None, False)
    assert (
        DOUBTS not in last([record(10, user_confirmed=False)]).next_round_focus_prompts
    ), "no round follows"
    assert decided(last([doubt, record(4)])) == ("ready", "ready_to_decide"), (
        "the same refusal is asked about once"
    )
    assert last([doubt, record(4, user_confirmed=False)]).rule == "doubted", (
        "another refusal"
    )


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(record(3, user_confirmed=True), id="confirmed"),
        pytest.param(record(3), id="not said"),
        pytest.param(record(3, user_confirmed=None), id="null"),
        pytest.param(record(2, user_confirmed=False), id="ending was not allowed"),
        pytest.param(
            record(3, points=(9, 1), user_confirmed=False), id="was not ready"
        ),
    ],
)
def test_a_decision_that_was_not_refused_is_not_asked_about(
    before: Mapping[str, Any],
) -> None:
    assert (
        last([before, record(before["round_index"] + 1, points=(0, 30))]).rule
        == "ready"
    )


# 5 Stalled, and late without gain


def meeting(first: int, gain: float = 0.0, **fields: Any) -> list[dict[str, Any]]:
    """Two records two rounds apart; E and C stay, except that C of the later one gains."""
    earlier = record(first, experts=(("A", 0.7),) * 4, points=(9, 21))
    later = {"experts": (("A", 0.7 + gain),) * 4, "points": (9, 21), **fields}
    return [earlier, record(first + 2, **later)]


def late(
    first: int, e_gain: bool = False, c_gain: float = 0.0, **fields: Any
) -> list[dict[str, Any]]:
    """Two records two rounds apart that still say much that is new; E may gain 0.0625."""
    levels = {**ALL_DEEP, "constraints": "shallow"}
    earlier = record(first, levels=levels, experts=(("A", 0.7),) * 4, points=(9, 1))
    later = {
        "levels": ALL_DEEP if e_gain else levels,
        "experts": (("A", 0.7 + c_gain),) * 4,
        "points": (9, 1),
    }
    return [earlier, record(first + 2, **{**later, **fields})]


LOW_PROGRESS = "thresholds.progress.min_delta_{}_over_2_rounds".format
SHALLOW = record(levels=ALL_SHALLOW)


@pytest.mark.parametrize("beyond", [0.0, 5e-10])
@pytest.mark.parametrize(
    ("given", "path", "value", "step", "equal", "unequal"),
    [
        pytest.param(
            [SHALLOW],
            f"{EARLY}.convergence_high",
            0.8,
            1,
            "early_consensus",
            "must_go_on",
            id="high",
        ),
        pytest.param(
            [SHALLOW],
            f"{EARLY}.exploration_low",
            0.5,
            1,
            "must_go_on",
            "early_consensus",
            id="low",
        ),
        pytest.param(
            [record()], FLOOR, 0.1, -1, "ready", "go_on", id="floor of novelty"
        ),
        pytest.param(
            meeting(3),
            f"{STALLED}.low_novelty_recent",
            0.3,
            -1,
            "stalled",
            "go_on",
            id="low novelty",
        ),
        pytest.param(
            meeting(3, 0.05),
            f"{STALLED}.min_delta_convergence_over_2_rounds",
            0.05,
            1,
            "go_on",
            "stalled",
            id="moved",
        ),
        pytest.param(
            late(6, e_gain=True),
            LOW_PROGRESS("exploration"),
            0.03125,
            1,
            "go_on",
            "late_round",
            id="explored",
        ),
        pytest.param(
            late(6, c_gain=0.1),
            LOW_PROGRESS("convergence"),
            0.05,
            1,
            "go_on",
            "late_round",
            id="came closer",
        ),
        pytest.param([record()], F_MIN, 0.8, 1, "ready", "go_on", id="focus"),
    ],
)
def test_values_within_a_billionth_of_a_limit_equal_it(
    given: list[dict[str, Any]],
    path: str,
    value: float,
    step: int,
    equal: str,
    unequal: str,
    beyond: float,
) -> None:
    target: list[Setting] = [(F_GOOD, 0.9)]
    assert last(given, *target, (path, value + step * beyond / 2)).rule == equal
    assert last(given, *target, (path, value + step * BEYOND)).rule == unequal


@pytest.mark.parametrize(
    ("given", "rule", "otherwise"),
    [
        (
            [
                record(
                    6, levels={**ALL_DEEP, "objectives": "none", "constraints": "none"}
                )
            ],
            COVERAGE,
            "ready",
        ),
        ([SHALLOW], EARLY, "must_go_on"),
        (meeting(3), STALLED, "go_on"),
        (late(6), LATE, "go_on"),
    ],
    ids=[COVERAGE, EARLY, STALLED, LATE],
)
def test_a_rule_can_be_switched_off(
    given: list[dict[str, Any]], rule: str, otherwise: str
) -> None:
    assert last(given).rule != otherwise
    assert last(given, (f"{rule}.enabled", False)).rule == otherwise


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ([record(2)], "must_go_on"),
        ([record(3)], "ready"),
        ([record(5, levels=ALL_SHALLOW)], "early_consensus"),
        ([record(6, levels=ALL_SHALLOW)], "must_go_on"),
        (meeting(2), "go_on"),
        (meeting(3), "stalled"),
        (meeting(6)[1:], "go_on"),  # the round two before is not known
        (late(5), "go_on"),
        (late(6), "late_round"),
        (late(6)[1:], "go_on"),
        ([record(9, points=(9, 1))], "go_on"),
        ([record(10, points=(9, 1))], "round_limit"),
    ],
)
def test_a_rule_applies_to_its_rounds(given: list[dict[str, Any]], rule: str) -> None:
    assert last(given).rule == rule


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (meeting, "stalled"),
        (lambda first, **drift: late(first + 3, **drift), "late_round"),
    ],
)
def test_what_ends_without_gain_is_decided_or_parked(given: Any, rule: str) -> None:
    for drift, status in (
        ({}, "ready_to_decide"),
        ({"messages": (1, 0, 9)}, "park_or_abort"),
    ):
        verdict = last(given(3, **drift))
        assert (*decided(verdict), verdict.strength) == (rule, status, None)


# 6 Otherwise


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        pytest.param(
            {"experts": SPREAD[2:]},
            "convergence 0.4 is below its minimum of 0.6",
            id="convergence",
        ),
        pytest.param(
            {"messages": (1, 0, 9)}, "focus 0.1 is below its minimum of 0.6", id="focus"
        ),
        pytest.param({"points": (9, 1)}, "ending is allowed", id="novelty"),
    ],
)
def test_a_round_that_no_other_rule_decides_goes_on(
    given: Mapping[str, Any], reason: str
) -> None:
    verdict = last([record(**given)])
    assert decided(verdict) == ("go_on", "continue_targeted")
    assert verdict.reasons[0] == reason


# Prompts, and focus in any round


def test_prompts_come_in_their_order_and_each_once() -> None:
    own = [
        "Look at B.",
        "objectives",
        "come back to the decision: hiring",
        "Look at B.",
    ]
    given = record(
        1,
        levels={
            **ALL_DEEP,
            "objectives": "none",
            "risks_failure_modes": "shallow",
            "constraints": "none",
        },
        messages=(1, 0, 9),
        focus__focus_drift_notes=" hiring\n",
        stop_continue_recommendation={
            "status": "must_continue",
            "rationale": [],
            "next_round_focus_prompts": own,
        },
    )
    assert last([given]).next_round_focus_prompts == (
        "objectives",
        "risks_failure_modes",
        "constraints",
        "options_alternatives",
        "come back to the decision: hiring",
        "Look at B.",
    )


# The meeting as a whole


def test_pressure_says_what_is_used() -> None:
    given = record(cost_time=used(3, 1.05, 18, 45))
    assert last([given]).as_dict()["pressure"] == {
        "rounds_used": 0.3,
        "cost_total": 1.05,
        "time_used": 0.4,
    }
    found = last([record(3)], kind="tactical").as_dict()["pressure"]
    assert found == {"rounds_used": 0.4286, "cost_total": None, "time_used": None}
    for budget in (0, 5e-324):
        assert (
            last([record(cost_time=used(3, 1.05, 18, budget))]).pressure.time_used
            is None
        )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (0.6, "0.6"),
        (1 / 3, "0.3333"),
        (100.0, "100"),
        (-0.05, "-0.05"),
        (1e300, "1e+300"),
    ],
)
def test_numbers_in_words(number: float, text: str) -> None:
    assert words(number) == text
