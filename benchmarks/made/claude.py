"""Made transcripts of Claude Code.

They have one line for each content block, each with the usage of the whole response.
"""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from benchmarks.made.prose import Prose
from benchmarks.made.times import stamp

_TOOLS = ("Bash", "Bash", "Bash", "Read", "Read", "Edit", "Grep", "Write")
_COMMANDS = (
    "ls -la",
    "git status --short",
    "git diff",
    "python -m pytest -q",
    "make build",
    "npm test -- --silent",
)
_FILES = (
    "/app/src/main.py",
    "/app/README.md",
    "/app/.agents/active/loop-state.md",
    "/app/tests/test_main.py",
)
_MODEL = "claude-sonnet-4-20250514"


class ClaudeSession:
    """The lines of one session, from its start on; endless."""

    def __init__(self, rng: Random, prose: Prose, start: float) -> None:
        self._rng, self._prose, self._time = rng, prose, start
        self.id = self._uuid()
        self._parent: str | None = None

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, each with its line break."""
        yield _line(
            {
                "type": "summary",
                "summary": self._prose.piece(self._rng, 20, 60),
                "leafUuid": self._uuid(),
            }
        )
        yield self._said(self._prose.piece(self._rng, 100, 3_000))
        while True:
            yield from self._exchange()
            chance = self._rng.random()
            if chance < 0.06:
                yield self._said(self._prose.piece(self._rng, 20, 800))
            elif chance < 0.10:
                snapshot = {
                    "messageId": self._uuid(),
                    "trackedFileBackups": {},
                    "timestamp": stamp(self._time),
                }
                yield _line(
                    {
                        "type": "file-history-snapshot",
                        "messageId": self._uuid(),
                        "snapshot": snapshot,
                    }
                )
            elif chance < 0.16:
                yield self._entry(
                    "system",
                    {
                        "subtype": "turn_duration",
                        "durationMs": self._rng.randint(900, 90_000),
                    },
                )

    def _exchange(self) -> Iterator[bytes]:
        rng = self._rng
        response: dict[str, Any] = {
            "model": _MODEL,
            "id": f"msg_01{rng.getrandbits(88):022x}",
            "type": "message",
            "role": "assistant",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": self._usage(),
        }
        request = f"req_011{rng.getrandbits(84):021x}"
        tools = [self._tool_use() for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))]
        for block in (*self._thoughts(), *tools):
            self._time += rng.uniform(0.5, 6)
            yield self._entry(
                "assistant",
                {"message": response | {"content": [block]}, "requestId": request},
            )
        for tool in tools:
            self._time += rng.uniform(0.1, 20)
            yield self._tool_result(tool["id"])

    def _usage(self) -> dict[str, Any]:
        rng = self._rng
        written = rng.randint(0, 6_000)
        return {
            "input_tokens": rng.randint(1, 12),
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": rng.randint(8_000, 150_000),
            "cache_creation": {
                "ephemeral_5m_input_tokens": written,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": rng.randint(1, 1_500),
            "service_tier": "standard",
        }

    def _thoughts(self) -> Iterator[dict[str, Any]]:
        rng = self._rng
        if rng.random() < 0.3:
            signature = f"{rng.getrandbits(4 * 600):0600x}"
            yield {
                "type": "thinking",
                "thinking": self._prose.piece(rng, 100, 1_500),
                "signature": signature,
            }
        if rng.random() < 0.7:
            yield {"type": "text", "text": self._prose.piece(rng, 20, 900)}

    def _tool_use(self) -> dict[str, Any]:
        rng = self._rng
        name = rng.choice(_TOOLS)
        given: dict[str, Any]
        if name == "Bash":
            given = {
                "command": rng.choice(_COMMANDS),
                "description": self._prose.piece(rng, 15, 50),
            }
        elif name == "Edit":
            old, new = (
                self._prose.piece(rng, 50, 1_200),
                self._prose.piece(rng, 50, 1_500),
            )
            given = {
                "file_path": rng.choice(_FILES),
                "old_string": old,
                "new_string": new,
            }
        elif name == "Write":
            given = {
                "file_path": rng.choice(_FILES),
                "content": self._prose.piece(rng, 300, 9_000),
            }
        else:
            given = {"file_path": rng.choice(_FILES)}
        return {
            "type": "tool_use",
            "id": f"toolu_01{rng.getrandbits(88):022x}",
            "name": name,
            "input": given,
        }

    def _tool_result(self, tool: str) -> bytes:
        rng = self._rng
        output = self._prose.tool_output(rng)
        content: Any = (
            output if rng.random() < 0.75 else [{"type": "text", "text": output}]
        )
        result: dict[str, Any] = {
            "tool_use_id": tool,
            "type": "tool_result",
            "content": content,
        }
        failed = rng.random() < 0.05
        if failed or rng.random() < 0.5:
            result["is_error"] = failed
        kept = output if rng.random() < 0.3 else output[:400]
        also = {"stdout": kept, "stderr": "", "interrupted": False, "isImage": False}
        return self._entry(
            "user",
            {"message": {"role": "user", "content": [result]}, "toolUseResult": also},
        )

    def _said(self, text: str) -> bytes:
        self._time += self._rng.uniform(10, 300)
        return self._entry("user", {"message": {"role": "user", "content": text}})

    def _entry(self, kind: str, rest: dict[str, Any]) -> bytes:
        before, self._parent = self._parent, self._uuid()
        return _line(
            {
                "parentUuid": before,
                "isSidechain": False,
                "userType": "external",
                "cwd": "/app",
                "sessionId": self.id,
                "version": "2.0.14",
                "gitBranch": "master",
                **rest,
                "type": kind,
                "uuid": self._parent,
                "timestamp": stamp(self._time),
            }
        )

    def _uuid(self) -> str:
        digits = f"{self._rng.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
