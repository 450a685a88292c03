"""What is kept of a transcript, the same for every harness, and the index that keeps it between two runs.

What depends on other files (a response that was written twice) or on the repository (which work counts) is decided
later, from what is kept. The text of a conversation is dropped where the line is read.

The index holds what was read of the complete lines of a transcript up to an offset, and what shows that the transcript
is still the one it came from: path, size, modification time, inode, and checksums over its first bytes and the last
ones before the offset. Where all of that agrees, what is kept is taken as it is, or reading goes on at the offset of a
file that grew; else the transcript is read anew.

The module is long because the tables and the index that keeps them change together, under one number of a format.
"""

import os
import struct
import sys
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias
from zlib import crc32

import msgspec

from scoring.errors import InputError, WriteError
from scoring.files import kept_as, read_file, remove_stale, write_atomically

FORMAT = 7
"""Goes up with every change of what is kept or of how lines are read; an index of another format is not read."""


class LineSpan(NamedTuple):
    """Where some lines belong: the folder they name and the session they belong to; "" is not said.

    Where a harness names them once and for all lines that follow, ``opens`` says by what kind of line, ``parent`` from
    which session this one was forked, ``born`` the milliseconds since 1970 in a UUID of version 7 (-1: there is none),
    ``time`` the time of the line in nanoseconds, and ``remote`` the URL of the repository that it was done in.
    ``model`` is the model that answered; it is cut, and "" where that is not said.
    """

    cwd: str = ""
    session: str = ""
    opens: int = 0
    parent: str = ""
    born: int = -1
    time: int = 0
    remote: str = ""
    model: str = ""


Columns: TypeAlias = "list[array[int]]"
"""A table: a column each for the span and the time of its rows, and more, as the harness's reader says."""


@dataclass(slots=True)
class Rows:
    """What a transcript, or a part of it, says.

    ``covers`` has, for each of the ``spans``, the times of its lines in nanoseconds since 1970; ``tables`` the rows of
    each kind; ``skipped`` how many lines were skipped, by reason.

    A reader that observes has the number of a line in its file, from 0, wherever another one has its time: in the
    tables, which have those of :data:`RUN` and the following too, and in ``covers``. ``lines`` then says of each line
    of ``covers``, sorted by number: its number, its time, and its key. Two lines with one key are one line that was
    written twice. ``texts`` are the texts that the tables name by number: paths that were written, and the first words
    of test commands. ``opens`` is whether the file begins where its session does.
    """

    spans: list[LineSpan] = field(default_factory=list)
    covers: "list[array[int]]" = field(default_factory=list)
    tables: dict[int, Columns] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    lines: Columns = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    opens: bool = False

    def table(self, kind: int, width: int) -> Columns:
        """Return the rows of a kind, which have ``width`` columns."""
        return self.tables.get(kind) or [array("q") for _ in range(width)]

    def weight(self) -> int:
        """Return about how many bytes this takes."""
        tables = sum(len(columns) * len(columns[0]) for columns in self.tables.values())
        return 8 * (tables + sum(map(len, self.covers)) + sum(map(len, self.lines)))

    def sessions(self) -> list[str]:
        """Return the ids of the sessions that the lines belong to; where a line opens a session, of the first alone."""
        own = next((span.session for span in self.spans if span.opens and span.session), None)
        return list(dict.fromkeys(s.session for s in self.spans if s.session)) if own is None else [own]

    def extend(self, other: "Rows") -> None:
        """Put what follows in the transcript behind this; what observes is read in one piece."""
        shift = len(self.spans)
        self.spans += other.spans
        self.covers += other.covers
        for kind, (spans, *columns) in other.tables.items():
            held = self.table(kind, 1 + len(columns))
            more = [array("q", [span + shift for span in spans]), *columns]
            self.tables[kind] = [one + two for one, two in zip(held, more, strict=True)]
        self.skipped += other.skipped


