"""A machine on which agents work: its folders, its clock, and the book of what really happened."""

import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple
from uuid import UUID

CLAUDE = "claude"
CODEX = "codex"
"""The names of the harnesses."""

CLI = 1
TESTS = 2
LOOP_STATE = 4
"""What a window shows, as bits: a command ran, a test command ran, loop-state.md was read."""

START_MS = 1_776_003_000_000
"""When a world begins: 2026-04-12T14:10:00Z."""

MS = 1_000_000
"""Nanoseconds in a millisecond."""

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class Totals(NamedTuple):
    """What happened in some time: numbers of things, tokens, and the bits of checks."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    checks: int = 0

    def plus(self, other: "Totals") -> "Totals":
        """Return both together."""
        added = Totals(*map(int.__add__, self, other))
        return added._replace(checks=self.checks | other.checks)


NOTHING = Totals()


class Window(NamedTuple):
    """Some time, in nanoseconds since 1970.

    Attributes:
        start: the window begins after this time; None leaves it open.
        end: the window ends with this time.
    """

    start: int | None
    end: int

    def holds(self, time: int) -> bool:
        """Return whether a time is in the window."""
        return (self.start is None or self.start < time) and time <= self.end


class Deed(NamedTuple):
    """One thing that happened.

    Attributes:
        time: when, in nanoseconds since 1970.
        harness: in which harness.
        here: whether it was work in this repository.
        totals: what it adds to the counts.
        session: the id of its session.
        file: the name of the transcript that has it.
    """

    time: int
    harness: str
    here: bool
    totals: Totals
    session: str = ""
    file: str = ""


@dataclass
class Book:
    """What really happened.

    Attributes:
        deeds: each thing that happened.
        echoes: the times of lines that only repeat others, in nanoseconds.
        copies: the deed of a response, once for each line that repeats it.
        responses: the deeds of responses by their names.
    """

    deeds: list[Deed] = field(default_factory=list)
    echoes: list[int] = field(default_factory=list)
    copies: list[Deed] = field(default_factory=list)
    responses: dict[str, Deed] = field(default_factory=dict)

    def enter(self, deed: Deed, name: str = "") -> None:
        """Enter what happened. A response may have a name.

        A deed without totals only says that a line was written.
        """
        self.deeds.append(deed)
        if name:
            self.responses[name] = deed

    def copy(self, name: str) -> None:
        """Enter that a line was written which repeats a response, if it is one."""
        if name in self.responses:
            self.copies.append(self.responses[name])

    def forget(self) -> None:
        """Strike out all that happened, because the transcripts about it are gone."""
        self.deeds.clear()
        self.copies.clear()
        self.responses.clear()

    def echo(self, time_ms: int) -> None:
        """Enter that a line was written that says nothing new."""
        self.echoes.append(time_ms * MS)


@dataclass(frozen=True)
class Truth:
    """What a reader must find.

    Attributes:
        repository: the work tree in which work counts.
        home: the home directory.
        folders: the transcript folders, to name them by hand.
        windows: windows that follow each other.
        deeds: what happened, by time.
        echoes: the times of lines that only repeat others.
        copies: the deed of a response, once for every line of Claude Code with usage after the
            response's first one.
    """

    repository: Path
    home: Path
    folders: tuple[Path, ...]
    windows: tuple[Window, ...]
    deeds: tuple[Deed, ...]
    echoes: tuple[int, ...]
    copies: tuple[Deed, ...]

    @property
    def everything(self) -> Window:
        """All of the time, as one window."""
        return Window(None, self.windows[-1].end)

    def totals(self, window: Window, *harnesses: str, here: bool = True) -> Totals:
        """Sum up a window, for some harnesses or for all.

        ``here`` leaves out what happened elsewhere.
        """
        total = Totals()
        for deed in self.deeds:
            wanted = (not harnesses or deed.harness in harnesses) and (
                deed.here or not here
            )
            if wanted and window.holds(deed.time):
                total = total.plus(deed.totals)
        return total

    def duplicates(self, window: Window, *, here: bool = True) -> int:
        """Count the lines that repeat a response of a window, wherever they are."""
        return sum(
            window.holds(deed.time) for deed in self.copies if deed.here or not here
        )

    def sessions(self, window: Window, harness: str, *, here: bool = True) -> int:
        """Count the sessions that were at work in a window."""
        return len({deed.session for deed in self._of(window, harness, here)})

    def files(self, window: Window, harness: str, *, here: bool = True) -> int:
        """Count the transcripts with new lines in a window, not those that only repeat others."""
        return len({deed.file for deed in self._of(window, harness, here)})

    def _of(self, window: Window, harness: str, here: bool) -> Iterator[Deed]:
        found = (
            deed
            for deed in self.deeds
            if deed.harness == harness and window.holds(deed.time)
        )
        return (deed for deed in found if deed.here or not here)

    def covered(self, window: Window, *, here: bool = True) -> bool | None:
        """Return whether a window has work, or None when it has nothing but repeated lines."""
        if any(window.holds(deed.time) for deed in self.deeds if deed.here or not here):
            return True
        return None if any(map(window.holds, self.echoes)) else False


class World:
    """A machine: ``root/repo`` is a git repository, ``root/home`` a home directory."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root.resolve()
        self.repo = self.root / "repo"
        self.home = self.root / "home"
        self.rng = Random(seed)
        self.book = Book()
        self.now_ms = START_MS + self.rng.randrange(1000)
        self._marks: list[int] = []
        self._here: dict[str, bool] = {}
        self.home.mkdir(parents=True)
        make_repository(self.repo)

    @property
    def claude(self) -> Path:
        """The folder of Claude Code."""
        return self.home / ".claude"

    @property
    def codex(self) -> Path:
        """The folder of Codex."""
        return self.home / ".codex"

    def tick(self, least_ms: int = 200, most_ms: int = 9_000) -> int:
        """Let time pass, and return it (milliseconds since 1970)."""
        self.now_ms += self.rng.randint(least_ms, most_ms)
        return self.now_ms

    def mark(self) -> int:
        """End a window now, as a commit does, and return its end in milliseconds.

        What follows comes later.
        """
        marked = self.now_ms
        self._marks.append(marked * MS)
        self.now_ms += 1
        return marked

    def elsewhere(self, path: Path) -> Path:
        """Say that work in a folder is not work in this repository."""
        self._here[str(path)] = False
        return path

    def is_here(self, path: Path) -> bool:
        """Return whether work in a folder counts, which it does by default."""
        return self._here.get(str(path), True)

    def token(self, prefix: str, length: int = 22) -> str:
        """Return a name such as the API gives: a prefix and letters."""
        return prefix + "".join(self.rng.choices(_ALPHABET, k=length))

    def uuid4(self) -> str:
        """Return a random UUID."""
        return str(UUID(int=self.rng.getrandbits(128), version=4))

    def uuid7(self, time_ms: int | None = None) -> str:
        """Return a UUID that carries a time (default: now)."""
        stamp = self.now_ms if time_ms is None else time_ms
        bits = (
            stamp << 80
            | 7 << 76
            | self.rng.getrandbits(12) << 64
            | 2 << 62
            | self.rng.getrandbits(62)
        )
        return str(UUID(int=bits))

    def truth(self, *folders: Path) -> Truth:
        """Close the book.

        ``folders`` are the transcript folders, by default those of both harnesses.
        """
        if not self._marks or self._marks[-1] < self.now_ms * MS:
            self.tick()
            self.mark()
        windows = tuple(
            Window(start, end)
            for start, end in zip([None, *self._marks], self._marks, strict=False)
        )
        chosen = folders or (self.claude / "projects", self.codex / "sessions")
        return Truth(
            self.repo,
            self.home,
            chosen,
            windows,
            tuple(sorted(self.book.deeds)),
            tuple(sorted(self.book.echoes)),
            tuple(self.book.copies),
        )


def rfc3339(time_ms: int) -> str:
    """Write a time as the harnesses do."""
    from datetime import UTC, datetime

    seconds, ms = divmod(time_ms, 1000)
    return (
        datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        + f".{ms:03}Z"
    )


def make_repository(path: Path) -> Path:
    """Make a git repository with one commit on main."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "--template=", "-b", "main")
    (path / "README.md").write_text("A repository.\n")
    git(path, "add", "README.md")
    git(path, "commit", "-q", "-m", "Begin")
    return path


def git(path: Path, *arguments: str) -> None:
    """Run git in a folder, untouched by the settings of the machine."""
    environment = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "PATH": os.environ.get("PATH", os.defpath),
    }
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {
            f"GIT_{role}_NAME": role.title(),
            f"GIT_{role}_EMAIL": f"{role.lower()}@example.org",
            f"GIT_{role}_DATE": f"{START_MS // 1000} +0000",
        }
    subprocess.run(
        ["git", "-C", str(path), *arguments],
        env=environment,
        check=True,
        capture_output=True,
    )


def write_lines(path: Path, lines: Iterable[bytes], end: bytes = b"\n") -> None:
    """Write a transcript, every line with its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + end for line in lines))
