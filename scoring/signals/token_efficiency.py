"""How well the iteration used the prompt cache (``docs/OUTCOME_SCORING_RUBRIC.md``, "token_efficiency")."""

import math
from collections.abc import Iterator

from rubric import SignalID
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import Observed, TranscriptFacts
from scoring.log.load import EntryPlaces
from scoring.log.model import TokenUsage
from scoring.signals.signal import Signal, attribution, named_fields, unattributed, work_source
from scoring.signals.values import SignalValue, absent_signal, claim_signal, present_signal
from scoring.text import counted

TOKEN_EFFICIENCY = SignalID("token_efficiency")


class TokenEfficiency(Signal):
    """The cache hit rate, as the log captured it or the transcripts show it."""

    id = TOKEN_EFFICIENCY
    better = "more of the prompt is read from the cache"
    supply = "name the transcripts with --transcript-dir, or write session_tokens into the entry"
    read_from_lines = True

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return the cache hit rate."""
        return efficiency_value(facts.record.session_tokens, facts.transcripts, facts.observed)

    def seen(self, facts: IterationFacts) -> SignalValue:
        """Return the cache hit rate that the transcripts show; the entry's own is a claim."""
        return efficiency_value(None, facts.transcripts, facts.observed)

    def advice(self, present: bool, facts: IterationFacts) -> str:
        """Return what would raise the score; without a window no transcript can."""
        if present or facts.observed is not None:
            return super().advice(present, facts)
        if facts.window is None:
            where = (
                "as one that this repository has: its time decides which transcripts belong to it"
            )
            return f"name the commit in the entry, {where}"
        native = facts.record.session_tokens
        if native is not None and not math.isfinite(native.cache_hit_rate):
            return "write session_tokens.cache_hit_rate into the entry as a number from 0 to 1"
        return self.supply

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:
        """Yield the iteration's lines where the tokens of all count for it; else the entry's field, or the window."""
        if facts.record.session_tokens is not None and not (
            facts.observed and facts.observed.lines
        ):
            yield from named_fields(entry, "session_tokens.cache_hit_rate")
        elif not (facts.observed and facts.observed.elsewhere):
            yield from work_source(facts)


def efficiency_value(
    native: TokenUsage | None, facts: TranscriptFacts | None, observed: Observed | None = None
) -> SignalValue:
    """Return the cache hit rate: the entry's own (``native``), or that of the window or the iteration's lines."""
    if (
        native is None
        and observed
        and not observed.checkpoint_tokens
        and (missing := unattributed(observed))
    ):
        return absent_signal(missing)
    if facts is None:
        return absent_signal("commit time unresolvable; cannot window the transcript")
    if native is not None:
        rate = native.cache_hit_rate
        if not math.isfinite(rate):
            return absent_signal("native session_tokens: cache_hit_rate is not a number")
        said = f"cache hit rate {rate:.2f}, as the entry says"
        return claim_signal(rate, f"native session_tokens: cache_hit_rate {rate:.3f}", said)
    if observed is not None and observed.checkpoint_tokens:
        rate = facts.cache_hit_rate
        detail = f"from checkpoint totals: cache_hit_rate {rate:.3f}{attribution(observed)}"
        return present_signal(rate, detail, fact=f"cache hit rate {rate:.2f} in checkpoint totals")
    if facts.measured > 0:
        rate, by = facts.cache_hit_rate, _taking_part(facts)
        if (
            observed is None or observed.shared_with is None
        ):  # tokens that are shared count for the other iteration
            by += attribution(observed)
        fact = f"cache hit rate {rate:.2f} over {counted(facts.measured, 'turn')}"
        turns = f"{facts.measured} transcript turn(s)"  # as the reference writes it
        if observed is not None:
            turns = counted(facts.measured, "transcript turn")
        return present_signal(
            rate, f"backfilled from {turns}: cache_hit_rate {rate:.3f}{by}", fact=fact
        )
    if facts.unmeasured:
        turns = counted(facts.unmeasured, "turn")
        return absent_signal(f"tokens unknown: {turns} that do not state them{_taking_part(facts)}")
    if observed is not None and observed.shared_with is not None:
        return absent_signal(
            f"the tokens of its lines count for iteration {observed.shared_with}, which has them too"
        )
    return absent_signal(
        "no transcript covers the iteration window" if observed is None else "no turns in its part"
    )


def _taking_part(facts: TranscriptFacts) -> str:
    """Name the harnesses of the turns that were counted, where they are known: their rates do not compare."""
    turns = [(harness.name, harness.turns) for harness in facts.harnesses if harness.turns]
    if len(turns) < 2:
        return "".join(f" ({name})" for name, _ in turns)
    return f" ({', '.join(f'{name} {count}' for name, count in turns)})"
