"""Which commits agents made: by checkpoints, by the commits that transcripts show, by co-authors (``docs/LOG.md``)."""

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from scoring.evidence.attribution.attributed import AttributedScan
from scoring.evidence.attribution.makers import DAY, HeldCommit, amended, amends
from scoring.evidence.attribution.work_trees import Neighbourhood
from scoring.evidence.attribution.written import is_inside
from scoring.evidence.git.authorship import AttributedHistory, WrittenCommit
from scoring.evidence.rules import Sources
from scoring.evidence.transcripts.events import CommitMade, Edit, key_of
from scoring.evidence.transcripts.facts import NS, timestamp_ns
from scoring.evidence.transcripts.streams import Session, SessionCommit
from scoring.text import trim

_A_MINUTE = 60 * NS  # in which a checkpoint is stored behind its commit

FoundBy = Literal[
    "checkpoint", "commit", "trailer"
]  # its checkpoints, a session that made it, its co-author lines


class MadeBy(NamedTuple):
    """What says that an agent made a commit, and the ids of the sessions that made it, that of the newest first."""

    found_by: FoundBy
    session_ids: tuple[str, ...]


Times = dict[
    str, dict[str, int]
]  # by SHA or checkpoint: sessions, each with the time (ns) at which it named that last


class AgentCommits(NamedTuple):
    """The commits that agents made by SHA, or what shows a lost one; ``same`` has their former names."""

    commits: dict[str, WrittenCommit]
    makers: dict[str, MadeBy]
    branches: Mapping[str, str]
    known_from: dict[str, str]
    same: dict[str, str]


def agent_commits(
    scan: AttributedScan,
    history: AttributedHistory,
    sources: Sources,
    looked_at: Collection[str],
    landed_only: bool,
) -> AgentCommits:
    """Return the commits that agents made, of the trunk and off it; ``landed_only`` takes only tips there."""
    resolved: dict[str, str] = {}

    def neighbourhood(work_trees: Any, made: Collection[str]) -> Neighbourhood:
        resolved.update(history.resolved(made))
        return Neighbourhood(work_trees, sources.worktrees, history.remotes, resolved.__contains__)

    sessions = scan.sessions(neighbourhood)
    branches = history.tips() if landed_only else history.branches_off_trunk
    trunk = dict.fromkeys(history.trunk_shas())
    off = (sha for sha in (*branches, *resolved.values(), *looked_at) if sha not in trunk)
    everything = history.written((*trunk, *off))
    by_checkpoint, by_commit = _by_checkpoint(scan, sessions), Times()
    anew = history.rewritten([*resolved.values(), *looked_at])
    shown = {*resolved.values(), *looked_at, *anew.values()}
    landings = history.landings(
        sha
        for sha, commit in everything.items()
        if sha not in trunk and (commit.checkpoints or commit.agents or sha in shown)
    )
    same = {
        sha: landing.commit or landing.part_of or anew.get(sha, sha)
        for sha, landing in landings.items()
    }
    commits = {
        sha: commit
        for sha, commit in everything.items()
        if len(commit.parents) < 2
        and same.get(sha, sha) == sha
        and (
            sha in trunk
            or (
                sha in landings
                and not (landed_only and (landings[sha].landed or sha not in branches))
            )
        )
    }
    for sha, became in same.items():
        if became in commits and became != sha:
            one, own = everything[sha], commits[became]
            checkpoints = (
                own.checkpoints or one.checkpoints
            )  # those that it names itself say it all
            commits[became] = own._replace(checkpoints=checkpoints, agents=own.agents or one.agents)
    unknown: list[tuple[Session, SessionCommit]] = []
    made_in: dict[str, list[SessionCommit]] = {}
    shown_by: dict[str, list[tuple[str, SessionCommit]]] = {}
    for session in sessions:
        name = _id_of(session)
        made_in.setdefault(name, []).extend(session.made)
        for made in session.made:
            if known := resolved.get(made.sha):
                _note(by_commit, same.get(known, known), name, made.time)
                shown_by.setdefault(same.get(known, known), []).append((name, made))
            elif made.sha not in session.elsewhere:
                unknown.append((session, made))
    held = {
        sha: HeldCommit(one.time * NS, _listed(one, by_checkpoint), shown_by.get(sha, ()))
        for sha, one in commits.items()
        if one.time is not None
    }
    same |= {
        made.sha: sha for made, sha in amended(made_in, {made for _, made in unknown}, held).items()
    }
    unknown = [(session, made) for session, made in unknown if made.sha not in same]
    _by_subject(unknown, commits, by_commit, same)
    found = AgentCommits(commits, {}, branches, {}, same)
    if not landed_only:
        _add_unknown(found, unknown, made_in, by_commit)
        _add_checkpoints(found, scan, sessions, everything.values(), by_commit, resolved)
    for sha, commit in commits.items():
        named: Times = {}
        for name in commit.checkpoints:
            for session_id, time in by_checkpoint.get(name, {}).items():
                _note(named, sha, session_id, time)
        times = {name: time for name, time in (named or by_commit).get(sha, {}).items() if name}
        makers = tuple(sorted(times, key=lambda name: (-times[name], name)))
        if commit.checkpoints or sha in by_commit or commit.agents:
            how: FoundBy = (
                "checkpoint" if commit.checkpoints else "commit" if sha in by_commit else "trailer"
            )
            found.makers[sha] = MadeBy(how, makers)
    return found


