"""Claude Code: where its transcripts are, and what a line of one says.

``docs/EVIDENCE.md``, "What each harness writes", has the form of a line.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from scoring.evidence.commands.git_commands import is_commit_tool
from scoring.evidence.commands.objective_flags import LOOP_STATE, command_flags, reads_loop_state
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.fields import Count, RawField, keys_of, member, text_in, value_of
from scoring.evidence.harnesses.harness import MODEL_LIMIT, Harness, Home, Hook
from scoring.evidence.harnesses.json_reader import NO_TIME, JsonReader
from scoring.evidence.harnesses.tool_calls import repository_of
from scoring.evidence.transcripts.edits import Hashes, lines_added, path_in
from scoring.evidence.transcripts.events import (
    BilledApart,
    Call,
    CallResult,
    LineSpan,
    Response,
    TokensStated,
    TranscriptEvents,
    key_of,
)
from scoring.evidence.transcripts.facts import special_service, timestamp_ns
from scoring.evidence.transcripts.observing import Observations
from scoring.files import expanded

SYNTHETIC = "API error or other words of the harness"

INTERRUPTED = "[Request interrupted by user"
"""How a text begins that the harness writes when the user stopped the agent."""

DENIED = "Permission for this tool use was denied"
"""How a refusal begins that a sub-agent got: by the user only where a reason follows."""

REFUSED = ("The user doesn't want to", DENIED)
"""How the error of a call begins that was refused."""

REASON = re.compile("[Tt]he user said:\n")
"""What precedes, in a refusal, the words of the user."""

EDIT_TOOLS = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))
QUESTIONS = frozenset(("ExitPlanMode", "AskUserQuestion"))
AGENTS = frozenset(("Task", "Agent"))

_QUEUED_PROMPT = ("queued_command", "prompt")
"""The type and mode of an attachment that is a prompt, given while the agent works."""

_SYNTHETIC_MODEL = "<synthetic>"
_KEYS_OF_MESSAGE = ("role", "content", "usage", "model")
_TRUE = msgspec.Raw(b"true")
_COMPACTION = b'"compact_boundary"'
_RUNS_IN_BACKGROUND = b'"Command running in background with ID'
"""How the result of a command begins that has not ended yet."""


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_creation: RawField = UNSET
    speed: RawField = UNSET
    service_tier: RawField = UNSET
    server_tool_use: RawField = UNSET
    iterations: RawField = UNSET


class _Creation(msgspec.Struct, gc=False):
    ephemeral_1h_input_tokens: Count | None = None


class _ServerTools(msgspec.Struct, gc=False):
    web_search_requests: Count | None = None


class _Iteration(_Usage, gc=False):
    """A step of a response. The tokens of the response are the sum of those of type ``message``."""

    type: str | None = None
    model: str | None = None


class _Item(msgspec.Struct, gc=False):
    """A part of a message: a text, a call of a tool, or a result."""

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


_BOOKKEEPING = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "attribution-snapshot",
        "content-replacement",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "pr-link",
        "summary",
        "tag",
        "worktree-state",
    }
)
"""The types of lines that Claude Code writes for itself, without a time: they hold no work."""


class _Progress(msgspec.Struct, gc=False):
    """What a sub-agent said or did, repeated to the session that waits for it."""

    message: _Line | None = None
    agentId: RawField = UNSET  # noqa: N815 - as it is written


class _Input(msgspec.Struct, gc=False):
    command: str | None = None
    file_path: str | None = None


class _Replacement(msgspec.Struct, gc=False):
    old_string: str = ""
    new_string: str = ""


class _Edit(_Replacement, gc=False):
    """What an edit replaces or puts into a cell, or the whole content of a file."""

    file_path: str | None = None
    notebook_path: str | None = None
    edits: list[_Replacement] = []
    content: str | None = None
    new_source: str = ""

    @property
    def path(self) -> str:
        return self.file_path or self.notebook_path or ""

    @property
    def hashes(self) -> Hashes:
        """The lines that it adds and takes away.

        These are the lines of the whole content where the edit has that.
        """
        if self.content is not None:
            return lines_added(self.content)

        hashes = list(lines_added(self.new_source))
        for replacement in self.edits or (self,):
            hashes += lines_added(replacement.new_string, replacement.old_string)
        return tuple(hashes)


_server_tools_decoder = msgspec.json.Decoder(_ServerTools)
_iterations_decoder = msgspec.json.Decoder(list[_Iteration])
_creation_decoder = msgspec.json.Decoder(_Creation)
_progress_decoder = msgspec.json.Decoder(_Progress)
_edit_decoder = msgspec.json.Decoder(_Edit)
_input_decoder = msgspec.json.Decoder(_Input)


class _SpanKey(NamedTuple):
    """What lines of one span have in common."""

    cwd: str | None
    session: str | None
    model: str | None
    is_agent: bool
    agent_id: str

    def span(self) -> LineSpan:
        return LineSpan(
            self.cwd or "",
            self.session or "",
            model=(self.model or "")[:MODEL_LIMIT],
            agent=self.is_agent,
            agent_id=self.agent_id,
        )


class _ResponseKey(NamedTuple):
    """What the copies of a response have in common."""

    id: str
    request: str
    is_side_chain: bool
    span: int


class _LinePlace(NamedTuple):
    """Where a line is: its number, and the index of its span."""

    number: int
    span: int


class ClaudeReader(JsonReader):
    """See :class:`~scoring.evidence.harnesses.json_reader.JsonReader`."""

    decoder = msgspec.json.Decoder(_Line)
    goes_on = True

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__()
        self._seen = Observations(tools)
        self._spans: dict[_SpanKey, int] = {}
        self._covers: list[list[int]] = []
        self._responses: dict[_ResponseKey, Response] = {}
        self._opens: bool | None = None
        self._folder = ""
        self._files_of_reads: dict[str, str] = {}  # by the id of the call that reads them

    def take(self, lines: Sequence[_Line]) -> list[int]:
        """Take some lines.

        Lines with a ``payload`` are those of another harness.
        """
        foreign: list[int] = []
        for position, line in enumerate(lines):
            if self._opens is None and line.parentUuid is not UNSET:
                self._opens = bytes(line.parentUuid) == b"null"
            if line.payload is not UNSET and line.message is None:
                foreign.append(position)
                continue

            time = timestamp_ns(line.timestamp)
            if time is None:
                if line.type not in _BOOKKEEPING:
                    self.skipped[NO_TIME] += 1
            else:
                self._take_line(position, time, line)
        return foreign

    def _take_line(self, position: int, time: int, line: _Line) -> None:
        """Take a line.

        Args:
            position: that among the lines that are taken.
            time: when it was written, in nanoseconds since 1970.
            line: the line.
        """
        if line.type == "progress":
            line = _repeated_line(line)

        message = line.message
        span = self._span_of(line)
        is_synthetic = message is not None and message.model == _SYNTHETIC_MODEL
        if line.isApiErrorMessage or is_synthetic:
            self.skipped[SYNTHETIC] += 1
            return

        place = _LinePlace(self.number + position, span)
        self._covers[span].append(place.number)
        self._seen.line(span, place.number, time, self._key_of(position, line))

        if line.type == "system":
            self._take_system_line(line)
        elif line.type == "attachment":
            self._take_attachment(line)
        elif line.type == "assistant" and message is not None:
            self._take_response(place, line, message)
        elif line.type == "user" and message is not None:
            self._take_user_message(place, line, message)

    def _span_of(self, line: _Line) -> int:
        """Return the index of the span of a line, which it may begin."""
        is_agent = line.isSidechain is True
        key = _SpanKey(
            cwd=line.cwd,
            session=line.sessionId,
            model=None if line.message is None else line.message.model,
            is_agent=is_agent,
            agent_id=text_in(value_of(line.agentId)) if is_agent else "",
        )
        span = self._spans.get(key)
        if span is None:
            span = len(self._covers)
            self._spans[key] = span
            self._covers.append([])
        return span

    def _key_of(self, position: int, line: _Line) -> int:
        """Return the key of a line: that of its id, or of its bytes."""
        if line.uuid is UNSET or len(line.uuid) <= len('""'):
            return self._seen.line_key(self.written[position])
        return key_of(bytes(line.uuid))

    def _take_system_line(self, line: _Line) -> None:
        if line.subtype is not UNSET and bytes(line.subtype) == _COMPACTION:
            self._seen.compacted()

    def _take_attachment(self, line: _Line) -> None:
        if line.isSidechain:
            return

        attachment = value_of(line.attachment)
        if (member(attachment, "type"), member(attachment, "commandMode")) == _QUEUED_PROMPT:
            self._seen.prompt(text_in(attachment, "prompt"))

    def _take_response(self, place: _LinePlace, line: _Line, message: _Message) -> None:
        """Take a line of the agent."""
        self._seen.responds(message.id)
        self._folder = line.cwd or ""
        if message.usage is not None:
            self._note_response(place, line, message, message.usage)

        for item in _items_of(message):
            self._take_item(place, item)
            if item.type == "text" and not line.isSidechain:
                self._seen.said(_text_of(item.text))

    def _take_user_message(self, place: _LinePlace, line: _Line, message: _Message) -> None:
        """Take a line that is written as the user's: prompts, and results of calls."""
        is_by_person = not (line.isSidechain or _TRUE in (line.isMeta, line.isCompactSummary))
        if isinstance(message.content, str):
            self._take_user_text(message.content, is_by_person=is_by_person)
        if message.usage is not None:
            self._note_response(place, line, message, message.usage)

        for item in _items_of(message):
            self._take_item(place, item)
            if item.type == "text":
                self._take_user_text(_text_of(item.text), is_by_person=is_by_person)

    def _take_user_text(self, text: str, *, is_by_person: bool) -> None:
        """Take a text that is written as the user's.

        The harness and a parent agent write such texts too.
        """
        self._seen.asked()
        if text.startswith(INTERRUPTED):
            self._seen.interrupted()
        elif is_by_person:
            self._seen.prompt(text)

    def _note_response(
        self, place: _LinePlace, line: _Line, message: _Message, usage: _Usage
    ) -> None:
        """Note a response. Its copies in one folder and session become one, in the last line."""
        response = _response_of(place, line, message, usage)
        if not message.id:
            self.counted[Response].append(response)
            return

        is_side_chain = line.isSidechain is True
        key = _ResponseKey(message.id, line.requestId or "", is_side_chain, place.span)
        earlier = self._responses.get(key)
        if earlier is None:
            self._responses[key] = response
            return

        best = max(earlier, response, key=_tokens_of)
        self._responses[key] = replace(best, line=place.number, copies=earlier.copies + 1)

    def _take_item(self, place: _LinePlace, item: _Item) -> None:
        if item.type == "tool_use":
            self._take_call(place, item)
        elif item.type == "tool_result":
            self._take_result(place, item)

    def _take_call(self, place: _LinePlace, item: _Item) -> None:
        """Take a call. Only of a few tools the input is looked at."""
        seen = self._seen
        name = item.name or ""
        flags = 0

        if name == "Bash":
            command = _input_of(item).command or ""
            key = seen.command(item.id, command, self._folder)
            flags = command_flags(command)
        elif name in EDIT_TOOLS:
            key = self._note_edit(item)
        elif is_commit_tool(name):
            key = seen.commit(item.id, repository_of(value_of(item.input)) or self._folder)
        else:
            file = (_input_of(item).file_path or "") if name == "Read" else ""
            if file and item.id:
                self._files_of_reads[item.id] = file
            key = seen.call(item.id, question=name in QUESTIONS, agent=name in AGENTS)
            if reads_loop_state(file):
                flags = LOOP_STATE

        self.counted[Call].append(Call(place.span, place.number, id=key, shows=flags))

    def _note_edit(self, item: _Item) -> int:
        """Note a call of an edit tool, and return its key."""
        edit: _Edit | None = value_of(item.input, _edit_decoder)
        if edit is None:
            edit = _Edit(file_path=_input_of(item).file_path)
        whole = edit.content is not None
        return self._seen.edit(item.id, (edit.path,), self._folder, {edit.path: edit.hashes}, whole)

    def _take_result(self, place: _LinePlace, item: _Item) -> None:
        """Take the result of a call."""
        seen = self._seen
        text = partial(_text_of, item.content)
        failed = item.is_error is True
        if failed and text().startswith(REFUSED):
            self._take_refusal(item, text())
            return

        file = self._files_of_reads.pop(item.tool_use_id or "", "")
        if file and item.content is not UNSET:
            path = path_in(self._folder, file)
            seen.files.showed(path, partial(_text_of, item.content.copy()))

        ended = None if _still_runs(item) else failed
        key = seen.result(item.tool_use_id, ended, text)
        self.counted[CallResult].append(CallResult(place.span, place.number, id=key, failed=failed))

    def _take_refusal(self, item: _Item, text: str) -> None:
        """Take the error of a call that was refused: by the user, or of a sub-agent by a rule."""
        words = REASON.search(text)
        reason = text[words.end() :] if words else ""
        if reason or not text.startswith(DENIED):
            self._seen.refused(item.tool_use_id, reason)
        else:
            self._seen.refused_calls.add(key_of(item.tool_use_id or ""))

    def events(self) -> TranscriptEvents:
        """Return the events that were read. Calls that the user refused are not among them."""
        refused = self._seen.refused_calls
        events = TranscriptEvents(
            spans=[key.span() for key in self._spans],
            covers=[list(numbers) for numbers in self._covers],
            skipped=dict(self.skipped),
        )
        events.put(Response, [*self.counted[Response], *self._responses.values()])
        events.put(Call, [call for call in self.counted[Call] if call.id not in refused])
        events.put(CallResult, self.counted[CallResult])
        return self._seen.fill(events, self._opens is True)


