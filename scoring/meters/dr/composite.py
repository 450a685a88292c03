"""What is shown with a signal: the composite rule, and flags of odd rounds.

The composite rule also asks whether the rounds stay similar in meaning. A person should look at an
odd round before relying on a signal.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from scoring.frozen import Frozen
from scoring.meters import at_least, below

from .novelty import Claims, RoundNovelty
from .profile import Profile
from .readiness import RoundReadiness
from .semantic import Meanings
from .transcript import Round


class RoundSimilarity(NamedTuple):
    """How similar two rounds are in meaning.

    Attributes:
        value: a cosine, -1 to 1.
        of: what was compared: the summaries, or the mean vectors of the claims.
    """

    value: float
    of: Literal["summaries", "claims"]


class CompositeRule(Frozen):
    """Whether the composite rule says stop. It does not change the signal.

    Attributes:
        novelty_low: whether the novelty rate of the last round is LOW.
        stability_high: whether the last two rounds are stable. None without level L2, or when the
            two cannot be compared.
        not_blocked: whether the last round is without a blocker.
        rounds_held: for how many rounds in a row, the last included, novelty is low, rounds are
            stable, and nothing blocks; None without level L2.
        stop: whether ``rounds_held`` is at least ``k``; None without level L2.
    """

    novelty_low: bool
    stability_high: bool | None
    not_blocked: bool
    rounds_held: int | None
    stop: bool | None


def similarities(
    rounds: Sequence[Round], claims: dict[int, Claims], meanings: Meanings
) -> list[RoundSimilarity | None]:
    """Compare each round with the round before it.

    Args:
        rounds: the rounds, in order.
        claims: the claims of each round, by its number.
        meanings: the vectors of all summaries and claims.

    Returns:
        For each round its similarity to the round before: of the summaries, or where either has no
        summary of the claims. None for the first round, and where one of the two then has no claim.
    """
    compared: list[RoundSimilarity | None] = [None]
    for earlier, later in pairwise(rounds):
        of: Literal["summaries", "claims"] = "summaries"
        first = [summary_of(earlier)]
        second = [summary_of(later)]
        if not all(first + second):
            of = "claims"
            first = list(claims[earlier.round].values())
            second = list(claims[later.round].values())

        value = meanings.similarity(first, second)
        compared.append(None if value is None else RoundSimilarity(value, of))
    return compared


def summary_of(deliberation_round: Round) -> str:
    """Return the summary of a round, empty when it has none."""
    return (deliberation_round.outputs.summary or "").strip()


def compose(
    novelty: Sequence[RoundNovelty],
    readiness: Sequence[RoundReadiness],
    similarity: Sequence[RoundSimilarity | None] | None,
    profile: Profile,
) -> CompositeRule:
    """Apply the composite rule.

    Args:
        novelty: the novelty of each round, in order.
        readiness: the readiness of each round, in order.
        similarity: what :func:`similarities` returns; None without level L2.
        profile: what the meter goes by: ``k`` and the threshold of stability count here.
    """
    is_stable: bool | None = None
    rounds_held: int | None = None
    stop: bool | None = None
    if similarity is not None:
        rounds_held = 0
        for added, ready, similar in zip(novelty, readiness, similarity, strict=True):
            is_stable = None
            if similar is not None:
                is_stable = at_least(similar.value, profile.thresholds.stability)

            if added.raw == "LOW" and ready.blocker is None and is_stable:
                rounds_held += 1
            else:
                rounds_held = 0
        stop = rounds_held >= profile.k

    return CompositeRule(
        novelty_low=novelty[-1].raw == "LOW",
        stability_high=is_stable,
        not_blocked=readiness[-1].blocker is None,
        rounds_held=rounds_held,
        stop=stop,
    )


# Odd rounds

MAY_BE_CONVERGED = (
    "claim_inflation may be only that: a loop that has converged"
    " repeats as many claims as before"
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
    novelty: Sequence[RoundNovelty], readiness: Sequence[RoundReadiness]
) -> tuple[Flag, ...]:
    """Return the flags of every round, none or several for each, in order of the rounds.

    Args:
        novelty: the novelty of each round, in order.
        readiness: the readiness of each round, in order.
    """
    flags = []
    total = 0
    most = 0
    questions_before = 0
    for index, (added, ready) in enumerate(zip(novelty, readiness, strict=True)):
        reasons = {"claim_inflation": _inflation(added, index, total, most)}
        if questions_before and not ready.questions and added.new_claims:
            reasons["questions_dropped"] = (
                f"open questions fell from {questions_before} to none in a round with "
                f"{added.new_claims} new claims"
            )
        if added.level == "HIGH" and ready.level == "HIGH":
            reasons["premature_readiness"] = "ready to act while novelty is still high"
        if not added.claims:
            reasons["no_claims"] = "the round makes no claim"

        questions_before = len(ready.questions)
        total += added.claims
        most = max(most, added.claims)

        for name, reason in reasons.items():
            if reason:
                flags.append(Flag(name, added.round, reason))
    return tuple(flags)


def _inflation(
    novelty: RoundNovelty,
    rounds: int,
    total: int,
    most: int,
) -> str:
    """Return why a round has suspiciously many claims, or "".

    Args:
        novelty: the novelty of the round.
        rounds: how many rounds are before it.
        total: how many claims the rounds before make together.
        most: how many claims one of the rounds before makes at most.
    """
    if not novelty.claims:
        return ""

    mean = (total + novelty.claims) / (rounds + 1)
    new_share = novelty.new_claims / novelty.claims
    if below(new_share, INFLATED_SHARE) and at_least(novelty.claims, mean):
        reason = (
            f"{novelty.new_claims} of {novelty.claims} claims are new, in a round of no fewer "
            f"claims than the mean of {mean:.4g} so far"
        )
        if novelty.claims <= most:
            reason += f"; {MAY_BE_CONVERGED}"
        return reason

    if not rounds or novelty.raw != "LOW":
        return ""
    if at_least(novelty.claims * rounds, INFLATED_GROWTH * total):
        return (
            f"{novelty.claims} claims, at least twice the mean of {total / rounds:.4g} before, "
            "and few new"
        )
    return ""
