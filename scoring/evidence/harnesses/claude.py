"""Claude Code: where its transcripts are, and what a line of one says; long, as a reader is complete in one file."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from posixpath import join, normpath
from typing import TypeAlias

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from scoring.evidence.commands.objective_flags import LOOP_STATE, command_flags, reads_loop_state
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.fields import Count, RawField, keys_of, member, text_in, value_of
from scoring.evidence.harnesses.harness import (
    MODEL_LIMIT,
    NO_TIME,
    Harness,
    Home,
    Hook,
    JsonReader,
)
from scoring.evidence.transcripts.edits import lines_added
from scoring.evidence.transcripts.events import (
    Call,
    CallResult,
    LineSpan,
    Response,
    TokensStated,
    TranscriptEvents,
    key_of,
)
from scoring.evidence.transcripts.facts import timestamp_ns
from scoring.evidence.transcripts.observing import Observations

SYNTHETIC = "API error or other words of the harness"

INTERRUPTED = "[Request interrupted by user"
DENIED = (
    "Permission for this tool use was denied"  # to a sub-agent: by the user where there is a reason
)
REFUSED = "The user doesn't want to", DENIED
"""How a text that the user seems to have written, and the error of a call, begin when the user stopped or refused."""
REASON = re.compile("[Tt]he user said:\n")  # in a refusal, before what the user wrote
QUEUED = "queued_command", "prompt"  # an attachment that is a prompt, given while the agent works
EDIT_TOOLS = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))
QUESTIONS = frozenset(("ExitPlanMode", "AskUserQuestion"))
AGENTS = frozenset(("Task", "Agent"))
_TRUE, _COMPACTED = msgspec.Raw(b"true"), b'"compact_boundary"'
_GOES_ON = (
    b'"Command running in background with ID'  # the result of a command that has not ended yet
)


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_creation: RawField = UNSET


class _Creation(msgspec.Struct, gc=False):
    ephemeral_1h_input_tokens: Count | None = None


class _Item(msgspec.Struct, gc=False):
    type: str | None = None
    id: str | None = None
    name: str | None = None
    input: RawField = UNSET
    tool_use_id: str | None = None
    is_error: bool | None = None
    text: RawField = UNSET
    content: RawField = UNSET


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None
    content: list[_Item | str | None] | str | None = None


class _Line(msgspec.Struct, gc=False):
    type: str | None = None
    subtype: RawField = UNSET
    timestamp: str | None = None
    cwd: str | None = None
    uuid: RawField = UNSET
    parentUuid: RawField = UNSET  # noqa: N815 - as it is written
    sessionId: str | None = None  # noqa: N815 - as it is written
    requestId: str | None = None  # noqa: N815 - as it is written
    isSidechain: bool | None = None  # noqa: N815 - as it is written
    agentId: RawField = UNSET  # noqa: N815 - as it is written
    isMeta: RawField = UNSET  # noqa: N815 - as it is written
    isCompactSummary: RawField = UNSET  # noqa: N815 - as it is written
    isApiErrorMessage: bool | None = None  # noqa: N815 - as it is written
    message: _Message | None = None
    data: RawField = UNSET
    attachment: RawField = UNSET
    payload: RawField = UNSET


class _Progress(msgspec.Struct, gc=False):
    """What a sub-agent said or did, as it is repeated to the session that waits for it."""

    message: _Line | None = None
    agentId: RawField = UNSET  # noqa: N815 - as it is written


class _Input(msgspec.Struct, gc=False):
    command: str | None = None
    file_path: str | None = None


class _Replacement(msgspec.Struct, gc=False):
    old_string: str = ""
    new_string: str = ""


class _Edit(_Replacement, gc=False):
    """What an edit puts in place of what, or the whole of a file."""

    file_path: str | None = None
    notebook_path: str | None = None
    edits: list[_Replacement] = []
    content: str | None = None


_creation, _progress = msgspec.json.Decoder(_Creation), msgspec.json.Decoder(_Progress)
_edit = msgspec.json.Decoder(_Edit)
_input = msgspec.json.Decoder(_Input)

_Key: TypeAlias = tuple[str, str, bool, int]
"""What copies of a response have alike: the ids of the response and the request, in a side chain, the span."""


class ClaudeReader(JsonReader):
    """See :class:`~scoring.evidence.harnesses.harness.JsonReader`."""

    decoder, goes_on = msgspec.json.Decoder(_Line), True

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__()
        self._seen = Observations(tools)
        self._spans: dict[tuple[str | None, str | None, str | None, bool, str], int] = {}
        self._covers: list[list[int]] = []
        self._responses: dict[_Key, Response] = {}
        self._times: dict[_Key, int] = {}  # of the earliest copy, where nothing is looked at
        self._opens: bool | None = None
        self._cwd = ""
        self._reads: dict[str, str] = {}  # by the id of a call, the file that it reads

    def take(self, lines: Sequence[_Line]) -> list[int]:
        """Take some lines; those with a ``payload`` are another harness's."""
        foreign: list[int] = []
        spans, covers = self._spans, self._covers
        for position, line in enumerate(lines):
            if self._opens is None and line.parentUuid is not UNSET:
                self._opens = bytes(line.parentUuid) == b"null"
            if line.payload is not UNSET and line.message is None:
                foreign.append(position)
                continue
            time = timestamp_ns(line.timestamp)
            if time is None:
                self.skipped[NO_TIME] += 1
                continue
            if line.type == "progress" and self._seen.looks:
                line = _repeated(line)
            message, agent = line.message, line.isSidechain is True and self._seen.looks
            agent_id = text_in(value_of(line.agentId)) if agent else ""
            where = (
                line.cwd,
                line.sessionId,
                None if message is None else message.model,
                agent,
                agent_id,
            )
            span = spans.get(where)
            if span is None:
                span = spans[where] = len(covers)
                covers.append([])
            if line.isApiErrorMessage or (message is not None and message.model == "<synthetic>"):
                self.skipped[SYNTHETIC] += 1
                continue
            number = self.number + position
            covers[span].append(number)
            self._seen.line(
                span, number, time, self._key(position, line) if self._seen.looks else 0
            )
            if (
                line.type == "system"
                and line.subtype is not UNSET
                and bytes(line.subtype) == _COMPACTED
            ):
                self._seen.compacted()
            if line.type == "attachment" and self._seen.looks and not line.isSidechain:
                given = value_of(line.attachment)
                if (member(given, "type"), member(given, "commandMode")) == QUEUED:
                    self._seen.prompt(text_in(given, "prompt"))
            if message is not None and (line.type == "assistant" or line.type == "user"):
                self._take_message(number, time, span, line, message)
        return foreign

    def _key(self, position: int, line: _Line) -> int:
        """Return the key of a line: that of its id, or of its bytes."""
        if line.uuid is UNSET or len(line.uuid) <= len('""'):
            return self._seen.line_key(self.written[position])
        return key_of(bytes(line.uuid))

    def _take_message(
        self, number: int, time: int, span: int, line: _Line, message: _Message
    ) -> None:
        by_user, content = line.type == "user", message.content
        if not by_user:
            self._seen.responds(message.id)
            self._cwd = line.cwd or ""
        by_person = by_user and not (
            line.isSidechain or _TRUE in (line.isMeta, line.isCompactSummary)
        )
        if by_user and isinstance(content, str):
            self._hear(content, by_person)
        if message.usage is not None:
            self._respond(number, time, span, line, message, message.usage)
        if type(content) is list:
            for item in content:
                if isinstance(item, _Item):
                    self._take_item(number, span, item)
                    if item.type == "text" and self._seen.looks:
                        text = _text_of(item.text)
                        if by_user:
                            self._hear(text, by_person)
                        elif not line.isSidechain:
                            self._seen.said(text)

    def _hear(self, text: str, by_person: bool) -> None:
        """Take a text that is written as the user's; the harness and sub-agents' parents write some too."""
        self._seen.asked()
        if text.startswith(INTERRUPTED):
            self._seen.interrupted()
        elif by_person:
            self._seen.prompt(text)

    def _respond(
        self, number: int, time: int, span: int, line: _Line, message: _Message, usage: _Usage
    ) -> None:
        """Note a response; copies of it in one folder and session become one row: of work, at the last line."""
        written = usage.cache_creation_input_tokens or 0
        for_an_hour = 0
        if usage.cache_creation is not UNSET:
            for_an_hour = min(_for_an_hour(bytes(usage.cache_creation)), written)
        is_side_chain = line.isSidechain is True
        response = Response(
            span,
            number,
            id=key_of(message.id) if message.id else 0,
            request=key_of(line.requestId) if message.id and line.requestId else 0,
            side_chain=is_side_chain and bool(message.id),
            copies=1,
            stated=TokensStated.ALL,
            output=usage.output_tokens or 0,
            input=usage.input_tokens or 0,
            cache_reads=usage.cache_read_input_tokens or 0,
            cache_writes=written,
            cache_writes_1h=for_an_hour,
        )
        if not message.id:
            self.counted[Response].append(response)
            return

        key = message.id, line.requestId or "", is_side_chain, span
        earlier = self._responses.get(key)
        if earlier is None:
            self._times[key] = time
            self._responses[key] = response
            return

        counted_at = number
        if not self._seen.looks:
            counted_at = earlier.line
            if time < self._times[key]:
                counted_at = number
                self._times[key] = time
        best = max(earlier, response, key=_tokens_of)
        self._responses[key] = replace(best, line=counted_at, copies=earlier.copies + 1)

    def _take_item(self, number: int, span: int, item: _Item) -> None:
        kind, seen = item.type, self._seen
        if kind == "tool_use":
            key, flags = self._call(item)
            if flags or seen.looks:
                self.counted[Call].append(Call(span, number, id=key, shows=flags))
        elif kind == "tool_result":
            text, failed = partial(_text_of, item.content), item.is_error is True
            if failed and seen.looks and text().startswith(REFUSED):
                said = REASON.search(text())
                reason = text()[said.end() :] if said else ""
                if reason or not text().startswith(DENIED):
                    seen.refused(item.tool_use_id, reason)
                else:
                    seen.refused_calls.add(key_of(item.tool_use_id or ""))
                return
            goes_on = (
                item.content is not UNSET
                and bytes(memoryview(item.content)[: len(_GOES_ON)]) == _GOES_ON
            )
            if (read := self._reads.pop(item.tool_use_id or "", "")) and item.content is not UNSET:
                seen.files.showed(
                    normpath(join(self._cwd, read)), partial(_text_of, item.content.copy())
                )
            key = seen.result(item.tool_use_id, None if goes_on else failed, text)
            self.counted[CallResult].append(CallResult(span, number, id=key, failed=failed))

    def _call(self, item: _Item) -> tuple[int, int]:
        """Note a call; return its key and what it shows. Only of a few tools the input is looked at."""
        name, seen = item.name or "", self._seen
        if name == "Bash":
            command = _given(item).command or ""
            shows = seen.looks or item.input is not UNSET
            return seen.command(item.id, command, self._cwd), command_flags(command) if shows else 0
        if name in EDIT_TOOLS and seen.looks:
            made: _Edit = value_of(item.input, _edit) or _Edit(file_path=_given(item).file_path)
            path, whole = made.file_path or made.notebook_path or "", made.content is not None
            parts = made.edits or (made,)
            lines = [
                line for part in parts for line in lines_added(part.new_string, part.old_string)
            ]
            hashes = lines_added(made.content or "") if whole else tuple(lines)
            return seen.edit(item.id, (path,), self._cwd, {path: hashes}, whole), 0
        read = (_given(item).file_path or "") if name == "Read" else ""
        if read and item.id and seen.looks:
            self._reads[item.id] = read
        return seen.call(
            item.id, name in QUESTIONS, name in AGENTS
        ), LOOP_STATE if reads_loop_state(read) else 0

    def events(self) -> TranscriptEvents:
        """Return what was taken; calls that the user refused are none."""
        spans = [
            LineSpan(
                cwd or "",
                session or "",
                model=(model or "")[:MODEL_LIMIT],
                agent=agent,
                agent_id=helper,
            )
            for cwd, session, model, agent, helper in self._spans
        ]
        refused = self._seen.refused_calls
        events = TranscriptEvents(
            spans=spans,
            covers=[list(numbers) for numbers in self._covers],
            skipped=dict(self.skipped),
        )
        events.put(Response, [*self.counted[Response], *self._responses.values()])
        events.put(Call, [call for call in self.counted[Call] if call.id not in refused])
        events.put(CallResult, self.counted[CallResult])
        return self._seen.fill(events, self._opens is True)


