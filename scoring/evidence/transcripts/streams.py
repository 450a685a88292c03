"""Transcripts as sessions: which lines a session has, in which files, and which commits it made.

A line that several files hold is one line, known by its key, and has one number here, counted up over all files.
"""

import os
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NamedTuple, TypeAlias

from scoring.evidence.transcripts.discovery import TranscriptFile
from scoring.evidence.transcripts.harness import Harness
from scoring.evidence.transcripts.rows import CALL_ONLY, MADE, RESULT_ONLY, WHOLE, Rows

SessionKey: TypeAlias = tuple[str, str]
"""A session: the name of its harness, and its id; a file that names no session is one, by its path."""

SHA_DIGITS = 15  # how many hex digits of the SHA of a commit that a session made are kept


class Made(NamedTuple):
    """A commit that a session made: the line of the result, 7 to 15 hex digits of its name, its subject's key."""

    time: int
    line: int
    sha: str
    subject: int


@dataclass(eq=False)
class File:
    """One transcript, as far as one harness wrote it, or what it holds of one checkpoint's session.

    ``checkpoint`` and ``session`` are "" for a file on disk; ``start`` is how many lines are from before the
    checkpoint. ``ids`` has the number of each of ``rows.lines``, ``here`` whether it is work in this repository, and
    ``fresh`` whether no earlier file has it as such.
    """

    transcript: TranscriptFile
    harness: Harness
    rows: Rows
    checkpoint: str = ""
    session: str = ""
    start: int | None = None
    ids: list[int] = field(default_factory=list)
    fresh: list[bool] = field(default_factory=list)
    here: list[bool] = field(default_factory=list)

    @cached_property
    def place(self) -> dict[int, int]:
        """Where a line is in ``ids``, by its number in the file."""
        return {number: n for n, number in enumerate(self.numbers)}

    @cached_property
    def numbers(self) -> list[int]:
        """The numbers of its lines in the file."""
        return [number for number, _, _ in self.rows.lines]

    @cached_property
    def times(self) -> list[int]:
        """The times of its lines."""
        return [time for _, time, _ in self.rows.lines]

    @cached_property
    def order(self) -> tuple[int, int]:
        """When its last line was written, and how long it is: what is earlier of two files of one session."""
        return max(self.times, default=0), self.transcript.size or len(self.times)

    @cached_property
    def sessions(self) -> list[tuple[str, Sequence[int]]]:
        """The sessions in it, each with where its lines are in ``ids``.

        The first one is its owner, which is named last and has all the lines; it goes on from the others.
        """
        everything = range(len(self.numbers))
        *others, own = self._by_name or {os.fspath(self.transcript.path): everything}
        return [(own, everything), *((name, sorted(self._by_name[name])) for name in others)]

    @property
    def owner(self) -> str:
        """The session that the file is of."""
        return self.sessions[0][0]

    @cached_property
    def _by_name(self) -> dict[str, Collection[int]]:
        """Where the lines are in ``ids`` that name each session; those that name none are of the last one."""
        named = [self.session] if self.session else self.rows.sessions()
        if len(named) <= 1:
            return dict.fromkeys(named, range(len(self.numbers)))
        found: dict[str, set[int]] = {}
        for span, numbers in zip(self.rows.spans, self.rows.covers, strict=True):
            if len(numbers):
                found.setdefault(span.session or named[-1], set()).update(map(self.place.__getitem__, numbers))
        return dict(sorted(found.items(), key=lambda one: max(one[1])))

    def names(self, session: str, place: int) -> bool:
        """Whether a line names a session as its own; a line that names none is of the file's own session."""
        return len(self._by_name) <= 1 or place in self._by_name[session]


@dataclass(eq=False)
class Session:
    """One session: its lines and commits by time; ``copies`` are lines of commits of a session that it goes on from."""

    key: SessionKey
    files: list[File] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    copies: set[int] = field(default_factory=set)

    def between(self, start: int | None, end: int) -> list[int]:
        """Return its lines after one time, up to and including another."""
        first = 0 if start is None else bisect_right(self.times, start)
        return self.lines[first : bisect_right(self.times, end)]


