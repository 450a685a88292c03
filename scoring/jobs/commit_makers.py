"""Which sessions made a commit: by its checkpoints, by the commits that transcripts show, by its co-authors."""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from scoring.evidence.git.authorship import AttributedHistory, WrittenCommit
from scoring.evidence.rules import Sources
from scoring.evidence.transcripts.attributed import AttributedScan
from scoring.evidence.transcripts.facts import NS, timestamp_ns
from scoring.evidence.transcripts.makers import DAY
from scoring.evidence.transcripts.neighbourhood import Neighbourhood, same_remote
from scoring.evidence.transcripts.rows import key_of
from scoring.evidence.transcripts.streams import Made, Session
from scoring.text import trim

FoundBy = Literal["checkpoint", "commit", "trailer"]
"""What says that an agent made a commit: its checkpoints, a session that made it, or its co-author lines."""


class MadeBy(NamedTuple):
    """What says that an agent made a commit, and the ids of the sessions that made it, that of the newest first."""

    found_by: FoundBy
    session_ids: tuple[str, ...]


@dataclass(slots=True)
class _Named:
    """The sessions that name one commit, each with the time (ns) at which it did last."""

    by_checkpoint: dict[str, int] = field(default_factory=dict)
    by_commit: dict[str, int] = field(default_factory=dict)


def makers_of(
    commits: Mapping[str, WrittenCommit], scan: AttributedScan, history: AttributedHistory, sources: Sources
) -> dict[str, MadeBy]:
    """Return who made the commits that agents made, by their SHA."""
    found = _named(commits, scan, history, sources)
    return {sha: makers for sha, commit in commits.items() if (makers := _makers(commit, found[sha]))}


def _makers(commit: WrittenCommit, named: _Named) -> MadeBy | None:
    times = {name: time for name, time in (named.by_checkpoint or named.by_commit).items() if name}
    sessions = tuple(sorted(times, key=lambda name: (-times[name], name)))
    if commit.checkpoints:
        return MadeBy("checkpoint", sessions)
    if named.by_commit:
        return MadeBy("commit", sessions)
    return MadeBy("trailer", sessions) if commit.agents else None


def _named(
    commits: Mapping[str, WrittenCommit], scan: AttributedScan, history: AttributedHistory, sources: Sources
) -> dict[str, _Named]:
    """Return which sessions name which commit, through its checkpoints, its SHA or its subject."""
    remotes = frozenset(map(same_remote, history.remotes()))
    resolved: dict[str, str] = {}

    def neighbourhood(work_trees: Any, made: Collection[str]) -> Neighbourhood:
        resolved.update(history.resolved(made))
        return Neighbourhood(work_trees, sources.worktrees, remotes, resolved.__contains__)

    sessions = scan.sessions(neighbourhood)
    found = {sha: _Named() for sha in commits}
    _by_checkpoint(scan, sessions, commits, found)
    elsewhere = sorted({sha for sha in resolved.values() if sha not in commits})
    landed = {sha: names[-1] for sha, names in history.landed_as(elsewhere).items()}
    unknown: list[tuple[Session, Made]] = []
    for session in sessions:
        for made in session.made:
            sha = resolved.get(made.sha)
            if sha is None:
                unknown.append((session, made))
            elif one := found.get(landed.get(sha, sha)):
                _note(one.by_commit, _id_of(session), made.time)
    _by_subject(unknown, commits, found)
    return found


def _by_checkpoint(
    scan: AttributedScan, sessions: Iterable[Session], commits: Mapping[str, WrittenCommit], found: Mapping[str, _Named]
) -> None:
    """Note the sessions of the checkpoints that commits name, with the time of the last line, else of the metadata."""
    stated: dict[str, dict[str, int]] = {}
    for name, checkpoint in scan.checkpoints.items():
        for one in checkpoint.sessions:
            _note(stated.setdefault(name, {}), one.session_id, timestamp_ns(one.created_at) or 0)
    read: dict[str, dict[str, int]] = {}
    for session in sessions:
        for file in session.files:
            if file.checkpoint:
                _note(read.setdefault(file.checkpoint, {}), _id_of(session), file.order[0])
    for sha, commit in commits.items():
        for name in commit.checkpoints:
            for session_id, time in (stated.get(name, {}) | read.get(name, {})).items():
                _note(found[sha].by_checkpoint, session_id, time)


def _by_subject(
    unknown: Iterable[tuple[Session, Made]], commits: Mapping[str, WrittenCommit], found: Mapping[str, _Named]
) -> None:
    """Note, for commits with a SHA that no session names, the one session here that made one of the same subject.

    The history was rewritten: the SHA that the session names is gone.
    """
    by_subject: dict[int, list[tuple[str, int]]] = {}
    for session, made in unknown:
        if any(any(file.here) for file in session.files):
            by_subject.setdefault(made.subject, []).append((_id_of(session), made.time))
    for sha, commit in commits.items() if by_subject else ():
        one = found[sha]
        if commit.time is None or one.by_commit:
            continue
        alike = by_subject.get(key_of(trim(commit.subject)), ())
        near = [(name, time) for name, time in alike if abs(time - commit.time * NS) <= DAY]
        if len({name for name, _ in near}) == 1:
            _note(one.by_commit, *max(near, key=lambda pair: pair[1]))


def _note(sessions: dict[str, int], name: str, time: int) -> None:
    sessions[name] = max(sessions.get(name, time), time)


def _id_of(session: Session) -> str:
    """Return the id of a session; "" where only its file is known."""
    name = session.key[1]
    return "" if any(name == os.fspath(file.transcript.path) for file in session.files) else name
