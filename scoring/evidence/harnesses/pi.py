"""Pi: where its sessions are, and what a line of one says (``docs/EVIDENCE.md``, "What each harness writes")."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.evidence.harnesses import fields
from scoring.evidence.harnesses.event_reader import EventReader, identity
from scoring.evidence.harnesses.harness import Harness, Home
from scoring.evidence.harnesses.tool_calls import ToolNames, note_call
from scoring.evidence.transcripts.events import LineSpan

TOOLS = ToolNames("bash", "edit write", agents="subagent")

_COUNTS = "output", "input", "cacheRead", "cacheWrite"
_SUMMARIES = "compaction", "branch_summary"  # lines that a model wrote for the harness
_STATES = (
    "model_change",
    "thinking_level_change",
    "custom",
    "custom_message",
    "label",
    "session_info",
)
_OF_OTHERS = "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary"
"""Roles of messages that are neither the agent's nor a prompt: what the person ran, and what extensions say."""
_TASK = "Task: "  # how the first prompt of a session begins that an extension started for an agent
_STOPPED = "aborted"


class PiReader(EventReader):
    """Reads a session, of any version of the format."""

    def entry(self, line: dict[str, Any]) -> None:
        """Say what a line holds."""
        kind, message = line.get("type"), fields.member(line, "message")
        if kind == "session":
            self.version = line.get("version")
            before = fields.text_in(line, "parentSession") or fields.text_in(
                line, "branchedFrom"
            )  # <time>_<id>.jsonl
            parent = (
                before.replace("\\", "/")
                .rpartition("/")[2]
                .removesuffix(".jsonl")
                .rpartition("_")[2]
            )
            self.where = LineSpan(
                fields.text_in(line, "cwd"), fields.text_in(line, "id"), parent=parent
            )
            return
        if kind != "message" and kind not in _SUMMARIES:
            if kind not in _STATES:
                self.unknown(kind)
            return
        time = fields.time_in(line, "timestamp") or fields.milliseconds(
            fields.member(message, "timestamp")
        )
        role = fields.member(message, "role")
        if role == "user" and not self.where.agent and self.next_event == 0 and self.where.parent:
            self.where = self.where._replace(
                agent=fields.text_in(message, "content").startswith(_TASK)
            )
        if role == "assistant":
            self.where = self.where._replace(model=fields.text_in(message, "model"))
        # An id has eight digits and is the file's own, so the time is part of what an event is known by.
        if not self.event(time, *identity(line.get("id"), self.where.session, self.place), time):
            return
        if kind in _SUMMARIES:
            if kind == "compaction":
                self.seen.compacted()
            if fields.member(line, "usage") is not None:
                self.response(
                    fields.text_in(line, "id"),
                    *(fields.count_in(line, "usage", key) for key in _COUNTS),
                )
        elif role == "assistant":
            self._answered(line, message)
        elif role == "user":
            self.prompt(fields.text_in(message, "content"))
        elif role == "toolResult":
            self.result(
                message.get("toolCallId"),
                message.get("isError") is True,
                fields.text_in(message, "content"),
            )
        elif role not in _OF_OTHERS:
            self.unknown(role)

    def _answered(self, line: dict[str, Any], message: dict[str, Any]) -> None:
        """Take a response of the model; one that was stopped before it began is none."""
        stopped, content = (
            message.get("stopReason") == _STOPPED,
            fields.items_in(message, "content"),
        )
        if content or not stopped:
            self.response(
                fields.text_in(line, "id"),
                *(fields.count_in(message, "usage", key) for key in _COUNTS),
            )
        self.seen.said(fields.text_in(content))
        for part in content:
            if fields.member(part, "type") == "toolCall":
                note_call(self, TOOLS, part.get("id"), part.get("name"), part.get("arguments"))
        if stopped:
            self.seen.interrupted()


class Pi(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "pi"
    reader = PiReader

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folder of all sessions."""
        if named := environment.get("PI_CODING_AGENT_SESSION_DIR", "").strip():
            return [Home(Path(named).expanduser(), "PI_CODING_AGENT_SESSION_DIR")]
        origin = "PI_CODING_AGENT_DIR" if environment.get("PI_CODING_AGENT_DIR", "").strip() else ""
        home = Path(environment[origin].strip() if origin else "~/.pi/agent").expanduser()
        if set_to := fields.text_in(fields.value_in(home / "settings.json"), "sessionDir").strip():
            return [Home(home / Path(set_to).expanduser(), f"{home}/settings.json")]
        return [Home(home / "sessions", origin or "~/.pi/agent/sessions")]

    def claims(self, line: bytes) -> bool:
        """Know a session by its first line, and a message by the time that is in it once more."""
        keys = fields.keys_of(line)
        if not {"type", "timestamp"} <= keys or "sessionId" in keys:
            return False
        value = fields.value_of(line)
        if fields.member(value, "type") == "session":
            return {"id", "cwd"} <= keys
        return (
            fields.member(value, "type") == "message"
            and type(fields.member(value, "message", "timestamp")) is int
        )
