"""Claude Code: where its transcripts are, and what a line of one says.

``docs/EVIDENCE.md``, "What each harness writes", has the form of a line.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from scoring.evidence.commands.git_commands import is_commit_tool
from scoring.evidence.commands.objective_flags import LOOP_STATE, command_flags, reads_loop_state
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.claude_lines import (
    ClaudeItem,
    ClaudeLine,
    ClaudeMessage,
    ClaudePlace,
    ClaudeUsage,
    edit_of,
    input_of,
    items_of,
    known_tokens,
    repeated_line,
    response_of,
    still_runs,
    text_of,
)
from scoring.evidence.harnesses.fields import keys_of, member, text_in, value_of
from scoring.evidence.harnesses.harness import MODEL_LIMIT, Harness, Home, Hook
from scoring.evidence.harnesses.json_reader import NO_TIME, JsonReader
from scoring.evidence.harnesses.tool_calls import names, repository_of
from scoring.evidence.transcripts.edits import path_in
from scoring.evidence.transcripts.events import (
    Call,
    CallResult,
    LineSpan,
    Response,
    TranscriptEvents,
    key_of,
)
from scoring.evidence.transcripts.facts import timestamp_ns
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


_BOOKKEEPING = names(
    "agent-color agent-name agent-setting ai-title attribution-snapshot content-replacement"
    " custom-title file-history-snapshot last-prompt mode permission-mode pr-link summary tag"
    " worktree-state"
)
"""The types of lines that Claude Code writes for itself, without a time: they hold no work."""


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


class ClaudeReader(JsonReader):
    """See :class:`~scoring.evidence.harnesses.json_reader.JsonReader`."""

    decoder = msgspec.json.Decoder(ClaudeLine)
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

    def take(self, lines: Sequence[ClaudeLine]) -> list[int]:
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

    def _take_line(self, position: int, time: int, line: ClaudeLine) -> None:
        """Take a line.

        Args:
            position: that among the lines that are taken.
            time: when it was written, in nanoseconds since 1970.
            line: the line.
        """
        if line.type == "progress":
            line = repeated_line(line)

        message = line.message
        span = self._span_of(line)
        is_synthetic = message is not None and message.model == _SYNTHETIC_MODEL
        if line.isApiErrorMessage or is_synthetic:
            self.skipped[SYNTHETIC] += 1
            return

        place = ClaudePlace(self.number + position, span)
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

    def _span_of(self, line: ClaudeLine) -> int:
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

    def _key_of(self, position: int, line: ClaudeLine) -> int:
        """Return the key of a line: that of its id, or of its bytes."""
        if line.uuid is UNSET or len(line.uuid) <= len('""'):
            return self._seen.line_key(self.written[position])
        return key_of(bytes(line.uuid))

    def _take_system_line(self, line: ClaudeLine) -> None:
        if line.subtype is not UNSET and bytes(line.subtype) == _COMPACTION:
            self._seen.compacted()

    def _take_attachment(self, line: ClaudeLine) -> None:
        if line.isSidechain:
            return

        attachment = value_of(line.attachment)
        if (member(attachment, "type"), member(attachment, "commandMode")) == _QUEUED_PROMPT:
            self._seen.prompt(text_in(attachment, "prompt"))

    def _take_response(self, place: ClaudePlace, line: ClaudeLine, message: ClaudeMessage) -> None:
        """Take a line of the agent."""
        self._seen.responds(message.id)
        self._folder = line.cwd or ""
        if message.usage is not None:
            self._note_response(place, line, message, message.usage)

        for item in items_of(message):
            self._take_item(place, item)
            if item.type == "text" and not line.isSidechain:
                self._seen.said(text_of(item.text))

    def _take_user_message(
        self, place: ClaudePlace, line: ClaudeLine, message: ClaudeMessage
    ) -> None:
        """Take a line that is written as the user's: prompts, and results of calls."""
        is_by_person = not (line.isSidechain or _TRUE in (line.isMeta, line.isCompactSummary))
        if isinstance(message.content, str):
            self._take_user_text(message.content, is_by_person=is_by_person)
        if message.usage is not None:
            self._note_response(place, line, message, message.usage)

        for item in items_of(message):
            self._take_item(place, item)
            if item.type == "text":
                self._take_user_text(text_of(item.text), is_by_person=is_by_person)

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
        self, place: ClaudePlace, line: ClaudeLine, message: ClaudeMessage, usage: ClaudeUsage
    ) -> None:
        """Note a response. Its copies in one folder and session become one, in the last line."""
        response = response_of(place, line, message, usage)
        if not message.id:
            self.counted[Response].append(response)
            return

        is_side_chain = line.isSidechain is True
        key = _ResponseKey(message.id, line.requestId or "", is_side_chain, place.span)
        earlier = self._responses.get(key)
        if earlier is None:
            self._responses[key] = response
            return

        best = max(earlier, response, key=known_tokens)
        self._responses[key] = replace(best, line=place.number, copies=earlier.copies + 1)

    def _take_item(self, place: ClaudePlace, item: ClaudeItem) -> None:
        if item.type == "tool_use":
            self._take_call(place, item)
        elif item.type == "tool_result":
            self._take_result(place, item)

    def _take_call(self, place: ClaudePlace, item: ClaudeItem) -> None:
        """Take a call. Only of a few tools the input is looked at."""
        seen = self._seen
        name = item.name or ""
        flags = 0

        if name == "Bash":
            command = input_of(item).command or ""
            key = seen.command(item.id, command, self._folder)
            flags = command_flags(command)
        elif name in EDIT_TOOLS:
            key = self._note_edit(item)
        elif is_commit_tool(name):
            key = seen.commit(item.id, repository_of(value_of(item.input)) or self._folder)
        else:
            file = (input_of(item).file_path or "") if name == "Read" else ""
            if file and item.id:
                self._files_of_reads[item.id] = file
            key = seen.call(item.id, question=name in QUESTIONS, agent=name in AGENTS)
            if reads_loop_state(file):
                flags = LOOP_STATE

        self.counted[Call].append(Call(place.span, place.number, id=key, shows=flags))

    def _note_edit(self, item: ClaudeItem) -> int:
        """Note a call of an edit tool, and return its key."""
        edit = edit_of(item)
        whole = edit.content is not None
        return self._seen.edit(item.id, (edit.path,), self._folder, {edit.path: edit.hashes}, whole)

    def _take_result(self, place: ClaudePlace, item: ClaudeItem) -> None:
        """Take the result of a call."""
        seen = self._seen
        text = partial(text_of, item.content)
        failed = item.is_error is True
        if failed and text().startswith(REFUSED):
            self._take_refusal(item, text())
            return

        file = self._files_of_reads.pop(item.tool_use_id or "", "")
        if file and item.content is not UNSET:
            path = path_in(self._folder, file)
            seen.files.showed(path, partial(text_of, item.content.copy()))

        ended = None if still_runs(item) else failed
        key = seen.result(item.tool_use_id, ended, text)
        self.counted[CallResult].append(CallResult(place.span, place.number, id=key, failed=failed))

    def _take_refusal(self, item: ClaudeItem, text: str) -> None:
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
