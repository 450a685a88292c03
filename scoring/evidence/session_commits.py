"""The commits that agents made, and what became of those of sessions that git does not have."""

import datetime
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from scoring.text import trim

from .attribution.commits_by_lines import commits_of_unnamed
from .attribution.iteration_shares import DAY
from .git.authorship import AttributedHistory
from .git.checkpoints import Checkpoint
from .git.commit_history import WrittenCommit
from .transcripts.events import (
    Edit,
    FileRemoved,
    PossibleEdit,
    UnseenEdit,
    key_of,
)
from .transcripts.facts import NS, timestamp_ns
from .transcripts.streams import File, Session, SessionCommit

_CHECKPOINT_FOLLOWS_WITHIN = 60 * NS
_CLOCKS_DIFFER_BY = NS


FoundBy = Literal["checkpoint", "commit", "trailer", "author", "assisted"]
"""What says that an agent made a commit.

In this order: the checkpoints of the commit, a session, its co-author lines, its author or
committer, lines in its message that say that an agent assisted.
"""

SessionTimes: TypeAlias = dict[str, dict[str, int]]
"""By the name of a commit or checkpoint, and then by session id: when the session last named it.

Times are nanoseconds since 1970.
"""


class MadeBy(NamedTuple):
    """Who made a commit.

    Attributes:
        found_by: what says that an agent made the commit.
        session_ids: the ids of the sessions that made the commit, the most likely first; empty
            where no session is known.
    """

    found_by: FoundBy
    session_ids: tuple[str, ...]


@dataclass(frozen=True)
class WorkOfAgents:
    """What shows which commits agents made.

    Attributes:
        sessions: all sessions.
        checkpoints: all checkpoints, by their ids.
        history: what git knows.
        shas_shown: the whole SHAs of the commits that sessions show and git has, by the digits that
            sessions show, and by the whole SHAs.
        trusted: whether only evidence counts that no author of a commit can choose.
    """

    sessions: Collection[Session]
    checkpoints: Mapping[str, Checkpoint]
    history: AttributedHistory
    shas_shown: Mapping[str, str]
    trusted: bool

    @cached_property
    def unnamed(self) -> Mapping[str, str]:
        """The SHAs of the commits of checkpoints that no message names, by checkpoint id.

        Empty where only trusted evidence counts.
        """
        if self.trusted:
            return {}
        return commits_of_unnamed(self.checkpoints, self.sessions, self.history)


MadeBySession: TypeAlias = tuple[str, SessionCommit]
"""The id of a session, and a commit that it made."""


class LostCommit(NamedTuple):
    """A commit that a session made and that git does not have, or has on no branch any more.

    Attributes:
        session: the session.
        made: the commit, as the session shows it.
    """

    session: Session
    made: SessionCommit


@dataclass(slots=True)
class AgentCommits:
    """The commits that agents made.

    Each commit has a name: its SHA; or for a commit that git does not have the digits that a
    transcript shows, or else the id of its checkpoint.

    Attributes:
        commits: the commits by name, those of agents among others.
        branches: by the SHA of a commit off the trunk, the branch that has it.
        same: by a name that a commit has or had, or the id of its checkpoint, the name of the
            commit in ``commits``.
        dangling: the SHAs of commits that git has and that no branch has any more.
        checkpoints: the ids of the checkpoints that messages in git name.
        makers: by name, who made a commit of an agent.
        known_from: by the name of a commit that git does not have, the only evidence of it:
            "transcript", or "checkpoint" and the id.
        by_session: by session id, the commits that sessions made; those without an id are at "".
        by_sha: by the SHA of a commit that git has, what sessions made that is it or became it.
        times: by the name of a commit, when each session made it last.
        lost: what sessions made here that git does not have, or has on no branch any more.
    """

    commits: dict[str, WrittenCommit]
    branches: Mapping[str, str]
    same: dict[str, str]
    dangling: Collection[str]
    checkpoints: Collection[str]
    makers: dict[str, MadeBy] = field(default_factory=dict)
    known_from: dict[str, str] = field(default_factory=dict)
    by_session: dict[str, list[SessionCommit]] = field(default_factory=dict)
    by_sha: dict[str, list[MadeBySession]] = field(default_factory=dict)
    times: SessionTimes = field(default_factory=dict)
    lost: list[LostCommit] = field(default_factory=list)


def note_time(times: SessionTimes, name: str, session_id: str, time: int) -> None:
    """Note when a session named a commit or checkpoint, unless a later time is noted already.

    Args:
        times: where the time is noted.
        name: the name of the commit, or the id of the checkpoint.
        session_id: the id of the session.
        time: the time in ns since 1970.
    """
    sessions = times.setdefault(name, {})
    sessions[session_id] = max(sessions.get(session_id, time), time)