def _repeated_line(line: _Line) -> _Line:
    """Return what a line repeats of a sub-agent as a line of its own.

    Return any other line as it is.
    """
    progress: _Progress = value_of(line.data, _progress_decoder, _Progress())
    repeated = progress.message
    if repeated is None or repeated.message is None:
        return line

    repeated.cwd = line.cwd
    repeated.sessionId = line.sessionId
    repeated.isSidechain = True
    repeated.agentId = progress.agentId
    return repeated


def _items_of(message: _Message) -> list[_Item]:
    """Return the parts of a message that are objects."""
    if not isinstance(message.content, list):
        return []
    return [item for item in message.content if isinstance(item, _Item)]


def _response_of(place: _LinePlace, line: _Line, message: _Message, usage: _Usage) -> Response:
    """Return the copy of a response that a line holds."""
    speed = text_in(value_of(usage.speed))
    tier = text_in(value_of(usage.service_tier))
    server_tools = _ServerTools()
    if usage.server_tool_use is not UNSET:
        server_tools = value_of(usage.server_tool_use, _server_tools_decoder, server_tools)

    return Response(
        place.span,
        place.number,
        id=key_of(message.id) if message.id else 0,
        request=key_of(line.requestId) if message.id and line.requestId else 0,
        side_chain=line.isSidechain is True and bool(message.id),
        stated=TokensStated.ALL,
        output=usage.output_tokens or 0,
        input=usage.input_tokens or 0,
        cache_reads=usage.cache_read_input_tokens or 0,
        cache_writes=usage.cache_creation_input_tokens or 0,
        cache_writes_1h=_for_an_hour(usage),
        service=special_service(speed, tier),
        web_searches=server_tools.web_search_requests or 0,
        apart=_billed_apart(usage.iterations, message.model),
    )


