"""token_efficiency: how well the iteration used the prompt cache.

See ``docs/OUTCOME_SCORING_RUBRIC.md``, "token_efficiency".
"""

import math
from collections.abc import Iterator

from rubric import SignalID
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import TranscriptFacts
from scoring.log.load import EntryPlaces
from scoring.log.model import TokenUsage
from scoring.signals.signal import Signal, named_fields, window_source
from scoring.signals.values import SignalValue, absent_signal, present_signal

TOKEN_EFFICIENCY = SignalID("token_efficiency")


class TokenEfficiency(Signal):
    """The cache hit rate, as the log captured it or the transcripts show it."""

    id = TOKEN_EFFICIENCY
    better = "more of the prompt is read from the cache"
    supply = "name the transcripts with --transcript-dir, or write session_tokens into the entry"

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return the cache hit rate."""
        return efficiency_value(facts.record.session_tokens, facts.transcripts)

    def advice(self, present: bool, facts: IterationFacts) -> str:
        """Return what would raise the score; without a window no transcript can."""
        if not present and facts.window is None:
            where = "as one that this repository has: its time decides which transcripts belong to it"
            return f"name the commit in the entry, {where}"
        return super().advice(present, facts)

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:
        """Yield the field of the entry, or else the window."""
        if facts.record.session_tokens is not None:
            yield from named_fields(entry, "session_tokens.cache_hit_rate")
        else:
            yield from window_source(facts)


def efficiency_value(native: TokenUsage | None, facts: TranscriptFacts | None) -> SignalValue:
    """Return the cache hit rate: the entry's own, or that of the window; ``facts`` is None without a window."""
    if facts is None:
        return absent_signal("commit time unresolvable; cannot window the transcript")
    if native is not None:
        rate = native.cache_hit_rate
        if not math.isfinite(rate):
            return absent_signal("native session_tokens: cache_hit_rate is not a number")
        return present_signal(rate, f"native session_tokens: cache_hit_rate {rate:.3f}")
    if facts.turns > 0:
        rate = facts.cache_hit_rate
        turns = f"backfilled from {facts.turns} transcript turn(s)"
        return present_signal(rate, f"{turns}: cache_hit_rate {rate:.3f}{_taking_part(facts)}")
    return absent_signal("no transcript covers the iteration window")


def _taking_part(facts: TranscriptFacts) -> str:
    """Name the harnesses whose turns were counted, where they are known: their rates do not compare.

    Codex does not say what it wrote to the cache, so all its uncached input counts as creation.
    """
    turns = [(harness.name, harness.turns) for harness in facts.by_harness() if harness.turns]
    if len(turns) < 2:
        return "".join(f" ({name})" for name, _ in turns)
    return f" ({', '.join(f'{name} {count}' for name, count in turns)})"
