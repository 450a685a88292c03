"""Factory Droid: where its sessions are, and what a line of one says.

``docs/EVIDENCE.md``, "What each harness writes", has the form of a session.
"""

import re
from pathlib import Path

from scoring.evidence.transcripts.events import Response
from scoring.frozen import PlainData

from .fields import (
    TokenFields,
    is_failure,
    items_in,
    json_in,
    member,
    parts_in,
    text_in,
    time_in,
    value_in,
)
from .harness import FileNames, Harness, Hook
from .tool_calls import ToolNames, ToolReader

_ATTACHED_BY_HARNESS = ("<system-reminder>", "Contents of ")
"""How a text that the harness adds to a prompt begins."""

_STATE_LINES = ("todo_state", "agent_turn_outcome")
"""The kinds of lines that hold nothing of interest."""

_TOKENS = TokenFields(
    "outputTokens", "inputTokens", "cacheReadTokens", "cacheCreationTokens"
)
_EXITED = re.compile(r"\[Process exited with code (-?\d+)\]\s*\Z")
_FAILED = re.compile(r"\AError: Command failed \(exit code: (-?\d+)\)")


class DroidReader(ToolReader):
    """Reads a session. ``shown`` has the settings of the session."""

    tools = ToolNames(
        shells="Execute",
        edits="Create Edit MultiEdit",
        patches="ApplyPatch",
        questions="AskUser ExitSpecMode",
        agents="Task",
    )

    def entry(self, line: PlainData) -> None:
        """Take the start of a session, a message or a compaction. Lines of state are left out.

        A line of an unknown kind is skipped, and so is a message or a compaction without a time.
        """
        kind = line.get("type")
        if kind == "session_start":
            self.version = line.get("version")
            self.note_session(
                text_in(line, "cwd"),
                text_in(line, "id"),
                text_in(line, "callingSessionId"),
                text_in(self.shown, "settings.model"),
            )
        elif kind in ("message", "compaction_state"):
            if not self.begin_event(time_in(line, "timestamp"), name=line.get("id")):
                return
            if kind == "compaction_state":
                self.note_compaction()
            elif member(line, "message.role") == "assistant":
                self.note_response(text_in(line, "id"))
                self.note_agent_text(text_in(line, "message.content"))
                self.note_tool_calls(
                    parts_in(member(line, "message.content"), "tool_use")
                )
            else:
                self._take_user_message(line)
        elif kind not in _STATE_LINES:
            self.skip_unknown(kind)

    def _take_user_message(self, line: PlainData) -> None:
        """Take results of calls, and a prompt without what the harness adds to it.

        A text that only the user sees is not a prompt.
        """
        content = member(line, "message.content")
        if isinstance(content, str):
            content = [{"text": content}]

        texts = []
        for part in items_in(content):
            text = text_in(part, "text")
            if member(part, "type") == "tool_result":
                self._take_result(part)
            elif text and not text.lstrip().startswith(_ATTACHED_BY_HARNESS):
                texts.append(text)

        if not texts:
            return
        if "user_only" in (line.get("visibility"), member(line, "message.visibility")):
            self.note_user_text()
        else:
            self.note_prompt("\n".join(texts))

    def _take_result(self, part: PlainData) -> None:
        """Note how a call ended. It failed where its text is a JSON object with ``success`` false.

        A call of another tool than a shell also failed if its result is marked as an error. The
        command of a shell ended with the exit code at the start or the end of the text. Where both
        have one, the first counts if the result is marked as an error, else the last, since a
        command may print the other. Without a code, a command failed if the result is marked as an
        error; otherwise it is not known whether it did.
        """
        call = part.get("tool_use_id")
        text = text_in(part, "content")

        is_error = part.get("is_error") is True
        failed = text.startswith("{") and member(json_in(text), "success") is False
        if text_in(call) not in self.shell_calls:
            self.note_result(call, failed or is_error, text)
            return

        at_start, at_end = _FAILED.match(text), _EXITED.search(text)
        exit_code = (at_start or at_end) if is_error else (at_end or at_start)
        command_failed = True if is_error else None
        if exit_code:
            command_failed = is_failure(exit_code[1])
        self.note_shell_result(call, failed, command_failed, text)

    def finish(self) -> None:
        """Note the tokens that the settings state, as totals of all responses, if there are any."""
        tokens = _TOKENS.of(member(self.shown, "settings.tokenUsage"))
        if self.noted[Response] and any(tokens):
            self.note_totals(0, tokens)


class Droid(Harness):
    """Describes Factory Droid: its files, folders and hook, and what shows that it wrote a line."""

    name = "droid"
    hook = Hook(
        ".factory/settings.json", "FACTORY_HOME_OVERRIDE", ".factory/settings.json"
    )
    files = (FileNames("*.jsonl", "store", ".factory/sessions*"),)
    places = (("FACTORY_HOME_OVERRIDE", "~", ".factory/sessions"),)
    reader = DroidReader

    def claims(self, line: PlainData) -> bool:
        """Return whether Droid wrote a line, by kinds that no other harness has.

        A message is not among them: it goes to the harness of the first line.
        """
        kinds = ("session_start", "compaction_state", *_STATE_LINES)
        return line.get("type") in kinds and "id" in line and "sessionId" not in line

    def shown(self, path: Path) -> PlainData:
        """Return ``settings``: those of the session, or None where they cannot be read."""
        (settings,) = self.sibling_files(path)
        return {"settings": value_in(settings)}

    def sibling_files(self, path: Path) -> list[Path]:
        """Return the file with the settings, which is rewritten while the session grows."""
        return [path.with_suffix(".settings.json")]