def _listed(commit: WrittenCommit, by_checkpoint: Times) -> set[str]:
    return {name for one in commit.checkpoints for name in by_checkpoint.get(one, ())}


def _add_unknown(
    found: AgentCommits,
    unknown: Collection[tuple[Session, SessionCommit]],
    made_in: Mapping[str, Sequence[SessionCommit]],
    by_commit: Times,
) -> None:
    last: dict[tuple[str, int], SessionCommit] = {}
    later = {
        before.sha: made.sha
        for made, before in amends(made_in, {made for _, made in unknown}).items()
    }
    for session, made in sorted(unknown, key=lambda one: one[1].time, reverse=True):
        if made.sha in found.same or not _is_edited(session, made):
            continue
        key = _id_of(session), made.subject
        if made.subject and key in last and last[key].time - made.time <= DAY:
            found.same[made.sha] = last[key].sha
            continue
        if later.get(made.sha) in found.known_from:
            found.same[made.sha] = later[made.sha]
            continue
        last[key] = made
        found.commits.setdefault(made.sha, _unseen(made.sha, made.time))
        found.known_from[made.sha] = "transcript"
        _note(by_commit, made.sha, key[0], made.time)


def _is_edited(session: Session, made: SessionCommit) -> bool:
    for file in session.files:
        if made.line in file.ids and file.here[at := file.ids.index(made.line)]:
            number = file.numbers[at]
            commits = [event.line for event in file.events.of(CommitMade) if event.line < number]
            spans, texts = file.events.spans, file.events.texts
            edits = [
                event.line
                for event in file.events.of(Edit)
                if event.line < number
                and is_inside(spans[event.span].cwd, texts[event.path], lambda _: False)
            ]
            if edits and max(edits) > max(commits, default=-1) and file.here[file.at(max(edits))]:
                return True
    return False


def _unseen(sha: str, time: int, checkpoint: str = "") -> WrittenCommit:
    day = datetime.datetime.fromtimestamp(time // NS, datetime.UTC).date().isoformat()
    return WrittenCommit(sha, (), time // NS, day, "", (checkpoint,) if checkpoint else ())


def _add_checkpoints(
    found: AgentCommits,
    scan: AttributedScan,
    sessions: Iterable[Session],
    everything: Iterable[WrittenCommit],
    by_commit: Times,
    resolved: Mapping[str, str],
) -> None:
    named = {name for commit in everything for name in commit.checkpoints}
    made_by: dict[str, list[SessionCommit]] = {}
    for session in sessions:
        made_by.setdefault(_id_of(session), []).extend(session.made)
    for name, checkpoint in scan.checkpoints.items():
        times = [
            (time, one.session_id)
            for one in checkpoint.sessions
            if (time := timestamp_ns(one.created_at))
        ]
        if name in named or not times:
            continue
        near = [(time - made.time, made) for time, who in times for made in made_by.get(who, ())]
        made = min((one for one in near if -NS <= one[0] <= _A_MINUTE), default=None)
        sha = resolved.get(made[1].sha, made[1].sha) if made else ""
        sha = found.same.get(sha, sha)
        time, session_id = max(times)
        if not sha:
            found.commits[name] = _unseen("", time, name)
        elif sha in found.known_from and not found.commits[sha].checkpoints:
            found.commits[sha] = found.commits[sha]._replace(checkpoints=(name,))
        else:
            found.same[name] = sha
            continue
        found.known_from[sha or name] = f"checkpoint {name}"
        _note(by_commit, sha or name, session_id, time)


def authors_of(agents: AgentCommits, history: AttributedHistory) -> dict[str, set[str]]:
    """Return the names and addresses of the authors of commits, in small letters; of a lost one its session's."""
    known = history.authors(name for name in agents.makers if name not in agents.known_from)
    found = {name: {text.casefold() for text in author if text} for name, author in known.items()}
    of_session: dict[str, set[str]] = {}
    for name, author in found.items():
        for session_id in agents.makers[name].session_ids:
            of_session.setdefault(session_id, author)
    own = {text.casefold() for text in history.callers_names() if text}
    for name, known_from in agents.known_from.items():
        sessions = agents.makers[name].session_ids
        theirs = next((of_session[one] for one in sessions if one in of_session), None)
        found[name] = theirs or (own if known_from == "transcript" else set())
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
    unknown: Iterable[tuple[Session, SessionCommit]],
    commits: Mapping[str, WrittenCommit],
    by_commit: Times,
    same: dict[str, str],
) -> None:
    by_subject: dict[int, list[tuple[str, SessionCommit]]] = {}
    for session, made in unknown:
        if any(any(file.here) for file in session.files):
            by_subject.setdefault(made.subject, []).append((_id_of(session), made))
    for sha, commit in commits.items() if by_subject else ():
        if commit.time is not None:
            alike = by_subject.get(key_of(trim(commit.subject)), ())
            near = [
                (name, made) for name, made in alike if abs(made.time - commit.time * NS) <= DAY
            ]
            if len({name for name, _ in near} | by_commit.get(sha, {}).keys()) == 1:
                same |= {made.sha: sha for _, made in near}
                if sha not in by_commit:
                    by_commit[sha] = {near[0][0]: max(made.time for _, made in near)}


def _note(times: Times, what: str, session_id: str, time: int) -> None:
    sessions = times.setdefault(what, {})
    sessions[session_id] = max(sessions.get(session_id, time), time)


def _id_of(session: Session) -> str:
    name = session.key[1]
    return "" if any(name == file.transcript.name for file in session.files) else name
