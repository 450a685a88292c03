"""The door to transcripts: reads each file once, for all windows and all checks (contract sections 1.3, 2.7, 2.8)."""

import functools
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from scoring.evidence.transcripts.events import FileEvents, IterationWindow, PlainEvent, WindowFacts, WindowSums
from scoring.evidence.transcripts.lines import LineReader

LINE_LIMIT = 16 << 20
"""The longest line, in bytes, that is read; a longer one is skipped with a warning (contract section 9)."""

_BLOCK = 4 << 20

Warn = Callable[[str], None]
"""Takes one line of text for people."""


def window_facts(
    directories: Sequence[Path | str], windows: Sequence[IterationWindow], warn: Warn = lambda _: None
) -> list[WindowFacts]:
    """Read the transcripts in some directories and return what falls into each window.

    A directory that does not exist, a file that cannot be read, and a line over :data:`LINE_LIMIT` are skipped with a
    warning.
    """
    sums = WindowSums(windows)
    reader = LineReader()
    for path in transcript_files(directories, warn):
        sums.add(FileEvents.of(read_file(path, reader, warn)))
    return sums.facts()


def transcript_files(directories: Sequence[Path | str], warn: Warn) -> list[Path]:
    """List the ``*.jsonl`` files directly inside some directories, in byte order of names."""
    found: list[Path] = []
    for directory in directories:
        try:
            names = sorted((n for n in os.listdir(directory) if n.endswith(".jsonl")), key=os.fsencode)
        except OSError as e:
            warn(f"transcript directory {directory}: {(e.strerror or str(e)).lower()}; skipped")
            continue
        found.extend(Path(directory) / name for name in names)
    return found


def read_file(path: Path, reader: LineReader, warn: Warn) -> list[PlainEvent]:
    """Return the events of one transcript file; none, with a warning, when it is no readable plain file."""
    events: list[PlainEvent] = []
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):
            return events
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                warn(f"transcript {path}: not a plain file; skipped")
                return events
            read = reader.read
            too_long = functools.partial(_warn_too_long, path, warn)
            events += [event for line in _lines(fd, too_long) if (event := read(line)) is not None]
        finally:
            os.close(fd)
    except OSError as e:
        warn(f"transcript {path}: {(e.strerror or str(e)).lower()}; skipped")
        return []
    return events


def _warn_too_long(path: Path, warn: Warn, number: int) -> None:
    warn(f"transcript {path}: line {number} is over 16 MiB; skipped")


def _lines(fd: int, too_long: Callable[[int], None]) -> Iterator[bytes]:
    """Yield the lines of a file without ever holding more than one block and one line."""
    number, rest, skipping = 1, b"", False
    while block := os.read(fd, _BLOCK):
        lines = (rest + block).split(b"\n")
        rest = lines.pop()
        for line in lines:
            if skipping or len(line) > LINE_LIMIT:
                too_long(number)
                skipping = False
            else:
                yield line
            number += 1
        if len(rest) > LINE_LIMIT:
            rest, skipping = b"", True
    if skipping or len(rest) > LINE_LIMIT:
        too_long(number)
    elif rest:
        yield rest