def _repeated(line: _Line) -> _Line:
    """Return what a line repeats of a sub-agent, as the line of its own that it is; any other line as it is."""
    found: _Progress = value_of(line.data, _progress, _Progress())
    if found.message is None or found.message.message is None:
        return line
    said = found.message
    said.cwd, said.sessionId, said.isSidechain, said.agentId = (
        line.cwd,
        line.sessionId,
        True,
        found.agentId,
    )
    return said


def _tokens_of(response: Response) -> tuple[int, ...]:
    """Return what tells which copy of a response knows most."""
    return (
        response.output,
        response.input,
        response.cache_reads,
        response.cache_writes,
        response.cache_writes_1h,
    )


@lru_cache(256)  # lines of one response say the same
def _for_an_hour(creation: bytes) -> int:
    """Return how many of the tokens written to the cache are to be kept for an hour; 0 where that is not said."""
    return (
        value_of(creation, _creation, _Creation()).ephemeral_1h_input_tokens or 0
        if b"1h" in creation
        else 0
    )


def _given(item: _Item) -> _Input:
    """Return the input of a call; one that is no plain object is empty."""
    given: _Input = value_of(item.input, _input, _Input())
    return given


def _text_of(content: RawField) -> str:
    """Return the text of an item, or of the list of items that a result may be; "" of anything else."""
    return text_in(value_of(content))


class ClaudeCode(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "claude"
    hook = Hook(".claude/settings.json", "CLAUDE_CONFIG_DIR", "settings.json", quiet=False)
    reader = ClaudeReader

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folders ``projects`` of the configured places, or of the usual ones."""
        if named := [
            part.strip()
            for part in environment.get("CLAUDE_CONFIG_DIR", "").split(",")
            if part.strip()
        ]:
            return [
                Home(Path(part).expanduser() / "projects", "CLAUDE_CONFIG_DIR") for part in named
            ]
        return [
            Home(Path(usual).expanduser() / "projects", usual)
            for usual in ("~/.config/claude", "~/.claude")
        ]

    def claims(self, line: bytes) -> bool:
        """Know a line by what every kind of line has one of."""
        keys = keys_of(line)
        return "payload" not in keys and not keys.isdisjoint(
            ("sessionId", "message", "leafUuid", "snapshot")
        )
