"""What entries say, kept between two runs: one file a log, in the cache directory.

A log grows by an entry at a time, and a command that is about one entry has no use for the others but their numbers,
sessions and commits. So these are kept in columns, and each record by itself, to be read when somebody asks for it.

What is kept of a file is taken when the file's size, its times (``mtime`` and ``ctime``, in nanoseconds) and its inode
are what they were. A file that was changed within :data:`~scoring.files.SETTLED` before it was read may be changed
again without any of these showing it: that one is opened, and the checksum of its bytes (its guard) decides. An index
that is not whole, of another format or of another log is as if it were not there, and a record that is not whole is
read from its file.

The module is long because what is written and what is read back are one layout.
"""

import contextlib
import os
import struct
import time
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias, overload
from zlib import crc32

import msgspec

from scoring.errors import LogError, WriteError, silent
from scoring.files import READ_PLAIN, SETTLED, atomic_stream, kept_as
from scoring.log.model import IterationRecord
from scoring.processes import how_many, in_order

FORMAT = 2
"""Goes up with every change of the records, of how entries are read, or of this layout."""

HELD = 4_000
"""How many records of a log are held once they were read; of a longer log each is read when it is asked for."""

_SHARE = 500
"""The index is written when it lacks more than one entry in so many: that costs as much as reading a few anew."""

WORTH_A_PROCESS = 1000
"""How many entries there must be to read for each process."""
_TASK = 200
"""How many entries one process reads at a time."""
_AHEAD = 10_000
"""How many entries are read ahead of the one that is written."""

_MAGIC = b"DASENTRY"
_FOOTER = struct.Struct("<8sIIQQ")  # magic, format, checksum of the table, its offset, its length
_STAMP = 4
_NO_STAMP = array("q", [0] * _STAMP)
_INODE = (1 << 62) - 1

Read: TypeAlias = Callable[[Path], bytes]
"""Reads an entry file; raises LogError, which names it."""
Parse: TypeAlias = Callable[[Path, bytes], IterationRecord]
"""Makes a record of what an entry file holds; raises LogError, which names it."""

_RECORD = msgspec.msgpack.Decoder(IterationRecord)


class Records(Sequence[IterationRecord]):
    """The records of a log, sorted by iteration, each made when it is asked for.

    ``numbers``, ``commits`` and ``sessions`` have the iteration, the commit field as written and the session id of
    each, for which no record is made.
    """

    def __init__(self, rows: Iterable[tuple[int, str, str]], make: Callable[[int], IterationRecord]) -> None:
        """Take the number, commit field and session of each, and what makes the record at a place."""
        self.numbers, self.commits, self.sessions = list[int](), list[str](), list[str]()
        texts: dict[str, str] = {}  # a session has several iterations
        for number, commit, session in rows:
            self.numbers.append(number)
            self.commits.append(commit)
            self.sessions.append(texts.setdefault(session, session))
        self._make = make
        self._held: dict[int, IterationRecord] = {}

    @classmethod
    def of(cls, records: Sequence[IterationRecord]) -> "Records":
        """Take records, sorted by iteration."""
        if isinstance(records, Records):
            return records
        rows = ((record.iteration, record.commit, record.agent.session_id) for record in records)
        return cls(rows, records.__getitem__)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> IterationRecord: ...
    @overload
    def __getitem__(self, place: slice) -> "Records": ...
    def __getitem__(self, place: int | slice) -> "IterationRecord | Records":
        if isinstance(place, slice):
            return self.at(range(len(self))[place])
        place = range(len(self))[place]
        record = self._held.get(place)
        if record is None:
            record = self._make(place)
            if len(self) <= HELD:
                self._held[place] = record
        return record

    def at(self, places: Sequence[int]) -> "Records":
        """Return the records at some places, in this order."""
        return Records(map(self._row, places), lambda n: self[places[n]])

    def with_others(self, others: Mapping[int, IterationRecord]) -> "Records":
        """Return the last record of each iteration, and further ones by their iterations, sorted by iteration."""
        if not others and all(a < b for a, b in pairwise(self.numbers)):
            return self
        places = {number: place for place, number in enumerate(self.numbers)}
        more = Records.of(list(others.values()))
        rest = {number: place for place, number in enumerate(more.numbers)}
        order = sorted(places.keys() | rest.keys())
        rows = (self._row(places[n]) if n in places else more._row(rest[n]) for n in order)
        return Records(rows, lambda at: self[places[n]] if (n := order[at]) in places else more[rest[n]])

    def near(self, iterations: Collection[int], before: int) -> "Records":
        """Return the records of some iterations, and up to so many before each of them."""
        wanted: set[int] = set()
        for at in self._places(iterations):
            wanted.update(range(max(at - before, 0), at + 1))
        return self.at(sorted(wanted))

    def bounded(self, iterations: Collection[int], before: int, committed: Callable[[str], int | None]) -> bool:
        """Return whether one of so many records before each iteration has a commit, or there are no more before it.

        ``committed`` returns the time of the commit that a commit field stands for; None where there is none.
        """
        return all(
            at <= before or any(committed(commit) is not None for commit in reversed(self.commits[at - before : at]))
            for at in self._places(iterations)
        )

    def _places(self, iterations: Collection[int]) -> list[int]:
        return [place for place in map(self.place, iterations) if place is not None]

    def _row(self, place: int) -> tuple[int, str, str]:
        return self.numbers[place], self.commits[place], self.sessions[place]

    def place(self, iteration: int) -> int | None:
        """Return the place of an iteration; None when there is none."""
        from bisect import bisect_left

        at = bisect_left(self.numbers, iteration)
        return at if at < len(self) and self.numbers[at] == iteration else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class _Table(msgspec.Struct, array_like=True):
    """What the index knows of all entries at once; the columns of numbers are the bytes of arrays.

    ``stamps`` has size, mtime, ctime and inode of each file, ``guards`` the checksums of their bytes, ``unsettled`` the
    places of those that had just been changed, ``sums`` the checksums of the records, which end at ``ends``.
    """

    log: bytes
    names: str
    stamps: bytes
    guards: bytes
    unsettled: list[int]
    sums: bytes
    ends: bytes
    numbers: bytes
    commits: list[str]
    sessions: list[str]


