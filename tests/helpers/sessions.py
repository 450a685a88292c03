"""Transcripts of any harness, made in a home folder, and what a reading of one gives."""

import json
from pathlib import Path
from typing import Any

from msgspec.structs import astuple

from scoring.evidence.commands.testruns import TestTools as Tools
from scoring.evidence.harnesses.discovery import discover
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.harnesses.reading import Reading
from scoring.evidence.harnesses.unread import UNREAD
from scoring.evidence.transcripts.events import (
    Call,
    CallResult,
    CommitMade,
    Edit,
    Event,
    Prompt,
    Response,
    StatedTotals,
    TestRun,
    TokensStated,
    UserBreak,
)
from scoring.evidence.transcripts.facts import NS, TranscriptPlaces
from scoring.evidence.transcripts.streams import File, Session, sessions_of
from scoring.evidence.transcripts.transcript_events import (
    EventsByHarness,
    LineSpan,
    TranscriptEvents,
    TranscriptLine,
)
from scoring.evidence.transcripts.transcript_files import TranscriptFile

CORRECTION = "No, that is wrong"
"""A prompt that is noted, where there was work before it."""


def put(path: Path, *lines: Any, document: bool = False) -> Path:
    """Write lines, or one document, as JSON; what is bytes is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [
        line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines
    ]
    path.write_bytes(b"\n".join(texts) + (b"" if document else b"\n"))
    return path


def read_under(top: Path) -> dict[Path, EventsByHarness]:
    """Read what is in a folder that is named by hand; a file that cannot be read is empty."""
    places = TranscriptPlaces(Path("/nowhere"), (top,))
    found = discover(places, (*HARNESSES, *UNREAD), lambda _: None)
    reading = Reading((*UNREAD, *HARNESSES), Tools())
    return {file.path: _events_of(reading, file) for file in found.transcripts}


def _events_of(reading: Reading, transcript: TranscriptFile) -> EventsByHarness:
    return reading.read(transcript).events or {}


def events_of(path: Path, harness: str) -> TranscriptEvents:
    """Read one transcript, which one harness has written."""
    ((name, events),) = read_under(path.parent)[path].items()
    assert name == harness
    return events


def without_span(events: TranscriptEvents, kind: type[Event]) -> list[tuple[Any, ...]]:
    """The events of a kind as tuples of their line and their other fields."""
    return [astuple(event)[1:] for event in events.of(kind)]


def keys_of_lines(events: TranscriptEvents) -> list[int]:
    """The keys of the lines."""
    return [line.key for line in events.lines]


def paths_edited(events: TranscriptEvents) -> list[str]:
    """The paths that were written, in order."""
    return [events.texts[edit.path] for edit in events.of(Edit)]


def tokens_of(response: Response) -> tuple[int, int, int, int]:
    """The tokens of a response: output, input, reads and writes of the cache."""
    return response.tokens[:4]


def seen(events: TranscriptEvents) -> dict[str, Any]:
    """What there is of each kind, as far as tests ask for it; empty kinds are left out."""
    responses = events.of(Response)
    measured = [one for one in responses if one.stated > TokensStated.OUTPUT_ONLY]
    tokens = [tokens_of(response) for response in measured]
    found = {
        "responses": len(responses),
        "unknown": len(responses) - len(measured),
        "tokens": tuple(map(sum, zip(*tokens, strict=True))),
        "stated": [totals.tokens[:4] for totals in events.of(StatedTotals)],
        "calls": len(events.of(Call)),
        "failed": [result.failed for result in events.of(CallResult)],
        "breaks": [stop.kind for stop in events.of(UserBreak)],
        "edits": paths_edited(events),
        "runs": [run.passed for run in events.of(TestRun)],
        "commits": [made.sha for made in events.of(CommitMade)],
        "corrections": len(events.of(Prompt)),
        "skipped": dict(events.skipped),
    }
    return {name: value for name, value in found.items() if value}


def events_of_one_session(lines: int) -> TranscriptEvents:
    """Return the events of a transcript with a line every five seconds, none of them so far."""
    began = 1_700_000_000
    events = TranscriptEvents()
    events.spans = [LineSpan(cwd="/work", session="s")]
    events.covers = [list(range(lines))]
    events.lines = [
        TranscriptLine(number, (began + 5 * number) * NS, number + 1)
        for number in range(lines)
    ]
    return events


def session_of(events: TranscriptEvents) -> Session:
    """Return the session of a transcript, of which all lines are work here."""
    file = File(TranscriptFile("s", True), HARNESSES[0], events)
    file.here = bytearray(b"\1" * len(events.lines))
    file.fresh = file.here
    (session,) = sessions_of([file]).values()
    return session
