"""What of a session is an iteration's: its lines, and why it has none."""

from collections.abc import Iterable
from dataclasses import dataclass

from scoring.evidence.attribution.session_trees import NO_ITERATION, SessionPart
from scoring.evidence.transcripts.observed_facts import Method
from scoring.evidence.transcripts.streams import SessionCommit, SessionKey

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
