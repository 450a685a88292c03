"""Claude Code: where its transcripts are, what a line holds, and how a response is counted once.

``docs/EVIDENCE.md``, "Lines of Claude Code", shows the format, and "Transcripts" what counts once.
"""

from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from scoring.evidence.transcripts.facts import LOOP_STATE, timestamp_ns
from scoring.evidence.transcripts.harness import (
    COUNT_LIMIT,
    ELSEWHERE,
    NO_FOLDER,
    NO_TIME,
    Harness,
    Home,
    JsonReader,
    TranscriptCounter,
    command_flags,
    decoded,
    keys_of,
    reads_loop_state,
)
from scoring.evidence.transcripts.rows import LineSpan, Rows, columns_of, key_of
from scoring.evidence.transcripts.tally import chosen

if TYPE_CHECKING:  # reading that observes nothing needs no test tools
    from scoring.evidence.transcripts.observing import Observations
    from scoring.evidence.transcripts.testruns import TestTools

SYNTHETIC = "API error or other words of the harness"

RESPONSE, CALL, VERDICT = range(3)
"""The tables. Behind span and time they have these columns:

- response: key of the id (0: none), key of the request (0: none), in a side chain, copies, output, input, cache reads,
  cache creations;
- call: key of the id, the bits that it shows;
- verdict: key of the id, whether it failed.
"""

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=COUNT_LIMIT)] | None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: _Count = None
    output_tokens: _Count = None
    cache_read_input_tokens: _Count = None
    cache_creation_input_tokens: _Count = None


class _Item(msgspec.Struct, gc=False):
    """A part of the content of a message."""

    type: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw | UnsetType = UNSET
    tool_use_id: str | None = None
    is_error: bool | None = None


class _Message(msgspec.Struct, gc=False):
    """What was said, and what it cost."""

    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None
    content: list[_Item | str | None] | str | None = None


class _Line(msgspec.Struct, gc=False):
    """A line of a transcript."""

    type: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    sessionId: str | None = None  # noqa: N815 - as it is written
    requestId: str | None = None  # noqa: N815 - as it is written
    isSidechain: bool | None = None  # noqa: N815 - as it is written
    isApiErrorMessage: bool | None = None  # noqa: N815 - as it is written
    message: _Message | None = None
    payload: msgspec.Raw | UnsetType = UNSET


class _Input(msgspec.Struct, gc=False):
    """The input of a call, as far as it is looked at."""

    command: str | None = None
    file_path: str | None = None


_Key: TypeAlias = tuple[str, str, bool, int]


