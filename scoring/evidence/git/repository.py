"""Starts git, and nothing else does: what a log or a repository says goes in on standard input, never as an argument.

The caller's environment and configuration change nothing: ``GIT_*`` variables are removed, system and user
configuration is not read, and what a repository's own configuration could change in the output is set here. Only
``safe.directory`` is honoured. Needs git 2.32 or newer.

The module is long, because all that starts git is in one place: how a process is started, stopped and kept apart from
the settings of the caller is read together.
"""

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar

from scoring.errors import GitError, NotARepositoryError
from scoring.files import reason, refuse_special

TRUNK = "master"
"""The trunk under the reference's rules, and of the repositories that are made here."""

_CONFIG = (
    "color.ui=false",
    "core.attributesFile=/dev/null",
    "core.deltaBaseCacheLimit=16m",  # 72 MB instead of 163 for 10,000 commits, in the same time
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=true",
    "core.warnAmbiguousRefs=false",
    "diff.ignoreSubmodules=none",
    "diff.orderFile=/dev/null",
    "diff.relative=false",
    "diff.renameLimit=1000",
    "diff.renames=true",
    "diff.suppressBlankEmpty=false",
    "i18n.logOutputEncoding=UTF-8",
    "log.decorate=false",
    "log.diffMerges=dense-combined",
    "log.follow=false",
    "log.mailmap=false",
    "log.showRoot=true",
    "log.showSignature=false",
    "protocol.allow=never",
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME")

_SHA = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) commit ")
_BRANCHES = ("refs/heads/", "refs/remotes/")
_NO_NAME = b"0" * 40 + b"^{commit}\n"
_OBJECT = 3
"""In how many words git says that an object is here: its id, its kind, its size."""
_UNSAFE_IN_NAME = re.compile("[\0\n]")
_OBJECT_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")

PIECE = 120_000
"""In pieces of how many bytes large objects are read."""

TIMEOUT_VARIABLE = "DA_SCORE_GIT_TIMEOUT"
TIMEOUT = 300
"""For how many seconds git is waited for while it says nothing, where the variable names no other number."""

OPENING_TIMEOUT = 30
"""The same for the first question to a repository, which is answered at once."""

_PLAIN_FILES = ("HEAD", "config", "config.worktree", "index", "packed-refs", "shallow", "objects/info/alternates")
"""What git reads of a repository without asking what it is: a FIFO in its place would keep it for ever."""

WORTH_A_GIT = 1000
"""How many questions there must be in a batch for each git that answers it."""

MOST_FAILURES = 16
"""After how many questions that fail alone the rest of a batch is left unanswered."""

Q = TypeVar("Q")
A = TypeVar("A")


