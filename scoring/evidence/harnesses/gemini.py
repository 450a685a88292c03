"""Gemini CLI: where its chats are, and what their messages say (``docs/EVIDENCE.md``, "What each harness writes")."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.event_reader import EventReader, lines_behind
from scoring.evidence.harnesses.fields import count_in, items_in, member, text_in, time_in
from scoring.evidence.harnesses.harness import HASHED_FOLDER, OTHER_TYPE, FileNames, Harness, Hook
from scoring.evidence.harnesses.tool_calls import ToolNames, note_call, shell_answer
from scoring.evidence.transcripts.events import LineSpan, TranscriptEvents

TOOLS = ToolNames("run_shell_command", "write_file replace", questions="ask_user exit_plan_mode")

CANCELLED_BY_USER = (
    "Request cancelled."  # what a message of the type info says when the user stopped the agent
)
FILES = (
    "--- Content from referenced files ---"  # in a prompt, before the files that it names with @
)
CONTEXT = "<session_context>", "This is the Gemini CLI. We are setting up the context"
"""How a message of the user begins that the harness puts in front."""
_REFUSALS = "did not allow", "denied"
"""Words in the reason of a call that was cancelled because the user refused it."""
_KINDS = "user", "gemini", "info", "error", "warning"
_COUNTS = "input", "output", "cached", "thoughts", "tool"
_TAKEN_BACK = "taken back"  # a kind of message


class GeminiReader(EventReader):
    """Reads a chat, as a document or as lines; the place of a message in it is its number."""

    tools = TOOLS
    contexts: tuple[str, ...] = CONTEXT

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__(tools)
        self._said: list[Any] = []  # the messages, each at the place where it was first
        self._places: dict[str, int] = {}  # of messages, by their ids
        self._active: dict[
            str, None
        ] = {}  # the ids of those that the conversation has, in its order
        self._summaries: set[str] = set()  # the ids of those that took the place of others
        self._about: dict[str, Any] = {}
        self._lines = False

    def entry(self, line: dict[str, Any]) -> None:
        """Take the next line of a chat, or the whole of one; what it adds up to is known at the end."""
        self._lines |= "messages" not in line
        while len(self.messages) <= self.place:
            self.messages.append(len(self._said))
        if "sessionId" in line or "projectHash" in line:
            self._about |= {key: value for key, value in line.items() if key != "messages"}
        elif "id" in line:
            self._put(line)
        elif isinstance(changed := line.get("$set"), dict):
            if isinstance(
                listed := changed.get("messages"), list
            ):  # what is left out was said before, and paid for
                ids = {text_in(message, "id") for message in listed}
                self._summaries |= ids - self._places.keys() if self._active.keys() - ids else set()
                self._active.clear()
            line = changed
        elif "$rewindTo" in line:
            self._rewind(line["$rewindTo"])
        elif isinstance(patch := line.get("$patch"), dict):
            for change in (patch, *items_in(patch, "updates")):
                self._patch(change)
        else:
            self.unknown(next(iter(line), ""))
        for message in items_in(line, "messages"):
            self._put(message)

    def _put(self, message: Any) -> None:
        """Put a message at the place of the one with its id, or behind all others."""
        name = text_in(message, "id")
        if name and name in self._places:
            self._said[self._places[name]] = message
        else:
            if name:
                self._places[name] = len(self._said)
            self._said.append(message)
        if name:
            self._active[name] = None

    def _rewind(self, name: object) -> None:
        """Take back what the user wrote from a message on, or everything; what the agent did was done."""
        ids = list(self._active)
        for back in ids[ids.index(text_in(name)) if text_in(name) in self._active else 0 :]:
            del self._active[back]
            message = self._said[self._places[back]]
            if member(message, "type") == "user":
                self._said[self._places[back]] = message | {"type": _TAKEN_BACK}

    def _patch(self, change: Any) -> None:
        """Change a message that is known: its content, and the results of its calls."""
        at = self._places.get(text_in(change, "id"))
        message = self._said[at] if at is not None else None
        if at is None or not isinstance(message, dict):
            return
        results = {text_in(call, "id"): call for call in items_in(change, "toolCalls")}
        calls = [
            call | results.get(text_in(call, "id"), {}) if isinstance(call, dict) else call
            for call in items_in(message, "toolCalls")
        ]
        self._said[at] = (
            message
            | {key: change[key] for key in ("content",) if key in change}
            | {"toolCalls": calls}
        )

    def events(self) -> TranscriptEvents:
        """Return what was taken."""
        about = self._about
        hashed, own = text_in(about, "projectHash"), text_in(about, "sessionId")
        root, parent = text_in(self.shown, "root"), text_in(self.shown, "parent")
        folder = root or (HASHED_FOLDER + hashed if hashed else "")
        agent = about.get("kind") == "subagent"
        home = LineSpan(folder, own, parent=parent if agent else "", agent=agent)
        for place, message in enumerate(self._said):
            self.place = place
            if isinstance(message, dict):
                self.where = home._replace(model=text_in(message, "model"))
                self._take(message)
            else:
                self.skip(OTHER_TYPE)
        if not self._lines:
            self.messages = []
        self._said = []
        return super().events()

    def _take(self, message: dict[str, Any]) -> None:
        kind, name, tokens = message.get("type"), text_in(message, "id"), message.get("tokens")
        spent = [count_in(tokens, key) for key in _COUNTS]
        if any(
            member(tokens, key) is not None and n is None
            for key, n in zip(_COUNTS, spent, strict=True)
        ):
            self.skip(OTHER_TYPE)
            return
        time = time_in(message, "timestamp")
        text = text_in(message, "content")
        if kind not in _KINDS and kind != _TAKEN_BACK:
            self.unknown(kind)
        if not self.event(time, *([name] if name else [self.where.session, self.place, time])):
            return
        if kind == "gemini":
            self.seen.responds(name or None)
            self.seen.said(text)
            given, output, cached, thoughts, tool = (n or 0 for n in spent)
            if any(spent):
                self.response(name, output + thoughts, max(given + tool - cached, 0), cached)
            for call in items_in(message, "toolCalls"):
                if isinstance(call, dict):
                    self._call(call)
        elif kind == "user":
            if name in self._summaries:
                self.seen.compacted()
            elif text.lstrip().startswith(self.contexts):
                self.seen.asked()
            else:
                self.prompt(text.partition(FILES)[0])
        elif kind == "info" and text.strip() == CANCELLED_BY_USER:
            self.seen.interrupted()

    def _call(self, call: dict[str, Any]) -> None:
        """Note a call and how it ended, which is written with it."""
        if text_in(call, "agentId"):
            self.call(call.get("id"), agent=True)
        else:
            note_call(self, self.tools, call.get("id"), call.get("name"), call.get("args"))
        self.ended(
            call.get("id"), call.get("name"), call.get("status"), answer_of(call.get("result"))
        )

    def ended(self, call: object, tool: object, status: object, text: str) -> None:
        """Note how a call of a tool ended, and what it answered."""
        if status == "cancelled" and any(words in text for words in _REFUSALS):
            self.refused(call)
        elif status in ("success", "error"):
            printed, failed = (
                shell_answer(text) if text_in(tool) in self.tools.shells else (text, False)
            )
            self.result(call, True if status == "error" else failed, printed)
        elif status == "cancelled":
            self.result(call, None, "")


def answer_of(result: Any) -> str:
    """Return what a call answered, in one part or several: its output, or why it has none."""
    for part in result if isinstance(result, list) else [result]:
        said = member(part, "functionResponse", "response")
        if isinstance(said, dict):
            text = said.get("output", said.get("error"))
            return text if isinstance(text, str) else ""
    return ""


class GeminiCli(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "gemini"
    keys = frozenset(("projectHash", "sessionId"))
    hook = Hook(
        ".gemini/settings.json",
        "GEMINI_CLI_HOME",
        ".gemini/settings.json",
        "AfterAgent",
        {"timeout": 30_000},
    )
    files = (
        FileNames("session-*.json", document=True),
        FileNames("*.json", document=True, folder="chats"),
        FileNames("*.jsonl", folder=".gemini/tmp/*/chats*", store=True),
        FileNames("session-*.jsonl"),
    )
    places = tuple(
        ("GEMINI_CLI_HOME", usual, ".gemini/tmp") for usual in ("~", "~/.cache")
    )  # in a sandbox of macOS
    reader = GeminiReader
    input_holds_cached = True

    def lines_of(self, path: Path) -> Iterable[bytes]:
        """Yield the lines of a chat behind the folder of its project, and the session that started a sub-agent."""
        inside = path.parent.name != "chats"
        project = path.parents[2 if inside else 1]
        try:
            root = (project / ".project_root").read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            root = ""
        return lines_behind({"root": root, "parent": path.parent.name if inside else ""}, path)

    def beside(self, path: Path) -> Sequence[Path]:
        """Return where the folder of the project is."""
        return (path.parents[1] / ".project_root", path.parents[2] / ".project_root")
