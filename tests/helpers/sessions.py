"""Transcripts of any harness, made in a home folder, and what a reading of one gives."""

import json
from pathlib import Path
from typing import Any

from scoring.evidence.commands.testruns import TestTools as Tools
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.transcripts.discovery import TranscriptFile, discover
from scoring.evidence.transcripts.facts import TranscriptPlaces
from scoring.evidence.transcripts.reading import Reading
from scoring.evidence.transcripts.rows import (
    BREAK,
    CALL,
    EDIT,
    MADE,
    PROMPT,
    RESPONSE,
    RUN,
    STATED,
    VERDICT,
    FileRows,
    Rows,
)
from scoring.evidence.transcripts.tally import NOT_STATED, OUTPUT_ALONE

CORRECTION = "No, that is wrong"
"""A prompt that is noted, where there was work before it."""


def put(path: Path, *lines: Any, document: bool = False) -> Path:
    """Write lines, or one document, as JSON; what is bytes is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(texts) + (b"" if document else b"\n"))
    return path


def read_under(top: Path) -> dict[Path, FileRows]:
    """Read what is below a named folder. A file that cannot be read has no rows."""
    found = discover(TranscriptPlaces(Path("/nowhere"), (top,)), HARNESSES, lambda _: None)
    reading = Reading(HARNESSES, Tools)
    return {one.path: _rows(reading, one) for one in found.transcripts}


def _rows(reading: Reading, transcript: TranscriptFile) -> FileRows:
    return reading.read(transcript).rows or {}


def rows_of(path: Path, harness: str) -> Rows:
    """Read one transcript, which one harness has written."""
    ((name, rows),) = read_under(path.parent)[path].items()
    assert name == harness
    return rows


def table(rows: Rows, kind: int) -> list[tuple[int, ...]]:
    """The rows of a kind without their span and line."""
    return [row[2:] for row in rows.tables.get(kind, ())]


def seen(rows: Rows) -> dict[str, Any]:
    """Count the events of each kind that tests ask for, without those that do not occur."""
    spent = [row[4:] for row in table(rows, RESPONSE)]
    whole = [one[:4] for one in spent if one[0] != NOT_STATED and one[4] != OUTPUT_ALONE]
    found = {
        "responses": len(spent),
        "unknown": len(spent) - len(whole),
        "tokens": tuple(map(sum, zip(*whole, strict=True))),
        "stated": [row[1:] for row in table(rows, STATED)],
        "calls": len(table(rows, CALL)),
        "failed": [row[-1] for row in table(rows, VERDICT)],
        "breaks": [row[0] for row in table(rows, BREAK)],
        "edits": [rows.texts[row[0]] for row in table(rows, EDIT)],
        "runs": [row[3] for row in table(rows, RUN)],
        "commits": [f"{row[2]:x}" for row in table(rows, MADE)],
        "corrections": len(table(rows, PROMPT)),
        "skipped": dict(rows.skipped),
    }
    return {name: value for name, value in found.items() if value}
