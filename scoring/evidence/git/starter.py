"""Starts git 2.32 or newer. No other module does.

Git runs without the caller's ``GIT_*`` variables and configuration. Text that comes from a log or
a repository reaches git on standard input, never as an option.
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

# The file has two paragraphs: settings for ``git -c``, and variables for git's environment.
_SETTINGS_TEXT, _VARIABLES_TEXT = (
    (Path(__file__).parent / "starter.txt").read_text("utf-8").split("\n\n")
)
_SETTINGS = _SETTINGS_TEXT.split()
_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    **dict(line.split("=") for line in _VARIABLES_TEXT.split()),
}
_CALLERS_VARIABLES = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME")

CHUNK_SIZE = 120_000
"""The most bytes of git's output that one read takes."""

TIMEOUT_VARIABLE = "DA_SCORE_GIT_TIMEOUT"
DEFAULT_TIMEOUT = 300
"""Seconds without output after which git is stopped, unless the variable gives another number."""
_LONGEST_TIMEOUT = 8  # digits

WORDS_ABOUT_OBJECT = 3
"""Words with which ``cat-file`` describes an object that it has: its id, its type, its size."""

Answer = subprocess.CompletedProcess[bytes]

ReadObject = Callable[[str], Iterator[bytes]]
"""Takes the full id of an object and yields its content in chunks."""

_Process = subprocess.Popen[bytes]
_NextChunk = Callable[[], bytes]


class Git:
    """Git in one directory.

    The directory is a repository that :class:`GitRepository` opened, or one that da-score made.
    """

    def __init__(self, directory: Path, settings: Sequence[str] = ()) -> None:
        """Take the directory, and settings for it alone, such as ``safe.directory=/x``."""
        self.directory = directory
        self.settings = tuple(settings)
        self.variables: dict[str, str] = {}  # more variables for git's environment

    def ask(
        self,
        *arguments: str,
        stdin: bytes = b"",
        timeout: float | None = None,
    ) -> Answer:
        """Run git and return its output and exit status.

        Args:
            arguments: the git command and its options.
            stdin: bytes for git's standard input.
            timeout: seconds until git is stopped; None takes :func:`time_limit`.

        Raises:
            GitError: git cannot start, or does not finish in time.
        """
        command = self._command(arguments)
        return _run(command, stdin, timeout or time_limit(), self._environment())

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Return what git prints.

        Raises:
            GitError: as :meth:`ask`, and when git fails; the error gives git's reason.
        """
        answer = self.ask(*arguments, stdin=stdin)
        if answer.returncode:
            reason = message_of(answer) or f"exit {answer.returncode}"
            raise GitError(f"{self.directory}: git {arguments[0]} failed: {reason}")
        return answer.stdout

    def chunks(self, *arguments: str, stdin: bytes = b"") -> Generator[bytes, None, None]:
        """Yield what git prints as it comes, because it may be gigabytes.

        Raises:
            GitError: as :meth:`run`, but only after the output was yielded.
        """
        with contextlib.ExitStack() as stack:
            try:
                source = stack.enter_context(tempfile.TemporaryFile(buffering=0))
                source.write(stdin)
                source.seek(0)
            except OSError as e:
                raise GitError(
                    f"cannot make a temporary file for git: {e};"
                    " set TMPDIR to a folder that can be written to"
                ) from e

            command = self._command(arguments)
            process = stack.enter_context(
                _started(command, self._environment(), stdin=source, stderr=subprocess.DEVNULL)
            )
            yield from iter(_chunk_reader(process), b"")

        if process.returncode:
            # Errors of the first run went nowhere. A second run raises with git's reason.
            self.run(*arguments, stdin=stdin)
            raise GitError(
                f"{self.directory}: git {arguments[0]} failed: exit {process.returncode}"
            )

    def lines(
        self,
        *arguments: str,
        stdin: bytes = b"",
        end: bytes = b"\n",
    ) -> Generator[bytes, None, None]:
        """Yield each line that git prints, without its ``end``. See :meth:`chunks`."""
        unfinished: list[bytes] = []
        with contextlib.closing(self.chunks(*arguments, stdin=stdin)) as chunks:
            for chunk in chunks:
                first, *others = chunk.split(end)
                unfinished.append(first)

                if others:
                    yield b"".join(unfinished)
                    unfinished = [others.pop()]
                    yield from others

        if any(unfinished):
            yield b"".join(unfinished)

    @contextlib.contextmanager
    def objects(self) -> Iterator[ReadObject]:
        """Give a function that reads objects, all by one git process.

        Each object is read to its end before the next one is asked for. The function raises
        GitError for an object that is not in this clone or cannot be read.
        """
        command = self._command(("cat-file", "--batch"))
        with contextlib.ExitStack() as stack:

            def start() -> _Process:
                return stack.enter_context(
                    _started(command, self._environment(), stderr=subprocess.DEVNULL)
                )

            yield _ObjectReader(start).read

    def callers_setting(self, *question: str) -> str:
        """Return what ``git config`` answers from the caller's own settings, or "" for nothing."""
        environment = {}
        for name, value in self._environment().items():
            if not name.startswith("GIT_CONFIG_"):
                environment[name] = value
        command = ["git", "-C", os.fspath(self.directory), "config", *question]
        return as_text(_run(command, b"", time_limit(), environment).stdout)

    def _environment(self) -> dict[str, str]:
        callers = {name: os.environ[name] for name in _CALLERS_VARIABLES if name in os.environ}
        return callers | _ENVIRONMENT | self.variables

    def _command(self, arguments: Iterable[str]) -> list[str]:
        command = ["git", "--no-pager", "-C", os.fspath(self.directory)]
        for setting in (*_SETTINGS, *self.settings):
            command += ["-c", setting]
        return [*command, *arguments]