def _billed_apart(iterations: RawField, model: str | None) -> tuple[BilledApart, ...]:
    """Return the steps of a response that its own tokens leave out.

    These are the steps of another model, an advisor, and summaries of what came before.
    """
    if iterations is UNSET or iterations == b"null":
        return ()

    apart = []
    steps: list[_Iteration] = value_of(iterations, _iterations_decoder, [])
    for step in steps:
        is_other_model = step.model is not None and step.model != model
        if is_other_model or step.type == "compaction":
            apart.append(
                BilledApart(
                    model=(step.model or "")[:MODEL_LIMIT],
                    output=step.output_tokens or 0,
                    input=step.input_tokens or 0,
                    cache_reads=step.cache_read_input_tokens or 0,
                    cache_writes=step.cache_creation_input_tokens or 0,
                    cache_writes_1h=_for_an_hour(step),
                )
            )
    return tuple(apart)


def _tokens_of(response: Response) -> "tuple[int, ...]":
    """Return what tells which copy of a response knows most."""
    return (
        response.output,
        response.input,
        response.cache_reads,
        response.cache_writes,
        response.cache_writes_1h,
        response.web_searches,
        len(response.apart),
    )


def _for_an_hour(usage: _Usage) -> int:
    """Return how many of the tokens written to the cache are kept for an hour.

    Return 0 where that is not stated.
    """
    if usage.cache_creation is UNSET:
        return 0
    return min(_stated_hour(bytes(usage.cache_creation)), usage.cache_creation_input_tokens or 0)


