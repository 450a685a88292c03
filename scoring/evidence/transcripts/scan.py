"""Reads many transcripts at once: in several processes, while the caller does something else.

The work is cut into tasks, ranges of whole lines of about 32 MB, largest first, which a pool of processes shares.
"""

import contextlib
import gc
import os
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from scoring.evidence.files import reason
from scoring.evidence.transcripts.events import (
    TYPECODES,
    FileEvents,
    IterationWindow,
    PlainEvent,
    WindowFacts,
    WindowSums,
)
from scoring.evidence.transcripts.index import Indexed, Stamp, TranscriptIndex, event_index
from scoring.evidence.transcripts.lines import LineReader
from scoring.evidence.transcripts.pool import WorkerPool
from scoring.evidence.transcripts.reader import (
    Warn,
    open_transcript,
    read_part,
    silent,
    transcript_files,
)

if TYPE_CHECKING:
    from scoring.evidence.observed import TranscriptSurvey

TASK_SIZE = 32 << 20
"""About how many bytes one task reads."""

HELD_EVENTS = 100_000
"""How many events that the index knows are held until they are summed up; further ones are read from it twice."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A range of lines of one transcript."""

    source: int
    start: int
    end: int


@dataclass(slots=True)
class _Result:
    """What one task found. ``whole`` is false when the file could not be read."""

    events: FileEvents
    behind: int
    tail: PlainEvent | None
    warnings: list[str]
    whole: bool


@dataclass(slots=True)
class _Source:
    """One transcript: its state when the scan began, what the index knew, and what its tasks found.

    ``recall`` is true when the index knows the transcript up to ``start`` and its events must be fetched once more.
    """

    path: Path
    stamp: Stamp
    start: int
    known: Indexed[FileEvents] | None
    recall: bool
    tasks: int = 0
    parts: dict[int, _Result] = field(default_factory=dict)


class TranscriptScan:
    """One reading of the transcripts in some directories.

    ``start`` lets it run in the background, ``facts`` waits for it and sums up, ``close`` gives it up. Use it as a
    context manager, which closes it.
    """

    def __init__(
        self,
        directories: Sequence[Path | str],
        warn: Warn,
        cache_dir: Path | None = None,
        processes: int | None = None,
        keep: bool = True,
    ) -> None:
        """Prepare to read.

        Args:
            directories: folders of transcript files.
            warn: takes warnings about what is skipped.
            cache_dir: where what was read is kept; None reads everything anew.
            processes: how many processes may read, this one included; None lets the amount decide.
            keep: whether what is read is written to the cache; without it the cache is only read.
        """
        self._directories = directories
        self._warn = warn
        self.cache_dir = cache_dir
        self._index: TranscriptIndex[FileEvents] | None = event_index(cache_dir) if cache_dir else None
        self._processes = processes
        self._keeps = keep
        self._sources: list[_Source] = []
        self._tasks: list[_Task] = []
        self._pool = WorkerPool(lambda number: self._do(self._tasks[number]), _packed, _unpacked)
        self._started = False
        self._held = 0
        self._reader = LineReader()

    def __enter__(self) -> "TranscriptScan":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> "TranscriptScan":
        """Find out what must be read, and begin to read it in worker processes where that pays."""
        if self._started:
            return self
        self._started = True
        for path in transcript_files(self._directories, self._warn):
            self._plan(path)
        self._tasks.sort(key=lambda task: task.start - task.end)
        self._pool.start(len(self._tasks), sum(task.end - task.start for task in self._tasks), self._processes)
        return self

    def facts(self, windows: Sequence[IterationWindow]) -> list[WindowFacts]:
        """Return what lies in each window, when everything has been read."""
        self.start()
        sums = WindowSums(windows)
        for source in self._finished_sources():
            for events in self._events_of(source):
                sums.add(events)
        return sums.facts()

    def survey(self) -> "TranscriptSurvey":
        """Return which folders and files were read; lines are not told apart here."""
        from scoring.evidence.observed import FileFound, RootFound, TranscriptSurvey  # for those who ask

        paths = [source.path for source in self._sources]
        roots = []
        for directory in map(Path, self._directories):
            count = sum(path.parent == directory for path in paths)
            problem = "" if count else "no *.jsonl file directly inside" if directory.is_dir() else "no such directory"
            roots.append(RootFound(directory, "--transcript-dir", files=count, problem=problem))
        return TranscriptSurvey(tuple(roots), tuple(FileFound(path) for path in paths))

    def close(self) -> None:
        """Stop the worker processes, if they still run, and let go of everything."""
        self._pool.close()

    def _plan(self, path: Path) -> None:
        """Note a transcript, and the tasks that read what the index does not know of it."""
        fd = open_transcript(path, self._warn)
        if fd is None:
            return
        try:
            stamp = Stamp.of(fd)
            known = self._index.load(path, fd, stamp) if self._index else None
            start = known.offset if known else 0
            bounds = [start, *_line_starts(fd, start, stamp.size), stamp.size]
        except OSError as e:
            self._warn(f"transcript {path}: {reason(e)}; skipped")
            return
        finally:
            os.close(fd)
        self._held += len(known.events.times) if known else 0
        recall = known is not None and self._held > HELD_EVENTS
        source = _Source(path, stamp, start, None if recall else known, recall)
        number = len(self._sources)
        self._sources.append(source)
        ranges = [(a, b) for a, b in pairwise(bounds) if a < b]
        source.tasks = len(ranges)
        self._tasks += [_Task(number, a, b) for a, b in ranges]

    def _do(self, task: _Task) -> _Result:
        path = self._sources[task.source].path
        warnings: list[str] = []

        def too_long(offset: int) -> None:
            warnings.append(f"transcript {path}: the line at byte {offset} is over 16 MiB; skipped")

        nothing = _Result(FileEvents.of([]), 0, None, warnings, whole=False)
        fd = open_transcript(path, warnings.append)
        if fd is None:
            return nothing
        try:
            with _no_collection():
                part = read_part(fd, task.start, task.end, self._reader, too_long)
                return _Result(FileEvents.of(part.events), part.behind, part.tail, warnings, whole=True)
        except OSError as e:
            warnings.append(f"transcript {path}: {reason(e)}; skipped")
            return nothing
        finally:
            os.close(fd)

    def _finished_sources(self) -> Iterator[_Source]:
        """Yield every transcript as soon as all of it has been read; nothing is held longer than that."""
        for source in self._sources:
            if not source.tasks:
                yield source
        for number, part in self._pool.results():
            source = self._sources[self._tasks[number].source]
            source.parts[self._tasks[number].start] = part
            if len(source.parts) == source.tasks:
                yield source

    def _events_of(self, source: _Source) -> list[FileEvents]:
        """Return the events of a transcript that was read, and keep them in the index."""
        if source.recall:
            self._recall(source)
        parts = [source.parts[start] for start in sorted(source.parts)]
        source.parts = {}
        for part in parts:
            for warning in part.warnings:
                self._warn(warning)
        if not all(part.whole for part in parts):
            return []
        events = FileEvents.joined(
            [*([source.known.events] if source.known else []), *(p.events for p in parts)] or [FileEvents.of([])]
        )
        tails = [FileEvents.of([part.tail]) for part in parts if part.tail is not None]
        # What was warned of is read again next time, to be warned of again.
        if parts and self._index and self._keeps and not any(part.warnings for part in parts):
            self._keep(source, Indexed(source.stamp, parts[-1].behind, events))
        source.known = None
        return [events, *tails]

    def _recall(self, source: _Source) -> None:
        """Fetch what the index knew when the scan began; read the transcript when it knows it no more."""
        assert self._index is not None
        fd = open_transcript(source.path, silent)
        if fd is not None:
            try:
                source.known = self._index.load(source.path, fd, Stamp.of(fd))
            finally:
                os.close(fd)
        if source.known is None or source.known.offset != source.start:
            source.known = None
            source.parts[0] = self._do(_Task(self._sources.index(source), 0, source.start))

    def _keep(self, source: _Source, indexed: Indexed[FileEvents]) -> None:
        """Put a transcript into the index, unless it changed under the reading in another way than by growing."""
        assert self._index is not None
        if source.known and source.known.stamp == indexed.stamp and source.known.offset == indexed.offset:
            return
        fd = open_transcript(source.path, silent)
        if fd is None:
            return
        try:
            now = Stamp.of(fd)
            if now == source.stamp or (now.inode == source.stamp.inode and now.size > source.stamp.size):
                self._index.save(source.path, fd, indexed)
        finally:
            os.close(fd)


