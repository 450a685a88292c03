"""What is kept of a transcript: numbers by line, and where and in which session the lines were written.

The same for every harness, so that one index and one way between processes serve them all. What depends on other
files (a response that was written twice) or on the repository (whose work it is) is decided later, from what is kept.
The text of a conversation is dropped where the line is read.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import msgspec

WIDTH = 11
"""How many numbers a row has: what it is, its span, its time, and eight more, as the harness's reader says."""

FORMAT = 1
"""Goes up with every change of what is kept or of how lines are read; an index of another format is not read."""

FOLDER = "harness-transcripts"
"""The name of the index in the cache directory."""


class Span(NamedTuple):
    """The circumstances of some lines: the folder they name and the session they belong to; "" is not said.

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


class Rows:
    """What a transcript, or a part of it, says.

    ``covers`` has, for each of the ``spans``, the times of its lines in nanoseconds since 1970; ``numbers`` the rows,
    one after the other; ``skipped`` how many lines were skipped, by reason.
    """

    __slots__ = ("covers", "numbers", "skipped", "spans")

    def __init__(
        self,
        spans: list[Span] | None = None,
        covers: "list[array[int]] | None" = None,
        numbers: "array[int] | None" = None,
        skipped: dict[str, int] | None = None,
    ) -> None:
        self.spans, self.covers = spans or [], covers or []
        self.numbers = array("q") if numbers is None else numbers
        self.skipped: Counter[str] = Counter(skipped)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Iterate over the rows."""
        return zip(*[iter(self.numbers)] * WIDTH, strict=True)

    def sessions(self) -> list[str]:
        """Return the ids of the sessions that the lines belong to; where a line opens a session, of the first alone."""
        own = next((span.session for span in self.spans if span.opens and span.session), None)
        return list(dict.fromkeys(s.session for s in self.spans if s.session)) if own is None else [own]

    def extend(self, other: "Rows") -> None:
        """Put what follows in the transcript behind this."""
        shift = len(self.spans)
        self.spans += other.spans
        self.covers += other.covers
        numbers = other.numbers
        if shift:
            numbers = numbers[:]
            for at in range(1, len(numbers), WIDTH):
                numbers[at] += shift
        self.numbers += numbers
        self.skipped += other.skipped


FileRows: TypeAlias = dict[str, Rows]
"""What a transcript says, by the name of the harness that wrote the lines: in most, there is one."""

_Plain: TypeAlias = tuple[list[Span], list[bytes], bytes, dict[str, int]]


def joined(parts: Sequence[FileRows]) -> FileRows:
    """Put the parts of one transcript, in order, together."""
    if len(parts) == 1:
        return parts[0]
    whole: FileRows = {}
    for part in parts:
        for name, rows in part.items():
            whole.setdefault(name, Rows()).extend(rows)
    return whole


def plain(rows: FileRows) -> dict[str, Any]:
    """Return rows as what ``marshal`` and MessagePack can write."""
    return {
        name: (list(map(tuple, r.spans)), [c.tobytes() for c in r.covers], r.numbers.tobytes(), dict(r.skipped))
        for name, r in rows.items()
    }


def rows_of(kept: dict[str, Any]) -> FileRows:
    """Return the rows that :func:`plain` was given.

    Raises:
        ValueError: they are not whole.
    """
    return {
        name: Rows(
            [Span(*span) for span in spans], [array("q", times) for times in covers], array("q", numbers), skipped
        )
        for name, (spans, covers, numbers, skipped) in kept.items()
    }


def pack(rows: FileRows) -> bytes:
    """Write rows as bytes."""
    return msgspec.msgpack.encode(plain(rows))


def unpack(data: memoryview) -> FileRows:
    """Read what :func:`pack` wrote.

    Raises:
        ValueError: it is not whole.
    """
    try:
        return rows_of(_KEPT.decode(data))
    except msgspec.MsgspecError as e:
        raise ValueError(str(e)) from e


_KEPT: msgspec.msgpack.Decoder[dict[str, _Plain]] = msgspec.msgpack.Decoder(dict[str, _Plain])


def key_of(name: str) -> int:
    """Return a number of 64 bits, never 0, that stands for a name; two names share one by less than a miracle."""
    return int.from_bytes(blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "little", signed=True) or 1
