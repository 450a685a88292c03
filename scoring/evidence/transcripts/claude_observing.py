"""Claude Code, observed: which lines are commands, edits, refusals and interruptions.

``docs/EVIDENCE.md``, "Lines of Claude Code", shows what they look like.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from scoring.evidence.transcripts.claude_lines import (
    CALL,
    VERDICT,
    ClaudeInput,
    ClaudeItem,
    ClaudeLine,
    ClaudeMessage,
    ClaudeReader,
)
from scoring.evidence.transcripts.harness import (
    command_flags,
    decoded,
)
from scoring.evidence.transcripts.observing import Observations
from scoring.evidence.transcripts.rows import Rows, key_of
from scoring.evidence.transcripts.testruns import TestTools

INTERRUPTED = "[Request interrupted by user"
REFUSED = "The user doesn't want to"
"""How a text that the user seems to have written, and the error of a call, begin when the user stopped or refused."""

EDIT_TOOLS = frozenset(("Edit", "Write", "MultiEdit", "NotebookEdit"))
QUESTIONS = frozenset(("ExitPlanMode", "AskUserQuestion"))
AGENTS = frozenset(("Task", "Agent"))
_COMPACTED = b'"compact_boundary"'
_GOES_ON = b'"Command running in background with ID'
"""How the result of a command begins that has not ended yet."""


class _SeenItem(ClaudeItem, gc=False):
    text: msgspec.Raw | UnsetType = UNSET
    content: msgspec.Raw | UnsetType = UNSET


class _SeenMessage(ClaudeMessage, gc=False):
    content: list[_SeenItem | str | None] | str | None = None  # type: ignore[assignment]


class _SeenLine(ClaudeLine, gc=False):
    uuid: msgspec.Raw | UnsetType = UNSET
    subtype: msgspec.Raw | UnsetType = UNSET
    parentUuid: msgspec.Raw | UnsetType = UNSET  # noqa: N815 - as it is written
    message: _SeenMessage | None = None


class _SeenInput(ClaudeInput, gc=False):
    notebook_path: str | None = None


class ClaudeObserver(ClaudeReader):
    """Reads what :class:`ClaudeReader` does, and notes what is seen in it; the number of a line is its time."""

    decoder = msgspec.json.Decoder(_SeenLine)
    _input = msgspec.json.Decoder(_SeenInput)
    _empty = _SeenInput()
    observes = True

    def __init__(self, tools: TestTools) -> None:
        super().__init__()
        self._seen = Observations(tools)
        self._opens: bool | None = None
        self._cwd = ""
        self._by_user = False

    def take(self, lines: Sequence[Any]) -> list[int]:
        """Take some lines; the first that names its parent says whether the session begins here."""
        if self._opens is None:
            parent = next((line.parentUuid for line in lines if line.parentUuid is not UNSET), UNSET)
            if parent is not UNSET:
                self._opens = bytes(parent) == b"null"
        return super().take(lines)

    def _observe(self, position: int, span: int, time: int, line: _SeenLine) -> int:
        number, seen, message, kind = self.number + position, self._seen, line.message, line.type
        if line.uuid is UNSET or len(line.uuid) <= len('""'):
            seen.line(span, number, time, seen.line_key(self.written[position]))
        else:
            seen.line(span, number, time, key_of(bytes(line.uuid)))
        self._by_user = kind == "user"
        if kind == "system" and line.subtype is not UNSET and bytes(line.subtype) == _COMPACTED:
            seen.compacted()
        if message is not None:
            if kind == "assistant":
                seen.responds(message.id)
                self._cwd = line.cwd or ""
            elif self._by_user and type(message.content) is str and message.content.startswith(INTERRUPTED):
                seen.interrupted()
        return number

    def _use(self, time: int, span: int, item: Any) -> None:
        kind = item.type
        if kind == "tool_use":
            key, flags = self._call(item)
            self._tables[CALL].append((span, time, key, flags))
        elif kind == "tool_result":
            text, failed = partial(_text_of, item.content), item.is_error is True
            if failed and text().startswith(REFUSED):
                self._seen.refused(item.tool_use_id)
                return
            goes_on = item.content is not UNSET and bytes(memoryview(item.content)[: len(_GOES_ON)]) == _GOES_ON
            key = self._seen.result(item.tool_use_id, None if goes_on else failed, text)
            self._tables[VERDICT].append((span, time, key, failed))
        elif kind == "text" and self._by_user and _text_of(item.text).startswith(INTERRUPTED):
            self._seen.interrupted()

    def _call(self, item: Any) -> tuple[int, int]:
        """Note a call; return its key and what it shows. Only of a few tools the input is looked at."""
        name, seen = item.name or "", self._seen
        if name == "Bash":
            command = self._given(item).command or ""
            return seen.command(item.id, command, self._cwd), command_flags(command)
        if name in EDIT_TOOLS:
            given = self._given(item)
            return seen.edit(item.id, (given.file_path or given.notebook_path or "",), self._cwd), 0
        flags = self._flags(name, self._given(item)) if name == "Read" else 0
        return seen.call(item.id, name in QUESTIONS, name in AGENTS), flags

    def rows(self) -> Rows:
        """Return what was taken; calls that the user refused are none."""
        refused = self._seen.refused_calls
        self._tables[CALL] = [row for row in self._tables[CALL] if row[2] not in refused]
        return self._seen.fill(super().rows(), self._opens is True)


_anything = msgspec.json.Decoder()


def _text_of(content: msgspec.Raw | UnsetType) -> str:
    """Return the text of an item, or of the list of items that a result may be; "" of anything else."""
    try:
        found = "" if content is UNSET else decoded(_anything, content)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    if isinstance(found, list):
        texts = [item.get("text") for item in found if isinstance(item, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return found if isinstance(found, str) else ""
