"""How the events of a harness are counted: what :mod:`counting` needs of one."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from .events import Call, CallResult, Response
from .facts import QUARTER
from .tally import Tally
from .transcript_events import TranscriptEvents

EventsOfSession: TypeAlias = Callable[[str], list[TranscriptEvents]]
"""Returns the events of each transcript that has a session, by the session's id."""


class LineClock(NamedTuple):
    """When events count: at places that take the role of times.

    Attributes:
        places: when each line counts, by its number; others do not count.
        times: when each of these was written, in nanoseconds since 1970.
        last: where a response counts in its last line, by the keys of the response and its
            request: when that line was written, and its place.
    """

    places: Mapping[int, int]
    times: Mapping[int, int]
    last: Mapping[tuple[int, int], tuple[int, int]] = {}

    def of_line(self, number: int) -> int | None:
        """Return when the line of a number counts, or None where it does not."""
        return self.places.get(number)

    def of_lines(self, numbers: Sequence[int]) -> list[int]:
        """Return when each of some lines counts, ascending. Lines that do not are left out."""
        return sorted(
            self.places[number] for number in numbers if number in self.places
        )

    def of_response(self, response: Response) -> int | None:
        """Return when a response counts, or None where it does not."""
        if response.line not in self.places:
            return None
        here = (self.times[response.line], self.places[response.line])
        _, place = self.last.get((response.id, response.request), here)
        return place

    def quarter(self, line: int) -> int:
        """Return the quarter of an hour in which a line that counts was written."""
        return self.times[line] // QUARTER


def count_calls(
    tally: Tally,
    events: TranscriptEvents,
    clock: LineClock,
    key_of_call: Callable[[int], int],
) -> None:
    """Count the calls of a transcript, and their results.

    Args:
        tally: what the counts go to.
        events: what the transcript shows.
        clock: when its lines count.
        key_of_call: returns by which key the copies of a call are known, from that of its id.
    """
    for call in events.of(Call):
        time = clock.of_line(call.line)
        if time is not None:
            tally.note_call(time, key_of_call(call.id), call.shows)
    for result in events.of(CallResult):
        time = clock.of_line(result.line)
        if time is not None:
            tally.note_result(time, key_of_call(result.id), result.failed)


class CountedHarness:
    """What counting needs of a harness.

    Attributes:
        name: as details and provenance write it; "" when it is not reported.
        input_holds_cached: whether the input that it states includes what was read from the cache.
    """

    name: str
    input_holds_cached = False

    def count(
        self, tally: Tally, file: int, events: TranscriptEvents, clock: LineClock
    ) -> None:
        """Count the responses of a transcript, its calls and their results.

        Args:
            tally: what the counts go to.
            file: a number of the file.
            events: what the transcript shows.
            clock: when its lines count.
        """
        for span, numbers in zip(events.spans, events.covers, strict=True):
            tally.cover(file, span.session, clock.of_lines(numbers))

        for response in events.of(Response):
            time = clock.of_response(response)
            if time is not None:
                quarter = clock.quarter(response.line)
                model = events.spans[response.span].model
                tally.note_response(time, response, model, quarter)
        count_calls(tally, events, clock, lambda key: key)

    def original(
        self,
        events: TranscriptEvents,
        events_of: EventsOfSession,  # noqa: ARG002 - for those that repeat lines
    ) -> TranscriptEvents:
        """Return the events without those that only repeat another session, with new times.

        Args:
            events: the events of a transcript, which may be of a forked session.
            events_of: returns the events of the transcripts of a session.
        """
        return events

    def joined(
        self,
        first: TranscriptEvents,  # noqa: ARG002 - for those with totals
        second: TranscriptEvents,  # noqa: ARG002
        shift: int,  # noqa: ARG002
    ) -> TranscriptEvents | None:
        """Return two parts of a transcript as one, or None where they count the same apart.

        Args:
            first: the earlier part.
            second: the part that goes on from it.
            shift: by how much the numbers of the second part's lines grow.
        """
        return None
