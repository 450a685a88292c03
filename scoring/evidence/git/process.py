"""A running git: what it is sent, and what it prints, within limits."""

import os
import select
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

from scoring.errors import GitError
from scoring.evidence.git.limits import GitTime
from scoring.files import size_in_words

CHUNK_SIZE = 120_000
"""The most bytes of git's output that one read takes."""

TIMEOUT_VARIABLE = "DA_SCORE_GIT_TIMEOUT"
DEFAULT_TIMEOUT = 300
"""Seconds without output after which git is stopped, unless the variable gives another number."""
_LONGEST_TIMEOUT = 8  # digits

OBJECT_LIMIT = 256 << 20
"""The most bytes of one object."""

WORDS_ABOUT_OBJECT = 3
"""Words with which ``cat-file`` describes an object that it has: its id, its type, its size."""

_ERRORS_LIMIT = 64 << 10  # bytes of git's messages that are kept


class StartedProcess(Protocol):
    """A process that was started with pipes."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None
    returncode: int

    def kill(self) -> None:
        """End it."""


def time_limit() -> float:
    """Return the seconds without output after which git is stopped."""
    text = os.environ.get(TIMEOUT_VARIABLE, "")
    is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST_TIMEOUT
    if is_number and int(text) > 0:
        return float(text)
    return DEFAULT_TIMEOUT


class GitProcess:
    """A running git. What it is sent goes to it while its answer is read.

    Attributes:
        errors: the beginning of what it printed about errors.
    """

    def __init__(
        self, popen: StartedProcess, directory: Path, timeout: float, git_time: GitTime
    ) -> None:
        assert popen.stdin is not None
        assert popen.stdout is not None
        assert popen.stderr is not None
        self.errors = b""
        self._popen = popen
        self._directory = directory
        self._timeout = timeout
        self._time = git_time
        self._input = popen.stdin
        self._unsent = memoryview(b"")
        self._ends_input = False

        self._output = popen.stdout.fileno()
        self._open = {self._output, popen.stderr.fileno()}
        self._pipes = select.poll()
        for descriptor in self._open:
            self._pipes.register(descriptor, select.POLLIN)

    @property
    def exit_status(self) -> int:
        """The exit status, once git has ended."""
        return self._popen.returncode

    def kill(self) -> None:
        """End git."""
        self._popen.kill()

    def send(self, data: bytes, *, is_all: bool = False) -> None:
        """Send bytes, when the last ones are gone, and the end of input if they are all."""
        self._unsent = memoryview(data)
        self._ends_input = is_all
        self._pipes.register(self._input, select.POLLOUT)

    def next_chunk(self, ends_at: float | None = None) -> bytes:
        """Return what git prints next, or b"" at the end.

        Raises:
            GitError: it prints nothing in time, or nothing until a time on the monotonic clock.
        """
        while self._open:
            seconds = self._timeout
            if ends_at is not None:
                seconds = max(ends_at - time.monotonic(), 0)
            with self._time.waiting():
                events = self._pipes.poll(seconds * 1000)
            if not events:
                raise GitError(
                    f"{self._directory}: git did not answer in time: a file in it may be a pipe or"
                    f" device, or slow; {TIMEOUT_VARIABLE} gives it more than"
                    f" {self._timeout:g} seconds"
                )

            for descriptor, _ in events:
                if descriptor not in self._open:
                    self._write()
                    continue

                chunk = os.read(descriptor, CHUNK_SIZE)
                if not chunk:
                    self._pipes.unregister(descriptor)
                    self._open.remove(descriptor)
                elif descriptor == self._output:
                    return chunk
                elif len(self.errors) < _ERRORS_LIMIT:
                    self.errors += chunk
        return b""

    def _write(self) -> None:
        """Write as much as the pipe takes for certain."""
        try:
            size = os.write(self._input.fileno(), self._unsent[: select.PIPE_BUF])
        except OSError:  # git has ended, and says why
            size = len(self._unsent)

        self._unsent = self._unsent[size:]
        if not self._unsent:
            self._pipes.unregister(self._input)
            if self._ends_input:
                self._input.close()


def content_of(oid: str, process: GitProcess) -> Iterator[bytes]:
    """Yield the content of an object from a running ``cat-file --batch``.

    Git prints a line with the size, the content, and a line end.
    """
    process.send(oid.encode("utf-8", "surrogateescape") + b"\n")
    head = b""
    while b"\n" not in head:
        chunk = process.next_chunk()
        if not chunk:
            break
        head += chunk

    about, _, chunk = head.partition(b"\n")
    words = about.split()
    if len(words) != WORDS_ABOUT_OBJECT:
        raise GitError(f"object {oid} is not in this clone, or cannot be read")

    size = int(words[2])
    if size > OBJECT_LIMIT:
        raise GitError(f"object {oid} is larger than {size_in_words(OBJECT_LIMIT)}")

    left = size + len(b"\n") - len(chunk)
    while left > 0:
        yield chunk
        chunk = process.next_chunk()
        if not chunk:
            raise GitError(f"object {oid}: git ended early")
        left -= len(chunk)
    yield chunk[:-1]
