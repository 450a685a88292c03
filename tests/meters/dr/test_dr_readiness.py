"""Readiness: what makes an action vague, specific or owned, what blocks, and the ratings."""

import pytest
from helpers.deliberations import outputs, transcript
from msgspec.structs import replace

from scoring.meters.dr import Outputs, Round, Words, score_transcript
from scoring.meters.dr.profile import DEFAULT
from scoring.meters.dr.readiness import AddedWord, ReadinessMeter, rate_questions

METER = ReadinessMeter()
has_verb, is_owned, is_specific, is_vague = (
    METER.has_verb,
    METER.is_owned,
    METER.is_specific,
    METER.is_vague,
)
names_artifact, find_blocker, rate_actions = (
    METER.names_artifact,
    METER.find_blocker,
    METER.rate_actions,
)
LISTS = DEFAULT.words

LONG = "the migration of all the accounts"
"""Words enough for an action, and nothing else about them."""

CURLY = "\u2019"


class TestVague:
    @pytest.mark.parametrize("start", LISTS.vague_starts)
    def test_is_what_starts_so(self, start: str) -> None:
        assert is_vague(f"{start} how to run {LONG}")
        assert is_vague(f"  {start.upper()}   how to run {LONG}")
        assert not is_vague(f"Run {LONG} and {start} it")

    @pytest.mark.parametrize("word", LISTS.vague)
    def test_is_what_contains_it_as_a_word(self, word: str) -> None:
        assert is_vague(f"Run {LONG}, {word.title()}")
        assert is_vague(f"Run {LONG} " + word.replace(" ", " \n "))
        assert not is_vague(f"Run {LONG} x{word}")
        assert not is_vague(f"Run {LONG} {word}ly")

    @pytest.mark.parametrize(
        ("action", "vague"),
        [
            ("End.", True),
            ("Read the long document", True),
            ("Read the very long document", False),
            ("Run it", False),
            ("Rerun it", True),
            ("See https://example.org/a", True),
        ],
    )
    def test_is_what_is_short_and_does_nothing_of_the_list(
        self, action: str, vague: bool
    ) -> None:
        assert is_vague(action) == vague


class TestSpecific:
    @pytest.mark.parametrize("verb", LISTS.verbs)
    def test_is_what_has_a_verb_as_a_whole_word(self, verb: str) -> None:
        assert is_specific(f"Now {verb.upper()} {LONG}")
        assert has_verb(f"({verb})")
        assert not has_verb(f"{verb}x {LONG}")
        assert not has_verb(f"x{verb} {LONG}")
        assert not is_specific(f"Now x{verb}x {LONG}")

    @pytest.mark.parametrize(
        "artifact",
        [
            *(
                "https://example.org",
                "HTTP://x",
                "ssh://host/a",
                "www.example.org",
                "src/api",
                "/healthz",
            ),
            *(
                "(docs/a.md),",
                "a/b",
                "README.md",
                "health.py.",
                "x_1.c",
                "ab.mp3",
                "archive.7z",
                "`make`",
            ),
            *(
                "`make all`",
                "#12",
                "(#7)",
                "the PR",
                "a pull  request",
                "that branch",
                "one file",
            ),
            *("the command", "a Tool", "its url", "curl", "Docker Compose", "pytest"),
        ],
    )
    def test_is_what_names_an_artifact(self, artifact: str) -> None:
        assert names_artifact(f"Look at {artifact} again today")
        assert is_specific(f"Look at {artifact} again today")

    @pytest.mark.parametrize(
        "text",
        [
            *(
                "and/or",
                "Either/Or,",
                "(he/she)",
                "n/a",
                "24/7",
                "1/2",
                "/",
                "e.g.",
                "i.e.",
                "e.g. this",
            ),
            *(
                "10.5",
                "a.py",
                "so.Longer",
                "no. Not",
                "``",
                "` `",
                "#x",
                "C#7",
                "# 7",
                "files",
            ),
            *("branching", "tools", "curly", "pull the request", "approve"),
        ],
    )
    def test_is_not_what_names_none(self, text: str) -> None:
        assert not names_artifact(f"Look at {text} again today")
        assert not is_specific(f"Look at {text} again today")

    @pytest.mark.parametrize("text", DEFAULT.alternatives)
    def test_is_no_pair_of_alternatives(self, text: str) -> None:
        assert not names_artifact(f"Say {text}, then go on")


class TestOwned:
    @pytest.mark.parametrize("phrase", LISTS.ownership)
    def test_is_what_says_so(self, phrase: str) -> None:
        assert is_owned(f"Write it, {phrase.upper()} x")
        assert not is_owned(f"Write it, x{phrase} x")
        assert not is_owned(f"Write it, {phrase}x x")

    @pytest.mark.parametrize(
        "action",
        ["ask @anna", "@bob: write", "Anna: x", "  Zoë: x", "O'Neil: x", "Jean-Luc: x"],
    )
    def test_is_what_names_a_person(self, action: str) -> None:
        assert is_owned(action)

    @pytest.mark.parametrize(
        "action",
        [
            *("anna: write it", "write to a@example.org", "Write: it".lower(), "7: x"),
            *("Http://x", "@ x", ""),
        ],
    )
    def test_is_not_what_names_no_person(self, action: str) -> None:
        assert not is_owned(action)


