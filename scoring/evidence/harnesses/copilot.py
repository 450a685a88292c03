"""GitHub Copilot CLI: where its sessions are, and what an event says (``docs/EVIDENCE.md``)."""

import errno
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.event_reader import EventReader, identity
from scoring.evidence.harnesses.fields import (
    count_in,
    keys_of,
    member,
    text_in,
    time_in,
    value_of,
)
from scoring.evidence.harnesses.harness import FileNames, Harness, Hook
from scoring.evidence.harnesses.tool_calls import ToolNames, names, note_call
from scoring.evidence.transcripts.events import LineSpan

TOOLS = ToolNames(
    "bash powershell",
    "create edit str_replace_editor",
    "apply_patch",
    "ask_user exit_plan_mode",
    "task",
)

_READS = {"read_bash", "read_powershell"}  # tools that show what a shell has printed since
_SKILL = "<skill-context"
_REFUSED, _DENIED = ("rejected", "denied"), "denied-interactively-by-user"
_COUNTS = "outputTokens", "inputTokens", "cacheReadTokens", "cacheWriteTokens"
_ENDED = re.compile(r"<(?:shellId: (\S+) completed|exited) with exit code (-?\d+)>\s*\Z")
_RUNS = re.compile(r"<command with shellId: (\S+) is still running")
_OTHERS = names(
    "system.message assistant.turn_start assistant.turn_end assistant.intent assistant.reasoning assistant.usage"
    " hook.start hook.end permission.requested tool.user_requested tool.execution_progress subagent.started"
    " tool.execution_partial_result subagent.completed subagent.failed subagent.selected subagent.deselected"
    " skill.invoked session.idle session.info session.warning session.error session.truncation session.usage_info"
    " session.compaction_start session.mode_changed session.plan_changed session.handoff session.title_changed"
    " session.snapshot_rewind session.context_changed session.task_complete session.workspace_file_changed"
)
"""Events that say nothing which is looked at; hooks repeat what tools printed."""


