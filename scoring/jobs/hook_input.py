"""What an agent harness sends to a hook: JSON on standard input, or as the last argument.

The shapes that are understood:

- Claude Code (Stop, SubagentStop, SessionEnd, TaskCompleted): ``{"session_id", "transcript_path", "cwd",
  "hook_event_name", "stop_hook_active", …}`` on standard input, with ``agent_transcript_path`` for a sub-agent;
- Codex hooks (Stop): the same fields, ``transcript_path`` may be null;
- Codex notify: ``{"type": "agent-turn-complete", "thread-id", "cwd", …}`` as the last argument.

Nothing here is trusted: a field of another type is as if it were not there.
"""

import json
import os
import re
import select
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from scoring.errors import InputError

PATIENCE = 0.1
"""Seconds that input on standard input is waited for."""

SIZE_LIMIT = 16 << 20

_ID = re.compile(r"[\w.:-]{1,200}")


@dataclass(frozen=True, slots=True)
class HookInput:
    """What a harness sent. All is optional."""

    cwd: Path | None = None
    transcript_dirs: tuple[Path, ...] = ()
    stop_hook_active: bool = False
    session_id: str | None = None


def parse_hook_input(text: str | bytes) -> HookInput:
    """Read a harness's JSON.

    Raises:
        InputError: it is not a JSON object.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise InputError(f"the harness's input is not JSON: {e}") from e
    if not isinstance(data, dict):
        raise InputError("the harness's input is not a JSON object")
    cwd = data.get("cwd")
    files = [data.get(name) for name in ("transcript_path", "agent_transcript_path")]
    folders = [Path(os.path.expanduser(file)).parent for file in files if _is_path(file)]
    ids = [data.get(name) for name in ("session_id", "thread-id")]
    return HookInput(
        Path(cwd) if _is_path(cwd) else None,
        tuple(dict.fromkeys(folders)),
        data.get("stop_hook_active") is True,
        next((name for name in ids if isinstance(name, str) and _ID.fullmatch(name)), None),
    )


def _is_path(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value) and "\0" not in value


def read_hook_input(fd: int = 0, patience: float = PATIENCE) -> HookInput | None:
    """Read a harness's JSON from a descriptor, without waiting for input that does not come.

    Returns as soon as a whole JSON object is there, at the end of the input, or when ``patience`` (seconds) is over;
    None when there was nothing to read.

    Raises:
        InputError: what came is no JSON object, or its end did not come in time.
    """
    data, until = b"", time.monotonic() + patience
    try:
        while len(data) <= SIZE_LIMIT and not os.isatty(fd):
            left = until - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                break
            data += (block := os.read(fd, 1 << 16))
            if not block or (data.rstrip().endswith(b"}") and _is_whole(data)):
                break
    except (OSError, ValueError):  # standard input is closed
        return None
    return parse_hook_input(data) if data.strip() else None


def _is_whole(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
