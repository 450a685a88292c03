"""One piece of work as a unit: a commit, the rest of a session after its last commit, or talk."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from scoring.evidence.attribution.written import WrittenLines
from scoring.evidence.git.agents import Identity
from scoring.evidence.git.checkpoint_files import BRANCH
from scoring.evidence.git.facts import Landing
from scoring.evidence.transcripts.facts import Spent, TranscriptFacts
from scoring.evidence.transcripts.observed_facts import Observed, TestsSeen
from scoring.evidence.transcripts.streams import SessionKey

from .outcome import Outcome

SPLIT_NOT_KNOWN = "belongs to landed work, split not known"
"""What is said of work that is of a session of landed work."""

NOBODY = Identity("", "")
"""The author of work with an unknown author."""

Kind: TypeAlias = Literal["commit", "rest", "talk"]
State: TypeAlias = Literal[
    "talk", "reverted", "taken_back", "landed", "open", "lost", "unclear"
]


class Entry(NamedTuple):
    """An iteration of a unit.

    Attributes:
        iteration: its number.
        task: the id of its task.
        summary: what the entry says of it.
    """

    iteration: int
    task: str
    summary: str


@dataclass(eq=False, slots=True)
class Unit:
    """One piece of work.

    Attributes:
        unit: a name that is the same in every run.
        kind: what it is.
        commit: the SHA of its commit, as far as it is known.
        brought_in: the commits that a person may have made of it.
        subject: the subject of the commit, or else the summary of its first entry.
        author: who made it.
        entries: its iterations.
        observed: what was observed in the lines of each iteration, or of a commit without an entry,
            and of a rest the test runs.
        checkpoints: the ids of its checkpoints.
        landing: whether its commit landed; None without a commit.
        sessions: the root sessions of the trees that have its transcript lines.
        counted: what these lines say; None without lines.
        spent: what each of its sessions used, as far as the transcripts state it.
        maker: the id of the session that its entry names, or that made its commit; "" without.
        session: that session, where it has lines, or else the one that wrote most of its output.
        minutes: the time between events that are at most five minutes apart.
        ended: when it ended, in nanoseconds since 1970.
        state: what became of it.
        written_here: how many lines its edits left in files of the repository.
        wrote_code: whether some of them are in files of code.
        of_landed: whether it is of a session of landed work, and it is not known for what of that.
        is_whole: whether these are all that it wrote.
        is_young: whether the horizon after it has not ended yet.
        is_settled: whether it ended a horizon or more before the newest commit of the trunk.
        lines_there: how many written lines the trunk has a horizon later, or today.
        may_be_there: whether work without such lines may be there: rewritten, or off the trunk.
        defective: whether it was undone or fixed later; None where that is not known.
        outcome: the worst outcome of its iterations.
        mended_in_branch: the commits that undid or fixed it and that the same merge brought, so
            that the trunk never had it without them.
        missing_subagents: sub-agents that it started and that left no transcript here.
        missing_sessions: sessions that its checkpoints list and that left no transcript here.
        first_line: the first line of lost work as ``transcript:line``; "" otherwise.
        checkpoint_branch: what git calls the branch with its checkpoints here.
    """

    unit: str
    kind: Kind
    commit: str | None = None
    brought_in: list[str] = field(default_factory=list)
    subject: str | None = None
    author: Identity = NOBODY
    entries: list[Entry] = field(default_factory=list)
    observed: list[Observed] = field(default_factory=list)
    checkpoints: list[str] = field(default_factory=list)
    landing: Landing | None = None
    sessions: tuple[SessionKey, ...] = ()
    counted: TranscriptFacts | None = None
    spent: dict[SessionKey, tuple[Spent, ...]] = field(default_factory=dict)
    maker: str = ""
    session: SessionKey | None = None
    minutes: float | None = None
    ended: int | None = None
    state: State = "unclear"
    written_here: int = 0
    wrote_code: bool = False
    of_landed: bool = False
    is_whole: bool = True
    is_young: bool = True
    is_settled: bool = False
    lines_there: int | None = None
    may_be_there: bool = False
    defective: bool | None = None
    outcome: Outcome | None = None
    mended_in_branch: tuple[str, ...] = ()
    missing_subagents: int = 0
    missing_sessions: int = 0
    first_line: str = ""
    checkpoint_branch: str = BRANCH

    @property
    def first_entry(self) -> Entry | None:
        """The entry with the lowest number."""
        return min(self.entries, key=lambda entry: entry.iteration, default=None)

    @property
    def iteration(self) -> int | None:
        """The lowest iteration that it is of."""
        if self.first_entry:
            return self.first_entry.iteration
        return None

    @property
    def first_sha(self) -> str | None:
        """The SHA of its commit as it was made."""
        if self.landing:
            return self.landing.sha
        return None

    @property
    def began(self) -> int:
        """When its first line was written, in nanoseconds since 1970, or 0 without lines."""
        if self.counted:
            return self.counted.began or 0
        return 0

    @property
    def is_known_by_lines(self) -> bool:
        """Whether git has no commit of it, so that its lines alone say what became of it."""
        return self.kind == "rest" or not self.first_sha

    @property
    def last_tests(self) -> TestsSeen:
        """The tests with its last verdict, up to its commit; none of it without a verdict."""
        for observed in reversed(self.observed):
            if observed.tests.last_passed is not None:
                return observed.tests
        return TestsSeen()

    @property
    def last_passed(self) -> bool | None:
        """Whether its last run of tests passed, or None without a verdict."""
        return self.last_tests.last_passed

    @property
    def lines_written(self) -> int | None:
        """How many lines edits added, or None where some of what was written is not here."""
        if self.counted and self.is_whole:
            return self.written_here
        return None

    @property
    def lines_landed(self) -> int | None:
        """How many of them the trunk has a horizon later, or None where that is not known yet."""
        if self.is_young or not self.lines_written:
            return None
        return self.lines_there

    @property
    def landed_share(self) -> float | None:
        """The yield: the share of the written lines that the trunk has, or None where not known."""
        if self.lines_written and self.lines_landed is not None:
            return self.lines_landed / self.lines_written
        return None


@dataclass(eq=False, slots=True)
class OpenUnit(Unit):
    """A unit while its transcripts are open.

    Attributes:
        lines: the numbers of its transcript lines, by the root session of their tree.
        written: the lines that its edits left in files of the repository.
        words: words that its edits left there, where git has no commit of it.
    """

    lines: "dict[SessionKey, array[int]]" = field(default_factory=dict)
    written: WrittenLines = field(default_factory=dict)
    words: WrittenLines = field(default_factory=dict)

    @property
    def all_lines(self) -> Iterator[int]:
        """The numbers of its transcript lines, of all sessions."""
        return chain.from_iterable(self.lines.values())

    def closed(self, checkpoint_branch: str) -> Unit:
        """Return what is left of it when the transcripts are closed."""
        self.sessions = tuple(self.lines)
        self.checkpoint_branch = checkpoint_branch
        return Unit(**{each.name: getattr(self, each.name) for each in fields(Unit)})