class ClaudeReader(JsonReader):
    """See :class:`~scoring.evidence.transcripts.harness.JsonReader`."""

    decoder: ClassVar[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(_Line)
    _input: ClassVar[msgspec.json.Decoder[Any]] = msgspec.json.Decoder(_Input)
    _empty = _Input()

    def __init__(self) -> None:
        super().__init__()
        self._spans: dict[tuple[str | None, str | None], int] = {}
        self._covers: list[list[int]] = []
        self._responses: dict[_Key, list[Any]] = {}
        self._tables: dict[int, list[tuple[int, ...]]] = {RESPONSE: [], CALL: [], VERDICT: []}

    def take(self, lines: Sequence[_Line]) -> list[int]:
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
            where = line.cwd, line.sessionId
            span = spans.get(where)
            if span is None:
                span = spans[where] = len(covers)
                covers.append([])
            message = line.message
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
                    if isinstance(item, _Item):
                        self._use(time, span, item)
        return foreign

    def _observe(self, position: int, span: int, time: int, line: Any) -> int:
        """Note the line at a position, and return what stands for its time; only for a reader that observes."""
        raise NotImplementedError

    def _respond(self, time: int, span: int, line: _Line, message: _Message, usage: _Usage) -> None:
        """Note a response; copies of it in one folder and session become one row."""
        tokens = (
            usage.output_tokens or 0,
            usage.input_tokens or 0,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
        )
        if not message.id:
            self._tables[RESPONSE].append((span, time, 0, 0, 0, 1, *tokens))
            return
        key = message.id, line.requestId or "", line.isSidechain is True, span
        held = self._responses.setdefault(key, [time, 0, tokens])
        held[0] = min(held[0], time)
        held[1] += 1
        held[2] = max(held[2], tokens)

    def _use(self, time: int, span: int, item: _Item) -> None:
        kind = item.type
        if kind == "tool_result":
            key = key_of(item.tool_use_id) if item.tool_use_id else 0
            self._tables[VERDICT].append((span, time, key, item.is_error is True))
        elif kind == "tool_use" and (item.name == "Bash" or item.name == "Read") and item.input is not UNSET:
            flags = self._flags(item.name, self._given(item))
            if flags:
                key = key_of(item.id) if item.id else 0
                self._tables[CALL].append((span, time, key, flags))

    def _given(self, item: _Item) -> Any:
        """Return the input of a call; one that is no plain object is empty."""
        try:
            return self._empty if item.input is UNSET else decoded(self._input, item.input)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return self._empty

    def _flags(self, name: str | None, given: _Input) -> int:
        """Return what a call shows."""
        if name == "Bash":
            return command_flags(given.command or "")
        return LOOP_STATE if name == "Read" and reads_loop_state(given.file_path or "") else 0

    def rows(self) -> Rows:
        """Return what was taken."""
        spans = [LineSpan(cwd or "", session or "") for cwd, session in self._spans]
        responses = self._tables[RESPONSE]
        keys: dict[str, int] = {"": 0}
        for (name, request, side, span), (time, copies, tokens) in self._responses.items():
            if request not in keys:
                keys[request] = key_of(request)
            responses.append((span, time, key_of(name), keys[request], side, copies, *tokens))
        tables = {kind: columns_of(rows) for kind, rows in self._tables.items() if rows}
        return Rows(spans, [array("q", times) for times in self._covers], tables, self.skipped)


# Observing.

INTERRUPTED = "[Request interrupted by user"
REFUSED = "The user doesn't want to"
"""How a text that the user seems to have written, and the error of a call, begin when the user stopped or refused."""

EDIT_TOOLS = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))
QUESTIONS = frozenset(("ExitPlanMode", "AskUserQuestion"))
_GOES_ON = b'"Command running in background with ID'
"""How the result of a command begins that has not ended yet."""


class _SeenItem(_Item, gc=False):
    text: msgspec.Raw | UnsetType = UNSET
    content: msgspec.Raw | UnsetType = UNSET


class _SeenMessage(_Message, gc=False):
    content: list[_SeenItem | str | None] | str | None = None  # type: ignore[assignment]


class _SeenLine(_Line, gc=False):
    uuid: msgspec.Raw | UnsetType = UNSET
    parentUuid: msgspec.Raw | UnsetType = UNSET  # noqa: N815 - as it is written
    message: _SeenMessage | None = None


class _SeenInput(_Input, gc=False):
    notebook_path: str | None = None


