"""Compares claims in words that tests pass with the last run before; no words are kept."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from operator import attrgetter, itemgetter
from typing import NamedTuple, TypeAlias

from scoring.evidence.attribution.attribution import Share
from scoring.evidence.attribution.sightings import Sighting, Sightings
from scoring.evidence.transcripts.facts import ClaimResult, ClaimSeen
from scoring.evidence.transcripts.rows import EDIT, MADE, RUN, SAID, WHOLE
from scoring.evidence.transcripts.streams import File, SessionKey


class _Event(NamedTuple):
    """A row of a session: the kind, and the ``value`` of the column that matters here."""

    time: int
    line: int
    kind: int
    file: File
    number: int
    value: int


@dataclass
class _Stream:
    """What a session said and did, by time: all of it, what it said in each part, and the lines of all that."""

    events: list[_Event] = field(default_factory=list)
    said: dict[int, list[_Event]] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)

    def behind(self, time: int) -> Iterable[_Event]:
        """Yield what came after a time."""
        return islice(self.events, bisect_right(self.events, time, key=attrgetter("time")), None)


Spoken: TypeAlias = Mapping[SessionKey, _Stream]


def spoken_in(
    files: Iterable[File], parts: Sequence[int], wanted: Collection[SessionKey]
) -> Spoken:
    """Return what some sessions said and did, without their sub-agents; ``parts`` has that of each line."""
    streams = {key: _Stream() for key in wanted}
    first: dict[tuple[SessionKey, int], File] = {}
    for file in files:
        key = file.harness.name, file.owner
        for kind, column in _COLUMNS.items() if key in wanted else ():
            for span, number, *row in file.rows.tables.get(kind, ()):
                n = file.at(number)
                if (
                    n < 0
                    or not file.here[n]
                    or first.setdefault((key, file.ids[n]), file) is not file
                ):
                    continue
                if row[1] == WHOLE if kind == RUN else not file.rows.spans[span].agent:
                    event = _Event(file.times[n], file.ids[n], kind, file, number, row[column])
                    streams[key].events.append(event)
    for stream in streams.values():
        stream.events.sort(key=attrgetter("time"))
        stream.lines = {event.line for event in stream.events}
        for event in stream.events:
            if event.kind == SAID and event.value >= 0:
                stream.said.setdefault(parts[event.line], []).append(event)
    return streams


_COLUMNS = {SAID: 0, RUN: 3, EDIT: 0, MADE: 0}


def claims_seen(share: Share, spoken: Spoken, seen: Sightings) -> Iterable[ClaimSeen]:
    """Yield the claims about one iteration, of which some things were ``seen``."""
    for key in share.sessions:
        stream = spoken[key]
        said = (one for part in share.voting for one in stream.said.get(part, ()))
        before = [one for one in said if share.end is None or one.time <= share.end]
        messages = [max(before, key=attrgetter("time", "number"))] if before else []
        if share.made and share.made.line in stream.lines:
            messages += _reply(stream.behind(share.made.time))[-1:]
        for one in messages:
            if one.value == 1:
                result = _result(one, key, seen.found, stream, share.end)
                yield ClaimSeen("tests_pass", result, one.file.transcript.path, one.number + 1)


def _reply(behind: Iterable[_Event]) -> list[_Event]:
    """Return what a session said of a commit: behind it, until the user writes, it edits, or announces another."""
    said: list[_Event] = []
    for one in behind:
        if one.kind == MADE:  # the last words before it are about that
            return said[:-1]
        if one.kind == EDIT or (one.kind, one.value) == (SAID, -1):
            break
        said += [one] if one.kind == SAID else []
    return said


def _result(
    claim: _Event, key: SessionKey, found: Sequence[Sighting], stream: _Stream, end: int | None
) -> ClaimResult | None:
    """Compare a claim with the last run before it of its session; the run of another one can only confirm it."""
    earlier = [one for one in found if one.time <= claim.time]
    runs = [one for one in earlier if one.kind == "run"]
    editors = {one.by for one in found if one.kind == "edit"}
    own = [one for one in runs if one.session == key and (not one.agent or one.by in editors)]
    verdicts = [(one.time, one.passed) for one in own]
    if end is not None:  # what ran between the commit and the reply
        until = takewhile(lambda one: one.time <= claim.time, stream.behind(end))
        verdicts += [
            (one.time, None if one.value < 0 else one.value == 1)
            for one in until
            if one.kind == RUN
        ]
    if not verdicts and not runs:
        return None if any(one.kind == "agent" for one in earlier) else "no run"
    _, passed = max(verdicts or [(one.time, one.passed) for one in runs], key=itemgetter(0))
    return "confirmed" if passed else "last run failed" if passed is False and verdicts else None
