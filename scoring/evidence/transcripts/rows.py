"""What is kept of a transcript, the same for every harness: no text, but counts, times, hashes, paths and commands."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import shake_256
from typing import NamedTuple, TypeAlias
from zlib import crc32

import msgspec

from scoring.evidence.transcripts.facts import IterationWindow


class LineSpan(NamedTuple):
    """Where some lines belong; "" is not said. Some harnesses name most of it for all lines that follow."""

    cwd: str = ""
    session: str = ""
    opens: int = 0  # the kind of the line that names them
    parent: str = ""  # the session from which this one was forked or started
    born: int = -1  # the milliseconds since 1970 in a UUID of version 7; -1: none
    time: int = 0  # of the line that names them, in nanoseconds
    remote: str = ""  # the URL of the repository
    model: str = ""
    agent: bool = False  # whether the lines are of a sub-agent
    agent_id: str = ""  # the id of that, where others are in its session


class Rows(msgspec.Struct, array_like=True):
    """What a transcript, or a part of it, says. A reader that observes has numbers of lines, from 0, for times."""

    spans: list[LineSpan] = []
    covers: list[list[int]] = []  # for each span, the times of its lines in nanoseconds since 1970
    tables: dict[
        int, list[tuple[int, ...]]
    ] = {}  # the rows of each kind, each with its span and time
    skipped: dict[str, int] = {}  # how many lines were skipped, by reason
    lines: list[
        tuple[int, int, int]
    ] = []  # the numbers, times and keys of lines; one written twice has one key
    texts: list[str] = []  # those that the tables name by number
    opens: bool = False  # whether the file begins where its session does
    messages: list[
        int
    ] = []  # the lines where messages begin, of a harness that has several lines in one

    def line_of(self, start: int | None) -> int | None:
        """Return the line at which a checkpoint starts, which counts messages where there are any."""
        if start is None or not self.messages or start < 0:
            return start
        return (
            self.messages[start]
            if start < len(self.messages)
            else self.lines[-1][0] + 1
            if self.lines
            else None
        )

    def by_session(self) -> "list[Rows]":
        """Return the rows of each session that is in one store, apart."""
        found = {name: Rows(texts=self.texts, opens=self.opens) for name in self.sessions()}
        of, place = [found.get(span.session) for span in self.spans], list[int]()
        session_of: dict[int, Rows] = {}
        for rows, span, cover in zip(of, self.spans, self.covers, strict=True):
            place.append(len(rows.spans) if rows else -1)
            if rows:
                rows.spans.append(span)
                rows.covers.append(cover)
                session_of.update(dict.fromkeys(cover, rows))
        for line in self.lines:
            if rows := session_of.get(line[0]):
                rows.lines.append(line)
        for kind, table in self.tables.items():
            for span_number, *rest in table:
                if rows := of[span_number]:
                    rows.tables.setdefault(kind, []).append((place[span_number], *rest))
        return list(found.values())

    def sessions(self) -> list[str]:
        """Return the ids of the sessions that the lines belong to; where a line opens a session, of the first alone."""
        own = next((span.session for span in self.spans if span.opens and span.session), None)
        return (
            list(dict.fromkeys(s.session for s in self.spans if s.session))
            if own is None
            else [own]
        )


RESPONSE, CALL, VERDICT, STATED = 0, 1, 2, 5
"""The tables of what is counted. Behind span and line they have these columns; a harness may have others of its own:

- response: key of the id (0: none), key of the request (0: none), in a side chain, copies, output, input, cache reads,
  cache creations, those of them for an hour;
- call: key of the id, the bits that it shows;
- verdict: key of the id, whether it failed;
- stated totals of the responses, of the model of the span, that do not state theirs: the line since which, output,
  input, cache reads, cache creations.
"""

RUN, MADE, EDIT, BREAK, RESET, WORD, NOTE, PROMPT, SAID, WROTE, UNSURE, REWROTE = range(100, 112)
"""The tables of what was observed, the same for every harness. Behind span and line they have these columns:

- run of tests: key of the call, its state (:data:`WHOLE` …), the number of its first words in ``texts`` (-1: not
  known), whether it passed (1, 0, or -1: no verdict), how many tests passed and how many failed (-1: not said), the
  number of the line of the call (-1: not here). The line is that of the result, of the call where there is none;
- commit that was made: key of the call, its state, the first 15 hex digits of its SHA as a number, how many digits
  of it are known (at most 15), the key of its subject, the number of the line of the call (-1: not here), whether it
  is known to amend one, and whether to be of another repository, or the first one of any. The line is that of the
  result; a call without one has 0 for digits and subject;
- edit: the number of the path in ``texts``, how (:data:`BY_TOOL`, :data:`BY_REDIRECTION`);
- break by the user: what (:data:`INTERRUPT`, :data:`REJECTION`), the key of the response that asked for the tool (0:
  not known), of an interruption 1 where the agent had done nothing since the prompt;
