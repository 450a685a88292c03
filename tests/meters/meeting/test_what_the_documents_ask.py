"""Cases of the documents that the meeting meter had wrong."""

from typing import Any

import pytest
from helpers.meetings import ALL_DEEP, last, record, used

from scoring.errors import MeetingError
from scoring.meters.meeting import score_meeting
from scoring.meters.meeting.undecided import as_markdown, no_decision

A_AND_B = (("A", 0.5), ("B", 0.5), ("A", 0.4))


def circles(number: int, **more: Any) -> list[dict[str, Any]]:
    return [record(n, experts=A_AND_B, **more) for n in range(1, number + 1)]


class TestADebateInCircles:
    """Asks people to choose among what remains, or to write down why they cannot."""

    def test_is_asked_the_either_or_question_before_it_is_parked(self) -> None:
        verdict = last(circles(5))
        assert (verdict.rule, verdict.status) == ("stalled", "park_or_abort")
        assert verdict.facilitator_prompt == (
            "We are repeating ourselves: decide between A and B now, "
            'or record "no decision" with these blockers: '
            "convergence 0.3 is below its minimum of 0.6?"
        )

    @pytest.mark.parametrize(
        ("experts", "considered", "asked"),
        [
            pytest.param(
                (("A", 0.2),), ["A", "B"], "decide on A now", id="one option is left"
            ),
            pytest.param(
                (), ["A", "B", "C"], "decide between A, B and C now", id="no preference"
            ),
            pytest.param((), None, "decide now", id="no option is known"),
            pytest.param(
                (("a\x1b[31m", 0.1),),
                None,
                "decide on a\\x1b[31m now",
                id="control characters",
            ),
        ],
    )
    def test_names_the_options_that_remain(
        self, experts: Any, considered: Any, asked: str
    ) -> None:
        given = record(10, experts=experts, convergence__options_considered=considered)
        assert f": {asked}, or record" in last([given]).facilitator_prompt


def annotations(
    core: int, context: int = 0, off_topic: int = 0
) -> list[dict[str, str]]:
    kinds = ["core"] * core + ["context"] * context + ["off_topic"] * off_topic
    return [
        {"message_id": f"m{n}", "speaker_id": "e1", "topic_relevance": kind}
        for n, kind in enumerate(kinds)
    ]


def without(data: dict[str, Any], block: str, *fields: str) -> dict[str, Any]:
    return {
        **data,
        block: {
            name: value for name, value in data[block].items() if name not in fields
        },
    }


COUNTS = ("core_count", "context_count", "off_topic_count")
POINTS = ("novel_points_count", "repeated_points_count")


class TestFocusFromMessages:
    """Annotations count where the judge gave no counts."""

    def test_counts_annotations_where_counts_are_missing(self) -> None:
        given = without(
            record(focus__message_annotations=annotations(2, 1, 1)), "focus", *COUNTS
        )
        assert last([given]).scores.focus == (2 + 0.5) / 4

    def test_annotations_beyond_the_counts_differ_aloud(self) -> None:
        given = record(messages=(2, 0, 0), focus__message_annotations=annotations(3))
        (difference,) = last([given]).stated_differences
        assert (difference.field, difference.stated, difference.computed) == (
            "focus.core_count",
            2,
            3,
        )
        assert last([given]).scores.focus == 1

    def test_neither_counts_nor_annotations_is_a_fault(self) -> None:
        with pytest.raises(
            MeetingError, match=r"round 3: focus.core_count: is missing"
        ):
            last([without(record(), "focus", *COUNTS)])


SAID = [
    "We should buy the large one",
    "The small one breaks too often",
    "We should buy the large one now",
]


def messages(*texts: str) -> list[dict[str, str]]:
    return [
        {"message_id": f"m{n}", "speaker_id": "e1", "text": text}
        for n, text in enumerate(texts)
    ]


