"""Sums up what transcripts show over the windows of iterations, each event once.

Time is cut into slices at the ends of all windows. A :class:`Tally` has the sums of one harness in
each slice; :class:`Tallies` adds the slices of each window up.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import add
from typing import NamedTuple

import msgspec

from scoring.evidence.transcripts.copies import (
    NotedCall,
    NotedResponse,
    NotedResult,
    by_key,
    distinct_responses,
)
from scoring.evidence.transcripts.events import BilledApart, Response, TokensStated
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


class _Sums(msgspec.Struct):
    """What is in one slice, in fields as of :class:`~.facts.HarnessFacts`."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    duplicates_dropped: int = 0
    unmeasured: int = 0
    flags: int = 0

    def add(self, other: "_Sums | HarnessFacts") -> None:
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flags |= other.flags


_COUNTS = tuple(name for name in _Sums.__struct_fields__ if name != "flags")


class _Charged(NamedTuple):
    """What the price of tokens depends on, as in :class:`~.facts.Spent`.

    ``model`` is a number.
    """

    model: int
    step: int
    quarter: int
    service: str


class _Spending(NamedTuple):
    """What was used at one price in one slice, in fields as of :class:`~.facts.Spent`."""

    responses: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    web_searches: int = 0

    def plus(self, other: "_Spending") -> "_Spending":
        return _Spending(*map(add, self, other))


