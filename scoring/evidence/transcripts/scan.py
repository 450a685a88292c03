"""Reads many transcripts at once: in several processes, while the caller does something else.

The work is cut into tasks, ranges of whole lines of about 32 MB, largest first. Tasks are numbers in a file that all
processes read from at one shared offset, so each task is taken once, by whoever is free. A worker process is a fork of
this one; it leaves its results in a temporary file of its own. The caller takes part once it needs the results, and
does what a worker that died left undone.
"""

import contextlib
import gc
import marshal
import os
import signal
import struct
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, TypedDict, Unpack

from scoring.evidence.files import reason
from scoring.evidence.transcripts.events import (
    TYPECODES,
    FileEvents,
    IterationWindow,
    PlainEvent,
    WindowFacts,
    WindowSums,
)
from scoring.evidence.transcripts.index import Indexed, Stamp, TranscriptIndex
from scoring.evidence.transcripts.lines import LineReader
from scoring.evidence.transcripts.reader import (
    Warn,
    open_transcript,
    read_part,
    silent,
    transcript_files,
)

TASK_SIZE = 32 << 20
"""About how many bytes one task reads."""

WORTH_A_PROCESS = 8 << 20
"""How many bytes there must be to read for each further process."""

MOST_PROCESSES = 8

HELD_EVENTS = 100_000
"""How many events that the index knows are held until they are summed up; further ones are read from it twice."""

_NUMBER = struct.Struct("<I")


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
    known: Indexed | None
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
        self._index = TranscriptIndex(cache_dir) if cache_dir else None
        self._processes = processes
        self._keeps = keep
        self._sources: list[_Source] = []
        self._tasks: list[_Task] = []
        self._queue: int | None = None
        self._workers: dict[int, IO[bytes]] = {}
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
        workers = self._worker_count() if self._tasks else 0
        if workers:
            self._queue = _number_file(len(self._tasks))
            for _ in range(workers):
                self._fork()
        return self

    def facts(self, windows: Sequence[IterationWindow]) -> list[WindowFacts]:
        """Return what lies in each window, when everything has been read."""
        self.start()
        sums = WindowSums(windows)
        for source in self._finished_sources():
            for events in self._events_of(source):
                sums.add(events)
        return sums.facts()

    def close(self) -> None:
        """Stop the worker processes, if they still run, and let go of everything."""
        for process, results in self._workers.items():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)
            results.close()
        self._workers.clear()
        if self._queue is not None:
            os.close(self._queue)
            self._queue = None

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

    def _worker_count(self) -> int:
        """Return how many processes beside this one are worth their start."""
        if not _may_fork():
            return 0
        if self._processes is not None:
            return min(self._processes, MOST_PROCESSES) - 1
        size = sum(task.end - task.start for task in self._tasks)
        return (
            min(len(os.sched_getaffinity(0)), MOST_PROCESSES, size // WORTH_A_PROCESS) - 1
            if size >= WORTH_A_PROCESS
            else 0
        )

    def _fork(self) -> None:
        import tempfile  # a scan without workers does not pay for it

        # Results wait in a file, not in a pipe: nobody reads them until the worker has ended.
        results = tempfile.TemporaryFile(prefix="da-score-")  # noqa: SIM115 - closed with the scan
        parent = os.getpid()
        process = os.fork()
        if process:
            self._workers[process] = results
            return
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            for number in self._taken():
                marshal.dump(_packed(number, self._do(self._tasks[number])), results)
                if os.getppid() != parent:  # nobody will read the results
                    break
            results.flush()
            status = 0
        finally:
            os._exit(status)

    def _taken(self) -> Iterator[int]:
        """Take tasks until there are none left."""
        if self._queue is None:
            yield from range(len(self._tasks))
            return
        while number := os.read(self._queue, _NUMBER.size):
            yield _NUMBER.unpack(number)[0]

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
        done: set[int] = set()
        for number, part in self._results():
            done.add(number)
            source = self._sources[self._tasks[number].source]
            source.parts[self._tasks[number].start] = part
            if len(source.parts) == source.tasks:
                yield source
        for number in range(len(self._tasks)):
            if number not in done:  # its worker died
                task = self._tasks[number]
                source = self._sources[task.source]
                source.parts[task.start] = self._do(task)
                if len(source.parts) == source.tasks:
                    yield source

    def _results(self) -> Iterator[tuple[int, _Result]]:
        for number in self._taken():
            yield number, self._do(self._tasks[number])
        while self._workers:
            process, results = self._workers.popitem()
            os.waitpid(process, 0)
            with results:
                results.seek(0)
                while True:
                    try:
                        packed = marshal.load(results)  # noqa: S302 - what our own fork wrote
                    except (EOFError, ValueError, TypeError):
                        break
                    yield _unpacked(packed)

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

    def _keep(self, source: _Source, indexed: Indexed) -> None:
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


def _number_file(count: int) -> int:
    """Return a descriptor from which processes read the numbers below ``count``, each number once."""
    import tempfile

    with tempfile.TemporaryFile(prefix="da-score-") as f:
        f.write(b"".join(map(_NUMBER.pack, range(count))))
        f.seek(0)
        return os.dup(f.fileno())


def _may_fork() -> bool:
    """Tell whether this process can be forked safely: a fork in a process with threads may never wake up."""
    if not hasattr(os, "fork") or not hasattr(os, "sched_getaffinity"):
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _packed(number: int, part: _Result) -> tuple[Any, ...]:
    columns = [column.tobytes() for column in part.events.columns()]
    tail = None if part.tail is None else tuple(part.tail)
    return number, columns, part.behind, tail, part.warnings, part.whole


def _unpacked(packed: tuple[Any, ...]) -> tuple[int, _Result]:
    number, columns, behind, tail, warnings, whole = packed
    events = FileEvents.of_columns([array(code, data) for code, data in zip(TYPECODES, columns, strict=True)])
    return number, _Result(events, behind, tail, warnings, whole)