class TestNoveltyFromMessages:
    """A message is new when it is like none before it."""

    def test_counts_messages_where_points_are_not_counted(self) -> None:
        first = record(3, messages=(1, 0, 0)) | {"messages": messages(*SAID)}
        second = record(4) | {
            "messages": messages(SAID[0], "Nobody has asked the accountant yet")
        }
        verdicts = score_meeting(
            [without(one, "novelty", *POINTS) for one in (first, second)]
        )
        assert [verdict.scores.novelty for verdict in verdicts] == [2 / 3, 1 / 2]
        assert verdicts[1].scores.novelty_recent == 3 / 5
        found = verdicts[0].as_dict()["from_messages"]
        assert (
            found["novel"],
            found["repeated"],
            found["matched_by"],
            found["judge_novel"],
        ) == (
            2,
            1,
            "L1",
            None,
        )

    def test_has_the_count_of_the_judge_beside_it_and_leaves_the_score(self) -> None:
        given = record(points=(1, 9)) | {"messages": messages(*SAID)}
        verdict = last([given])
        assert (
            verdict.scores.novelty,
            verdict.from_messages and verdict.from_messages.judge_repeated,
        ) == (0.1, 9)
        assert [d.field for d in verdict.stated_differences] == ["novelty.share_of_new"]
        assert (
            last(
                [record(points=(2, 1)) | {"messages": messages(*SAID)}]
            ).stated_differences
            == ()
        )

    def test_without_messages_points_are_needed(self) -> None:
        assert "from_messages" not in last([record()]).as_dict()
        with pytest.raises(
            MeetingError, match=r"novelty.novel_points_count: is missing"
        ):
            last([without(record(), "novelty", *POINTS)])


def cost(number: int, cumulative: float) -> dict[str, Any]:
    return record(number, experts=A_AND_B, cost_time=used(number, cumulative, 1, 60))


class TestCost:
    """What a meeting has cost, and a limit of it."""

    def test_is_that_of_the_steps_where_no_record_has_it(self) -> None:
        assert (
            last([record(3)], ("cost_per_step", 0.4)).as_dict()["pressure"][
                "cost_total"
            ]
            == 1.2
        )
        assert last([record(3)]).pressure.cost_total is None

    def test_beyond_the_limit_parks_with_the_reason(self) -> None:
        verdict = last([cost(3, 1.05)], ("cost_limit", 1.0))
        assert verdict.status == "park_or_abort"
        assert verdict.reasons[0] == "cost 1.05 of at most 1"
        assert verdict.facilitator_prompt.startswith(
            "The budget is used up: decide between A and B now, or record"
        )

    def test_of_a_meeting_that_may_end_asks_to_decide(self) -> None:
        assert (
            last([record(3)], ("cost_per_step", 1), ("cost_limit", 3)).status
            == "ready_to_decide"
        )


RISKS = "risks_failure_modes"
LEADS_A = {"convergence__leading_option": "A"}


class TestWhatIsStated:
    @pytest.mark.parametrize(
        ("given", "field", "computed"),
        [
            pytest.param(
                {"convergence__leading_option": "B"},
                "convergence.leading_option",
                "A",
                id="a wrong option",
            ),
            pytest.param(
                {"exploration__missing_critical_aspects": [RISKS]},
                "exploration.missing_critical_aspects",
                "none",
                id="a stale missing aspect",
            ),
        ],
    )
    def test_differs(self, given: dict[str, Any], field: str, computed: str) -> None:
        (difference,) = last([record(**given)]).stated_differences
        stated = given[field.replace(".", "__")]
        assert (difference.field, difference.computed) == (field, computed)
        assert difference.stated in stated

    @pytest.mark.parametrize(
        "given",
        [
            pytest.param(
                {"experts": (("A", 0.8), ("A", 0.9), ("B", 1.0)), **LEADS_A},
                id="the leading one",
            ),
            pytest.param(
                {"experts": (("B", 0.8), ("A", 0.8)), **LEADS_A},
                id="as many prefer it as surely",
            ),
            pytest.param(
                {
                    "levels": {**ALL_DEEP, RISKS: "shallow"},
                    "exploration__missing_critical_aspects": [RISKS],
                },
                id="one that is missing",
            ),
        ],
    )
    def test_agrees(self, given: dict[str, Any]) -> None:
        assert last([record(**given)]).stated_differences == ()


class TestNoDecision:
    """What a meeting leaves that ends undecided."""

    def test_has_options_positions_and_blockers(self) -> None:
        given = circles(5, convergence__options_considered=["A", "B", "C | D"])
        found = no_decision(given, score_meeting(given))
        assert found["options"][0] == {
            "option": "A",
            "experts": 2,
            "mean_confidence": 0.45,
        }
        assert [row["preferred_option"] for row in found["positions"]] == [
            "A",
            "B",
            "A",
        ]
        assert "convergence 0.3 is below its minimum of 0.6" in found["blockers"]
        text = as_markdown(found)
        assert text.startswith(
            "# No decision\n\nEnded after round 5, by the rule `stalled`.\n"
        )
        assert "| C \\| D | 0 | - |" in text
        assert "- convergence 0.3 is below its minimum of 0.6\n" in text
