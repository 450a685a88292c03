"""Reads one transcript file, or a part of it, into events (contract sections 1.3, 2.7 and 9)."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scoring.evidence.transcripts.events import PlainEvent
from scoring.evidence.transcripts.reference import LineReader
from scoring.files import READ_PLAIN, reason, refuse_special

LINE_LIMIT = 16 << 20
"""The longest line, in bytes, that is read; a longer one is skipped with a warning."""

_BLOCK = 120_000  # many lines at once, and below 128 KiB, from where the allocator asks the system every time

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


def read_part(fd: int, start: int, end: int, reader: LineReader, too_long: Callable[[int], None]) -> Part:
    """Read the lines between two offsets.

    Args:
        fd: an open transcript.
        start: the offset where a line begins.
        end: the offset behind a line break, or the end of the file.
        reader: reads the lines.
        too_long: is told the offset of a line over :data:`LINE_LIMIT`, which is skipped.

    Raises:
        OSError: the file cannot be read.
    """
    events: list[PlainEvent] = []
    blocks = LineBlocks(chunks(fd, start, end), start, too_long)
    for block in blocks:
        events += reader.read_block(block)
    return Part(events, blocks.behind, reader.read(blocks.rest))


def chunks(fd: int, start: int, end: int) -> Iterator[bytes]:
    """Yield what lies between two offsets of a file, a block at a time.

    Raises:
        OSError: the file cannot be read.
    """
    while start < end and (data := os.pread(fd, min(_BLOCK, end - start), start)):
        start += len(data)
        yield data


class LineBlocks:
    """Cuts data that comes in chunks into blocks of whole lines.

    Iterating yields the blocks, each of which ends with a line break. After that ``behind`` is the offset behind the
    last line break, and ``rest`` is what stands after it. A line over :data:`LINE_LIMIT` is left out.
    """

    def __init__(self, data: Iterable[bytes], start: int, too_long: Callable[[int], None]) -> None:
        """Take the data, the offset at which it begins, and who is told the offset of a line that is too long."""
        self._data, self._too_long = data, too_long
        self.behind, self.rest = start, b""

    def __iter__(self) -> Iterator[bytes]:
        at, rest, skipping = self.behind, b"", False
        for chunk in self._data:
            data = chunk
            at += len(data)
            if not skipping and len(rest) + _first_line(data) > LINE_LIMIT:
                rest, skipping = b"", True
            if skipping:
                _, found, data = data.partition(b"\n")
                if not found:
                    continue
                self._too_long(self.behind)
                skipping, self.behind = False, at - len(data)
            whole, found, tail = data.rpartition(b"\n")
            if found:
                yield rest + whole + found
                rest, self.behind = tail, at - len(tail)
            else:
                rest += data
        if skipping:
            self._too_long(self.behind)
        self.rest = rest


def _first_line(data: bytes) -> int:
    """Return how many bytes there are before the first line break."""
    place = data.find(b"\n")
    return place if place >= 0 else len(data)
