"""Commits that a command made and did not print: docs/EVIDENCE.md, "Attribution"."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from scoring.evidence.attribution.written import WrittenLines, least_share, lines_left
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.walk import Commit
from scoring.evidence.transcripts.edits import is_word
from scoring.evidence.transcripts.events import LinesWritten, key_of
from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.streams import Session, SessionCommit
from scoring.text import trim

_LEAST_LINES = 3
_LEAST_SHARE = 0.9


class _QuietCall(NamedTuple):
    """A command that may have made commits, and those that it can have made by their time."""

    session: Session
    call: SessionCommit
    shas: Sequence[str]


def add_quiet_commits(sessions: Iterable[Session], git: AttributedHistory) -> None:
    """Add to sessions the commits that their commands made and did not print.

    Such a commit has an author time between the call and its result, in whole seconds, and at
    least 0.9 of the lines that it adds, and three of them, are lines that the session wrote.
    """
    made: list[SessionCommit] = []
    quiet: list[tuple[Session, SessionCommit]] = []
    for session in sessions:
        made += session.made
        quiet += [(session, call) for call in session.quiet]
    if not quiet:
        return

    calls = _with_commits(quiet, git.by_author_time, {commit.sha for commit in made})
    added = git.lines_added({sha for call in calls for sha in call.shas})
    commits = git.commits
    for session, call, shas in calls:
        written: WrittenLines = {}
        for sha in shas:
            lines = added.get(sha, {})
            if sum(lines.values()) < _LEAST_LINES:
                continue
            written = written or _written_until(session, call.time)
            if (least_share(lines, [written]) or 0) >= _LEAST_SHARE:
                session.made.append(_commit_of(call, commits[sha]))

    for session, _ in quiet:
        session.made.sort()


def _with_commits(
    quiet: Iterable[tuple[Session, SessionCommit]],
    by_time: Sequence[tuple[int, str]],
    shown: Collection[str],
) -> list[_QuietCall]:
    """Return the calls with the commits of their time that no session shows."""
    digits = {sha[:7] for sha in shown}
    calls = []
    for session, call in quiet:
        first = bisect_left(by_time, (call.begun // NS,))
        end = bisect_left(by_time, (call.time // NS + 1,))
        shas = [sha for _, sha in by_time[first:end] if sha[:7] not in digits]
        if shas:
            calls.append(_QuietCall(session, call, shas))
    return calls


def _written_until(session: Session, time: int) -> WrittenLines:
    """Return the lines that a session wrote up to a time and that were left then."""
    changes: dict[tuple[int, int], tuple[tuple[str, str], Sequence[int]]] = {}
    for file in session.files:
        lines = file.of(session.key[1])
        for event in file.events.of(LinesWritten):
            index = file.at(event.line)
            if index in lines and file.times[index] <= time:
                path = (file.events.spans[event.span].cwd, file.events.texts[event.path])
                hashes = [line for line in event.hashes if not is_word(line)]
                changes[file.ids[index], event.path] = (path, hashes)

    written: dict[tuple[str, str], list[int]] = {}
    for path, change in changes.values():
        written.setdefault(path, []).extend(change)
    return {path: lines_left(change) for path, change in written.items()}


def _commit_of(call: SessionCommit, commit: Commit) -> SessionCommit:
    return call._replace(sha=commit.sha[:15], subject=key_of(trim(commit.subject)))
