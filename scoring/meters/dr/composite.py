"""The composite rule: low novelty, stable meaning and no blocker, each for k rounds; an observation (section 6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from scoring.meters.dr.meaning import Meanings
from scoring.meters.dr.novelty import Claim, RoundNovelty
from scoring.meters.dr.readiness import RoundReadiness
from scoring.meters.dr.thresholds import DEFAULT, Thresholds, at_least

if TYPE_CHECKING:
    from scoring.meters.dr.transcript import Round

Compared: TypeAlias = Literal["summaries", "claims"]


class Similarity(NamedTuple):
    """How alike two rounds are in meaning."""

    value: float
    """Cosine, -1 to 1."""
    of: Compared
    """What was compared: the summaries, or the mean vectors of the claims."""


@dataclass(frozen=True, slots=True)
class Composite:
    """Whether the composite rule says stop. It does not change the signal."""

    novelty_low: bool
    stability_high: bool | None
    """None without level L2, or when the last two rounds cannot be compared."""
    not_blocked: bool
    rounds_held: int | None
    """How many rounds in a row, up to the last, the three hold; None without level L2."""
    stop: bool | None


def similarities(
    rounds: "Sequence[Round]", claims: Sequence[Sequence[Claim]], meanings: Meanings
) -> list[Similarity | None]:
    """Compare each round with the one before: by summary, and by claims where one has no summary.

    None for the first round, and where there is nothing to compare.
    """
    found: list[Similarity | None] = [None]
    for i in range(1, len(rounds)):
        one, other = summary_of(rounds[i - 1]), summary_of(rounds[i])
        groups: list[list[str]]
        of: Compared
        if one and other:
            groups, of = [[one], [other]], "summaries"
        else:
            groups, of = [[claim.raw for claim in claims[j]] for j in (i - 1, i)], "claims"
        value = meanings.alike(*groups)
        found.append(None if value is None else Similarity(value, of))
    return found


def summary_of(given: "Round") -> str:
    """Return the summary of a round, empty when it has none."""
    return (given.outputs.summary or "").strip()


def compose(
    novelty: Sequence[RoundNovelty],
    readiness: Sequence[RoundReadiness],
    stability: Sequence[Similarity | None] | None,
    k: int,
    thresholds: Thresholds = DEFAULT,
) -> Composite:
    """Apply the composite rule; ``stability`` is None without level L2."""
    low, free = novelty[-1].raw == "LOW", readiness[-1].blocker is None
    if stability is None:
        return Composite(low, None, free, None, None)
    stable = [None if s is None else at_least(s.value, thresholds.stability) for s in stability]
    held = 0
    for new, ready, is_stable in zip(reversed(novelty), reversed(readiness), reversed(stable), strict=True):
        if not (new.raw == "LOW" and ready.blocker is None and is_stable):
            break
        held += 1
    return Composite(low, stable[-1], free, held, held >= k)
