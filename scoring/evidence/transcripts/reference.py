"""The rules of the reference: every line as it is written, in the files directly inside the named folders.

Scores under these rules stay comparable with the reference's, so nothing here may ever change.

Lines are decoded into the few fields that count, and those that are not plain are read exactly
(:mod:`~scoring.evidence.transcripts.reference_exact`; a property test compares the two): a run over 60 MB of
transcripts that reads every line exactly takes twice as long. A line is plain when every key of an object that matters
is known to be no spelling of a field that counts, every field that counts holds its type, and encoded again the line is
as long as it was, so that no key was given twice.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from scoring.evidence.transcripts.discovery import list_directly
from scoring.evidence.transcripts.facts import BASH, COVERED, LOOP_STATE, TESTS, timestamp_ns
from scoring.evidence.transcripts.harness import (
    NOT_JSON,
    Harness,
    JsonReader,
    TranscriptCounter,
    is_test_command,
    reads_loop_state,
)
from scoring.evidence.transcripts.reference_exact import CLAUDE_COUNTS, CODEX_COUNTS, Turn, codex_turn, read_exactly
from scoring.evidence.transcripts.rows import LineSpan, Rows
from scoring.evidence.transcripts.scan import Scan, TranscriptRules
from scoring.evidence.transcripts.testruns import TestTools
from scoring.numbers import INT_MAX, INT_MIN
from scoring.text import fold

PlainEvent: TypeAlias = tuple[int, int, int, int, Turn | None]
"""An event as a plain tuple, which is what the reading of millions of lines can afford."""

SHOWN, ENDED, TURN = range(3)
"""The tables, for lines that have more to say than that they are there. Behind span and time they have these columns:

- shown: the bits that a line shows;
- ended: how many calls of tools it says the end of, how many of them failed;
- turn: output, input, cache reads, cache creations.
"""

_LINE_BREAKS = b"\r\n"
_TEXT = str | None | UnsetType
_COUNT = Annotated[int, msgspec.Meta(ge=INT_MIN, le=INT_MAX)] | None | UnsetType
_OTHER = msgspec.Raw | UnsetType

_FIELDS: dict[str, dict[str, Any]] = {
    "usage": dict.fromkeys(CLAUDE_COUNTS, _COUNT),
    "item": {"type": _TEXT, "name": _TEXT, "is_error": bool | None | UnsetType, "input": _OTHER},
    "input": {"command": _TEXT, "file_path": _TEXT},
    "tokens": dict.fromkeys(CODEX_COUNTS, _COUNT),
}
"""The fields that count, by the object they are in; those of ``line``, ``message``, ``payload`` and ``info`` hold
others and are put together in :func:`_structures`."""

_HOLDERS = {
    "line": ("type", "timestamp", "payload", "message"),
    "message": ("role", "usage", "content"),
    "payload": ("type", "info"),
    "info": ("last_token_usage",),
}
_COUNTING = {kind: frozenset(fields) for kind, fields in (*_FIELDS.items(), *_HOLDERS.items())}

_PLAIN_KEY = re.compile(r"[\w.:$@/ -]+")
_MOST_KEYS = 500
"""How many other keys are learnt; transcripts have a few dozen, and one that has more is read the exact way."""


class ReferenceLines:
    """Reads transcript lines, and learns which keys they have beside those that count."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, None]] = {kind: {} for kind in _COUNTING}
        self._encode = msgspec.json.Encoder().encode
        self._prepare()

    def _prepare(self) -> None:
        line, tool_input = _structures(self._known)
        decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(line)
        self._decode = decoder.decode
        self._decode_input: Callable[[msgspec.Raw], Any] = msgspec.json.Decoder(tool_input).decode

    def read(self, line: bytes) -> PlainEvent | None:
        """Return what a line contributes, or None when it contributes nothing."""
        length = len(line)
        while length and line[length - 1] in _LINE_BREAKS:
            length -= 1
        if not length:
            return None
        try:
            found = self._decode(line)
            if len(self._encode(found)) == length:
                return self._event(found)
        except msgspec.ValidationError:
            self._learn(line)
        except (msgspec.MsgspecError, ValueError, RecursionError, _OddLineError):
            pass
        return read_exactly(line)

    def _event(self, found: Any) -> PlainEvent | None:
        stamp = found.timestamp
        if type(stamp) is not str:
            return None
        time = timestamp_ns(stamp)
        if time is None:
            return None
        message, payload = found.message, found.payload
        if payload is not UNSET:
            if message is not UNSET:
                raise _OddLineError
            info = payload is not None and payload.type == "token_count" and payload.info
            given = info and info.last_token_usage
            if not given:
                return time, COVERED, 0, 0, None
            counts = given.input_tokens or 0, given.cached_input_tokens or 0, given.output_tokens or 0
            return time, COVERED, 0, 0, codex_turn(*counts)
        if message is UNSET or message is None:
            return time, COVERED, 0, 0, None
        content = message.content
        if type(content) is str:  # neither view takes text for a list
            return None
        flags, calls, errors = COVERED, 0, 0
        if type(content) is list:
            for item in content:
                kind = item.type
                if kind == "tool_result":
                    calls += 1
                    errors += item.is_error is True
                elif kind == "tool_use":
                    if item.name == "Bash":
                        flags |= BASH | TESTS if is_test_command(self._argument(item.input, "command")) else BASH
                    elif item.name == "Read" and reads_loop_state(self._argument(item.input, "file_path")):
                        flags |= LOOP_STATE
        kind = found.type
        if kind != "assistant" and kind != "user":
            return time, flags, 0, 0, None
        usage = message.usage
        if usage is UNSET or usage is None:
            return time, flags, calls, errors, None
        reads, creations = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        return time, flags, calls, errors, (usage.input_tokens or 0, usage.output_tokens or 0, reads, creations)

    def _argument(self, given: Any, name: str) -> str:
        """Return a field of a tool's input (raises msgspec.MsgspecError, _OddLineError: it is not plain)."""
        if given is UNSET:
            return ""
        found = self._decode_input(given)
        if len(self._encode(found)) != memoryview(given).nbytes:
            raise _OddLineError
        return getattr(found, name) or ""

    def _learn(self, line: bytes) -> None:
        """Take the keys of a line that are new and no spelling of a field that counts for the next lines."""
        try:
            value = msgspec.json.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return
        new = {
            (kind, key)
            for kind, found in _objects(value)
            for key in found
            if key not in self._known[kind] and fold(key) not in _COUNTING[kind] and _PLAIN_KEY.fullmatch(key)
        }
        if new and sum(map(len, self._known.values())) + len(new) <= _MOST_KEYS:
            for kind, key in new:
                self._known[kind][key] = None
            self._prepare()


