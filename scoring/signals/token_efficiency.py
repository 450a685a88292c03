"""token_efficiency: how well the iteration used the prompt cache (contract section 2.7)."""

import math

from scoring.evidence.transcripts.facts import TranscriptFacts
from scoring.log.model import IterationRecord
from scoring.signals.findings import BackfillSignals, Findings
from scoring.signals.values import SignalValue, absent_signal, present_signal


def value(findings: Findings) -> SignalValue:
    """Return the cache hit rate, as the log captured it or the transcripts show it."""
    return findings.backfill.token_efficiency


def observe(record: IterationRecord, facts: TranscriptFacts | None) -> BackfillSignals:
    """Read tokens and tool errors off an iteration's window; ``facts`` is None when it has no window."""
    error_rate = None if facts is None else facts.tool_error_rate
    return BackfillSignals(record.iteration, _efficiency(record, facts), error_rate)


def _efficiency(record: IterationRecord, facts: TranscriptFacts | None) -> SignalValue:
    if facts is None:
        return absent_signal("commit time unresolvable; cannot window the transcript")
    if record.session_tokens is not None:
        rate = record.session_tokens.cache_hit_rate
        if not math.isfinite(rate):
            return absent_signal("native session_tokens: cache_hit_rate is not a number")
        return present_signal(rate, f"native session_tokens: cache_hit_rate {rate:.3f}")
    if facts.turns > 0:
        rate = facts.cache_hit_rate
        told = f"backfilled from {facts.turns} transcript turn(s): cache_hit_rate {rate:.3f}"
        return present_signal(rate, told + _taking_part(facts))
    return absent_signal("no transcript covers the iteration window")


def _taking_part(facts: TranscriptFacts) -> str:
    """Name the harnesses whose turns were counted, where they are told apart: their rates do not compare.

    Codex does not say what it wrote to the cache, so all its uncached input counts as creation.
    """
    turns = [(harness.name, harness.turns) for harness in facts.by_harness() if harness.turns]
    if len(turns) < 2:
        return "".join(f" ({name})" for name, _ in turns)
    return f" ({', '.join(f'{name} {count}' for name, count in turns)})"
