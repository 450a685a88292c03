"""Compares the claims of an agent that tests pass with the last run of tests before them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TypeAlias

from scoring.evidence.transcripts.events import (
    AgentStarted,
    ChatText,
    CommitMade,
    Edit,
    TestRun,
)
from scoring.evidence.transcripts.observed_facts import ClaimResult, ClaimSeen
from scoring.evidence.transcripts.streams import File, SessionKey

from .iteration_shares import Share
from .sightings import Sighting, Sightings


@dataclass
class _Stream:
    """What a session said and did.

    Attributes:
        sightings: all of it, by time.
        said: the texts of the agent, by the part of their lines.
        first_file: the first file with each line that has some of it, by the line's number.
    """

    sightings: list[Sighting] = field(default_factory=list)
    said: defaultdict[int, list[Sighting]] = field(
        default_factory=lambda: defaultdict(list)
    )
    first_file: dict[int, File] = field(default_factory=dict)

    def after(self, time: int) -> list[Sighting]:
        """Return what came after a time."""
        return self.sightings[
            bisect_right(self.sightings, time, key=attrgetter("time")) :
        ]


Spoken: TypeAlias = dict[SessionKey, _Stream]


def spoken_in(files: Iterable[File], wanted: Iterable[SessionKey]) -> Spoken:
    """Return what some sessions said and did, without their sub-agents."""
    streams = {key: _Stream() for key in wanted}
    for file in files:
        stream = streams.get(file.key)
        if stream is None:
            continue
        for kind in (ChatText, TestRun, Edit, CommitMade):
            for index, event in file.located(kind):
                counts = not file.events.spans[event.span].agent
                if isinstance(event, TestRun):  # with its call and its result
                    counts = event.ended and event.called_at is not None
                if not file.here[index] or not counts:
                    continue
                if stream.first_file.setdefault(file.ids[index], file) is not file:
                    continue
                sighting = Sighting(file.times[index], file, event, file.parts[index])
                stream.sightings.append(sighting)
                if isinstance(event, ChatText) and not event.by_user:
                    stream.said[sighting.part].append(sighting)

    for stream in streams.values():
        stream.sightings.sort(key=attrgetter("time"))
    return streams


def claims_seen(
    share: Share, spoken: Spoken, sightings: Sightings
) -> Iterable[ClaimSeen]:
    """Yield the claims about one iteration.

    Args:
        share: the lines of the iteration.
        spoken: what the sessions said and did.
        sightings: what was seen in its lines.
    """
    for key in share.sessions:
        stream = spoken[key]
        texts = [text for part in share.voting for text in stream.said[part]]
        if share.end is not None:
            texts = [text for text in texts if text.time <= share.end]

        messages = []
        if texts:
            messages.append(max(texts, key=attrgetter("time", "event.line")))
        if share.made and share.made.line in stream.first_file:
            messages += _reply(stream.after(share.made.time))[-1:]
        for message in messages:
            if message.event.claims_tests_pass:
                result = _result(message, sightings, stream, share.end)
                yield ClaimSeen("tests_pass", result, message.path, message.line)


def _reply(sightings: Iterable[Sighting]) -> list[Sighting]:
    """Return what a session said of a commit.

    It ends where the user writes, the agent edits, or the session announces another commit.
    """
    texts: list[Sighting] = []
    for sighting in sightings:
        event = sighting.event
        if isinstance(event, CommitMade):  # the last words before it are about that
            return texts[:-1]
        if isinstance(event, Edit) or (isinstance(event, ChatText) and event.by_user):
            break
        if isinstance(event, ChatText):
            texts.append(sighting)
    return texts


def _result(
    claim: Sighting, sightings: Sightings, stream: _Stream, end: int | None
) -> ClaimResult | None:
    """Compare a claim with the last run before it.

    A run of another session, or of a sub-agent that only reviews, can confirm it and no more.
    """
    all_runs = [run for run in sightings.of(TestRun) if run.time <= claim.time]
    editors = {edit.by for edit in sightings.of(Edit)}
    own_runs = [run for run in all_runs if run.session == claim.session]
    runs = [run for run in own_runs if not run.agent or run.by in editors]
    if end is not None:  # what ran between the commit and the reply
        for sighting in stream.after(end):
            if sighting.time > claim.time:
                break
            if isinstance(sighting.event, TestRun):
                runs.append(sighting)

    if not runs and not all_runs:
        asked_agents = any(
            started.time <= claim.time for started in sightings.of(AgentStarted)
        )
        return None if asked_agents else "no run"

    last = max(runs or all_runs, key=attrgetter("time"))
    if last.event.passed:
        return "confirmed"
    if last.event.passed is False and runs:
        return "last run failed"
    return None