- reset of its own work: how (:data:`HARD` …), the number of a path in ``texts`` (-1: none);
- word of a shell command: its key, and that of its last part where it is a path;
- note: what (:data:`AGENT`: a sub-agent was started, :data:`COMPACTION`: what came before was cut to a summary);
- prompt of a person about the work before it: what (:data:`SAID_WRONG`: that it is wrong, :data:`REPORT`: what a
  program or a reviewer said, :data:`FOREIGN`: in another language than English). Other prompts have no row;
- said: whether a text of the agent, a sub-agent's aside, claims that tests pass (1, 0); -1 for a text of the user;
- wrote: the number of the path in ``texts``, and a hash of each line that the edit adds, negative of each that it
  takes away;
- unsure: the number of a path in ``texts`` that a redirection or copy may have written: ``$`` begins what is not known;
- rewrote: the number of a path in ``texts``, a folder's too, in which a command changed files without saying how.
"""

TEXT_LIMIT = 1024  # characters that a path may have to be kept
WHOLE, CALL_ONLY, RESULT_ONLY = range(3)  # what a file has of a call: all, or one side
BY_TOOL, BY_REDIRECTION = range(2)
INTERRUPT, REJECTION = range(2)
AGENT, COMPACTION = range(2)
SAID_WRONG, REPORT, FOREIGN = range(3)
HARD, PATHS, REVERT, AMEND = range(4)


def timed(rows: Rows) -> Rows:
    """Return the tables of what is counted with the times of lines in place of their numbers."""
    if not rows.lines:
        return rows
    times = {number: time for number, time, _ in rows.lines}
    tables = {
        kind: [(span, times[number], *rest) for span, number, *rest in found]
        for kind, found in rows.tables.items()
        if kind < RUN
    }
    return Rows(rows.spans, [[times[number] for number in found] for found in rows.covers], tables)


FileRows: TypeAlias = dict[
    str, Rows
]  # what a transcript says, by the name of the harness that wrote the lines

pack = msgspec.msgpack.Encoder(enc_hook=lambda waiting: msgspec.Raw(waiting.packed)).encode
_decoder = msgspec.msgpack.Decoder(FileRows)


def unpack(data: bytes) -> FileRows:
    """Read what ``pack`` wrote (raises ValueError: it is not whole)."""
    try:
        return _decoder.decode(data)
    except msgspec.MsgspecError as e:
        raise ValueError(str(e)) from e


class PackedTables(Mapping[int, list[tuple[int, ...]]]):
    """Tables of rows that wait, each unpacked when it is asked for: as tuples they take five times as much memory."""

    __slots__ = ("packed",)

    def __init__(self, tables: Mapping[int, list[tuple[int, ...]]]) -> None:
        self.packed = pack(tables)

    def __getitem__(self, kind: int) -> list[tuple[int, ...]]:
        return _table_of(_tables_of(self.packed)[kind])

    def __iter__(self) -> Iterator[int]:
        return iter(_tables_of(self.packed))

    def __len__(self) -> int:
        return len(_tables_of(self.packed))


_tables_of = lru_cache(1)(
    msgspec.msgpack.Decoder(dict[int, msgspec.Raw]).decode
)  # those of one follow each other
_table_of = msgspec.msgpack.Decoder(list[tuple[int, ...]]).decode


def key_of(name: str | bytes) -> int:
    """Return a number of 64 bits, never 0, made of a name: two CRC-32, forwards and backwards.

    Names of one length that differ within eight bytes never share a number, any others by a chance of 2^-64.
    """
    data = name.encode("utf-8", "replace") if isinstance(name, str) else name
    return (crc32(data) << 32 | crc32(data[::-1])) - (1 << 63) or 1


def sealed(data: bytes, secret: bytes, stamp: bytes) -> bytes:
    """Return bytes mixed with a stream made of the store's secret, or as they were before that."""
    stream = shake_256(secret + stamp).digest(len(data))
    return (int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")).to_bytes(
        len(data), "little"
    )


class Kept(msgspec.Struct, array_like=True):
    """What the store keeps of a transcript: its rows, sealed, and the first and the last time where they hold times."""

    first: int
    last: int
    data: bytes

    @classmethod
    def of(cls, rows: FileRows, packed: bytes, secret: bytes, stamp: bytes) -> "Kept":
        """Return what is kept of rows, which are also ``packed``."""
        parts = [
            part for part in rows.values() if not part.lines
        ]  # the others hold the numbers of lines
        times = [time for part in parts for found in part.covers for time in found]
        times += [row[1] for part in parts for table in part.tables.values() for row in table]
        return cls(min(times, default=0), max(times, default=-1), sealed(packed, secret, stamp))

    def touches(self, window: IterationWindow) -> bool:
        """Return whether a line may be in a window."""
        return self.first <= window.end and (window.start is None or self.last > window.start)

    def rows(self, secret: bytes, stamp: bytes) -> FileRows:
        """Return the rows; raise ValueError when they are not whole."""
        return unpack(sealed(self.data, secret, stamp))


read_kept = msgspec.msgpack.Decoder(Kept).decode