def id_of_session(session: Session) -> str:
    """Return the id of a session, or "" where the id is only the name of one of its files."""
    session_id = session.key[1]
    if any(session_id == file.transcript.name for file in session.files):
        return ""
    return session_id


def add_commits_of_sessions(agents: AgentCommits, work: WorkOfAgents) -> None:
    """Fill in ``by_session``, ``by_sha``, ``times`` and ``lost`` from what sessions made.

    A commit that is known to belong to another repository does not count as lost.
    """
    for session in work.sessions:
        session_id = id_of_session(session)
        agents.by_session.setdefault(session_id, []).extend(session.made)

        for made in session.made:
            sha = work.shas_shown.get(made.sha)
            if sha:
                became = agents.same.get(sha, sha)
                note_time(agents.times, became, session_id, made.time)
                agents.by_sha.setdefault(became, []).append((session_id, made))

            is_unknown = not sha and made.sha not in session.elsewhere
            if is_unknown or sha in agents.dangling:
                agents.lost.append(LostCommit(session, made))


class _HeldCommit(NamedTuple):
    """A commit that git has on a branch.

    Attributes:
        authored: the author time in ns since 1970, at the beginning of its second.
        subject: the key of its subject.
        listed: the ids of the sessions in the commit's checkpoints.
        shown: for each line that shows the commit, the id of the session and what the line shows.
    """

    authored: int
    subject: int
    listed: Collection[str]
    shown: Collection[MadeBySession]

    def may_be(self, session_id: str, lost: SessionCommit) -> bool:
        """Return whether a lost commit of a session can be what became this one.

        It can where all of these hold:

        - the author time of this one is in the call that made the lost one;
        - the session shows this one, or is in its checkpoints, or the subject is the same;
        - no other line shows this one in a call at its author time; the session itself may have
            amended it then.
        """
        if not self._is_at(lost):
            return False
        is_own = session_id in self.listed or self.subject == lost.subject
        for other_id, shown in self.shown:
            is_session = other_id == session_id
            if self._is_at(shown) and not (is_session and shown.amends):
                return False
            is_own = is_own or is_session
        return is_own

    def _is_at(self, made: SessionCommit) -> bool:
        """Return whether the author time is between a command and its result, both included."""
        # git has whole seconds
        return made.begun - made.begun % NS <= self.authored <= made.time


def find_amended(
    agents: AgentCommits,
    checkpoints: Mapping[str, Checkpoint],
    checkpoint_times: SessionTimes,
) -> None:
    """Note in ``same`` which lost commits were amended or rebased to one that git has.

    Only what is certain is noted. An amendment may change anything but the author time, which is
    between the command that made the commit and its result. Else the message of what the commit
    became names the checkpoint that the session stored in that time.
    """
    held: dict[str, _HeldCommit] = {}
    sha_of: dict[SessionCommit, str] = {}
    for sha, commit in agents.commits.items():
        if commit.time is None or sha in agents.dangling:
            continue
        listed: set[str] = set()
        for checkpoint in commit.checkpoints:
            listed.update(checkpoint_times.get(checkpoint, ()))
        shown = agents.by_sha.get(sha, ())
        subject = key_of(trim(commit.subject))
        held[sha] = _HeldCommit(commit.time * NS, subject, listed, shown)
        for _, made in shown:
            sha_of.setdefault(made, sha)

    lost = {commit.made for commit in agents.lost}
    became = _held_as(agents.by_session, lost, held)
    became |= _naming_checkpoint_of(agents, checkpoints, lost - set(became))
    for amendment, former in _amendments(agents).items():
        if former in became and amendment in lost:
            became[amendment] = became[former]
        elif amendment in sha_of and amendment.folder == former.folder:
            became.setdefault(former, sha_of[amendment])
    for lost_commit, sha in became.items():
        agents.same[lost_commit.sha] = sha

    for session, lost_commit in agents.lost:
        sha = became.get(lost_commit, "")
        if sha in held and sha not in agents.times and not held[sha].listed:
            session_id = id_of_session(session)
            agents.times[sha] = {session_id: lost_commit.time}


def _naming_checkpoint_of(
    agents: AgentCommits,
    checkpoints: Mapping[str, Checkpoint],
    lost: Collection[SessionCommit],
) -> dict[SessionCommit, str]:
    """Return by lost commit the SHA of the one commit that names its checkpoint.

    A hook stores the checkpoint of a commit while the command that makes it runs. So the checkpoint
    of a commit is the one that its session stored in that time, if the command made no other. What
    the commit became was not committed before.
    """
    naming = defaultdict[str, list[WrittenCommit]](list)
    for sha, commit in agents.commits.items():
        for name in commit.checkpoints if sha not in agents.dangling else ():
            naming[name].append(commit)

    sha_of = {}
    for name, commits in naming.items():
        for listed in checkpoints[name].sessions if name in checkpoints else ():
            stored = timestamp_ns(listed.created_at) or 0
            during = [
                made
                for made in agents.by_session.get(listed.session_id, ())
                if made.begun <= stored <= made.time
            ]
            if len(commits) == len(during) == 1 and during[0] in lost:
                if (commits[0].committed or 0) >= during[0].begun // NS:
                    sha_of[during[0]] = commits[0].sha
    return sha_of


