"""What follows from novelty and readiness: rules, reasons, flags, composite rule and output."""

from collections.abc import Sequence
from typing import Any

import pytest
from helpers import tables
from helpers.deliberations import (
    BLOCKED,
    MEETING,
    OWNED,
    new_claims,
    outputs,
    transcript,
)
from msgspec.structs import replace

from scoring.meters.dr import DRResult, score_transcript
from scoring.meters.dr.profile import DEFAULT

QUESTION = "Which one?"
Rest = tuple[list[str], list[str]]
HIGH: Rest = (OWNED, [])
MEDIUM: Rest = (["End."], [])
LOW: Rest = (["Consider it"], [QUESTION, QUESTION])
"""Actions and questions of a round of that readiness, if no round before has as few questions."""


def scored(*rounds: tuple[list[str], Rest], k: int = 2) -> DRResult:
    """Score rounds of claims, and of actions and questions."""
    return score_transcript(
        transcript(*(outputs(claims, *rest) for claims, rest in rounds)),
        profile=replace(DEFAULT, k=k),
    )


def after(counts: Sequence[int], *last: Rest, k: int = 2) -> DRResult:
    """Score rounds of so many new claims.

    The last rounds have these actions and questions, the others the first of them.
    """
    rest = [last[0]] * (len(counts) - len(last)) + list(last)
    return scored(*zip(new_claims(*counts), rest, strict=True), k=k)


