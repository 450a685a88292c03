"""The diminishing-returns meter: a transcript in, whether to continue, ship or escalate out (contract section 6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from scoring.meters.dr.added import AddedWord, added_words
from scoring.meters.dr.composite import Composite, Similarity, compose, similarities, summary_of
from scoring.meters.dr.flags import Flag, find_flags
from scoring.meters.dr.meaning import Meanings
from scoring.meters.dr.novelty import RoundNovelty, distinct, measure_novelty
from scoring.meters.dr.readiness import RoundReadiness, measure_readiness
from scoring.meters.dr.recommendation import Recommendation, Signal, recommend
from scoring.meters.dr.thresholds import DEFAULT, Level, Thresholds
from scoring.meters.dr.words import BUILT_IN, Words

if TYPE_CHECKING:
    from scoring.meters.dr.transcript import Transcript

__all__ = ["DRResult", "Embed", "Signal", "score_transcript"]

Embed: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Turns texts into vectors of one length, one for each text; they need not be of length 1."""


@dataclass(frozen=True, slots=True)
class DRResult:
    """What the meter says of a transcript, with everything that led to it, round by round."""

    k: int
    novelty: tuple[RoundNovelty, ...]
    readiness: tuple[RoundReadiness, ...]
    recommendations: tuple[Recommendation, ...]
    """What to do as of each round; the last one counts."""
    similarity: Similarity | None
    """How alike the last two rounds are; None without level L2, or when they cannot be compared."""
    composite: Composite
    flags: tuple[Flag, ...]
    added_words: tuple[AddedWord, ...]

    @property
    def signal(self) -> Signal:
        """What to do now."""
        return self.recommendations[-1].signal

    @property
    def score(self) -> float:
        """How far the transcript has converged, 0 to 1: what is missing from 1 is the novelty rate. Unrounded."""
        return 1.0 - self.novelty_rate

    @property
    def novelty_rate(self) -> float:
        """The novelty rate of the last round, 0 to 1. Unrounded."""
        return self.novelty[-1].rate

    @property
    def novelty_classification(self) -> Level:
        """The class of the last round's novelty."""
        return self.novelty[-1].level

    @property
    def action_readiness(self) -> float:
        """The readiness of the last round, 0 to 1. Unrounded."""
        return self.readiness[-1].value

    @property
    def readiness_classification(self) -> Level:
        """The class of the last round's readiness."""
        return self.readiness[-1].level

    @property
    def round_count(self) -> int:
        """How many rounds there are."""
        return len(self.novelty)

    @property
    def has_claims(self) -> bool:
        """Whether any round makes a claim."""
        return any(new.claims for new in self.novelty)

    @property
    def stop_round(self) -> int | None:
        """The number of the first round as of which the signal was not CONTINUE; None when there is none."""
        stops = (n.round for n, r in zip(self.novelty, self.recommendations, strict=True) if r.signal != "CONTINUE")
        return next(stops, None)

    def payload(self) -> dict[str, Any]:
        """Return the result in the shape and key order of the contract, numbers rounded to 4 places."""
        from scoring.meters.dr.payload import payload

        return payload(self)


def score_transcript(
    transcript: "Transcript",
    *,
    k: int = 2,
    embed: Embed | None = None,
    words: Words = BUILT_IN,
    thresholds: Thresholds = DEFAULT,
) -> DRResult:
    """Score a transcript.

    Args:
        transcript: the rounds of a deliberation, at least one.
        k: how many rounds in a row must be low in novelty before that counts, at least 1.
        embed: turns on level L2; called once, with every text that is compared.
        words: words that add to the built-in lists.
        thresholds: where classes begin.

    Raises:
        ValueError: ``k`` is below 1, or ``embed`` gives no vectors.
    """
    if k < 1:
        raise ValueError(f"k is {k}; it is at least 1")
    rounds = transcript.rounds
    numbers = [r.round for r in rounds]
    claims = [distinct(r.outputs.claims) for r in rounds]
    meanings = None
    if embed is not None:
        raw = [claim.raw for of_round in claims for claim in of_round]
        meanings = Meanings([*raw, *filter(None, map(summary_of, rounds))], embed)
    novelty = measure_novelty(numbers, claims, k, meanings, thresholds)
    questions = [len(r.outputs.open_questions) for r in rounds]
    readiness = tuple(
        measure_readiness(
            r.round,
            r.outputs.next_actions,
            r.outputs.open_questions,
            questions[i - 1] if i else None,
            words,
            thresholds,
        )
        for i, r in enumerate(rounds)
    )
    stability = similarities(rounds, claims, meanings) if meanings else None
    matched = [
        word
        for r in rounds
        if words != BUILT_IN
        for word in added_words(r.round, r.outputs.next_actions, r.outputs.open_questions, words)
    ]
    return DRResult(
        k=k,
        novelty=novelty,
        readiness=readiness,
        recommendations=recommend(novelty, readiness, k),
        similarity=stability[-1] if stability else None,
        composite=compose(novelty, readiness, stability, k, thresholds),
        flags=find_flags(novelty, readiness, questions),
        added_words=tuple(matched),
    )