def as_lines(questions: Iterable[str]) -> bytes:
    """Return questions as git takes them on standard input, one on each line."""
    return "".join(f"{question}\n" for question in questions).encode("utf-8", "surrogateescape")


def as_text(raw: bytes) -> str:
    """Return what git printed. Bytes that are not UTF-8 become surrogate escapes."""
    return raw.decode("utf-8", "surrogateescape")


def message_of(answer: Answer) -> str:
    """Return what git printed about an error, on one line, or "" when it printed nothing."""
    return " ".join(answer.stderr.decode(errors="replace").split())


def time_limit() -> float:
    """Return the seconds without output after which git is stopped."""
    text = os.environ.get(TIMEOUT_VARIABLE, "")
    is_number = text.isascii() and text.isdigit() and len(text) <= _LONGEST_TIMEOUT
    if is_number and int(text) > 0:
        return float(text)
    return DEFAULT_TIMEOUT


def _run(
    command: list[str],
    stdin: bytes,
    timeout: float,
    environment: dict[str, str],
) -> Answer:
    with _started(command, environment, stderr=subprocess.PIPE) as process:
        try:
            stdout, stderr = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired as e:
            raise _too_late(command, timeout) from e
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


class _ObjectReader:
    """Reads objects with ``git cat-file --batch``, which starts with the first object."""

    def __init__(self, start: Callable[[], _Process]) -> None:
        self._start = start
        self._process: _Process | None = None
        self._next_chunk: _NextChunk

    def read(self, oid: str) -> Iterator[bytes]:
        if self._process is None:
            self._process = self._start()
            self._next_chunk = _chunk_reader(self._process)

        try:
            yield from _content_of(oid, self._process, self._next_chunk)
        except BaseException:
            # The process may still print the rest of this object, so the next one needs another.
            self._process.kill()
            self._process = None
            raise


def _content_of(
    oid: str,
    process: _Process,
    next_chunk: _NextChunk,
) -> Iterator[bytes]:
    """Yield the content of an object from a running ``cat-file --batch``.

    Git prints a line with the size, the content, and a line end.
    """
    assert process.stdin is not None
    try:
        os.write(process.stdin.fileno(), as_lines([oid]))
    except OSError as e:
        raise GitError(f"object {oid}: git cannot be asked: {e.strerror}") from e

    head = b""
    while b"\n" not in head:
        chunk = next_chunk()
        if not chunk:
            break
        head += chunk

    about, _, chunk = head.partition(b"\n")
    words = about.split()
    if len(words) != WORDS_ABOUT_OBJECT:
        raise GitError(f"object {oid} is not in this clone, or cannot be read")

    size = int(words[2])
    left = size + len(b"\n") - len(chunk)
    while left > 0:
        yield chunk
        chunk = next_chunk()
        if not chunk:
            raise GitError(f"object {oid}: git ended early")
        left -= len(chunk)
    yield chunk[:-1]


def _chunk_reader(process: _Process) -> _NextChunk:
    """Return a function that reads what git prints as soon as it comes.

    At the end of the output it returns b"".
    """
    assert process.stdout is not None
    output = process.stdout.fileno()
    timeout = time_limit()
    ready = select.poll()
    ready.register(output, select.POLLIN)

    def next_chunk() -> bytes:
        if not ready.poll(timeout * 1000):
            raise _too_late(process.args, timeout)
        return os.read(output, CHUNK_SIZE)

    return next_chunk


@contextlib.contextmanager
def _started(
    command: list[str],
    environment: dict[str, str],
    *,
    stdin: Any = subprocess.PIPE,
    stderr: int,
) -> Iterator[_Process]:
    """Start git, and end it when the block fails.

    Git gets a session of its own, so that the processes it starts end with it.
    """
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            start_new_session=True,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
        )
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


def _too_late(command: Any, timeout: float) -> GitError:
    directory = command[command.index("-C") + 1]
    return GitError(
        f"{directory}: git did not answer in time: a file in it may be a pipe or device, or slow;"
        f" {TIMEOUT_VARIABLE} gives it more than {timeout:g} seconds"
    )
