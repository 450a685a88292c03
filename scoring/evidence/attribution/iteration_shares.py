"""What of a session is an iteration's: its lines, and why it has none.

Also which iteration has lines that led to no commit: docs/EVIDENCE.md, "Attribution".
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scoring.evidence.git.agents import StatedAgent
from scoring.evidence.transcripts.facts import NS, IterationWindow
from scoring.evidence.transcripts.observed_facts import Method
from scoring.evidence.transcripts.streams import Session, SessionCommit, SessionKey

from .session_trees import NO_ITERATION, SessionPart, Tree

DAY = 86_400 * NS
"""How far the author time may be from when a session made a commit of the same subject."""

NO_WINDOW = "commit time unresolvable; cannot window the transcript"
NOT_COVERED = "no transcript covers the iteration window"
OVERLAP = "sessions overlap"
EMPTY = "session found, no turns in its part"
OTHER_WORK = "the sessions that its checkpoint names did other work"
NOT_READ = "the transcript of its checkpoint is of {agent}, in a form that is not read"
PARTLY_HERE = "a session that its checkpoint names has no transcript of that time here"
STORED_BEFORE = (
    "the checkpoint that its commit names is more than a day older than the commit"
)
NO_TRANSCRIPT = "the checkpoint that its commit names has no transcript here"
"""Why an iteration has no lines, or none of its own."""


class Verification(NamedTuple):
    """A verifier of an entry.

    Attributes:
        kind: its type.
        artifact: the path of its result artifact, as the entry has it.
        place: the path of that in the repository.
    """

    kind: str
    artifact: str
    place: str

    @property
    def paths(self) -> list[str]:
        """Both paths, without one that is ""."""
        return [path for path in (self.place, self.artifact) if path]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about an iteration, and all by which its lines may be found.

    Times are nanoseconds since 1970.

    Attributes:
        iteration: its number.
        commits: the names of its commit, as the entry and git have them.
        landed: the SHAs of its commit and of what it became.
        authored: the author time of its commit; None where it is not known.
        committed: the time of its commit.
        files: the paths that its commit changed.
        session: the id of the session that its entry names.
        checkpoints: the ids of the checkpoints that its commit names.
        window: its window of time.
        verifiers: its verifiers.
        written: the SHA of the commit of which the share is wanted that agents wrote; "": none.
        documents: whether its commit changed nothing but documents.
        stated: the harness and the model that its commit and its checkpoints state.
        is_strict: whether sessions count only where they wrote the lines of its commit.
        is_wanted: whether it matters what was seen in its lines. If not, only which sessions it has
            is found out.
    """

    iteration: int
    commits: tuple[str, ...]
    landed: tuple[str, ...]
    authored: int | None
    committed: int | None
    files: frozenset[str]
    session: str
    checkpoints: tuple[str, ...]
    window: IterationWindow | None
    verifiers: tuple[Verification, ...]
    written: str
    documents: bool
    stated: StatedAgent
    is_strict: bool
    is_wanted: bool

    def reaches(self, tree: Tree) -> bool:
        """Return whether lines are known up to the commit: by its checkpoint or by a later line."""
        if not tree.checkpoints.isdisjoint(self.checkpoints):
            return True
        return self.authored is not None and tree.times[-1] > self.authored

    def may_have_stored(self, tree: Tree) -> bool:
        """Return whether a tree has a checkpoint that may be the commit's: at most a day older."""
        stored = [
            file.stored for file in tree.files if file.checkpoint in self.checkpoints
        ]
        if not stored or self.authored is None:
            return True
        earliest = self.authored - DAY
        return any(time is None or time > earliest for time in stored)


