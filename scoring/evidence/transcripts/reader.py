"""Reads one transcript file, or a part of it, into events (contract sections 1.3, 2.7 and 9)."""

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from scoring.evidence.files import READ_PLAIN, reason, refuse_special
from scoring.evidence.transcripts.events import PlainEvent
from scoring.evidence.transcripts.lines import LineReader

LINE_LIMIT = 16 << 20
"""The longest line, in bytes, that is read; a longer one is skipped with a warning."""

_BUFFER = 256 << 10  # large enough to ask the system rarely, small enough to stay in the processor's cache
_LINE_BREAK = 10

Warn = Callable[[str], None]
"""Takes one line of text for people."""


def silent(_: str) -> None:
    """Drop a warning that nobody asked for."""


def transcript_files(directories: Sequence[Path | str], warn: Warn) -> list[Path]:
    """List the ``*.jsonl`` files directly inside some directories, in byte order of names.

    A directory that cannot be listed is skipped with a warning.
    """
    found: list[Path] = []
    for directory in directories:
        try:
            names = sorted((n for n in os.listdir(directory) if n.endswith(".jsonl")), key=os.fsencode)
        except (OSError, ValueError) as e:
            warn(f"transcript directory {directory}: {reason(e)}; skipped")
            continue
        if not names:
            warn(f"transcript directory {directory}: no *.jsonl file directly inside (sub-folders are not read)")
        found.extend(Path(directory) / name for name in names)
    return found


def open_transcript(path: Path, warn: Warn) -> int | None:
    """Open a transcript and return its descriptor; None, with a warning, when it is no readable plain file.

    A directory is passed over in silence, as the reference does.
    """
    try:
        refuse_special(path)
        fd = os.open(path, READ_PLAIN)
        mode = os.fstat(fd).st_mode
    except (OSError, ValueError) as e:
        warn(f"transcript {path}: {reason(e)}; skipped")
        return None
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    if not stat.S_ISDIR(mode):
        warn(f"transcript {path}: is not a plain file; skipped")
    return None


class Part(NamedTuple):
    """What was read of a transcript.

    ``behind`` is the offset behind the last line break; ``tail`` is what the line after it contributes, which may still
    be growing.
    """

    events: list[PlainEvent]
    behind: int
    tail: PlainEvent | None


def read_part(fd: int, start: int, end: int, too_long: Callable[[int], None]) -> Part:
    """Read the lines between two offsets.

    Args:
        fd: an open transcript.
        start: the offset where a line begins.
        end: the offset behind a line break, or the end of the file.
        too_long: is told the offset of a line over :data:`LINE_LIMIT`, which is skipped.

    Raises:
        OSError: the file cannot be read.
    """
    events: list[PlainEvent] = []
    read = LineReader().read
    at = start
    with open(fd, "rb", buffering=_BUFFER, closefd=False) as f:
        f.seek(start)
        while at < end and (line := f.readline(LINE_LIMIT + 1)):
            if line[-1] != _LINE_BREAK:
                if len(line) <= LINE_LIMIT:
                    return Part(events, at, read(line))
                too_long(at)
                rest = _skip_line(f)
                if rest is None:  # the line is unterminated, and may end some day
                    break
                at += len(line) + rest
                continue
            at += len(line)
            if (event := read(line)) is not None:
                events.append(event)
    return Part(events, at, None)


def _skip_line(f: IO[bytes]) -> int | None:
    """Read on to the end of a line, and return how many bytes that took; None when it has no end."""
    taken = 0
    while rest := f.readline(_BUFFER):
        taken += len(rest)
        if rest[-1] == _LINE_BREAK:
            return taken
    return None