class GitRepository:
    """A git work tree, asked in batches."""

    def __init__(self, directory: Path | str) -> None:
        """Open the work tree that ``directory`` is in.

        Raises:
            NotARepositoryError: it is in none.
            GitError: git is not installed.
        """
        self.directory = Path(directory)
        self._trusted: tuple[str, ...] = ()
        self._begun: dict[tuple[tuple[str, ...], bytes], _Question] = {}
        refuse_pipes(self.directory)
        question = ("rev-parse", "--path-format=absolute", "--is-inside-work-tree", "--git-common-dir")
        answer = self._opened(question)
        if answer.returncode and b"dubious ownership" in answer.stderr:
            self._trusted = self._trusted_directories()
            answer = self._opened(question)
        inside, _, common_dir = answer.stdout.rstrip(b"\n").partition(b"\n")
        if answer.returncode or inside != b"true":
            why = answer.stderr.decode(errors="replace").strip().splitlines()
            raise NotARepositoryError(
                f"{self.directory}: not a git work tree ({why[0] if why else 'it is a bare repository'}); "
                "name the repository with --repo-dir"
            )
        self.common_dir = Path(os.fsdecode(common_dir))
        """The repository itself, which all its work trees share."""
        _refuse_pipes_in(self.common_dir)

    def _opened(self, question: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
        return _start(self.command(*question), _environment(), limit=min(OPENING_TIMEOUT, time_limit()))

    @staticmethod
    def of(repository: "Path | str | GitRepository") -> "GitRepository":
        """Return a repository that is open, or open the one that a directory is in, and raise as that does."""
        return repository if isinstance(repository, GitRepository) else GitRepository(repository)

    @cached_property
    def references(self) -> "list[tuple[str, str, str]]":
        """The branches, local and of remotes, as git has them when this is first asked: tip, full name, target.

        The target is "" where a branch is no symbolic name of another.
        """
        answer = as_text(self.run("for-each-ref", "--format=%(objectname) %(refname) %(symref)", *_BRANCHES))
        rows = (line.split(" ") for line in answer.split("\n") if line)
        return [(sha, ref, target) for sha, ref, target in rows]

    @property
    def top_level(self) -> Path:
        """The top of the work tree, a linked one's own."""
        answer = self.run("rev-parse", "--path-format=absolute", "--show-toplevel")
        return Path(os.fsdecode(answer.removesuffix(b"\n")))

    def resolve(self, names: Iterable[str]) -> dict[str, str | None]:
        """Resolve names (SHAs in full or abbreviated, branches, ``HEAD~1`` …) to commit SHAs; None where there is none.

        Names are data: nothing in them can become an option.
        """
        wanted = list(dict.fromkeys(names))
        found: dict[str, str | None] = dict.fromkeys(wanted)
        asked = [name for name in wanted if name and not _UNSAFE_IN_NAME.search(name)]
        while asked:
            answer = self.ask("cat-file", "--batch-check", given=as_lines(f"{name}^{{commit}}" for name in asked))
            lines = answer.stdout.split(b"\n")[:-1]
            for name, line in zip(asked, lines, strict=False):
                if m := _SHA.match(line):
                    found[name] = m[1].decode()
            if not answer.returncode:
                break
            self.run("cat-file", "--batch-check", given=_NO_NAME)  # git itself works
            # Some names (an upstream that is not set, a path outside) make git give up: the first one unanswered.
            asked = asked[len(lines) + 1 :]
        return found

    def files_at(self, sha: str, folder: str, wanted: Callable[[str], bool]) -> dict[str, bytes]:
        """Return the content of the files directly in a folder of a commit whose names are ``wanted``, by name.

        ``folder`` is from the top of the work tree; "." is the top.

        Raises:
            GitError: git cannot list or read them.
        """
        prefix = "" if folder == "." else folder + "/"
        listed = self.run("ls-tree", "-z", "--full-tree", sha, "--", *([prefix] if prefix else []))
        blobs: dict[str, bytes] = {}
        for line in listed.split(b"\0")[:-1]:
            (_, kind, blob), path = line.partition(b"\t")[0].split(), as_text(line.partition(b"\t")[2])
            name = path.removeprefix(prefix)
            if kind == b"blob" and wanted(name):
                blobs[name] = blob
        contents = self.contents(blob.decode() for blob in blobs.values())
        if lost := next((name for name, blob in blobs.items() if blob.decode() not in contents), None):
            raise GitError(f"{self.directory}: {prefix}{lost} of {sha[:12]} is not in this clone")
        return {name: contents[blob.decode()] for name, blob in blobs.items()}

    def sizes(self, oids: Iterable[str]) -> dict[str, int] | None:
        """Return how many bytes objects have, by their ids in full; one that is not here is left out.

        None is returned when git gave up, as some versions do on an object that they would have to fetch.
        """
        answer = self.ask("cat-file", "--batch-check", given=as_lines(oids))
        rows = (line.split() for line in answer.stdout.decode(errors="replace").splitlines())
        return None if answer.returncode else {row[0]: int(row[2]) for row in rows if len(row) == _OBJECT}

    def contents(self, oids: Iterable[str]) -> dict[str, bytes]:
        """Return what objects hold, by their ids in full; one that is not here is left out.

        Raises:
            GitError: git cannot read one of them.
        """
        asked = as_lines(oids)
        answer = self.run("cat-file", "--batch", given=asked) if asked else b""
        found: dict[str, bytes] = {}
        at = 0
        while at < len(answer):
            end = answer.index(b"\n", at)
            row, at = answer[at:end].split(), end + 1
            if len(row) == _OBJECT:
                size = int(row[2])
                found[row[0].decode()] = answer[at : at + size]
                at += size + 1
        return found

    @property
    def user_name(self) -> str:
        """The name that the caller's own settings give commits here; "" when they give none."""
        named = _start(["git", "-C", os.fspath(self.directory), "config", "--get", "user.name"], _callers_environment())
        return as_text(named.stdout).strip()

    def beginning(self, limit: int, *arguments: str) -> bytes:
        """Return the first ``limit`` bytes that git prints, and end it then; what failed has printed nothing."""
        command = _command(self.directory, [f"safe.directory={path}" for path in self._trusted], arguments)
        nowhere = subprocess.DEVNULL
        streams = {"stdin": nowhere, "stdout": subprocess.PIPE, "stderr": nowhere}
        with _running(command, _environment(), **streams) as process:
            found = b"".join(_Output(process, command).pieces(limit))
            process.kill()
        return found

    def _trusted_directories(self) -> tuple[str, ...]:
        """Read the caller's ``safe.directory``, the one user setting that is honoured."""
        answer = _start(["git", "-C", "/", "config", "--get-all", "safe.directory"], _callers_environment())
        return tuple(os.fsdecode(answer.stdout).splitlines())

    def ask(self, *arguments: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        """Run git here, whatever comes of it; what a log or a repository says is in ``given``.

        What was begun before is waited for. Where that fails git is asked again: what it prints may have had no room.
        """
        if (question := self._begun.get((arguments, given))) and not (answer := question.answer()).returncode:
            return answer
        return _start(self.command(*arguments), _environment(), given)

    @contextlib.contextmanager
    def begun(self, *arguments: str, given: bytes = b"") -> Iterator[None]:
        """Let git begin with what :meth:`ask`, or :meth:`records`, will be asked in the block, and go on meanwhile.

        Where there is no room for temporary files nothing is begun.

        Raises:
            GitError: git could not be started.
        """
        with contextlib.ExitStack() as stack:
            if files := _temporary_files(stack, given):
                self._begun[arguments, given] = stack.enter_context(_Question(self.command(*arguments), *files))
                stack.callback(self._begun.pop, (arguments, given))
            yield

    def records(self, *arguments: str, given: bytes = b"", width: int) -> Iterator[list[bytes]]:
        """Yield what git prints, so many NUL-ended fields at a time, when it has ended; nobody holds all of it.

        Raises:
            GitError: it failed; the text says why.
        """
        with contextlib.ExitStack() as stack:
            if (arguments, given) not in self._begun:
                stack.enter_context(self.begun(*arguments, given=given))
            question = self._begun.get((arguments, given))
            kept = question is not None and not question.ended().returncode
            fields = [b""]
            for piece in question.pieces() if question and kept else [self.run(*arguments, given=given)]:
                first, *others = piece.split(b"\0")
                fields[-1] += first
                fields += others
                whole = (len(fields) - 1) // width * width
                yield from (fields[n : n + width] for n in range(0, whole, width))
                del fields[:whole]

    def ask_in_parts(
        self, *arguments: str, questions: Sequence[str]
    ) -> "Iterator[tuple[Sequence[str], subprocess.CompletedProcess[bytes]]]":
        """Ask as :meth:`ask` does, one question a line, each once; of many, two gits at once, each with its half.

        Yields each part with its answer, in order.
        """
        count = _how_many_at_once(len(questions))
        size = -(-len(questions) // count)
        parts = [(part := questions[n : n + size], as_lines(part)) for n in range(0, len(questions), size or 1)]
        with contextlib.ExitStack() as stack:
            if count > 1:
                for _, given in parts:
                    stack.enter_context(self.begun(*arguments, given=given))
            for part, given in parts:
                yield part, self.ask(*arguments, given=given)

    def command(self, *arguments: str) -> list[str]:
        """Return what runs git here, for who starts it in another way than :meth:`ask`."""
        return _command(self.directory, [f"safe.directory={path}" for path in self._trusted], arguments)

    def lines(self, *arguments: str, given: bytes = b"") -> Iterator[bytes]:
        """Yield what git prints by line, as it goes on; see :meth:`ask`.

        Raises:
            GitError: it failed; whatever it printed before has been returned.
        """
        with tempfile.TemporaryFile() as source:
            source.write(given)
            source.flush()
            source.seek(0)
            yield from _lines(self.directory, self.command(*arguments), source, arguments[0])

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return what git prints; see :meth:`ask`.

        Raises:
            GitError: it failed; the text says why.
        """
        return _demand(self.directory, self.ask(*arguments, given=given), arguments[0])


def _how_many_at_once(questions: int) -> int:
    """Return how many gits so many questions are worth; each holds what it has read of the repository."""
    from scoring.processes import cores

    return max(min(questions // WORTH_A_GIT, cores(), 2), 1)


def _temporary_files(stack: contextlib.ExitStack, given: bytes) -> tuple[IO[bytes], IO[bytes]] | None:
    """Return a file that holds what is given to git, and one for its answer; None where there is no room for them."""
    try:
        source, output = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - closed with the stack
        stack.callback(source.close)
        stack.callback(output.close)
        source.write(given)
        source.seek(0)
    except OSError:
        return None
    return source, output


class _Question:
    """A git that works on a question while nobody waits for it: what goes in and what comes out is in files."""

    def __init__(self, command: list[str], source: IO[bytes], output: IO[bytes]) -> None:
        self._command, self._source, self._output, self._limit = command, source, output, time_limit()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "_Question":
        streams = {"stdin": self._source, "stdout": self._output, "stderr": subprocess.PIPE}
        with _told(self._command, self._limit):
            self._process = self._stack.enter_context(_running(self._command, _environment(), **streams))
        return self

    def ended(self) -> "subprocess.CompletedProcess[bytes]":
        """Wait for git to end, and return how it did, without what it printed."""
        with _told(self._command, self._limit):
            _, complaint = self._process.communicate(timeout=self._limit)
            return subprocess.CompletedProcess(self._command, self._process.returncode, b"", complaint)

    def pieces(self) -> Iterator[bytes]:
        """Yield what git printed, in pieces, once it has ended."""
        self._output.seek(0)
        while piece := self._output.read(PIECE):
            yield piece

    def answer(self) -> "subprocess.CompletedProcess[bytes]":
        """Wait for git to end, and return its answer."""
        answer = self.ended()
        answer.stdout = b"".join(self.pieces())
        return answer

    def __exit__(self, *error: Any) -> None:
        """Stop git, if nobody wanted its answer, and what it started itself."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)  # it is there, if only as a zombie
        self._stack.__exit__(*error)


class ObjectReader:
    """Reads objects one after another, a piece at a time, through one process of git, started when first needed.

    After a fork each process starts its own.
    """

    def __init__(self, repository: GitRepository) -> None:
        """Take the repository; start nothing yet."""
        self._repository = repository
        self._stack = contextlib.ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._output: _Output | None = None
        self._owner = 0
        self._reading = False  # while an object is read, and ever after when nobody reads it to its end

    def pieces(self, oid: str) -> Iterator[bytes]:
        """Yield what an object holds, in pieces of at most :data:`PIECE` bytes; its id is in full.

        Raises:
            GitError: it is not here, or git cannot read it.
        """
        if not _OBJECT_ID.fullmatch(oid):
            raise GitError(f"{self._repository.directory}: no object id: {oid!r}")
        try:
            process, output = self._started()
            assert process.stdin is not None
            self._reading = True
            os.write(process.stdin.fileno(), as_lines([oid]))  # past the buffer, which would keep what git did not take
            row = output.line().split()
            left = int(row[2]) if len(row) == _OBJECT else 0
            for piece in output.pieces(left):
                left -= len(piece)
                yield piece
            if left:
                raise GitError(f"object {oid}: git ended early")
            if len(row) == _OBJECT:
                output.line()
        except OSError as e:
            raise GitError(f"object {oid}: git cannot be asked: {e.strerror}") from e
        self._reading = not row  # git has ended, too
        if len(row) != _OBJECT:
            raise GitError(f"object {oid} is not in this clone, or cannot be read")

    def close(self) -> None:
        """End the process, if this one started it; it may be started again."""
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()  # it only reads, and a fork may hold the other ends of its pipes
            self._stack.close()
        self._stack, self._process, self._output, self._reading = contextlib.ExitStack(), None, None, False

    def _started(self) -> "tuple[subprocess.Popen[bytes], _Output]":
        if self._reading:
            self.close()
        if self._process is None or self._output is None or self._owner != os.getpid():
            command = self._repository.command("cat-file", "--batch")
            pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
            starting = _running(command, _environment(), stdin=pipe, stdout=pipe, stderr=nowhere)
            self._stack, self._owner = contextlib.ExitStack(), os.getpid()
            self._process = self._stack.enter_context(starting)
            self._output = _Output(self._process, command)
        return self._process, self._output


class _Output:
    """What a process of git prints, waited for with a limit of time."""

    def __init__(self, process: "subprocess.Popen[bytes]", command: Sequence[str]) -> None:
        assert process.stdout is not None
        self._command, self._held, self._limit = command, b"", time_limit()
        self._fd = process.stdout.fileno()  # past its buffer, which would wait without a limit
        self._ready = select.poll()
        self._ready.register(self._fd, select.POLLIN)

    def _more(self) -> bytes:
        """Wait for what comes next; nothing at the end.

        Raises:
            GitError: nothing came in time.
        """
        if not self._ready.poll(self._limit * 1000):
            raise too_late(self._command, self._limit)
        return os.read(self._fd, PIECE)

    def pieces(self, count: int) -> Iterator[bytes]:
        """Yield so many bytes, or what there is, in pieces."""
        while count and (piece := self._held or self._more()):
            piece, self._held = piece[:count], piece[count:]
            count -= len(piece)
            yield piece

    def line(self) -> bytes:
        """Return the next line with its end; the last one may have none."""
        parts = []
        while piece := self._held or self._more():
            line, found, self._held = piece.partition(b"\n")
            parts += [line, found]
            if found:
                break
        return b"".join(parts)

    def lines(self) -> Iterator[bytes]:
        """Yield all lines with their ends."""
        parts: list[bytes] = []
        while piece := self._more():
            first, *others = piece.splitlines(keepends=True) if b"\r" not in piece else _split(piece)
            parts.append(first)
            for line in others:
                yield b"".join(parts)
                parts = [line]
            if parts[-1].endswith(b"\n"):
                yield b"".join(parts)
                parts = []
        if parts:
            yield b"".join(parts)


def _split(piece: bytes) -> list[bytes]:
    """Split bytes behind their line feeds alone."""
    lines = [line + b"\n" for line in piece.split(b"\n")]
    last = lines.pop().removesuffix(b"\n")
    return [*lines, *([last] if last else [])]


def time_limit() -> float:
    """Return for how many seconds git is waited for while it says nothing."""
    text = os.environ.get(TIMEOUT_VARIABLE, "")
    return float(text) if text.isascii() and text.isdigit() and int(text[:9]) > 0 and len(text) < 9 else TIMEOUT


def too_late(command: Sequence[str], limit: float) -> GitError:
    """Return the error for a git that did not answer in time."""
    where = command[command.index("-C") + 1]
    why = f"a file in it may be no plain file, or slow; {TIMEOUT_VARIABLE} gives it more than {limit:g} seconds"
    return GitError(f"{where}: git did not answer in time: {why}")


def refuse_pipes(directory: Path) -> None:
    """Raise for a work tree whose repository has a FIFO, or a device, where git reads a file.

    Raises:
        GitError: it names the file.
    """
    here = os.path.abspath(directory)
    while not os.path.lexists(place := os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return
        here = above
    _refuse_pipes_in(Path(place))


def _refuse_pipes_in(repository: Path) -> None:
    for path in (repository, *(repository / name for name in _PLAIN_FILES)):
        try:
            refuse_special(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as e:
            raise GitError(f"{path}: {reason(e)}; git would wait for it for ever") from e


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return kept | _ENVIRONMENT


def _callers_environment() -> dict[str, str]:
    """Return the environment in which git reads the settings of the caller."""
    return {name: value for name, value in _environment().items() if not name.startswith("GIT_CONFIG_")}


def _start(
    command: list[str], environment: Mapping[str, str], given: bytes = b"", limit: float = 0
) -> "subprocess.CompletedProcess[bytes]":
    """Run git and return its answer; it has ``limit`` seconds, by default :func:`time_limit`."""
    limit = limit or time_limit()
    pipe = subprocess.PIPE
    with _told(command, limit):
        with _running(command, environment, stdin=pipe, stdout=pipe, stderr=pipe) as process:
            answer = process.communicate(given, timeout=limit)
        return subprocess.CompletedProcess(command, process.returncode, *answer)


@contextlib.contextmanager
def _told(command: Sequence[str], limit: float) -> Iterator[None]:
    """Say as a GitError why git could not be started, or did not answer."""
    try:
        yield
    except subprocess.TimeoutExpired as e:
        raise too_late(command, limit) from e
    except FileNotFoundError as e:
        raise GitError("git was not found on PATH; install git 2.32 or newer") from e
    except (OSError, ValueError) as e:
        raise GitError(f"git could not be started: {e}") from e


@contextlib.contextmanager
def _running(command: list[str], environment: Mapping[str, str], **streams: Any) -> "Iterator[subprocess.Popen[bytes]]":
    """Start git in a session of its own, so that what it started itself is ended with it when the block fails."""
    process: subprocess.Popen[bytes] | None = None
    owner = os.getpid()
    try:
        with _undisturbed():
            process = subprocess.Popen(command, env=environment, start_new_session=True, **streams)
        yield process
    except BaseException:
        if process is not None and os.getpid() == owner:  # a fork of this process leaves it alone
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        if process is not None:
            with process:
                pass


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back what interrupts this process, so that none that it starts is left behind unknown."""
    held: list[int] = []
    handlers: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            if callable(handler := signal.getsignal(kind)):
                handlers[kind] = handler
                signal.signal(kind, lambda number, _: held.append(number))
    try:
        yield
    finally:
        for kind, handler in handlers.items():
            signal.signal(kind, handler)
        for late in held:
            signal.raise_signal(late)


def as_lines(questions: Iterable[str]) -> bytes:
    """Return questions, one a line, as git takes them on standard input."""
    return "".join(f"{question}\n" for question in questions).encode("utf-8", "surrogateescape")


def as_text(raw: bytes) -> str:
    """Return what git printed; bytes that are not UTF-8 are surrogate escapes."""
    return raw.decode("utf-8", "surrogateescape")


def answered(ask: Callable[[Sequence[Q]], Mapping[Q, A] | None], questions: Sequence[Q]) -> dict[Q, A]:
    """Return the answers to all questions that have one.

    ``ask`` answers a batch, with None when git failed on it: one missing object stops a whole batch. It is then asked
    again in halves, so that the others are answered; a repository that lacks everything is given up after a few.
    """
    found: dict[Q, A] = {}
    waiting = [questions] if questions else []
    failures = 0
    while waiting and failures < MOST_FAILURES:
        batch = waiting.pop()
        answers = ask(batch)
        if answers is not None:
            found.update(answers)
        elif len(batch) == 1:
            failures += 1
        else:
            middle = len(batch) // 2
            waiting += [batch[middle:], batch[:middle]]
    return found


def import_repository(directory: Path, stream: bytes) -> None:
    """Make a git work tree of a directory: import a ``git fast-import`` stream and check the trunk out.

    The directory exists and is no repository yet. The stream ends with ``done`` and holds the trunk; as nobody's
    configuration has a say, the same stream makes the same commits and the same files everywhere.

    Raises:
        GitError: git is not installed, or refused the directory or the stream.
    """
    # The directory is trusted because its repository is made here; its owner may differ on a mounted file system.
    settings = ("core.logAllRefUpdates=false", "safe.directory=*")
    for arguments, given in (
        (("init", "--quiet", "--template=", "--object-format=sha1", f"--initial-branch={TRUNK}"), b""),
        (("fast-import", "--quiet", "--done"), stream),
        (("reset", "--quiet", "--hard", f"refs/heads/{TRUNK}"), b""),
    ):
        _demand(directory, _git(directory, settings, arguments, given), arguments[0])


def check_out(source: Path, directory: Path) -> None:
    """Make a git work tree of a directory that is not there: that of a bundle, or of a bare repository.

    Nobody vouches for the source. Of a bare repository objects and refs are copied, and nothing that git would obey:
    no configuration, no hooks, no other place to look for objects. Links in the work tree become plain files.

    Raises:
        GitError: git is not installed, or does not take the source.
        OSError: it cannot be copied.
    """
    settings = ("core.logAllRefUpdates=false", "core.symlinks=false", "safe.directory=*", "fetch.fsckObjects=false")

    def run(*arguments: str) -> bytes:
        return _demand(directory, _git(directory, settings, arguments, b""), arguments[0])

    directory.mkdir(parents=True)
    head = ""
    if source.is_dir():
        run("init", "--quiet", "--template=", f"--object-format={_object_format(source)}")
        own = directory / ".git"
        head = _first_ref(source / "HEAD")
        ignored = shutil.ignore_patterns("alternates", "http-alternates")
        shutil.copytree(source / "objects", own / "objects", dirs_exist_ok=True, ignore=ignored)
        if (source / "refs").is_dir():
            shutil.copytree(source / "refs", own / "refs", dirs_exist_ok=True)
        if (source / "packed-refs").is_file():
            shutil.copyfile(source / "packed-refs", own / "packed-refs")
    else:
        heads = run("bundle", "list-heads", os.fspath(source)).decode(errors="replace").splitlines()
        refs = [line.split(" ", 1) for line in heads if " " in line]
        sha_format = "sha256" if refs and len(refs[0][0]) == 64 else "sha1"
        run("init", "--quiet", "--template=", f"--object-format={sha_format}")
        run("bundle", "unbundle", os.fspath(source))
        at = {name: sha for sha, name in refs}
        lines = "".join(f"create {name} {sha}\n" for name, sha in at.items() if name.startswith("refs/"))
        _demand(directory, _git(directory, settings, ("update-ref", "--stdin"), lines.encode()), "update-ref")
        branches = [name for name, sha in at.items() if name.startswith("refs/heads/") and sha == at.get("HEAD", sha)]
        usual = [name for name in ("refs/heads/main", "refs/heads/master") if name in branches]
        head = (usual or branches or [""])[0]
    if head:
        run("symbolic-ref", "HEAD", head)
    if not _git(directory, settings, ("rev-parse", "--verify", "--quiet", "HEAD"), b"").returncode:
        run("reset", "--quiet", "--hard", "HEAD")


def _object_format(bare: Path) -> str:
    """Return how the objects of a bare repository are named, as its refs show: its settings are not obeyed."""
    for path in (bare / "packed-refs", *(bare / "refs").rglob("*")):
        if path.is_file():
            with open(path, "rb") as f:
                found = _NAMED.search(f.read(4096))
            if found:
                return "sha256" if len(found[0]) == 64 else "sha1"
    return "sha1"


_NAMED = re.compile(rb"^(?:[0-9a-f]{64}|[0-9a-f]{40})\b", re.MULTILINE)


def _first_ref(path: Path) -> str:
    """Return the branch that a ``HEAD`` names; "" where it names none."""
    with open(path, "rb") as f:
        line = os.fsdecode(f.readline(4096)).strip()
    name = line.removeprefix("ref: ")
    return name if line.startswith("ref: refs/heads/") and ".." not in name else ""


def ask_in(directory: Path, *arguments: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Run git in a repository that da-score made itself, whatever comes of it."""
    return _git(directory, (), arguments, given)


def lines_in(directory: Path, *arguments: str, given: Path) -> Iterator[bytes]:
    """Run git in a repository that da-score made itself, with a file as its input, and yield what it prints by line.

    Nothing is held of what may be gigabytes.

    Raises:
        GitError: it failed; whatever it printed before has been returned.
    """
    with open(given, "rb") as source:
        yield from _lines(directory, _command(directory, (), arguments), source, arguments[0])


def _lines(directory: Path, command: list[str], source: IO[bytes], name: str) -> Iterator[bytes]:
    streams = {"stdin": source, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with _running(command, _environment(), **streams) as process:
        yield from _Output(process, command).lines()
    if process.returncode:
        raise GitError(f"{directory}: git {name} failed: exit {process.returncode}")


def _git(
    directory: Path, settings: Iterable[str], arguments: Iterable[str], given: bytes
) -> "subprocess.CompletedProcess[bytes]":
    return _start(_command(directory, settings, arguments), _environment(), given)


def _command(directory: Path, settings: Iterable[str], arguments: Iterable[str]) -> list[str]:
    options = [part for setting in (*_CONFIG, *settings) for part in ("-c", setting)]
    return ["git", "--no-pager", "-C", os.fspath(directory), *options, *arguments]


def _demand(directory: Path, answer: "subprocess.CompletedProcess[bytes]", command: str) -> bytes:
    if answer.returncode:
        why = " ".join(answer.stderr.decode(errors="replace").split())
        raise GitError(f"{directory}: git {command} failed: {why or f'exit {answer.returncode}'}")
    return answer.stdout
