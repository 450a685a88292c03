"""Compares the claims of an agent that tests pass with the last run of tests before them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

from scoring.evidence.attribution.iteration_shares import Share
from scoring.evidence.attribution.sightings import Sighting, Sightings
from scoring.evidence.transcripts.events import ChatText, CommitMade, Edit, Event, TestRun
from scoring.evidence.transcripts.facts import ClaimResult, ClaimSeen
from scoring.evidence.transcripts.streams import File, SessionKey


class _Moment(NamedTuple):
    """Something that a session said or did.

    Attributes:
        time: when, in nanoseconds since 1970.
        line: the number of the line among all lines.
        kind: what.
        file: the file that has the line.
        number: the number of the line in the file.
        passed: of a run of tests whether it passed; None without a verdict.
    """

    time: int
    line: int
    kind: Literal["claim", "text", "user text", "run", "edit", "commit"]
    file: File
    number: int
    passed: bool | None = None

    @property
    def is_by_agent(self) -> bool:
        """Whether it is a text of the agent."""
        return self.kind in ("claim", "text")


@dataclass
class _Stream:
    """What a session said and did.

    Attributes:
        moments: all of it, by time.
        said: the texts of the agent, by the part of their lines.
        lines: the numbers of the lines that have moments.
    """

    moments: list[_Moment] = field(default_factory=list)
    said: defaultdict[int, list[_Moment]] = field(default_factory=lambda: defaultdict(list))
    lines: set[int] = field(default_factory=set)

    def after(self, time: int) -> Iterator[_Moment]:
        """Yield what came after a time."""
        first = bisect_right(self.moments, time, key=attrgetter("time"))
        for index in range(first, len(self.moments)):
            yield self.moments[index]


Spoken: TypeAlias = Mapping[SessionKey, _Stream]


def spoken_in(
    files: Iterable[File], parts: Sequence[int], wanted: Collection[SessionKey]
) -> Spoken:
    """Return what some sessions said and did, without their sub-agents.

    Args:
        files: the files.
        parts: the part of each line.
        wanted: the sessions.
    """
    streams = {key: _Stream() for key in wanted}
    first_file: dict[tuple[SessionKey, int], File] = {}
    for file in files:
        key = (file.harness.name, file.owner)
        if key not in wanted:
            continue
        for kind in (ChatText, TestRun, Edit, CommitMade):
            for event in file.events.of(kind):
                index = file.at(event.line)
                if index < 0 or not file.here[index] or not _counts(event, file):
                    continue
                line = file.ids[index]
                if first_file.setdefault((key, line), file) is file:
                    streams[key].moments.append(_moment_of(event, file, index))

    for stream in streams.values():
        stream.moments.sort(key=attrgetter("time"))
        for moment in stream.moments:
            stream.lines.add(moment.line)
            if moment.is_by_agent:
                stream.said[parts[moment.line]].append(moment)
    return streams


def _counts(event: Event, file: File) -> bool:
    """Return whether an event counts: a session's own, or a run with its call and its result."""
    if isinstance(event, TestRun):
        return event.ended and event.called_at is not None
    return not file.events.spans[event.span].agent


def _moment_of(event: Event, file: File, index: int) -> _Moment:
    time = file.times[index]
    line = file.ids[index]
    if isinstance(event, TestRun):
        return _Moment(time, line, "run", file, event.line, event.passed)
    if isinstance(event, Edit):
        return _Moment(time, line, "edit", file, event.line)
    if isinstance(event, ChatText):
        if event.by_user:
            return _Moment(time, line, "user text", file, event.line)
        return _Moment(time, line, "claim" if event.claims_tests_pass else "text", file, event.line)
    return _Moment(time, line, "commit", file, event.line)


def claims_seen(share: Share, spoken: Spoken, seen: Sightings) -> Iterator[ClaimSeen]:
    """Yield the claims about one iteration.

    Args:
        share: the lines of the iteration.
        spoken: what the sessions said and did.
        seen: what was seen in its lines.
    """
    for key in share.sessions:
        stream = spoken[key]
        texts = [text for part in share.voting for text in stream.said.get(part, ())]
        if share.end is not None:
            texts = [text for text in texts if text.time <= share.end]

        messages = []
        if texts:
            messages.append(max(texts, key=attrgetter("time", "number")))
        if share.made and share.made.line in stream.lines:
            messages += _reply(stream.after(share.made.time))[-1:]
        for message in messages:
            if message.kind == "claim":
                result = _result(message, key, seen.seen, stream, share.end)
                path = message.file.transcript.path
                yield ClaimSeen("tests_pass", result, path, message.number + 1)


def _reply(moments: Iterable[_Moment]) -> list[_Moment]:
    """Return what a session said of a commit.

    It ends where the user writes, the agent edits, or the session announces another commit.
    """
    said: list[_Moment] = []
    for moment in moments:
        if moment.kind == "commit":  # the last words before it are about that
            return said[:-1]
        if moment.kind in ("edit", "user text"):
            break
        if moment.is_by_agent:
            said.append(moment)
    return said


def _result(
    claim: _Moment,
    key: SessionKey,
    sightings: Sequence[Sighting],
    stream: _Stream,
    end: int | None,
) -> ClaimResult | None:
    """Compare a claim with the last run before it.

    A run of another session, or of a sub-agent that only reviews, can confirm it and no more.
    """
    earlier = [sighting for sighting in sightings if sighting.time <= claim.time]
    runs = [sighting for sighting in earlier if sighting.kind == "run"]
    editors = {sighting.by for sighting in sightings if sighting.kind == "edit"}
    verdicts = [
        (run.time, run.passed)
        for run in runs
        if run.session == key and (not run.agent or run.by in editors)
    ]
    if end is not None:  # what ran between the commit and the reply
        for moment in stream.after(end):
            if moment.time > claim.time:
                break
            if moment.kind == "run":
                verdicts.append((moment.time, moment.passed))

    if not verdicts and not runs:
        asked_agents = any(sighting.kind == "agent" for sighting in earlier)
        return None if asked_agents else "no run"

    candidates = verdicts or [(run.time, run.passed) for run in runs]
    _, passed = max(candidates, key=lambda candidate: candidate[0])
    if passed:
        return "confirmed"
    if passed is False and verdicts:
        return "last run failed"
    return None
