"""Claude Code: what a line of its transcripts holds.

``docs/EVIDENCE.md``, "Lines of Claude Code", shows the format.
"""

from array import array
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from scoring.evidence.transcripts.facts import LOOP_STATE, timestamp_ns
from scoring.evidence.transcripts.harness import (
    COUNT_LIMIT,
    MODEL_LIMIT,
    NO_TIME,
    JsonReader,
    command_flags,
    decoded,
    reads_loop_state,
)
from scoring.evidence.transcripts.rows import LineSpan, Rows, columns_of, key_of

SYNTHETIC = "API error or other words of the harness"

RESPONSE, CALL, VERDICT = range(3)
"""The tables. Behind span and time they have these columns:

- response: key of the id (0: none), key of the request (0: none), in a side chain, copies, output, input, cache reads,
  cache creations, those of them for an hour;
- call: key of the id, the bits that it shows;
- verdict: key of the id, whether it failed.
"""

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=COUNT_LIMIT)] | None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: _Count = None
    output_tokens: _Count = None
    cache_read_input_tokens: _Count = None
    cache_creation_input_tokens: _Count = None
    cache_creation: msgspec.Raw | UnsetType = UNSET


class _Creation(msgspec.Struct, gc=False):
    ephemeral_1h_input_tokens: _Count = None


_creation = msgspec.json.Decoder(_Creation)


def _for_an_hour(usage: _Usage) -> int:
    """Return how many of the tokens written to the cache are to be kept for an hour; 0 where that is not said."""
    if usage.cache_creation is UNSET or b"1h" not in memoryview(usage.cache_creation).tobytes():
        return 0
    try:
        found = _creation.decode(usage.cache_creation).ephemeral_1h_input_tokens or 0
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return 0
    return min(found, usage.cache_creation_input_tokens or 0)


class ClaudeItem(msgspec.Struct, gc=False):
    """A part of the content of a message."""

    type: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw | UnsetType = UNSET
    tool_use_id: str | None = None
    is_error: bool | None = None


class ClaudeMessage(msgspec.Struct, gc=False):
    """What was said, and what it cost."""

    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None
    content: list[ClaudeItem | str | None] | str | None = None


class ClaudeLine(msgspec.Struct, gc=False):
    """A line of a transcript."""

    type: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    sessionId: str | None = None  # noqa: N815 - as it is written
    requestId: str | None = None  # noqa: N815 - as it is written
    isSidechain: bool | None = None  # noqa: N815 - as it is written
    isApiErrorMessage: bool | None = None  # noqa: N815 - as it is written
    message: ClaudeMessage | None = None
    payload: msgspec.Raw | UnsetType = UNSET


class ClaudeInput(msgspec.Struct, gc=False):
    """The input of a call, as far as it is looked at."""

    command: str | None = None
    file_path: str | None = None


_Key: TypeAlias = tuple[str, str, bool, int]


class ClaudeReader(JsonReader):
    """See :class:`~scoring.evidence.transcripts.harness.JsonReader`."""

    decoder: ClassVar[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(ClaudeLine)
    _input: ClassVar[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(ClaudeInput)
    _empty = ClaudeInput()

    def __init__(self) -> None:
        super().__init__()
        self._spans: dict[tuple[str | None, str | None, str | None], int] = {}
        self._covers: list[list[int]] = []
        self._responses: dict[_Key, list[Any]] = {}
        self._tables: dict[int, list[tuple[int, ...]]] = {RESPONSE: [], CALL: [], VERDICT: []}

    def take(self, lines: Sequence[ClaudeLine]) -> list[int]:
        """Take some lines; those with a ``payload`` are another harness's."""
        foreign: list[int] = []
        spans, covers, observes = self._spans, self._covers, self.observes
        for number, line in enumerate(lines):
            if line.payload is not UNSET and line.message is None:
                foreign.append(number)
                continue
            stamp = line.timestamp
            time = None if stamp is None else timestamp_ns(stamp)
            if time is None:
                self.skipped[NO_TIME] += 1
                continue
            message = line.message
            where = line.cwd, line.sessionId, None if message is None else message.model
            span = spans.get(where)
            if span is None:
                span = spans[where] = len(covers)
                covers.append([])
            if line.isApiErrorMessage or (message is not None and message.model == "<synthetic>"):
                self.skipped[SYNTHETIC] += 1
                continue
            if observes:
                time = self._observe(number, span, time, line)
            covers[span].append(time)
            kind = line.type
            if message is None or (kind != "assistant" and kind != "user"):
                continue
            if message.usage is not None:
                self._respond(time, span, line, message, message.usage)
            if type(message.content) is list:
                for item in message.content:
                    if isinstance(item, ClaudeItem):
                        self._use(time, span, item)
        return foreign

    def _observe(self, position: int, span: int, time: int, line: Any) -> int:
        """Note the line at a position, and return what stands for its time; only for a reader that observes."""
        raise NotImplementedError

    def _respond(self, time: int, span: int, line: ClaudeLine, message: ClaudeMessage, usage: _Usage) -> None:
        """Note a response; copies of it in one folder and session become one row."""
        tokens = (
            usage.output_tokens or 0,
            usage.input_tokens or 0,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
            _for_an_hour(usage),
        )
        if not message.id:
            self._tables[RESPONSE].append((span, time, 0, 0, 0, 1, *tokens))
            return
        key = message.id, line.requestId or "", line.isSidechain is True, span
        held = self._responses.setdefault(key, [time, 0, tokens])
        held[0] = min(held[0], time)
        held[1] += 1
        held[2] = max(held[2], tokens)

    def _use(self, time: int, span: int, item: ClaudeItem) -> None:
        kind = item.type
        if kind == "tool_result":
            key = key_of(item.tool_use_id) if item.tool_use_id else 0
            self._tables[VERDICT].append((span, time, key, item.is_error is True))
        elif kind == "tool_use" and (item.name == "Bash" or item.name == "Read") and item.input is not UNSET:
            flags = self._flags(item.name, self._given(item))
            if flags:
                key = key_of(item.id) if item.id else 0
                self._tables[CALL].append((span, time, key, flags))

    def _given(self, item: ClaudeItem) -> Any:
        """Return the input of a call; one that is no plain object is empty."""
        try:
            return self._empty if item.input is UNSET else decoded(self._input, item.input)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return self._empty

    def _flags(self, name: str | None, given: ClaudeInput) -> int:
        """Return what a call shows."""
        if name == "Bash":
            return command_flags(given.command or "")
        return LOOP_STATE if name == "Read" and reads_loop_state(given.file_path or "") else 0

    def rows(self) -> Rows:
        """Return what was taken."""
        spans = [
            LineSpan(cwd or "", session or "", model=(model or "")[:MODEL_LIMIT]) for cwd, session, model in self._spans
        ]
        responses = self._tables[RESPONSE]
        keys: dict[str, int] = {"": 0}
        for (name, request, side, span), (time, copies, tokens) in self._responses.items():
            if request not in keys:
                keys[request] = key_of(request)
            responses.append((span, time, key_of(name), keys[request], side, copies, *tokens))
        tables = {kind: columns_of(rows) for kind, rows in self._tables.items() if rows}
        return Rows(spans, [array("q", times) for times in self._covers], tables, self.skipped)
