"""Commits that no output shows and that have the subject their command gives: docs/EVIDENCE.md."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence

from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.transcripts.events import Call, CommitMade, key_of
from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.streams import (
    File,
    Session,
    SessionCommit,
    commits_shown,
)
from scoring.text import trim


def add_commits_by_subject(
    sessions: Collection[Session], git: AttributedHistory
) -> None:
    """Add to sessions the commits of commands that printed none and give the subject.

    That is the only commit with this subject and an author time between the call and its end, in
    whole seconds, if no session shows it. Whose lines it has does not matter.

    Args:
        sessions: all sessions. Their ``made`` stays sorted by time.
        git: the history of the repository.
    """
    shown = {digits[:7] for digits in commits_shown(sessions)}
    calls_in: dict[File, list[int]] = {}
    for session in sessions:
        call_of: dict[str, SessionCommit] = {}
        for file, index, event in session.events(CommitMade):
            if event.sha or not event.subject:
                continue

            call = file.session_commit(index, event)
            has_result = event.called_at != event.line
            until = call.time
            if not has_result:
                if file not in calls_in:
                    calls_in[file] = sorted(called for called, _ in file.located(Call))
                until = _next_call(file, index, calls_in[file])
            in_call = git.authored_between(call.begun // NS, until // NS)
            sha = sole_with_subject(call.subject, in_call, git)
            if not sha or sha[:7] in shown:
                continue

            if not has_result:
                # what Codex writes of the response that calls follows the call
                end = ((git.commits[sha].authored or 0) + 1) * NS
                last = bisect_left(file.times, min(end, until)) - 1
                call = file.session_commit(max(index, last), event)
            call_of[sha] = max(call, call_of.get(sha, call))

        for sha, call in call_of.items():
            session.made.append(call.printing(sha, git.commits[sha].subject))
        session.made.sort()


def sole_with_subject(subject: int, shas: Iterable[str], git: AttributedHistory) -> str:
    """Return the only one of some commits that has a subject, by its key, or "" for none."""
    found = [sha for sha in shas if key_of(trim(git.commits[sha].subject)) == subject]
    return found[0] if len(found) == 1 else ""


def _next_call(file: File, index: int, calls: Sequence[int]) -> int:
    """Return when the next call after a line, by its index, was made, else the last line.

    Args:
        file: the transcript.
        index: the index of the line.
        calls: the indices of the lines of all calls in the transcript, ascending.
    """
    following = bisect_right(calls, index)
    return file.times[calls[following] if following < len(calls) else -1]
