"""Made histories of agents at work: a repository, its log, transcripts and checkpoints.

A history is thought out first and written at once, since transcripts name commits by SHAs that only
git knows: in what a session prints, ``@sha:7@`` stands for the seventh commit. Cases made by hand
and those of ``helpers/random_histories.py`` are built of this.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.checkpoints import about, name, record
from helpers.harness_lines import Line, stamp
from helpers.made_git import MadeHistory, link_worktree
from helpers.repos import START, Repo

_SHA = re.compile(r"@sha:(\d+)@")


@dataclass
class Session:
    """A session: its lines, and for each line the mark of the commit that it led to.

    ``shift`` is by how many seconds its clock is wrong; ``cut_off`` leaves half of the last line;
    without ``stored`` nothing is in the user's home. ``side`` are the lines of its sub-agents.
    """

    id: str
    cwd: str
    harness: str = "claude"
    branch: str = "main"
    shift: int = 0
    lines: list[Line] = field(default_factory=list)
    side: list[Line] = field(default_factory=list)
    truth: dict[int, int] = field(default_factory=dict)
    cut_off: bool = False
    stored: bool = True
    recorded: int = 0
    _totals: int = 0
    _called: int = 0

    def turn(
        self, second: float, output: int, *content: Line, side: bool = False
    ) -> None:
        """A response of ``output`` tokens, which nothing else in a history has."""
        if self.harness == "codex":
            self._totals += output
            total = {
                "input_tokens": 0,
                "cached_input_tokens": 0,
                "output_tokens": self._totals,
            }
            info = {"total_token_usage": total | {"total_tokens": self._totals}}
            self.lines.append(
                _codex(
                    second + self.shift,
                    "event_msg",
                    {"type": "token_count", "info": info},
                )
            )
            return
        counts = {
            "input_tokens": 1,
            "output_tokens": output,
            "cache_read_input_tokens": 7,
        }
        message: Line = {
            "id": f"msg_{output}",
            "model": "claude-opus-4-1",
            "role": "assistant",
        }
        message |= {
            "content": list(content),
            "usage": counts | {"cache_creation_input_tokens": 3},
        }
        self._claude(
            second, side, type="assistant", requestId=f"req_{output}", message=message
        )

    def run(
        self,
        second: float,
        output: int,
        command: str,
        printed: str,
        failed: bool = False,
    ) -> None:
        """A command, half a second long, and what it printed."""
        call = self._call()
        if self.harness == "codex":
            given = json.dumps({"command": ["bash", "-lc", command]})
            said = (
                f"Exit code: {int(failed)}\nWall time: 0.5 seconds\nOutput:\n{printed}"
            )
            use = {
                "type": "function_call",
                "name": "shell",
                "arguments": given,
                "call_id": call,
            }
            self.lines.append(_codex(second + self.shift, "response_item", use))
            self.turn(second + 0.1, output)
            answer = {"type": "function_call_output", "call_id": call, "output": said}
            self.lines.append(
                _codex(second + self.shift + 0.5, "response_item", answer)
            )
            return
        self.turn(
            second,
            output,
            {
                "type": "tool_use",
                "id": call,
                "name": "Bash",
                "input": {"command": command},
            },
        )
        self.result(second + 0.5, call, printed, failed)

    def edit(self, second: float, output: int, path: str) -> None:
        """An edit of a file by a tool; Codex has none here."""
        if self.harness == "codex":
            return self.turn(second, output)
        call = self._call()
        given = {
            "file_path": f"{self.cwd}/{path}",
            "old_string": "a",
            "new_string": "b",
        }
        self.turn(
            second,
            output,
            {"type": "tool_use", "id": call, "name": "Edit", "input": given},
        )
        return self.result(second + 0.1, call, "The file has been updated.")

    def result(
        self, second: float, call: str, printed: str, failed: bool = False
    ) -> None:
        item = {
            "type": "tool_result",
            "tool_use_id": call,
            "content": printed,
            "is_error": failed,
        }
        self._claude(
            second, False, type="user", message={"role": "user", "content": [item]}
        )

    def prompt(self, second: float, words: str) -> None:
        """The user says something to Claude Code."""
        self._claude(
            second, False, type="user", message={"role": "user", "content": words}
        )

    def repeats(self, second: float, agent: "Session") -> None:
        """Write what a sub-agent did into the lines of its session, as some versions do."""
        for n, line in enumerate(agent.lines):
            data = {"type": "agent_progress", "agentId": agent.id, "message": line}
            self._claude(second + n / 10, False, type="progress", data=data)

    def interrupt(self, second: float) -> None:
        """The user stops the agent."""
        if self.harness == "codex":
            self.lines.append(
                _codex(
                    second + self.shift,
                    "event_msg",
                    {"type": "turn_aborted", "reason": "interrupted"},
                )
            )
            return
        said = [{"type": "text", "text": "[Request interrupted by user]"}]
        self._claude(
            second, False, type="user", message={"role": "user", "content": said}
        )

    def compact(self, second: float) -> None:
        """The harness makes room: what was said so far is summed up."""
        if self.harness == "claude":
            self._claude(
                second,
                False,
                type="system",
                subtype="compact_boundary",
                content="Conversation compacted",
            )
            said = {"role": "user", "content": "This session is being continued."}
            self._claude(
                second, False, type="user", isCompactSummary=True, message=said
            )

    def open_codex(self, second: float, **keys: Any) -> "Session":
        """The first lines of a rollout."""
        self.lines.append(
            _codex(
                second + self.shift,
                "session_meta",
                {"id": self.id, "cwd": self.cwd, **keys},
            )
        )
        self.lines.append(
            _codex(
                second + self.shift,
                "turn_context",
                {"turn_id": self.id, "cwd": self.cwd},
            )
        )
        return self

    def commits(
        self, second: float, output: int, mark: int, subject: str, command: str = ""
    ) -> None:
        """Run a command that makes a commit, half a second before its line.

        What was done until then led to the commit.
        """
        command = command or f"git commit -am '{subject}'"
        said = (
            f"[{self.branch} @sha:{mark}@] {subject}\n 1 file changed, 1 insertion(+)"
        )
        self.run(second, output, command, said)
        self.done(mark)

    def copy(self, new: str, *, rename: bool = True) -> "Session":
        """Return a resumed or forked session, which begins with this one under the same uuids."""
        lines = [
            line | ({"sessionId": new} if rename and "sessionId" in line else {})
            for line in self.lines
        ]
        return Session(
            new,
            self.cwd,
            self.harness,
            self.branch,
            self.shift,
            lines,
            truth=dict(self.truth),
        )

    def done(self, mark: int) -> None:
        """What was written since the last time led to this commit."""
        for line in [*self.lines, *self.side]:
            if (output := output_of(line)) is not None:
                self.truth.setdefault(output, mark)

    def _call(self) -> str:
        self._called += 1
        return f"call_{self.id}_{self._called}"

    def _claude(self, second: float, side: bool, **keys: Any) -> None:
        lines = self.side if side else self.lines
        number = len(self.lines) + len(self.side)
        before = next(
            (line["uuid"] for line in reversed(lines) if "uuid" in line), None
        )
        line = {
            "uuid": f"{self.id}-{number}",
            "parentUuid": before,
            "timestamp": stamp(second + self.shift),
        }
        line |= {"cwd": self.cwd, "sessionId": self.id, "isSidechain": side}
        lines.append(line | ({"agentId": "a1"} if side else {}) | keys)


def _codex(second: float, kind: str, payload: Line) -> Line:
    return {"timestamp": stamp(second), "type": kind, "payload": payload}


DAY = 86_400
TEXT = "".join(f"def made_{n}(): return {n}\n" for n in range(8))


def writes(
    session: Session, second: float, output: int, path: str, text: str = TEXT
) -> None:
    """The agent writes a file that was not there."""
    call = session._call()
    given = {"file_path": f"{session.cwd}/{path}", "content": text}
    session.turn(
        second,
        output,
        {"type": "tool_use", "id": call, "name": "Write", "input": given},
    )
    session.result(second + 0.1, call, "File created successfully.")


def output_of(line: Line) -> int | None:
    """Return the output tokens of a line: a response's own, a rollout's total so far, or None."""
    if "payload" in line:
        info = line["payload"].get("info")
        return info["total_token_usage"]["output_tokens"] if info else None
    counts = line.get("message", {}).get("usage")
    return counts["output_tokens"] if counts else None


@dataclass(frozen=True)
class Entry:
    """An entry of the log: ``commit`` is a mark, or the text of the field."""

    number: int
    commit: int | str
    summary: str
    session: str = ""


@dataclass
class Checkpoint:
    """A checkpoint: the metadata and the transcript, or None, of each of its sessions."""

    id: str
    sessions: list[tuple[dict[str, Any], list[Line] | None]] = field(
        default_factory=list
    )


@dataclass
class History:
    """All of one history. ``landed`` says, by marks, as which commit of the trunk others landed."""

    root: Path
    git: MadeHistory = field(default_factory=MadeHistory)
    sessions: list[Session] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    landed: dict[int, int] = field(default_factory=dict)
    worktrees: dict[str, str] = field(default_factory=dict)
    remote: str = ""
    globs: tuple[str, ...] = ()
    shas: dict[int, str] = field(default_factory=dict)
    # of its iterations, once it was scored
    also: dict[int, tuple[str, ...]] = field(default_factory=dict)
    elsewhere: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.git.branches["main"] = self.git.commit(
            (), "begin", START, {"README.md": "made"}
        )

    @property
    def repo(self) -> Path:
        return self.root / "app"

    @property
    def other(self) -> Path:
        """Another repository, which exists."""
        return self.root / "other"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def main(self) -> int:
        return self.git.branches["main"]

    def session(self, name: str, cwd: Path | str | None = None, **keys: Any) -> Session:
        made = Session(name, str(cwd or self.repo), **keys)
        self.sessions.append(made)
        return made

    def commit(
        self,
        second: float,
        subject: str,
        *trailers: str,
        branch: str = "main",
        **keys: Any,
    ) -> int:
        """Commit a file of its own to a branch; return its mark."""
        parent = keys.pop("parent", None) or self.git.branches.get(branch, self.main)
        message = subject + (
            "\n\n" + "\n".join(f"Entire-Checkpoint: {t}" for t in trailers)
            if trailers
            else ""
        )
        path = f"src/{branch}/{len(self.git.commits)}.py"
        files = keys.pop("files", {path: f"value = {len(self.git.commits)}"})
        mark = self.git.commit(
            (parent,), message + "\n", START + int(second), files, **keys
        )
        self.git.branches[branch] = mark
        return mark

    def entry(self, commit: int | str, summary: str, session: str = "") -> int:
        """Add an entry; return its number."""
        self.entries.append(Entry(len(self.entries) + 1, commit, summary, session))
        return len(self.entries)

    def checkpoint(
        self, number: int, *sessions: tuple[dict[str, Any], Iterable[Line] | None]
    ) -> str:
        """Record a checkpoint; return its id."""
        made = [
            (about(**said), None if lines is None else list(lines))
            for said, lines in sessions
        ]
        self.checkpoints[name(number)] = Checkpoint(name(number), made)
        return name(number)

    def write(self) -> "History":
        """Write everything to disk."""
        repo = Repo(self.repo, branch="main")
        self.shas = self.git.write(repo)
        Repo(self.other, branch="main")
        if self.remote:
            repo.config("remote.origin.url", self.remote)
        for place, branch in self.worktrees.items():
            link_worktree(repo, Path(place), branch)
        self.log.mkdir()
        for entry in self.entries:
            (self.log / f"iter-{entry.number}.yaml").write_text(
                json.dumps(self._entry(entry))
            )
        for session in self.sessions:
            if session.stored:
                self._store(session)
        if self.checkpoints:
            files: dict[str, dict[str, Any]] = {}
            for made in self.checkpoints.values():
                files[made.id] = {"metadata.json": {"checkpoint_id": made.id}}
                for n, (said, lines) in enumerate(made.sessions):
                    files[made.id][f"{n}/metadata.json"] = said
                    if lines is not None:
                        files[made.id][f"{n}/full.jsonl"] = self._render(lines)
            record(repo, files)
        return self

    def commit_of(self, entry: Entry) -> str:
        """The commit field of an entry."""
        return (
            entry.commit if isinstance(entry.commit, str) else self.shas[entry.commit]
        )

    def _entry(self, entry: Entry) -> dict[str, Any]:
        said: dict[str, Any] = {
            "schema_version": 2,
            "iteration": entry.number,
            "date": "2026-04-12",
            "task_id": "t",
        }
        said |= {
            "commit": self.commit_of(entry),
            "impl": {"summary": entry.summary, "scope_note": "on-target"},
        }
        return said | (
            {"agent": {"session_id": entry.session}} if entry.session else {}
        )

    def _store(self, session: Session) -> None:
        projects = self.home / ".claude" / "projects" / re.sub(r"\W", "-", session.cwd)
        if session.harness == "codex":
            path = (
                self.home
                / ".codex"
                / "sessions"
                / "2026"
                / "04"
                / "12"
                / f"rollout-{session.id}.jsonl"
            )
        else:
            path = projects / f"{session.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = self._render(session.lines)
        path.write_bytes(
            data[: len(data) - len(data.splitlines(True)[-1]) // 2]
            if session.cut_off
            else data
        )
        if session.side:
            agents = projects / session.id / "subagents"
            agents.mkdir(parents=True, exist_ok=True)
            (agents / "agent-a1.jsonl").write_bytes(self._render(session.side))

    def _render(self, lines: Iterable[Line]) -> bytes:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        return _SHA.sub(lambda m: self.shas[int(m[1])][:9], text).encode()