@lru_cache(256)  # lines of one response say the same
def _stated_hour(creation: bytes) -> int:
    if b"1h" not in creation:
        return 0
    tokens: _Creation = value_of(creation, _creation_decoder, _Creation())
    return tokens.ephemeral_1h_input_tokens or 0


def _input_of(item: _Item) -> _Input:
    """Return the input of a call.

    An input that is not a plain object is empty.
    """
    call_input: _Input = value_of(item.input, _input_decoder, _Input())
    return call_input


def _still_runs(item: _Item) -> bool:
    """Return whether a result says that its command goes on in the background."""
    if item.content is UNSET:
        return False
    beginning = memoryview(item.content)[: len(_RUNS_IN_BACKGROUND)]
    return bytes(beginning) == _RUNS_IN_BACKGROUND


def _text_of(content: RawField) -> str:
    """Return the text of an item, or of the list of items that a result may be, or ""."""
    return text_in(value_of(content))


class ClaudeCode(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "claude"
    hook: Hook | None = Hook(
        file=".claude/settings.json",
        variable="CLAUDE_CONFIG_DIR",
        below="settings.json",
        quiet=False,
        personal=".claude/settings.local.json",
    )
    reader = ClaudeReader

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folders ``projects`` of the configured places, or of the usual ones."""
        configured = environment.get("CLAUDE_CONFIG_DIR", "").split(",")
        folders = [folder.strip() for folder in configured if folder.strip()]
        if folders:
            origin = "CLAUDE_CONFIG_DIR"
            return [Home(expanded(folder) / "projects", origin) for folder in folders]

        usual = ("~/.config/claude", "~/.claude")
        return [Home(expanded(folder) / "projects", folder) for folder in usual]

    def claims(self, line: bytes) -> bool:
        """Return whether it wrote a line: each kind has one of a few keys."""
        keys = keys_of(line)
        if "payload" in keys:
            return False
        if not keys.isdisjoint(("sessionId", "leafUuid", "snapshot")):
            return True
        message = member(value_of(line), "message")
        return isinstance(message, dict) and not message.keys().isdisjoint(_KEYS_OF_MESSAGE)