def number_lines(files: Iterable[File]) -> int:
    """Give the lines of all files their numbers, and return how many there are."""
    numbers: dict[str, dict[int, int]] = {}
    count = 0
    for file in files:
        known = numbers.setdefault(file.harness.name, {})
        ids = []
        for _, _, key in file.rows.lines:
            line = known.get(key)
            if line is None:
                line = known[key] = count
                count += 1
            ids.append(line)
        file.ids = ids
    return count


def count_once(files: Iterable[File], lines: int) -> None:
    """Say of each line that is work in the repository where it counts: in the first file where it is that."""
    seen = bytearray(lines)
    for file in files:
        fresh = []
        for line, here in zip(file.ids, file.here, strict=True):
            fresh.append(here and not seen[line])
            seen[line] |= here
        file.fresh = fresh


def sessions_of(files: Iterable[File]) -> dict[SessionKey, Session]:
    """Return the sessions in some files, after their lines were numbered, with the commits that they made."""
    found: dict[SessionKey, Session] = {}
    for file in files:
        for name, _ in file.sessions:
            key = (file.harness.name, name)
            found.setdefault(key, Session(key)).files.append(file)
    for session in found.values():
        session.made = sorted(_made(session))
    _know_copies(found.values())
    return found


def _know_copies(sessions: Iterable[Session]) -> None:
    """Say which sessions have the line of a commit from another one: those with a file that has all of one of its."""
    holders: dict[int, list[Session]] = {}
    for session in sessions:
        for line in {made.line for made in session.made}:
            holders.setdefault(line, []).append(session)
    held: dict[int, frozenset[int]] = {}
    for line, found in holders.items():
        if len(found) > 1:
            own = [(session, file) for session in found for file in session.files if file.owner == session.key[1]]
            files = [(session, held.setdefault(id(file), frozenset(file.ids))) for session, file in own]
            files = [(session, ids) for session, ids in files if line in ids]
            for session, ids in files:
                if any(other is not session and theirs < ids for other, theirs in files):
                    session.copies.add(line)


def order_lines(sessions: Iterable[Session]) -> None:
    """Bring the lines of sessions into the order of time; keep those, and the commits, of work in the repository."""
    for session in sessions:
        stamped: dict[int, int] = {}
        for file in session.files:
            places = next(places for name, places in file.sessions if name == session.key[1])
            for n in places:
                if file.here[n]:
                    stamped.setdefault(file.ids[n], file.times[n])
        session.made = [made for made in session.made if made.line in stamped]
        session.lines = sorted(stamped, key=lambda line: (stamped[line], line))
        session.times = [stamped[line] for line in session.lines]


def _made(session: Session) -> list[Made]:
    """Return the commits that a session made. A result without its call counts where another file has the call."""
    calls: set[int] = set()
    found: dict[int, list[Made]] = {}
    waiting: list[tuple[int, Made]] = []
    own: set[int] = set()
    name = session.key[1]
    for file in session.files:
        for _, number, key, state, sha, count, subject in file.rows.tables.get(MADE, ()):
            n = file.place[number]
            if not (named := file.names(name, n)) and name != file.owner:
                continue
            if state == CALL_ONLY:
                calls.add(key)
                continue
            made = Made(file.times[n], file.ids[n], f"{sha:0{count}x}", subject)
            if named:
                own.add(made.line)
            if state == WHOLE:
                found.setdefault(made.line, []).append(made)
            elif state == RESULT_ONLY:
                waiting.append((key, made))
    for key, made in waiting:
        if key in calls:
            found.setdefault(made.line, []).append(made)
    session.copies = found.keys() - own
    return list(dict.fromkeys(chain.from_iterable(found.values())))
