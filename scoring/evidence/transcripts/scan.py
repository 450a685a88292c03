"""Reads many transcripts at once: in several processes, while the caller does something else.

The work is cut into tasks, ranges of whole lines of about 32 MB, largest first, which a pool of processes shares.
:class:`Scan` is the reading itself, whatever is made of a line; :class:`TranscriptScan` is the reference's.
"""

import contextlib
import gc
import os
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypedDict, TypeVar, Unpack

from scoring.evidence.transcripts.events import (
    TYPECODES,
    FileEvents,
    IterationWindow,
    WindowFacts,
    WindowSums,
)
from scoring.evidence.transcripts.index import Indexed, Stamp, TranscriptIndex, event_index
from scoring.evidence.transcripts.pool import WorkerPool
from scoring.evidence.transcripts.reader import (
    Warn,
    open_transcript,
    read_part,
    silent,
    transcript_files,
)
from scoring.evidence.transcripts.reference import LineReader
from scoring.files import reason

if TYPE_CHECKING:
    from scoring.evidence.transcripts.facts import TranscriptSurvey

TASK_SIZE = 32 << 20
"""About how many bytes one task reads."""

E = TypeVar("E")

HELD_EVENTS = 100_000
"""How many events that the index knows are held until they are summed up; further ones are read from it twice."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A range of lines of one transcript."""

    source: int
    start: int
    end: int


@dataclass(slots=True)
class Found(Generic[E]):
    """What one task found.

    ``events`` are those of the complete lines up to the offset ``behind``, ``tail`` is what the line after it
    contributes, which may still be growing. ``whole`` is false when the file could not be read.
    """

    events: E
    behind: int
    tail: E | None
    warnings: list[str]
    whole: bool = True


@dataclass(slots=True)
class Source(Generic[E]):
    """One transcript: its state when the scan began, what the index knew, and what its tasks found.

    ``recall`` is true when the index knows the transcript up to ``start`` and its events must be fetched once more.
    """

    path: Path
    stamp: Stamp
    start: int
    known: Indexed[E] | None
    recall: bool
    tasks: int = 0
    parts: dict[int, Found[E]] = field(default_factory=dict)


