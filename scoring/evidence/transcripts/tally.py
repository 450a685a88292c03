"""Sums up what transcripts say, each event once, the earliest copy, over the windows of the iterations."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import attrgetter, itemgetter, or_
from typing import NamedTuple

from msgspec.structs import fields

from scoring.evidence.transcripts.facts import (
    CALLED,
    COVERED,
    ENDED,
    NO_STEP,
    NS_MAX,
    PROMPT_STEPS,
    HarnessFacts,
    IterationWindow,
    Spent,
    TranscriptFacts,
)
from scoring.text import wrap64

_TURNS, _INPUT, _OUTPUT, _READS, _CREATIONS, _CALLS, _ERRORS, _DROPPED, _FLAGS, _UNMEASURED = range(
    10
)
NOT_STATED, READS_IN_INPUT, OUTPUT_ALONE = -1, -1, -2
"""In the columns of a response: as output, that its tokens are not stated; as those for an hour, that its input holds
what was read from the cache, and that what was written to it is not stated, or that only its output is."""


class Response(NamedTuple):
    """What is known of an API response from its copies, ``main`` if one is outside of side chains; ``rank`` orders."""

    request: int
    main: bool
    time: int
    copies: int
    rank: tuple[int, ...]

    def with_copy(self, other: "Response") -> "Response":
        """Return what is known from both."""
        time, copies, rank = (
            min(self.time, other.time),
            self.copies + other.copies,
            max(self.rank, other.rank),
        )
        return Response(self.request or other.request, self.main or other.main, time, copies, rank)


class Tally:
    """The sums of one harness, by slice; copies of what counts once wait, each with time and key, until :meth:`finish`.

    ``responses`` have request, side chain, copies, tokens and model; ``calls`` the bits that they show,
    ``verdicts`` whether the call failed; one failure decides.
    """

    def __init__(self, bounds: Sequence[int]) -> None:
        """Take the ends of all slices but the last, ascending, in nanoseconds since 1970."""
        self.input_holds_cached = False  # whether the input has in it what was read from the cache
        self.counts_open_calls = False  # whether a call of which no end is known counts too
        self.responses: list[tuple[int, ...]] = []
        self.calls: list[tuple[int, ...]] = []
        self.verdicts: list[tuple[int, ...]] = []
        self._bounds = bounds
        self._sums: defaultdict[int, list[int]] = defaultdict(lambda: [0] * 10)
        self._covers: defaultdict[int, list[tuple[int, str]]] = defaultdict(
            list
        )  # by file and session
        self._times: dict[int, tuple[int, int] | None] = {}
        self._spent: defaultdict[int, dict[tuple[int, int], list[int]]] = defaultdict(dict)
        self._models: dict[str, int] = {"": 0}

    def model(self, name: str) -> int:
        """Return the number of a model; 0 for one that is not named."""
        return self._models.setdefault(name, len(self._models))

    def cover(self, file: int, session: str, times: Sequence[int]) -> None:
        """Note that a file has lines of a session at these times, which ascend."""
        at, place = 0, (file, session)
        while at < len(times):
            n = bisect_left(self._bounds, times[at])
            last = bisect_right(times, self._bounds[n], at) if n < len(self._bounds) else len(times)
            self._sums[n][_FLAGS] |= COVERED
            self._times[n] = _hull([self._times.get(n), (times[at], times[last - 1])])
            if self._covers[n][-1:] != [place]:
                self._covers[n].append(place)
            at = last

    def turn(
        self,
        time: int,
        output: int,
        given: int,
        reads: int,
        creations: int,
        hour: int = 0,
        model: int = 0,
    ) -> None:
        """Count a turn: its tokens, those of the creations that are for an hour, and the number of its model."""
        n = bisect_left(self._bounds, time)
        sums, spent = self._sums[n], self._spent[n]
        sums[_TURNS] += 1
        if output == NOT_STATED or hour == OUTPUT_ALONE:
            output = max(output, 0)
            sums[_UNMEASURED] += 1
            sums[_OUTPUT] += output
            spent[model, NO_STEP] = _added(
                spent.get((model, NO_STEP), [0] * 6), (1, 0, output, 0, 0, 0)
            )
            return
        sums[_INPUT] += given
        sums[_OUTPUT] += output
        sums[_READS] += reads
        sums[_CREATIONS] += creations
        prompt, fresh, written = given + reads + creations, given, creations
        if (
            self.input_holds_cached or hour == READS_IN_INPUT
        ):  # what was written to the cache is not stated
            prompt, fresh, written = given, max(given - reads, 0), 0
        key = model, bisect_left(PROMPT_STEPS, prompt)
        spent[key] = _added(
            spent.get(key, [0] * 6), (1, fresh, output, reads, written, max(hour, 0))
        )

    def drop(self, time: int, count: int = 1) -> None:
        """Count what only repeats something else, by the time of what it repeats."""
        self._sums[bisect_left(self._bounds, time)][_DROPPED] += count

    def flag(self, time: int, flags: int) -> None:
        """Note what a line shows, as bits."""
        self._sums[bisect_left(self._bounds, time)][_FLAGS] |= flags

    def end(self, time: int, calls: int, errors: int) -> None:
        """Count calls of tools that ended, and those of them that failed."""
        sums = self._sums[bisect_left(self._bounds, time)]
        sums[_CALLS] += calls
        sums[_ERRORS] += errors

    def finish(self) -> None:
        """Count what was noted, each event once."""
        for copied in _by_key(self.responses):
            for response in _distinct(copied):
                output, _, *others = response.rank
                self.turn(response.time, output, *others)
                if response.copies > 1:
                    self.drop(response.time, response.copies - 1)
        began, open_count = dict[int, int](), int(self.counts_open_calls)
        for calls in _by_key(self.calls):
            time, key, _ = min(calls)
            began[key] = time
            self.flag(time, reduce(or_, (flags for _, _, flags in calls), CALLED * open_count))
            self.end(time, open_count, 0)
        for verdicts in _by_key(self.verdicts):
            time, key, _ = min(verdicts)
            time = (
                began.get(key, time) if key and open_count else time
            )  # the failure counts where the call does
            self.flag(time, ENDED * open_count)
            self.end(time, 1 - open_count, max(failed for _, _, failed in verdicts))
        self.responses, self.calls, self.verdicts = [], [], []

    def facts(self, name: str, first: int, last: int) -> HarnessFacts | None:
        """Return what is in the slices from ``first`` up to ``last``, or None when nothing is."""
        there = [n for n in range(first, last) if n in self._sums]
        sums, flags = [0] * 10, 0
        for n in there:
            flags |= self._sums[n][_FLAGS]
            sums = _added(sums, self._sums[n])
        if not flags and not any(sums):
            return None
        covers = {place for n in there for place in self._covers.get(n, ())}
        sessions, files = {session for _, session in covers} - {""}, {file for file, _ in covers}
        return HarnessFacts(
            name, *[len(sessions), len(files), *sums[:_FLAGS], flags, sums[_UNMEASURED]]
        )

    def times(self, first: int, last: int) -> tuple[int, int] | None:
        """Return the times of the first and the last line in these slices; None where there is none."""
        return _hull(self._times.get(n) for n in range(first, last))

    def spent(self, first: int, last: int) -> list[Spent]:
        """Return the tokens in these slices, by model and by the size of the prompt."""
        found: dict[tuple[int, int], list[int]] = {}
        for n in range(first, last):
            for key, counts in self._spent[n].items() if n in self._spent else ():
                found[key] = _added(found.get(key, [0] * 6), counts)
        names = list(self._models)
        return [
            Spent(names[model], step, *(min(n, NS_MAX) for n in sums))
            for (model, step), sums in found.items()
        ]


def _added(one: Sequence[int], two: Sequence[int]) -> list[int]:
    return [a + b for a, b in zip(one, two, strict=True)]


def _hull(spans: Iterable[tuple[int, int] | None]) -> tuple[int, int] | None:
    """Return the time from the earliest beginning to the latest end."""
    there = [span for span in spans if span]
    return (min(begin for begin, _ in there), max(end for _, end in there)) if there else None


def _by_key(rows: list[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    """Order rows by their keys, and yield those of the same key, the second number; one with the key 0 is alone."""
    rows.sort(key=itemgetter(1))
    for key, found in groupby(rows, itemgetter(1)):
        alike = list(found)
        yield from ([alike] if key else ([row] for row in alike))


def _distinct(copies: Iterable[tuple[int, ...]]) -> list[Response]:
    """Return the responses of copies with one id: one a request; side chains and unnamed requests have copies."""
    by_request: dict[int, Response] = {}
    for time, _, request, side, count, output, *others in copies:
        copy = Response(request, not side, time, count, (output, not side, *others))
        held = by_request.get(request)
        by_request[request] = copy if held is None else held.with_copy(copy)
    found = sorted(by_request.values())
    if len(found) == 1:
        return found
    anchors = [copy for copy in found if copy.main and copy.request] or [
        copy for copy in found if copy.main
    ]
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

    def facts(self) -> list[TranscriptFacts]:
        """Return what is in each window, in the order of the windows."""
        starts = [
            0 if w.start is None else bisect_left(self._bounds, w.start) + 1 for w in self._windows
        ]
        ends = [bisect_left(self._bounds, window.end) + 1 for window in self._windows]
        return list(map(self._sum, starts, ends))

    def everything(self) -> tuple[HarnessFacts, ...]:
        """Return what is in all of time, by harness."""
        return self._sum(0, len(self._bounds) + 1).harnesses

    def _sum(self, first: int, last: int) -> TranscriptFacts:
        found = [self.of[name].facts(name, first, last) for name in sorted(self.of)]
        shares = [facts for facts in found if facts is not None]
        if not shares:
            return TranscriptFacts()
        counts = map(wrap64, map(sum, zip(*map(_COUNTS_OF, shares), strict=True)))
        turns, given, output, reads, creations, calls, errors = counts
        began, ended = _hull(tally.times(first, last) for tally in self.of.values()) or (None, None)
        flags, unmeasured = (
            reduce(or_, (one.flags for one in shares)),
            sum(one.unmeasured for one in shares),
        )
        harnesses = tuple(facts for facts in shares if facts.name)
        spent = tuple(sorted(one for tally in self.of.values() for one in tally.spent(first, last)))
        whole = turns, given, output, reads, creations, calls, errors, flags, harnesses, spent
        return TranscriptFacts(*whole, began, ended, unmeasured)


_COUNTS_OF = attrgetter(*[field.name for field in fields(HarnessFacts)][3:-3])
"""What is summed up over the harnesses, in the order of the fields of ``TranscriptFacts``."""
