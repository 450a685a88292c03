"""Claude Code: where its transcripts are, and how a response is counted once.

``docs/EVIDENCE.md``, "Transcripts", says what counts once; :mod:`~scoring.evidence.transcripts.claude_lines` reads the
lines.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.evidence.transcripts.claude_lines import CALL, RESPONSE, VERDICT, ClaudeReader
from scoring.evidence.transcripts.harness import (
    ELSEWHERE,
    NO_FOLDER,
    Harness,
    Home,
    JsonReader,
    TranscriptCounter,
    keys_of,
)
from scoring.evidence.transcripts.rows import Rows
from scoring.evidence.transcripts.tally import chosen

if TYPE_CHECKING:  # reading that observes nothing needs no test tools
    from scoring.evidence.transcripts.testruns import TestTools


class ClaudeCounter(TranscriptCounter):
    """Counts responses and calls, each once."""

    def add(self, file: int, rows: Rows, whole: bool) -> str:
        """Count the lines of work in the repository; a line without a folder goes with the others of its file."""
        counted = [not span.cwd or whole or self._in_repository(span.cwd) for span in rows.spans]
        named = [here for here, span in zip(counted, rows.spans, strict=True) if span.cwd]
        if not whole and not any(named):
            return ELSEWHERE if named else NO_FOLDER
        tally = self._tally
        for here, span, times in zip(counted, rows.spans, rows.covers, strict=True):
            if here and times:
                tally.cover(file, span.session, sorted(times))
        for kind, add in ((RESPONSE, tally.responses), (CALL, tally.calls), (VERDICT, tally.verdicts)):
            if kind in rows.tables:
                spans, *columns = rows.tables[kind]
                if kind == RESPONSE:
                    columns.append(self._models([span.model for span in rows.spans], spans))
                add(columns if all(counted) else chosen(columns, [counted[span] for span in spans]))
        return ""


class ClaudeCode(Harness):
    """See :class:`~scoring.evidence.transcripts.harness.Harness`."""

    name = "claude"
    reader, counter = ClaudeReader, ClaudeCounter

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folders ``projects`` of the configured places, or of the usual ones."""
        if named := [part.strip() for part in environment.get("CLAUDE_CONFIG_DIR", "").split(",") if part.strip()]:
            return [Home(Path(part).expanduser() / "projects", "CLAUDE_CONFIG_DIR") for part in named]
        return [Home(Path(usual).expanduser() / "projects", usual) for usual in ("~/.config/claude", "~/.claude")]

    def observer(self, tools: "TestTools") -> JsonReader:
        """Return a reader that observes."""
        from scoring.evidence.transcripts.claude_observing import ClaudeObserver  # only what observes pays for it

        return ClaudeObserver(tools)

    def claims(self, line: bytes) -> bool:
        """Know a line by what every kind of line has one of."""
        keys = keys_of(line)
        return "payload" not in keys and not keys.isdisjoint(("sessionId", "message", "leafUuid", "snapshot"))