def _held_as(
    by_session: Mapping[str, Sequence[SessionCommit]],
    lost: Collection[SessionCommit],
    held: Mapping[str, _HeldCommit],
) -> dict[SessionCommit, str]:
    """Return by lost commit the SHA that git has for it now, where only these two fit each other.

    Args:
        by_session: the commits of sessions, by the sessions' ids.
        lost: the commits that git does not have, or that no branch has.
        held: the commits that git has on branches, by their SHAs.
    """
    by_time = sorted((commit.authored, sha) for sha, commit in held.items())
    became: dict[SessionCommit, str] = {}
    for session_id, commits in by_session.items():
        for commit in commits:
            if commit not in lost or commit.amends:
                continue
            first = bisect_left(by_time, (commit.begun - NS,))
            end = bisect_left(by_time, (commit.time + 1,))
            shas = [
                sha
                for _, sha in by_time[first:end]
                if held[sha].may_be(session_id, commit)
            ]
            if len(shas) == 1:
                became[commit] = shas[0]

    counts = Counter(became.values())
    return {commit: sha for commit, sha in became.items() if counts[sha] == 1}


def _amendments(agents: AgentCommits) -> dict[SessionCommit, SessionCommit]:
    """Return each commit that amends a lost one, with the lost one: that before in its session."""
    lost = {commit.made for commit in agents.lost}
    amendments = {}
    for commits in agents.by_session.values():
        for former, commit in pairwise(sorted(commits)):
            if commit.amends and former in lost:
                amendments[commit] = former
    return amendments


def find_by_subject(agents: AgentCommits) -> None:
    """Note in ``same`` which lost commits are a commit of the same subject that git has.

    That is so where one session alone made such commits within a day of the author time: the lost
    ones and the commit that git has. Only sessions with work here count.
    """
    lost_by_subject = defaultdict[int, list[MadeBySession]](list)
    for session, lost in agents.lost:
        worked_here = any(any(file.here) for file in session.files)
        if worked_here and lost.sha not in agents.same:
            lost_by_subject[lost.subject].append((id_of_session(session), lost))
    if not lost_by_subject:
        return

    for sha, commit in agents.commits.items():
        if commit.time is None or sha in agents.dangling:
            continue

        authored = commit.time * NS
        near = []
        session_ids = set(agents.times.get(sha, ()))
        for session_id, lost in lost_by_subject[key_of(trim(commit.subject))]:
            if abs(lost.time - authored) <= DAY:
                near.append(lost)
                session_ids.add(session_id)
        if len(session_ids) != 1:
            continue

        for lost in near:
            agents.same[lost.sha] = sha
        if sha not in agents.times:
            times = [lost.time for lost in near]
            agents.times[sha] = {session_ids.pop(): max(times)}


def drop_rewritten(agents: AgentCommits, shas_shown: Mapping[str, str]) -> None:
    """Replace commits that no branch has any more by what they became, where that is known.

    Whether or not it is known, they are not lost any more, because git has them.
    """
    for lost in agents.lost:
        sha = shas_shown.get(lost.made.sha)
        became = agents.same.get(lost.made.sha)
        if sha and became and became != sha:
            agents.same[sha] = became
            agents.commits.pop(sha, None)
            for session_id, time in agents.times.pop(sha, {}).items():
                note_time(agents.times, became, session_id, time)
    agents.lost = [lost for lost in agents.lost if lost.made.sha not in shas_shown]


def add_lost_commits(agents: AgentCommits) -> None:
    """Add the commits that only transcripts show, if files here were edited for them.

    Of several attempts of a session at one subject, each at most a day before the last, only the
    last counts. Of a commit and its amendment only the amendment counts.
    """
    amended_to = {}
    for amendment, former in _amendments(agents).items():
        amended_to[former.sha] = amendment.sha

    last_of_subject: dict[tuple[str, int], SessionCommit] = {}
    newest_first = sorted(
        agents.lost, key=lambda commit: commit.made.time, reverse=True
    )
    for session, lost in newest_first:
        if lost.sha in agents.same or not _edited_before(session, lost):
            continue

        session_id = id_of_session(session)
        attempt = (session_id, lost.subject)
        last = last_of_subject.get(attempt)
        if lost.subject and last and last.time - lost.time <= DAY:
            agents.same[lost.sha] = last.sha
            continue
        if amended_to.get(lost.sha) in agents.known_from:
            agents.same[lost.sha] = amended_to[lost.sha]
            continue

        last_of_subject[attempt] = lost
        agents.commits.setdefault(lost.sha, _unseen_commit(lost.sha, lost.time))
        agents.known_from[lost.sha] = "transcript"
        note_time(agents.times, lost.sha, session_id, lost.time)