RUN, MADE, EDIT, BREAK, RESET, WORD, NOTE = range(100, 107)
"""The tables of what was observed, the same for every harness. Behind span and line they have these columns:

- run of tests: key of the call, its state (:data:`WHOLE` …), the number of its first words in ``texts`` (-1: not
  known), whether it passed (1, 0, or -1: no verdict), how many tests passed and how many failed (-1: not said). The
  line is that of the result, of the call where there is none;
- commit that was made: key of the call, its state, the first 15 hex digits of its SHA as a number, how many digits
  of it are known (at most 15), the key of its subject. The line is that of the result; a call without one has 0 for
  the last three;
- edit: the number of the path in ``texts``, how (:data:`BY_TOOL`, :data:`BY_REDIRECTION`);
- break by the user: what (:data:`INTERRUPT`, :data:`REJECTION`), the key of the response whose tool use was refused (0:
  not known);
- reset of its own work: how (:data:`HARD` …), the number of a path in ``texts`` (-1: none);
- word of a shell command: its key, and that of its last part where it is a path;
- note: what (:data:`AGENT`: a sub-agent was started, :data:`COMPACTION`: what came before was cut to a summary).
"""

WHOLE, CALL_ONLY, RESULT_ONLY = range(3)
"""What is there of a call: all, or one side, where a file holds a part of a session; the other is in another file."""

BY_TOOL, BY_REDIRECTION = range(2)
INTERRUPT, REJECTION = range(2)
AGENT, COMPACTION = range(2)
HARD, PATHS, REVERT, AMEND = range(4)


def columns_of(rows: Sequence[tuple[int, ...]]) -> Columns:
    """Return rows, of which there is at least one, as columns."""
    return [array("q", column) for column in zip(*rows, strict=True)]


FileRows: TypeAlias = dict[str, Rows]
"""What a transcript says, by the name of the harness that wrote the lines: in most, there is one."""

_Plain: TypeAlias = tuple[
    list[LineSpan], list[bytes], dict[int, list[bytes]], dict[str, int], list[bytes], list[str], bool
]
_decoder = msgspec.msgpack.Decoder(dict[str, _Plain])


def pack(rows: FileRows) -> bytes:
    """Write rows as bytes, for the index and for another process."""
    return msgspec.msgpack.encode(
        {
            name: (
                part.spans,
                [times.tobytes() for times in part.covers],
                {kind: [column.tobytes() for column in columns] for kind, columns in part.tables.items()},
                part.skipped,
                [column.tobytes() for column in part.lines],
                part.texts,
                part.opens,
            )
            for name, part in rows.items()
        }
    )


def unpack(data: memoryview | bytes) -> FileRows:
    """Read what :func:`pack` wrote.

    Raises:
        ValueError: it is not whole.
    """
    try:
        return {
            name: Rows(
                spans,
                [array("q", times) for times in covers],
                {kind: [array("q", column) for column in columns] for kind, columns in tables.items()},
                Counter(skipped),
                [array("q", column) for column in lines],
                texts,
                opens,
            )
            for name, (spans, covers, tables, skipped, lines, texts, opens) in _decoder.decode(data).items()
        }
    except msgspec.MsgspecError as e:
        raise ValueError(str(e)) from e


def key_of(name: str | bytes) -> int:
    """Return a number of 64 bits, never 0, made of a name: two CRC-32, forwards and backwards.

    Together they are a CRC-64, whose polynomial is the product of both: names of one length that differ within eight
    bytes never share a number, and any others by a chance of 2^-64.
    """
    data = name.encode("utf-8", "replace") if isinstance(name, str) else name
    return (crc32(data) << 32 | crc32(data[::-1])) - _HALF or 1


_HALF = 1 << 63


# The index.

_MAGIC = b"DASCORE" + bytes([sys.byteorder == "little"])
_HEADER = struct.Struct("<8sII")  # magic, format, checksum of the rest
_STAMP = struct.Struct("<QqQQIII")  # size, mtime, inode, offset, two guards, length of the path
_GUARDED = 4096
_SIZE_LIMIT = 1 << 30


class Stamp(NamedTuple):
    """What differs between one state of a file and another. ``mtime`` is in nanoseconds since 1970."""

    size: int
    mtime: int
    inode: int

    @classmethod
    def of(cls, fd: int) -> "Stamp":
        """Read the stamp of an open file."""
        found = os.fstat(fd)
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


