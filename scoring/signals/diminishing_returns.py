"""diminishing_returns: had the deliberation converged, unblocked (``docs/OUTCOME_SCORING_RUBRIC.md``)."""

from collections.abc import Iterator

from rubric import SignalID
from scoring.evidence.beside import PROFILE, DeliberationFacts, deliberation_names
from scoring.evidence.facts import IterationFacts
from scoring.log.load import EntryPlaces
from scoring.signals.signal import Signal
from scoring.signals.values import Deliberation, SignalValue, absent_signal, present_signal
from scoring.text import cut, printable

DIMINISHING_RETURNS = SignalID("diminishing_returns")

LEAST_ROUNDS = 2
REASON_WIDTH = 200


class DiminishingReturns(Signal):
    """What the diminishing-returns meter says of the iteration's deliberation."""

    id = DIMINISHING_RETURNS
    better = "the deliberation has converged and is not blocked when it stops"
    supply = "nothing, if no deliberation was held; otherwise keep its rounds in iter-N.dr.json beside the entry"
    optional = True

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return the meter's score; 0 where it says to escalate and, from dr-2 on, where the last round is blocked."""
        return deliberation_value(facts.deliberation, facts.record.iteration)

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:  # noqa: ARG002
        """Yield the DR transcript."""
        if facts.deliberation:
            yield str(facts.deliberation.path)

    def files(self, iteration: int) -> Iterator[str]:
        """Yield what the DR transcript may be called."""
        yield from deliberation_names(iteration)


def deliberation_shown(found: DeliberationFacts | None, iteration: int) -> Deliberation | None:
    """Return what is shown of a deliberation beside a score, whether it votes or not; None where there is none."""
    if found is None:
        return None
    payload = found.result.payload() if found.result else None
    return Deliberation(found.path, deliberation_value(found, iteration), payload, found.profile)


def deliberation_value(found: DeliberationFacts | None, iteration: int) -> SignalValue:
    """Judge a deliberation; None where there is no DR transcript."""
    transcript, general = f"DR transcript for iter-{iteration}", "DR transcript for iter-N"
    if found is None:
        return absent_signal(f"no {transcript}", f"no {general}")
    if found.result is None:
        problem = cut(printable(" ".join(found.problem.split())), REASON_WIDTH)
        return absent_signal(f"cannot read {transcript}: {problem}", f"cannot read {general}: …")
    result, rounds = found.result, len(found.result.novelty)
    if rounds < LEAST_ROUNDS:
        few = f"has {rounds} round; at least {LEAST_ROUNDS} needed"
        return absent_signal(f"{transcript} {few}", f"{general} {few}")
    if not any(new.claims for new in result.novelty):
        return absent_signal(f"{transcript} has no claims", f"{general} has no claims")
    new, ready = result.novelty[-1], result.readiness[-1]
    detail = f"{result.signal}: novelty {new.rate:.3f} {new.level}, readiness {ready.value:.2f} {ready.level}"
    detail += f", {rounds} rounds"
    if result.rough_rounds and found.profile != PROFILE:
        detail += ", claims cut out of text"
    stuck = result.signal == "ESCALATE" or (found.profile != PROFILE and ready.blocker is not None)
    return present_signal(0.0 if stuck else result.score, detail)
