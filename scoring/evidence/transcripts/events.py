"""What scoring needs of a transcript: a few numbers per line, kept by time, and summed over windows.

An :class:`Event` is what one line contributes; :class:`FileEvents` holds a file's events in columns, sorted by time; an
:class:`IterationWindow` is the time that belongs to one iteration; :class:`WindowFacts` is what lies in it. The text of
a conversation is dropped where the line is read.
"""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from scoring.numbers import wrap64

if TYPE_CHECKING:
    from scoring.evidence.transcripts.facts import HarnessFacts

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

    def by_harness(self) -> "tuple[HarnessFacts, ...]":
        """Return what each harness contributed, where the policy tells them apart; nothing where it does not."""
        return ()

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
    def of(cls, events: Sequence[PlainEvent]) -> "FileEvents":
        """Put events, in any order, into columns."""
        times, flags, calls, errors, turns = zip(*events, strict=True) if events else ((), (), (), (), ())
        tokens = list(filter(None, turns))
        given, output, reads, creations = zip(*tokens, strict=True) if tokens else ((), (), (), ())
        turn_times = times if len(tokens) == len(times) else compress(times, turns)
        return cls._sorted(
            [array("q", times), array("B", flags), array("I", calls), array("I", errors)],
            [array("q", column) for column in (turn_times, given, output, reads, creations)],
        )

    @classmethod
    def joined(cls, parts: "Sequence[FileEvents]") -> "FileEvents":
        """Put the parts of one transcript together."""
        if len(parts) == 1:
            return parts[0]
        columns = [sum(same, array(same[0].typecode)) for same in zip(*(p.columns() for p in parts), strict=True)]
        return cls._sorted(columns[:4], columns[4:])

    @classmethod
    def _sorted(cls, events: "list[array[int]]", turns: "list[array[int]]") -> "FileEvents":
        times, flags, calls, errors = _by_first(events)
        turn_times, *tokens = _by_first(turns)
        return cls(times, flags, calls, errors, turn_times, tokens)

    def columns(self) -> "list[array[int]]":
        """Return every column, in the order of the constructor."""
        return [self.times, self.flags, self.calls, self.errors, self.turn_times, *self.tokens]

    @classmethod
    def of_columns(cls, columns: "Sequence[array[int]]") -> "FileEvents":
        """Put together what :meth:`columns` returned."""
        times, flags, calls, errors, turn_times, *tokens = columns
        return cls(times, flags, calls, errors, turn_times, tokens)

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


def _by_first(columns: "list[array[int]]") -> "list[array[int]]":
    """Return columns of one length sorted by the first; the same ones when they are sorted already."""
    first = columns[0].tolist()
    if first == sorted(first):
        return columns
    order = sorted(range(len(first)), key=first.__getitem__)
    return [array(column.typecode, map(column.__getitem__, order)) for column in columns]


def _slice(times: "array[int]", window: IterationWindow) -> tuple[int, int]:
    """Return where a window begins and ends among sorted times."""
    last = bisect_right(times, window.end)
    return (0 if window.start is None else bisect_right(times, window.start)), last


TYPECODES = "qBIIqqqqq"
"""The type of each column of :meth:`FileEvents.columns`."""


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
