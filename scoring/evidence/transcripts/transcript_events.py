"""The events of one transcript together, where its lines belong, and how the store keeps them.

How rows of the store are keyed and stamped: docs/ARCHITECTURE.md, "What is kept between runs".
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import lru_cache
from hashlib import shake_256
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from .events import Event


class SpanOpening(IntEnum):
    """What opened a span of lines, where a harness distinguishes that."""

    NOTHING = 0
    SESSION = 1
    TURN = 2
    OWN_LINES = 3
    """The first line that is the session's own, after lines repeated from another one."""


class LineSpan(NamedTuple):
    """Where some lines belong. A text that a transcript does not state is "".

    Attributes:
        cwd: the folder in which the work was done.
        session: the id of the session.
        opens: what opened the span.
        parent: the id of the session from which this one was forked or started.
        born: the milliseconds since 1970 in the id of the session or turn, a UUID of version 7;
            -1 for another id.
        time: when the line was written that opened the span, in nanoseconds since 1970; 0: not
            known.
        remote: the URL of the repository.
        model: the name of the model.
        agent: whether a sub-agent wrote the lines.
        agent_id: the id of the sub-agent, where the lines have the id of the session that started
            it.
    """

    cwd: str = ""
    session: str = ""
    opens: SpanOpening = SpanOpening.NOTHING
    parent: str = ""
    born: int = -1
    time: int = 0
    remote: str = ""
    model: str = ""
    agent: bool = False
    agent_id: str = ""


class TranscriptLine(
    msgspec.Struct, array_like=True, frozen=True, order=True, gc=False
):
    """A line that a reader understood.

    Attributes:
        number: its number in the file, from 0.
        time: when it was written, in nanoseconds since 1970.
        key: the key of its id, or of its bytes. Copies of a line have the same key.
    """

    number: int
    time: int
    key: int


EventKind = TypeVar("EventKind", bound=Event)


MOST_SESSIONS_TIMES_LINES = 20_000_000
"""How many sessions, times lines, a file may have that is looked through for each session."""


class TranscriptEvents(msgspec.Struct, array_like=True):
    """The events of a transcript, or of a part of one.

    Attributes:
        spans: where its lines belong.
        covers: for each span, the numbers of its lines, or their times where they have no numbers.
        lists: the events of each kind, by the name of their class; see :meth:`of`.
        skipped: how many lines were skipped, by reason.
        lines: the lines that were understood, in their order. Empty in a reading that only counts.
        texts: paths and commands, each once. Events name them by their index.
        begins_session: whether the file begins where its session does.
        messages: the lines at which messages begin, where a message may have several.
    """

    spans: list[LineSpan] = []
    covers: list[list[int]] = []
    lists: dict[str, msgspec.Raw] = {}
    skipped: dict[str, int] = {}
    lines: list[TranscriptLine] = []
    texts: list[str] = []
    begins_session: bool = False
    messages: list[int] = []

    def spans_with_lines(self) -> Iterator[tuple[LineSpan, list[int]]]:
        """Yield each span with the numbers of its lines, as :attr:`covers` has them."""
        yield from zip(self.spans, self.covers, strict=True)

    def of(self, kind: type[EventKind]) -> list[EventKind]:
        """Return the events of a kind, in the order in which they were put, or an empty list."""
        events: Any = self.lists.get(kind.__name__, [])
        if isinstance(events, msgspec.Raw):
            events = _decoder(kind).decode(events)
        return cast("list[EventKind]", events)

    def put(self, kind: type[EventKind], events: Iterable[EventKind]) -> None:
        """Replace the events of a kind."""
        as_list = list(events)
        if as_list:
            self.lists[kind.__name__] = cast("msgspec.Raw", as_list)
        else:
            self.lists.pop(kind.__name__, None)

    def kinds(self) -> list[type[Event]]:
        """Return the kinds of which there are events, in the order in which they were defined."""
        return [kind for kind in Event.__subclasses__() if kind.__name__ in self.lists]

    def pack_events(self) -> None:
        """Encode the events of each kind, which :meth:`of` then decodes each time it is asked.

        Events that wait for those of other transcripts take a fifth of the memory in this form.
        """
        events: Any  # as they were put, or encoded
        for name, events in self.lists.items():
            if not isinstance(events, msgspec.Raw):
                events = encode_events(events)
            self.lists[name] = msgspec.Raw(bytes(events))

    def line_of_message(self, message: int | None) -> int | None:
        """Return the number of the line at which a checkpoint begins.

        None where the checkpoint does not state its start, or where it begins after the last
        message and no line was understood. After the last message, it is the line after the last.

        Args:
            message: the number of the message, from 0, at which the checkpoint begins; in a
                transcript without messages the number of the line, which is returned. None: not
                stated.
        """
        if message is None or not self.messages or message < 0:
            return message
        if message < len(self.messages):
            return self.messages[message]
        if self.lines:
            return self.lines[-1].number + 1
        return None

    def sessions(self) -> list[str]:
        """Return the ids of the sessions to which the lines belong, each once, as they first come.

        Where a line opens a session or a turn with the id of a session, all lines belong to the
        first such session.
        """
        for span in self.spans:
            if span.opens and span.session:
                return [span.session]

        return list(dict.fromkeys(span.session for span in self.spans if span.session))

    def has_too_many_sessions(self) -> bool:
        """Return whether it takes long to look through all lines for each session."""
        return len(self.sessions()) * len(self.lines) > MOST_SESSIONS_TIMES_LINES

    def by_session(self) -> "list[TranscriptEvents]":
        """Return the events of each session apart, in the order of :meth:`sessions`.

        What belongs to no session is left out. Texts and their indices stay the same.
        """
        parts = {
            session: TranscriptEvents(
                texts=self.texts, begins_session=self.begins_session
            )
            for session in self.sessions()
        }

        new_index: dict[int, int] = {}  # of each span, in its part
        part_of_line: dict[int, TranscriptEvents] = {}
        for index, span in enumerate(self.spans):
            if span.session in parts:
                part = parts[span.session]
                new_index[index] = len(part.spans)
                part.spans.append(span)
                part.covers.append(self.covers[index])
                part_of_line.update(dict.fromkeys(self.covers[index], part))

        for line in self.lines:
            if line.number in part_of_line:
                part_of_line[line.number].lines.append(line)

        for kind in self.kinds():
            moved: defaultdict[str, list[Event]] = defaultdict(list)
            for event in self.of(kind):
                if event.span in new_index:
                    copy = msgspec.structs.replace(event, span=new_index[event.span])
                    moved[self.spans[event.span].session].append(copy)
            for session, events in moved.items():
                parts[session].put(kind, events)

        return list(parts.values())


EventsByHarness = dict[str, TranscriptEvents]
"""The events of one file, by the name of the harness that wrote the lines."""


encode_events = msgspec.msgpack.Encoder().encode
_events_decoder = msgspec.msgpack.Decoder(EventsByHarness)


@lru_cache
def _decoder(kind: type[Event]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(list[kind])  # type: ignore[valid-type]


def decode_events(data: bytes) -> EventsByHarness:
    """Return what :func:`encode_events` encoded.

    Raises:
        ValueError: the data is damaged.
    """
    try:
        return _events_decoder.decode(data)
    except msgspec.MsgspecError as e:
        raise ValueError(str(e)) from e


def mixed(data: bytes, secret: bytes, stamp: bytes) -> bytes:
    """Return data mixed with a stream made of a secret and a stamp. Mixing again undoes it."""
    stream = shake_256(secret + stamp).digest(len(data))
    number = int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")
    return number.to_bytes(len(data), "little")
