"""How little the iteration had to be corrected (``docs/OUTCOME_SCORING_RUBRIC.md``, "correction_pressure")."""

from collections.abc import Iterator

from msgspec.structs import replace

from rubric import SignalID, Source
from scoring.evidence.beside import Corrections
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import CorrectionsSeen
from scoring.log.load import EntryPlaces
from scoring.signals.signal import (
    Signal,
    attribution,
    named_fields,
    seen_source,
    unattributed,
    work_source,
)
from scoring.signals.values import SignalValue, absent_signal, present_signal
from scoring.text import counted, wrap64

CORRECTION_PRESSURE = SignalID("correction_pressure")


class CorrectionPressure(Signal):
    """Retries, corrections and, when there were tool calls, the share of them that failed."""

    id = CORRECTION_PRESSURE
    better = "fewer retries, fewer corrections by the user, fewer tool calls that fail"
    supply = "write the number of retries into the entry, 0 included"
    read_from_lines = True

    def value(self, facts: IterationFacts) -> SignalValue:
        """Combine retries, corrections and the tool-error rate."""
        return self._value(facts, facts.observed is not None and facts.observed.tool_calls > 0)

    def seen(self, facts: IterationFacts) -> SignalValue:
        """Combine them where tool calls were seen; what the entry admits counts then, and silence does not."""
        observed = facts.observed
        if observed is None:
            if error_rate_of(facts) is None:
                return absent_signal("no tool calls seen")
        elif missing := unattributed(observed):
            return absent_signal(missing)
        elif not observed.tool_calls:
            return absent_signal(f"no tool calls seen{attribution(observed)}", "no tool calls seen")
        return self._value(facts, seen=True)

    def _value(self, facts: IterationFacts, seen: bool) -> SignalValue:
        """Combine what was reported, and what was ``seen`` where anything was."""
        rate = error_rate_of(facts)
        if facts.observed is None or not seen:
            return replace(pressure_value(facts.corrections, rate), fact=_failed_calls(facts))
        reported, found = facts.corrections, facts.observed.corrections
        larger = max(reported.retries, found.resets), max(reported.corrections, found.corrections)
        value = pressure_value(
            Corrections(*larger, True), rate, found
        )  # to admit less than was seen is no help
        kinds = (
            ("interruption", found.interrupts),
            ("rejection", found.rejections),
            ("reset", found.resets),
        )
        parts = [counted(number, kind) for kind, number in kinds if number]
        if found.words is None:
            parts.append("prompts in another language, not judged")
        elif found.words:
            parts.append(
                counted(
                    found.words,
                    "prompt that reads as a correction",
                    "prompts that read as corrections",
                )
            )
        said = ", ".join(parts)
        detail = (
            f"{value.detail}{f'; observed: {said}' if said else ''}{attribution(facts.observed)}"
        )
        return present_signal(value.sub_score, detail, fact=_failed_calls(facts))

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:
        """Yield the retries in the entry, the review artifact, the lines of the tool calls, and corrections."""
        retries = [f"verifiers.{n}.retries" for n in range(len(facts.record.verifiers))]
        yield from named_fields(entry, "retries", "impl.retries", *retries)
        if facts.record.review.decision_artifact:
            yield f"artifact {facts.record.review.decision_artifact}"
        if error_rate_of(facts) is not None:
            yield from work_source(facts)
        yield from seen_source(facts, "correction")


def error_rate_of(facts: IterationFacts) -> float | None:
    """Return failed tool calls over tool calls, in [0, 1]; None when none were seen."""
    failed, ended = _ended_calls(facts)
    return failed / ended if ended and failed is not None else None


def _ended_calls(facts: IterationFacts) -> tuple[int | None, int]:
    """Return how many tool calls failed (None: unknown), of how many: in what votes, or else in the window."""
    if facts.observed is not None:
        return facts.observed.failed_calls, facts.observed.tool_calls
    found = facts.transcripts
    return (found.tool_errors, found.tool_calls) if found else (0, 0)


def pressure_value(
    corrections: Corrections, error_rate: float | None, seen: CorrectionsSeen | None = None
) -> SignalValue:
    """Combine retries, user corrections and, if there were tool calls, their error rate; absent when all are unknown.

    Without an error rate it is a claim, unless the corrections were ``seen``: some of those in words may be none.
    """
    retries, by_user, reported = corrections
    if error_rate is None and not reported:
        return absent_signal("no retries field, no review artifact and no tool calls")
    detail = f"{retries} retries, {by_user} user corrections"  # as the reference writes it
    if seen is not None:
        by = counted(by_user, "user correction") if by_user else "no user correction found"
        by = f"up to {by} found" if seen.words and by_user else by
        detail = f"{counted(retries, 'retry', 'retries')}, {by}"
    pressure = float(wrap64(retries + by_user))
    if error_rate is not None:
        detail += f", {error_rate * 100:.0f}% tool-error rate"
        pressure += 2 * error_rate
    divisor = 1 + pressure
    source: Source = "claimed" if error_rate is None and seen is None else "observed"
    return present_signal(1 / divisor if divisor else float("inf"), detail, source)


def _failed_calls(facts: IterationFacts) -> str:
    failed, ended = _ended_calls(facts)
    if failed is None:
        return f"how {counted(ended, 'tool call')} ended is not stated"
    return f"{failed} of {counted(ended, 'tool call')} failed" if ended else ""
