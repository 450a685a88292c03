"""What is kept of a transcript: numbers by line, and where and in which session the lines were written.

The same for every harness, so that one index and one way between processes serve them all. What depends on other
files (a response that was written twice) or on the repository (which work counts) is decided later, from what is kept.
The text of a conversation is dropped where the line is read.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias
from zlib import crc32

import msgspec

FORMAT = 3
"""Goes up with every change of what is kept or of how lines are read; an index of another format is not read."""


class Span(NamedTuple):
    """Where some lines belong: the folder they name and the session they belong to; "" is not said.

    Where a harness names them once and for all lines that follow, ``opens`` says by what kind of line, ``parent`` from
    which session this one was forked, ``born`` the milliseconds since 1970 in a UUID of version 7 (-1: there is none),
    and ``time`` the time of the line in nanoseconds.
    """

    cwd: str = ""
    session: str = ""
    opens: int = 0
    parent: str = ""
    born: int = -1
    time: int = 0


Columns: TypeAlias = "list[array[int]]"
"""A table: a column each for the span and the time of its rows, and more, as the harness's reader says."""


class Rows:
    """What a transcript, or a part of it, says.

    ``covers`` has, for each of the ``spans``, the times of its lines in nanoseconds since 1970; ``tables`` the rows of
    each kind; ``skipped`` how many lines were skipped, by reason.
    """

    __slots__ = ("covers", "skipped", "spans", "tables")

    def __init__(
        self,
        spans: list[Span] | None = None,
        covers: "list[array[int]] | None" = None,
        tables: dict[int, Columns] | None = None,
        skipped: dict[str, int] | None = None,
    ) -> None:
        self.spans, self.covers, self.tables = spans or [], covers or [], tables or {}
        self.skipped: Counter[str] = Counter(skipped)

    def table(self, kind: int, width: int) -> Columns:
        """Return the rows of a kind, which have ``width`` columns."""
        return self.tables.get(kind) or [array("q") for _ in range(width)]

    def weight(self) -> int:
        """Return about how many bytes this takes."""
        return 8 * (
            sum(len(columns) * len(columns[0]) for columns in self.tables.values()) + sum(map(len, self.covers))
        )

    def sessions(self) -> list[str]:
        """Return the ids of the sessions that the lines belong to; where a line opens a session, of the first alone."""
        own = next((span.session for span in self.spans if span.opens and span.session), None)
        return list(dict.fromkeys(s.session for s in self.spans if s.session)) if own is None else [own]

    def extend(self, other: "Rows") -> None:
        """Put what follows in the transcript behind this."""
        shift = len(self.spans)
        self.spans += other.spans
        self.covers += other.covers
        for kind, (spans, *columns) in other.tables.items():
            held = self.table(kind, 1 + len(columns))
            more = [array("q", [span + shift for span in spans]), *columns]
            self.tables[kind] = [one + two for one, two in zip(held, more, strict=True)]
        self.skipped += other.skipped


def joined(parts: Sequence[Rows]) -> Rows:
    """Put the parts of one transcript, in order, together."""
    whole = Rows()
    for part in parts:
        whole.extend(part)
    return whole


def columns_of(rows: Sequence[tuple[int, ...]]) -> Columns:
    """Return rows, of which there is at least one, as columns."""
    return [array("q", column) for column in zip(*rows, strict=True)]


FileRows: TypeAlias = dict[str, Rows]
"""What a transcript says, by the name of the harness that wrote the lines: in most, there is one."""

_Plain: TypeAlias = tuple[list[Span], list[bytes], dict[int, list[bytes]], dict[str, int]]
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
                skipped,
            )
            for name, (spans, covers, tables, skipped) in _decoder.decode(data).items()
        }
    except msgspec.MsgspecError as e:
        raise ValueError(str(e)) from e


def key_of(name: str) -> int:
    """Return a number of 64 bits, never 0, made of a name: two CRC-32, forwards and backwards.

    Together they are a CRC-64, whose polynomial is the product of both: names of one length that differ within eight
    bytes never share a number, and any others by a chance of 2^-64.
    """
    data = name.encode("utf-8", "replace")
    return (crc32(data) << 32 | crc32(data[::-1])) - _HALF or 1


_HALF = 1 << 63
