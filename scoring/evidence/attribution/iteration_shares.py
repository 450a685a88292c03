"""What of a session is an iteration's: its lines, and why it has none.

Also which iteration has lines that led to no commit: docs/EVIDENCE.md, "Attribution".
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from scoring.evidence.attribution.session_trees import NO_ITERATION, Asked, SessionPart, Tree
from scoring.evidence.transcripts.facts import IterationWindow
from scoring.evidence.transcripts.observed_facts import Method
from scoring.evidence.transcripts.streams import Session, SessionCommit, SessionKey

NO_WINDOW = "commit time unresolvable; cannot window the transcript"
NOT_COVERED = "no transcript covers the iteration window"
OVERLAP = "sessions overlap"
EMPTY = "session found, no turns in its part"
OTHER_WORK = "the sessions that its checkpoint names did other work"
NOT_READ = "the transcript of its checkpoint is of {agent}, in a form that is not read"
PARTLY_HERE = "a session that its checkpoint names has no transcript of that time here"
STORED_BEFORE = "the checkpoint that its commit names is more than a day older than the commit"
NO_TRANSCRIPT = "the checkpoint that its commit names has no transcript here"
"""Why an iteration has no lines, or none of its own."""


@dataclass(slots=True)
class Share:
    """The lines of one iteration.

    Attributes:
        index: the index of the iteration.
        asked: what is known of it.
        own: the numbers of the parts that are its own.
        voting: the numbers of the parts that vote on it.
        method: how its lines were found; None without lines.
        sessions: the sessions of its lines.
        also: the sessions of its checkpoints that did other work.
        problem: why it has no lines, or none of its own.
        counted_for: the index of the earlier iteration that has its commit.
        shared: the index of the iteration with which it shares a part.
        end: when it ended, in ns since 1970; None without lines.
        made: what the last line shows of its commit.
        stated: the ids of its checkpoints of which only the totals are known.
    """

    index: int
    asked: Asked
    own: range = range(0)
    voting: tuple[int, ...] = ()
    method: Method | None = None
    sessions: tuple[SessionKey, ...] = ()
    also: tuple[SessionKey, ...] = ()
    problem: str = ""
    counted_for: int | None = None
    shared: int | None = None
    end: int | None = None
    made: SessionCommit | None = None
    stated: tuple[str, ...] = ()


@dataclass(slots=True)
class OwnedLines:
    """Which iterations lines belong to, while that is found out.

    Attributes:
        owners: for each line the index of its iteration, or below 0.
        votes: for lines of others the indices of the iterations on which they vote.
    """

    owners: list[int]
    votes: dict[int, list[int]]

    def take(self, index: int, lines: Iterable[int]) -> int:
        """Give lines that are still free to an iteration, and return how many they are."""
        count = 0
        for line in lines:
            if self.owners[line] == NO_ITERATION:
                self.owners[line] = index
                count += 1
        return count

    def count_vote(self, index: int, part: SessionPart, *, is_own: bool) -> None:
        """Note that a part votes on an iteration.

        Args:
            index: the index of the iteration.
            part: the part.
            is_own: whether its lines that are still free become the iteration's own.
        """
        for line in part.lines:
            if is_own and self.owners[line] == NO_ITERATION:
                self.owners[line] = index
            else:
                self.votes.setdefault(line, []).append(index)


def give_by_session(
    shares: Iterable[Share], sessions: Mapping[SessionKey, Session], ownership: OwnedLines
) -> None:
    """Give iterations without lines the free ones of the session that their entry names.

    These are the lines after the last one of another iteration up to the author time.
    """
    sessions_by_id: dict[str, list[Session]] = {}
    for key, session in sessions.items():
        if session.lines:
            sessions_by_id.setdefault(key[1], []).append(session)

    for share in shares:
        authored = share.asked.authored
        named_sessions = sessions_by_id.get(share.asked.session, ())
        if share.method or share.problem or not named_sessions or authored is None:
            continue

        count = 0
        for session in named_sessions:
            lines = session.lines[: bisect_right(session.times, authored)]
            first = len(lines)
            while first and ownership.owners[lines[first - 1]] == NO_ITERATION:
                first -= 1
            count += ownership.take(share.index, lines[first:])
        share.method = "session"
        share.end = authored
        share.sessions = tuple(sorted(session.key for session in named_sessions))
        share.problem = "" if count else EMPTY


def note_totals(shares: Sequence[Share], stated: Collection[str]) -> None:
    """Note the iterations that only have the totals of checkpoints, which no other one names."""
    counts = Counter(name for share in shares for name in share.asked.checkpoints)
    for share in shares:
        if share.method is None:
            share.stated = tuple(
                name for name in share.asked.checkpoints if name in stated and counts[name] == 1
            )
            if share.stated:
                share.method = "checkpoint"


def give_by_time(shares: Iterable[Share], trees: Sequence[Tree], ownership: OwnedLines) -> None:
    """Give iterations without lines the free ones in their windows, if they are one session's.

    Where a commit names a checkpoint, that says which sessions did it, and no other one counts.
    """
    for share in shares:
        question = share.asked
        if share.method is not None or share.problem:
            continue
        if question.checkpoints:
            share.problem = NO_TRANSCRIPT
            continue
        if question.window is None:
            share.problem = NO_WINDOW
            continue

        free = _free_lines(trees, question.window, ownership)
        if len(free) == 1:
            for lines in free.values():
                ownership.take(share.index, lines)
            share.method = "time"
            share.sessions = tuple(free)
            share.end = question.authored
            if share.end is None:
                share.end = question.window.end
        else:
            share.problem = f"{len(free)} {OVERLAP}" if free else NOT_COVERED


def _free_lines(
    trees: Iterable[Tree], window: IterationWindow, ownership: OwnedLines
) -> dict[SessionKey, list[int]]:
    """Return the lines in a window that belong to no iteration, by the roots of their trees."""
    free: dict[SessionKey, list[int]] = {}
    for tree in trees:
        first = 0 if window.start is None else bisect_right(tree.times, window.start)
        lines = tree.lines[first : bisect_right(tree.times, window.end)]
        without_owner = [line for line in lines if ownership.owners[line] == NO_ITERATION]
        if without_owner:
            free[tree.sessions[0]] = without_owner
    return free