class Tally:
    """The sums of one harness, by slice.

    Responses, calls and results may be written several times. They wait until :meth:`finish`,
    which counts each once, at the time of the earliest copy.

    Attributes:
        input_holds_cached: whether the input that the harness states includes what was read from
            the cache.
    """

    def __init__(self, bounds: Sequence[int]) -> None:
        """Take the ends of all slices but the last, ascending, in nanoseconds since 1970."""
        self.input_holds_cached = False
        self._bounds = bounds
        self._responses: list[NotedResponse] = []
        self._calls: list[NotedCall] = []
        self._results: list[NotedResult] = []
        self._sums: defaultdict[int, _Sums] = defaultdict(_Sums)
        self._covers: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        self._times: dict[int, tuple[int, int] | None] = {}
        self._spent: defaultdict[int, dict[_Charged, _Spending]] = defaultdict(dict)
        self._models: dict[str, int] = {"": 0}

    def model(self, name: str) -> int:
        """Return the number of a model, or 0 for one without a name."""
        return self._models.setdefault(name, len(self._models))

    def note_response(self, time: int, response: Response, model: int, quarter: int) -> None:
        """Note a copy of a response, with the number of its model, and when it was written."""
        self._responses.append(NotedResponse(time, response.id, response, model, quarter))

    def note_call(self, time: int, key: int, shows: int) -> None:
        """Note a copy of a call, with the bits that it shows."""
        self._calls.append(NotedCall(time, key, shows))

    def note_result(self, time: int, key: int, failed: bool) -> None:
        """Note a copy of the result of a call. One failure decides."""
        self._results.append(NotedResult(time, key, failed))

    def cover(self, file: int, session: str, times: Sequence[int]) -> None:
        """Note that a file has lines of a session at these times, which ascend."""
        place = (file, session)
        at = 0
        while at < len(times):
            slice_index = self._slice(times[at])
            last = len(times)
            if slice_index < len(self._bounds):
                last = bisect_right(times, self._bounds[slice_index], at)

            self._sums[slice_index].flags |= COVERED
            self._times[slice_index] = _hull(
                [self._times.get(slice_index), (times[at], times[last - 1])]
            )
            if self._covers[slice_index][-1:] != [place]:
                self._covers[slice_index].append(place)
            at = last

    def turn(
        self,
        time: int,
        response: Response,
        model: int = 0,
        quarter: int = -1,
        *,
        states_writes: bool = False,
    ) -> None:
        """Count a response.

        Args:
            time: when.
            response: its tokens, and how it was served.
            model: the number of its model.
            quarter: when, as in :class:`~.facts.Spent`.
            states_writes: whether its ``cache_writes``, as a part of an input that holds what was
                read from the cache, are what the transcript states.
        """
        slice_index = self._slice(time)
        sums = self._sums[slice_index]
        sums.turns += 1
        sums.output_tokens += response.output
        charged = _Charged(model, NO_STEP, quarter, response.service)
        if response.stated <= TokensStated.OUTPUT_ONLY:
            sums.unmeasured += 1
            spending = _Spending(responses=1, output_tokens=response.output)
            self._spend(slice_index, charged, spending)
            return

        sums.input_tokens += response.input
        sums.cache_read_tokens += response.cache_reads
        sums.cache_creation_tokens += response.cache_writes

        uncached = response.input
        written = response.cache_writes
        prompt = uncached + response.cache_reads + written
        if self.input_holds_cached or response.stated == TokensStated.WITHOUT_CACHE_WRITES:
            prompt = response.input
            if not states_writes:
                written = 0
            uncached = max(response.input - response.cache_reads - written, 0)

        spending = _Spending(
            responses=1,
            input_tokens=uncached,
            output_tokens=response.output,
            cache_read_tokens=response.cache_reads,
            cache_write_tokens=written,
            cache_write_1h_tokens=response.cache_writes_1h,
            web_searches=response.web_searches,
        )
        self._spend(slice_index, charged._replace(step=_step_of(prompt)), spending)
        for apart in response.apart:
            self._spend_apart(slice_index, charged, apart)

    def _spend_apart(self, slice_index: int, charged: _Charged, apart: BilledApart) -> None:
        """Add what was used in addition to the tokens of a response.

        Another model serves as usual, whatever the service of the response was.
        """
        if apart.model:
            charged = charged._replace(model=self.model(apart.model), service="")

        prompt = apart.input + apart.cache_reads + apart.cache_writes
        spending = _Spending(
            input_tokens=apart.input,
            output_tokens=apart.output,
            cache_read_tokens=apart.cache_reads,
            cache_write_tokens=apart.cache_writes,
            cache_write_1h_tokens=apart.cache_writes_1h,
        )
        self._spend(slice_index, charged._replace(step=_step_of(prompt)), spending)

    def drop(self, time: int, count: int = 1) -> None:
        """Count what only repeats something else, at the time of what it repeats."""
        self._sums[self._slice(time)].duplicates_dropped += count

    def flag(self, time: int, flags: int) -> None:
        """Note what a line shows, as bits."""
        self._sums[self._slice(time)].flags |= flags

    def end(self, time: int, calls: int, errors: int) -> None:
        """Count calls of tools that ended, and those of them that failed."""
        sums = self._sums[self._slice(time)]
        sums.tool_calls += calls
        sums.tool_errors += errors

    def finish(self) -> None:
        """Count what was noted, each event once."""
        for noted in by_key(self._responses):
            for known in distinct_responses(noted):
                best = known.best
                self.turn(known.time, best.response, best.model, known.quarter)
                if known.copies > 1:
                    self.drop(known.time, known.copies - 1)

        called_at: dict[int, int] = {}
        for calls in by_key(self._calls):
            called_at[calls[0].key] = self._count_call(calls)
        for results in by_key(self._results):
            self._count_result(results, called_at)

        self._responses = []
        self._calls = []
        self._results = []

    def _count_call(self, copies: Sequence[NotedCall]) -> int:
        """Count a call, and return the time of its earliest copy."""
        time = min(copies).time
        flags = CALLED
        for copy in copies:
            flags |= copy.shows
        self.flag(time, flags)
        self.end(time, calls=1, errors=0)
        return time

    def _count_result(self, copies: Sequence[NotedResult], called_at: dict[int, int]) -> None:
        """Count the result of a call. A failure counts where the call does."""
        first = min(copies)
        time = called_at.get(first.key, first.time) if first.key else first.time
        self.flag(time, ENDED)
        self.end(time, calls=0, errors=int(any(copy.failed for copy in copies)))

    def facts(self, name: str, first: int, last: int) -> HarnessFacts | None:
        """Return what is in the slices from ``first`` to before ``last``, or None for nothing."""
        slices = [index for index in range(first, last) if index in self._sums]
        sums = _Sums()
        for index in slices:
            sums.add(self._sums[index])
        if sums == _Sums():
            return None

        sessions: set[str] = set()
        files: set[int] = set()
        for index in slices:
            for file, session in self._covers.get(index, ()):
                files.add(file)
                sessions.add(session)
        sessions.discard("")
        return HarnessFacts(
            name, sessions=len(sessions), files=len(files), **msgspec.structs.asdict(sums)
        )

    def times(self, first: int, last: int) -> tuple[int, int] | None:
        """Return the times of the first and last lines in these slices, or None without lines."""
        return _hull(self._times.get(index) for index in range(first, last))

    def spent(self, first: int, last: int) -> list[Spent]:
        """Return what was used in these slices, apart where it may have prices of its own."""
        totals: defaultdict[_Charged, _Spending] = defaultdict(_Spending)
        for index in range(first, last):
            if index in self._spent:
                for charged, spending in self._spent[index].items():
                    totals[charged] = totals[charged].plus(spending)

        names = list(self._models)
        spent = []
        for charged, total in totals.items():
            counts = _Spending(*(min(count, NS_MAX) for count in total))
            spent.append(
                Spent(
                    model=names[charged.model],
                    step=charged.step,
                    quarter=charged.quarter,
                    service=charged.service,
                    **counts._asdict(),
                )
            )
        return spent

    def _slice(self, time: int) -> int:
        """Return the index of the slice in which a time lies."""
        return bisect_left(self._bounds, time)

    def _spend(self, slice_index: int, charged: _Charged, spending: _Spending) -> None:
        """Add what was used at one price to a slice."""
        totals = self._spent[slice_index]
        totals[charged] = totals.get(charged, _Spending()).plus(spending)


