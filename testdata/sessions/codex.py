"""What Codex leaves on disk.

``sessions/YYYY/MM/DD/rollout-<local time>-<id>.jsonl`` holds a thread. An older one may be
compressed to ``.jsonl.zst``, and a closed one moved to ``archived_sessions/``. A line is
``{timestamp type payload}``:

- ``session_meta``: ``id timestamp cwd originator cli_version source model_provider git``; of a fork
  also ``forked_from_id``; of a spawned thread ``source`` is ``{subagent: {thread_spawn:
  {parent_thread_id depth}}}``. A fork's file then holds the parent's lines again (its session_meta
  too), stamped with the time of the fork.
- ``turn_context``: ``turn_id cwd approval_policy sandbox_policy model effort summary``; the turn id
  is a UUIDv7, in older versions missing or a small number.
- ``response_item``: ``message``, ``reasoning``, ``function_call {name arguments call_id}``,
  ``local_shell_call {call_id action}``, ``custom_tool_call {name input call_id}``, and
  ``function_call_output``, ``custom_tool_call_output`` ``{call_id output}``.
- ``event_msg``: ``token_count {info {total_token_usage last_token_usage model_context_window}
  rate_limits}``, where info may be null, ``user_message``, ``agent_message``, ``patch_apply_end``,
  ``mcp_tool_call_end``, ``exec_command_end`` …
- ``compacted``: a summary, with the items it replaces.
"""

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sessions.world import (
    CLI,
    CODEX,
    LOOP_STATE,
    MS,
    NOTHING,
    TESTS,
    Deed,
    Totals,
    World,
    rfc3339,
    write_lines,
)
from sessions.zstd import compressed

Line = dict[str, Any]


class Tokens(NamedTuple):
    """Token counts as Codex keeps them.

    ``given`` includes ``cached``. Some versions do not state ``written``.
    """

    given: int = 0
    cached: int = 0
    output: int = 0
    written: int = 0

    def plus(self, other: "Tokens") -> "Tokens":
        """Return both together."""
        return Tokens(*(one + two for one, two in zip(self, other, strict=True)))

    def as_json(self, *, writes: bool) -> Line:
        """Return the counts as Codex states them.

        ``writes`` says whether cache writes are stated.
        """
        stated = {
            "input_tokens": self.given,
            "cached_input_tokens": self.cached,
            "cache_write_input_tokens": self.written,
            "output_tokens": self.output,
            "reasoning_output_tokens": self.output // 3,
            "total_tokens": self.given + self.output,
        }
        if not writes:
            del stated["cache_write_input_tokens"]
        return stated


OUTPUT = (
    "collected 3 items\n\nExit code: 1\nProcess exited with code 2\nScript failed\n"
    "Output:\nExit code: 3\n"
)
"""Program output that looks like headers."""