class ClaudeObserver(ClaudeReader):
    """Reads what :class:`ClaudeReader` does, and notes what is seen in it; the number of a line is its time."""

    decoder = msgspec.json.Decoder(_SeenLine)
    _input = msgspec.json.Decoder(_SeenInput)
    _empty = _SeenInput()
    observes = True

    def __init__(self, seen: "Observations") -> None:
        super().__init__()
        self._seen = seen
        self._opens: bool | None = None
        self._cwd = ""
        self._by_user = False

    def take(self, lines: Sequence[Any]) -> list[int]:
        """Take some lines; the first that names its parent says whether the session begins here."""
        if self._opens is None:
            parent = next((line.parentUuid for line in lines if line.parentUuid is not UNSET), UNSET)
            if parent is not UNSET:
                self._opens = bytes(parent) == b"null"
        return super().take(lines)

    def _observe(self, position: int, span: int, time: int, line: _SeenLine) -> int:
        number, seen, message, kind = self.number + position, self._seen, line.message, line.type
        if line.uuid is UNSET or len(line.uuid) <= len('""'):
            seen.line(span, number, time, seen.line_key(self.written[position]))
        else:
            seen.line(span, number, time, key_of(bytes(line.uuid)))
        self._by_user = kind == "user"
        if message is not None:
            if kind == "assistant":
                seen.responds(message.id)
                self._cwd = line.cwd or ""
            elif self._by_user and type(message.content) is str and message.content.startswith(INTERRUPTED):
                seen.interrupted()
        return number

    def _use(self, time: int, span: int, item: Any) -> None:
        kind = item.type
        if kind == "tool_use":
            key, flags = self._call(item)
            self._tables[CALL].append((span, time, key, flags))
        elif kind == "tool_result":
            text, failed = partial(_text_of, item.content), item.is_error is True
            if failed and text().startswith(REFUSED):
                self._seen.refused(item.tool_use_id)
                return
            goes_on = item.content is not UNSET and bytes(memoryview(item.content)[: len(_GOES_ON)]) == _GOES_ON
            key = self._seen.result(item.tool_use_id, None if goes_on else failed, text)
            self._tables[VERDICT].append((span, time, key, failed))
        elif kind == "text" and self._by_user and _text_of(item.text).startswith(INTERRUPTED):
            self._seen.interrupted()

    def _call(self, item: Any) -> tuple[int, int]:
        """Note a call; return its key and what it shows. Only of a few tools the input is looked at."""
        name, seen = item.name or "", self._seen
        if name == "Bash":
            command = self._given(item).command or ""
            return seen.command(item.id, command, self._cwd), command_flags(command)
        if name in EDIT_TOOLS:
            given = self._given(item)
            return seen.edit(item.id, (given.file_path or given.notebook_path or "",), self._cwd), 0
        flags = self._flags(name, self._given(item)) if name == "Read" else 0
        return seen.call(item.id, name in QUESTIONS), flags

    def rows(self) -> Rows:
        """Return what was taken; calls that the user refused are none."""
        refused = self._seen.refused_calls
        self._tables[CALL] = [row for row in self._tables[CALL] if row[2] not in refused]
        return self._seen.fill(super().rows(), self._opens is True)


_anything = msgspec.json.Decoder()


def _text_of(content: "msgspec.Raw | UnsetType") -> str:
    """Return the text of an item, or of the list of items that a result may be; "" of anything else."""
    try:
        found = "" if content is UNSET else decoded(_anything, content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    if isinstance(found, list):
        texts = [item.get("text") for item in found if isinstance(item, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return found if isinstance(found, str) else ""


# Counting.


class ClaudeCounter(TranscriptCounter):
    """Counts responses and calls, each once."""

    def add(self, file: int, rows: Rows, whole: bool) -> str:
        """Count the lines of work in the repository; a line without a folder goes with the others of its file."""
        counted = [not span.cwd or whole or self._in_repository(span.cwd) for span in rows.spans]
        named = [here for here, span in zip(counted, rows.spans, strict=True) if span.cwd]
        if not whole and not any(named):
            return ELSEWHERE if named else NO_FOLDER
        tally = self._tally
        for here, span, times in zip(counted, rows.spans, rows.covers, strict=True):
            if here and times:
                tally.cover(file, span.session, sorted(times))
        for kind, add in ((RESPONSE, tally.responses), (CALL, tally.calls), (VERDICT, tally.verdicts)):
            if kind in rows.tables:
                spans, *columns = rows.tables[kind]
                add(columns if all(counted) else chosen(columns, [counted[span] for span in spans]))
        return ""


class ClaudeCode(Harness):
    """See :class:`~scoring.evidence.transcripts.harness.Harness`."""

    name = "claude"
    reader, counter = ClaudeReader, ClaudeCounter

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folders ``projects`` of the configured places, or of the usual ones."""
        if named := [part.strip() for part in environment.get("CLAUDE_CONFIG_DIR", "").split(",") if part.strip()]:
            return [Home(Path(part).expanduser() / "projects", "CLAUDE_CONFIG_DIR") for part in named]
        return [Home(Path(usual).expanduser() / "projects", usual) for usual in ("~/.config/claude", "~/.claude")]

    def observer(self, tools: "TestTools") -> JsonReader:
        """Return a reader that observes."""
        from scoring.evidence.transcripts.observing import Observations  # only what observes pays for it

        return ClaudeObserver(Observations(tools))

    def claims(self, line: bytes) -> bool:
        """Know a line by what every kind of line has one of."""
        keys = keys_of(line)
        return "payload" not in keys and not keys.isdisjoint(("sessionId", "message", "leafUuid", "snapshot"))
