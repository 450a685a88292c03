"""Transcripts as sessions: which lines (each once, numbered over all files) and which commits a session has."""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from scoring.evidence.harnesses.harness import Harness
from scoring.evidence.transcripts.discovery import TranscriptFile
from scoring.evidence.transcripts.facts import NS_MAX
from scoring.evidence.transcripts.rows import AGENT, CALL_ONLY, MADE, NOTE, RESULT_ONLY, WHOLE, Rows

SessionKey: TypeAlias = tuple[
    str, str
]  # the name of its harness, and its id or the path of a file that names none


class Made(NamedTuple):
    """A commit that a session made: 7 to 15 digits of its name, its subject's key, the call's time, if it amends."""

    time: int
    line: int
    sha: str
    subject: int
    begun: int
    amends: bool = False


@dataclass(eq=False, slots=True)
class File:
    """One transcript, as far as one harness wrote it, or what it holds of one checkpoint's session.

    ``numbers`` and ``times`` are those of its lines, ``ids`` their keys, and then their numbers among all lines;
    ``here`` says which are work in this repository, and ``fresh`` which of these no earlier file has.
    """

    transcript: TranscriptFile
    harness: Harness
    rows: Rows
    checkpoint: str = ""  # "" for a file on disk, as is the session
    session: str = ""
    start: int | None = None  # how many lines are from before the checkpoint
    stored: int | None = None  # when that was stored, in nanoseconds since 1970
    fresh: bytearray = field(default_factory=bytearray)
    here: bytearray = field(default_factory=bytearray)
    numbers: "array[int]" = field(init=False)
    times: "array[int]" = field(init=False)
    ids: "array[int]" = field(init=False)
    owner: str = field(init=False)  # the session that the file is of
    others: Mapping[str, Collection[int]] = field(
        init=False
    )  # where the lines are of other sessions in it

    def __post_init__(self) -> None:
        columns = tuple(zip(*self.rows.lines, strict=True)) or ((), (), ())
        self.numbers, self.times, self.ids = (array("q", column) for column in columns)
        names, found = (
            [self.session] if self.session else self.rows.sessions(),
            dict[str, set[int]](),
        )
        if len(names) > 1:  # lines that name none are of the last one
            for span, numbers in zip(self.rows.spans, self.rows.covers, strict=True):
                if numbers:
                    found.setdefault(span.session or names[-1], set()).update(map(self.at, numbers))
            names = sorted(found, key=lambda name: max(found[name]))
        *others, self.owner = names or [self.transcript.name]
        self.others = {name: dict.fromkeys(sorted(found[name])) for name in others}

    def at(self, number: int, default: int = -1) -> int:
        """Return where a line is in ``ids``, by its number in the file: those ascend."""
        n = bisect_right(self.numbers, number) - 1
        return n if n >= 0 and self.numbers[n] == number else default

    def of(self, session: str) -> Collection[int]:
        """Return the lines of a session in it, by their places in ``ids``."""
        return range(len(self.ids)) if session == self.owner else self.others.get(session, ())

    @property
    def order(self) -> tuple[int, int]:
        """When its last line was written, and how long it is: what is earlier of two files of one session."""
        return max(self.times, default=0), self.transcript.size or len(self.times)

    @property
    def sessions(self) -> list[str]:
        """The sessions in it; the first has all of its lines, and follows the others."""
        return [self.owner, *self.others]

    def agent(self, span: int) -> str:
        """Return the id of the sub-agent that wrote a span, or its transcript; "" for the session itself."""
        of = self.rows.spans[span]
        return (of.agent_id or self.transcript.name) if of.agent else ""


@dataclass(eq=False, slots=True)
class Session:
    """One session: its lines and commits by time, its ``parent``, and names of commits ``elsewhere``."""

    key: SessionKey
    files: list[File] = field(default_factory=list)
    times: Sequence[int] = ()
    lines: Sequence[int] = ()
    made: list[Made] = field(default_factory=list)
    elsewhere: frozenset[str] = (
        frozenset()
    )  # names of commits that are known to be of another repository

    @property
    def parent(self) -> str:
        """The id of the session that started this one as a sub-agent; "" for any other."""
        spans = (
            span for file in self.files for span in file.rows.spans if span.session == self.key[1]
        )
        return next((span.parent for span in spans if span.agent), "")


def number_lines(files: Iterable[File]) -> int:
    """Give the lines of all files their numbers, and return how many there are."""
    numbers: dict[str, dict[int, int]] = {}
    count = 0
    for file in files:
        known = numbers.setdefault(file.harness.name, {})
        keys, file.ids = file.ids, array("q")
        for key in keys:
            file.ids.append(line := known.setdefault(key, count))
            count += line == count
    return count