class Indexed(NamedTuple):
    """What the index knows of a transcript: its rows up to ``offset``, in the state ``stamp``."""

    stamp: Stamp
    offset: int
    rows: FileRows


class TranscriptIndex:
    """The index of one set of rules in one cache directory."""

    def __init__(self, cache_dir: Path, folder: str) -> None:
        """Take the cache directory, and the name of the index in it."""
        self._directory = cache_dir / f"{folder}-{FORMAT}"
        self._ready = False

    def load(self, path: Path, fd: int, stamp: Stamp) -> Indexed | None:
        """Return what is known of an open transcript, if it may be trusted; its offset may be before the end."""
        known = self._load(_named(path), fd)
        if known and (known.stamp == stamp or (known.stamp.inode == stamp.inode and known.stamp.size < stamp.size)):
            return known
        return None

    def save(self, path: Path, fd: int, indexed: Indexed) -> None:
        """Keep what was read of a transcript. A cache that cannot be written is no error."""
        self._save(_named(path), fd, indexed)

    def load_blobs(self, blobs: Sequence[str]) -> Indexed | None:
        """Return what is known of a transcript in git; its objects never change, so it is all that there is."""
        return self._load(_called(blobs), None)

    def save_blobs(self, blobs: Sequence[str], indexed: Indexed) -> None:
        """Keep what was read of a transcript in git. A cache that cannot be written is no error."""
        self._save(_called(blobs), None, indexed)

    def _load(self, name: bytes, fd: int | None) -> Indexed | None:
        try:
            stamp, offset, rows = _opened(read_file(self._place(name), _SIZE_LIMIT), name, fd)
            return Indexed(stamp, offset, unpack(rows))
        except (OSError, InputError, ValueError, struct.error):
            return None

    def _save(self, name: bytes, fd: int | None, indexed: Indexed) -> None:
        try:
            if not self._ready:
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                remove_stale(self._directory)
                self._ready = True
            write_atomically(self._place(name), _closed(indexed, name, fd), durable=False)
        except (OSError, WriteError, struct.error):  # the last: a time stamp beyond the year 2262
            return

    def _place(self, name: bytes) -> Path:
        return self._directory / f"{kept_as(name)}.idx"


def _named(path: Path) -> bytes:
    """Return the name of a file in the index."""
    return os.fsencode(path.absolute())


def _called(blobs: Sequence[str]) -> bytes:
    """Return the name of objects in the index, which no path can have."""
    return b"git:" + b" ".join(map(str.encode, blobs))


def _closed(indexed: Indexed, path: bytes, fd: int | None) -> bytes:
    first, last = guards(fd, indexed.offset)
    stamp = indexed.stamp
    head = _STAMP.pack(stamp.size, stamp.mtime, stamp.inode, indexed.offset, first, last, len(path))
    rest = b"".join([head, path, pack(indexed.rows)])
    return _HEADER.pack(_MAGIC, FORMAT, crc32(rest)) + rest


def _opened(data: bytes, path: bytes, fd: int | None) -> tuple[Stamp, int, memoryview]:
    """Read an index file and compare it with the transcript; return its stamp, its offset and the rows in it.

    Raises:
        ValueError, struct.error: the file is not whole, or it is not of this transcript.
        OSError: the transcript cannot be read.
    """
    magic, found, checksum = _HEADER.unpack_from(data)
    rest = memoryview(data)[_HEADER.size :]
    if magic != _MAGIC or found != FORMAT or checksum != crc32(rest):
        raise ValueError("the index is not whole")
    size, mtime, inode, offset, first, last, path_length = _STAMP.unpack_from(rest)
    at = _STAMP.size + path_length
    if rest[_STAMP.size : at] != path or (first, last) != guards(fd, offset):
        raise ValueError("the index is of another transcript")
    return Stamp(size, mtime, inode), offset, rest[at:]


def guards(fd: int | None, offset: int) -> tuple[int, int]:
    """Return checksums over the first bytes of a transcript and over the last ones before an offset; 0 without one."""
    if fd is None:
        return 0, 0
    length = min(_GUARDED, offset)
    return crc32(os.pread(fd, length, 0)), crc32(os.pread(fd, length, offset - length))