class TestActions:
    @pytest.mark.parametrize(
        ("actions", "score"),
        [
            ([], 0),
            (["End.", "Consider it"], 0.3),
            (["End.", "Anna: run it"], 0.7),
            (["Run it", "Ship it"], 0.7),
            (["Run it", "Ship it", "@anna decides"], 1),
        ],
        ids=[
            "none",
            "none is specific",
            "one is",
            "two are",
            "two are, and an owner is named",
        ],
    )
    def test_are_rated(self, actions: list[str], score: float) -> None:
        assert rate_actions(actions).score == score


class TestBlockers:
    @pytest.mark.parametrize("word", LISTS.blockers)
    def test_are_found_from_a_left_word_boundary(self, word: str) -> None:
        for text in (
            f"It is {word} it",
            f"{word.upper()}: x",
            f"({word}ing)",
            f"the {word.replace(' ', '  ')}",
        ):
            assert find_blocker([text]) == text
        assert find_blocker([f"un{word}"]) is None

    def test_are_looked_for_in_questions_and_actions_alone(self) -> None:
        claim = outputs(["blocked"], ["Run it"], ["Why?"], summary="blocked")
        assert score_transcript(transcript(claim)).readiness[0].blockers.score == 1
        for given in (outputs(actions=["Blocked"]), outputs(questions=["Blocked?"])):
            assert score_transcript(transcript(given)).readiness[0].blockers.score == 0


class TestQuestions:
    @pytest.mark.parametrize(
        ("count", "before", "score"),
        [
            (0, None, 1),
            (0, 3, 1),
            (1, 2, 0.7),
            (2, 2, 0.4),
            (3, 2, 0.1),
            (1, 0, 0.1),
            (1, None, 0.3),
            (9, None, 0.3),
        ],
    )
    def test_are_rated(self, count: int, before: int | None, score: float) -> None:
        assert rate_questions(count, before).score == score

    def test_are_compared_with_the_round_before_and_blank_ones_do_not_count(
        self,
    ) -> None:
        result = score_transcript(
            transcript(
                *(
                    outputs(questions=q)
                    for q in (
                        ["a?", "b?"],
                        ["a?", "  "],
                        ["a?", "", "c?"],
                        [" "],
                        ["d?"],
                    )
                )
            )
        )
        assert [r.open_questions.score for r in result.readiness] == [
            0.3,
            0.7,
            0.1,
            1,
            0.1,
        ]


def with_verb(verb: str) -> ReadinessMeter:
    return ReadinessMeter(replace(DEFAULT, added=Words(verbs=(verb,))))


class TestAddedWords:
    WORDS = Words(
        verbs=("roll back", "run"),
        vague_starts=("ponder",),
        vague=("someday",),
        blockers=("needs sign-off", "don't know"),
        ownership=("on me",),
    )

    METER = ReadinessMeter(replace(DEFAULT, added=WORDS))

    def test_add_to_the_lists_and_take_nothing_away(self) -> None:
        assert (
            self.METER.is_specific(f"ROLL  back {LONG}"),
            is_specific(f"Roll back {LONG}"),
        ) == (
            True,
            False,
        )
        assert self.METER.is_specific(f"Deploy {LONG}")
        assert self.METER.is_vague(f"Ponder how to run {LONG}")
        assert (
            self.METER.is_vague(f"Run {LONG} someday"),
            is_vague(f"Run {LONG} someday"),
        ) == (
            True,
            False,
        )
        assert (self.METER.is_owned("Run it, on me"), is_owned("Run it, on me")) == (
            True,
            False,
        )
        for text in ("Needs Sign-offs", f"We don{CURLY}t know"):
            assert (self.METER.find_blocker([text]), find_blocker([text])) == (
                text,
                None,
            )

    def test_that_matched_are_listed(self) -> None:
        given = outputs(
            actions=[f"Run {LONG} someday, on me", "Ponder it"],
            questions=["Who needs sign-off?"],
        )
        found = self.METER.added_words(
            Round(round=7, outputs=Outputs.model_validate(given))
        )
        matched = {"verbs": "run", "vague_starts": "ponder", "vague": "someday"}
        matched |= {"blockers": "needs sign-off", "ownership": "on me"}
        assert list(found) == [
            AddedWord(name, word, 7) for name, word in matched.items()
        ]

    def test_are_words_and_no_patterns(self) -> None:
        assert not with_verb("a.c").is_specific(f"Do abc {LONG}")
        assert with_verb("a.c").is_specific(f"Do a.c {LONG}")
        assert with_verb("c++").is_specific(f"Do c++ {LONG}")
