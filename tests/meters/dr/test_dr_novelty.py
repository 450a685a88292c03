"""What counts as new, by text, by words and by meaning, and the rates and classes."""

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from helpers import tables
from helpers.deliberations import new_claims, outputs, transcript
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scoring.meters import above, at_least, at_most, below, novelty_level
from scoring.meters.dr import DRResult, score_transcript
from scoring.meters.dr.novelty import distinct, new_by_words, normalize
from scoring.meters.dr.profile import DEFAULT
from scoring.meters.dr.semantic import Meanings


def scored(*rounds: Sequence[str], k: int = 2) -> DRResult:
    return score_transcript(
        transcript(*map(outputs, rounds)), profile=replace(DEFAULT, k=k)
    )


class TestComparisons:
    @pytest.mark.parametrize("off", [0.0, 0.9e-9, -0.9e-9, 1e-16])
    def test_treat_values_within_a_billionth_as_equal(self, off: float) -> None:
        assert at_least(0.7 + off, 0.7)
        assert at_most(0.7 + off, 0.7)
        assert not above(0.7 + off, 0.7)
        assert not below(0.7 + off, 0.7)

    @pytest.mark.parametrize(
        ("rate", "level"),
        [
            (1, "HIGH"),
            (0.51, "HIGH"),
            (0.5, "MEDIUM"),
            (0.1 + 0.05, "MEDIUM"),
            (0.1499, "LOW"),
            (0, "LOW"),
        ],
    )
    def test_class_a_novelty_rate(self, rate: float, level: str) -> None:
        assert novelty_level(rate) == level


class TestNormalising:
    @pytest.mark.parametrize(
        ("claim", "normalized"), tables.cases("dr_novelty", "normalised")
    )
    def test_ignores_case_spaces_and_the_stop_at_the_end(
        self, claim: str, normalized: str
    ) -> None:
        assert normalize(claim) == normalized

    def test_keeps_the_first_of_those_that_are_the_same_and_none_that_says_nothing(
        self,
    ) -> None:
        assert distinct(["B is so.", "a", "b  is SO", "...", "A!"]) == {
            "b is so": "B is so.",
            "a": "a",
        }


class TestWords:
    @pytest.mark.parametrize(
        ("earlier", "later", "is_new"), tables.cases("dr_novelty", "paraphrases")
    )
    def test_at_the_threshold_a_claim_is_a_paraphrase(
        self, earlier: str, later: str, is_new: bool
    ) -> None:
        assert new_by_words([[earlier], [later]], 0.6)[1] == [is_new]

    def test_a_claim_may_be_like_a_paraphrase_and_unlike_what_that_repeats(
        self,
    ) -> None:
        first, second, third = "a b c d e f", "c d e f g h a", "c d e f g h i j"
        assert new_by_words([[first], [third]], 0.6) == [[True], [True]]
        assert new_by_words([[first], [second], [third]], 0.6) == [
            [True],
            [False],
            [False],
        ]

    def test_a_claim_of_no_words_is_alike_to_another_and_to_nothing_else(self) -> None:
        assert new_by_words([["", "a"], ["", "b"]], 0.6)[1] == [False, True]
        assert new_by_words([["a"], [""]], 0.6)[1] == [True]


CLAIMS = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=8).map(" ".join)
ROUNDS = st.lists(st.lists(CLAIMS, max_size=8), max_size=6)


def naive(rounds: Sequence[Sequence[str]], threshold: float) -> list[list[bool]]:
    """Compare all pairs, in fractions."""
    limit = Fraction(threshold) - Fraction(1, 10**9)
    answers = []
    earlier: list[frozenset[str]] = []
    for claims in rounds:
        sets = [frozenset(claim.split()) for claim in claims]
        answers.append(
            [
                all(Fraction(len(s & e), len(s | e)) < limit for e in earlier)
                for s in sets
            ]
        )
        earlier += sets
    return answers


