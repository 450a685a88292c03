"""Reads transcripts, copies of a session as one task, in this process or in forks where there is enough to read."""

import contextlib
import gc
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from scoring.errors import GitError
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import ReadObject
from scoring.evidence.harnesses.harness import Harness
from scoring.evidence.harnesses.lines import Copies, opened, read_parts, read_store, read_whole
from scoring.evidence.transcripts.discovery import TranscriptFile, writers
from scoring.evidence.transcripts.events import EventsByHarness
from scoring.evidence.transcripts.kept import decode_events, encode_events
from scoring.evidence.transcripts.prompts import said_in
from scoring.files import reason

if TYPE_CHECKING:
    from concurrent.futures import Future
    from concurrent.futures.process import ProcessPoolExecutor as Executor


MOST_PROCESSES, WORTH_A_PROCESS = (
    8,
    16 << 20,
)  # and how many bytes there must be to read for each further one
_A_TASK = 1 << 20  # bytes of small transcripts that are read as one task
_MOST_HELD = (
    64 << 20
)  # bytes of a transcript that are held to see whether the next one begins with them


class FileRead(NamedTuple):
    """What was read of a transcript, None where it cannot be read, and skipped, in words; ``packed`` by a worker."""

    events: EventsByHarness | None
    warnings: list[str]
    packed: bytes | None = None


class Reading:
    """What reads one transcript after the other. ``tools`` makes the test tools, where what is done is looked at."""

    def __init__(
        self, harnesses: Sequence[Harness], tools: Callable[[], TestTools] | None = None
    ) -> None:
        self._harnesses, self._make_tools = harnesses, tools
        self._copies: Copies | None = None
        self._open = contextlib.ExitStack()
        self._objects: dict[GitRepository, ReadObject] = {}

    @cached_property
    def _tools(self) -> TestTools | None:
        return self._make_tools() if self._make_tools else None

    def read(self, transcript: TranscriptFile) -> FileRead:
        """Read a transcript, a copy that grew from where the last one ended. Never raises."""
        path, warnings = transcript.path, list[str]()

        def too_long(offset: int) -> None:
            warnings.append(f"transcript {path}: the line at byte {offset} is over 16 MiB; skipped")

        written_by = writers(self._harnesses, transcript)
        how = written_by, too_long, self._tools
        try:
            with _no_collection():
                if transcript.store:
                    return FileRead(read_store(path, written_by[0], self._tools), warnings)
                if (repository := transcript.repository) is not None:
                    if repository not in self._objects:
                        self._objects[repository] = self._open.enter_context(repository.objects())
                    parts = map(self._objects[repository], transcript.blobs)
                    if (
                        transcript.session
                        and len(transcript.blobs) == 1
                        and transcript.size <= _MOST_HELD
                    ):
                        self._copies = self._copies or Copies(written_by, self._tools)
                        return FileRead(
                            self._copies.read(b"".join(next(parts)), too_long), warnings
                        )
                    return FileRead(read_parts(parts, *how), warnings)
                with opened(path, warnings.append) as fd:
                    if fd is not None:
                        return FileRead(
                            read_whole(fd, transcript.compressed, transcript.document, *how),
                            warnings,
                        )
        except (OSError, GitError) as e:
            warnings.append(
                f"transcript {path}: {reason(e) if isinstance(e, OSError) else e}; skipped"
            )
        return FileRead(None, warnings)

    def prepare(self) -> None:
        """Load what is looked for, which processes that are forked then have."""
        if self._tools:
            said_in("")

    def close(self) -> None:
        """End what reads objects in git."""
        self._open.close()
        self._objects.clear()
        self._copies = None


