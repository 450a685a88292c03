"""Sums up what the harnesses tell, each deed once, over the windows of the iterations.

The bounds of all windows cut time into slices; a window is some slices in a row. A deed that is written several times
is held by its key until all files are read, and counts in the slice of its earliest copy.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from scoring.evidence.observed import HarnessFacts, ObservedFacts
from scoring.evidence.transcripts.events import COVERED, IterationWindow

Tokens: TypeAlias = tuple[int, int, int, int]
"""Tokens of a response: output, input, cache reads, cache creations."""

_TURNS, _INPUT, _OUTPUT, _READS, _CREATIONS, _CALLS, _ERRORS, _DROPPED, _FLAGS = range(9)


class Response(NamedTuple):
    """One copy of an API response, or what is known of it from several.

    ``request`` stands for the request (0: not said), ``main`` is whether a copy stands outside of side chains, ``rank``
    orders copies: output, not of a side chain, then the other counts.
    """

    request: int
    main: bool
    time: int
    copies: int
    rank: tuple[int, bool, int, int, int]

    def with_copy(self, other: "Response") -> "Response":
        """Return what is known from both."""
        return Response(
            self.request or other.request,
            self.main or other.main,
            min(self.time, other.time),
            self.copies + other.copies,
            max(self.rank, other.rank),
        )


class Tally:
    """The sums of one harness, slice by slice."""

    def __init__(self, bounds: Sequence[int]) -> None:
        """Take the ends of all slices but the last, ascending, in nanoseconds since 1970."""
        self._bounds = bounds
        self._sums = [[0] * 9 for _ in range(len(bounds) + 1)]
        self._sessions: list[set[str]] = [set() for _ in self._sums]
        self._files: list[set[int]] = [set() for _ in self._sums]
        self._responses: dict[int, Response | list[Response]] = {}
        self._calls: dict[int, tuple[int, int]] = {}
        self._verdicts: dict[int, tuple[int, bool]] = {}

    def cover(self, file: int, session: str, times: Sequence[int]) -> None:
        """Note that a file has lines of a session at these times, which ascend."""
        bounds, at, end = self._bounds, 0, len(times)
        while at < end:
            n = bisect_left(bounds, times[at])
            self._sums[n][_FLAGS] |= COVERED
            self._files[n].add(file)
            if session:
                self._sessions[n].add(session)
            at = bisect_right(times, bounds[n], at) if n < len(bounds) else end

    def turn(self, time: int, tokens: Tokens, dropped: int = 0) -> None:
        """Count a turn, and how many copies of it there were beside it."""
        sums = self._sums[bisect_left(self._bounds, time)]
        output, given, reads, creations = tokens
        sums[_TURNS] += 1
        sums[_INPUT] += given
        sums[_OUTPUT] += output
        sums[_READS] += reads
        sums[_CREATIONS] += creations
        sums[_DROPPED] += dropped

    def dropped(self, time: int) -> None:
        """Count an event that only repeats another one."""
        self._sums[bisect_left(self._bounds, time)][_DROPPED] += 1

    def response(self, key: int, copy: Response) -> None:
        """Note a copy of the response whose id ``key`` stands for."""
        held = self._responses.get(key)
        if held is None:
            self._responses[key] = copy
        elif isinstance(held, Response):
            same = held.request == copy.request
            self._responses[key] = held.with_copy(copy) if same else [held, copy]
        else:
            for n, other in enumerate(held):
                if other.request == copy.request:
                    held[n] = other.with_copy(copy)
                    return
            held.append(copy)

    def call(self, time: int, key: int, flags: int) -> None:
        """Note a call of a tool that shows something to the checks; ``key`` 0 is a call without an id."""
        held = self._calls.get(key) if key else None
        if not key:
            self._sums[bisect_left(self._bounds, time)][_FLAGS] |= flags
        else:
            self._calls[key] = (time, flags) if held is None else (min(time, held[0]), flags | held[1])

    def verdict(self, time: int, key: int, failed: bool) -> None:
        """Note how the call of a tool ended; a failure decides, and ``key`` 0 is a call without an id."""
        if not key:
            self._count_verdict(time, failed)
            return
        held = self._verdicts.get(key)
        self._verdicts[key] = (time, failed) if held is None else (min(time, held[0]), failed or held[1])

    def finish(self) -> None:
        """Count what was held."""
        for held in self._responses.values():
            for response in (held,) if isinstance(held, Response) else _told_apart(held):
                output, _, given, reads, creations = response.rank
                self.turn(response.time, (output, given, reads, creations), response.copies - 1)
        for time, flags in self._calls.values():
            self._sums[bisect_left(self._bounds, time)][_FLAGS] |= flags
        for time, failed in self._verdicts.values():
            self._count_verdict(time, failed)
        self._responses, self._calls, self._verdicts = {}, {}, {}

    def _count_verdict(self, time: int, failed: bool) -> None:
        sums = self._sums[bisect_left(self._bounds, time)]
        sums[_CALLS] += 1
        sums[_ERRORS] += failed

    def facts(self, name: str, first: int, last: int) -> HarnessFacts | None:
        """Return what lies in the slices from ``first`` up to ``last``, or None when nothing does."""
        sums, flags = [0] * 9, 0
        for slice_sums in self._sums[first:last]:
            flags |= slice_sums[_FLAGS]
            sums = [one + two for one, two in zip(sums, slice_sums, strict=True)]
        if not flags and not any(sums):
            return None
        sessions: set[str] = set().union(*self._sessions[first:last])
        files: set[int] = set().union(*self._files[first:last])
        turns, given, output, reads, creations, calls, errors, dropped, _ = sums
        tokens = given, output, reads, creations
        return HarnessFacts(name, len(sessions), len(files), turns, *tokens, calls, errors, dropped, flags)


def _told_apart(copies: list[Response]) -> list[Response]:
    """Return the responses that copies with one id and several requests are of.

    Outside of side chains each request has its own response; a copy in a side chain, or one that names no request, is
    a copy of what is there.
    """
    copies = sorted(copies)
    anchors = [copy for copy in copies if copy.main and copy.request] or [copy for copy in copies if copy.main]
    if not anchors:
        anchors = [copy for copy in copies if copy.request]
    others = [copy for copy in copies if copy not in anchors]
    first = anchors[0]
    for copy in others:
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

    def facts(self) -> list[ObservedFacts]:
        """Return what lies in each window, in the order of the windows."""
        return [self._sum(*self._slices(window)) for window in self._windows]

    def everything(self) -> tuple[HarnessFacts, ...]:
        """Return what lies in all of time, by harness."""
        return self._sum(0, len(self._bounds) + 1).harnesses

    def _slices(self, window: IterationWindow) -> tuple[int, int]:
        first = 0 if window.start is None else bisect_left(self._bounds, window.start) + 1
        return first, bisect_left(self._bounds, window.end) + 1

    def _sum(self, first: int, last: int) -> ObservedFacts:
        found = [self.of[name].facts(name, first, last) for name in sorted(self.of)]
        harnesses = tuple(facts for facts in found if facts is not None)
        flags = 0
        for facts in harnesses:
            flags |= facts.flags
        return ObservedFacts(
            sum(facts.turns for facts in harnesses),
            sum(facts.input_tokens for facts in harnesses),
            sum(facts.output_tokens for facts in harnesses),
            sum(facts.cache_read_tokens for facts in harnesses),
            sum(facts.cache_creation_tokens for facts in harnesses),
            sum(facts.tool_calls for facts in harnesses),
            sum(facts.tool_errors for facts in harnesses),
            flags,
            harnesses,
        )
