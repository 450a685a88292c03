"""Codex, observed: which lines are commands, patches and interruptions, and where an output begins behind its header.

``docs/EVIDENCE.md``, "Lines of Codex", shows what they look like.
"""

import re
import shlex
from collections.abc import Sequence
from typing import Any

from scoring.evidence.transcripts.codex_lines import (
    CALL,
    COMMAND_TOOLS,
    CONTEXT,
    HEADER,
    HEADER_LIMIT,
    CodexReader,
    Payload,
    RolloutLine,
    as_text,
    member,
    own_meta,
    parsed,
    text_of,
    value_of,
)
from scoring.evidence.transcripts.harness import command_flags
from scoring.evidence.transcripts.observing import Observations
from scoring.evidence.transcripts.rows import Rows
from scoring.evidence.transcripts.testruns import TestTools

_PATCHED = re.compile(r"(?:^|\\n)\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\n\\]+)", re.MULTILINE)
"""A file that a patch writes; in a program the patch may be a string, where a line break is escaped."""
_COMMAND_IN_PROGRAM = re.compile(
    r"""\bcmd["']?\s*:\s*(?:"((?:[^"\\\n]|\\.)*+)"|'((?:[^'\\\n]|\\.)*+)'|`((?:[^`\\]|\\.)*+)`)""", re.DOTALL
)
"""A command that a program of ``exec`` runs."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_RUNNING = re.compile(r"Process running with session ID (\d+)")
_SCRIPT_OPTIONS = ("-lc", "-c")


class CodexObserver(CodexReader):
    """Reads what :class:`CodexReader` does, and notes what is seen in it; the number of a line is its time."""

    observes = True

    def __init__(self, tools: TestTools) -> None:
        super().__init__()
        self._seen = Observations(tools)
        self._opens = False
        self._folder = ""
        self._running: dict[str, str] = {}
        """By the id of a process that still runs, the call that started it."""
        self._goes_on: dict[str, str] = {}
        """By a call that asks for more of its output, the call that started it."""
        self._programs: set[str | None] = set()
        """Calls of programs, which complete whatever the commands in them did."""

    def _observe(self, position: int, time: int, line: RolloutLine) -> int:
        number = self.number + position
        self._seen.line(len(self._spans) - 1, number, time, self._seen.line_key(self.written[position]))
        if line.type == "compacted":
            self._seen.compacted()
        if number == 0:
            self._opens = line.type == "session_meta"
        return number

    def _abort(self, payload: Payload) -> None:
        if text_of(payload.reason) == "interrupted":
            self._seen.interrupted()

    def _open(self, at: int, time: int, line: str, payload: Payload) -> None:
        super()._open(at, time, line, payload)
        span = self._spans[-1]
        if span.cwd and (span.opens == CONTEXT or span is own_meta(self._spans)):
            self._folder = span.cwd

    def _call(self, time: int, payload: Payload, command: str | None) -> None:
        """Note a call of any tool."""
        self._row(CALL, time, payload.call_id, 0 if command is None else command_flags(command))
        call, seen = payload.call_id, self._seen
        if payload.type == "custom_tool_call":
            text = text_of(payload.input)
            if payload.name == "apply_patch":
                seen.edit(call, _patched(text), self._folder)
            elif payload.name == "exec":
                commands = "\n".join(map(_unescaped, _COMMAND_IN_PROGRAM.findall(text)))
                seen.command(call, commands, self._folder, _patched(text))
                self._programs.add(call)
            else:
                seen.call(call)
            return
        given = value_of(payload.action) if payload.type == "local_shell_call" else parsed(text_of(payload.arguments))
        if payload.name == "apply_patch":
            seen.edit(call, _patched(as_text(member(given, "input"))), self._folder)
        elif command is None:
            seen.call(call, agent=payload.name == "spawn_agent")
            if (
                payload.name == "write_stdin"
                and call
                and (begun := self._running.get(str(member(given, "session_id"))))
            ):
                self._goes_on[call] = begun
        else:
            field = COMMAND_TOOLS.get(payload.name or "", "command")
            folder = as_text(member(given, "workdir")) or as_text(member(given, "working_directory")) or self._folder
            asked = member(given, field)
            script = _script(asked)
            seen.command(call, script, folder, _patched(script) if "apply_patch" in script else ())

    def _end(self, time: int, payload: Payload, failed: bool | None) -> None:
        super()._end(time, payload, failed)
        call, seen = payload.call_id, self._seen
        if payload.type == "mcp_tool_call_end" or (payload.type == "patch_apply_end" and not failed):
            return  # its output follows
        begun = self._goes_on.get(call or "", call)
        if begun != call:
            seen.result(call, failed, str)
        if failed is None and (running := _RUNNING.search(_parts(payload)[0])):
            self._running[running[1]] = begun or ""
        else:
            seen.result(begun, None if begun in self._programs else failed, lambda: _parts(payload)[1])

    def rows(self) -> Rows:
        """Return what was taken."""
        return self._seen.fill(super().rows(), self._opens)


def _script(asked: Any) -> str:
    """Return what a shell is asked to run, which may be a text or the words of a command."""
    if not isinstance(asked, list):
        return as_text(asked)
    words = [word for word in asked if isinstance(word, str)]
    if len(words) == 3 and words[1] in _SCRIPT_OPTIONS:
        return words[2]
    return shlex.join(words)


def _unescaped(found: Sequence[str]) -> str:
    return _ESCAPED.sub(lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), "".join(found))


def _patched(patch: str) -> list[str]:
    """Return the files that a patch writes."""
    return [path.strip() for path in _PATCHED.findall(patch)]


def _parts(payload: Payload) -> tuple[str, str]:
    """Return the header of an output, "" where it has none, and what a program printed."""
    found = value_of(payload.output)
    if isinstance(found, list):
        found = "\n".join(as_text(member(item, "text")) for item in found)
    text = as_text(found)
    if text.startswith("{") and isinstance(printed := member(parsed(text), "output"), str):
        return "", printed
    if text.startswith(HEADER):
        header, behind, printed = f"\n{text[:HEADER_LIMIT]}".partition("\nOutput:\n")
        if behind:
            return header, printed + text[HEADER_LIMIT:]
    return "", text