class TestRules:
    @pytest.mark.parametrize(
        ("counts", "rest", "novelty", "readiness", "signal"),
        [
            ([2, 2], HIGH, "HIGH", "HIGH", "CONTINUE"),
            ([2, 2], MEDIUM, "HIGH", "MEDIUM", "CONTINUE"),
            ([2, 2], LOW, "HIGH", "LOW", "CONTINUE"),
            ([4, 1], HIGH, "MEDIUM", "HIGH", "CONTINUE"),
            ([4, 1], MEDIUM, "MEDIUM", "MEDIUM", "CONTINUE"),
            ([4, 1], LOW, "MEDIUM", "LOW", "CONTINUE"),
            ([4, 0], HIGH, "MEDIUM", "HIGH", "CONTINUE"),
            ([4, 0, 0], HIGH, "LOW", "HIGH", "SHIP"),
            ([4, 0, 0], MEDIUM, "LOW", "MEDIUM", "SHIP"),
            ([4, 0, 0], LOW, "LOW", "LOW", "ESCALATE"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_hold_for_each_pair_of_classes(
        self, counts: list[int], rest: Rest, novelty: str, readiness: str, signal: str
    ) -> None:
        few = (rest[0], rest[1][:1]) if rest[1] else rest
        result = after(counts, few, rest)
        assert (result.novelty[-1].level, result.readiness[-1].level) == (
            novelty,
            readiness,
        )
        assert result.signal == signal

    def test_something_is_said_of_one_claim(self) -> None:
        result = scored((["a"], MEDIUM), ([], HIGH), ([], HIGH))
        assert (result.signal, result.novelty[0].claims > 0) == ("SHIP", True)

    def test_a_blocker_escalates_whatever_the_readiness(self) -> None:
        result = after([4, 0, 0], HIGH, ([*OWNED, BLOCKED], []))
        assert (result.readiness[-1].level, result.signal) == ("HIGH", "ESCALATE")
        assert f'"{BLOCKED}"' in result.recommendations[-1].rationale

    def test_a_blocker_of_an_earlier_round_or_while_much_is_new_does_not(self) -> None:
        blocker: Rest = ([*OWNED, BLOCKED], [])
        assert after([4, 0, 0], blocker, HIGH).signal == "SHIP"
        assert after([4, 1], HIGH, blocker).signal == "CONTINUE"

    @pytest.mark.parametrize(
        ("counts", "ready", "signal"), tables.cases("dr_recommendation", "long runs")
    )
    def test_a_long_run_without_readiness_escalates(
        self, counts: list[int], ready: str, signal: str
    ) -> None:
        rest = {"H": HIGH, "M": MEDIUM}
        assert after(counts, *(rest[r] for r in ready)).signal == signal


class TestReasons:
    def test_name_the_caveats(self) -> None:
        result = after([4, 0, 0], (["Write it now"], []), (["Consider it"], []))
        assert (result.signal, result.readiness[-1].level) == ("SHIP", "MEDIUM")
        rationale = result.recommendations[-1].rationale
        assert "next actions at 0.3 (no next action is specific)" in rationale
        assert "open questions at" not in rationale
        assert "blockers at" not in rationale

    def test_cut_a_long_blocker_and_show_its_control_characters(self) -> None:
        result = after([4, 0, 0], HIGH, ([f"Blocked \x1b[31m {'x' * 500}"], []))
        assert "\\x1b[31m" in result.recommendations[-1].rationale
        assert len(result.recommendations[-1].reasons[2]) < 250


class TestFlags:
    @staticmethod
    def of(*rounds: dict[str, Any]) -> list[tuple[str, int]]:
        return [(f.flag, f.round) for f in score_transcript(transcript(*rounds)).flags]

    @staticmethod
    def claims(*numbers: int) -> dict[str, Any]:
        return outputs([f"a{n} b{n} c{n}" for n in numbers])

    def test_tell_of_many_claims_and_few_new_ones(self) -> None:
        first = self.claims(*range(20))
        assert self.of(first, self.claims(*range(19), 20)) == [("claim_inflation", 2)]
        assert self.of(first, self.claims(*range(18), 20, 21)) == []
        assert self.of(first, self.claims(*range(18))) == []

    def test_tell_of_many_more_claims_of_low_novelty(self) -> None:
        before = (self.claims(*range(20)), *(self.claims(0, 1) for _ in range(8)))
        flagged = self.of(*before, self.claims(0, *range(5, 11), 30))
        assert ("claim_inflation", 10) in flagged
        assert (
            score_transcript(transcript(*before, self.claims(0, *range(5, 11), 30)))
            .novelty[-1]
            .new_claims
            == 1
        )
        assert ("claim_inflation", 10) not in self.of(
            *before, self.claims(0, *range(5, 9), 30)
        )

    @pytest.mark.parametrize(
        ("before", "now", "claims", "dropped"),
        [
            (2, 0, ["new one here"], True),
            (2, 0, ["a"], False),
            (2, 1, ["new one here"], False),
            (0, 0, ["new one"], False),
        ],
    )
    def test_tell_of_questions_that_are_gone(
        self, before: int, now: int, claims: list[str], dropped: bool
    ) -> None:
        flags = self.of(
            outputs(["a"], questions=[QUESTION] * before),
            outputs(claims, questions=[QUESTION] * now),
        )
        assert (("questions_dropped", 2) in flags) == dropped

    @pytest.mark.parametrize(
        ("counts", "rest", "premature"),
        [([2, 2], HIGH, True), ([2, 2], MEDIUM, False), ([4, 1], HIGH, False)],
    )
    def test_tell_of_readiness_while_much_is_new(
        self, counts: list[int], rest: Rest, premature: bool
    ) -> None:
        flags = after(counts, MEDIUM, rest).flags
        assert (
            ("premature_readiness", 2) in [(f.flag, f.round) for f in flags]
        ) == premature


VECTORS: dict[str, list[float]] = {
    "east": [1, 0],
    "e": [2, 0],
    "north": [0, 1],
    "ne": [1, 1],
    "near": [0.82, 0.5723635],
}


def embed(texts: Sequence[str]) -> list[list[float]]:
    return [VECTORS[text] for text in texts]


class TestSimilarity:
    def test_is_that_of_the_last_two_summaries(self) -> None:
        rounds = [outputs(["e"], summary=s) for s in ("north", "east", "ne")]
        found = score_transcript(transcript(*rounds), embed=embed).payload()[
            "components"
        ]
        assert (found["semantic_similarity"], found["semantic_similarity_of"]) == (
            0.7071,
            "summaries",
        )

    @pytest.mark.parametrize("summary", [None, "", "  "])
    def test_is_that_of_the_claims_when_one_has_no_summary(
        self, summary: str | None
    ) -> None:
        rounds = transcript(
            outputs(["east", "north"], summary="east"), outputs(["e"], summary=summary)
        )
        found = score_transcript(rounds, embed=embed).payload()["components"]
        assert (found["semantic_similarity"], found["semantic_similarity_of"]) == (
            0.7071,
            "claims",
        )

    @pytest.mark.parametrize(
        "rounds",
        [[outputs(["e"])], [outputs(["e"]), outputs()]],
        ids=["one round", "no claims"],
    )
    def test_is_unknown_when_there_is_nothing_to_compare(
        self, rounds: list[dict[str, Any]]
    ) -> None:
        found = score_transcript(transcript(*rounds), embed=embed).payload()
        assert found["components"]["semantic_similarity"] is None
        assert "semantic_similarity_of" not in found["components"]
        assert found["composite"]["stability_high"] is None
        assert (found["composite"]["rounds_held"], found["composite"]["stop"]) == (
            0,
            False,
        )


class TestComposite:
    @staticmethod
    def of(
        *summaries: str, k: int = 2, last: Sequence[str] = (), stability: float = 0.82
    ) -> dict[str, Any]:
        rounds = [outputs(["east"], summary=s) for s in summaries[:-1]]
        given = transcript(*rounds, outputs(["east"], last, summary=summaries[-1]))
        thresholds = replace(DEFAULT.thresholds, stability=stability)
        profile = replace(DEFAULT, k=k, thresholds=thresholds)
        found: dict[str, Any] = score_transcript(
            given, profile=profile, embed=embed
        ).payload()["composite"]
        return found

    def test_stops_after_k_rounds_that_are_low_stable_and_free(self) -> None:
        wanted = {
            "novelty_low": True,
            "stability_high": True,
            "not_blocked": True,
            "rounds_held": 2,
            "stop": True,
        }
        assert self.of("east", "e", "east") == wanted

    @pytest.mark.parametrize(
        ("found", "held"),
        [
            (lambda self: self.of("east", "e", "east", k=3), 2),
            (lambda self: self.of("east", "north", "north"), 1),
            (lambda self: self.of("east", "e", "north"), 0),
            (lambda self: self.of("east", "e", "east", last=[BLOCKED]), 0),
        ],
        ids=["too few", "one was unstable", "unstable", "blocked"],
    )
    def test_does_not_stop_otherwise(self, found: Any, held: int) -> None:
        result = found(self)
        assert (result["rounds_held"], result["stop"]) == (held, False)

    def test_is_unknown_without_meanings_and_changes_no_signal(self) -> None:
        found = score_transcript(MEETING).payload()
        wanted = {
            "novelty_low": True,
            "stability_high": None,
            "not_blocked": True,
            "rounds_held": None,
            "stop": None,
        }
        assert found["composite"] == wanted
        assert found["stop_recommendation"]["signal"] == "SHIP"
        assert self.of("east", "north", "east")["stop"] is False


class TestPayload:
    def test_has_its_keys_in_order(self) -> None:
        found = score_transcript(MEETING).payload()
        assert list(found) == [
            *(
                "score",
                "components",
                "novelty_by_round",
                "readiness_by_round",
                "stop_recommendation",
                "composite",
            ),
            *("flags", "hint"),
        ]
        assert list(found["components"]) == [
            *(
                "novelty_rate",
                "novelty_rate_L0",
                "novelty_rate_L1",
                "action_readiness",
                "action_readiness_detail",
            ),
            *("semantic_similarity", "structural_agreement"),
        ]
        assert list(found["stop_recommendation"]) == [
            *(
                "signal",
                "novelty_classification",
                "readiness_classification",
                "k_consecutive_low_novelty",
                "rationale",
            )
        ]
