"""Threads of Amp: where they are, and what their messages say (``docs/EVIDENCE.md``, "What each harness writes")."""

from typing import Any
from urllib.parse import unquote, urlsplit

from scoring.evidence.harnesses.event_reader import EventReader
from scoring.evidence.harnesses.fields import (
    count_in,
    items_in,
    member,
    milliseconds,
    text_in,
    time_in,
)
from scoring.evidence.harnesses.harness import OTHER_TYPE, FileNames, Harness
from scoring.evidence.harnesses.tool_calls import ToolNames, note_calls
from scoring.evidence.transcripts.events import LineSpan

TOOLS = ToolNames("Bash", "edit_file create_file", "apply_patch", agents="Task")

_COUNTS = "outputTokens", "inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"
_CALLS_ALL_WRITTEN = (
    "gpt-"  # how models are named of which all uncached input is stated as written to the cache
)
_ROLES = "user", "assistant"


class AmpReader(EventReader):
    """Reads a thread; the place of a message in it is its number."""

    in_documents = True

    def entry(self, line: dict[str, Any]) -> None:
        """Take a thread."""
        self.version = line.get("v")
        folder = next(iter(items_in(line, "env", "initial", "trees")), None)
        starter, remote = text_in(line, "mainThreadID"), text_in(folder, "repository", "url")
        self.where = LineSpan(
            _path_of(text_in(folder, "uri")),
            text_in(line, "id"),
            parent=starter,
            remote=remote,
            agent=bool(starter),
        )
        ends = _ends_of(items_in(line, "meta", "traces"))
        now = milliseconds(line.get("created"))
        for place, message in enumerate(items_in(line, "messages")):
            self.messages.append(self.next_event)
            if not isinstance(message, dict) or message.get("role") not in _ROLES:
                self.unknown(member(message, "role")) if isinstance(message, dict) else self.skip(
                    OTHER_TYPE
                )
                continue
            name = message.get("messageId", place)
            stated = milliseconds(member(message, "meta", "sentAt")) or time_in(
                message, "usage", "timestamp"
            )
            # One without a time was written when the one before it was, or later.
            now = max(
                filter(None, (now, stated or ends.get(name if type(name) is int else -1))),
                default=None,
            )
            self.where = self.where._replace(model=text_in(message, "usage", "model"))
            if self.event(now, self.where.session, name):
                self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        content = items_in(message, "content")
        if message["role"] == "user":
            for part in content:
                if member(part, "type") == "tool_result":
                    self._result(part)
            if text := text_in(content).strip():
                self.prompt(text)
            return
        text, spent = (
            text_in(content).strip(),
            [count_in(message, "usage", name) for name in _COUNTS],
        )
        if None not in spent[:2]:
            output, given, reads, writes = (count or 0 for count in spent)
            if self.where.model.startswith(_CALLS_ALL_WRITTEN):
                given, writes = given + writes, 0
            self.response("", output, given, reads, writes)
        elif text or any(member(part, "type") == "tool_use" for part in content):
            self.response()
        self.seen.said(text)
        note_calls(self, TOOLS, content)
        if member(message, "state", "type") == "cancelled":
            self.seen.interrupted()

    def _result(self, part: dict[str, Any]) -> None:
        call, run = part.get("toolUseID"), part.get("run")
        status, code = member(run, "status"), member(run, "result", "exitCode")
        if status == "rejected-by-user":
            self.refused(call, text_in(run, "reason"))
        elif status in ("done", "error"):
            text = (
                text_in(run, "result", "output")
                or text_in(run, "result")
                or text_in(run, "error", "message")
            )
            self.result(call, status == "error" or (type(code) is int and code != 0), text)
        elif status == "cancelled":
            self.result(call, None, "")


def _path_of(uri: str) -> str:
    """Return the path that the URI of a file names; "" of any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    return unquote(parts.path) if parts.scheme == "file" else ""


def _ends_of(traces: list[Any]) -> dict[int, int]:
    """Return when something ended that was done for a message, by the number of the message."""
    found: dict[int, int] = {}
    for trace in traces:
        name, end = member(trace, "context", "messageId"), time_in(trace, "endTime")
        if type(name) is int and end and member(trace, "name") == "tools":
            found[name] = max(end, found.get(name, end))
    return found


class Amp(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "amp"
    keys = frozenset(("v", "id", "messages"))
    files = (FileNames("T-*.json", document=True),)
    places = (("XDG_DATA_HOME", "~/.local/share", "amp/threads"),)
    reader = AmpReader
