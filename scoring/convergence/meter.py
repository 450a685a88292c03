"""The diminishing-returns meter: a transcript in, whether to continue, to ship or to escalate out (contract section 6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from scoring.convergence.thresholds import DEFAULT, Level, Thresholds
from scoring.convergence.words import BUILT_IN, Words

if TYPE_CHECKING:
    from scoring.convergence.transcript import Transcript

Embed: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Turns texts into vectors of one length, one for each text; they need not be of length 1."""

Signal: TypeAlias = Literal["CONTINUE", "SHIP", "ESCALATE"]


@dataclass(frozen=True, slots=True)
class DRResult:
    """What the meter says of a transcript. (Attributes that others may rely on; more to come.)"""

    signal: Signal
    score: float
    """1 - novelty_rate of the last round, unrounded."""
    novelty_rate: float
    novelty_classification: Level
    action_readiness: float
    readiness_classification: Level
    round_count: int
    has_claims: bool
    """Whether any round makes a claim."""

    def payload(self) -> dict[str, Any]:
        """Return the result in the shape and key order of the contract, numbers rounded to 4 places."""
        raise NotImplementedError


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
    """
    raise NotImplementedError
