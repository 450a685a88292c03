"""Flags of odd rounds: what a person should look at before relying on a signal."""

from collections.abc import Sequence
from typing import NamedTuple

from scoring.frozen import Frozen
from scoring.meters import at_least, below
from scoring.meters.dr.novelty import RoundNovelty
from scoring.meters.dr.readiness import RoundReadiness

MAY_BE_CONVERGED = (
    "claim_inflation may be only that: a loop that has converged repeats as many claims as before"
)

INFLATED_SHARE = 0.1
"""A round of many claims of which fewer than this share are new is inflated."""

INFLATED_GROWTH = 2.0
"""A round of low novelty with so many times the claims of the rounds before is inflated."""


class Flag(Frozen):
    """Something odd in a round.

    Attributes:
        flag: its name.
        round: the number of the round.
        reason: what is odd, in words.
    """

    flag: str
    round: int
    reason: str


def find_flags(
    novelty: Sequence[RoundNovelty], readiness: Sequence[RoundReadiness], questions: Sequence[int]
) -> tuple[Flag, ...]:
    """Return the flags of every round, in order.

    Args:
        novelty: that of each round.
        readiness: that of each round.
        questions: how many open questions each round has.
    """
    flags = []
    earlier = _EarlierClaims()
    questions_before = 0
    for index, round_novelty in enumerate(novelty):
        reasons = {"claim_inflation": _inflation(round_novelty, earlier)}
        if questions_before and not questions[index] and round_novelty.new_claims:
            reasons["questions_dropped"] = (
                f"open questions fell from {questions_before} to none in a round with "
                f"{round_novelty.new_claims} new claims"
            )
        if round_novelty.level == "HIGH" and readiness[index].level == "HIGH":
            reasons["premature_readiness"] = "ready to act while novelty is still high"
        if not round_novelty.claims:
            reasons["no_claims"] = "the round makes no claim"

        questions_before = questions[index]
        earlier = _EarlierClaims(
            rounds=earlier.rounds + 1,
            total=earlier.total + round_novelty.claims,
            most=max(earlier.most, round_novelty.claims),
        )

        for name, reason in reasons.items():
            if reason:
                flags.append(Flag(name, round_novelty.round, reason))
    return tuple(flags)


class _EarlierClaims(NamedTuple):
    """The claims of the rounds before one: in how many rounds, how many, and most in one round."""

    rounds: int = 0
    total: int = 0
    most: int = 0


def _inflation(novelty: RoundNovelty, earlier: _EarlierClaims) -> str:
    """Return why a round has suspiciously many claims, or ""."""
    if not novelty.claims:
        return ""

    mean = (earlier.total + novelty.claims) / (earlier.rounds + 1)
    new_share = novelty.new_claims / novelty.claims
    if below(new_share, INFLATED_SHARE) and at_least(novelty.claims, mean):
        reason = (
            f"{novelty.new_claims} of {novelty.claims} claims are new, in a round of no fewer "
            f"claims than the mean of {mean:.4g} so far"
        )
        if novelty.claims <= earlier.most:
            reason += f"; {MAY_BE_CONVERGED}"
        return reason

    if not earlier.rounds or novelty.raw != "LOW":
        return ""
    if at_least(novelty.claims * earlier.rounds, INFLATED_GROWTH * earlier.total):
        mean_before = earlier.total / earlier.rounds
        return (
            f"{novelty.claims} claims, at least twice the mean of {mean_before:.4g} before, "
            "and few new"
        )
    return ""
