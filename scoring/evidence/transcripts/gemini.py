"""Gemini CLI: where its chats are, and what the messages of one say.

``docs/EVIDENCE.md``, "Chats of Gemini CLI", shows the format. A chat names no folder, only the hash of one.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET

from scoring.evidence.transcripts.facts import timestamp_ns
from scoring.evidence.transcripts.harness import (
    BROKEN,
    HASHED_FOLDER,
    MODEL_LIMIT,
    NO_TIME,
    OTHER_TYPE,
    Count,
    FileNames,
    Harness,
    Home,
    JsonReader,
    RawField,
    command_flags,
    decoded,
    keys_of,
    value_of,
)
from scoring.evidence.transcripts.observing import Observations
from scoring.evidence.transcripts.rows import CALL, RESPONSE, VERDICT, LineSpan, Rows, key_of
from scoring.evidence.transcripts.testruns import TestTools
from scoring.evidence.transcripts.written import lines_added

SHELL = "run_shell_command"
EDIT_TOOLS = frozenset(("write_file", "replace"))
QUESTIONS = frozenset(("ask_user", "exit_plan_mode"))

CANCELLED_BY_USER = "Request cancelled."  # what a message of the type info says when the user stopped the agent

FILES = "--- Content from referenced files ---"  # in a prompt, before the files that it names with @

_REFUSALS = "did not allow", "denied"
"""Words in the reason of a call that was cancelled because the user refused it."""

_EXIT, _OUTPUT = "\nExit Code: ", "\nOutput: "


class _Tokens(msgspec.Struct, gc=False):
    input: Count | None = None
    output: Count | None = None
    cached: Count | None = None
    thoughts: Count | None = None
    tool: Count | None = None


class _ToolCall(msgspec.Struct, gc=False):
    id: str | None = None
    name: str | None = None
    status: str | None = None
    args: RawField = UNSET
    result: RawField = UNSET


class _ChatMessage(msgspec.Struct, gc=False):
    id: str | None = None
    type: str | None = None
    timestamp: str | None = None
    model: RawField = UNSET
    content: RawField = UNSET
    tokens: _Tokens | None = None
    toolCalls: list[_ToolCall | None] | None = None  # noqa: N815 - as it is written


class _Chat(msgspec.Struct, gc=False):
    sessionId: str | None = None  # noqa: N815 - as it is written
    projectHash: str | None = None  # noqa: N815 - as it is written
    messages: list[msgspec.Raw] | None = None


class _Arguments(msgspec.Struct, gc=False):
    command: str | None = None
    file_path: str | None = None
    directory: str | None = None
    dir_path: str | None = None
    content: RawField = UNSET
    old_string: RawField = UNSET
    new_string: RawField = UNSET


_message = msgspec.json.Decoder(_ChatMessage)
_arguments = msgspec.json.Decoder(_Arguments)


class GeminiReader(JsonReader):
    """Reads a chat; the place of a message in it is the number of its line."""

    decoder = msgspec.json.Decoder(_Chat)

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__()
        self._seen = Observations(tools)
        self._spans: list[LineSpan] = []
        self._covers: list[list[int]] = []
        self._models: dict[str, int] = {}

    def take(self, lines: Sequence[_Chat]) -> list[int]:
        """Take some chats; there is one in a file."""
        for chat in lines:
            folder = HASHED_FOLDER + chat.projectHash if chat.projectHash else ""
            self._models = {}
            self._span("", LineSpan(folder, chat.sessionId or ""))
            for number, written in enumerate(chat.messages or ()):
                try:
                    self._take(number, written, decoded(_message, written))
                except BROKEN:
                    self.skip(OTHER_TYPE)
        return []

    def _span(self, model: str, like: LineSpan) -> int:
        """Return the span of what a model answered in the chat that is read; it is like the span of the chat."""
        if model not in self._models:
            self._models[model] = len(self._spans)
            self._spans.append(like._replace(model=model))
            self._covers.append([])
        return self._models[model]

    def _take(self, number: int, written: msgspec.Raw, message: _ChatMessage) -> None:
        time = timestamp_ns(message.timestamp)
        if time is None:
            self.skip(NO_TIME)
            return
        key, seen = key_of(message.id) if message.id else 0, self._seen
        named = value_of(message.model)
        span = self._span(named[:MODEL_LIMIT] if isinstance(named, str) else "", self._spans[self._models[""]])
        seen.line(span, number, time, key or seen.line_key(bytes(written)))
        self._covers[span].append(number)
        if message.type == "gemini":
            seen.responds(message.id)
            seen.said(_text_of(message.content))
            if message.tokens and any(spent := _spent(message.tokens)):
                self.tables[RESPONSE].append((span, number, key, 0, 0, 1, *spent, 0))
            for call in message.toolCalls or ():
                if call:
                    self._call(span, number, call)
        elif message.type == "user":
            seen.asked()
            seen.prompt(_text_of(message.content).partition(FILES)[0])
        elif message.type == "info" and _text_of(message.content).strip() == CANCELLED_BY_USER:
            seen.interrupted()

    def _call(self, span: int, number: int, call: _ToolCall) -> None:
        """Note a call and how it ended, which is written with it."""
        key, given = key_of(call.id) if call.id else 0, value_of(call.args, _arguments, _Arguments())
        text = _result_of(call.result)
        printed, failed = _printed(text) if call.name == SHELL else (text, False)
        refused = call.status == "cancelled" and any(words in text for words in _REFUSALS)
        failed, seen, flags = failed or call.status == "error", self._seen, 0
        if call.name == SHELL:
            seen.command(call.id, given.command or "", given.directory or given.dir_path or "")
            flags = command_flags(given.command or "")
        elif call.name in EDIT_TOOLS:
            path, whole = given.file_path or "", given.content is not UNSET
            lines = lines_added(_text_of(given.content if whole else given.new_string), _text_of(given.old_string))
            seen.edit(call.id, (path,), "", {path: lines}, whole)
        else:
            seen.call(call.id, call.name in QUESTIONS)
        if refused:
            seen.refused(call.id)
            return
        self.tables[CALL].append((span, number, key, flags))
        if call.status in ("success", "error"):
            seen.result(call.id, failed, lambda: printed)
            self.tables[VERDICT].append((span, number, key, int(failed)))
        elif call.status == "cancelled":
            seen.result(call.id, None, str)

    def rows(self) -> Rows:
        """Return what was taken."""
        return self._seen.fill(Rows(self._spans, self._covers, self.tables, self.skipped), True)


def _spent(tokens: _Tokens) -> tuple[int, int, int, int]:
    """Return output with what was thought, all input, what of it was cached, and what was not."""
    given, cached = (tokens.input or 0) + (tokens.tool or 0), tokens.cached or 0
    return (tokens.output or 0) + (tokens.thoughts or 0), given, cached, max(given - cached, 0)


def _text_of(raw: RawField) -> str:
    """Return the text of a message, or that of its parts."""
    found = value_of(raw)
    parts = [part.get("text") if isinstance(part, dict) else part for part in found] if isinstance(found, list) else []
    return found if isinstance(found, str) else "".join(part for part in parts if isinstance(part, str))


def _result_of(raw: RawField) -> str:
    """Return what a call answered: its output, or why it has none."""
    found = value_of(raw)
    for part in found if isinstance(found, list) else [found]:
        answer = part.get("functionResponse") if isinstance(part, dict) else None
        said = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(said, dict):
            text = said.get("output", said.get("error"))
            return text if isinstance(text, str) else ""
    return ""


def _printed(text: str) -> tuple[str, bool]:
    """Return what a shell command printed, and whether its exit code is a failure."""
    body, found, rest = text.rpartition(_EXIT)
    code = rest.partition("\n")[0].strip()
    _, headed, printed = f"\n{body if found else text}".partition(_OUTPUT)
    return printed if headed else text, found != "" and code.lstrip("-").isdecimal() and code.strip("-0") != ""


class GeminiCli(Harness):
    """See :class:`~scoring.evidence.transcripts.harness.Harness`."""

    name = "gemini"
    files = (FileNames("session-*.json", document=True), FileNames("*.json", document=True, folder="chats"))
    reader = GeminiReader
    input_holds_cached = True

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folder of all projects."""
        named = environment.get("GEMINI_CLI_HOME", "").strip()
        origin = "GEMINI_CLI_HOME" if named else "~/.gemini/tmp"
        return [Home(Path(named or "~").expanduser() / ".gemini" / "tmp", origin)]

    def claims(self, line: bytes) -> bool:
        """Know a chat by what only a chat has."""
        return keys_of(line) >= {"projectHash", "messages"}
