"""A machine on which agents work: its folders, its clock, and the book of what really happened."""

import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple
from uuid import UUID

CLAUDE, CODEX = "claude", "codex"
"""The names of the harnesses."""

CLI, TESTS, LOOP_STATE = 1, 2, 4
"""What a window shows, as bits: a command was run, a test command was run, loop-state.md was read."""

START_MS = 1_776_003_000_000
"""When a world begins: 2026-04-12T14:10:00Z."""

MS = 1_000_000
"""Nanoseconds in a millisecond."""

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


class Totals(NamedTuple):
    """What happened in some time, in the units of the contract: numbers of things, tokens, and bits of checks."""

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
    """Some time: after ``start`` (None: open) up to and including ``end``, both in nanoseconds since 1970."""

    start: int | None
    end: int

    def holds(self, time: int) -> bool:
        """Tell whether a time lies in the window."""
        return (self.start is None or self.start < time) and time <= self.end


class Deed(NamedTuple):
    """One thing that happened: when (nanoseconds), in which harness, and whether in this repository.

    ``session`` is the id of the session that it happened in, ``file`` the name of the transcript it was written to.
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

    ``echoes`` are the stamps of lines that only repeat. ``copies`` has an entry for each line that repeats a response,
    with the time of the response.
    """

    deeds: list[Deed] = field(default_factory=list)
    echoes: list[int] = field(default_factory=list)
    copies: list[Deed] = field(default_factory=list)
    responses: dict[str, Deed] = field(default_factory=dict)

    def enter(self, deed: Deed, name: str = "") -> None:
        """Enter what happened; without totals a line was written and nothing else. A response may have a name."""
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
        """Enter that a line was written which tells of nothing new."""
        self.echoes.append(time_ms * MS)


@dataclass(frozen=True)
class Truth:
    """What a reader must find.

    ``repository`` is the work tree whose work counts, ``home`` the home directory, ``folders`` the transcript folders
    for who names them by hand; ``windows`` follow each other; ``copies`` has the deed of a response once for every
    line of Claude's with usage beyond the response's first.
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
        """Sum up a window, for some harnesses (none named: all). ``here`` leaves out what happened elsewhere."""
        total = Totals()
        for deed in self.deeds:
            wanted = (not harnesses or deed.harness in harnesses) and (deed.here or not here)
            if wanted and window.holds(deed.time):
                total = total.plus(deed.totals)
        return total

    def duplicates(self, window: Window, *, here: bool = True) -> int:
        """Count the lines that repeat a response of a window, wherever they stand."""
        return sum(window.holds(deed.time) for deed in self.copies if deed.here or not here)

    def sessions(self, window: Window, harness: str, *, here: bool = True) -> int:
        """Count the sessions that were at work in a window."""
        return len({deed.session for deed in self._of(window, harness, here)})

    def files(self, window: Window, harness: str, *, here: bool = True) -> int:
        """Count the transcripts that were written to in a window, but for those that only repeat others."""
        return len({deed.file for deed in self._of(window, harness, here)})

    def _of(self, window: Window, harness: str, here: bool) -> Iterator[Deed]:
        found = (deed for deed in self.deeds if deed.harness == harness and window.holds(deed.time))
        return (deed for deed in found if deed.here or not here)

    def covered(self, window: Window, *, here: bool = True) -> bool | None:
        """Tell whether work lies in a window; None when nothing but repeated lines do."""
        if any(window.holds(deed.time) for deed in self.deeds if deed.here or not here):
            return True
        return None if any(map(window.holds, self.echoes)) else False


class World:
    """A machine in the making: ``root/repo`` is a git repository, ``root/home`` a home directory."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root.resolve()
        self.repo, self.home = self.root / "repo", self.root / "home"
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
        """End a window now, as a commit does, and return its end in milliseconds. What follows comes later."""
        marked = self.now_ms
        self._marks.append(marked * MS)
        self.now_ms += 1
        return marked

    def elsewhere(self, path: Path) -> Path:
        """Say that work in a folder is not work in this repository."""
        self._here[str(path)] = False
        return path

    def is_here(self, path: Path) -> bool:
        """Tell whether work in a folder counts, as the scenario said; by default it does."""
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
        """Close the book. ``folders`` are the transcript folders, by default those of both harnesses."""
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
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{ms:03}Z"


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
        ["git", "-C", str(path), *arguments], env=environment, check=True, capture_output=True
    )


def write_lines(path: Path, lines: Iterable[bytes], end: bytes = b"\n") -> None:
    """Write a transcript, every line with its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + end for line in lines))
