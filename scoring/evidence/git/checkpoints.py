"""Checkpoints in git: what a tool that records agents (Entire) wrote down beside a commit, on a branch of its own.

``docs/EVIDENCE.md``, "Checkpoints in git", has the layout. The branch is read from git's objects, in a few batches,
whatever the number of checkpoints; nothing is checked out and nothing fetched. What its files say is somebody's data:
whatever is not of the type or the size that it should be is as if it were not there.
"""

import re
from typing import NamedTuple

BRANCH = "entire/checkpoints/v1"

METADATA_LIMIT = 1 << 20
"""The largest metadata file, in bytes, that is read."""

ALL_METADATA_LIMIT = 256 << 20
"""How many bytes of metadata are read in all."""

MOST_CHECKPOINTS = 50_000
"""How many checkpoints of one branch are read, those with the lowest ids."""

MOST_BRANCHES = 16
"""How many branches of the name are read: the local one, origin's, and those of further remotes by name."""

COUNT_LIMIT = 1 << 40
"""The largest number that metadata may state."""

TEXT_LIMIT = 256
"""The longest text, in characters, that is taken from metadata; a path may be 16 times as long."""


class TokenTotals(NamedTuple):
    """The tokens that a checkpoint states for one session, and in how many responses of the model."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0
    responses: int = 0


class AttributedLines(NamedTuple):
    """Whose the lines of a commit are, as the tool counted them at the time; None where it does not say."""

    agent_lines: int | None = None
    human_added: int | None = None
    human_modified: int | None = None
    human_removed: int | None = None
    total_committed: int | None = None


class CheckpointSession(NamedTuple):
    """One session of a checkpoint.

    Attributes:
        session_id: its plain id, without the date that older ones begin with; "" where none is stated.
        agent: the name of the agent; it is shown and never believed. "" where none is stated.
        created_at: when this was written, as it is stated.
        tokens: the tokens that are stated; None without any.
        lines: whose lines were committed; None where it is not stated.
        start: how many lines (or messages) of the transcript are from before this checkpoint; None: not stated.
        path: where its transcript is on the branch (``ab/cdef012345/0/full.jsonl``), "" without one.
        blobs: the object ids of the transcript, in order; a long one is in several.
        size: the bytes of these that are there.
        missing: whether one of these is not in this clone.
    """

    session_id: str = ""
    agent: str = ""
    created_at: str = ""
    tokens: TokenTotals | None = None
    lines: AttributedLines | None = None
    start: int | None = None
    path: str = ""
    blobs: tuple[str, ...] = ()
    size: int = 0
    missing: bool = False


class Checkpoint(NamedTuple):
    """One checkpoint: ``id`` is 12 hex digits, ``sessions`` are in the order of their folders."""

    id: str
    files_touched: tuple[str, ...] = ()
    sessions: tuple[CheckpointSession, ...] = ()


def checkpoint_ids(message: str) -> tuple[str, ...]:
    """Return the ids of the checkpoints that a commit message names, each once, in their order.

    A line ``Entire-Checkpoint: <12 hex digits>`` may be anywhere, and indented: a squash merge keeps those of all the
    commits that went into it.
    """
    return tuple(dict.fromkeys(_NAMED.findall(message)))


_NAMED = re.compile(r"^[ \t]*Entire-Checkpoint:[ \t]*([0-9a-f]{12})[ \t]*\r?$", re.MULTILINE)