class TestIndex:
    @given(ROUNDS, st.sampled_from([0.6, 0.5, 2 / 3, 0.75, 1.0, 0.2, 1e-3, 3 / 7]))
    def test_answers_as_all_pairs_do(
        self, rounds: list[list[str]], threshold: float
    ) -> None:
        assert new_by_words(rounds, threshold) == naive(rounds, threshold)

    def test_knows_that_at_zero_everything_is_alike(self) -> None:
        assert new_by_words([["a"], ["b"]], 0.0) == [[True], [False]]


class TestRates:
    def test_are_the_lowest_of_the_levels(self) -> None:
        _, second = scored(["a b c d", "e f g h"], ["a b c x", "n o p q"]).novelty
        assert second.rates == {"L0": 1.0, "L1": 0.5}
        assert (second.rate, second.new_claims, second.new) == (
            0.5,
            1,
            {"L0": 2, "L1": 1},
        )


class TestLow:
    @pytest.mark.parametrize(
        ("k", "levels"),
        [
            (1, ["HIGH", "LOW", "LOW", "HIGH", "LOW", "LOW", "LOW"]),
            (2, ["HIGH", "MEDIUM", "LOW", "HIGH", "MEDIUM", "LOW", "LOW"]),
            (3, ["HIGH", "MEDIUM", "MEDIUM", "HIGH", "MEDIUM", "MEDIUM", "LOW"]),
            (9, ["HIGH", "MEDIUM", "MEDIUM", "HIGH", "MEDIUM", "MEDIUM", "MEDIUM"]),
        ],
    )
    def test_counts_once_k_rounds_in_a_row_are(self, k: int, levels: list[str]) -> None:
        result = scored(*new_claims(2, 0, 0, 2, 0, 0, 0), k=k)
        assert [new.level for new in result.novelty] == levels
        assert [new.low_run for new in result.novelty] == [0, 1, 2, 0, 1, 2, 3]


class TestMeaning:
    @pytest.mark.parametrize(
        ("cosine", "is_new"),
        [
            (0.82, False),
            (0.82 - 5e-10, False),
            (0.8199, True),
            (0.9, False),
            (-1, True),
        ],
    )
    def test_at_the_threshold_a_claim_is_no_new_one(
        self, cosine: float, is_new: bool
    ) -> None:
        vectors = {"one": [1.0, 0.0], "two": [cosine, math.sqrt(1 - cosine**2)]}
        result = score_transcript(
            transcript(outputs(["one"]), outputs(["two"])),
            embed=lambda texts: [vectors[text] for text in texts],
        )
        assert result.novelty[1].new == {"L0": 1, "L1": 1, "L2": int(is_new)}
        assert result.novelty[1].new_claims == int(is_new)

    def test_is_that_of_the_raw_text_whatever_its_length(self) -> None:
        asked: list[str] = []

        def embed(texts: Sequence[str]) -> list[list[float]]:
            asked.extend(texts)
            return [[3.0, 4.0], [30.0, 40.0]]

        result = score_transcript(
            transcript(outputs(["One  thing.", "one thing"]), outputs(["Another!"])),
            embed=embed,
        )
        assert asked == ["One  thing.", "Another!"]
        assert result.novelty[1].new == {"L0": 1, "L1": 1, "L2": 0}

    def test_compares_every_block(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("scoring.meters.dr.semantic._VECTORS_OF_A_BLOCK", 2)
        names = [f"n{i}" for i in range(7)]
        vectors = {
            name: [float(i == j) for j in range(8)] for i, name in enumerate(names)
        }
        meanings = Meanings(
            [*names, "like"],
            lambda texts: [vectors.get(t, vectors["n5"]) for t in texts],
        )
        assert meanings.new_claims([names, ["like", *names]], 0.82) == [
            [True] * 7,
            [False] * 8,
        ]
        assert meanings.new_claims([names[:5], ["n6", "like"]], 0.82)[1] == [True, True]

    @pytest.mark.parametrize(
        "vectors", [[], [[1.0]], [[1.0], [math.nan]], [1.0, 2.0]], ids=str
    )
    def test_needs_a_vector_of_numbers_for_each_text(
        self, vectors: list[list[float]]
    ) -> None:
        with pytest.raises(
            ValueError, match="no vector of finite numbers for each of 2 texts"
        ):
            Meanings(["a", "b"], lambda _: vectors)
