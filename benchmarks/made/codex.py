"""Made transcripts of Codex: calls and outputs as response items, token counts as events."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from benchmarks.made.prose import Prose
from benchmarks.made.times import stamp

_COMMANDS = (
    "rg --files",
    "sed -n 1,200p src/main.py",
    "git status --short",
    "python -m pytest -q",
    "cargo test",
)


class CodexSession:
    """The lines of one session, from its start on; endless."""

    def __init__(self, rng: Random, prose: Prose, start: float) -> None:
        self._rng, self._prose, self._time = rng, prose, start
        digits = f"{rng.getrandbits(128):032x}"
        self.id = f"{digits[:8]}-{digits[8:12]}-7{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
        self._total = dict.fromkeys(self._usage(), 0)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, each with its line break."""
        rng, prose = self._rng, self._prose
        meta = {
            "id": self.id,
            "timestamp": stamp(self._time),
            "cwd": "/app",
            "originator": "codex_cli_rs",
        }
        yield self._line(
            "session_meta",
            meta
            | {"cli_version": "0.46.0", "instructions": prose.piece(rng, 500, 6_000)},
        )
        yield self._line(
            "event_msg",
            {"type": "token_count", "info": None, "rate_limits": self._limits()},
        )
        while True:
            yield self._line(
                "turn_context",
                {"cwd": "/app", "approval_policy": "never", "model": "gpt-5-codex"},
            )
            text = prose.piece(rng, 30, 1_500)
            yield self._line(
                "event_msg", {"type": "user_message", "message": text, "kind": "plain"}
            )
            for _ in range(rng.randint(3, 40)):
                yield from self._step()
            text = prose.piece(rng, 50, 900)
            said = {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text}],
            }
            yield self._line("response_item", said)
            yield self._line("event_msg", {"type": "agent_message", "message": text})

    def _step(self) -> Iterator[bytes]:
        rng = self._rng
        if rng.random() < 0.6:
            hidden = f"{rng.getrandbits(4 * 1_400):01400x}"
            yield self._line(
                "response_item",
                {"type": "reasoning", "summary": [], "encrypted_content": hidden},
            )
        call = f"call_{rng.getrandbits(96):024x}"
        arguments = json.dumps(
            {"command": ["bash", "-lc", rng.choice(_COMMANDS)], "workdir": "/app"}
        )
        asked = {
            "type": "function_call",
            "name": "shell",
            "arguments": arguments,
            "call_id": call,
        }
        yield self._line("response_item", asked)
        code = 1 if rng.random() < 0.06 else 0
        answer = {
            "output": self._prose.tool_output(rng),
            "metadata": {"exit_code": code, "duration_seconds": 0.4},
        }
        output = json.dumps(answer, ensure_ascii=False)
        yield self._line(
            "response_item",
            {"type": "function_call_output", "call_id": call, "output": output},
        )
        yield self._token_count()

    def _token_count(self) -> bytes:
        last = self._usage()
        self._total = {name: count + last[name] for name, count in self._total.items()}
        info = {
            "total_token_usage": self._total,
            "last_token_usage": last,
            "model_context_window": 272_000,
        }
        return self._line(
            "event_msg",
            {"type": "token_count", "info": info, "rate_limits": self._limits()},
        )

    def _usage(self) -> dict[str, int]:
        given, said = self._rng.randint(4_000, 160_000), self._rng.randint(20, 1_800)
        return {
            "input_tokens": given,
            "cached_input_tokens": self._rng.randint(0, given),
            "output_tokens": said,
            "reasoning_output_tokens": said // 2,
            "total_tokens": given + said,
        }

    def _limits(self) -> dict[str, Any]:
        used = self._rng.randint(0, 99)
        return {
            "primary": {"used_percent": used, "window_minutes": 299},
            "secondary": {"used_percent": used // 4},
        }

    def _line(self, kind: str, payload: dict[str, Any]) -> bytes:
        self._time += self._rng.uniform(0.1, 8)
        entry = {"timestamp": stamp(self._time), "type": kind, "payload": payload}
        return (
            json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
            + b"\n"
        )
