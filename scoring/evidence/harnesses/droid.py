"""Factory Droid: where its sessions are, and what a line says (``docs/EVIDENCE.md``, "What each harness writes")."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.event_reader import EventReader, identity, lines_behind
from scoring.evidence.harnesses.fields import (
    count_in,
    items_in,
    keys_of,
    member,
    text_in,
    time_in,
    value_in,
    value_of,
)
from scoring.evidence.harnesses.harness import FileNames, Harness, Hook
from scoring.evidence.harnesses.tool_calls import ToolNames, note_calls
from scoring.evidence.transcripts.events import LineSpan, TranscriptEvents

TOOLS = ToolNames("Execute", "Create Edit MultiEdit", "ApplyPatch", "AskUser ExitSpecMode", "Task")

_ATTACHED = (
    "<system-reminder>",
    "Contents of ",
)  # how a text in a prompt begins that the harness puts there
_STATES = "todo_state", "agent_turn_outcome"  # lines that say nothing which is looked at
_COUNTS = "outputTokens", "inputTokens", "cacheReadTokens", "cacheCreationTokens"
_EXITED = re.compile(r"\[Process exited with code (-?\d+)\]\s*\Z")
_FAILED = re.compile(r"\AError: Command failed \(exit code: (-?\d+)\)")


class DroidReader(EventReader):
    """Reads a session; its settings are what its place shows."""

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__(tools)
        self._shells: set[object] = set()  # the ids of calls of a shell
        self._responses = 0

    def entry(self, line: dict[str, Any]) -> None:
        """Say what a line holds."""
        kind, time = line.get("type"), time_in(line, "timestamp")
        if kind == "session_start":
            self.version, caller = line.get("version"), text_in(line, "callingSessionId")
            model = text_in(self.shown, "settings", "model")
            self.where = LineSpan(
                text_in(line, "cwd"),
                text_in(line, "id"),
                parent=caller,
                model=model,
                agent=bool(caller),
            )
        elif kind not in ("message", "compaction_state"):
            if kind not in _STATES:
                self.unknown(kind)
        elif self.event(time, *identity(line.get("id"), self.where.session, self.place, time)):
            if kind == "compaction_state":
                self.seen.compacted()
            elif member(line, "message", "role") == "assistant":
                self._response(line)
            else:
                self._answers(line)

    def _response(self, line: dict[str, Any]) -> None:
        self.response(text_in(line, "id"))
        self._responses += 1
        self.seen.said(text_in(line, "message", "content"))
        parts = items_in(line, "message", "content")
        note_calls(self, TOOLS, parts)
        self._shells |= {
            text_in(part, "id") for part in parts if text_in(part, "name") in TOOLS.shells
        }

    def _answers(self, line: dict[str, Any]) -> None:
        """Take what is written as the user's: results of calls, and prompts with what the harness adds to them."""
        content = member(line, "message", "content")
        texts = []
        for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if member(part, "type") == "tool_result":
                self._result(part)
            elif not text_in(part, "text").lstrip().startswith(_ATTACHED):
                texts.append(text_in(part, "text"))
        if text := "\n".join(filter(None, texts)):
            if "user_only" in (line.get("visibility"), member(line, "message", "visibility")):
                self.seen.asked()
            else:
                self.prompt(text)

    def _result(self, part: dict[str, Any]) -> None:
        """Note how a call ended. A shell states it in words; where it does not, and in any other call, an error is."""
        call, text = part.get("tool_use_id"), text_in(part, "content")
        code = (
            (_EXITED.search(text) or _FAILED.match(text))
            if text_in(part, "tool_use_id") in self._shells
            else None
        )
        answer = value_of(text.encode("utf-8", "replace")) if text.startswith("{") else None
        failed = code[1].strip("-0") != "" if code else part.get("is_error") is True
        self.result(call, failed or member(answer, "success") is False, text)

    def events(self) -> TranscriptEvents:
        """Return what was read, with the tokens of the session."""
        spent = [count_in(self.shown, "settings", "tokenUsage", name) for name in _COUNTS]
        if self._responses and any(spent) and None not in spent[:2]:
            self.totals(0, *(count or 0 for count in spent))
        return super().events()


def _settings_of(path: Path) -> Path:
    return path.with_suffix(".settings.json")


class Droid(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "droid"
    hook = Hook(".factory/settings.json", "FACTORY_HOME_OVERRIDE", ".factory/settings.json")
    files = (FileNames("*.jsonl", folder=".factory/sessions*", store=True),)
    places = (("FACTORY_HOME_OVERRIDE", "~", ".factory/sessions"),)
    reader = DroidReader

    def claims(self, line: bytes) -> bool:
        """Know a session by its first line, and a later line by what only this harness writes."""
        keys = keys_of(line)
        known = ("session_start", "compaction_state", *_STATES)
        return (
            {"type", "id"} <= keys
            and "sessionId" not in keys
            and member(value_of(line), "type") in known
        )

    def lines_of(self, path: Path) -> Iterable[bytes]:
        """Yield the lines of a session behind its settings."""
        return lines_behind({"settings": value_in(_settings_of(path))}, path)

    def beside(self, path: Path) -> Sequence[Path]:
        """Return where the settings are, which are written anew while the session grows."""
        return (_settings_of(path),)