def _edited_before(session: Session, made: SessionCommit) -> bool:
    """Return whether a session edited a file here between the commit before and this one.

    The time of the commit before does not count, that of this one does.
    """
    times = [commit.time for commit in session.made if commit.time < made.time]
    commit_before = max(times, default=0)
    edits: list[tuple[File, int, Edit | FileRemoved]] = []
    edits += session.events(Edit)
    edits += session.events(FileRemoved)
    for file, index, edit in edits:
        is_between = commit_before < file.times[index] <= made.time
        written = file.written_file(edit)
        if is_between and file.here[index] and written.is_inside(lambda _: False):
            return True
    return False


def _idle_checkpoints(work: WorkOfAgents) -> set[str]:
    """Return the ids of checkpoints for which sessions edited nothing, as for a question.

    Only those count of which a transcript was read.
    """
    read = set()
    edited = set()
    for session in work.sessions:
        for file in session.files:
            read.add(file.checkpoint)
            start = file.start or 0
            for kind in (Edit, PossibleEdit, UnseenEdit):
                if any(event.line >= start for event in file.events.of(kind)):
                    edited.add(file.checkpoint)
    checkpoints = work.checkpoints
    return {
        name for name in read - edited - {""} if not checkpoints[name].files_touched
    }


def add_checkpoints(agents: AgentCommits, work: WorkOfAgents) -> None:
    """Add the checkpoints that no message names: to the commit that each became, or as a commit.

    A checkpoint for which nothing was edited is left out, unless a session committed just before
    the checkpoint or it became a commit. One that does not state its time is left out too.
    """
    idle = _idle_checkpoints(work)
    for name, checkpoint in work.checkpoints.items():
        stored = []
        for listed in checkpoint.sessions:
            time = timestamp_ns(listed.created_at)
            if time:
                stored.append((time, listed.session_id))
        if name in agents.checkpoints or not stored:
            continue
        if name in work.unnamed:
            sha = work.unnamed[name]
            sha = agents.same.get(sha, sha)
            agents.same[name] = sha
            if sha in agents.commits:
                commit = agents.commits[sha]
                agents.commits[sha] = commit._replace(
                    checkpoints=(*commit.checkpoints, name)
                )
            continue

        sha = ""
        commit_before = _commit_just_before(stored, agents.by_session)
        if commit_before:
            sha = work.shas_shown.get(commit_before.sha, commit_before.sha)
        sha = agents.same.get(sha, sha)

        time, session_id = max(stored)
        if not sha and name in idle:
            continue
        if not sha:
            agents.commits[name] = _unseen_commit("", time, (name,))
        elif sha in agents.known_from and not agents.commits[sha].checkpoints:
            commit = agents.commits[sha]
            agents.commits[sha] = commit._replace(checkpoints=(name,))
        else:
            agents.same[name] = sha
            continue

        agents.known_from[sha or name] = f"checkpoint {name}"
        note_time(agents.times, sha or name, session_id, time)


def _commit_just_before(
    stored: Iterable[tuple[int, str]], by_session: Mapping[str, Sequence[SessionCommit]]
) -> SessionCommit | None:
    """Return the nearest commit that a session made just before it stored a checkpoint, or None.

    "Just before" is up to a minute before, or up to a second after because clocks differ. A command
    that goes on after its one commit, as by a push, may also end after the checkpoint.

    Args:
        stored: when sessions stored the checkpoint, in ns since 1970, and their ids.
        by_session: the commits of each session, by its id.
    """
    near = []
    for time, session_id in stored:
        commits = by_session.get(session_id, ())
        begun = Counter(made.begun for made in commits)
        for made in commits:
            distance = time - made.time
            goes_on = begun[made.begun] == 1 and made.begun <= time < made.time
            if goes_on or -_CLOCKS_DIFFER_BY <= distance <= _CHECKPOINT_FOLLOWS_WITHIN:
                near.append((distance, made))

    return min(near)[1] if near else None


def _unseen_commit(
    sha: str, time: int, checkpoints: tuple[str, ...] = ()
) -> WrittenCommit:
    """Return a commit that git does not have, with the time of its evidence, in ns since 1970."""
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
