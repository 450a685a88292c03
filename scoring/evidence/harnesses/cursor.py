"""Cursor: where its transcripts are, and what a line says (``docs/EVIDENCE.md``, "What each harness writes")."""

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.event_reader import EventReader, lines_behind
from scoring.evidence.harnesses.fields import items_in, keys_of, member, text_in, value_of
from scoring.evidence.harnesses.harness import SPELLED_FOLDER, FileNames, Harness, Hook
from scoring.evidence.harnesses.tool_calls import ToolNames, note_calls
from scoring.evidence.transcripts.events import LineSpan, TranscriptEvents, key_of
from scoring.evidence.transcripts.facts import NS

TOOLS = ToolNames(
    "Shell", "Write StrReplace Delete EditNotebook", "ApplyPatch", "AskQuestion", "Task Subagent"
)

FOLDER = "agent-transcripts"
_HIDDEN = "[REDACTED]"  # in place of what the model thought
_ROLES = "user", "assistant"
_TYPED = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
_STAMP = re.compile(
    r"<timestamp>\w+,? (\w{3})\w* (\d{1,2}), (\d{4}),? (\d{1,2}):(\d\d)\s([AP])M"
    r" \((?:UTC|GMT)(?:([+-])(\d{1,2})(?::?(\d\d))?)?\)</timestamp>"
)
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"


class CursorReader(EventReader):
    """Reads a transcript. A line has the time of the last prompt before it that states one."""

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__(tools)
        self._time: int | None = None
        self._early: list[tuple[int, dict[str, Any]]] = []  # lines before the first time
        self._first = 0  # the key of the first line

    def entry(self, line: dict[str, Any]) -> None:
        """Say what a line holds, as soon as a time is known; those before it have the first one."""
        if line.get("role") not in _ROLES and line.get("type") != "turn_ended":
            self.unknown(line.get("type", line.get("role")))
            return
        self._first = self._first or key_of(json.dumps(line))
        if (
            line.get("role") == "user"
            and (stated := _time_in(text_in(line, "message", "content"))) is not None
        ):
            self._time = max(stated, self._time or stated)
        self._early.append((self.place, line))
        if self._time is not None:
            self._take_early()

    def events(self) -> TranscriptEvents:
        """Return what was read. A transcript that states no time has that of its file, which was written last then."""
        written = member(self.shown, "written")
        self._time = self._time if self._time is not None else written
        self._take_early()
        return super().events()

    def _take_early(self) -> None:
        parent = text_in(self.shown, "parent")
        folder, own = text_in(self.shown, "project"), text_in(self.shown, "session")
        self.where = LineSpan(
            folder and SPELLED_FOLDER + folder, own, parent=parent, agent=bool(parent)
        )
        for place, line in self._early:
            self.place = place
            # Copies of a transcript, as in checkpoints, have the same lines at the same places behind the same first.
            if self.event(self._time, self._first, place, json.dumps(line)):
                self._take(line)
        self._early = []

    def _take(self, line: dict[str, Any]) -> None:
        text = text_in(line, "message", "content")
        if line.get("role") == "user":
            typed = _TYPED.search(text)
            self.prompt(typed[1].strip()) if typed else self.seen.asked()
        elif line.get("role") == "assistant":
            self.response()
            self.seen.said(text.replace(_HIDDEN, ""))
            note_calls(self, TOOLS, items_in(line, "message", "content"))
        elif line.get("status") == "aborted":
            self.seen.interrupted()


def _time_in(text: str) -> int | None:
    """Return the time that a prompt states, to the minute and with its zone, in nanoseconds since 1970."""
    if not (found := _STAMP.search(text)) or found[1] not in _MONTHS:
        return None
    month, hour = _MONTHS.index(found[1]) // 3 + 1, int(found[4]) % 12 + 12 * (found[6] == "P")
    east = timedelta(hours=int(found[8] or 0), minutes=int(found[9] or 0)) * (
        -1 if found[7] == "-" else 1
    )
    try:
        time = datetime(int(found[3]), month, int(found[2]), hour, int(found[5]), tzinfo=UTC) - east
    except (ValueError, OverflowError):
        return None
    return int(time.timestamp()) * NS


class Cursor(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "cursor"
    hook = Hook(".cursor/hooks.json", "CURSOR_CONFIG_DIR", "hooks.json", "stop", flat=True)
    files = (FileNames("*.jsonl", folder=f"projects/*/{FOLDER}*", store=True),)
    places = (("CURSOR_CONFIG_DIR", "~/.cursor", "projects"),)
    reader = CursorReader

    def claims(self, line: bytes) -> bool:
        """Know a line by its role, which in lines of other harnesses is in the message or has a type beside it."""
        keys = keys_of(line)
        return ({"role", "message"} <= keys and "type" not in keys) or (
            "status" in keys and member(value_of(line), "type") == "turn_ended"
        )

    def lines_of(self, path: Path) -> Iterable[bytes]:
        """Yield the lines of a transcript behind what its place shows."""
        *_, project, behind = path.as_posix().rpartition(f"/{FOLDER}/")[0].rpartition("/")
        below = path.parent.name == "subagents"
        shown = {
            "project": behind or project,
            "session": path.stem,
            "parent": path.parents[1].name if below else "",
            "written": path.stat().st_mtime_ns,
        }
        return lines_behind(shown, path)