@dataclass(slots=True)
class Share:
    """The lines of one iteration.

    Attributes:
        index: the index of the iteration.
        question: what is known of it.
        listed: the trees of the sessions in the checkpoints that its commit names.
        is_complete: whether all of these sessions are here, up to the commit.
        parts: the parts of trees that end at its commit.
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
    question: Question
    listed: Sequence[Tree] = ()
    is_complete: bool = True
    parts: list[SessionPart] = field(default_factory=list)
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

    def is_free(self, line: int) -> bool:
        """Return whether a line belongs to no iteration yet."""
        return self.owners[line] == NO_ITERATION

    def free_lines(
        self, trees: Iterable[Tree], window: IterationWindow
    ) -> dict[SessionKey, list[int]]:
        """Return the lines in a window that belong to no iteration, by the roots of their trees."""
        free: dict[SessionKey, list[int]] = {}
        for tree in trees:
            first = (
                0 if window.start is None else bisect_right(tree.times, window.start)
            )
            lines = tree.lines[first : bisect_right(tree.times, window.end)]
            without_owner = list(filter(self.is_free, lines))
            if without_owner:
                free[tree.root] = without_owner
        return free

    def take(self, index: int, lines: Iterable[int]) -> None:
        """Give lines to an iteration."""
        for line in lines:
            self.owners[line] = index

    def count_vote(self, index: int, part: SessionPart, *, is_own: bool) -> None:
        """Note that a part votes on an iteration.

        Args:
            index: the index of the iteration.
            part: the part.
            is_own: whether its lines that are still free become the iteration's own.
        """
        for line in part.lines:
            if is_own and self.is_free(line):
                self.owners[line] = index
            else:
                self.votes.setdefault(line, []).append(index)


def give_by_session(
    shares: Iterable[Share], sessions: Iterable[Session], ownership: OwnedLines
) -> None:
    """Give iterations without lines the free ones of the session that their entry names.

    These are the lines after the last one of another iteration up to the author time.
    """
    sessions_by_id: dict[str, list[Session]] = {}
    for session in sessions:
        if session.lines:
            sessions_by_id.setdefault(session.id, []).append(session)

    for share in shares:
        authored = share.question.authored
        named_sessions = sessions_by_id.get(share.question.session, ())
        if share.method or share.problem or not named_sessions or authored is None:
            continue

        has_lines = False
        for session in named_sessions:
            lines = session.lines[: bisect_right(session.times, authored)]
            first = len(lines)
            while first and ownership.is_free(lines[first - 1]):
                first -= 1
            ownership.take(share.index, lines[first:])
            has_lines = has_lines or first < len(lines)
        share.method = "session"
        share.end = authored
        share.sessions = tuple(sorted(session.key for session in named_sessions))
        share.problem = "" if has_lines else EMPTY


def note_totals(shares: Sequence[Share], stated: Iterable[str]) -> None:
    """Note the iterations that only have the totals of checkpoints, which no other one names."""
    counts = Counter(name for share in shares for name in share.question.checkpoints)
    sole = {name for name in stated if counts[name] == 1}
    for share in shares:
        if share.method is None and not sole.isdisjoint(share.question.checkpoints):
            share.method = "checkpoint"
            share.stated = tuple(filter(sole.__contains__, share.question.checkpoints))


def give_by_time(
    shares: Iterable[Share], trees: Sequence[Tree], ownership: OwnedLines
) -> None:
    """Give iterations without lines the free ones in their windows, if they are one session's.

    Where a commit names a checkpoint, that says which sessions did it, and no other one counts.
    """
    for share in shares:
        question = share.question
        if share.method is not None or share.problem:
            continue
        if question.checkpoints:
            share.problem = NO_TRANSCRIPT
            continue
        if question.window is None:
            share.problem = NO_WINDOW
            continue

        free = ownership.free_lines(trees, question.window)
        if not free:
            share.problem = NOT_COVERED
        elif len(free) > 1:
            share.problem = f"{len(free)} {OVERLAP}"
        else:
            ((root, lines),) = free.items()
            ownership.take(share.index, lines)
            share.method = "time"
            share.sessions = (root,)
            share.end = question.authored
            if share.end is None:
                share.end = question.window.end