def old_json(code: int, output: str = OUTPUT) -> str:
    """Return an exec result as older versions wrote it: JSON with the exit code in its metadata."""
    return json.dumps(
        {"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.4}}
    )


def exit_code(code: int, output: str = OUTPUT) -> str:
    """Return an exec result with an ``Exit code`` header."""
    return f"Exit code: {code}\nWall time: 0.3 seconds\nTotal output lines: 7\nOutput:\n{output}"


def exited(code: int, output: str = OUTPUT) -> str:
    """Return a result of the unified exec tool whose process has ended."""
    said = f"Process exited with code {code}"
    return (
        f"Chunk ID: 8f4f21\nWall time: 0.0512 seconds\n{said}\n"
        f"Original token count: 31\nOutput:\n{output}"
    )


def running(output: str = OUTPUT) -> str:
    """Return a result of the unified exec tool whose process still runs."""
    said = "Process running with session ID 48211"
    return (
        f"Chunk ID: 1b20aa\nWall time: 10.0 seconds\n{said}\n"
        f"Original token count: 31\nOutput:\n{output}"
    )


def script(verdict: str, output: str = OUTPUT) -> list[Line]:
    """Return a result of the exec script tool: ``completed``, ``failed``, or still ``running``."""
    said = (
        "Script running with cell ID 3" if verdict == "running" else f"Script {verdict}"
    )
    head = f"{said}\nWall time 0.2 seconds\nOutput:\n"
    return [
        {"type": "input_text", "text": head},
        {"type": "input_text", "text": output},
    ]


def listed(output: str) -> list[Line]:
    """Return a text result in the form of a list."""
    return [{"type": "input_text", "text": output}]


class CodexRollout:
    """A thread of Codex that writes its rollout while it works."""

    def __init__(
        self,
        world: World,
        cwd: Path | None = None,
        *,
        source: str | Line = "cli",
        v7: bool = True,
        writes: bool = False,
        version: str = "0.98.0",
        archived: bool = False,
        contexts: bool = True,
        begun: bool = True,
    ) -> None:
        """Begin a thread.

        Args:
            world: the machine.
            cwd: where it works (default: the repository).
            source: what started it.
            v7: whether turns have UUIDs that carry their time.
            writes: whether cache writes are stated.
            version: of the harness.
            archived: whether it was put into the archive.
            contexts: whether turns begin with a line that says where they work, as they did not at
                first.
            begun: False leaves the first line to who makes a fork.
        """
        self.world = world
        self.cwd = cwd or world.repo
        self.v7 = v7
        self.writes = writes
        self.version = version
        self.source = source
        self.contexts = contexts
        world.tick()
        self.id = world.uuid7()
        self.lines: list[Line] = []
        self.sums = Tokens()
        self.echoing = False
        stamp = rfc3339(world.now_ms)
        name = f"rollout-{stamp[:19].replace(':', '-')}-{self.id}.jsonl"
        dated = world.codex / "sessions" / stamp[:4] / stamp[5:7] / stamp[8:10] / name
        self.path = world.codex / "archived_sessions" / name if archived else dated
        self._turns = 0
        self._last = Tokens()
        if begun:
            self.meta()

    def meta(self, **more: Any) -> None:
        """Write the line that opens a rollout."""
        payload = {
            "id": self.id,
            "timestamp": rfc3339(self.world.now_ms),
            "cwd": str(self.cwd),
            "originator": "codex_cli_rs",
            "cli_version": self.version,
            "source": self.source,
            "model_provider": "openai",
            "base_instructions": {"text": "You are a coding agent."},
            "git": {"commit_hash": "0" * 40, "branch": "main"},
        }
        self.add("session_meta", payload | more)

    def turn(self, cwd: Path | None = None, *, turn_id: str | None = None) -> None:
        """Begin a turn, in another folder if one is named."""
        self.cwd = cwd or self.cwd
        self._turns += 1
        payload: Line = {
            "turn_id": turn_id or (self.world.uuid7() if self.v7 else str(self._turns)),
            "cwd": str(self.cwd),
            "approval_policy": "on-request",
            "sandbox_policy": {"type": "workspace-write", "network_access": False},
            "model": "gpt-5.2-codex",
            "effort": "medium",
            "summary": "auto",
        }
        if self.contexts:
            self.add("turn_context", payload)
        said = [{"type": "input_text", "text": "Go on. Exit code: 1"}]
        self.item("message", role="user", content=said)
        self.event("user_message", message="Go on.", images=[])

    def spend(self) -> Tokens:
        """Return what a next response would use."""
        rng = self.world.rng
        given = rng.randint(4_000, 40_000)
        cached = rng.randint(0, given)
        written = rng.randint(0, given - cached) if self.writes else 0
        return Tokens(given, cached, rng.randint(20, 3_000), written)

    def tokens(
        self,
        used: Tokens | None = None,
        *,
        totals: bool = True,
        last: bool = True,
        afresh: bool = False,
    ) -> None:
        """Write the token count after a response, and enter the response in the book.

        Args:
            used: its tokens.
            totals: whether the event states sums.
            last: whether the event states the response's own tokens.
            afresh: the sums begin anew with this response.
        """
        used = used or self.spend()
        self.sums = used if afresh else self.sums.plus(used)
        self._last = used
        info: Line = {}
        if totals:
            info["total_token_usage"] = self.sums.as_json(writes=self.writes)
        if last:
            info["last_token_usage"] = used.as_json(writes=self.writes)
        stamp = self.event(
            "token_count",
            info=info | {"model_context_window": 272_000},
            rate_limits=self._limits(),
        )
        created = used.written if self.writes else used.given - used.cached
        self._enter(stamp, Totals(1, used.given, used.output, used.cached, created))

    def tokens_again(self) -> None:
        """Write the last token count again, as happens when only the rate limits have changed."""
        info = {
            "total_token_usage": self.sums.as_json(writes=self.writes),
            "last_token_usage": self._last.as_json(writes=self.writes),
            "model_context_window": 272_000,
        }
        self.event("token_count", info=info, rate_limits=self._limits())

    def no_tokens(self) -> None:
        """Write a token count that states nothing but rate limits."""
        self.event("token_count", info=None, rate_limits=self._limits())

    def call(
        self,
        output: str | Sequence[Line] | None,
        failed: bool | None,
        *,
        tool: str = "shell",
        command: str = "ls",
        checks: int | None = None,
        ends: Iterable[Mapping[str, Any]] = (),
    ) -> str:
        """Make a tool call, write its output, and enter it in the book.

        Args:
            output: what the harness wrote as the output; None: the call was interrupted, and there
                is none.
            failed: the verdict; None when nothing on disk says how it ended.
            tool: the tool, in its harness's spelling.
            command: the command, where the tool takes one.
            checks: the bits that the call is evidence of (default: those of a command that runs no
                tests).
            ends: events about its end, written before the output.

        Returns:
            The call's id.
        """
        call_id = self.world.token("call_", 24)
        kind, keys = _invocation(tool, command, call_id)
        stamp = self.item(kind, **keys)
        is_command = tool in (
            "shell",
            "local_shell_call",
            "shell_command",
            "exec_command",
            "exec",
        )
        found = (CLI if is_command else 0) if checks is None else checks
        if found:
            self._enter(stamp, Totals(checks=found))
        for end in ends:
            self.event(**{**end, "call_id": call_id})
        if output is not None:
            custom = kind == "custom_tool_call"
            kind = "custom_tool_call_output" if custom else "function_call_output"
            said = output if isinstance(output, str) else list(output)
            stamp = self.item(kind, call_id=call_id, output=said)
        if failed is not None:
            self._enter(stamp, Totals(tool_calls=1, tool_errors=int(failed)))
        return call_id

    def tests(self, failed: bool = False) -> None:
        """Run a test command."""
        self.call(
            exit_code(int(failed)),
            failed,
            tool="shell_command",
            command="pytest -q",
            checks=CLI | TESTS,
        )

    def loop_state(self) -> None:
        """Read the loop state."""
        command = "sed -n '1,80p' .agents/active/loop-state.md"
        self.call(
            exited(0),
            failed=False,
            tool="exec_command",
            command=command,
            checks=CLI | LOOP_STATE,
        )

    def work(self, turns: int = 2, *, checks: bool = False) -> None:
        """Reason, call tools and count tokens, as threads mostly do.

        ``checks`` meets all checks.
        """
        rng = self.world.rng
        for turn in range(turns):
            self.turn()
            self.item(
                "reasoning",
                summary=[],
                content=None,
                encrypted_content=self.world.token("gAAAA", 80),
            )
            if checks and turn == 0:
                self.tests()
                self.loop_state()
            for _ in range(rng.randint(1, 3)):
                code = rng.choice((0, 0, 1, 127))
                self.tokens()
                form, tool = rng.choice(
                    (
                        (old_json, "shell"),
                        (exit_code, "shell_command"),
                        (exited, "exec_command"),
                    )
                )
                output = form(code)
                self.call(
                    output if rng.random() < 0.7 else listed(output),
                    code != 0,
                    tool=tool,
                )
                if rng.random() < 0.3:
                    self.tokens_again()
            self.tokens()
            self.event("agent_message", message="Done.")

    def compact(self) -> None:
        """Compact the context; the items that are kept are no new calls."""
        kept = [
            line["payload"] for line in self.lines if line["type"] == "response_item"
        ]
        self.add(
            "compacted",
            {
                "message": "What was done …",
                "replacement_history": copy.deepcopy(kept[-4:]),
            },
        )
        self.event("context_compacted")

    def fork(
        self,
        *,
        cwd: Path | None = None,
        end: int | None = None,
        spawned: bool = False,
        replay: bool = True,
        v7: bool | None = None,
        archived: bool = False,
    ) -> "CodexRollout":
        """Fork this thread, or have it spawn another.

        Args:
            cwd: where the fork works (default: where this thread does).
            end: how many of this thread's lines the fork repeats (default: all).
            spawned: the fork is a sub-agent's thread.
            replay: whether lines are repeated; a sub-agent may begin without them.
            v7: whether the fork's turns have UUIDs that carry their time (default: as here).
            archived: whether the fork was put into the archive.
        """
        spawn = {
            "parent_thread_id": self.id,
            "depth": 1,
            "agent_nickname": None,
            "agent_role": None,
        }
        child = CodexRollout(
            self.world,
            cwd or self.cwd,
            source={"subagent": {"thread_spawn": spawn}} if spawned else "cli",
            v7=self.v7 if v7 is None else v7,
            writes=self.writes,
            archived=archived,
            contexts=self.contexts,
            begun=False,
        )
        child.meta(**({} if spawned else {"forked_from_id": self.id}))
        self.world.book.deeds.pop()
        self.world.book.echo(self.world.now_ms)
        if replay:
            for line in self.lines[:end]:
                stamp = self.world.tick(0, 1)
                child.lines.append(copy.deepcopy(line) | {"timestamp": rfc3339(stamp)})
                self.world.book.echo(stamp)
                info = line["payload"].get("info") or {}
                if "total_token_usage" in info:
                    child.sums = _read_back(info["total_token_usage"])
                    child._last = _read_back(info["last_token_usage"])
            child._turns = sum(line["type"] == "turn_context" for line in child.lines)
        return child

    def item(self, kind: str, **keys: Any) -> int:
        """Write a response item, and return its time."""
        return self.add("response_item", {"type": kind, **keys})

    def event(self, type: str, **keys: Any) -> int:
        """Write an event, and return its time."""
        return self.add("event_msg", {"type": type, **keys})

    def add(self, kind: str, payload: Mapping[str, Any]) -> int:
        """Write a line, and return its time (milliseconds since 1970)."""
        stamp = self.world.tick(10, 4_000)
        self.lines.append(
            {"timestamp": rfc3339(stamp), "type": kind, "payload": dict(payload)}
        )
        self._enter(stamp)
        return stamp

    def as_bytes(self) -> list[bytes]:
        """Return the lines as they are written."""
        return [
            json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()
            for line in self.lines
        ]

    def save(self, *, zstd: bool = False, frames: int = 1) -> Path:
        """Write the rollout, plain or compressed into some frames, and return where it is."""
        if zstd:
            data = b"".join(line + b"\n" for line in self.as_bytes())
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.zstd_path.write_bytes(compressed(data, frames))
        else:
            write_lines(self.path, self.as_bytes())
        return self.zstd_path if zstd else self.path

    @property
    def zstd_path(self) -> Path:
        """Where the compressed rollout goes."""
        return self.path.with_name(self.path.name + ".zst")

    def _limits(self) -> Line:
        used = round(self.world.rng.random() * 100, 1)
        return {
            "primary": {
                "used_percent": used,
                "window_minutes": 300,
                "resets_at": 1_776_020_000,
            },
            "secondary": None,
        }

    def _enter(self, stamp: int, totals: Totals = NOTHING) -> None:
        here = self.world.is_here(self.cwd)
        self.world.book.enter(
            Deed(stamp * MS, CODEX, here, totals, self.id, self.path.name)
        )


def patch_end(success: bool) -> Line:
    """Return the event after a patch."""
    return {
        "type": "patch_apply_end",
        "turn_id": "1",
        "stdout": "",
        "stderr": "",
        "success": success,
        "changes": {},
    }


def mcp_end(result: Line) -> Line:
    """Return the event after a call of an MCP tool."""
    invocation = {
        "server": "docs",
        "tool": "search",
        "arguments": {"q": "Exit code: 1"},
    }
    return {
        "type": "mcp_tool_call_end",
        "invocation": invocation,
        "duration": {"secs": 0, "nanos": 12},
        "result": result,
    }


def _invocation(tool: str, command: str, call_id: str) -> tuple[str, Line]:
    """Return how a tool is called: the kind of the item, and its keys."""
    if tool == "local_shell_call":
        action = {
            "type": "exec",
            "command": ["bash", "-lc", command],
            "timeout_ms": 10_000,
            "working_directory": None,
        }
        return tool, {
            "id": None,
            "call_id": call_id,
            "status": "completed",
            "action": action,
        }
    if tool == "exec":
        call = f"tools.exec_command({json.dumps({'cmd': command})})"
        code = f"const r = await {call};\ntext(r.output);\n"
        return "custom_tool_call", {
            "status": "completed",
            "call_id": call_id,
            "name": tool,
            "input": code,
        }
    if tool in ("apply_patch", "exec without a command"):
        given = (
            "*** Begin Patch\n*** Update File: loop-state.md\n+pytest\n*** End Patch"
            if tool == "apply_patch"
            else command
        )
        name = tool.split()[0]
        return "custom_tool_call", {
            "status": "completed",
            "call_id": call_id,
            "name": name,
            "input": given,
        }
    arguments = {
        "shell": {
            "command": ["bash", "-lc", command],
            "workdir": ".",
            "timeout_ms": 10_000,
        },
        "shell_command": {"command": command, "workdir": "."},
        "exec_command": {"cmd": command, "yield_time_ms": 1_000},
        "write_stdin": {"session_id": 48_211, "chars": ""},
    }.get(tool, {"q": command})
    return "function_call", {
        "name": tool,
        "arguments": json.dumps(arguments),
        "call_id": call_id,
    }


def _read_back(stated: Mapping[str, int]) -> Tokens:
    return Tokens(
        stated["input_tokens"],
        stated["cached_input_tokens"],
        stated["output_tokens"],
        stated.get("cache_write_input_tokens", 0),
    )
