"""The calls of a session that edit or run something, and in which a hook may have made a commit.

docs/EVIDENCE.md, "Attribution", has the rules.
"""

from bisect import bisect_left

from .events import CommitMade, WorkCall
from .streams import Session, SessionCommit


def calls_that_work(session: Session) -> list[SessionCommit]:
    """Return a session's calls that edit or run something, by time, as commits without a SHA.

    A call is left out if a command that makes commits began while it ran, both ends included.
    """
    commits_begun = [made.begun for made in (*session.made, *session.quiet)]
    for file, index, commit in session.events(CommitMade):
        if not commit.sha:
            commits_begun.append(file.times[index])  # it may have no result
    commits_begun.sort()

    calls = set()
    for file, index, event in session.events(WorkCall):
        time = file.times[index]
        begun = file.times[file.at(event.called_at, index)]
        first = bisect_left(commits_begun, begun)
        if first < len(commits_begun) and commits_begun[first] <= time:
            continue

        call = SessionCommit(time, file.ids[index], sha="", subject=0, begun=begun)
        calls.add(call)
    return sorted(calls)