class CopilotReader(EventReader):
    """Reads a session."""

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__(tools)
        self._home = LineSpan()
        self._shells: set[str] = set()  # the ids of calls of a shell
        self._running: dict[
            str, tuple[str, str]
        ] = {}  # by the shell's id: the call, and what it printed so far
        self._refused: set[str] = set()
        self._since = 0  # the line behind the last end of the session
        self._outputs: Counter[str] = Counter()  # of the responses since then, by model
        self._ended: dict[str, tuple[int, ...]] = {}  # what the last end stated, by model

    def entry(self, line: dict[str, Any]) -> None:
        """Say what an event holds."""
        kind, data, time = text_in(line, "type"), line.get("data"), time_in(line, "timestamp")
        if kind in ("session.start", "session.resume"):
            self.version = member(data, "copilotVersion") or self.version
            self._home = self._home._replace(
                cwd=text_in(data, "context", "cwd") or self._home.cwd,
                session=text_in(data, "sessionId") or self._home.session,
            )
        if model := text_in(data, "newModel") or text_in(data, "selectedModel"):
            self._home = self._home._replace(model=model)
        self.where = self._home._replace(
            model=text_in(data, "model") or self._home.model, agent="agentId" in line
        )
        if kind in _OTHERS or not isinstance(data, dict):
            return
        if self.event(time, *identity(line.get("id"), self.where.session, self.place, time)):
            self._take(kind, data, time or 0)

    def _take(self, kind: str, data: dict[str, Any], time: int) -> None:
        call = text_in(data, "toolCallId")
        if kind == "user.message":
            text = text_in(data, "content")
            if text_in(data, "source").startswith("skill-") or text.startswith(_SKILL):
                self.seen.asked()
            else:
                self.prompt(text)
        elif kind == "assistant.message":
            output = count_in(data, "outputTokens")
            self.response(text_in(data, "messageId"), output)
            self._outputs[self.where.model] += output or 0
            self.seen.said(text_in(data, "content"))
        elif kind == "tool.execution_start":
            tool, given = text_in(data, "toolName"), data.get("arguments")
            if isinstance(given, str) and tool not in TOOLS.patches:
                given = value_of(given.encode("utf-8", "replace"))
            note_call(self, TOOLS, call, tool, given)
            self._shells |= {call} if tool in TOOLS.shells | _READS else set()
        elif kind == "tool.execution_complete":
            self._result(call, data)
        elif kind == "permission.completed":
            if member(data, "result", "kind") == _DENIED:
                self._refuse(call, "")
        elif kind == "system.notification":
            about = data.get("kind")
            if (
                member(about, "type") == "shell_completed"
                and type(code := member(about, "exitCode")) is int
            ):
                self._end(str(member(about, "shellId")), code != 0, "")
        elif kind == "abort":
            if data.get("reason") == "user_initiated":
                self.seen.interrupted()
        elif kind == "session.compaction_complete":
            self.seen.compacted()
        elif kind == "session.shutdown":
            self._totals(data.get("modelMetrics"), time)
        elif kind not in ("session.start", "session.resume", "session.model_change"):
            self.unknown(kind)

    def _result(self, call: str, data: dict[str, Any]) -> None:
        """Note how a call ended. That a shell's call succeeded says nothing of its command, which may still run."""
        text = text_in(data, "result", "content") or text_in(data, "result", "text_result_for_llm")
        failed = data.get("success") is not True
        if text_in(data, "error", "code") in _REFUSED:
            self._refuse(call, text_in(data, "error", "message"))
            return
        if call in self._shells:
            code = member(data, "toolTelemetry", "metrics", "exit_code")
            ended, runs = _ENDED.search(text), _RUNS.search(text)
            if runs and not ended and code is None and runs[1] not in self._running:
                self._running[runs[1]] = call, text[: runs.start()]
                return
            fails = ended[2].strip("-0") != "" if ended else type(code) is int and code != 0
            text = text[: ended.start()] if ended else text
            if ended and ended[1] in self._running:
                self._end(ended[1], fails, text)
            else:
                failed = failed or fails
        self.result(call, failed, text or text_in(data, "error", "message"))

    def _end(self, shell: str, failed: bool, text: str) -> None:
        """Note how a command ended that was still running when its call came back."""
        if shell in self._running:
            call, printed = self._running.pop(shell)
            self.result(call, failed, printed + text)

    def _refuse(self, call: str, reason: str) -> None:
        if call not in self._refused:
            self._refused.add(call)
            self.refused(call, reason)

    def _totals(self, metrics: object, time: int) -> None:
        """Note what the end of the session states; of one that was taken up again, it may be that of all before too."""
        for model, of in metrics.items() if isinstance(metrics, dict) else ():
            counts = [count_in(of, "usage", name) for name in _COUNTS]
            if None in counts[:2]:
                continue
            stated = tuple(count or 0 for count in counts)
            before, self._ended[model] = self._ended.get(model, (0, 0, 0, 0)), stated
            goes_on = all(then <= now for then, now in zip(before, stated, strict=True))
            if (
                not goes_on or stated[0] < before[0] + self._outputs[model]
            ):  # it is of this part alone
                before = 0, 0, 0, 0
            output, given, reads, writes = (
                now - then for then, now in zip(before, stated, strict=True)
            )
            given = max(given - reads - writes, 0)
            self.where = self._home._replace(model=model)
            self.event(time, self.where.session, self.place, model)
            if model in self._outputs:
                self.totals(self._since, output, given, reads, writes)
            elif output or given:  # of helpers: their responses are not written
                self.response("", output, given, reads, writes)
        self._since, self._outputs = self.place + 1, Counter()


class CopilotCli(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "copilot"
    hook = Hook(
        file=".github/hooks/da-score.json",
        variable="COPILOT_HOME",
        below="hooks/da-score.json",
        event="agentStop",
        limit={"timeoutSec": 30},
        key="bash",
        flat=True,
        at_home=".copilot/hooks/da-score.json",
    )
    files: Sequence[FileNames] = (
        FileNames("events.jsonl"),
        FileNames("*.jsonl", folder="session-state"),
        FileNames("session_*.json", folder="history-session-state", store=True),
    )
    places = tuple(
        ("COPILOT_HOME", "~/.copilot", f"{kind}session-state") for kind in ("", "history-")
    )
    reader = CopilotReader

    def claims(self, line: bytes) -> bool:
        """Know an event by its keys, and by a kind in two words."""
        kind = (
            member(value_of(line), "type")
            if keys_of(line) >= {"type", "data", "id", "timestamp"}
            else None
        )
        return isinstance(kind, str) and ("." in kind or kind == "abort")

    def lines_of(self, path: Path) -> Iterable[bytes]:
        """Refuse a session of a version before 0.0.342."""
        raise OSError(
            errno.EBADMSG,
            "a session of GitHub Copilot CLI before 0.0.342, a form that is not read",
            path,
        )
