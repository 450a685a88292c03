"""The tokens of Codex: running totals as its rollouts state them, and the turns between them."""

from enum import IntEnum
from operator import lt
from typing import NamedTuple

from scoring.evidence.transcripts.events import Event, TranscriptEvents


class CountKind(IntEnum):
    """What the numbers of a :class:`TokenCount` are."""

    TOTALS = 0
    """The totals of the session so far."""
    LAST = 1
    """The tokens since the count before, of an event that has no totals."""
    BASE = 2
    """The totals in the file from which this one goes on, before its first event."""


class TokenNumbers(NamedTuple):
    """Numbers of tokens, -1 for those that are left out.

    See :class:`TokenCount`.
    """

    input: int
    cached_input: int
    cache_writes: int
    output: int
    reasoning_output: int
    total: int


class TokenCount(Event, frozen=True):
    """A count of tokens as the transcript states it.

    A number that it leaves out is -1.

    Attributes:
        kind: what the numbers are.
        input: tokens of input, with cached ones.
        cached_input: tokens of input that were read from the cache.
        cache_writes: tokens of input that were written to the cache.
        output: tokens of output, with those of reasoning.
        reasoning_output: tokens of reasoning.
        total: all tokens.
    """

    kind: CountKind
    input: int
    cached_input: int
    cache_writes: int
    output: int
    reasoning_output: int
    total: int

    @property
    def numbers(self) -> TokenNumbers:
        """The numbers of tokens."""
        return TokenNumbers(
            input=self.input,
            cached_input=self.cached_input,
            cache_writes=self.cache_writes,
            output=self.output,
            reasoning_output=self.reasoning_output,
            total=self.total,
        )


class CountedTurn(Event, frozen=True):
    """The tokens of one response, worked out of the counts. Without any, it repeats a count.

    Attributes:
        counts_before: how many counts of the transcript come before it.
        output: tokens of output, with those of reasoning.
        input: tokens of input, with cached ones.
        cache_reads: tokens of input that were read from the cache.
        cache_writes: tokens of input that were written to the cache.
    """

    counts_before: int
    output: int
    input: int
    cache_reads: int
    cache_writes: int

    @property
    def repeats(self) -> bool:
        """Whether it only repeats the count before it."""
        return not (self.output or self.input or self.cache_reads or self.cache_writes)


class _Step(NamedTuple):
    """The totals before and after a turn."""

    start: TokenNumbers
    end: TokenNumbers


_FROM_ZERO = TokenNumbers(
    input=0, cached_input=0, cache_writes=-1, output=0, reasoning_output=-1, total=-1
)
"""The totals before the first event; those that not every version states are left out."""


def settle(events: TranscriptEvents) -> TranscriptEvents:
    """Work the turns out of the counts of a transcript, and put them into its events."""
    turns: list[CountedTurn] = []
    totals = _FROM_ZERO
    for index, count in enumerate(events.of(TokenCount)):
        if count.kind == CountKind.BASE:
            totals = count.numbers
            continue

        step = _step_to(count, totals)
        turns.append(_turn_of(step, count, index))
        totals = step.end

    events.put(CountedTurn, turns)
    return events


def _step_to(count: TokenCount, totals: TokenNumbers) -> _Step:
    """Return the step from the totals so far to those of a count.

    A number that a count leaves out is unchanged. Where another one is lower than before, the
    totals began again from zero.
    """
    stated = count.numbers
    if count.kind == CountKind.LAST:
        return _Step(totals, _added(totals, stated))
    if not _any_lower(stated, totals):
        return _Step(totals, stated)

    filled = _filled(stated, totals)
    if _any_lower(filled, totals):
        return _Step(_FROM_ZERO, filled)
    return _Step(totals, filled)


def _any_lower(numbers: TokenNumbers, others: TokenNumbers) -> bool:
    return any(map(lt, numbers, others))


def _added(totals: TokenNumbers, more: TokenNumbers) -> TokenNumbers:
    """Return totals with more tokens, as far as these are stated."""
    return TokenNumbers(
        *(
            max(total, 0) + number if number >= 0 else total
            for total, number in zip(totals, more, strict=True)
        )
    )


def _filled(stated: TokenNumbers, totals: TokenNumbers) -> TokenNumbers:
    """Return stated totals with the earlier ones for those that are left out."""
    return TokenNumbers(
        *(total if number < 0 else number for total, number in zip(totals, stated, strict=True))
    )


def _turn_of(step: _Step, count: TokenCount, index: int) -> CountedTurn:
    """Return the turn of the count of an index. Uncached input counts as written if not stated."""
    given = step.end.input - step.start.input
    cached = step.end.cached_input - step.start.cached_input
    written = max(given - cached, 0)
    if count.cache_writes >= 0:
        written = step.end.cache_writes - max(step.start.cache_writes, 0)

    return CountedTurn(
        count.span,
        count.line,
        counts_before=index,
        output=step.end.output - step.start.output,
        input=given,
        cache_reads=cached,
        cache_writes=written,
    )
