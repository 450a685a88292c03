"""What scoring needs of a transcript: a few numbers per line, kept by time, and summed over windows.

An :class:`Event` is what one line contributes; :class:`FileEvents` holds a file's events in columns, sorted by time; an
:class:`IterationWindow` is the time that belongs to one iteration; :class:`WindowFacts` is what lies in it. The text of
a conversation is dropped where the line is read.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from scoring.numbers import wrap64

COVERED, BASH, TESTS, LOOP_STATE = 1, 2, 4, 8
"""What a line shows, as bits: the objective checks can read it; Bash was used; a test was run; loop state was read."""

Turn: TypeAlias = tuple[int, int, int, int]
"""Tokens of one turn: input, output, cache reads, cache creations; as the line states them, 64 bits signed."""


class Event(NamedTuple):
    """What one line contributes."""

    time: int
    """Nanoseconds since 1970, UTC."""
    flags: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    turn: Turn | None = None


PlainEvent: TypeAlias = tuple[int, int, int, int, Turn | None]
"""An event as a plain tuple, which is what the reading of millions of lines can afford."""

_time_of = itemgetter(0)


@dataclass(frozen=True, slots=True)
class IterationWindow:
    """The time that belongs to one iteration: after ``start`` (None: open), up to and including ``end``.

    Both are nanoseconds since 1970, UTC.
    """

    iteration: int
    start: int | None
    end: int


@dataclass(frozen=True, slots=True)
class WindowFacts:
    """What lies in one window. Counts wrap at 64 bits, as the reference's do; ``flags`` are the bits of an event."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_reads: int = 0
    cache_creations: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    flags: int = 0

    @property
    def cache_hit_rate(self) -> float:
        """Cache reads over reads and creations; 0 when there are neither."""
        whole = wrap64(self.cache_reads + self.cache_creations)
        return float(self.cache_reads) / float(whole) if whole else 0.0

    @property
    def tool_error_rate(self) -> float | None:
        """Failed tool calls over tool calls; None when there are none."""
        return self.tool_errors / self.tool_calls if self.tool_calls else None

    def __add__(self, other: "WindowFacts") -> "WindowFacts":
        return WindowFacts(
            wrap64(self.turns + other.turns),
            wrap64(self.input_tokens + other.input_tokens),
            wrap64(self.output_tokens + other.output_tokens),
            wrap64(self.cache_reads + other.cache_reads),
            wrap64(self.cache_creations + other.cache_creations),
            self.tool_calls + other.tool_calls,
            self.tool_errors + other.tool_errors,
            self.flags | other.flags,
        )


class FileEvents:
    """The events of one transcript, in columns sorted by time.

    ``times``, ``flags``, ``calls`` and ``errors`` have an item per event; ``turn_times`` and the four of ``tokens``
    (as in :data:`Turn`) one per turn.
    """

    __slots__ = ("calls", "errors", "flags", "times", "tokens", "turn_times")

    def __init__(
        self,
        times: "array[int]",
        flags: "array[int]",
        calls: "array[int]",
        errors: "array[int]",
        turn_times: "array[int]",
        tokens: "Sequence[array[int]]",
    ) -> None:
        self.times, self.flags, self.calls, self.errors = times, flags, calls, errors
        self.turn_times, self.tokens = turn_times, tokens

    @classmethod
    def of(cls, events: Iterable[PlainEvent]) -> "FileEvents":
        """Put events, in any order, into columns."""
        rows = sorted(events, key=_time_of)
        times, flags, calls, errors, _ = zip(*rows, strict=True) if rows else ((), (), (), (), ())
        turns = [(row[0], *row[4]) for row in rows if row[4] is not None]
        turn_times, *tokens = zip(*turns, strict=True) if turns else ((), (), (), (), ())
        return cls(
            array("q", times),
            array("B", flags),
            array("I", calls),
            array("I", errors),
            array("q", turn_times),
            [array("q", column) for column in tokens],
        )

    def columns(self) -> "list[array[int]]":
        """Return every column, in the order of the constructor."""
        return [self.times, self.flags, self.calls, self.errors, self.turn_times, *self.tokens]

    def events(self) -> list[PlainEvent]:
        """Return the events again, one by one, sorted by time; those of one time may change places."""
        events: list[PlainEvent] = [
            (time, flags, calls, errors, None)
            for time, flags, calls, errors in zip(self.times, self.flags, self.calls, self.errors, strict=True)
        ]
        turns = zip(*self.tokens, strict=True) if self.turn_times else ()
        return events + [(time, 0, 0, 0, turn) for time, turn in zip(self.turn_times, turns, strict=True)]

    def facts(self, window: IterationWindow) -> WindowFacts | None:
        """Return what lies in a window, or None when nothing does."""
        first, last = _slice(self.times, window)
        if first >= last:
            return None
        flags = 0
        for seen in set(self.flags[first:last]):
            flags |= seen
        calls, errors = sum(self.calls[first:last]), sum(self.errors[first:last])
        first, last = _slice(self.turn_times, window)
        given, output, reads, creations = (wrap64(sum(column[first:last])) for column in self.tokens)
        return WindowFacts(max(last - first, 0), given, output, reads, creations, calls, errors, flags)


def _slice(times: "array[int]", window: IterationWindow) -> tuple[int, int]:
    """Return where a window begins and ends among sorted times."""
    last = bisect_right(times, window.end)
    return (0 if window.start is None else bisect_right(times, window.start)), last


class WindowSums:
    """Adds up what lies in each window, one file after the other, so that no more than one file is ever held."""

    def __init__(self, windows: Sequence[IterationWindow]) -> None:
        self._windows = windows
        self._facts = [WindowFacts()] * len(windows)

    def add(self, events: FileEvents) -> None:
        """Add the events of one file."""
        if not events.times:
            return
        oldest, newest = events.times[0], events.times[-1]
        for n, window in enumerate(self._windows):
            if oldest <= window.end and (window.start is None or newest > window.start):
                found = events.facts(window)
                if found is not None:
                    self._facts[n] += found

    def facts(self) -> list[WindowFacts]:
        """Return what lies in each window, in the order of the windows."""
        return list(self._facts)
