"""Commits that a command made and did not print: docs/EVIDENCE.md, "Attribution"."""

from collections.abc import Collection, Iterable, Sequence
from itertools import chain

from scoring.evidence.attribution.written import (
    LEAST_LINES,
    SAME_PATCH,
    WrittenFile,
    WrittenLines,
    least_share,
    lines_left_by_file,
)
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.commit_history import WrittenCommit
from scoring.evidence.git.walk import Commit
from scoring.evidence.transcripts.events import LinesWritten, key_of
from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.streams import (
    Session,
    SessionCommit,
    commits_shown,
    own_events,
)
from scoring.text import trim


def commits_in_git(
    sessions: Collection[Session], git: AttributedHistory, trusted: bool
) -> dict[str, str]:
    """Return the SHAs of the commits of sessions that git has, by the digits that these show.

    Args:
        sessions: the sessions, to which the commits are added that their commands did not print.
        git: what git knows.
        trusted: whether only commits count that a command printed.
    """
    if not trusted:
        add_quiet_commits(sessions, git)
    return git.resolved(commits_shown(sessions))


def add_quiet_commits(sessions: Iterable[Session], git: AttributedHistory) -> None:
    """Add to sessions the commits that their commands made and did not print.

    Such a commit has an author time between the call and its result, in whole seconds, and at
    least 0.9 of the lines that it adds, and three of them, are lines that the session wrote. Or
    the call, or the next command, shows its SHA, and it was committed in that time.
    """
    made: list[SessionCommit] = []
    quiet: list[tuple[Session, SessionCommit]] = []
    for session in sessions:
        made += session.made
        quiet += [(session, call) for call in session.quiet]
    if not quiet:
        return

    made += _add_shown(quiet, git)
    shown = {commit.sha[:7] for commit in made}
    unshown: dict[SessionCommit, list[str]] = {}  # the commits of the time of each call
    for _, call in quiet:
        authored = git.authored_between(call.begun // NS, call.time // NS)
        unshown[call] = [sha for sha in authored if sha[:7] not in shown]

    added = git.lines_added(set(chain.from_iterable(unshown.values())))
    for session, call in quiet:
        written: WrittenLines = {}
        for sha in unshown[call]:
            lines = added.get(sha, {})
            if sum(lines.values()) < LEAST_LINES:
                continue
            written = written or _written_until(session, call.time)
            if (least_share(lines, [written]) or 0) >= SAME_PATCH:
                session.made.append(_commit_of(call, git.commits[sha]))

    for session, _ in quiet:
        session.made.sort()


def _add_shown(
    quiet: Iterable[tuple[Session, SessionCommit]], git: AttributedHistory
) -> list[SessionCommit]:
    """Add to sessions the commits that are shown after calls and were committed in them."""
    shas = git.resolved({digits for _, call in quiet for digits in call.shown})
    commits = git.written(shas.values())
    added = []
    for session, call in quiet:
        for sha in dict.fromkeys(shas[digits] for digits in call.shown if digits in shas):
            committed = commits[sha].committed if sha in commits else None
            if committed is not None and call.begun // NS <= committed <= call.time // NS:
                added.append(_commit_of(call, commits[sha]))
                session.made.append(added[-1])
    return added


def _written_until(session: Session, time: int) -> WrittenLines:
    """Return the lines that a session wrote up to a time and that were left then."""
    changes: dict[tuple[int, int], tuple[WrittenFile, Sequence[int]]] = {}
    for file, index, event in own_events(session, LinesWritten):
        if file.times[index] <= time:
            path = (file.events.spans[event.span].cwd, file.events.texts[event.path])
            changes[file.ids[index], event.path] = (path, event.hashes)
    return lines_left_by_file(changes.values())


def _commit_of(call: SessionCommit, commit: Commit | WrittenCommit) -> SessionCommit:
    return call._replace(sha=commit.sha[:15], subject=key_of(trim(commit.subject)))
