"""Starts git 2.32 or newer, without ``GIT_*`` variables and the caller's configuration; nothing else does.

What a log or a repository says goes in on standard input, never as an argument.
"""

import contextlib
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scoring.errors import GitError

_DATA = (Path(__file__).parent / "starter.txt").read_text("utf-8")
_CONFIG, _VARIABLES = (part.split() for part in _DATA.split("\n\n"))
_ENVIRONMENT = {"GIT_CONFIG_GLOBAL": os.devnull} | dict(one.split("=") for one in _VARIABLES)
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME")

PIECE = 120_000  # bytes of git's output that are read at once
TIMEOUT_VARIABLE = "DA_SCORE_GIT_TIMEOUT"
TIMEOUT = 300  # seconds without a word after which git is given up, where the variable names no other number
OBJECT_WORDS = 3  # with which git says that an object is here: its id, its kind, its size

Answer = subprocess.CompletedProcess[bytes]
Content = Callable[
    [str], Iterator[bytes]
]  # yields what an object holds, by its id in full, in pieces


class Git:
    """Git in one directory, which is a repository that :class:`GitRepository` opened, or that da-score made itself."""

    def __init__(self, directory: Path, settings: Sequence[str] = ()) -> None:
        """Take the directory, and further settings for it alone (``safe.directory=/x``)."""
        self.directory, self.settings = directory, tuple(settings)
        self.variables: dict[str, str] = {}  # further ones of its environment

    def ask(self, *arguments: str, given: bytes = b"", limit: float = 0) -> Answer:
        """Run git and return its answer and exit status; GitError when it cannot start, or does not answer in time."""
        return _answer(self._command(arguments), given, limit or time_limit(), self._environment())

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return what git prints, as :meth:`ask` does; GitError, which says why, when it failed."""
        answer = self.ask(*arguments, given=given)
        if answer.returncode:
            why = " ".join(answer.stderr.decode(errors="replace").split())
            raise GitError(
                f"{self.directory}: git {arguments[0]} failed: {why or f'exit {answer.returncode}'}"
            )
        return answer.stdout

    def pieces(self, *arguments: str, given: bytes = b"") -> Generator[bytes, None, None]:
        """Yield what git prints, a piece at a time, for it may be gigabytes; GitError when it failed."""
        with contextlib.ExitStack() as stack:
            try:
                source = stack.enter_context(tempfile.TemporaryFile(buffering=0))
                source.write(given)
                source.seek(0)
            except OSError as e:
                raise GitError(
                    f"no temporary file for git: {e}; set TMPDIR to a folder that can be written to"
                ) from e
            process = stack.enter_context(
                _started(
                    self._command(arguments),
                    self._environment(),
                    stdin=source,
                    stderr=subprocess.DEVNULL,
                )
            )
            yield from iter(_reader(process), b"")
        if process.returncode:
            self.run(*arguments, given=given)  # says why
            raise GitError(
                f"{self.directory}: git {arguments[0]} failed: exit {process.returncode}"
            )

    def lines(
        self, *arguments: str, given: bytes = b"", end: bytes = b"\n"
    ) -> Generator[bytes, None, None]:
        """Yield what git prints up to each ``end``, without it; see :meth:`pieces`."""
        parts: list[bytes] = []
        with contextlib.closing(self.pieces(*arguments, given=given)) as pieces:
            for piece in pieces:
                first, *others = piece.split(end)
                parts.append(first)
                if others:
                    yield b"".join(parts)
                    parts = [others.pop()]
                    yield from others
        if any(parts):
            yield b"".join(parts)

    @contextlib.contextmanager
    def objects(self) -> Iterator[Content]:
        """Give what reads objects, one to its end after the other, by one process; GitError for one not here."""
        command = self._command(("cat-file", "--batch"))
        with contextlib.ExitStack() as stack:
            running: list[tuple[subprocess.Popen[bytes], Callable[[], bytes]]] = []

            def content(oid: str) -> Iterator[bytes]:
                if not running:
                    process = stack.enter_context(
                        _started(command, self._environment(), stderr=subprocess.DEVNULL)
                    )
                    running.append((process, _reader(process)))
                try:
                    yield from _content(*running[0], oid)
                except BaseException:
                    running.pop()[0].kill()  # the rest of what it prints is of this object
                    raise

            yield content

    def callers_setting(self, *question: str) -> str:
        """Return what ``git config`` says of a question in the caller's own settings; "" when it says nothing."""
        environment = {
            name: value
            for name, value in self._environment().items()
            if not name.startswith("GIT_CONFIG_")
        }
        command = ["git", "-C", os.fspath(self.directory), "config", *question]
        return as_text(_answer(command, b"", time_limit(), environment).stdout)

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        return kept | _ENVIRONMENT | self.variables

    def _command(self, arguments: Iterable[str]) -> list[str]:
        options = [part for setting in (*_CONFIG, *self.settings) for part in ("-c", setting)]
        return ["git", "--no-pager", "-C", os.fspath(self.directory), *options, *arguments]


