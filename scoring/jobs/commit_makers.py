"""Which sessions made a commit: by its checkpoints, by the commits that transcripts show, by its co-authors."""

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from scoring.evidence.git.authorship import AttributedHistory, WrittenCommit
from scoring.evidence.rules import Sources
from scoring.evidence.transcripts.attributed import AttributedScan
from scoring.evidence.transcripts.facts import NS, timestamp_ns
from scoring.evidence.transcripts.makers import DAY
from scoring.evidence.transcripts.rows import key_of
from scoring.evidence.transcripts.streams import Made, Session
from scoring.evidence.transcripts.work_trees import Neighbourhood, same_remote
from scoring.text import trim

FoundBy = Literal["checkpoint", "commit", "trailer"]  # its checkpoints, a session that made it, its co-author lines


class MadeBy(NamedTuple):
    """What says that an agent made a commit, and the ids of the sessions that made it, that of the newest first."""

    found_by: FoundBy
    session_ids: tuple[str, ...]


Times = dict[str, dict[str, int]]  # by SHA or checkpoint: sessions, each with the time (ns) at which it named that last


def makers_of(
    commits: Mapping[str, WrittenCommit], scan: AttributedScan, history: AttributedHistory, sources: Sources
) -> dict[str, MadeBy]:
    """Return who made the commits that agents made, by their SHA."""
    remotes = frozenset(map(same_remote, history.remotes()))
    resolved: dict[str, str] = {}

    def neighbourhood(work_trees: Any, made: Collection[str]) -> Neighbourhood:
        resolved.update(history.resolved(made))
        return Neighbourhood(work_trees, sources.worktrees, remotes, resolved.__contains__)

    sessions = scan.sessions(neighbourhood)
    by_checkpoint, by_commit = _by_checkpoint(scan, sessions), Times()
    elsewhere = sorted({sha for sha in resolved.values() if sha not in commits})
    landed = {sha: names[-1] for sha, names in history.landed_as(dict(zip(elsewhere, elsewhere, strict=True))).items()}
    unknown: list[tuple[Session, Made]] = []
    for session in sessions:
        for made in session.made:
            if sha := resolved.get(made.sha):
                _note(by_commit, landed.get(sha, sha), _id_of(session), made.time)
            else:
                unknown.append((session, made))
    _by_subject(unknown, commits, by_commit)
    found = {}
    for sha, commit in commits.items():
        named: Times = {}
        for name in commit.checkpoints:
            for session_id, time in by_checkpoint.get(name, {}).items():
                _note(named, sha, session_id, time)
        times = {name: time for name, time in (named or by_commit).get(sha, {}).items() if name}
        makers = tuple(sorted(times, key=lambda name: (-times[name], name)))
        if commit.checkpoints:
            found[sha] = MadeBy("checkpoint", makers)
        elif sha in by_commit:
            found[sha] = MadeBy("commit", makers)
        elif commit.agents:
            found[sha] = MadeBy("trailer", makers)
    return found


def _by_checkpoint(scan: AttributedScan, sessions: Iterable[Session]) -> Times:
    stated, read = Times(), Times()
    for name, checkpoint in scan.checkpoints.items():
        for one in checkpoint.sessions:
            _note(stated, name, one.session_id, timestamp_ns(one.created_at) or 0)
    for session in sessions:
        for file in session.files:
            if file.checkpoint:
                _note(read, file.checkpoint, _id_of(session), file.order[0])
    return {name: stated.get(name, {}) | read.get(name, {}) for name in stated | read}


def _by_subject(
    unknown: Iterable[tuple[Session, Made]], commits: Mapping[str, WrittenCommit], by_commit: Times
) -> None:
    """Note one session's commit of the same subject, where history was rewritten and the SHA that it names is gone."""
    by_subject: dict[int, list[tuple[str, int]]] = {}
    for session, made in unknown:
        if any(any(file.here) for file in session.files):
            by_subject.setdefault(made.subject, []).append((_id_of(session), made.time))
    for sha, commit in commits.items() if by_subject else ():
        if commit.time is not None and sha not in by_commit:
            alike = by_subject.get(key_of(trim(commit.subject)), ())
            near = [(time, name) for name, time in alike if abs(time - commit.time * NS) <= DAY]
            if len({name for _, name in near}) == 1:
                by_commit[sha] = {near[0][1]: max(near)[0]}


def _note(times: Times, what: str, session_id: str, time: int) -> None:
    sessions = times.setdefault(what, {})
    sessions[session_id] = max(sessions.get(session_id, time), time)


def _id_of(session: Session) -> str:
    """Return the id of a session; "" where only its file is known."""
    name = session.key[1]
    return "" if any(name == os.fspath(file.transcript.path) for file in session.files) else name