class Scan(ABC, Generic[E]):
    """One reading of transcripts, of which each line is made into events of the type ``E``.

    ``start`` lets it run in the background, ``close`` gives it up. Use it as a context manager, which closes it.
    """

    def __init__(
        self,
        warn: Warn,
        index: TranscriptIndex[E] | None = None,
        processes: int | None = None,
        keep: bool = True,
    ) -> None:
        """Prepare to read.

        Args:
            warn: takes warnings about what is skipped.
            index: where what was read is kept; None reads everything anew.
            processes: how many processes may read, this one included; None lets the amount decide.
            keep: whether what is read is written to the index; without it the index is only read.
        """
        self._warn = warn
        self._index = index
        self._processes = processes
        self._keeps = keep
        self._sources: list[Source[E]] = []
        self._tasks: list[_Task] = []
        self._pool = WorkerPool(lambda number: self._do(self._tasks[number]), self._packed, self._unpacked)
        self._started = False
        self._held = 0

    @abstractmethod
    def _paths(self) -> Iterable[Path]:
        """Return the transcripts to read."""

    @abstractmethod
    def _read(self, fd: int, path: Path, start: int, end: int, too_long: Callable[[int], None]) -> Found[E]:
        """Read the lines of a transcript between two offsets, and tell ``too_long`` the offsets of those skipped.

        Raises:
            OSError: the file cannot be read.
        """

    @abstractmethod
    def _joined(self, parts: Sequence[E]) -> E:
        """Put the parts of one transcript, in order, together; of none, nothing."""

    @abstractmethod
    def _weight(self, events: E) -> int:
        """Return about how many events there are."""

    @abstractmethod
    def _plain(self, events: E) -> Any:
        """Return events as what ``marshal`` can write."""

    @abstractmethod
    def _events(self, plain: Any) -> E:
        """Return the events that :meth:`_plain` was given."""

    def _in_one_piece(self, path: Path) -> bool:  # noqa: ARG002 - for those that tell them apart
        """Tell whether a transcript can only be read from its beginning to its end."""
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Self:
        """Find out what must be read, and begin to read it in worker processes where that pays."""
        if self._started:
            return self
        self._started = True
        for path in self._paths():
            self._plan(path)
        self._tasks.sort(key=lambda task: task.start - task.end)
        self._pool.start(len(self._tasks), sum(task.end - task.start for task in self._tasks), self._processes)
        return self

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
            if self._in_one_piece(path):
                known = known if known and known.stamp == stamp else None
                bounds = [stamp.size if known else 0, stamp.size]
            else:
                start = known.offset if known else 0
                bounds = [start, *_line_starts(fd, start, stamp.size), stamp.size]
        except OSError as e:
            self._warn(f"transcript {path}: {reason(e)}; skipped")
            return
        finally:
            os.close(fd)
        self._held += self._weight(known.events) if known else 0
        recall = known is not None and self._held > HELD_EVENTS
        source = Source(path, stamp, bounds[0], None if recall else known, recall)
        number = len(self._sources)
        self._sources.append(source)
        ranges = [(a, b) for a, b in pairwise(bounds) if a < b]
        source.tasks = len(ranges)
        self._tasks += [_Task(number, a, b) for a, b in ranges]

    def _do(self, task: _Task) -> Found[E]:
        path = self._sources[task.source].path
        warnings: list[str] = []

        def too_long(offset: int) -> None:
            warnings.append(f"transcript {path}: the line at byte {offset} is over 16 MiB; skipped")

        nothing = Found(self._joined([]), 0, None, warnings, whole=False)
        fd = open_transcript(path, warnings.append)
        if fd is None:
            return nothing
        try:
            with _no_collection():
                found = self._read(fd, path, task.start, task.end, too_long)
        except OSError as e:
            warnings.append(f"transcript {path}: {reason(e)}; skipped")
            return nothing
        finally:
            os.close(fd)
        found.warnings[:0] = warnings
        return found

    def _finished_sources(self) -> Iterator[Source[E]]:
        """Yield every transcript as soon as all of it has been read; nothing is held longer than that."""
        for source in self._sources:
            if not source.tasks:
                yield source
        for number, part in self._pool.results():
            source = self._sources[self._tasks[number].source]
            source.parts[self._tasks[number].start] = part
            if len(source.parts) == source.tasks:
                yield source

    def _events_of(self, source: Source[E]) -> list[E]:
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
        events = self._joined([*([source.known.events] if source.known else []), *(part.events for part in parts)])
        tails = [part.tail for part in parts if part.tail is not None]
        # What was warned of is read again next time, to be warned of again.
        if parts and self._index and self._keeps and not any(part.warnings for part in parts):
            self._keep(source, Indexed(source.stamp, parts[-1].behind, events))
        source.known = None
        return [events, *tails]

    def _recall(self, source: Source[E]) -> None:
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

    def _read_again(self, source: Source[E]) -> E:
        """Read a transcript from its beginning, whatever is known of it, as it was when the scan began."""
        found = self._do(_Task(self._sources.index(source), 0, source.stamp.size))
        return self._joined([found.events, *([] if found.tail is None else [found.tail])])

    def _keep(self, source: Source[E], indexed: Indexed[E]) -> None:
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

    def _packed(self, found: Found[E]) -> tuple[Any, ...]:
        tail = None if found.tail is None else self._plain(found.tail)
        return self._plain(found.events), found.behind, tail, found.warnings, found.whole

    def _unpacked(self, packed: tuple[Any, ...]) -> Found[E]:
        events, behind, tail, warnings, whole = packed
        return Found(self._events(events), behind, None if tail is None else self._events(tail), warnings, whole)


class TranscriptScan(Scan[FileEvents]):
    """One reading of the transcripts directly inside some directories, by the reference's rules.

    ``facts`` waits for it and sums up.
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
        super().__init__(warn, event_index(cache_dir) if cache_dir else None, processes, keep)
        self._directories = directories
        self.cache_dir = cache_dir
        self._reader = LineReader()

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
        from scoring.evidence.transcripts.facts import FileFound, RootFound, TranscriptSurvey  # for those who ask

        paths = [source.path for source in self._sources]
        roots = []
        for directory in map(Path, self._directories):
            count = sum(path.parent == directory for path in paths)
            problem = "" if count else "no *.jsonl file directly inside" if directory.is_dir() else "no such directory"
            roots.append(RootFound(directory, "--transcript-dir", files=count, problem=problem))
        return TranscriptSurvey(tuple(roots), tuple(FileFound(path) for path in paths))

    def _paths(self) -> list[Path]:
        return transcript_files(self._directories, self._warn)

    def _read(self, fd: int, _path: Path, start: int, end: int, too_long: Callable[[int], None]) -> Found[FileEvents]:
        part = read_part(fd, start, end, self._reader, too_long)
        tail = None if part.tail is None else FileEvents.of([part.tail])
        return Found(FileEvents.of(part.events), part.behind, tail, [])

    def _joined(self, parts: Sequence[FileEvents]) -> FileEvents:
        return FileEvents.joined(parts or [FileEvents.of([])])

    def _weight(self, events: FileEvents) -> int:
        return len(events.times)

    def _plain(self, events: FileEvents) -> list[bytes]:
        return [column.tobytes() for column in events.columns()]

    def _events(self, plain: list[bytes]) -> FileEvents:
        return FileEvents.of_columns([array(code, data) for code, data in zip(TYPECODES, plain, strict=True)])


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
