"""The composite rule, which also asks whether the rounds stay similar in meaning."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from scoring.frozen import Frozen
from scoring.meters import at_least
from scoring.meters.dr.novelty import Claim, RoundNovelty
from scoring.meters.dr.profile import Profile
from scoring.meters.dr.readiness import RoundReadiness
from scoring.meters.dr.semantic import Meanings
from scoring.meters.dr.transcript import Round


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
        rounds_held: for how many rounds in a row, up to the last, all three hold; None without
            level L2.
        stop: whether they hold for ``k`` rounds; None without level L2.
    """

    novelty_low: bool
    stability_high: bool | None
    not_blocked: bool
    rounds_held: int | None
    stop: bool | None


def similarities(
    rounds: Sequence[Round], claims: Sequence[Sequence[Claim]], meanings: Meanings
) -> list[RoundSimilarity | None]:
    """Compare each round with the one before it.

    Args:
        rounds: the rounds, in order.
        claims: the claims of each.
        meanings: the vectors of all summaries and claims.

    Returns:
        For each round its similarity: of the summaries, or of the claims where one of the two has
        no summary. None for the first round, and where one of the two has no claims either.
    """
    compared: list[RoundSimilarity | None] = [None]
    for index in range(1, len(rounds)):
        summary = summary_of(rounds[index])
        summary_before = summary_of(rounds[index - 1])
        if summary and summary_before:
            of: Literal["summaries", "claims"] = "summaries"
            value = meanings.similarity([summary_before], [summary])
        else:
            of = "claims"
            value = meanings.similarity(
                [claim.raw for claim in claims[index - 1]], [claim.raw for claim in claims[index]]
            )

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
        novelty: that of each round.
        readiness: that of each round.
        similarity: what :func:`similarities` returns; None without level L2.
        profile: ``k`` and the threshold of stability.
    """
    rule = CompositeRule(
        novelty_low=novelty[-1].raw == "LOW",
        stability_high=None,
        not_blocked=readiness[-1].blocker is None,
        rounds_held=None,
        stop=None,
    )
    if similarity is None:
        return rule

    threshold = profile.thresholds.stability
    stable = [None if s is None else at_least(s.value, threshold) for s in similarity]

    rounds_held = 0
    for added, ready, is_stable in zip(novelty, readiness, stable, strict=True):
        if added.raw == "LOW" and ready.blocker is None and is_stable:
            rounds_held += 1
        else:
            rounds_held = 0

    stop = rounds_held >= profile.k
    return replace(rule, stability_high=stable[-1], rounds_held=rounds_held, stop=stop)
