"""Qwen Code, made of Gemini CLI: where its chats are, and what a line says (``docs/EVIDENCE.md``)."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.event_reader import document_of, identity, lines_behind
from scoring.evidence.harnesses.fields import (
    count_in,
    items_in,
    keys_of,
    member,
    text_in,
    time_in,
    value_of,
)
from scoring.evidence.harnesses.gemini import CONTEXT, FILES, GeminiReader, answer_of
from scoring.evidence.harnesses.harness import FileNames, Harness, Hook
from scoring.evidence.harnesses.tool_calls import ToolNames, note_call
from scoring.evidence.transcripts.events import LineSpan

TOOLS = ToolNames(
    "run_shell_command",
    "write_file replace edit notebook_edit",
    questions="ask_user_question exit_plan_mode",
    agents="task agent",
)

_TYPED = (None, "mid_turn_user_message")  # subtypes of what the user typed
_COUNTS = (
    "promptTokenCount",
    "cachedContentTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
)
_KINDS = "user", "assistant", "tool_result", "system"


class QwenReader(GeminiReader):
    """Reads a chat: lines that have a ``uuid``, or one as Gemini CLI writes it."""

    tools = TOOLS
    contexts = (*CONTEXT, "This is the Qwen Code. We are setting up the context")

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__(tools)
        self._at_uuid: dict[str, int] = {}  # the numbers of lines

    def entry(self, line: dict[str, Any]) -> None:
        """Say what a line holds."""
        if "uuid" not in line:
            super().entry(line)
            return
        kind, name, session = line.get("type"), text_in(line, "uuid"), text_in(line, "sessionId")
        time, agent = time_in(line, "timestamp"), line.get("isSidechain") is True
        self.where = LineSpan(
            text_in(line, "cwd"), session, model=text_in(line, "model"), agent=agent
        )
        self._at_uuid[name], self.version = self.place, line.get("version")
        if kind not in _KINDS:
            self.unknown(kind)
        if not self.event(time, *identity(name, session, kind, self.place, time)):
            return
        if kind == "user":
            self._asked(line)
        elif kind == "assistant":
            self._answered(line, name)
        elif kind == "tool_result":
            self._result(line)
        elif line.get("subtype") == "chat_compression":
            self.seen.compacted()
        elif (
            line.get("subtype") == "rewind"
            and (kept := self._at_uuid.get(text_in(line, "parentUuid"))) is not None
        ):
            self.seen.taken_back(kept + 1)

    def _take(self, message: dict[str, Any]) -> None:
        super()._take(message | {"type": "gemini"} if message.get("type") == "qwen" else message)

    def _asked(self, line: dict[str, Any]) -> None:
        """Take a text of a user, or of the harness for him."""
        typed = line.get("provenance", "real_user") == "real_user" and line.get("subtype") in _TYPED
        text = text_in(line, "systemPayload", "displayText") or text_in(line, "message", "parts")
        if typed and text.strip() and not text.lstrip().startswith(self.contexts):
            self.prompt(text.partition(FILES)[0])
        else:
            self.seen.asked()

    def _answered(self, line: dict[str, Any], name: str) -> None:
        """Take a response of the model. Its thoughts are in its output, or beside it where the total says so."""
        parts = items_in(line, "message", "parts")
        given, reads, output, thoughts, total = (
            count_in(line, "usageMetadata", name) for name in _COUNTS
        )
        if given is not None and output is not None:
            output += (thoughts or 0) * (total != given + output)
            given = max(given - (reads or 0), 0)
        self.response(name, output, given, reads)
        self.seen.said(
            "\n".join(text_in(part, "text") for part in parts if not member(part, "thought"))
        )
        for part in parts:
            if isinstance(call := member(part, "functionCall"), dict):
                note_call(self, TOOLS, call.get("id"), call.get("name"), call.get("args"))

    def _result(self, line: dict[str, Any]) -> None:
        """Take the results of calls; how one ended is stated beside it."""
        stated = line.get("toolCallResult")
        for part in items_in(line, "message", "parts"):
            answer = member(part, "functionResponse")
            if isinstance(answer, dict):
                status = "success" if member(answer, "response", "error") is None else "error"
                if member(stated, "callId") in (None, answer.get("id")):
                    status = text_in(stated, "status") or status
                self.ended(answer.get("id"), answer.get("name"), status, answer_of(part))


class QwenCode(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "qwen"
    hook = Hook(
        ".qwen/settings.json", "QWEN_HOME", "settings.json", limit={}
    )  # versions differ in the unit
    files = (
        FileNames("*.jsonl", folder="projects/*/chats*", store=True),
        *(
            FileNames(f"*.{kind}", none=True)
            for kind in ("ledger.jsonl", "runtime.json", "worktree.json")
        ),
        FileNames("session-*.json", folder=".qwen/tmp/*/chats", store=True),
    )
    places = tuple(
        ("QWEN_RUNTIME_DIR QWEN_HOME", "~/.qwen", folder) for folder in ("projects", "tmp")
    )
    reader = QwenReader
    input_holds_cached = True

    def claims(self, line: bytes) -> bool:
        """Know a line by how its messages are written, or by what is beside them."""
        keys = keys_of(line)
        if not keys >= {"uuid", "sessionId"}:
            return False
        return not keys.isdisjoint(
            ("systemPayload", "toolCallResult", "usageMetadata")
        ) or isinstance(member(value_of(line), "message", "parts"), list)

    def lines_of(self, path: Path) -> Iterable[bytes]:
        """Yield the lines of a chat; one of an older version is a document."""
        return document_of(path) if path.suffix == ".json" else lines_behind({}, path)
