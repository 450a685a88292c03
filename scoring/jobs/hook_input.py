"""Reads what a harness sends to the hook when an agent stops. No field of it is trusted."""

import contextlib
import json
import os
import re
import select
import time
from pathlib import Path
from typing import NamedTuple, TypeGuard

from scoring.errors import InputError
from scoring.text import syntax_problem

PATIENCE = 0.1
"""For how many seconds standard input is read."""

SIZE_LIMIT = 16 << 20
"""Reading standard input stops after more bytes than these."""

_PIECE = 1 << 16
_SESSION_ID = re.compile(r"[\w.:-]{1,200}")

# Harnesses have their own names for the same things; the first that is there counts.
_TRANSCRIPT_FIELDS = ("transcript_path", "agent_transcript_path", "transcriptPath")
_SESSION_FIELDS = ("session_id", "thread-id", "sessionId", "conversation_id")


class HookInput(NamedTuple):
    """What a harness sent. Any of it may be missing.

    Attributes:
        cwd: the folder in which the agent worked; None where the harness names none.
        transcript_dirs: the folders of the transcripts that the harness names, each once.
        stop_hook_active: whether a hook had kept the agent from stopping before this stop.
        session_id: the id of the session that stopped; None without an id of a usual form.
    """

    cwd: Path | None = None
    transcript_dirs: tuple[Path, ...] = ()
    stop_hook_active: bool = False
    session_id: str | None = None


def parse_hook_input(text: str | bytes) -> HookInput:
    """Return what the JSON of a harness says. A field in another form counts as missing.

    Raises:
        InputError: the text is not a JSON object.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as e:
        problem = syntax_problem(e)
        raise InputError(
            f"the harness's input is not JSON: {problem}; give what the harness gives a hook"
        ) from e
    if not isinstance(data, dict):
        raise InputError("the harness's input is not a JSON object")

    cwd = data.get("cwd")
    roots = data.get("workspace_roots")
    if "cwd" not in data and isinstance(roots, list) and roots:
        cwd = roots[0]

    files = filter(_is_path, map(data.get, _TRANSCRIPT_FIELDS))
    folders = [Path(os.path.expanduser(file)).parent for file in files]
    ids = [data.get(name) for name in _SESSION_FIELDS]
    valid_ids = [
        text for text in ids if isinstance(text, str) and _SESSION_ID.fullmatch(text)
    ]
    return HookInput(
        Path(cwd) if _is_path(cwd) else None,
        tuple(dict.fromkeys(folders)),
        stop_hook_active=data.get("stop_hook_active") is True,
        session_id=next(iter(valid_ids), None),
    )


def _is_path(value: object) -> TypeGuard[str]:
    """Return whether a value can be the path of a file."""
    return isinstance(value, str) and bool(value) and "\0" not in value


def read_hook_input(fd: int = 0, patience: float = PATIENCE) -> HookInput | None:
    """Read the JSON of a harness from a file descriptor.

    Args:
        fd: the file descriptor; a terminal is not read.
        patience: after how many seconds nothing more is read.

    Returns:
        What the harness sent; None without any input in that time.

    Raises:
        InputError: the input is not a whole JSON object.
    """
    try:
        data = _read_until_object(fd, time.monotonic() + patience)
    except (OSError, ValueError):  # standard input is closed
        return None

    if not data.strip():
        return None
    return parse_hook_input(data)


def _read_until_object(fd: int, deadline: float) -> bytes:
    """Return the bytes that were read until one of these came.

    - the end of a JSON object;
    - the end of the input;
    - the deadline;
    - more than :data:`SIZE_LIMIT` bytes.

    Args:
        fd: the file descriptor; of a terminal nothing is read.
        deadline: a time of ``time.monotonic``.

    Raises:
        OSError, ValueError: the file descriptor cannot be read.
    """
    data = b""

    while len(data) <= SIZE_LIMIT and not os.isatty(fd):
        seconds_left = deadline - time.monotonic()
        if seconds_left <= 0 or not select.select([fd], [], [], seconds_left)[0]:
            break

        piece = os.read(fd, _PIECE)
        if not piece:
            break

        data += piece
        if data.rstrip().endswith(b"}"):
            # Until the object is whole, the bracket is an inner one.
            with contextlib.suppress(ValueError, RecursionError):
                json.loads(data)
                break

    return data
