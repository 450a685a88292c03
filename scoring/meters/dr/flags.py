"""Signs that a transcript is made to look better than it is; they change nothing but are shown (contract section 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.meters.dr.novelty import RoundNovelty
from scoring.meters.dr.readiness import RoundReadiness
from scoring.meters.dr.thresholds import at_least, below

INFLATED_SHARE = 0.1
"""A round of many claims of which fewer than this share are new is inflated."""

INFLATED_GROWTH = 2.0
"""A round of this many times the claims of the rounds before, and of low novelty, is inflated."""


@dataclass(frozen=True, slots=True)
class Flag:
    """Something odd in a round."""

    flag: str
    round: int
    reason: str


def find_flags(
    novelty: Sequence[RoundNovelty], readiness: Sequence[RoundReadiness], questions: Sequence[int]
) -> tuple[Flag, ...]:
    """Return the flags of every round, in order; ``questions`` counts the open ones of each round."""
    flags = []
    claims_before = 0
    for i, (new, ready) in enumerate(zip(novelty, readiness, strict=True)):
        before = questions[i - 1] if i else 0
        reasons = {
            "claim_inflation": _inflation(i, claims_before, new),
            "questions_dropped": _dropped(before, questions[i], new),
            "premature_readiness": _premature(new, ready),
            "no_claims": "the round makes no claim" if not new.claims else "",
        }
        claims_before += new.claims
        flags += [Flag(name, new.round, reason) for name, reason in reasons.items() if reason]
    return tuple(flags)


def _inflation(rounds_before: int, claims_before: int, new: RoundNovelty) -> str:
    if not new.claims:
        return ""
    mean = (claims_before + new.claims) / (rounds_before + 1)
    if below(new.new_claims / new.claims, INFLATED_SHARE) and at_least(new.claims, mean):
        counts = f"{new.new_claims} of {new.claims} claims are new"
        return f"{counts}, in a round of no fewer claims than the mean of {mean:.4g} so far"
    if rounds_before and new.raw == "LOW" and at_least(new.claims * rounds_before, INFLATED_GROWTH * claims_before):
        return (
            f"{new.claims} claims, at least twice the mean of {claims_before / rounds_before:.4g} before, and few new"
        )
    return ""


def _dropped(before: int, now: int, new: RoundNovelty) -> str:
    if not (before and not now and new.new_claims):
        return ""
    return f"open questions fell from {before} to none in a round with {new.new_claims} new claims"


def _premature(new: RoundNovelty, ready: RoundReadiness) -> str:
    if new.level == "HIGH" == ready.level:
        return "ready to act while novelty is still high"
    return ""
