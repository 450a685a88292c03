"""The sessions of Codex: a forked one begins with a replay of its parent, which counts once."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from scoring.evidence.harnesses.codex_counts import CountedTurn, TokenCount, settle
from scoring.evidence.transcripts.counter import (
    ELSEWHERE,
    NO_FOLDER,
    CountedHarness,
    EventsOfSession,
    InRepository,
    LineClock,
    TranscriptCounter,
    times_of_lines,
)
from scoring.evidence.transcripts.events import (
    OBSERVED,
    Call,
    CallResult,
    Event,
    LineSpan,
    SpanOpening,
    TranscriptEvents,
    key_of,
)
from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.tally import Tally, TurnTokens


def introduction_of(spans: Sequence[LineSpan]) -> LineSpan:
    """Return the span in which a session introduces itself.

    That is the first one, since later ones are replayed.
    """
    for span in spans:
        if span.opens == SpanOpening.SESSION:
            return span
    return LineSpan()


def is_forked(own: LineSpan) -> bool:
    """Return whether a session was forked from another one, by its introduction."""
    return bool(own.parent) and own.parent != own.session


def folders_of(spans: Sequence[LineSpan]) -> list[str]:
    """Return for each span the folder in which the work was done.

    It is "" where a span names none.
    """
    folders: list[str] = []
    folder = ""
    own = introduction_of(spans)
    for span in spans:
        if span.cwd and (span.opens == SpanOpening.TURN or span is own):
            folder = span.cwd
        folders.append(folder)
    return folders


class _ReplayEnd:
    """Where a replay ends: before the span of an index, and after a number of token counts.

    Args:
        events: the events of the transcript.
        span: the index of the first span that is not replayed.
        counts: how many token counts are replayed.
    """

    def __init__(self, events: TranscriptEvents, *, span: int = 0, counts: int = 0) -> None:
        self.span = span
        self.counts = counts
        self.last_count = events.of(TokenCount)[counts - 1] if counts else None

    def is_before(self, event: Event) -> bool:
        """Return whether an event comes after the replay."""
        if event.span < self.span:
            return False
        if isinstance(event, CountedTurn):
            return event.counts_before >= self.counts
        return self.last_count is None or event.line > self.last_count.line


def _replay_end(events: TranscriptEvents, events_of: EventsOfSession) -> _ReplayEnd:
    """Return where the replay at the beginning of a forked session ends.

    The versions of Codex differ in what shows it: the first line of its own is marked, turns have
    times, the parent begins with the same token counts, or the counts of the replay are written at
    once.
    """
    spans = events.spans
    for index, span in enumerate(spans):
        if span.opens == SpanOpening.OWN_LINES:
            return _ReplayEnd(events, span=index)

    own = introduction_of(spans)
    first_span = _first_span_born_after(spans, own)
    if first_span is not None:
        return _ReplayEnd(events, span=first_span)

    counts = events.of(TokenCount)
    parents = events_of(own.parent)
    if parents:
        return _ReplayEnd(events, counts=max(_equal_counts(counts, one) for one in parents))
    return _ReplayEnd(events, counts=_counts_written_at_once(events, own))


def _first_span_born_after(spans: Sequence[LineSpan], own: LineSpan) -> int | None:
    """Return the index of the first turn that is not older than its session.

    The number of spans where all turns are older; None where their ids do not say that.
    """
    if own.born < 0:
        return None

    turns = [span for span in spans if span.opens == SpanOpening.TURN]
    for index, span in enumerate(spans):
        if span.opens == SpanOpening.TURN and span.born >= own.born:
            return index
    if turns and all(turn.born >= 0 for turn in turns):
        return len(spans)
    return None


def _equal_counts(counts: Sequence[TokenCount], parent: TranscriptEvents) -> int:
    """Return with how many equal counts a transcript and its parent begin."""
    equal = 0
    for count, other in zip(counts, parent.of(TokenCount), strict=False):
        if (count.totals, count.last) != (other.totals, other.last):
            break
        equal += 1
    return equal


def _counts_written_at_once(events: TranscriptEvents, own: LineSpan) -> int:
    """Return how many counts were written within a second after the session began."""
    times = _times_of(events)
    counts = events.of(TokenCount)
    for index, count in enumerate(counts):
        if times[count.line] - own.time >= NS:
            return index
    return len(counts)


def _times_of(events: TranscriptEvents) -> dict[int, int]:
    """Return when each line was written, by its number."""
    return {line.number: line.time for line in events.lines}


def _lines_after(events: TranscriptEvents, end: _ReplayEnd) -> list[list[int]]:
    """Return for each span the numbers of its lines after a replay, ascending."""
    numbers_by_span: list[list[int]] = []
    for index, numbers in enumerate(events.covers):
        numbers_by_span.append(sorted(numbers) if index >= end.span else [])

    last = end.last_count
    if last is not None:
        times = _times_of(events)
        for index in range(last.span):
            numbers_by_span[index] = []
        numbers_by_span[last.span] = [
            number for number in numbers_by_span[last.span] if times[number] > times[last.line]
        ]
    return numbers_by_span


def without_replay(events: TranscriptEvents, events_of: EventsOfSession) -> TranscriptEvents:
    """Return the events of a forked session without its replay.

    It then counts like one that was not forked.
    """
    if not is_forked(introduction_of(events.spans)):
        return events

    end = _replay_end(events, events_of)
    covers = _lines_after(events, end)
    turns = [turn for turn in events.of(CountedTurn) if not turn.repeats and end.is_before(turn)]

    numbers = {turn.line for turn in turns}
    for span_numbers in covers:
        numbers.update(span_numbers)

    own = replace(
        events,
        covers=covers,
        lists=dict(events.lists),
        lines=[line for line in events.lines if line.number in numbers],
    )
    own.put(TokenCount, ())
    own.put(CountedTurn, turns)
    for counted in (Call, CallResult):
        own.put(counted, [event for event in events.of(counted) if end.is_before(event)])
    for kind in OBSERVED:
        own.put(kind, [event for event in events.of(kind) if event.line in numbers])
    return own


def joined_events(
    first: TranscriptEvents, second: TranscriptEvents, shift: int
) -> TranscriptEvents:
    """Return two parts of a transcript as one: totals run from the first into the second.

    Args:
        first: the earlier part.
        second: the part that goes on from it.
        shift: by how much the numbers of the second part's lines grow.
    """
    span_shift = len(first.spans)
    shifted_covers = [[number + shift for number in numbers] for numbers in second.covers]
    joined = TranscriptEvents(
        spans=[*first.spans, *second.spans],
        covers=[*first.covers, *shifted_covers],
    )

    for kind in (TokenCount, Call, CallResult):
        shifted = [
            replace(event, span=event.span + span_shift, line=event.line + shift)
            for event in second.of(kind)
        ]
        joined.put(kind, [*first.of(kind), *shifted])
    return settle(joined)


class _CountedFile(NamedTuple):
    """A rollout, and which of its spans count.

    Attributes:
        file: the number of the file.
        events: its events.
        clock: when they count.
        counts: for each span, whether it counts.
    """

    file: int
    events: TranscriptEvents
    clock: LineClock
    counts: list[bool]


class CodexCounter(TranscriptCounter):
    """Counts rollouts, those of forked sessions when their parents are known."""

    def __init__(
        self,
        harness: CountedHarness,
        tally: Tally,
        in_repository: InRepository,
        events_of: EventsOfSession,
    ) -> None:
        super().__init__(harness, tally, in_repository, events_of)
        self._parents: dict[str, str] = {}
        self._forks: list[_CountedFile] = []

    def add(self, file: int, events: TranscriptEvents, clock: LineClock, whole: bool) -> str:
        """Count a rollout, or keep that of a forked session until :meth:`finish`.

        See :class:`~scoring.evidence.transcripts.counter.TranscriptCounter`.
        """
        own = introduction_of(events.spans)
        if is_forked(own):
            self._parents[own.session] = own.parent

        counts = [
            whole or (bool(folder) and self._in_repository(folder))
            for folder in folders_of(events.spans)
        ]
        if not any(counts):
            return ELSEWHERE if any(span.cwd for span in events.spans) else NO_FOLDER

        if is_forked(own):
            self._forks.append(_CountedFile(file, events, clock, counts))
        else:
            self._count(_CountedFile(file, events, clock, counts), _ReplayEnd(events))
        return ""

    def finish(self) -> None:
        """Count the forked sessions, now that their parents are known."""
        for fork in self._forks:
            self._count(fork, _replay_end(fork.events, self._events_of))
        self._forks = []
        super().finish()

    def _family(self, session: str) -> int:
        """Return the key of the session from which this one descends, as far as it is known."""
        visited = {session}
        parent = self._parents.get(session)
        while parent and parent not in visited:
            session = parent
            visited.add(session)
            parent = self._parents.get(session)
        return key_of(session)

    def _count(self, file: _CountedFile, end: _ReplayEnd) -> None:
        """Count what comes after a replay.

        What comes before only sets the totals.
        """
        self._cover(file, end)
        self._count_turns(file, end)
        self._count_calls(file, end)

    def _cover(self, file: _CountedFile, end: _ReplayEnd) -> None:
        """Note the times of the lines that count."""
        session = introduction_of(file.events.spans).session
        for counts, numbers in zip(file.counts, _lines_after(file.events, end), strict=True):
            times = times_of_lines(numbers, file.clock) if counts else []
            if times:
                self._tally.cover(file.file, session, times)

    def _count_turns(self, file: _CountedFile, end: _ReplayEnd) -> None:
        models: list[int] = []
        for span in file.events.spans:
            models.append(self._tally.model(span.model) if span.model or not models else models[-1])

        for turn in file.events.of(CountedTurn):
            time = file.clock.of_line(turn.line)
            if time is None or not file.counts[turn.span]:
                continue

            if turn.repeats or not end.is_before(turn):
                self._tally.drop(time)  # a replay repeats what the parent has counted
            else:
                tokens = TurnTokens(
                    turn.output,
                    turn.input,
                    turn.cache_reads,
                    turn.cache_writes,
                    states_writes=turn.states_writes,
                    service=turn.service,
                    quarter=file.clock.quarter(turn.line),
                )
                self._tally.turn(time, tokens, models[turn.span])

    def _count_calls(self, file: _CountedFile, end: _ReplayEnd) -> None:
        family = self._family(introduction_of(file.events.spans).session)
        for call in file.events.of(Call):
            time = file.clock.of_line(call.line)
            if time is not None and file.counts[call.span] and end.is_before(call):
                self._tally.note_call(time, _key_in(family, call.id), call.shows)

        for result in file.events.of(CallResult):
            time = file.clock.of_line(result.line)
            if time is not None and file.counts[result.span] and end.is_before(result):
                self._tally.note_result(time, _key_in(family, result.id), result.failed)


def _key_in(family: int, key: int) -> int:
    """Return a key for a call that sessions of one family share, and no others."""
    return (hash((family, key)) or 1) if key else 0
