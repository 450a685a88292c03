"""Reads git's objects one after another, in pieces, through one process of git."""

import contextlib
import io
import os
import re
from collections.abc import Iterator

from scoring.errors import GitError
from scoring.evidence.git.repository import OBJECT_WORDS, GitRepository
from scoring.evidence.git.starter import PIECE, as_lines, started

_OBJECT_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


class ObjectReader:
    """One ``git cat-file --batch``, started when it is first needed. After a fork each process starts its own."""

    def __init__(self, repository: GitRepository) -> None:
        """Take the repository; start nothing yet."""
        self._repository = repository
        self._stack = contextlib.ExitStack()
        self._input, self._owner = -1, 0
        self._output: io.BufferedReader | None = None
        self._between = True
        """Whether the last object was read to its end, so that the next one may be asked for."""

    def pieces(self, oid: str) -> Iterator[bytes]:
        """Yield what an object holds, in pieces of at most :data:`PIECE` bytes; its id is in full.

        Raises:
            GitError: it is not here, or git cannot read it.
        """
        if not _OBJECT_ID.fullmatch(oid):
            raise GitError(f"{self._repository.directory}: no object id: {oid!r}")
        try:
            output = self._started()
            self._between = False
            os.write(self._input, as_lines([oid]))
            row = output.readline().split()
            left = int(row[2]) if len(row) == OBJECT_WORDS else 0
            while left and (piece := output.read1(min(left, PIECE))):
                left -= len(piece)
                yield piece
            if left:
                raise GitError(f"object {oid}: git ended early")
            if len(row) == OBJECT_WORDS:
                output.readline()
        except OSError as e:
            raise GitError(f"object {oid}: git cannot be asked: {e.strerror}") from e
        self._between = bool(row)  # without a row git has ended
        if len(row) != OBJECT_WORDS:
            raise GitError(f"object {oid} is not in this clone, or cannot be read")

    def close(self) -> None:
        """End the process, if this one started it; it may be started again."""
        if self._output is not None and self._owner == os.getpid():
            self._stack.close()
        self._stack, self._output, self._between = contextlib.ExitStack(), None, True

    def _started(self) -> io.BufferedReader:
        if not self._between:
            self.close()
        if self._output is None or self._owner != os.getpid():
            self._stack, self._owner = contextlib.ExitStack(), os.getpid()
            repository = self._repository
            starting = started(repository.directory, "cat-file", "--batch", given=None, settings=repository.settings)
            process, self._output = self._stack.enter_context(starting)
            self._stack.callback(process.kill)  # it only reads, and a fork may have the other ends of its pipes
            assert process.stdin is not None
            self._input = process.stdin.fileno()
        return self._output
