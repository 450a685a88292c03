"""The commits that agents made, and who made them: values that deriving a log passes on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from scoring.evidence.git.commit_history import WrittenCommit
from scoring.evidence.transcripts.streams import Session

FoundBy = Literal["checkpoint", "commit", "trailer", "author", "assisted"]
"""What says that an agent made a commit.

Its checkpoints, a session, its co-author lines, its author or committer, or lines that say that an
agent assisted.
"""

SessionTimes: TypeAlias = dict[str, dict[str, int]]
"""By commit or checkpoint: the sessions that name it, with the last time (ns) of each."""


class MadeBy(NamedTuple):
    """Who made a commit.

    Attributes:
        found_by: what says that an agent made it.
        session_ids: the sessions that made it, the newest first.
    """

    found_by: FoundBy
    session_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AgentCommits:
    """The commits that agents made.

    Each has a name: its SHA; for a commit that git does not have the digits that a transcript
    shows, or else its checkpoint.

    Attributes:
        commits: the commits by name, those of agents among others.
        branches: the branches with commits off the trunk, by the SHAs of these.
        same: what a commit became, by another name that it has or had.
        makers: who made each commit of an agent.
        known_from: the only evidence of a commit that git does not have.
        dangling: the SHAs of commits that git still has and that no branch has any more.
    """

    commits: dict[str, WrittenCommit]
    branches: Mapping[str, str]
    same: dict[str, str]
    makers: dict[str, MadeBy] = field(default_factory=dict)
    known_from: dict[str, str] = field(default_factory=dict)
    dangling: frozenset[str] = frozenset()


def note_time(
    times: SessionTimes,
    name: str,
    session_id: str,
    time: int,
) -> None:
    """Note the time at which a session named a commit or checkpoint, if it is the last one."""
    sessions = times.setdefault(name, {})
    sessions[session_id] = max(sessions.get(session_id, time), time)


def id_of_session(session: Session) -> str:
    """Return the id of a session, or "" where only the name of its file is known."""
    session_id = session.key[1]
    if any(session_id == file.transcript.name for file in session.files):
        return ""
    return session_id
