"""Sums up what transcripts say, each event once, over the windows of the iterations.

The bounds of all windows cut time into slices; a window is some slices in a row. An event that may be written several
times is noted with its key until all files are read, and counts in the slice of its earliest copy.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import compress, repeat
from operator import attrgetter, or_
from typing import NamedTuple

from msgspec.structs import fields

from scoring.evidence.transcripts.facts import (
    COVERED,
    HarnessFacts,
    IterationWindow,
    TranscriptFacts,
)
from scoring.evidence.transcripts.rows import Columns
from scoring.evidence.transcripts.spent import SpentSums
from scoring.numbers import wrap64

_TURNS, _INPUT, _OUTPUT, _READS, _CREATIONS, _CALLS, _ERRORS, _DROPPED, _FLAGS = range(9)


class Response(NamedTuple):
    """One copy of an API response, or what is known of it from several.

    ``request`` is the key of the request (0: not said), ``main`` is whether a copy is outside of side chains, ``rank``
    orders copies: output, not of a side chain, then the other counts and the model.
    """

    request: int
    main: bool
    time: int
    copies: int
    rank: tuple[int, ...]

    def with_copy(self, other: "Response") -> "Response":
        """Return what is known from both."""
        time, copies, rank = min(self.time, other.time), self.copies + other.copies, max(self.rank, other.rank)
        return Response(self.request or other.request, self.main or other.main, time, copies, rank)


class Tally:
    """The sums of one harness, by slice where a slice has anything; ``spent`` are the tokens by model."""

    def __init__(self, bounds: Sequence[int]) -> None:
        """Take the ends of all slices but the last, ascending, in nanoseconds since 1970."""
        self._bounds = bounds
        self._sums: defaultdict[int, list[int]] = defaultdict(lambda: [0] * 9)
        self._sessions: defaultdict[int, set[str]] = defaultdict(set)
        self._files: defaultdict[int, set[int]] = defaultdict(set)
        self.spent = SpentSums()
        self._times: dict[int, tuple[int, int] | None] = {}
        self._responses: list[Columns] = []
        self._calls: list[Columns] = []
        self._verdicts: list[Columns] = []

    def cover(self, file: int, session: str, times: Sequence[int]) -> None:
        """Note that a file has lines of a session at these times, which ascend."""
        for n, first, last in self._slices(times):
            self._sums[n][_FLAGS] |= COVERED
            self._times[n] = _hull([self._times.get(n), (times[first], times[last - 1])])
            self._files[n].add(file)
            if session:
                self._sessions[n].add(session)

    def turns(self, *columns: "array[int]") -> None:
        """Count turns: their times, output, input, cache reads and cache creations.

        Behind these may be how many of the creations are for an hour, and the number of the model.
        """
        times, output, given, reads, creations, hour, models = _by_first(_padded(columns, 7))
        for n, first, last in self._slices(times):
            sums = self._sums[n]
            sums[_TURNS] += last - first
            sums[_INPUT] += sum(given[first:last])
            sums[_OUTPUT] += sum(output[first:last])
            sums[_READS] += sum(reads[first:last])
            sums[_CREATIONS] += sum(creations[first:last])
            tokens = [column[first:last] for column in (output, given, reads, creations, hour)]
            self.spent.add(n, models[first:last], *tokens)

    def dropped(self, times: Iterable[int], counts: Iterable[int] = repeat(1)) -> None:
        """Count what only repeats something else, by the time of what it repeats."""
        for time, count in zip(times, counts, strict=False):
            self._sums[bisect_left(self._bounds, time)][_DROPPED] += count

    def flags(self, times: "array[int]", flags: "array[int]") -> None:
        """Note what lines show, as bits, at some times."""
        times, flags = _by_first([times, flags])
        for n, first, last in self._slices(times):
            self._sums[n][_FLAGS] |= _united(set(flags[first:last]))

    def ended(self, times: "array[int]", calls: "array[int]", errors: "array[int]") -> None:
        """Count calls of tools that ended, and those of them that failed, at some times."""
        times, calls, errors = _by_first([times, calls, errors])
        for n, first, last in self._slices(times):
            self._sums[n][_CALLS] += sum(calls[first:last])
            self._sums[n][_ERRORS] += sum(errors[first:last])

    def responses(self, columns: Columns) -> None:
        """Note copies of responses.

        Their columns: times, keys of the ids, keys of the requests, whether in a side chain, how many copies this one
        is for, output, input, cache reads, cache creations, and perhaps two more as for :meth:`turns`. A response with
        the key 0 has no copies.
        """
        self._responses.append(_padded(columns, 11))

    def calls(self, columns: Columns) -> None:
        """Note calls of tools: their times, keys (0: none), and the bits that they show."""
        self._calls.append(columns)

    def verdicts(self, columns: Columns) -> None:
        """Note how calls of tools ended: times, keys (0: none), whether they failed; one failure decides."""
        self._verdicts.append(columns)

    def finish(self) -> None:
        """Count what was noted, each event once."""
        single, several = _parted(self._responses)
        for times, _, _, _, copies, *tokens in single:
            self.turns(times, *tokens)
            if len(copies) < sum(copies):
                self.dropped(times, (count - 1 for count in copies))
        for copied in several:
            for response in _distinct(copied):
                output, _, *others = response.rank
                self.turns(*_one_row(response.time, output, *others))
                self.dropped((response.time,), (response.copies - 1,))
        single, several = _parted(self._calls)
        single += [_one_row(min(time for time, *_ in c), 0, _united(flags for *_, flags in c)) for c in several]
        for times, _, flags in single:
            self.flags(times, flags)
        single, several = _parted(self._verdicts)
        single += [_one_row(min(time for time, *_ in c), 0, max(failed for *_, failed in c)) for c in several]
        for times, _, failed in single:
            self.ended(times, array("q", (1,)) * len(times), failed)
        self._responses, self._calls, self._verdicts = [], [], []

    def _slices(self, times: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Yield the numbers of the slices in which ascending times are, and where each begins and ends in them."""
        bounds, at, end = self._bounds, 0, len(times)
        while at < end:
            n = bisect_left(bounds, times[at])
            last = bisect_right(times, bounds[n], at) if n < len(bounds) else end
            yield n, at, last
            at = last

    def facts(self, name: str, first: int, last: int) -> HarnessFacts | None:
        """Return what is in the slices from ``first`` up to ``last``, or None when nothing is."""
        there = self._there(first, last)
        sums, flags = [0] * 9, 0
        for n in there:
            flags |= self._sums[n][_FLAGS]
            sums = [one + two for one, two in zip(sums, self._sums[n], strict=True)]
        if not flags and not any(sums):
            return None
        sessions: set[str] = set().union(*(self._sessions[n] for n in there if n in self._sessions))
        files: set[int] = set().union(*(self._files[n] for n in there if n in self._files))
        turns, given, output, reads, creations, calls, errors, dropped, _ = sums
        several = len(sessions), len(files)
        return HarnessFacts(name, *several, turns, given, output, reads, creations, calls, errors, dropped, flags)

    def times(self, first: int, last: int) -> tuple[int, int] | None:
        """Return the times of the first and the last line in these slices; None where there is none."""
        return _hull(self._times.get(n) for n in self._there(first, last))

    def _there(self, first: int, last: int) -> list[int]:
        """Return the numbers of the slices from ``first`` up to ``last`` in which there is anything."""
        return [n for n in range(first, last) if n in self._sums]


