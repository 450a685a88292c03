"""Cases of the documents that the meter of diminishing returns had wrong or lacked, each quoted."""

import pytest
from helpers.deliberations import BLOCKED, OWNED, outputs, transcript

from rubric import released_profile
from scoring.meters.dr import Profile, score_transcript
from scoring.meters.dr.readiness import ReadinessMeter
from scoring.meters.dr.recommendation import HINTS

FOUR = ["one about ducks", "two concerning geese", "three with swans", "four of herons"]


class TestAFirstLowRound:
    """A single low round may be a natural pause."""

    def test_is_little_new_and_asks_for_one_more(self) -> None:
        payload = score_transcript(transcript(outputs(FOUR, OWNED), outputs(FOUR, OWNED))).payload()
        assert payload["hint"] == "Little new; one more round to be sure."
        assert payload["stop_recommendation"]["rationale"].endswith("Little new; one more round to be sure.")

    def test_says_how_many_are_left_when_k_is_larger(self) -> None:
        found = score_transcript(transcript(outputs(FOUR), outputs(FOUR)), k=3)
        assert found.recommendations[-1].hint == "Little new; one more round to be sure (2 until it counts)."

    @pytest.mark.parametrize(
        "second",
        [
            pytest.param(["something else entirely", "and more of that kind", "plus this"], id="much is new"),
            pytest.param(["something else entirely"], id="a quarter is new"),
        ],
    )
    def test_is_not_said_of_a_round_with_news(self, second: list[str]) -> None:
        assert score_transcript(transcript(outputs(FOUR), outputs(second))).payload()["hint"] == HINTS["CONTINUE"]


class TestABlockedLoop:
    """You can be converged but blocked."""

    def test_that_escalates_names_the_blocker_in_rationale_and_hint(self) -> None:
        payload = score_transcript(transcript(*[outputs(FOUR, [BLOCKED])] * 3)).payload()
        assert payload["stop_recommendation"]["signal"] == "ESCALATE"
        assert f'"{BLOCKED}"' in payload["stop_recommendation"]["rationale"]
        assert payload["hint"] == f'Blocked by "{BLOCKED}". {HINTS["ESCALATE"]}'

    def test_that_is_low_for_the_first_time_names_it_as_well(self) -> None:
        payload = score_transcript(transcript(*[outputs(FOUR, [BLOCKED])] * 2)).payload()
        assert payload["hint"] == f'Little new; one more round to be sure. It is blocked by "{BLOCKED}".'

    def test_that_still_finds_something_names_it_in_the_rationale(self) -> None:
        payload = score_transcript(transcript(outputs(FOUR, [BLOCKED]))).payload()
        assert payload["stop_recommendation"]["rationale"].endswith(f'It is blocked, by "{BLOCKED}".')
        assert payload["hint"] == HINTS["CONTINUE"]

    def test_that_is_stuck_without_a_blocker_names_none(self) -> None:
        assert score_transcript(transcript(*[outputs(FOUR)] * 4)).payload()["hint"] == HINTS["ESCALATE"]


class TestClaimInflation:
    """A sudden spike with low novelty suggests inflation."""

    OTHERWISE = "a loop that has converged repeats as many claims as before"

    def test_of_a_constant_size_says_what_else_it_may_be(self) -> None:
        given = transcript(*[outputs(FOUR, OWNED)] * 3)
        result = score_transcript(given)
        inflated = [flag for flag in result.flags if flag.flag == "claim_inflation"]
        assert [flag.round for flag in inflated] == [2, 3]
        assert all(self.OTHERWISE in flag.reason for flag in inflated)
        assert self.OTHERWISE in result.advice(given)["does_not_claim"]

    def test_of_a_spike_is_said_as_it_is(self) -> None:
        given = transcript(outputs(FOUR[:1]), outputs([f"one about ducks{end}" for end in ("", " and", " and so")]))
        spike = transcript(outputs(FOUR[:2]), outputs(FOUR[:2]), outputs([*FOUR[:2], *(f"{c} too" for c in FOUR[:2])]))
        for one in (given, spike):
            result = score_transcript(one)
            assert result.flags[-1].flag == "claim_inflation"
            assert self.OTHERWISE not in result.flags[-1].reason
        assert self.OTHERWISE not in score_transcript(given).advice(given)["does_not_claim"]


METER = ReadinessMeter()
BY_THE_LISTS = ReadinessMeter(Profile.from_data(released_profile("dr-1"), "dr-1"))


class TestBeyondTheLists:
    """Clear ownership language; references a concrete artifact; any blocker keyword found."""

    @pytest.mark.parametrize("action", ["Nadia will raise the time-out", "Ops will deploy it", "O'Brien  will test it"])
    def test_a_name_and_will_says_who_acts(self, action: str) -> None:
        assert METER.is_owned(action)
        assert not BY_THE_LISTS.is_owned(action)

    @pytest.mark.parametrize(
        "action",
        [
            pytest.param("It will deploy itself", id="a pronoun"),
            pytest.param("Nothing will change", id="no person"),
            pytest.param("nadia will raise it", id="not capitalised"),
            pytest.param("Raise it, Nadia will not mind", id="not at the start"),
            pytest.param("Nadia willingly agrees", id="another word"),
        ],
    )
    def test_a_sentence_about_something_else_does_not(self, action: str) -> None:
        assert not METER.is_owned(action)

    @pytest.mark.parametrize("action", ["proxy.yaml", "`upload.py`", "Makefile", "guide/README.md."])
    def test_a_file_name_alone_is_an_artifact(self, action: str) -> None:
        assert METER.is_specific(action)
        assert not BY_THE_LISTS.is_specific(action)

    @pytest.mark.parametrize("action", ["End.", "Makefiles", "e.g.", "10.5", "Later today"])
    def test_another_word_alone_is_none(self, action: str) -> None:
        assert not METER.is_specific(action)

    @pytest.mark.parametrize(
        "text",
        [
            "Add handling of missing values to load.py",
            "Does the parser skip missing fields?",
            "Write a test for blocked users",
            "Report all the missing columns",
        ],
    )
    def test_a_blocker_word_in_another_sense_does_not_block(self, text: str) -> None:
        assert METER.find_blocker([text]) is None
        assert BY_THE_LISTS.find_blocker([text]) == text
        found = METER.measure(1, [text], [], None)
        assert f'a word of the blocker list has another sense in "{text}"' in found.blockers.found

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("The credentials are missing", id="what is said is that something is missing"),
            pytest.param("Missing values from the team", id="nothing is done about them"),
            pytest.param("Handle the missing access", id="what is missing is access"),
            pytest.param("Handle missing values once we get the missing key", id="one sense of two"),
            pytest.param("Handling depends on the vendor", id="another word of the list"),
        ],
    )
    def test_a_blocker_word_in_its_own_sense_blocks(self, text: str) -> None:
        assert METER.find_blocker([text]) == text