class Reading(TypedDict, total=False):
    """How transcripts are read.

    ``warn`` takes a line of text about what is skipped: a directory that does not exist, a file that cannot be read, a
    line over 16 MiB. ``cache_dir`` is where what was read is kept; without one everything is read anew.
    ``processes`` is how many processes read; by default the amount decides. Without ``keep`` the cache is only read.
    """

    warn: Warn
    cache_dir: Path | None
    processes: int | None
    keep: bool


def transcript_scan(*directories: Path | str, **reading: Unpack[Reading]) -> TranscriptScan:
    """Prepare the reading of the transcripts in some directories."""
    warn, cache_dir = reading.get("warn", silent), reading.get("cache_dir")
    return TranscriptScan(directories, warn, cache_dir, reading.get("processes"), reading.get("keep", True))


def _line_starts(fd: int, start: int, end: int) -> Iterator[int]:
    """Yield offsets, about a task's size apart, at which a line begins."""
    at = start + TASK_SIZE
    while at < end:
        found, look = None, at
        while found is None and look < end and (block := os.pread(fd, 1 << 16, look)):
            place = block.find(b"\n")
            found = look + place + 1 if place >= 0 else None
            look += len(block)
        if found is None or found >= end:
            return
        yield found
        at = found + TASK_SIZE


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from looking through millions of tuples that hold no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _packed(part: _Result) -> tuple[Any, ...]:
    columns = [column.tobytes() for column in part.events.columns()]
    tail = None if part.tail is None else tuple(part.tail)
    return columns, part.behind, tail, part.warnings, part.whole


def _unpacked(packed: tuple[Any, ...]) -> _Result:
    columns, behind, tail, warnings, whole = packed
    events = FileEvents.of_columns([array(code, data) for code, data in zip(TYPECODES, columns, strict=True)])
    return _Result(events, behind, tail, warnings, whole)
