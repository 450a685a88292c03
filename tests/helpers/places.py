"""A repository on main, with a log, and with transcripts where Claude Code puts them."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from helpers.repos import START, STEP, Repo

LOG = Path(".agents/active/iteration-log")

ENTRY = """
schema_version: 2
iteration: {n}
date: "2026-04-12"
task_id: t{n}
commit: {sha}
agent: {{session_id: s, harness: claude}}
impl: {{summary: work {n}, scope_note: on-target, focused_tests_pass: true{retries}}}
"""


class Place:
    """A repository, its log and the home of its user; commits are an hour apart."""

    def __init__(self, root: Path, branch: str = "main") -> None:
        self.home = Path(os.environ["HOME"])
        self.repo = Repo(root / "app", branch=branch)
        self.log = self.repo.path / LOG
        self.log.mkdir(parents=True)
        self.projects = self.home / ".claude" / "projects"

    @property
    def path(self) -> Path:
        return self.repo.path

    def iteration(self, n: int, retries: str = ", retries: 0", **files: str) -> str:
        """Commit some files, and write the entry for that."""
        sha = self.repo.commit(files or {f"src/{n}.py": str(n)}, f"work {n}")
        (self.log / f"iter-{n}.yaml").write_text(
            ENTRY.format(n=n, sha=sha, retries=retries)
        )
        return sha

    def session(self, name: str, *lines: dict[str, Any], slug: str = "-app") -> Path:
        """Write a transcript into the user's home."""
        path = self.projects / slug / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def turn(
        self,
        window: int,
        number: int = 1,
        cwd: str | None = None,
        calls: Sequence[int] = (),
        **usage: int,
    ) -> dict[str, Any]:
        """Return a response in the window of the commit ``window`` (the first is 1).

        ``calls`` are the numbers of the results, made with :meth:`call`, of the tools that it
        calls.
        """
        at = START + (window - 1) * STEP - 600 + number
        counts = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 75}
        return {
            "type": "assistant",
            "timestamp": datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "sessionId": "5c0e1b7a-93d4-4f0e-8a6b-2d71c94be310",
            "cwd": cwd or str(self.path),
            "requestId": f"req_{window}_{number}",
            "message": {
                "id": f"msg_{window}_{number}",
                "role": "assistant",
                "model": "claude-opus-4-1",
                "content": [
                    {"type": "text", "text": "a secret word"},
                    *(
                        {"type": "tool_use", "id": f"toolu_{window}_{call}"}
                        for call in calls
                    ),
                ],
                "usage": {**counts, "cache_creation_input_tokens": 25, **usage},
            },
        }

    def call(self, window: int, number: int, failed: bool = False) -> dict[str, Any]:
        """Return the result of a tool call in the window of a commit."""
        line = self.turn(window, number)
        del line["requestId"]
        item = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{window}_{number}",
            "content": "x",
            "is_error": failed,
        }
        return line | {"type": "user", "message": {"role": "user", "content": [item]}}
