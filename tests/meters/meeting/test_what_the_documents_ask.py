"""Cases of the documents that the meeting meter had wrong, each quoted with the sentence that asks for it."""

from typing import Any

import pytest
from helpers.meetings import ALL_NONE, ALL_SHALLOW, last, record

from scoring.meters.meeting import score_meeting
from scoring.meters.meeting.decision_rules import DOUBTS

A_AND_B = (("A", 0.5), ("B", 0.5), ("A", 0.4))


class TestARefusedEnd:
    """If the user does not confirm: "any remaining doubts/risks?"."""

    def test_asks_for_doubts_in_the_verdict_on_the_refused_round(self) -> None:
        verdict = last([record(3, user_confirmed=False)])
        assert verdict.status == "ready_to_decide"
        assert verdict.next_round_focus_prompts[0] == DOUBTS == "any remaining doubts or risks?"

    @pytest.mark.parametrize(
        "given",
        [
            pytest.param(record(3), id="nobody has answered"),
            pytest.param(record(3, user_confirmed=True), id="the user said yes"),
            pytest.param(record(2, user_confirmed=False), id="nothing was proposed"),
            pytest.param(record(10, user_confirmed=False), id="no round follows the last"),
        ],
    )
    def test_and_nothing_else_does(self, given: dict[str, Any]) -> None:
        assert DOUBTS not in last([given]).next_round_focus_prompts


def circles(number: int, **more: Any) -> list[dict[str, Any]]:
    return [record(n, experts=A_AND_B, **more) for n in range(1, number + 1)]


class TestADebateInCircles:
    """Shall we decide between these remaining options now, or record as 'no decision' with blockers?"""

    def test_is_asked_the_either_or_question_before_it_is_parked(self) -> None:
        verdict = last(circles(5))
        assert (verdict.rule, verdict.status) == ("stalled", "park_or_abort")
        assert verdict.facilitator_prompt == (
            'We are repeating ourselves: decide between A and B now, or record "no decision" with these blockers: '
            "convergence 0.3 is below its minimum of 0.6?"
        )

    def test_is_asked_so_at_the_hard_cap(self) -> None:
        prompt = last(circles(10)).facilitator_prompt
        assert prompt.startswith("The rounds are used up: decide between A and B now, or record")

    @pytest.mark.parametrize(
        ("experts", "considered", "asked"),
        [
            pytest.param((("A", 0.2),), ["A", "B"], "decide on A now", id="one option is left"),
            pytest.param((), ["A", "B", "C"], "decide between A, B and C now", id="nobody prefers any"),
            pytest.param((), None, "decide now", id="no option is known"),
            pytest.param((("a\x1b[31m", 0.1),), None, "decide on a\\x1b[31m now", id="control characters"),
        ],
    )
    def test_names_the_options_that_remain(self, experts: Any, considered: Any, asked: str) -> None:
        given = record(10, experts=experts, convergence__options_considered=considered)
        assert f": {asked}, or record" in last([given]).facilitator_prompt

    def test_that_may_end_is_asked_whether_to_decide(self) -> None:
        assert "no decision" not in last([record(10)]).facilitator_prompt


class TestEarlyConsensus:
    """Force another round, explicitly targeted at missing aspects."""

    def test_looks_at_the_missing_aspects_first(self) -> None:
        verdict = last([record(1, levels={**ALL_SHALLOW, "objectives": "none", "problem_clarity": "deep"})])
        assert verdict.rule == "early_consensus"
        assert verdict.next_round_focus_prompts[:2] == ("objectives", "risks_failure_modes")
        assert "let us look at objectives, risks_failure_modes, options_alternatives" in verdict.facilitator_prompt

    def test_other_rounds_keep_their_order(self) -> None:
        first, second = score_meeting([record(1, levels=ALL_NONE, experts=A_AND_B), record(2, experts=A_AND_B)])
        assert first.rule == "must_go_on"
        assert first.next_round_focus_prompts == first.missing_aspects
        assert second.next_round_focus_prompts == ()
