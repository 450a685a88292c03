"""Checkpoints in git, in the layout that docs/EVIDENCE.md describes."""

import json
from collections.abc import Mapping
from typing import Any

from helpers.repos import START, Repo

BRANCH = "refs/heads/entire/checkpoints/v1"
REMOTE = "refs/remotes/origin/entire/checkpoints/v1"

Files = Mapping[str, bytes | dict[str, Any]]
"""The files of one checkpoint, by their path below it; what is no bytes is written as JSON."""


def name(number: int) -> str:
    """The id of a checkpoint; neighbors are in different folders."""
    return f"{number * 37 % 256:02x}{number:010x}"


def about(session: str = "s1", **keys: Any) -> dict[str, Any]:
    """Return the metadata of a session as current tools write it, without keys that are None."""
    said = {
        "cli_version": "v9",
        "session_id": session,
        "agent": "Claude Code",
        "created_at": "2026-04-12T10:00:00Z",
        "checkpoint_transcript_start": 0,
        "token_usage": usage(1, 2, 3, 4),
    } | keys
    return {key: value for key, value in said.items() if value is not None}


def usage(
    given: int, output: int, reads: int, creations: int, calls: int = 5
) -> dict[str, int]:
    return {
        "input_tokens": given,
        "output_tokens": output,
        "cache_read_tokens": reads,
        "cache_creation_tokens": creations,
        "api_call_count": calls,
    }


ULID = "01KXGTTNGCEACC83QZEJ5YAF0D"
REF = f"refs/entire/checkpoints/0D/{ULID}"


def record(repo: Repo, checkpoints: Mapping[str, Files], ref: str = BRANCH) -> str:
    """Put checkpoints, and nothing else, on a branch, without a parent; return its tip.

    In a ref of its own a checkpoint is at the top: it has the name "" then.
    """
    stream = [
        f"commit {ref}\ncommitter C <c@example.org> {START} +0000\ndata 0\n".encode()
    ]
    for number, files in checkpoints.items():
        for path, content in files.items():
            data = (
                content if isinstance(content, bytes) else json.dumps(content).encode()
            )
            place = f"{number[:2]}/{number[2:]}/{path}" if number else path
            stream.append(
                f"M 100644 inline {place}\ndata {len(data)}\n".encode() + data + b"\n"
            )
    repo.git("fast-import", "--quiet", "--force", given=b"".join(stream))
    return repo.git("rev-parse", ref)
