"""Does numbered tasks in several processes, while the caller does something else.

Tasks are numbers in a file that all processes read from at one shared offset, so each task is taken once, by whoever is
free. A worker process is a fork of this one; it leaves its results in a temporary file of its own. The caller takes
part once it needs the results, and does what a worker that died left undone.
"""

import contextlib
import marshal
import os
import signal
import struct
from collections.abc import Callable, Iterator
from typing import IO, Any, Generic, TypeVar

T = TypeVar("T")

WORTH_A_PROCESS = 8 << 20
"""How many bytes there must be to read for each further process."""

MOST_PROCESSES = 8

_NUMBER = struct.Struct("<I")


class WorkerPool(Generic[T]):
    """Processes that do the tasks 0, 1, 2 … of one list, each once."""

    def __init__(self, do: Callable[[int], T], pack: Callable[[T], Any], unpack: Callable[[Any], T]) -> None:
        """Say what a task is.

        Args:
            do: does the task of a number, in this process or in another one.
            pack: turns what came out into what ``marshal`` can write.
            unpack: turns that back.
        """
        self._do, self._pack, self._unpack = do, pack, unpack
        self._count = 0
        self._queue: int | None = None
        self._workers: dict[int, IO[bytes]] = {}

    def start(self, count: int, size: int, processes: int | None = None) -> None:
        """Begin with the tasks in other processes, where that pays.

        Args:
            count: how many tasks there are.
            size: how many bytes they will read.
            processes: how many processes to use, this one included; None lets the amount decide.
        """
        self._count = count
        workers = _worker_count(size, processes) if count else 0
        if workers > 0:
            self._queue = _number_file(count)
            for _ in range(workers):
                self._fork()

    def results(self) -> Iterator[tuple[int, T]]:
        """Do what nobody has taken yet, and yield the number and the result of every task as they come in."""
        missing = set(range(self._count))
        for number, result in self._finished():
            missing.discard(number)
            yield number, result
        for number in sorted(missing):  # its worker died
            yield number, self._do(number)

    def close(self) -> None:
        """Stop the worker processes, if they still run."""
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

    def _fork(self) -> None:
        import tempfile  # a scan without workers does not pay for it

        # Results wait in a file, not in a pipe: nobody reads them until the worker has ended.
        results = tempfile.TemporaryFile(prefix="da-score-")  # noqa: SIM115 - closed with the pool
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
        """Take tasks until there are none left."""
        if self._queue is None:
            yield from range(self._count)
            return
        while number := os.read(self._queue, _NUMBER.size):
            yield _NUMBER.unpack(number)[0]

    def _finished(self) -> Iterator[tuple[int, T]]:
        for number in self._taken():
            yield number, self._do(number)
        while self._workers:
            process, results = self._workers.popitem()
            os.waitpid(process, 0)
            with results:
                results.seek(0)
                while True:
                    try:
                        number, packed = marshal.load(results)  # noqa: S302 - what our own fork wrote
                    except (EOFError, ValueError, TypeError):
                        break
                    yield number, self._unpack(packed)


def _worker_count(size: int, processes: int | None) -> int:
    """Return how many processes beside this one are worth their start."""
    if not _may_fork():
        return 0
    if processes is not None:
        return min(processes, MOST_PROCESSES) - 1
    if size < WORTH_A_PROCESS:
        return 0
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSES, size // WORTH_A_PROCESS) - 1


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
