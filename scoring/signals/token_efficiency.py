"""How well the iteration used the prompt cache.

Rules: ``docs/OUTCOME_SCORING_RUBRIC.md``, "token_efficiency".
"""

import math
from collections.abc import Iterator

from rubric import SignalID
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import TranscriptFacts
from scoring.evidence.transcripts.observed_facts import Observed
from scoring.log.model import TokenUsage
from scoring.log.places import EntryPlaces
from scoring.text import counted

from .signal import Signal, attribution, named_fields, unattributed, work_source
from .values import (
    SignalValue,
    absent_for,
    absent_signal,
    claim_signal,
    present_signal,
)

TOKEN_EFFICIENCY = SignalID("token_efficiency")


class TokenEfficiency(Signal):
    """The cache hit rate, as the entry has it or the transcripts show it."""

    id = TOKEN_EFFICIENCY
    better = "more of the prompt is read from the cache"
    supply = "name the transcripts with --transcript-dir, or write session_tokens into the entry"
    read_from_lines = True

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return the cache hit rate that the entry reports, or else that of the transcripts."""
        return efficiency_value(
            facts.record.session_tokens, facts.transcripts, facts.observed
        )

    def seen(self, facts: IterationFacts) -> SignalValue:
        """Return the cache hit rate that the transcripts show."""
        return efficiency_value(None, facts.transcripts, facts.observed)

    def advice(self, present: bool, facts: IterationFacts) -> str:
        """Return what would raise the score: a better rate, or what is missing for any rate."""
        if present or facts.observed:
            return super().advice(present, facts)
        if facts.window is None:
            return (
                "name the commit in the entry, as one that this repository has:"
                " its time decides which transcripts belong to it"
            )

        native = facts.record.session_tokens
        if native and not math.isfinite(native.cache_hit_rate):
            return "write session_tokens.cache_hit_rate into the entry as a number from 0 to 1"
        return self.supply

    def sources(self, facts: IterationFacts, entry: EntryPlaces) -> Iterator[str]:
        """Yield where the tokens are: in lines of transcripts, or in the entry.

        The entry is the place where it reports tokens and the iteration has no lines of its own.
        Nothing where those lines count for other work.
        """
        has_lines = facts.observed is not None and bool(facts.observed.lines)
        if facts.record.session_tokens and not has_lines:
            yield from named_fields(entry, "session_tokens.cache_hit_rate")
        elif facts.observed is None or not facts.observed.elsewhere:
            yield from work_source(facts)


def efficiency_value(
    native: TokenUsage | None,
    facts: TranscriptFacts | None,
    observed: Observed | None = None,
) -> SignalValue:
    """Return the cache hit rate of an iteration.

    Absent where no tokens are known, and where the rate that the entry reports is not finite.

    Args:
        native: the tokens that the entry reports, which win over transcripts; None without.
        facts: what transcripts show; None where the iteration has no window of time, and then the
            value is absent.
        observed: how the iteration's own lines were found; None where iterations have none.
    """
    if native is None and observed and not observed.checkpoint_tokens:
        missing = unattributed(observed)
        if missing:
            return absent_signal(missing)

    if facts is None:
        return absent_signal("commit time unresolvable; cannot window the transcript")
    if native:
        rate = native.cache_hit_rate
        if not math.isfinite(rate):
            return absent_signal(
                "native session_tokens: cache_hit_rate is not a number"
            )
        fact = f"cache hit rate {rate:.2f}, as the entry says"
        return claim_signal(
            rate, f"native session_tokens: cache_hit_rate {rate:.3f}", fact
        )

    rate = facts.cache_hit_rate
    if observed and observed.checkpoint_tokens:
        detail = (
            f"from checkpoint totals: cache_hit_rate {rate:.3f}{attribution(observed)}"
        )
        return present_signal(
            rate, detail, fact=f"cache hit rate {rate:.2f} in checkpoint totals"
        )
    if facts.measured > 0:
        return _measured_value(facts, observed)
    return _no_tokens(facts, observed)


def _measured_value(facts: TranscriptFacts, observed: Observed | None) -> SignalValue:
    """Return the cache hit rate over the turns of transcripts that state their tokens."""
    rate = facts.cache_hit_rate
    # as the reference writes it
    turns = f"{facts.measured} transcript turn(s)"
    if observed:
        turns = counted(facts.measured, "transcript turn")

    detail = (
        f"backfilled from {turns}: cache_hit_rate {rate:.3f}{_harness_names(facts)}"
    )
    if observed and observed.shared_with is None:
        # tokens of shared lines count for the other iteration
        detail += attribution(observed)

    fact = f"cache hit rate {rate:.2f} over {counted(facts.measured, 'turn')}"
    return present_signal(rate, detail, fact=fact)


def _no_tokens(facts: TranscriptFacts, observed: Observed | None) -> SignalValue:
    """Return the absent value of an iteration without turns that state tokens, with the reason."""
    if facts.unmeasured:
        turns = counted(facts.unmeasured, "turn")
        names = _harness_names(facts)
        return absent_signal(f"tokens unknown: {turns} that do not state them{names}")
    if observed is None:
        return absent_signal("no transcript covers the iteration window")
    if observed.shared_with is not None:
        words = (
            "the tokens of its lines count for iteration {other}, which has them too"
        )
        return absent_for(words, other=observed.shared_with)
    return absent_signal("no turns in its part")


def _harness_names(facts: TranscriptFacts) -> str:
    """Return " (codex)", or " (claude 3, codex 2)" with the turns of each, or "" without turns.

    The rates of harnesses do not compare.
    """
    with_turns = [harness for harness in facts.harnesses if harness.turns]
    if not with_turns:
        return ""
    if len(with_turns) == 1:
        return f" ({with_turns[0].name})"
    counts = [f"{harness.name} {harness.turns}" for harness in with_turns]
    return f" ({', '.join(counts)})"
