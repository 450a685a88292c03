"""Claims from raw text, and what is only observed: agreement, agents, confidence."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import tables
from helpers.commands import DaScore, one_line
from helpers.deliberations import (
    MEETING,
    OWNED,
    document,
    outputs,
    transcript,
    write_json,
)

from scoring.meters.dr import score_transcript
from scoring.meters.dr.extraction import sentences_of, transcript_of
from scoring.meters.dr.observations import (
    agreement_by_round,
    confidence_in,
    similarity_of,
)
from scoring.meters.dr.transcript import Transcript

FOUR = ["one about ducks", "two concerning geese", "three with swans", "four of herons"]


class TestSentences:
    @pytest.mark.parametrize(
        ("text", "claims"), tables.cases("dr_extraction", "become claims")
    )
    def test_become_claims(self, text: str, claims: list[str]) -> None:
        assert sentences_of(text)[0] == claims

    def test_that_ask_become_questions(self) -> None:
        assert sentences_of("Is it late? It is late now.") == (
            ["It is late now."],
            ["Is it late?"],
        )


class TestRoundsOfText:
    def test_begin_with_a_line_that_says_so(self) -> None:
        found = transcript_of(
            "## Round 1\nIt is late now.\n**Round 2:** We go home now.\nround 3 is what we wait for"
        )
        assert [(r["round"], r["outputs"]["claims"]) for r in found["rounds"]] == [
            (1, ["It is late now."]),
            (2, ["We go home now."]),
            (3, ["is what we wait for"]),
        ]

    def test_are_one_without_such_a_line(self) -> None:
        assert [r["round"] for r in transcript_of("It is late now.")["rounds"]] == [1]


def text_rounds(*texts: str, **more: Any) -> dict[str, Any]:
    return {
        "rounds": [
            {"round": n, "outputs": {"text": text, **more}}
            for n, text in enumerate(texts, 1)
        ]
    }


class TestClaimsFromText:
    """Claim extraction from raw text."""

    def test_are_used_where_no_claims_are_given_and_said_to_be_rough(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        path = write_json(
            tmp_path / "t.json",
            text_rounds("It is late now. Is it?", "It is late now."),
        )
        found = da_score("dr", "score", path).json
        assert [row["claims"] for row in found["novelty_by_round"]] == [1, 1]
        assert found["claims_from_text"]["rounds"] == [1, 2]
        assert "cut out of text by rough rules" in da_score("dr", "stop", path).out

    @pytest.mark.parametrize("claims", [["ducks fly south"], []], ids=["some", "none"])
    def test_are_never_used_when_claims_are_given(
        self, da_score: DaScore, tmp_path: Path, claims: list[str]
    ) -> None:
        path = write_json(
            tmp_path / "t.json",
            text_rounds("It is late now. Very late indeed.", claims=claims),
        )
        found = da_score("dr", "score", path).json
        assert found["novelty_by_round"][0]["claims"] == len(claims)
        assert "claims_from_text" not in found

    def test_are_printed_as_a_transcript(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        (tmp_path / "notes.md").write_text(
            "Round 1\nIt is late now.\nRound 2\nWe go home now.\n"
        )
        out = tmp_path / "t.json"
        found = da_score("dr", "extract", tmp_path / "notes.md", "--out", out)
        assert (found.status, found.out) == (0, "")
        assert "rough rules" in found.err
        assert da_score("dr", "score", out).json["claims_from_text"]["rounds"] == [1, 2]
        again = json.loads(da_score("dr", "extract", out).out)
        assert again == json.loads(out.read_text())


def between(*said: tuple[str, list[str]]) -> Transcript:
    """Rounds of one agent each."""
    rounds = [
        {"round": n, "agent": who, "outputs": {"claims": claims}}
        for n, (who, claims) in enumerate(said, 1)
    ]
    return Transcript.model_validate({"rounds": rounds})


def together(**said: list[str]) -> Transcript:
    """One round with what each agent answered in it."""
    responses = {
        name: " ".join(f"{claim.capitalize()}." for claim in claims)
        for name, claims in said.items()
    }
    return Transcript.model_validate(
        {"rounds": [{"round": 1, "outputs": {"claims": [], "responses": responses}}]}
    )


class TestStructuralAgreement:
    """What the second agent does with the answer of the first."""

    @pytest.mark.parametrize(
        ("second", "agreement"),
        [
            pytest.param(FOUR[:2], "rephrase", id="nothing new"),
            pytest.param(
                [*FOUR[:3], "and a small thing more"], "endorse", id="a small addition"
            ),
            pytest.param(
                [*FOUR[:3], "but take owls instead"], "modify", id="a word of change"
            ),
            pytest.param(
                [FOUR[0], "owls are better birds", "nobody likes geese"],
                "modify",
                id="mostly new",
            ),
        ],
    )
    def test_is_read_by_counts_and_words(
        self, second: list[str], agreement: str
    ) -> None:
        for given in (
            between(("ann", FOUR), ("bob", second)),
            together(ann=FOUR, bob=second),
        ):
            last = len(given.rounds)
            assert [tuple(row.values()) for row in agreement_by_round(given)] == [
                (last, "bob", "ann", agreement)
            ]

    POOL = "We should put PgBouncer before the database."

    @pytest.mark.parametrize(
        ("first", "second", "agreement"),
        [
            pytest.param(
                POOL,
                "We should not put PgBouncer before the database.",
                "modify",
                id="denied",
            ),
            pytest.param(
                POOL,
                "Put PgBouncer there, but in transaction mode instead.",
                "modify",
                id="changed",
            ),
            pytest.param(
                "Try uploads three times.",
                "Try uploads five times.",
                "modify",
                id="another number",
            ),
            pytest.param(POOL, "I don't agree with that.", "modify", id="disagreed"),
            pytest.param(
                POOL,
                "I agree with that. Let us count waiting clients too.",
                "endorse",
                id="agreed, and more",
            ),
            pytest.param(
                POOL,
                f"{POOL[:-1]}, and count the clients that wait.",
                "endorse",
                id="extended",
            ),
            pytest.param(
                POOL,
                "Before the database we should put PgBouncer.",
                "rephrase",
                id="another order",
            ),
        ],
    )
    def test_is_read_in_the_sentences_of_the_answer(
        self, first: str, second: str, agreement: str
    ) -> None:
        said = {"claims": [], "responses": {"ann": first, "bob": second}}
        given = Transcript.model_validate({"rounds": [{"round": 1, "outputs": said}]})
        assert [row["agreement"] for row in agreement_by_round(given)] == [agreement]

    def test_compares_with_the_latest_answer_of_another_agent(self) -> None:
        given = between(
            ("ann", FOUR), ("bob", FOUR[:1]), ("bob", FOUR[:2]), ("ann", FOUR[:3])
        )
        assert [tuple(row.values())[1:] for row in agreement_by_round(given)] == [
            *(
                ("bob", "ann", "rephrase"),
                ("bob", "ann", "rephrase"),
                ("ann", "bob", "endorse"),
            ),
        ]

    def test_does_not_change_the_signal_and_is_shown_when_asked_for(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        rounds = document(*[outputs(FOUR, OWNED)] * 3)["rounds"]
        given = {
            "rounds": [
                {**row, "agent": who}
                for row, who in zip(rounds, ("ann", "bob", "ann"), strict=True)
            ]
        }
        path = write_json(tmp_path / "t.json", given)
        plain, seen = (
            da_score("dr", "score", path).json,
            da_score("dr", "score", path, "--observe").json,
        )
        row = {"round": 3, "agent": "ann", "first": "bob", "agreement": "rephrase"}
        assert seen.pop("observations")["structural_agreement_by_round"][1] == row
        assert seen == plain
        assert "Seen   rephrase by bob in round 2; rephrase by ann in round 3" in (
            da_score("dr", "stop", path, "--observe").out
        )


def turns(*said: tuple[str, str]) -> Transcript:
    rounds = [
        {"round": n, "agent": who, "outputs": {"claims": [what]}}
        for n, (who, what) in enumerate(said, 1)
    ]
    return Transcript.model_validate({"rounds": rounds})


class TestTwoAgents:
    """Between two agents' latest responses."""

    def test_are_compared_by_their_latest_words(self) -> None:
        given = turns(
            ("ann", "all of it"),
            ("bob", "take the red one"),
            ("ann", "take the red two"),
        )
        found = similarity_of(given, ("ann", "bob"))
        assert found["rounds"] == [3, 2]
        assert (found["similarity"], found["measured_by"]) == (3 / 5, "words")

    def test_may_answer_in_one_round(self, da_score: DaScore, tmp_path: Path) -> None:
        given = document(outputs(FOUR))
        given["rounds"][0]["outputs"]["responses"] = {
            "ann": "take the red one",
            "bob": "take the red one",
            "x": 3,
        }
        path = write_json(tmp_path / "t.json", given)
        agents = da_score("dr", "score", path, "--agents", "ann", "bob").json[
            "observations"
        ]["agents"]
        assert (agents["rounds"], agents["similarity"]) == ([1, 1], 1)
        said = one_line(da_score("dr", "score", path, "--agents", "ann", "x"))
        assert said == "no response of an agent x; known: ann, bob"

    def test_are_compared_by_meaning_with_an_embedder(self) -> None:
        pytest.importorskip("numpy")
        found = similarity_of(
            turns(("a", "x"), ("b", "y")),
            ("a", "b"),
            lambda texts: [[1.0, 0.0] for _ in texts],
        )
        assert (found["similarity"], found["measured_by"]) == (1, "meaning")


class TestConfidence:
    def test_is_the_share_of_neighboring_settings_that_agree(self) -> None:
        found = confidence_in(MEETING, score_transcript(MEETING))
        settings = 3 * 3 * 3 * 3
        assert found["settings"] == settings
        assert found["value"] == round(1 - sum(found["others"].values()) / settings, 4)
        assert score_transcript(MEETING).signal not in found["others"]

    def test_is_part_where_k_decides(self) -> None:
        given = transcript(outputs(FOUR, OWNED), outputs(FOUR, OWNED))
        found = confidence_in(given, score_transcript(given))
        assert found == {"value": 0.6667, "settings": 81, "others": {"SHIP": 27}}
