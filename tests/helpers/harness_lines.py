"""Lines as the harnesses write them, and a reading of them.

Whole sessions are made in testdata/sessions.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Unpack
from uuid import UUID

import pytest

from scoring.evidence.attribution.attributed import AttributedScan
from scoring.evidence.harnesses.scan import Scan
from scoring.evidence.reference.transcripts import TimeSlices
from scoring.evidence.transcripts.counter import CountedHarness, LineClock
from scoring.evidence.transcripts.facts import (
    IterationWindow,
    ReadingOptions,
    TranscriptFacts,
    TranscriptPlaces,
    TranscriptSurvey,
)
from scoring.evidence.transcripts.tally import Tally, facts_at
from scoring.evidence.transcripts.transcript_events import TranscriptEvents

NS = 1_000_000_000
START = 1_776_000_000
"""Second 0 of the lines, in seconds since 1970."""

ALWAYS = IterationWindow(0, None, (START + 10**8) * NS)

Line = dict[str, Any]


def stamp(second: float) -> str:
    return datetime.fromtimestamp(START + second, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def window(start: float | None, end: float) -> IterationWindow:
    """Return the window after ``start`` (None: open) up to and including ``end``, in seconds."""
    return IterationWindow(
        0, None if start is None else int((START + start) * NS), int((START + end) * NS)
    )


def uuid7(second: float, number: int = 0) -> str:
    return str(
        UUID(int=int((START + second) * 1000) << 80 | 7 << 76 | 2 << 62 | number)
    )


def claude(
    second: float,
    *content: Line,
    kind: str = "assistant",
    message: Line | None = None,
    **keys: Any,
) -> Line:
    """A line of Claude Code; a keyword that is None leaves the key out."""
    line = {
        "type": kind,
        "timestamp": stamp(second),
        "cwd": "/work/app",
        "sessionId": "s1",
        "isSidechain": False,
    }
    line |= {
        "message": {"role": kind, "content": list(content)} | (message or {}),
        **keys,
    }
    return {key: value for key, value in line.items() if value is not None}


def response(
    second: float,
    name: str | None = "msg_1",
    request: str | None = "req_1",
    *content: Line,
    output: int = 10,
    given: int = 1,
    reads: int = 70,
    creations: int = 20,
    **keys: Any,
) -> Line:
    """A line of a response."""
    usage = {
        "input_tokens": given,
        "output_tokens": output,
        "cache_read_input_tokens": reads,
        "cache_creation_input_tokens": creations,
    }
    message = (
        {"model": "claude-sonnet-4-5", "usage": usage}
        | ({"id": name} if name else {})
        | keys.pop("message", {})
    )
    return claude(second, *content, message=message, requestId=request, **keys)


def use(tool: str, name: str = "toolu_1", **given: Any) -> Line:
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def result(name: str | None = "toolu_1", **keys: Any) -> Line:
    named = {"tool_use_id": name} if name else {}
    return {"type": "tool_result", "content": "…"} | named | keys


def codex(second: float, kind: str, **payload: Any) -> Line:
    return {"timestamp": stamp(second), "type": kind, "payload": payload}


def meta(second: float, name: str, cwd: str = "/work/app", **keys: Any) -> Line:
    return codex(second, "session_meta", id=name, cwd=cwd, **keys)


def turn(second: float, name: str = "1", cwd: str = "/work/app") -> Line:
    return codex(second, "turn_context", turn_id=name, cwd=cwd)


def counts(given: int, cached: int, output: int, **keys: int) -> Line:
    return {
        "input_tokens": given,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": 0,
        "total_tokens": given + output,
    } | keys


def tokens(second: float, total: Line | None, last: Line | None = None) -> Line:
    info = {"total_token_usage": total, "last_token_usage": last}
    return codex(
        second,
        "event_msg",
        type="token_count",
        info={k: v for k, v in info.items() if v is not None},
    )


def item(second: float, kind: str, call_id: str | None = "call_1", **keys: Any) -> Line:
    return codex(
        second,
        "response_item",
        type=kind,
        **({"call_id": call_id} if call_id else {}),
        **keys,
    )


def output(
    second: float,
    said: Any,
    name: str | None = "call_1",
    kind: str = "function_call_output",
) -> Line:
    return item(second, kind, name, output=said)


def cases(names: str, table: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Try a test with every row of a table, under the row's name."""
    return pytest.mark.parametrize(names, table.values(), ids=table.keys())


def as_bytes(lines: Iterable[Line | bytes]) -> bytes:
    return b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n"
        for line in lines
    )


def write(path: Path, *lines: Line | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_bytes(lines))
    return path


def read(
    places: TranscriptPlaces | Path,
    windows: Sequence[IterationWindow] = (ALWAYS,),
    **reading: Unpack[ReadingOptions],
) -> tuple[list[TranscriptFacts], TranscriptSurvey]:
    """Read transcripts: a folder that is named by hand, or places."""
    found = (
        places
        if isinstance(places, TranscriptPlaces)
        else TranscriptPlaces(Path("/nowhere"), (places,))
    )
    with AttributedScan(found, **reading).start() as scan:
        return facts_in(scan, windows), scan.survey()


def facts_in(scan: Scan, windows: Sequence[IterationWindow]) -> list[TranscriptFacts]:
    """Return what is in each window of time, of work in the repository, each event once."""
    if not isinstance(scan, AttributedScan):
        return scan.facts(windows)

    scan.facts(())
    assert scan.work is not None
    counted = []
    for file in scan.work.files:
        lines = zip(file.numbers, file.times, file.here, strict=True)
        times = {line: time for line, time, here in lines if here}
        counted.append((file.harness, file.events, times))
    slices = TimeSlices(windows)
    tallies = tallies_of(counted, slices)
    return [facts_at(tallies, slices.within(window)) for window in windows]


def tallies_of(
    files: Sequence[tuple[CountedHarness, TranscriptEvents, Mapping[int, int]]],
    slices: TimeSlices,
) -> dict[str, Tally]:
    """Count files, each with its events and the times of the lines that count."""
    tallies: dict[str, Tally] = {}
    for harness, _, _ in files:
        tallies[harness.name] = _TallyOfVerdicts(harness.input_holds_cached)

    for number, (harness, events, times) in enumerate(files):
        places = {line: slices.at(time) for line, time in times.items()}
        clock = LineClock(places, times)
        harness.count(tallies[harness.name], number, events, clock)
    return tallies


class _TallyOfVerdicts(Tally):
    """Counts a call where it ended, so that a call without a verdict shows."""

    def _count_call(self, copies: Sequence[Any]) -> None:
        for copy in copies:
            self.note_shown(min(copy.place for copy in copies), copy.shows)

    def _count_result(self, copies: Sequence[Any], _: Sequence[Any]) -> None:
        self.count_ends(min(copies).place, 1, int(any(copy.failed for copy in copies)))


def summary(facts: TranscriptFacts) -> tuple[int, ...]:
    names = "turns input_tokens output_tokens cache_reads cache_creations tool_calls tool_errors"
    return tuple(getattr(facts, name) for name in names.split())