def as_lines(questions: Iterable[str]) -> bytes:
    """Return questions, one a line, as git takes them on standard input."""
    return "".join(f"{question}\n" for question in questions).encode("utf-8", "surrogateescape")


def as_text(raw: bytes) -> str:
    """Return what git printed; bytes that are not UTF-8 are surrogate escapes."""
    return raw.decode("utf-8", "surrogateescape")


def time_limit() -> float:
    """Return after how many seconds without a word git is given up."""
    text = os.environ.get(TIMEOUT_VARIABLE, "")
    return (
        float(text)
        if text.isascii() and text.isdigit() and int(text[:9]) > 0 and len(text) < 9
        else TIMEOUT
    )


def _answer(command: list[str], given: bytes, limit: float, environment: dict[str, str]) -> Answer:
    with _started(command, environment, stderr=subprocess.PIPE) as process:
        try:
            answer = process.communicate(given, timeout=limit)
        except subprocess.TimeoutExpired as e:
            raise _too_late(command, limit) from e
    return subprocess.CompletedProcess(command, process.returncode, *answer)


def _content(
    process: "subprocess.Popen[bytes]", next_piece: Callable[[], bytes], oid: str
) -> Iterator[bytes]:
    """Yield what an object holds, as ``cat-file --batch`` prints it: behind a line with its size, before a line end."""
    assert process.stdin is not None
    try:
        os.write(process.stdin.fileno(), as_lines([oid]))
    except OSError as e:
        raise GitError(f"object {oid}: git cannot be asked: {e.strerror}") from e
    head = b""
    while b"\n" not in head and (piece := next_piece()):
        head += piece
    row, _, piece = head.partition(b"\n")
    words = row.split()
    if len(words) != OBJECT_WORDS:
        raise GitError(f"object {oid} is not in this clone, or cannot be read")
    left = int(words[2]) + 1
    while (left := left - len(piece)) > 0:
        yield piece
        if not (piece := next_piece()):
            raise GitError(f"object {oid}: git ended early")
    yield piece[:-1]


def _reader(process: "subprocess.Popen[bytes]") -> Callable[[], bytes]:
    """Return what reads the next of what git prints, as soon as it does; b"" at the end."""
    assert process.stdout is not None
    ready, limit, fd = select.poll(), time_limit(), process.stdout.fileno()
    ready.register(fd, select.POLLIN)

    def next_piece() -> bytes:
        if not ready.poll(limit * 1000):
            raise _too_late(process.args, limit)
        return os.read(fd, PIECE)

    return next_piece


@contextlib.contextmanager
def _started(
    command: list[str], environment: dict[str, str], *, stdin: Any = subprocess.PIPE, stderr: int
) -> "Iterator[subprocess.Popen[bytes]]":
    """Start git in a session of its own, so that what it started itself is ended with it when the block fails."""
    streams = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": stderr, "bufsize": 0}
    try:
        process = subprocess.Popen(command, env=environment, start_new_session=True, **streams)
    except FileNotFoundError as e:
        raise GitError("git was not found on PATH; install git 2.32 or newer") from e
    except (OSError, ValueError) as e:
        raise GitError(f"git could not be started: {e}") from e
    with process:
        try:
            yield process
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise


def _too_late(command: Any, limit: float) -> GitError:
    where = command[command.index("-C") + 1]
    why = f"a file in it may be no plain file, or slow; {TIMEOUT_VARIABLE} gives it more than {limit:g} seconds"
    return GitError(f"{where}: git did not answer in time: {why}")