def _hull(spans: Iterable[tuple[int, int] | None]) -> tuple[int, int] | None:
    """Return the time from the earliest beginning to the latest end."""
    there = [span for span in spans if span]
    return (min(begin for begin, _ in there), max(end for _, end in there)) if there else None


def _padded(columns: Sequence["array[int]"], width: int) -> Columns:
    """Return columns with as many of zeros behind them as are missing."""
    return [*columns, *(array("q", bytes(8 * len(columns[0]))) for _ in range(width - len(columns)))]


def chosen(columns: Sequence["array[int]"], mask: Sequence[bool]) -> Columns:
    """Return the rows of a table for which a mask is true."""
    return [array(column.typecode, compress(column, mask)) for column in columns]


def _one_row(*numbers: int) -> Columns:
    return [array("q", (number,)) for number in numbers]


def _by_first(columns: Sequence["array[int]"]) -> Sequence["array[int]"]:
    """Return columns of one length sorted by the first; the same ones when they are sorted already."""
    first = columns[0].tolist()
    if first == sorted(first):
        return columns
    order = sorted(range(len(first)), key=first.__getitem__)
    return [array(column.typecode, map(column.__getitem__, order)) for column in columns]


def _united(flags: Iterable[int]) -> int:
    return reduce(or_, flags, 0)


