"""Finds the commits that agents made: ``docs/LOG.md``, "A log where there is none".

A commit was made by an agent where its message names a checkpoint, where a transcript shows a
session making it, or where its message names an agent as co-author.
"""

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from scoring.evidence.attribution.attributed import AttributedScan
from scoring.evidence.attribution.makers import DAY, HeldCommit, amended, amends
from scoring.evidence.attribution.work_trees import Neighbourhood
from scoring.evidence.attribution.written import is_inside
from scoring.evidence.git.authorship import AttributedHistory, WrittenCommit
from scoring.evidence.rules import Sources
from scoring.evidence.transcripts.events import CommitMade, Edit, key_of
from scoring.evidence.transcripts.facts import NS, timestamp_ns
from scoring.evidence.transcripts.streams import File, Session, SessionCommit
from scoring.text import trim

_CHECKPOINT_FOLLOWS_WITHIN = 60 * NS
_CLOCKS_DIFFER_BY = NS

FoundBy = Literal["checkpoint", "commit", "trailer"]
"""What says that an agent made a commit: its checkpoints, a session, or its co-author lines."""

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
    """

    commits: dict[str, WrittenCommit]
    branches: Mapping[str, str]
    same: dict[str, str]
    makers: dict[str, MadeBy] = field(default_factory=dict)
    known_from: dict[str, str] = field(default_factory=dict)


class _LostCommit(NamedTuple):
    """A commit that a session made and git does not have under that name."""

    session: Session
    made: SessionCommit


@dataclass(slots=True)
class _SessionCommits:
    """The commits that sessions made.

    Attributes:
        by_session: all of them, by session.
        by_sha: those that git has or that became such, with the sessions that made them.
        times: when each session made such a commit.
        lost: the others.
    """

    by_session: dict[str, list[SessionCommit]] = field(default_factory=dict)
    by_sha: dict[str, list[tuple[str, SessionCommit]]] = field(default_factory=dict)
    times: SessionTimes = field(default_factory=dict)
    lost: list[_LostCommit] = field(default_factory=list)


def agent_commits(
    scan: AttributedScan,
    history: AttributedHistory,
    sources: Sources,
    named_in_log: Collection[str],
    landed_only: bool,
) -> AgentCommits:
    """Return the commits that agents made, on the trunk and off it.

    Args:
        scan: what transcripts and checkpoints show.
        history: what git knows.
        sources: where the evidence comes from.
        named_in_log: the SHAs of the commits that entries name.
        landed_only: whether to leave out commits off the trunk that are not tips of branches.
    """
    shas_shown: dict[str, str] = {}

    def neighbourhood(work_trees: Any, digits: Collection[str]) -> Neighbourhood:
        shas_shown.update(history.resolved(digits))
        return Neighbourhood(
            work_trees, sources.worktrees, history.remotes, shas_shown.__contains__
        )

    sessions = scan.sessions(neighbourhood)
    in_question = [*shas_shown.values(), *named_in_log]
    everything, agents = _commits_in_git(history, in_question, landed_only)

    checkpoint_times = _times_of_checkpoints(scan, sessions)
    made = _commits_of_sessions(sessions, shas_shown, agents.same)
    _find_amended(made, agents, checkpoint_times)
    _find_by_subject(made, agents)
    if not landed_only:
        _add_lost_commits(made, agents)
        _add_checkpoints(made, agents, scan, everything, shas_shown)

    for name, commit in agents.commits.items():
        maker = _maker_of(name, commit, checkpoint_times, made.times)
        if maker is not None:
            agents.makers[name] = maker
    return agents


def _commits_in_git(
    history: AttributedHistory, in_question: Sequence[str], landed_only: bool
) -> tuple[Collection[WrittenCommit], AgentCommits]:
    """Return the commits in git.

    Args:
        history: what git knows.
        in_question: the SHAs of commits that sessions made or entries name.
        landed_only: as for :func:`agent_commits`.

    Returns:
        All commits; and those that may get an entry: not a merge, and not one that became another.
    """
    branches = history.tips() if landed_only else history.branches_off_trunk
    trunk = dict.fromkeys(history.trunk_shas())
    off_trunk = [sha for sha in (*branches, *in_question) if sha not in trunk]
    everything = history.written((*trunk, *off_trunk))

    rewritten = history.rewritten(in_question)
    shown = {*in_question, *rewritten.values()}
    landings = history.landings(
        sha
        for sha, commit in everything.items()
        if sha not in trunk and (commit.checkpoints or commit.agents or sha in shown)
    )

    same: dict[str, str] = {}
    for sha, landing in landings.items():
        same[sha] = landing.commit or landing.part_of or rewritten.get(sha, sha)

    commits: dict[str, WrittenCommit] = {}
    for sha, commit in everything.items():
        is_merge = len(commit.parents) > 1
        became_another = same.get(sha, sha) != sha
        if is_merge or became_another:
            continue

        if sha not in trunk:
            if sha not in landings:
                continue
            if landed_only and (landings[sha].landed or sha not in branches):
                continue
        commits[sha] = commit

    for sha, became in same.items():
        if became != sha and became in commits:
            commits[became] = _with_trailers_of(commits[became], everything[sha])

    return everything.values(), AgentCommits(commits, branches, same)


def _with_trailers_of(commit: WrittenCommit, former: WrittenCommit) -> WrittenCommit:
    """Return a commit with the checkpoints and agents of a former one, if it names none itself."""
    return commit._replace(
        checkpoints=commit.checkpoints or former.checkpoints,
        agents=commit.agents or former.agents,
    )


def _commits_of_sessions(
    sessions: Iterable[Session], shas_shown: Mapping[str, str], same: Mapping[str, str]
) -> _SessionCommits:
    """Return the commits that sessions made, apart by whether git has them.

    Args:
        sessions: the sessions.
        shas_shown: the SHAs of the digits that git knows.
        same: what a commit became.
    """
    commits = _SessionCommits()

    for session in sessions:
        session_id = _id_of(session)
        commits.by_session.setdefault(session_id, []).extend(session.made)

        for made in session.made:
            sha = shas_shown.get(made.sha)
            if sha:
                became = same.get(sha, sha)
                _note(commits.times, became, session_id, made.time)
                commits.by_sha.setdefault(became, []).append((session_id, made))
            elif made.sha not in session.elsewhere:
                commits.lost.append(_LostCommit(session, made))

    return commits


def _find_amended(
    made: _SessionCommits, agents: AgentCommits, checkpoint_times: SessionTimes
) -> None:
    """Note which lost commits were amended or rebased to one that git has."""
    in_git: dict[str, HeldCommit] = {}
    for sha, commit in agents.commits.items():
        if commit.time is None:
            continue
        listed: set[str] = set()
        for checkpoint in commit.checkpoints:
            listed.update(checkpoint_times.get(checkpoint, ()))
        in_git[sha] = HeldCommit(commit.time * NS, listed, made.by_sha.get(sha, ()))

    lost = {commit.made for commit in made.lost}
    for lost_commit, sha in amended(made.by_session, lost, in_git).items():
        agents.same[lost_commit.sha] = sha
    made.lost = [commit for commit in made.lost if commit.made.sha not in agents.same]


def _find_by_subject(made: _SessionCommits, agents: AgentCommits) -> None:
    """Note which lost commits are one of the same subject that git has.

    That is so where one session alone made a commit of the subject within a day.
    """
    by_subject: dict[int, list[tuple[str, SessionCommit]]] = {}
    for session, lost in made.lost:
        if any(any(file.here) for file in session.files):
            by_subject.setdefault(lost.subject, []).append((_id_of(session), lost))
    if not by_subject:
        return

    for sha, commit in agents.commits.items():
        if commit.time is None:
            continue

        near: list[tuple[str, SessionCommit]] = []
        for session_id, lost in by_subject.get(key_of(trim(commit.subject)), ()):
            if abs(lost.time - commit.time * NS) <= DAY:
                near.append((session_id, lost))

        session_ids = {session_id for session_id, _ in near}
        if len(session_ids | made.times.get(sha, {}).keys()) != 1:
            continue

        for _, lost in near:
            agents.same[lost.sha] = sha
        if sha not in made.times:
            made.times[sha] = {near[0][0]: max(lost.time for _, lost in near)}


def _add_lost_commits(made: _SessionCommits, agents: AgentCommits) -> None:
    """Add the commits that only transcripts show, each once: of several attempts the last."""
    all_lost = {commit.made for commit in made.lost}
    amended_to: dict[str, str] = {}
    for commit, former in amends(made.by_session, all_lost).items():
        amended_to[former.sha] = commit.sha

    last_of_subject: dict[tuple[str, int], SessionCommit] = {}
    for session, lost in sorted(made.lost, key=lambda commit: commit.made.time, reverse=True):
        if lost.sha in agents.same or not _edited_before(session, lost):
            continue

        session_id = _id_of(session)
        attempt = (session_id, lost.subject)
        last = last_of_subject.get(attempt)
        if lost.subject and last is not None and last.time - lost.time <= DAY:
            agents.same[lost.sha] = last.sha
            continue
        if amended_to.get(lost.sha) in agents.known_from:
            agents.same[lost.sha] = amended_to[lost.sha]
            continue

        last_of_subject[attempt] = lost
        agents.commits.setdefault(lost.sha, _unseen_commit(lost.sha, lost.time))
        agents.known_from[lost.sha] = "transcript"
        _note(made.times, lost.sha, session_id, lost.time)


def _edited_before(session: Session, made: SessionCommit) -> bool:
    """Tell whether a session edited a file of this repository since its commit before this one."""
    return any(_edited_in_file(file, made) for file in session.files)


def _edited_in_file(file: File, made: SessionCommit) -> bool:
    if made.line not in file.ids:
        return False
    index = file.ids.index(made.line)
    if not file.here[index]:
        return False

    line = file.numbers[index]
    last_commit = -1
    for commit in file.events.of(CommitMade):
        if commit.line < line:
            last_commit = max(last_commit, commit.line)

    last_edit = -1
    for edit in file.events.of(Edit):
        folder = file.events.spans[edit.span].cwd
        path = file.events.texts[edit.path]
        if edit.line < line and is_inside(folder, path, lambda _: False):
            last_edit = max(last_edit, edit.line)

    return last_edit > last_commit and bool(file.here[file.at(last_edit)])


def _add_checkpoints(
    made: _SessionCommits,
    agents: AgentCommits,
    scan: AttributedScan,
    everything: Iterable[WrittenCommit],
    shas_shown: Mapping[str, str],
) -> None:
    """Add the checkpoints that no commit names, unless a session committed just before."""
    named: set[str] = set()
    for commit in everything:
        named.update(commit.checkpoints)

    for name, checkpoint in scan.checkpoints.items():
        stored: list[tuple[int, str]] = []
        for listed in checkpoint.sessions:
            time = timestamp_ns(listed.created_at)
            if time:
                stored.append((time, listed.session_id))
        if name in named or not stored:
            continue

        commit_before = _commit_just_before(stored, made.by_session)
        sha = ""
        if commit_before is not None:
            sha = shas_shown.get(commit_before.sha, commit_before.sha)
        sha = agents.same.get(sha, sha)

        time, session_id = max(stored)
        if not sha:
            agents.commits[name] = _unseen_commit("", time, (name,))
        elif sha in agents.known_from and not agents.commits[sha].checkpoints:
            agents.commits[sha] = agents.commits[sha]._replace(checkpoints=(name,))
        else:
            agents.same[name] = sha
            continue
        agents.known_from[sha or name] = f"checkpoint {name}"
        _note(made.times, sha or name, session_id, time)


def _commit_just_before(
    stored: Iterable[tuple[int, str]], by_session: Mapping[str, Sequence[SessionCommit]]
) -> SessionCommit | None:
    """Return the commit that a session made just before it stored a checkpoint, the nearest one.

    Args:
        stored: when sessions stored the checkpoint, and their ids.
        by_session: the commits of each session.
    """
    near: list[tuple[int, SessionCommit]] = []
    for time, session_id in stored:
        for made in by_session.get(session_id, ()):
            distance = time - made.time
            if -_CLOCKS_DIFFER_BY <= distance <= _CHECKPOINT_FOLLOWS_WITHIN:
                near.append((distance, made))

    return min(near)[1] if near else None


def _unseen_commit(sha: str, time: int, checkpoints: tuple[str, ...] = ()) -> WrittenCommit:
    """Return a commit that git does not have, by the time (ns) of its evidence."""
    seconds = time // NS
    day = datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()
    return WrittenCommit(
        sha=sha,
        parents=(),
        time=seconds,
        date=day.isoformat(),
        subject="",
        checkpoints=checkpoints,
    )


def _maker_of(
    name: str,
    commit: WrittenCommit,
    checkpoint_times: SessionTimes,
    commit_times: SessionTimes,
) -> MadeBy | None:
    """Return who made a commit, or None where nothing says that an agent did."""
    found_by: FoundBy
    if commit.checkpoints:
        found_by = "checkpoint"
    elif name in commit_times:
        found_by = "commit"
    elif commit.agents:
        found_by = "trailer"
    else:
        return None

    times: dict[str, int] = {}
    for checkpoint in commit.checkpoints:
        for session_id, time in checkpoint_times.get(checkpoint, {}).items():
            times[session_id] = max(times.get(session_id, time), time)
    if not times:
        times = commit_times.get(name, {})

    session_ids = [session_id for session_id in times if session_id]
    session_ids.sort(key=lambda session_id: (-times[session_id], session_id))
    return MadeBy(found_by, tuple(session_ids))


def _times_of_checkpoints(scan: AttributedScan, sessions: Iterable[Session]) -> SessionTimes:
    """Return when each session last named a checkpoint: by its transcript, or by its metadata."""
    stated: SessionTimes = {}
    for name, checkpoint in scan.checkpoints.items():
        for listed in checkpoint.sessions:
            _note(stated, name, listed.session_id, timestamp_ns(listed.created_at) or 0)

    shown: SessionTimes = {}
    for session in sessions:
        for file in session.files:
            if file.checkpoint:
                _note(shown, file.checkpoint, _id_of(session), file.order[0])

    return {name: stated.get(name, {}) | shown.get(name, {}) for name in stated | shown}


def authors_of(agents: AgentCommits, history: AttributedHistory) -> dict[str, set[str]]:
    """Return the names and addresses of the authors of agents' commits, folded for comparison.

    The author of a commit that git does not have is that of its session's other commits, or else
    the user of the files that show it.
    """
    in_git = [name for name in agents.makers if name not in agents.known_from]
    authors = {name: _folded(author) for name, author in history.authors(in_git).items()}

    author_of_session: dict[str, set[str]] = {}
    for name, author in authors.items():
        for session_id in agents.makers[name].session_ids:
            author_of_session.setdefault(session_id, author)

    user = _folded(history.callers_names())
    for name, known_from in agents.known_from.items():
        author = user if known_from == "transcript" else set()
        for session_id in agents.makers[name].session_ids:
            if session_id in author_of_session:
                author = author_of_session[session_id] or author
                break
        authors[name] = author

    return authors


def _folded(names: Iterable[str]) -> set[str]:
    return {name.casefold() for name in names if name}


def _note(times: SessionTimes, name: str, session_id: str, time: int) -> None:
    """Note the time at which a session named a commit or checkpoint, if it is the last one."""
    sessions = times.setdefault(name, {})
    sessions[session_id] = max(sessions.get(session_id, time), time)


def _id_of(session: Session) -> str:
    """Return the id of a session, or "" where only the name of its file is known."""
    session_id = session.key[1]
    if any(session_id == file.transcript.name for file in session.files):
        return ""
    return session_id
