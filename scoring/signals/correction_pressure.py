"""How little the iteration had to be corrected.

Rules: ``docs/OUTCOME_SCORING_RUBRIC.md``, "correction_pressure".
"""

from collections.abc import Iterator

from msgspec.structs import replace

from rubric import SignalID, Source
from scoring.evidence.artifacts import Corrections
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.observed_facts import CorrectionsSeen, Observed
from scoring.log.places import EntryPlaces
from scoring.text import counted, wrap64

from .signal import (
    Signal,
    attribution,
    named_fields,
    seen_source,
    unattributed,
    work_source,
)
from .values import SignalValue, absent_signal, present_signal

CORRECTION_PRESSURE = SignalID("correction_pressure")

WEIGHT_OF_ERRORS = 2
"""How many retries count as much as an error rate of 1, which is that every tool call failed."""


class CorrectionPressure(Signal):
    """Retries, corrections and, when there were tool calls, the share of them that failed."""

    id = CORRECTION_PRESSURE
    better = "fewer retries, fewer corrections by the user, fewer tool calls that fail"
    supply = "write the number of retries into the entry, 0 included"
    read_from_lines = True

    def value(self, facts: IterationFacts) -> SignalValue:
        """Combine retries, corrections and the share of failed tool calls.

        Where no call was seen in an iteration's own lines, corrections seen there do not count.
        """
        if facts.observed and facts.observed.tool_calls > 0:
            return _observed_value(facts, facts.observed)
        return _reported_value(facts)

    def seen(self, facts: IterationFacts) -> SignalValue:
        """Combine retries, corrections and failed tool calls, absent where no call was seen.

        Under rules that attribute lines, retries and corrections that were seen count even if the
        entry leaves them out. Under others, it is also absent if it is not known how calls ended.
        """
        observed = facts.observed
        if observed is None:
            if error_rate_of(facts) is None:
                return absent_signal("no tool calls seen")
            return _reported_value(facts)

        missing = unattributed(observed)
        if missing:
            return absent_signal(missing)
        if not observed.tool_calls:
            return absent_signal(
                f"no tool calls seen{attribution(observed)}", "no tool calls seen"
            )
        return _observed_value(facts, observed)

    def sources(self, facts: IterationFacts, entry: EntryPlaces) -> Iterator[str]:
        """Yield where retries are in the entry, the review artifact, and the lines of calls.

        The places of corrections that were seen follow. What there is not is left out.
        """
        retries = [f"verifiers.{n}.retries" for n in range(len(facts.record.verifiers))]
        yield from named_fields(entry, "retries", "impl.retries", *retries)

        artifact = facts.record.review.decision_artifact
        if artifact and artifact not in entry.missing:
            yield f"artifact {artifact}"
        if error_rate_of(facts) is not None:
            yield from work_source(facts)
        yield from seen_source(facts, "correction")


def _reported_value(facts: IterationFacts) -> SignalValue:
    """Combine the retries and corrections that the entry reports with the failed tool calls."""
    value = pressure_value(facts.corrections, error_rate_of(facts))
    return replace(value, fact=_failed_calls(facts))


def _observed_value(facts: IterationFacts, observed: Observed) -> SignalValue:
    """Combine what the entry admits, what was seen, and the failed tool calls.

    Of the retries in the entry and those seen the larger number counts, and likewise of the
    corrections, so that admitting less than was seen does not help.
    """
    reported = facts.corrections
    seen = observed.corrections
    larger = Corrections(
        retries=max(reported.retries, seen.resets),
        corrections=max(reported.corrections, seen.corrections),
        reported=True,
    )
    value = pressure_value(larger, error_rate_of(facts), seen)

    detail = value.detail
    kinds = _seen_in_words(seen)
    if kinds:
        detail += f"; observed: {', '.join(kinds)}"
    if seen.interrupts + seen.rejections + (seen.words or 0) > seen.corrections:
        detail += " (what comes together counts once)"
    detail += attribution(observed)
    return present_signal(value.sub_score, detail, fact=_failed_calls(facts))


def _seen_in_words(seen: CorrectionsSeen) -> list[str]:
    """Return the kinds of corrections that were seen with their counts, without those at 0.

    Prompts in another language than English come without a count: they are not judged.
    """
    counts = {
        "interruption": seen.interrupts,
        "rejection": seen.rejections,
        "reset": seen.resets,
    }
    kinds = [counted(count, kind) for kind, count in counts.items() if count]
    if seen.words is None:
        kinds.append("prompts in another language, not judged")
    elif seen.words:
        one = "prompt that reads as a correction"
        kinds.append(counted(seen.words, one, "prompts that read as corrections"))
    return kinds


def error_rate_of(facts: IterationFacts) -> float | None:
    """Return the share of tool calls that failed, from 0 to 1.

    None where no call was seen, or where it is not known how calls ended.
    """
    failed, total = _call_counts(facts)
    if not total or failed is None:
        return None
    return failed / total


def _call_counts(facts: IterationFacts) -> tuple[int | None, int]:
    """Return how many tool calls failed (None: not known), and how many there were.

    These are the calls in the iteration's own lines, or where iterations have no such lines, the
    calls in its window.
    """
    if facts.observed:
        return facts.observed.failed_calls, facts.observed.tool_calls
    if facts.transcripts is None:
        return 0, 0
    return facts.transcripts.tool_errors, facts.transcripts.tool_calls


def pressure_value(
    corrections: Corrections,
    error_rate: float | None,
    seen: CorrectionsSeen | None = None,
) -> SignalValue:
    """Return the value 1 / (1 + retries + corrections + 2 * error rate), at most 1.

    Without an error rate it is absent where the counts are not reported, and otherwise a claim
    where ``seen`` is None.

    Args:
        corrections: the numbers of retries and corrections, and whether they are reported.
        error_rate: the share of tool calls that failed, from 0 to 1; None where it is unknown.
        seen: the corrections that were seen, where ``corrections`` includes them; else None.
    """
    retries, by_user, reported = corrections
    if error_rate is None and not reported:
        return absent_signal("no retries field, no review artifact and no tool calls")

    # as the reference writes it
    detail = f"{retries} retries, {by_user} user corrections"
    if seen:
        detail = f"{counted(retries, 'retry', 'retries')}, {_corrections_in_words(by_user, seen)}"

    pressure = float(wrap64(retries + by_user))
    if error_rate is not None:
        detail += f", {error_rate * 100:.0f}% tool-error rate"
        pressure += WEIGHT_OF_ERRORS * error_rate

    source: Source = "observed"
    if error_rate is None and seen is None:
        source = "claimed"

    divisor = 1 + pressure
    sub_score = 1 / divisor if divisor else float("inf")
    return present_signal(sub_score, detail, source)


def _corrections_in_words(by_user: int, seen: CorrectionsSeen) -> str:
    if not by_user:
        return "no user correction found"

    count = counted(by_user, "user correction")
    if seen.words:
        # Some prompts that read as corrections do not correct anything.
        return f"up to {count} found"
    return count


def _failed_calls(facts: IterationFacts) -> str:
    """Return in words how many tool calls failed, or that it is not stated; "" without any call."""
    failed, total = _call_counts(facts)
    if failed is None:
        return f"how {counted(total, 'tool call')} ended is not stated"
    if not total:
        return ""
    return f"{failed} of {counted(total, 'tool call')} failed"
