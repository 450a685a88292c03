"""Sums up what transcripts show over the windows of iterations, each event once.

Time is cut into slices at the ends of all windows. A :class:`Tally` has the sums of one harness in
each slice; :class:`Tallies` adds the slices of each window up.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from scoring.grouping import lists_by_key
from scoring.text import wrap64

from .events import Response, TokensStated, TokensUsed
from .facts import (
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

_Counts: TypeAlias = defaultdict[str, int]
"""Counts by name. A ``Counter`` takes several times as long."""


class _NotedCall(NamedTuple):
    """A copy of a call: when it counts, and what it shows, as bits."""

    time: int
    shows: int


class _NotedResult(NamedTuple):
    """A copy of the result of a call: when it counts, and whether the call failed."""

    time: int
    failed: bool


class _NotedResponse(NamedTuple):
    """A copy of a response: when it counts, its tokens, its model, its quarter of an hour."""

    time: int
    response: Response
    model: str
    quarter: int

    @property
    def rank(self) -> tuple[Any, ...]:
        """What sorts the copies of a response. The copy that knows most is the last."""
        response = self.response
        tokens = response.tokens
        return (
            -1 if response.stated == TokensStated.NOTHING else tokens.output_tokens,
            not response.side_chain,
            tokens,
            response.stated,
            response.web_searches,
            len(response.apart),
            self.model,
        )


def _distinct_responses(copies: Sequence[_NotedResponse]) -> list[list[_NotedResponse]]:
    """Return the responses with one id, each as the list of its copies.

    Each request has one response. Copies that are in side chains only, and copies without a
    request, are taken for copies of the first of the other responses, where there is any.
    """
    if len(copies) == 1:
        return [[*copies]]

    by_request = lists_by_key((noted.response.request, noted) for noted in copies)
    groups = [by_request[request] for request in sorted(by_request)]

    main = [
        group
        for group in groups
        if not all(noted.response.side_chain for noted in group)
    ]
    with_request = [group for group in main or groups if group[0].response.request]
    responses = with_request or main or groups
    for group in groups:
        if group not in responses:
            responses[0] += group
    return responses


class _Slice:
    """What is after one bound, up to the next bound, which counts too.

    Attributes:
        counts: the counts, by the names of fields of :class:`~.facts.HarnessFacts`.
        flags: the bits of its lines.
        files: the numbers of the files with lines in it, each with the session of the lines.
        times: when some of its lines were written, among them the first and the last one.
        spent: what was used: the counts of :class:`~.facts.Spent`, by a ``Spent`` without counts.
    """

    def __init__(self) -> None:
        self.counts = _Counts(int)
        self.flags = 0
        self.files: set[tuple[int, str]] = set()
        self.times: list[int] = []
        self.spent: defaultdict[Spent, _Counts] = defaultdict(lambda: _Counts(int))

    def add(self, other: "_Slice") -> None:
        """Add what is in another slice to this one."""
        _add(self.counts, other.counts)
        self.flags |= other.flags
        self.files |= other.files
        self.times += other.times
        for charged, spending in other.spent.items():
            _add(self.spent[charged], spending)

    def spend(self, charged: Spent, tokens: TokensUsed) -> _Counts:
        """Add tokens to what was used, and return the counts that they were added to.

        Args:
            charged: what the counts are for, without the step, which the tokens decide.
            tokens: the tokens.
        """
        step = bisect_left(PROMPT_STEPS, tokens.prompt)
        spending = self.spent[charged._replace(step=step)]
        _add(spending, tokens._asdict())
        return spending


def _add(counts: _Counts, more: Mapping[str, int]) -> None:
    """Add to counts."""
    for name, count in more.items():
        counts[name] += count


class Tally:
    """The sums of one harness, by slice. Times may be places that take the role of times.

    Responses, calls and results may be written several times. They wait until :meth:`finish`,
    which counts each once, at the time of the earliest copy.

    Attributes:
        input_holds_cached: whether the input that the harness states includes what was read from
            the cache.
    """

    def __init__(self, bounds: Sequence[int], input_holds_cached: bool = False) -> None:
        """Begin with no sums.

        Args:
            bounds: the ends of all slices but the last, ascending. A time that is an end belongs
                to the slice that ends there.
            input_holds_cached: as the attribute.
        """
        self.input_holds_cached = input_holds_cached
        self._bounds = bounds
        # By their keys. What has no key has no copies, and gets an object in place of one.
        self._responses: defaultdict[object, list[_NotedResponse]] = defaultdict(list)
        self._calls: defaultdict[object, list[_NotedCall]] = defaultdict(list)
        self._results: defaultdict[object, list[_NotedResult]] = defaultdict(list)
        self._slices: defaultdict[int, _Slice] = defaultdict(_Slice)

    def note_response(
        self, time: int, response: Response, model: str, quarter: int
    ) -> None:
        """Note a copy of a response.

        Args:
            time: when it counts.
            response: its tokens; its ``id`` is 0 where it has no copies.
            model: the name of its model; "": not known.
            quarter: when it was written, as in :class:`~.facts.Spent`.
        """
        noted = _NotedResponse(time, response, model, quarter)
        self._responses[response.id or object()].append(noted)

    def note_call(self, time: int, key: int, shows: int) -> None:
        """Note a copy of a call by its key (0: it has no copies), with the bits that it shows."""
        self._calls[key or object()].append(_NotedCall(time, shows))

    def note_result(self, time: int, key: int, failed: bool) -> None:
        """Note a copy of a result, by the key of the call. One failed copy makes a failure."""
        self._results[key or object()].append(_NotedResult(time, failed))

    def cover(self, file: int, session: str, times: Sequence[int]) -> None:
        """Note that a file, by its number, has lines of a session at times. They must ascend."""
        at = 0
        while at < len(times):
            last = len(times)
            index = bisect_left(self._bounds, times[at])
            if index < len(self._bounds):
                last = bisect_right(times, self._bounds[index], at)

            covered = self._slices[index]
            covered.flags |= COVERED
            covered.files.add((file, session))
            covered.times += (times[at], times[last - 1])
            at = last

    def turn(
        self, time: int, response: Response, model: str = "", quarter: int = -1
    ) -> None:
        """Count a response, at once and without regard to copies.

        The input is counted as the harness states it. Where it is not known what was written to
        the cache, it includes what was read, and all else counts as written.

        Args:
            time: when it counts.
            response: its tokens, and how it was served.
            model: the name of its model; "": not known.
            quarter: when it was written, as in :class:`~.facts.Spent`.
        """
        at = self._at(time)
        tokens = response.tokens
        at.counts["turns"] += 1
        at.counts["output_tokens"] += tokens.output_tokens
        charged = Spent(model, NO_STEP, quarter=quarter, service=response.service)
        if response.stated <= TokensStated.OUTPUT_ONLY:
            at.counts["unmeasured"] += 1
            at.spent[charged]["responses"] += 1
            at.spent[charged]["output_tokens"] += tokens.output_tokens
            return

        stated_input = tokens.input_tokens
        written = tokens.cache_write_tokens
        if response.stated == TokensStated.WITHOUT_CACHE_WRITES:
            stated_input = tokens.prompt
            written = tokens.input_tokens
        elif self.input_holds_cached:
            stated_input = tokens.prompt
        at.counts["input_tokens"] += stated_input
        at.counts["cache_read_tokens"] += tokens.cache_read_tokens
        at.counts["cache_creation_tokens"] += written

        spending = at.spend(charged, tokens)
        spending["responses"] += 1
        spending["web_searches"] += response.web_searches
        for apart in response.apart:
            if apart.model:  # another model serves as usual
                charged = charged._replace(model=apart.model, service="")
            at.spend(charged, apart.tokens)

    def drop(self, time: int, count: int = 1) -> None:
        """Count responses that only repeat another one, at the time at which that one counts."""
        self._at(time).counts["duplicates_dropped"] += count

    def flag(self, time: int, flags: int) -> None:
        """Note what a line shows, as bits."""
        self._at(time).flags |= flags

    def end(self, time: int, calls: int, errors: int) -> None:
        """Count calls of tools, and failed results, at a time."""
        counts = self._at(time).counts
        counts["tool_calls"] += calls
        counts["tool_errors"] += errors

    def finish(self) -> None:
        """Count what was noted so far, each event once, and forget it."""
        for noted in self._responses.values():
            for copies in _distinct_responses(noted):
                self._count_response(copies)
        for calls in self._calls.values():
            self._count_call(calls)
        for key, results in self._results.items():
            self._count_result(results, self._calls.get(key, results))

        self._responses.clear()
        self._calls.clear()
        self._results.clear()

    def _count_response(self, copies: Sequence[_NotedResponse]) -> None:
        """Count a response once, at its earliest copy, with the tokens of the one that knows most.

        Most responses have one copy.
        """
        best = copies[0]
        time = best.time
        quarter = best.quarter
        if len(copies) > 1:
            best = max(copies, key=attrgetter("rank"))
            time = min(copy.time for copy in copies)
            quarter = min(copy.quarter for copy in copies)

        self.turn(time, best.response, best.model, quarter)
        read = sum(copy.response.copies for copy in copies)
        if read > 1:
            self.drop(time, read - 1)

    def _count_call(self, copies: Sequence[_NotedCall]) -> None:
        """Count a call once, at its earliest copy, with the bits of all copies."""
        at = self._at(min(copies).time)
        at.counts["tool_calls"] += 1
        for copy in copies:
            at.flags |= CALLED | copy.shows

    def _count_result(
        self,
        copies: Sequence[_NotedResult],
        counted_with: Sequence[_NotedCall | _NotedResult],
    ) -> None:
        """Count the result of a call once.

        Args:
            copies: the copies of the result.
            counted_with: the copies of the call, or of the result where no call is known. A
                failure counts at the earliest of them.
        """
        at = self._at(min(counted_with).time)
        at.flags |= ENDED
        if any(copy.failed for copy in copies):
            at.counts["tool_errors"] += 1

    def total(self, first: int, last: int) -> _Slice:
        """Return what is in the slices with the indices from ``first`` to before ``last``."""
        total = _Slice()
        for index in self._slices.keys() & range(first, last):
            total.add(self._slices[index])
        return total

    def _at(self, time: int) -> _Slice:
        """Return the slice in which a time lies."""
        return self._slices[bisect_left(self._bounds, time)]


class Tallies:
    """The sums of all harnesses over some windows.

    Attributes:
        of: the tally of each harness, by its name.
    """

    def __init__(
        self, windows: Sequence[IterationWindow], harnesses: Mapping[str, bool]
    ) -> None:
        """Begin to count.

        Args:
            windows: the windows.
            harnesses: the names of the harnesses, each with whether the input that it states
                includes what was read from the cache.
        """
        starts = {window.start for window in windows if window.start is not None}
        self._windows = windows
        self._bounds = sorted(starts | {window.end for window in windows})
        self.of = {
            name: Tally(self._bounds, cached) for name, cached in harnesses.items()
        }

    def facts(self) -> list[TranscriptFacts]:
        """Return what is in each window, in the order of the windows."""
        facts = []
        for window in self._windows:
            first = 0
            if window.start is not None:
                first = bisect_left(self._bounds, window.start) + 1
            last = bisect_left(self._bounds, window.end) + 1
            facts.append(self._total(first, last))
        return facts

    def everything(self) -> tuple[HarnessFacts, ...]:
        """Return what is in all of time, by harness, in order of the names."""
        return self._total(0, len(self._bounds) + 1).harnesses

    def _total(self, first: int, last: int) -> TranscriptFacts:
        """Return what is in the slices from ``first`` to before ``last``."""
        total = _Slice()
        harnesses = []
        for name in sorted(self.of):
            part = self.of[name].total(first, last)
            total.add(part)
            if name and (part.flags or any(part.counts.values())):
                sessions = {session for _, session in part.files} - {""}
                files = {file for file, _ in part.files}
                facts = HarnessFacts(
                    name,
                    sessions=len(sessions),
                    files=len(files),
                    flags=part.flags,
                    **part.counts,
                )
                harnesses.append(facts)

        spent = []
        for charged, counts in total.spent.items():
            spending: Any = {name: min(count, NS_MAX) for name, count in counts.items()}
            spent.append(charged._replace(**spending))
        totals = Counter({name: wrap64(count) for name, count in total.counts.items()})
        return TranscriptFacts(
            turns=totals["turns"],
            input_tokens=totals["input_tokens"],
            output_tokens=totals["output_tokens"],
            cache_reads=totals["cache_read_tokens"],
            cache_creations=totals["cache_creation_tokens"],
            tool_calls=totals["tool_calls"],
            tool_errors=totals["tool_errors"],
            flags=total.flags,
            harnesses=tuple(harnesses),
            spent=tuple(sorted(spent)),
            began=min(total.times, default=None),
            ended=max(total.times, default=None),
            unmeasured=totals["unmeasured"],
        )
