"""Work that is shared with other processes, forks of this one, while the caller goes on or takes part.

Tasks are the numbers 0, 1, 2 … below a count. A fork has all that this process has, so a task needs no more than its
number; what it finds comes back in a file, packed by whoever gave the work.
"""

import contextlib
import marshal
import os
import signal
import struct
from collections.abc import Callable, Iterator
from typing import IO, Any, Generic, TypeVar

MOST = 8
"""How many processes are used at most, this one included."""

R = TypeVar("R")
_NUMBER = struct.Struct("<I")


def how_many(asked: int | None, worth: int) -> int:
    """Return how many processes to use, this one included.

    Args:
        asked: how many are wanted; None lets the amount of work and the machine decide.
        worth: how many the work is worth.
    """
    if not hasattr(os, "fork") or not hasattr(os, "sched_getaffinity"):
        return 1
    try:
        if len(os.listdir("/proc/self/task")) != 1:  # a fork in a process with threads may never wake up
            return 1
    except OSError:
        return 1
    return max(min(cores(), worth, MOST) if asked is None else min(asked, MOST), 1)


def cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers(Generic[R]):
    """Processes that do the tasks of one list, each once.

    The numbers are in a file that all processes read from at one shared offset, so each is taken by whoever is free.
    A worker leaves its results in a temporary file of its own. The caller takes part once it needs the results, and
    does what a worker that died left undone.
    """

    def __init__(
        self, do: Callable[[int], R], pack: Callable[[R], Any] = lambda r: r, unpack: Callable[[Any], R] = lambda r: r
    ) -> None:
        """Take the work.

        Args:
            do: does the task of a number, in this process or in another one. What it raises in another one ends that;
                the caller then does the task, and gets the error.
            pack: makes of a result what ``marshal`` can write.
            unpack: makes the result of that again.
        """
        self._do, self._pack, self._unpack = do, pack, unpack
        self._count = 0
        self._queue: int | None = None
        self._workers: dict[int, IO[bytes]] = {}

    def start(self, count: int, processes: int) -> None:
        """Begin with ``count`` tasks in at most ``processes`` processes, this one included, which does nothing yet."""
        self._count, processes = count, min(processes, count)
        if processes > 1:
            import tempfile  # who has no workers does not pay for it

            with tempfile.TemporaryFile(prefix="da-score-") as f:
                f.write(b"".join(map(_NUMBER.pack, range(count))))
                f.seek(0)
                self._queue = os.dup(f.fileno())
            # Results wait in files, not in pipes: nobody reads them until the worker has ended.
            for _ in range(processes - 1):
                self._fork(tempfile.TemporaryFile(prefix="da-score-"))  # noqa: SIM115 - closed with the pool

    def results(self) -> Iterator[tuple[int, R]]:
        """Do what nobody has taken yet, and yield the number and the result of every task as they come in."""
        missing = set(range(self._count))
        for number in self._taken():
            missing.discard(number)
            yield number, self._do(number)
        while self._workers:
            process, file = self._workers.popitem()
            os.waitpid(process, 0)
            with file:
                for number, packed in _marshalled(file):
                    missing.discard(number)
                    yield number, self._unpack(packed)
        for number in sorted(missing):  # its worker died
            yield number, self._do(number)

    def in_order(self) -> Iterator[R]:
        """Yield the same results in the order of the tasks."""
        early: dict[int, R] = {}
        wanted = 0
        for number, result in self.results():
            early[number] = result
            while wanted in early:
                yield early.pop(wanted)
                wanted += 1

    def __enter__(self) -> "Workers[R]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the workers, if they still run."""
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

    def _fork(self, results: IO[bytes]) -> None:
        parent = os.getpid()
        process = os.fork()
        if process:
            self._workers[process] = results
            return
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            for number in self._taken():
                marshal.dump((number, self._pack(self._do(number))), results)
                if os.getppid() != parent:  # nobody will read the results
                    break
            results.flush()
            status = 0
        finally:
            os._exit(status)

    def _taken(self) -> Iterator[int]:
        if self._queue is None:
            yield from range(self._count)
            return
        while number := os.read(self._queue, _NUMBER.size):
            yield _NUMBER.unpack(number)[0]


def in_order(
    count: int,
    processes: int,
    do: Callable[[int], R],
    pack: Callable[[R], Any] = lambda r: r,
    unpack: Callable[[Any], R] = lambda r: r,
) -> Iterator[R]:
    """Yield the results of the tasks below ``count`` in their order, done by at most so many processes.

    The rest is as for :class:`Workers`.
    """
    with Workers(do, pack, unpack) as workers:
        workers.start(count, processes)
        yield from workers.in_order()


def _marshalled(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    file.seek(0)
    with contextlib.suppress(EOFError, ValueError, TypeError):
        while True:
            yield marshal.load(file)  # noqa: S302 - what our own fork wrote
