"""What scoring needs of a transcript: per line a few counts at a time, summed over windows.

An event is one line's contribution; a :class:`Window` is the time that belongs to one iteration; :class:`WindowFacts`
is what the events in it add up to. Everything about the text of a conversation is dropped where the line is read.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from scoring.numbers import wrap64


class Event(NamedTuple):
    """One transcript line. Counts are as the line states them; flags are 0 or 1."""

    time: int
    """Nanoseconds since 1970, UTC."""
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_reads: int = 0
    cache_creations: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    covered: int = 0
    """Whether the objective checks can read this line."""
    bash: int = 0
    tests: int = 0
    loop_state: int = 0


COUNTS = Event._fields[1:]
_time_of = itemgetter(0)


@dataclass(frozen=True, slots=True)
class IterationWindow:
    """The time that belongs to one iteration: after ``start`` (None: open), up to and including ``end``.

    Both are nanoseconds since 1970, UTC.
    """

    iteration: int
    start: int | None
    end: int

    @property
    def empty(self) -> bool:
        """Whether no time lies in it (commit times may run backwards)."""
        return self.start is not None and self.end <= self.start


@dataclass(frozen=True, slots=True)
class WindowFacts:
    """What the events of one window add up to. Counts wrap at 64 bits, as the reference's do."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_reads: int = 0
    cache_creations: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    covered: int = 0
    bash: int = 0
    tests: int = 0
    loop_state: int = 0

    @property
    def cache_hit_rate(self) -> float:
        """Cache reads over reads and creations; 0 when there are neither."""
        whole = wrap64(self.cache_reads + self.cache_creations)
        return float(self.cache_reads) / float(whole) if whole else 0.0

    @property
    def tool_error_rate(self) -> float | None:
        """Failed tool calls over tool calls; None when there are none."""
        return self.tool_errors / self.tool_calls if self.tool_calls else None


class WindowSums:
    """Adds events up per window, one file after the other, so that no more than one file is ever held."""

    def __init__(self, windows: Sequence[IterationWindow]) -> None:
        self._windows = windows
        self._sums = [[0] * len(COUNTS) for _ in windows]

    def add(self, events: Iterable[Event]) -> None:
        """Add the events of one file, in any order."""
        rows = sorted(events, key=_time_of)
        if not rows:
            return
        times = [row[0] for row in rows]
        for window, sums in zip(self._windows, self._sums, strict=True):
            if window.empty or times[0] > window.end or (window.start is not None and times[-1] <= window.start):
                continue
            first = 0 if window.start is None else bisect_right(times, window.start)
            last = bisect_right(times, window.end)
            for n, column in enumerate(zip(*rows[first:last], strict=True)):
                if n:
                    sums[n - 1] += sum(column)

    def facts(self) -> list[WindowFacts]:
        """Return what each window adds up to, in the order of the windows."""
        return [WindowFacts(*map(wrap64, sums)) for sums in self._sums]