class _Stored:
    """The bytes of records in an open file, one behind the other, with their checksums."""

    def __init__(self, fd: int, sums: "array[int]", ends: "array[int]") -> None:
        self._fd = fd
        self.sums, self.ends = sums, ends

    def __del__(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            os.close(self._fd)

    def data(self, row: int) -> bytes | None:
        """Return the bytes of a record; None when they are not whole."""
        start = self.ends[row - 1] if row else 0
        try:
            data = os.pread(self._fd, self.ends[row] - start, start)
        except (OSError, ValueError, OverflowError):
            return None
        return data if crc32(data) == self.sums[row] else None

    def record(self, row: int) -> IterationRecord | None:
        """Return a record; None when it is not whole."""
        data = self.data(row)
        try:
            return None if data is None else _RECORD.decode(data)
        except msgspec.MsgspecError:
            return None


class _Known(NamedTuple):
    """The index of an earlier run."""

    table: _Table
    stored: _Stored
    names: list[str]
    stamps: "array[int]"
    guards: "array[int]"
    numbers: "array[int]"

    def entry(self, row: int) -> "_Entry":
        """Return what a row says."""
        table = self.table
        return _Entry(self.numbers[row], table.commits[row], table.sessions[row], self.guards[row], self.stored, row)


class _Entry(NamedTuple):
    """An entry as it is now: stored in a row of an index, or read just now."""

    number: int
    commit: str
    session: str
    guard: int
    stored: _Stored | None = None
    row: int = -1
    record: IterationRecord | None = None
    data: bytes | None = None
    """The record as it is kept, where another process read it."""


class _Writer:
    """Writes an index anew, an entry at a time, and then knows where each is stored."""

    def __init__(self, file: BinaryIO, log: bytes) -> None:
        self._file, self._log, self._failed = file, log, False
        self._sums, self._ends, self._guards, self._numbers = array("I"), array("q"), array("Q"), array("q")
        self._names, self._commits, self._sessions = list[str](), list[str](), list[str]()
        self._stamps, self._unsettled = array("q"), list[int]()
        self._end = 0
        self.stored = _Stored(os.dup(file.fileno()), self._sums, self._ends)

    def add(self, name: str, entry: _Entry, stamp: "array[int]", settled: bool) -> int:
        """Write an entry, and return the row in which it is ``stored``; -1 when it cannot be."""
        data = entry.stored.data(entry.row) if entry.stored else entry.data or _encoded(entry.record)
        if self._failed or data is None:
            return -1
        try:
            self._end += self._file.write(data)
        except OSError:
            self._failed = True
            return -1
        if not settled:
            self._unsettled.append(len(self._names))
        self._sums.append(crc32(data))
        self._ends.append(self._end)
        self._guards.append(entry.guard)
        self._numbers.append(entry.number)
        self._names.append(name)
        self._commits.append(entry.commit)
        self._sessions.append(entry.session)
        self._stamps.extend(stamp)
        return len(self._names) - 1

    def finish(self) -> None:
        """Write the table; an index without it is no index."""
        if self._failed:
            return
        table = _Table(
            self._log,
            "\n".join(self._names),
            self._stamps.tobytes(),
            self._guards.tobytes(),
            self._unsettled,
            self._sums.tobytes(),
            self._ends.tobytes(),
            self._numbers.tobytes(),
            self._commits,
            self._sessions,
        )
        data = msgspec.msgpack.encode(table)
        with contextlib.suppress(OSError):
            self._file.write(data + _FOOTER.pack(_MAGIC, FORMAT, crc32(data), self._end, len(data)))
            self._file.flush()


def _encoded(record: IterationRecord | None) -> bytes | None:
    """Return a record as it is kept; None when it cannot be, because it holds text that is no UTF-8."""
    try:
        return msgspec.msgpack.encode(record) if record else None
    except (UnicodeEncodeError, OverflowError):
        return None


class EntryIndex:
    """The index of the entries of one log, read with the same spellings of a flag."""

    def __init__(
        self,
        cache_dir: Path | None,
        log_dir: Path,
        true_flags: Collection[str],
        read: Read,
        parse: Parse,
        keep: bool = True,
        processes: int | None = None,
    ) -> None:
        """Take the cache directory, the log, and how an entry is read and parsed; nothing is opened yet.

        To ``keep`` is to write what was read; without a cache directory nothing is kept. ``processes`` is how many may
        read a log of which little is known; None lets its length decide.
        """
        self._processes = processes
        self._log_dir, self._bytes, self._parse, self._keeps = log_dir, read, parse, keep and cache_dir is not None
        self._log = os.fsencode(os.path.realpath(log_dir)) + b"\0" + " ".join(sorted(true_flags)).encode()
        self._place = cache_dir / f"entries-{FORMAT}" / f"{kept_as(self._log)}.idx" if cache_dir else None

    def entries(self, names: Sequence[str], broken: Callable[[LogError], None]) -> Records:
        """Return the entries in some files of the log, in the order of the names, which are sorted.

        What cannot be read goes to ``broken``, and is left out.
        """
        if not names:
            return Records([], [].__getitem__)
        now = time.time_ns()
        known = self._opened()
        stamps = self._stamps(names) if self._place else array("q")
        rows = _rows_still_right(known, names, stamps)
        lacking = sum(row < 0 for row in rows)
        wanted = lacking > len(names) // _SHARE or (known and len(known.names) > 2 * len(names))
        if known and not (wanted and self._keeps):
            return self._mostly_known(known, names, rows, broken)
        found: list[tuple[int, str, str]] = []
        places, stored_at = array("q"), array("q")
        others: dict[int, _Entry] = {}  # those that are not in the index that is written, or all when none is
        with contextlib.suppress(WriteError), contextlib.ExitStack() as stack:
            writer = self._writer(stack) if wanted and self._keeps else None
            ahead: dict[int, _Entry] = {}
            for n, (name, row) in enumerate(zip(names, rows, strict=True)):
                if n % _AHEAD == 0:
                    ahead = self._read_ahead(names, rows, range(n, min(n + _AHEAD, len(names))))
                entry = known.entry(row) if known and row >= 0 else ahead.pop(n, None)
                entry = entry or self._read(name, known, -2 - row, broken)
                if entry is None:
                    continue
                stamp = stamps[n * _STAMP : (n + 1) * _STAMP]
                settled = row >= 0 or now - max(stamp[1:3], default=now) >= SETTLED
                at = writer.add(name, entry, stamp, settled) if writer else -1
                if at < 0:
                    others[len(found)] = entry
                stored_at.append(at)
                found.append((entry.number, entry.commit, entry.session))
                places.append(n)
            if writer:
                writer.finish()
        stored = writer.stored if writer else None

        def made(place: int) -> IterationRecord:
            entry = others.get(place) or _Entry(0, "", "", 0, stored, stored_at[place])
            return self._record(names[places[place]], entry)

        return Records(found, made)

    def _read_ahead(self, names: Sequence[str], rows: Sequence[int], places: range) -> dict[int, _Entry]:
        """Read what has no row, in several processes where that pays; what cannot be read or kept is left out."""
        lacking = [n for n in places if rows[n] == -1]
        processes = how_many(self._processes, len(lacking) // WORTH_A_PROCESS)
        if processes < 2:
            return {}
        found: dict[int, _Entry] = {}
        tasks = [lacking[start : start + _TASK] for start in range(0, len(lacking), _TASK)]

        def read(task: int) -> list[tuple[int, int, str, str, int, bytes]]:
            entries = ((n, self._read(names[n], None, -1, silent)) for n in tasks[task])
            kept = ((n, entry, _encoded(entry.record)) for n, entry in entries if entry)
            return [(n, e.number, e.commit, e.session, e.guard, data) for n, e, data in kept if data]

        for some in in_order(len(tasks), processes, read):
            for n, number, commit, session, guard, data in some:
                found[n] = _Entry(number, commit, session, guard, data=data)
        return found

    def _mostly_known(
        self, known: _Known, names: Sequence[str], rows: Sequence[int], broken: Callable[[LogError], None]
    ) -> Records:
        """Return the entries of which most are in the index, without making anything for each of these."""
        anew = {n: self._read(names[n], known, -2 - row, broken) for n, row in enumerate(rows) if row < 0}
        places = [n for n in range(len(names)) if n not in anew or anew[n]] if anew else range(len(names))
        numbers, commits, sessions = known.numbers, known.table.commits, known.table.sessions

        def row_of(n: int) -> tuple[int, str, str]:
            entry = anew[n] or known.entry(rows[n])
            return entry.number, entry.commit, entry.session

        def made(place: int) -> IterationRecord:
            n = places[place]
            return self._record(names[n], anew.get(n) or known.entry(rows[n]))

        found = [row_of(n) if (row := rows[n]) < 0 else (numbers[row], commits[row], sessions[row]) for n in places]
        return Records(found, made)

    def _record(self, name: str, entry: _Entry) -> IterationRecord:
        record = entry.record or (entry.stored.record(entry.row) if entry.stored else None)
        if entry.data:
            record = _RECORD.decode(entry.data)
        if record is None:
            path = self._log_dir / name
            record = self._parse(path, self._bytes(path))
        return record

    def _read(self, name: str, known: _Known | None, row: int, broken: Callable[[LogError], None]) -> _Entry | None:
        """Read an entry, or only its bytes where these are those of a row of the index; None when it is broken."""
        path = self._log_dir / name
        try:
            data = self._bytes(path)
            guard = int.from_bytes(blake2b(data, digest_size=8).digest(), "little")
            if known and row >= 0 and known.guards[row] == guard:
                return known.entry(row)
            record = self._parse(path, data)
        except LogError as e:
            broken(e)
            return None
        return _Entry(record.iteration, record.commit, record.agent.session_id, guard, record=record)

    def _stamps(self, names: Sequence[str]) -> "array[int]":
        """Return size, times and inode of some files; zeros for one that cannot be looked at."""
        stamps: array[int] = array("q")
        try:
            folder = os.open(self._log_dir, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return array("q", [0]) * (_STAMP * len(names))
        for name in names:
            try:
                found = os.stat(name, dir_fd=folder)  # without a walk from the root for each
                stamps.fromlist([found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino & _INODE])
            except (OSError, OverflowError):
                stamps += _NO_STAMP
        os.close(folder)
        return stamps

    def _writer(self, stack: contextlib.ExitStack) -> _Writer | None:
        """Begin to write the index anew; None when it cannot be. A cache that cannot be written is no error."""
        if self._place is None:
            return None
        try:
            self._place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return _Writer(stack.enter_context(atomic_stream(self._place, durable=False)), self._log)
        except (OSError, WriteError):
            return None

    def _opened(self) -> _Known | None:
        """Return what an earlier run kept; None when there is nothing that can be used."""
        if self._place is None:
            return None
        try:
            fd = os.open(self._place, READ_PLAIN)
        except OSError:
            return None
        stored = _Stored(fd, array("I"), array("q"))
        try:
            end = os.fstat(fd).st_size - _FOOTER.size
            magic, found, checksum, at, length = _FOOTER.unpack(os.pread(fd, _FOOTER.size, end))
            if (magic, found, at + length) != (_MAGIC, FORMAT, end):
                return None
            data = os.pread(fd, length, at)
            table = msgspec.msgpack.decode(data, type=_Table)
            if crc32(data) != checksum or table.log != self._log:
                return None
            stored.sums, stored.ends = array("I", table.sums), array("q", table.ends)
            names = table.names.split("\n") if table.names else []
            guards, numbers = array("Q", table.guards), array("q", table.numbers)
            return _Known(table, stored, names, array("q", table.stamps), guards, numbers)
        except (OSError, ValueError, struct.error, msgspec.MsgspecError):
            return None


def _rows_still_right(known: _Known | None, names: Sequence[str], stamps: "array[int]") -> Sequence[int]:
    """Return the row of each file whose stamp is what it was; -2 - row where its bytes must tell, -1 without a row."""
    if known is None:
        return [-1] * len(names)
    if known.names == names and known.stamps == stamps:
        rows = list(range(len(names)))
    else:
        places = {name: row for row, name in enumerate(known.names)}
        rows = [places.get(name, -1) for name in names]
        now, then, size = stamps.tobytes(), known.stamps.tobytes(), _STAMP * stamps.itemsize
        none = _NO_STAMP.tobytes()
        for n, row in enumerate(rows):
            if row >= 0:
                stamp = now[n * size : (n + 1) * size]
                if stamp == none or stamp != then[row * size : (row + 1) * size]:
                    rows[n] = -2 - row
    doubted = set(known.table.unsettled)
    return [-2 - row if row in doubted else row for row in rows] if doubted else rows