def count_once(files: Iterable[File], lines: int, owners: Mapping[int, str]) -> None:
    """Say of each line that is work here where it counts: in the first file of its session, if ``owners`` has one."""
    seen = bytearray(lines)
    for file in files:
        file.fresh = bytearray()
        for n, line in enumerate(file.ids):
            fresh = (
                file.here[n]
                and not seen[line]
                and (line not in owners or n in file.of(owners[line]))
            )
            file.fresh.append(fresh)
            seen[line] |= fresh


def sessions_of(files: Iterable[File]) -> dict[SessionKey, Session]:
    """Return the sessions in some files, after their lines were numbered, with the commits that they made."""
    found: dict[SessionKey, Session] = {}
    for file in files:
        for name in file.sessions:
            key = (file.harness.name, name)
            found.setdefault(key, Session(key)).files.append(file)
    for session in found.values():
        session.made = sorted(_made(session))
    return found


def order_lines(sessions: Iterable[Session]) -> dict[int, str]:
    """Order the lines of sessions by time; return the one session of each that several hold."""
    stamped: dict[SessionKey, dict[int, int]] = {}
    owner: dict[int, SessionKey] = {}
    shared: dict[int, list[SessionKey]] = {}
    for session in sessions:
        mine = stamped[session.key] = {}
        for file in session.files:
            for n in file.of(session.key[1]):
                if file.here[n]:
                    mine.setdefault(file.ids[n], file.times[n])
        for line in mine:
            if (first := owner.setdefault(line, session.key)) != session.key:
                shared.setdefault(line, [first]).append(session.key)
    several = {key for keys in shared.values() for key in keys}
    alone = {
        key: [time for line, time in stamped[key].items() if line not in shared] for key in several
    }
    # Such a line is of the session that has nothing else, else of the one that began first.
    age = {
        key: (min(times, default=-NS_MAX), len(stamped[key]), key) for key, times in alone.items()
    }
    owner = {line: min(keys, key=age.__getitem__) for line, keys in shared.items()}
    for session in sessions:
        mine = {
            n: time
            for n, time in stamped.pop(session.key).items()
            if owner.get(n, session.key) == session.key
        }
        session.made = [made for made in session.made if made.line in mine]
        session.lines = array(
            "q", sorted(sorted(mine), key=mine.__getitem__)
        )  # by time, and by line
        session.times = array("q", map(mine.__getitem__, session.lines))
    return {line: name for line, (_, name) in owner.items()}


def _made(session: Session) -> list[Made]:
    """Return the commits that a session made. A result without its call counts where another file has the call."""
    calls, found, waiting = (
        dict[int, tuple[int, bool]](),
        dict[tuple[int, str], Made](),
        list[tuple[int, Made]](),
    )
    name = session.key[1]
    for file in session.files:
        for (
            _,
            number,
            key,
            state,
            sha,
            count,
            subject,
            begun,
            amends,
            is_elsewhere,
        ) in file.rows.tables.get(MADE, ()):
            n = file.at(number)
            if n not in file.of(name):
                continue
            if state == CALL_ONLY:
                calls[key] = file.times[n], bool(amends)
                continue
            start = file.times[file.at(begun, n)]
            made = Made(
                file.times[n], file.ids[n], f"{sha:0{count}x}", subject, start, bool(amends)
            )
            if is_elsewhere:
                session.elsewhere |= {made.sha}
            if state == WHOLE:
                found.setdefault((made.line, made.sha), made)
            elif state == RESULT_ONLY:
                waiting.append((key, made))
    late = {
        (made.line, made.sha): Made(*made[:4], *calls[key]) for key, made in waiting if key in calls
    }
    return list((late | found).values())


def missing_sub_agents(
    files: Iterable[File], parts: Sequence[int], groups: Iterable[Iterable[int]]
) -> list[int]:
    """Return of each group of parts how many sub-agents were started in it that have no line there."""
    started, here = Counter[int](), dict[int, set[str]]()
    for file in files:
        spans = list(zip(file.rows.spans, file.rows.covers, strict=True))
        alone = all(span.agent for span, covered in spans if covered)
        for n, (span, covered) in enumerate(spans):
            # Older versions write sub-agents into the session's own file, and do not tell them apart.
            name = file.agent(n) if alone or span.agent_id else ""
            for number in covered if span.agent else ():
                here.setdefault(part_of(file, parts, number), set()).add(name)
        notes = file.rows.tables.get(NOTE, ())
        started.update(part_of(file, parts, number) for _, number, what in notes if what == AGENT)
    found = []
    for group in map(list, groups):
        names = set[str]().union(*(here.get(part, ()) for part in group))
        found.append(
            0 if "" in names else max(sum(started[part] for part in group) - len(names), 0)
        )
    return found


def part_of(file: File, parts: Sequence[int], number: int) -> int:
    """Return the part of a line by its number; -1 where it has none, or counts in another file."""
    n = file.at(number)
    return parts[file.ids[n]] if n >= 0 and file.fresh[n] else -1