def _step_of(prompt: int) -> int:
    """Return how many of the sizes of prompts that have a price of their own one exceeds."""
    return bisect_left(PROMPT_STEPS, prompt)


def _hull(spans: Iterable[tuple[int, int] | None]) -> tuple[int, int] | None:
    """Return the time from the earliest beginning to the latest end, or None without any."""
    known = [span for span in spans if span]
    if not known:
        return None
    return min(begin for begin, _ in known), max(end for _, end in known)


class Tallies:
    """The sums of all harnesses over some windows.

    Attributes:
        of: the tally of each harness, by its name.
    """

    def __init__(self, windows: Sequence[IterationWindow], names: Sequence[str]) -> None:
        starts = {window.start for window in windows if window.start is not None}
        self._windows = windows
        self._bounds = sorted(starts | {window.end for window in windows})
        self.of = {name: Tally(self._bounds) for name in names}

    def facts(self) -> list[TranscriptFacts]:
        """Return what is in each window, in the order of the windows."""
        facts = []
        for window in self._windows:
            first = 0
            if window.start is not None:
                first = bisect_left(self._bounds, window.start) + 1
            facts.append(self._total(first, bisect_left(self._bounds, window.end) + 1))
        return facts

    def everything(self) -> tuple[HarnessFacts, ...]:
        """Return what is in all of time, by harness."""
        return self._total(0, len(self._bounds) + 1).harnesses

    def _total(self, first: int, last: int) -> TranscriptFacts:
        """Return what is in the slices from ``first`` to before ``last``."""
        shares = []
        for name in sorted(self.of):
            share = self.of[name].facts(name, first, last)
            if share is not None:
                shares.append(share)
        if not shares:
            return TranscriptFacts()

        total = _Sums()
        for share in shares:
            total.add(share)
        spent: list[Spent] = []
        for tally in self.of.values():
            spent += tally.spent(first, last)
        times = _hull(tally.times(first, last) for tally in self.of.values())
        return TranscriptFacts(
            turns=wrap64(total.turns),
            input_tokens=wrap64(total.input_tokens),
            output_tokens=wrap64(total.output_tokens),
            cache_reads=wrap64(total.cache_read_tokens),
            cache_creations=wrap64(total.cache_creation_tokens),
            tool_calls=wrap64(total.tool_calls),
            tool_errors=wrap64(total.tool_errors),
            flags=total.flags,
            harnesses=tuple(share for share in shares if share.name),
            spent=tuple(sorted(spent)),
            began=times[0] if times else None,
            ended=times[1] if times else None,
            unmeasured=total.unmeasured,
        )