class _OddLineError(Exception):
    """The line is not plain."""


def _structures(known: dict[str, dict[str, None]]) -> tuple[type, type]:
    """Return how lines and tool inputs are decoded when these other keys are known."""

    def structure(kind: str, fields: dict[str, Any]) -> Any:
        names = {f"other_{n}": key for n, key in enumerate(known[kind])}
        members = [(name, what, UNSET) for name, what in fields.items()]
        others = [(name, _OTHER, UNSET) for name in names]
        return msgspec.defstruct(
            kind, [*members, *others], rename=names, forbid_unknown_fields=True, gc=False, omit_defaults=True
        )

    usage, item, tool_input, tokens = (structure(kind, fields) for kind, fields in _FIELDS.items())
    content = list[item] | str | None | UnsetType  # type: ignore[valid-type]
    message = structure("message", {"role": _TEXT, "usage": usage | None | UnsetType, "content": content})
    info = structure("info", {"last_token_usage": tokens | None | UnsetType})
    payload = structure("payload", {"type": _TEXT, "info": info | None | UnsetType})
    holders = {"payload": payload | None | UnsetType, "message": message | None | UnsetType}
    return structure("line", {"type": _TEXT, "timestamp": _TEXT, **holders}), tool_input


def _objects(line: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of a line in which fields that count may be, with their kinds."""
    message, payload = _member(line, "message"), _member(line, "payload")
    content = message.get("content")
    items = [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    info = _member(payload, "info")
    found = [("line", line), ("message", message), ("usage", _member(message, "usage")), ("payload", payload)]
    found += [("info", info), ("tokens", _member(info, "last_token_usage")), *(("item", item) for item in items)]
    found += [("input", _member(item, "input")) for item in items if item.get("name") in ("Bash", "Read")]
    return [(kind, value) for kind, value in found if isinstance(value, dict)]


def _member(value: Any, name: str) -> dict[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


class ReferenceReader(JsonReader):
    """Reads every line as the reference does: odd lines are no others', and skipped ones are not reported."""

    def __init__(self, lines: ReferenceLines) -> None:
        super().__init__()
        self._lines = lines
        self._events: list[PlainEvent] = []

    def block(self, block: bytes) -> Sequence[tuple[int, bytes]]:
        """Read some whole lines; the block ends with a line break."""
        read = self._lines.read
        self._events += [event for line in block.split(b"\n") if (event := read(line)) is not None]
        return ()

    def line(self, line: bytes, broken: str = NOT_JSON) -> None:  # noqa: ARG002 - the exact reading knows every line
        """Read one line."""
        if (event := self._lines.read(line)) is not None:
            self._events.append(event)

    def rows(self) -> Rows:
        """Return what was read."""
        if not self._events:
            return Rows()
        events = self._events
        tables: dict[int, list[tuple[int, ...]]] = {
            SHOWN: [(0, time, shown) for time, flags, *_ in events if (shown := flags & ~COVERED)],
            ENDED: [(0, time, calls, errors) for time, _, calls, errors, _ in events if calls],
            TURN: [(0, time, turn[1], turn[0], *turn[2:]) for time, *_, turn in events if turn],
        }
        covers = sorted(time for time, flags, *_ in events if flags & COVERED)
        return Rows([LineSpan()], [covers], {kind: rows for kind, rows in tables.items() if rows})


class ReferenceCounter(TranscriptCounter):
    """Counts every line, as often as it is written."""

    def add(self, file: int, rows: Rows, whole: bool) -> str:  # noqa: ARG002 - everything counts whole
        """Count a transcript."""
        tally = self._tally
        for times in rows.covers:
            tally.cover(file, "", times)
        for kind, add in ((SHOWN, tally.flag), (ENDED, tally.end), (TURN, tally.turn)):
            for _, *row in rows.tables.get(kind, ()):
                add(*row)
        return ""


class Reference(Harness):
    """See :class:`~scoring.evidence.transcripts.harness.Harness`. Readers of one scan learn keys from each other."""

    name = ""
    counter = ReferenceCounter

    def __init__(self) -> None:
        self._lines: ReferenceLines | None = None

    def claims(self, line: bytes) -> bool:  # noqa: ARG002 - whatever it is
        """Claim it."""
        return True

    def reader(self, _: TestTools | None = None) -> ReferenceReader:
        """Return what reads a part of a transcript."""
        self._lines = self._lines or ReferenceLines()
        return ReferenceReader(self._lines)


REFERENCE_TRANSCRIPTS = TranscriptRules(list_directly, lambda: (Reference(),), "transcripts", alone=True)
"""Plain ``*.jsonl`` files directly inside folders that are named by hand."""

reference_scan = partial(Scan, REFERENCE_TRANSCRIPTS)
