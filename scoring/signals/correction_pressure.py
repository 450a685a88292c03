"""correction_pressure: how little the iteration had to be corrected.

See ``docs/OUTCOME_SCORING_RUBRIC.md``, "correction_pressure".
"""

from collections.abc import Iterator

from rubric import SignalID
from scoring.evidence.artifacts import Corrections
from scoring.evidence.facts import IterationFacts
from scoring.log.load import EntryPlaces
from scoring.numbers import wrap64
from scoring.signals.signal import Signal, named_fields, window_source
from scoring.signals.values import SignalValue, absent_signal, present_signal

CORRECTION_PRESSURE = SignalID("correction_pressure")


class CorrectionPressure(Signal):
    """Retries, corrections and, when there were tool calls, the share of them that failed."""

    id = CORRECTION_PRESSURE
    better = "fewer retries, fewer corrections by the user, fewer tool calls that fail"
    supply = "write the number of retries into the entry, 0 included"

    def value(self, facts: IterationFacts) -> SignalValue:
        """Combine retries, corrections and the tool-error rate."""
        return pressure_value(facts.corrections, error_rate_of(facts))

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:
        """Yield the retries in the entry, the review artifact, and the window of the tool calls."""
        retries = [f"verifiers.{n}.retries" for n in range(len(facts.record.verifiers))]
        yield from named_fields(entry, "retries", "impl.retries", *retries)
        if facts.record.review.decision_artifact:
            yield f"artifact {facts.record.review.decision_artifact}"
        if error_rate_of(facts) is not None:
            yield from window_source(facts)


def error_rate_of(facts: IterationFacts) -> float | None:
    """Return failed tool calls over tool calls, in [0, 1]; None when none were seen."""
    return None if facts.transcripts is None else facts.transcripts.tool_error_rate


def pressure_value(corrections: Corrections, error_rate: float | None) -> SignalValue:
    """Combine retries, user corrections and, when there were tool calls, their error rate.

    Absent when nobody reported any of them. The reference takes silence for none, so under its rules the signal is
    always present.
    """
    retries, by_user, reported = corrections
    if error_rate is None and not reported:
        return absent_signal("no retries field, no review artifact and no tool calls")
    detail = f"{retries} retries, {by_user} user corrections"
    pressure = float(wrap64(retries + by_user))
    if error_rate is not None:
        detail += f", {error_rate * 100:.0f}% tool-error rate"
        pressure += 2 * error_rate
    divisor = 1 + pressure
    return present_signal(1 / divisor if divisor else float("inf"), detail)
