"""How the events of a harness are counted: what :mod:`counting` and :mod:`scan` need of one."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from scoring.evidence.transcripts.events import (
    Call,
    CallResult,
    LineSpan,
    Response,
    TranscriptEvents,
)
from scoring.evidence.transcripts.facts import QUARTER
from scoring.evidence.transcripts.tally import Tally

ELSEWHERE = "work in another folder"
"""Why nothing of a transcript counts that names other folders."""

NO_FOLDER = "names no folder it worked in"
"""Why nothing of a transcript counts that names no folder."""

InRepository: TypeAlias = Callable[[str], bool]
"""Returns whether work in a folder is work in the repository."""

EventsOfSession: TypeAlias = Callable[[str], list[TranscriptEvents]]
"""Returns the events of each transcript that has a session, by the session's id."""


class LineClock(NamedTuple):
    """When events count: at times, or at places that take the role of times.

    Attributes:
        of_line: returns when the line of a number counts; None where it does not.
        of_response: returns when a response counts; None where it does not.
        written: returns when a line was written, in nanoseconds since 1970; None: not known.
    """

    of_line: Callable[[int], int | None]
    of_response: Callable[[Response], int | None]
    written: Callable[[int], int | None]

    def quarter(self, line: int) -> int:
        """Return the quarter of an hour in which a line was written, or -1 where it is unknown."""
        time = self.written(line)
        return -1 if time is None else time // QUARTER

    @classmethod
    def by_time(cls, events: TranscriptEvents) -> "LineClock":
        """Return the clock by which lines count when they were written."""
        times = {line.number: line.time for line in events.lines}
        return cls(times.get, lambda response: times.get(response.line), times.get)


class CountedHarness(Protocol):
    """What counting needs of a harness: :class:`~scoring.evidence.harnesses.harness.Harness`."""

    @property
    def name(self) -> str:
        """The name, as details and provenance write it."""

    @property
    def input_holds_cached(self) -> bool:
        """Whether the input that it states includes what was read from the cache."""

    @property
    def counter(self) -> "type[TranscriptCounter]":
        """What counts its transcripts."""

    def folders(self, spans: Sequence[LineSpan]) -> list[str]:
        """Return for each span the folder in which the work was done, or "" where it names none."""

    def original(self, events: TranscriptEvents, events_of: "EventsOfSession") -> TranscriptEvents:
        """Return the events without those that only repeat another session, with new times.

        Args:
            events: the events of a transcript, which may be of a forked session.
            events_of: returns the events of the transcripts of a session.
        """

    def joined(
        self, first: TranscriptEvents, second: TranscriptEvents, shift: int
    ) -> TranscriptEvents | None:
        """Return two parts of a transcript as one, or None where they count the same apart.

        Args:
            first: the earlier part.
            second: the part that goes on from it.
            shift: by how much the numbers of the second part's lines grow.
        """


class TranscriptCounter:
    """Counts the transcripts of one harness into a tally: responses, calls and results.

    Args:
        harness: the harness.
        tally: what the counts go to.
        in_repository: tells which folders belong to the repository.
        events_of: gives the transcripts of a session.
    """

    def __init__(
        self,
        harness: CountedHarness,
        tally: Tally,
        in_repository: InRepository,
        events_of: EventsOfSession,
    ) -> None:
        self._tally = tally
        self._in_repository = in_repository
        self._events_of = events_of
        tally.input_holds_cached = harness.input_holds_cached

    def add(self, file: int, events: TranscriptEvents, clock: LineClock, whole: bool) -> str:
        """Count a transcript. A line without a folder goes with the others of its file.

        Args:
            file: a number of the file.
            events: what it shows.
            clock: when its lines count.
            whole: whether it counts as a whole, or only the work in the repository.

        Returns:
            Why nothing of it counts; "" when something may.
        """
        counts = [not span.cwd or whole or self._in_repository(span.cwd) for span in events.spans]
        if not whole:
            with_folder = [
                here for here, span in zip(counts, events.spans, strict=True) if span.cwd
            ]
            if not any(with_folder):
                return ELSEWHERE if with_folder else NO_FOLDER

        for here, span, numbers in zip(counts, events.spans, events.covers, strict=True):
            times = times_of_lines(numbers, clock) if here else []
            if times:
                self._tally.cover(file, span.session, times)

        models = [self._tally.model(span.model) for span in events.spans]
        for response in events.of(Response):
            time = clock.of_response(response)
            if time is not None and counts[response.span]:
                quarter = clock.quarter(response.line)
                self._tally.note_response(time, response, models[response.span], quarter)
        for call in events.of(Call):
            time = clock.of_line(call.line)
            if time is not None and counts[call.span]:
                self._tally.note_call(time, call.id, call.shows)
        for result in events.of(CallResult):
            time = clock.of_line(result.line)
            if time is not None and counts[result.span]:
                self._tally.note_result(time, result.id, result.failed)
        return ""

    def finish(self) -> None:
        """Count what had to wait for all transcripts."""
        self._tally.finish()


def times_of_lines(numbers: Sequence[int], clock: LineClock) -> list[int]:
    """Return when some lines count, ascending, without lines that do not count."""
    times = (clock.of_line(number) for number in numbers)
    return sorted(time for time in times if time is not None)