class Pool:
    """The reading of some transcripts, the largest first, which goes on in workers until the results are asked for.

    Copies of one session are read by one process, the shortest first.
    """

    def __init__(
        self,
        reading: Reading,
        transcripts: Mapping[int, tuple[TranscriptFile, int]],
        processes: int | None,
    ) -> None:
        """Begin to read transcripts, each with a number and a size in bytes, which decides on the ``processes``."""
        self._reading, self._transcripts = reading, transcripts
        self._workers: Executor | None = None
        self._futures: list[tuple[list[int], Future[list[tuple[bytes | None, list[str]]]]]] = []
        groups: dict[str | int, list[int]] = {}
        for number in sorted(transcripts, key=lambda number: transcripts[number][1]):
            groups.setdefault(transcripts[number][0].session or number, []).append(number)
        self._groups = sorted(groups.values(), key=min)
        sizes = [sum(transcripts[number][1] for number in group) for group in self._groups]
        count = min(_how_many(processes, sum(sizes) // WORTH_A_PROCESS), len(sizes))
        if count > 1:
            import multiprocessing  # most runs have little to read
            from concurrent.futures import BrokenExecutor, ProcessPoolExecutor

            reading.prepare()
            self._workers = ProcessPoolExecutor(
                count,
                multiprocessing.get_context("fork"),
                _begin_worker,
                (reading, transcripts, os.getpid()),
            )
            tasks, room = list[list[int]](), 0
            for size, group in sorted(
                zip(sizes, self._groups, strict=True), key=lambda one: -one[0]
            ):
                room -= size
                if room < 0:
                    tasks.append([])
                    room = _A_TASK - size
                tasks[-1] += group
            with contextlib.suppress(
                BrokenExecutor
            ):  # a worker was killed already: the rest is read here
                for numbers in tasks:
                    self._futures.append((numbers, self._workers.submit(_read_numbers, numbers)))

    def results(self) -> Iterator[tuple[int, FileRead]]:
        """Yield the number of each transcript and what was read of it."""
        done: set[int] = set()
        if self._futures:
            from concurrent.futures import BrokenExecutor

            with contextlib.suppress(BrokenExecutor):  # a worker was killed: the rest is read here
                while self._futures:
                    group, future = self._futures.pop(0)
                    read = future.result()
                    del future  # and with it the packed rows
                    done.update(group)
                    for number, (encoded, warnings) in zip(group, read, strict=True):
                        yield (
                            number,
                            FileRead(
                                None if encoded is None else decode_events(encoded),
                                warnings,
                                encoded,
                            ),
                        )
        with contextlib.closing(self._reading):
            for number in (
                number for group in self._groups for number in group if number not in done
            ):
                yield number, self._reading.read(self._transcripts[number][0])
        self._transcripts, self._groups = {}, []

    def close(self) -> None:
        """Stop, and leave what is being read."""
        if self._workers is not None:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGINT})
            try:
                if self._futures:  # some are not asked for any more
                    for worker in (self._workers._processes or {}).values():
                        worker.kill()
                self._workers.shutdown(cancel_futures=True)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


_work: tuple[Reading, Mapping[int, tuple[TranscriptFile, int]]]  # in a worker: what it reads


def _begin_worker(
    reading: Reading, transcripts: Mapping[int, tuple[TranscriptFile, int]], parent: int
) -> None:
    global _work
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    end_with(parent)
    _work = reading, transcripts


def end_with(parent: int) -> None:
    """End this worker when the process that started it is gone: its siblings hold the ends of its pipes."""

    def look_for_parent(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look_for_parent)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)


def _read_numbers(numbers: Sequence[int]) -> list[tuple[bytes | None, list[str]]]:
    reading, transcripts = _work
    with _no_collection():  # until the rows are gone
        read = (reading.read(transcripts[number][0]) for number in numbers)
        return [
            (None if events is None else encode_events(events), warnings)
            for events, warnings, _ in read
        ]


def _how_many(asked: int | None, worth: int) -> int:
    """Return how many processes read; 1 is this one alone."""
    try:
        if (
            len(os.listdir("/proc/self/task")) != 1
        ):  # a fork of a process with threads may never wake up
            return 1
    except OSError:
        return 1
    return (
        min(len(os.sched_getaffinity(0)), worth, MOST_PROCESSES)
        if asked is None
        else min(asked, MOST_PROCESSES)
    )


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
