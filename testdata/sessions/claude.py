"""What Claude Code leaves on disk.

``projects/<slug>/<session>.jsonl`` holds a session. The slug is the folder that it was started in,
with ``-`` for everything but letters and digits. ``<session>/subagents/agent-<id>.jsonl`` holds a
sub-agent; it may be deeper, and older versions have it next to the session. A line is one JSON
object:

- ``user`` and ``assistant``: ``parentUuid isSidechain userType cwd sessionId version gitBranch type
  message uuid timestamp``, for a sub-agent also ``agentId``, for an API response also
  ``requestId``. ``message`` is the API's: ``id model role content usage {input_tokens
  cache_creation_input_tokens cache_read_input_tokens cache_creation {ephemeral_5m_input_tokens
  ephemeral_1h_input_tokens} output_tokens server_tool_use service_tier iterations}``. A response
  takes a line per content block, each with the same id and usage. Tool results are ``user`` lines
  with ``toolUseResult`` beside the message.
- ``system`` with a ``subtype`` (``compact_boundary``, ``api_error`` …), ``summary``,
  ``file-history-snapshot``, ``queue-operation``, ``progress``: lines of the harness, without usage
  of their own, whatever is inside.
"""

import copy
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sessions.world import (
    CLAUDE,
    CLI,
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

Line = dict[str, Any]

MODEL = "claude-sonnet-4-5-20250929"


class Usage(NamedTuple):
    """Tokens of one API response."""

    given: int
    output: int
    read: int
    created: int

    def as_json(self) -> Line:
        """Return the usage as the API states it."""
        return {
            "input_tokens": self.given,
            "cache_creation_input_tokens": self.created,
            "cache_read_input_tokens": self.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.created,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": self.output,
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "iterations": [
                {
                    "input_tokens": self.given,
                    "output_tokens": self.output,
                    "type": "message",
                }
            ],
        }


class Block(NamedTuple):
    """One content block of a response; ``checks`` are the bits that it is evidence of."""

    content: Line
    checks: int = 0

    @property
    def tool_id(self) -> str | None:
        """The id of a tool use."""
        found = self.content.get("id")
        return found if isinstance(found, str) else None


def slug(folder: Path) -> str:
    """Return the name of the project folder for sessions started in ``folder``."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(folder))


class ClaudeSession:
    """A session, or a sub-agent's part of one, that writes a transcript while it works."""

    def __init__(
        self,
        world: World,
        cwd: Path | None = None,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        home: Path | None = None,
        path: Path | None = None,
        version: str = "2.0.14",
    ) -> None:
        """Begin a session.

        Args:
            world: the machine.
            cwd: where it works (default: the repository).
            session_id: its id; of a sub-agent, its parent's.
            agent: the sub-agent's id.
            home: the configuration folder that the transcript goes to.
            path: where the transcript goes, when not where the harness would put it.
            version: of the harness.
        """
        self.world = world
        self.cwd = cwd or world.repo
        self.agent = agent
        self.version = version
        self.session_id = session_id or world.uuid4()
        self.sidechain = agent is not None
        project = (home or world.claude) / "projects" / slug(self.cwd)
        usual = (
            f"{self.session_id}/subagents/agent-{agent}.jsonl"
            if agent
            else f"{self.session_id}.jsonl"
        )
        self.path = path or project / usual
        self.lines: list[Line] = []
        self.pace = (20, 900)
        self._parent: str | None = None
        self._context = world.rng.randint(9_000, 20_000)

    def subagent(self, *, below: str = "", beside: bool = False) -> "ClaudeSession":
        """Begin a sub-agent of this session.

        Args:
            below: the folder that its file is deeper by.
            beside: whether its file is next to the session's, as in older versions.
        """
        agent = f"{self.world.rng.getrandbits(32):08x}"
        name = f"agent-{agent}.jsonl"
        folder = (
            self.path.parent
            if beside
            else self.path.with_suffix("") / "subagents" / below
        )
        return ClaudeSession(
            self.world,
            self.cwd,
            session_id=self.session_id,
            agent=agent,
            path=folder / name,
            version=self.version,
        )

    def text(self) -> Block:
        """Return a text block."""
        return Block({"type": "text", "text": self._words()})

    def thinking(self) -> Block:
        """Return a thinking block."""
        return Block(
            {
                "type": "thinking",
                "thinking": self._words(),
                "signature": self.world.token("E", 60),
            }
        )

    def tool(self, name: str, given: Mapping[str, Any], checks: int = 0) -> Block:
        """Return a tool use; ``checks`` says what it is evidence of."""
        use = {
            "type": "tool_use",
            "id": self.world.token("toolu_01"),
            "name": name,
            "input": dict(given),
        }
        return Block(use, checks)

    def bash(self, command: str = "ls -la", *, tests: bool = False) -> Block:
        """Return a shell command, which runs tests or does not."""
        return self.tool(
            "Bash",
            {"command": command, "description": "Run it"},
            CLI | (TESTS if tests else 0),
        )

    def read(self, path: str = "README.md", *, loop_state: bool = False) -> Block:
        """Return the reading of a file, which is the loop state or is not."""
        return self.tool(
            "Read", {"file_path": str(self.cwd / path)}, LOOP_STATE if loop_state else 0
        )

    def ask(self, text: str | None = None, **more: Any) -> None:
        """Write what the user says, whose content is a string."""
        self._add(
            "user", message={"role": "user", "content": text or self._words()}, **more
        )

    def usage(self) -> Usage:
        """Return what a next response would use: most of the context is read from the cache."""
        rng = self.world.rng
        created = rng.randint(120, 4_000)
        found = Usage(
            rng.randint(3, 12), rng.randint(60, 1_800), self._context, created
        )
        self._context += created
        return found

    def respond(
        self,
        *blocks: Block,
        usage: Usage | None = None,
        outputs: Sequence[int] | None = None,
        counted: bool = True,
        message: Mapping[str, Any] | None = None,
        without: Iterable[str] = (),
        split: int = 0,
        **more: Any,
    ) -> Usage:
        """Write one API response, a line per block, and enter it in the book.

        Args:
            blocks: its content.
            usage: its tokens in the end.
            outputs: the output count on each line, where it grows while streaming; the largest one
                is true.
            counted: False for what is not a response of the API. It does not show whether work
                was done then.
            message: keys of the message to set.
            without: keys of the line or the message to leave out.
            split: how long the stream stalls after its first block, in milliseconds; time is marked
                there.
            more: further keys of the line.

        Returns:
            The true usage.
        """
        world = self.world
        without = set(without)
        usage = usage or self.usage()
        if outputs:
            usage = usage._replace(output=max(outputs))
        head = {
            "id": world.token("msg_01"),
            "type": "message",
            "role": "assistant",
            "model": MODEL,
        } | dict(message or {})
        request = {"requestId": world.token("req_011")}
        for n, block in enumerate(blocks):
            stated = usage._replace(output=outputs[n]) if outputs else usage
            body = {
                **head,
                "content": [block.content],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": stated.as_json(),
            }
            stamp = world.tick(*self.pace)
            self._add(
                "assistant",
                stamp,
                message={
                    key: value for key, value in body.items() if key not in without
                },
                **{
                    key: value
                    for key, value in {**request, **more}.items()
                    if key not in without
                },
            )
            if n == 0 and counted:
                totals = Totals(1, usage.given, usage.output, usage.read, usage.created)
                self._enter(stamp, totals, "" if "id" in without else head["id"])
            elif "id" not in without:
                world.book.copy(head["id"])
            if not counted:
                world.book.deeds.pop()
                world.book.echo(stamp)
            if block.checks:
                self._enter(stamp, Totals(checks=block.checks))
            if n == 0 and split:
                world.mark()
                world.now_ms += split
        return usage

    def result(
        self, use: Block, *, failed: bool = False, plain: bool = True, **more: Any
    ) -> None:
        """Write the result of a tool use.

        ``plain`` leaves ``is_error`` out of one that did not fail, as often seen.
        """
        self.results([use], [failed], plain=plain, **more)

    def results(
        self,
        uses: Sequence[Block],
        failed: Sequence[bool],
        *,
        plain: bool = True,
        **more: Any,
    ) -> None:
        """Write the results of several tool uses on one line."""
        content: list[Line] = []
        for use, wrong in zip(uses, failed, strict=True):
            item: Line = {
                "tool_use_id": use.tool_id,
                "type": "tool_result",
                "content": self._words(),
            }
            if wrong or not plain:
                item["is_error"] = wrong
            content.append(item)
        stamp = self.world.tick()
        told = {
            "stdout": self._words(),
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "is_error": True,
        }
        self._add(
            "user",
            stamp,
            **{
                "message": {"role": "user", "content": content},
                "toolUseResult": told,
                **more,
            },
        )
        self._enter(stamp, Totals(tool_calls=len(uses), tool_errors=sum(failed)))

    def work(self, turns: int = 3, *, checks: bool = False) -> None:
        """Think, use a tool and look at its result, as sessions mostly do.

        ``checks`` meets all checks.
        """
        rng = self.world.rng
        self.ask()
        for turn in range(turns):
            if checks and turn == 0:
                uses = [
                    self.bash("cd src && python -m pytest -q", tests=True),
                    self.read("loop-state.md", loop_state=True),
                ]
            else:
                uses = [
                    self.tool(
                        "Edit",
                        {"file_path": "a.py", "old_string": "a", "new_string": "b"},
                    )
                ]
                uses += (
                    [self.tool("Grep", {"pattern": "pytest loop-state.md"})]
                    if rng.random() < 0.5
                    else []
                )
            thought = [self.thinking()] if rng.random() < 0.4 else []
            self.respond(*thought, self.text(), *uses)
            for use in uses:
                self.result(use, failed=rng.random() < 0.25, plain=rng.random() < 0.5)
        self.respond(self.text())

    def own(self, kind: str, **keys: Any) -> None:
        """Write a line of the harness's own that stands in the thread of the session."""
        self._add(kind, **keys)

    def bare(self, line: Mapping[str, Any]) -> None:
        """Write a line without the keys of a thread's lines and without a time at its top."""
        self.lines.append(dict(line))

    def repeat(
        self, lines: Iterable[Line], *, restamp: bool = False, **changed: Any
    ) -> None:
        """Write lines of another session again, as resuming and forking do.

        Nothing new happens by that.

        Args:
            lines: what is repeated.
            restamp: the copies carry the time of now instead of their own.
            changed: keys of the line that differ in the copies; a callable gives a value per
                response or line.
        """
        values: dict[tuple[str, Any], Any] = {}
        for old in lines:
            line = copy.deepcopy(old)
            if "timestamp" in line:
                stamp = self.world.tick(0, 5) if restamp else None
                line["timestamp"] = rfc3339(stamp) if stamp else line["timestamp"]
                if stamp:
                    self.world.book.echo(stamp)
            for key, value in changed.items():
                if key == "requestId" and key not in line:
                    continue
                if callable(value):
                    value = values.setdefault(
                        (key, line.get("requestId", id(old))), value()
                    )
                line[key] = value
            self.world.book.copy(line.get("message", {}).get("id", ""))
            self.lines.append(line)
            self._parent = line.get("uuid", self._parent)

    def as_bytes(self) -> list[bytes]:
        """Return the lines as they are written."""
        return [
            json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()
            for line in self.lines
        ]

    def save(self) -> Path:
        """Write the transcript, and return where it went."""
        write_lines(self.path, self.as_bytes())
        return self.path

    def _add(self, kind: str, stamp: int | None = None, **keys: Any) -> None:
        world = self.world
        stamp = stamp or world.tick()
        line: Line = {
            "parentUuid": self._parent,
            "isSidechain": self.sidechain,
            "userType": "external",
            "cwd": str(self.cwd),
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": "main",
        }
        if self.agent:
            line["agentId"] = self.agent
        self._parent = world.uuid4()
        line |= {
            "type": kind,
            **keys,
            "uuid": self._parent,
            "timestamp": rfc3339(stamp),
        }
        self.lines.append(line)
        self._enter(stamp)

    def _enter(self, stamp: int, totals: Totals = NOTHING, name: str = "") -> None:
        here = self.world.is_here(self.cwd)
        self.world.book.enter(
            Deed(stamp * MS, CLAUDE, here, totals, self.session_id, self.path.name),
            name,
        )

    def _words(self) -> str:
        some = (
            "the",
            "test",
            "fails",
            "naïve",
            "→",
            "Output:",
            "Exit code: 1",
            "is_error",
            "\n",
            "\t",
            '"usage"',
            "日本",
        )
        return " ".join(self.world.rng.choices(some, k=self.world.rng.randint(1, 9)))
