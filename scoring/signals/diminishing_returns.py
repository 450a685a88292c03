"""Whether the deliberation of an iteration had converged, unblocked, when it stopped.

Rules: ``docs/OUTCOME_SCORING_RUBRIC.md``, "diminishing_returns".
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rubric import SignalID
from scoring.evidence.entry_files import PROFILE, DeliberationFacts, deliberation_names
from scoring.evidence.facts import IterationFacts
from scoring.log.places import EntryPlaces
from scoring.text import cut, printable

from .signal import Signal
from .values import Deliberation, SignalValue, absent_for, present_signal

if TYPE_CHECKING:
    from scoring.meters.dr import DRResult

DIMINISHING_RETURNS = SignalID("diminishing_returns")

LEAST_ROUNDS = 2
REASON_WIDTH = 200


class DiminishingReturns(Signal):
    """What the diminishing-returns meter says of the iteration's deliberation."""

    id = DIMINISHING_RETURNS
    better = "the deliberation has converged and is not blocked when it stops"
    supply = (
        "nothing, if no deliberation was held;"
        " otherwise keep its rounds in iter-N.dr.json beside the entry"
    )
    optional = True

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return what :func:`deliberation_value` says of the iteration's deliberation."""
        return deliberation_value(facts.deliberation, facts.record.iteration)

    def sources(
        self,
        facts: IterationFacts,
        entry: EntryPlaces,  # noqa: ARG002 - it is read from no field of the entry
    ) -> Iterator[str]:
        """Yield the path of the DR transcript, where there is one."""
        if facts.deliberation:
            yield str(facts.deliberation.path)

    def files(self, iteration: int) -> Iterator[str]:
        """Yield what the DR transcript may be called."""
        yield from deliberation_names(iteration)


def deliberation_shown(
    facts: DeliberationFacts | None, iteration: int
) -> Deliberation | None:
    """Return what is shown of a deliberation, or None without a DR transcript.

    Its value is that of :func:`deliberation_value`, which may be absent.

    Args:
        facts: what the meter measured; None without a DR transcript.
        iteration: the number of the entry.
    """
    if facts is None:
        return None

    return Deliberation(
        source=facts.path,
        value=deliberation_value(facts, iteration),
        meter=facts.result.payload() if facts.result else None,
        profile=facts.profile,
    )


def deliberation_value(facts: DeliberationFacts | None, iteration: int) -> SignalValue:
    """Return the meter's score as a value, 0 where the deliberation is stuck.

    It is stuck where the meter says to escalate, and since profile dr-2 where the last round is
    blocked. The value is absent without a transcript that can be read, with fewer than
    :data:`LEAST_ROUNDS` rounds, and without claims.

    Args:
        facts: what the meter measured; None without a DR transcript.
        iteration: the number of the entry.
    """
    transcript = "DR transcript for iter-{n}"
    if facts is None:
        return absent_for(f"no {transcript}", n=iteration)
    if facts.result is None:
        problem = cut(printable(" ".join(facts.problem.split())), REASON_WIDTH)
        return absent_for(
            f"cannot read {transcript}: {{problem}}", n=iteration, problem=problem
        )

    rounds = len(facts.result.novelty)
    if rounds < LEAST_ROUNDS:
        words = f"{transcript} has {rounds} round; at least {LEAST_ROUNDS} needed"
        return absent_for(words, n=iteration)
    if not any(novelty.claims for novelty in facts.result.novelty):
        return absent_for(f"{transcript} has no claims", n=iteration)

    # Since profile dr-2 a last round that is blocked is as good as an escalation.
    is_blocked = (
        facts.profile != PROFILE and facts.result.readiness[-1].blocker is not None
    )
    is_stuck = is_blocked or facts.result.signal == "ESCALATE"
    sub_score = 0.0 if is_stuck else facts.result.score
    return present_signal(sub_score, _in_words(facts.result, facts.profile))


def _in_words(result: "DRResult", profile: str) -> str:
    """Return the meter's signal with novelty and readiness of the last round, as a detail."""
    novelty = result.novelty[-1]
    readiness = result.readiness[-1]

    detail = (
        f"{result.signal}: novelty {novelty.rate:.3f} {novelty.level},"
        f" readiness {readiness.value:.2f} {readiness.level}, {len(result.novelty)} rounds"
    )
    if result.rough_rounds and profile != PROFILE:
        detail += ", claims cut out of text"
    return detail