def _parted(tables: list[Columns]) -> tuple[list[Columns], list[list[tuple[int, ...]]]]:
    """Part rows by their key, the second column: those with a key that is there once, as tables, and the others by key.

    Keys are the same in few rows, and most tables have none of them, so most are returned as they are.
    """
    seen: set[int] = set()
    repeated: set[int] = set()
    for columns in tables:
        keys = set(columns[1])
        if len(keys) < len(columns[1]):
            once: set[int] = set()
            repeated.update(key for key in columns[1] if key in once or once.add(key))  # type: ignore[func-returns-value]
        repeated |= seen & keys
        seen |= keys
    repeated.discard(0)
    if not repeated:
        return tables, []
    single: list[Columns] = []
    several: dict[int, list[tuple[int, ...]]] = {key: [] for key in repeated}
    for columns in tables:
        if repeated.isdisjoint(columns[1]):
            single.append(columns)
            continue
        mask = [key in repeated for key in columns[1]]
        for row in zip(*chosen(columns, mask), strict=True):
            several[row[1]].append(row)
        single.append(chosen(columns, [not held for held in mask]))
    return single, list(several.values())


def _distinct(copies: Iterable[tuple[int, ...]]) -> list[Response]:
    """Return the responses that copies with one id are of.

    Outside of side chains each request has its own response; a copy in a side chain, or one that names no request, is
    a copy of what is there.
    """
    by_request: dict[int, Response] = {}
    for time, _, request, side, count, output, *others in copies:
        copy = Response(request, not side, time, count, (output, not side, *others))
        held = by_request.get(request)
        by_request[request] = copy if held is None else held.with_copy(copy)
    found = sorted(by_request.values())
    anchors = [copy for copy in found if copy.main and copy.request] or [copy for copy in found if copy.main]
    anchors = anchors or [copy for copy in found if copy.request] or found
    first = anchors[0]
    for copy in found:
        if copy not in anchors:
            first = first.with_copy(copy)
    return [first, *anchors[1:]]


class Tallies:
    """The sums of all harnesses over some windows."""

    def __init__(self, windows: Sequence[IterationWindow], names: Sequence[str]) -> None:
        starts = {window.start for window in windows if window.start is not None}
        self._windows = windows
        self._bounds = sorted(starts | {window.end for window in windows})
        self.of = {name: Tally(self._bounds) for name in names}
        """The tally of each harness, by its name."""

    def facts(self) -> list[TranscriptFacts]:
        """Return what is in each window, in the order of the windows."""
        starts = [0 if w.start is None else bisect_left(self._bounds, w.start) + 1 for w in self._windows]
        ends = [bisect_left(self._bounds, window.end) + 1 for window in self._windows]
        return list(map(self._sum, starts, ends))

    def everything(self) -> tuple[HarnessFacts, ...]:
        """Return what is in all of time, by harness."""
        return self._sum(0, len(self._bounds) + 1).harnesses

    def _sum(self, first: int, last: int) -> TranscriptFacts:
        found = [self.of[name].facts(name, first, last) for name in sorted(self.of)]
        shares = [facts for facts in found if facts is not None]
        if not shares:
            return _NOTHING
        counts = map(wrap64, map(sum, zip(*map(_COUNTS_OF, shares), strict=True)))
        harnesses = tuple(facts for facts in shares if facts.name)
        turns, given, output, reads, creations, calls, errors = counts
        flags = _united(facts.flags for facts in shares)
        spent = tuple(sorted(one for tally in self.of.values() for one in tally.spent.between(first, last)))
        began, ended = _hull(tally.times(first, last) for tally in self.of.values()) or (None, None)
        counted = turns, given, output, reads, creations, calls, errors, flags, harnesses
        return TranscriptFacts(*counted, spent, began, ended)


_NOTHING = TranscriptFacts()
_COUNTS_OF = attrgetter(*[field.name for field in fields(HarnessFacts)][3:-2])
"""What is summed up over the harnesses, in the order of the fields of ``TranscriptFacts``."""
