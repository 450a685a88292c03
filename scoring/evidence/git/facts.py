"""What git says about the commits of a log, as facts.

The signals ``landed`` and ``scope`` judge them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from scoring.frozen import Frozen, PlainData
from scoring.log.model import IterationRecord
from scoring.text import trim

from .repository import GitRepository
from .walk import Commit, ShownCommit

Rules = Literal["reference", "attributed"]
"""The rules under which a fact was found. Their details are worded differently."""

LandedState = Literal["landed", "reverted", "taken_back"]
"""What became of work, as far as git alone can say it for certain."""

# How work was found on the trunk. ``docs/EVIDENCE.md``, "Landing", explains each word.
ANCESTOR = "ancestor"
PATCH_ID = "patch-id"
SQUASH = "squash"
MERGE_TREE = "merge-tree"
LATER_ANCESTOR = "later-ancestor"
SUBJECT = "subject"
MESSAGE = "message"
NAMED = "named"
PULL_REQUEST = "pull-request"
NUMBERED = "numbered-subject"
LISTED = "listed-subject"
LINES = "lines"
RELEASED = "released"
PART = "part"
REVERTED = "reverted"
NOT_LANDED = "not-landed"

MERGE_GIT = (2, 38)
"""The first git that can merge without a work tree."""


class Unknown(StrEnum):
    """Why git cannot say whether an iteration's work landed, or which files it changed."""

    NO_COMMIT = "the entry names no commit"
    NO_TRUNK = "there is no trunk"
    UNRESOLVED = "the commit is not in this repository"
    SHALLOW = "history is shallow"
    HISTORY = "the history of the commit cannot be read"
    MERGE = "the commit is a merge off the trunk"
    FILES = "the changed files cannot be read"
    NO_CHANGE = "the commit is off the trunk and changes nothing"
    OBJECTS = "objects are missing"
    HELD = "a tag or another remote has it"
    HELD_IN_PART = "a tag or another line of development has some of its lines"
    PART = "too little of it is in the commit that it is part of"
    NOT_FOUND = "some of its lines are on the trunk"
    ELSEWHERE = "its lines are in other files of the trunk"
    TOO_YOUNG = "none of its lines is on the trunk yet"
    ALIKE = "none of its lines is on the trunk, but its subject is"
    NO_LINES = "it adds no lines that could be found"
    LARGE = "it adds too many lines"
    LONG = "too many commits of the trunk came after it"


class Trunk(Frozen):
    """The branch on which work lands.

    Attributes:
        ref: the full name; "" when no trunk was found.
        name: the name for people.
        commit: the tip; None when the branch does not exist.
        how: how the trunk was chosen, or why none was found.
        shallow: whether history is cut off before its beginning.
        doubt: what people should hear of it and do about it; "" for nothing.
    """

    ref: str
    name: str
    commit: str | None
    how: str
    shallow: bool = False
    doubt: str = ""


class Tip(NamedTuple):
    """A commit that may show the landing of those it contains.

    Attributes:
        sha: the commit.
        iteration: the iteration that names it; 0 when a branch does.
        branch: the branch with this tip; "" when an iteration names the commit.
        method: how the commit itself was found on the trunk.
    """

    sha: str
    iteration: int = 0
    branch: str = ""
    method: str = ""


class TrunkWork(Frozen):
    """Some work on the trunk.

    Attributes:
        commit: the commit of the trunk that has all of it.
        also: another SHA by which messages may name it, as of the commit before a squash; or "".
    """

    commit: str
    also: str = ""

    @property
    def key(self) -> str:
        """The name under which answers about it are kept."""
        if self.also == self.commit:
            return f"{self.commit} "
        return f"{self.commit} {self.also}"


class TakenBack(Frozen):
    """The commit that took landed work back.

    Attributes:
        by: its SHA.
        lines: how many lines of code it took, or restored where the work only removed lines; of
            work without code, lines of text.
        of: how many of these the work added, or removed.
        seconds: from the work's commit to this one.
        said: whether its message says that it undoes something.
        subject: its subject.
    """

    by: str
    lines: int
    of: int
    seconds: int
    said: bool
    subject: str = ""

    def as_dict(self) -> PlainData:
        """Return plain data, with the time in days."""
        return {
            "by": self.by,
            "lines": self.lines,
            "of": self.of,
            "days": round(self.seconds / 86_400, 4),
            "said": self.said,
        }


class CameBack(Frozen):
    """Work that was taken back in ``by`` and is there again since ``back_in``, both SHAs."""

    by: str
    back_in: str


class PartlyReverted(Frozen):
    """Work of which a commit says that it reverts it, and reverts ``lines`` of its ``of`` lines."""

    by: str
    lines: int
    of: int


class Undone(Frozen):
    """Whether landed work is still there, and what happened to it.

    Attributes:
        state: ``landed``, or what undid it: ``reverted`` or ``taken_back``.
        taken_back: the commit that undid it, exactly where it is not ``landed``.
        came_back: where it was undone and is there again.
        partly_reverted: where a commit says that it reverts it, and does so in part.
    """

    state: LandedState = "landed"
    taken_back: TakenBack | None = None
    came_back: CameBack | None = None
    partly_reverted: PartlyReverted | None = None


STANDS = Undone()
"""Landed work that nothing undid."""


class LineShare(NamedTuple):
    """How many of some lines were found, and how many there are."""

    found: int
    total: int


class Landing(Frozen):
    """Whether the work of one iteration came to the trunk, and how that was found out.

    Attributes:
        rules: the rules under which the fact was found.
        trunk: where work lands.
        field: the commit field of the entry, trimmed.
        sha: the commit that it names.
        found_by: how the work was found on the trunk, reverted or not, in a word of this module;
            "" when that is unknown.
        commit: the trunk commit that brought the work; None when no single one did.
        merged_in: the merge that brought ``commit`` to the trunk's line of first parents.
        reverted_by: the trunk commit that reverted the work.
        undone: whether the work is still there; None under the reference's rules.
        whole: whether this holds for all that the commit contains, and not only for its own change.
        tip: the commit that shows the landing of this one.
        unknown: why it cannot be known; None when it is known.
        lines: how many of the significant lines that it adds are in ``commit`` or ``part_of``,
            else in any trunk commit at or after it; None where they were not looked for.
        removed: whether ``lines`` are those that it removes, because it adds none.
        request: the number of the pull or merge request that brought ``commit`` or ``part_of``.
        part_of: the trunk commit that it is part of, without enough of its lines.
        old_git: the version of git, where that was too old to try a merge.
    """

    rules: Rules
    trunk: Trunk
    field: str = ""
    sha: str | None = None
    found_by: str = ""
    commit: str | None = None
    merged_in: str | None = None
    reverted_by: str | None = None
    whole: bool = True
    tip: Tip | None = None
    unknown: Unknown | None = None
    lines: LineShare | None = None
    removed: bool = False
    request: int | None = None
    part_of: str | None = None
    old_git: tuple[int, int] | None = None
    undone: Undone | None = None

    @property
    def taken_back_by(self) -> str | None:
        """The trunk commit that took the work back without saying so."""
        undone = self.undone
        if undone and undone.taken_back and undone.state == "taken_back":
            return undone.taken_back.by
        return None

    @property
    def undone_by(self) -> str | None:
        """The trunk commit that reverted the work, or took it back."""
        return self.reverted_by or self.taken_back_by

    @property
    def landed_state(self) -> LandedState | None:
        """What became of the work, or None where git alone does not say that it landed."""
        if self.reverted_by:
            return "reverted"
        if self.taken_back_by:
            return "taken_back"
        return "landed" if self.landed else None

    @property
    def method(self) -> str:
        """The word for how it was decided, which provenance keeps, or "" when it is unknown."""
        return REVERTED if self.reverted_by else self.found_by

    @property
    def landed(self) -> bool:
        """Whether the work came to the trunk, reverted or not."""
        return self.found_by not in ("", NOT_LANDED)


LandingBySha: TypeAlias = dict[str, Landing]
"""The landing of commits, by their SHAs."""


class Changed(Frozen):
    """Which files one iteration changed, and over which commits.

    Attributes:
        rules: the rules under which the fact was found.
        field: the commit field of the entry, trimmed.
        sha: the commit that it names.
        files: the changed files by their new paths; the reference has them as git quotes them.
        base: the commit that ``sha`` was compared with; "" for a first commit.
        since: the earlier iteration with the commit ``base``; None when that is the first parent.
        without_trunk: whether changes that came in from the trunk are left out.
        merge: whether the commit is a merge, compared with its first parent.
        unknown: why the files cannot be known; None also where they were not asked for.
    """

    rules: Rules
    field: str
    sha: str | None = None
    files: tuple[str, ...] = ()
    base: str = ""
    since: int | None = None
    without_trunk: bool = False
    merge: bool = False
    unknown: Unknown | None = None


class GitFacts(ABC):
    """What git says about the commits of one log.

    Git is asked in batches, however long the log is.

    Attributes:
        rules: the rules under which facts are found.
        trunk: where work lands, and how that was found out.
        repository: the open repository.
    """

    rules: Rules
    trunk: Trunk
    repository: GitRepository
    _resolved: Mapping[str, str | None]

    def resolve(self, name: str) -> str | None:
        """Return the SHA of a commit field, as written or trimmed, or None for no commit."""
        return self._resolved[name]

    def committed(self, name: str) -> int | None:
        """Return the committer time of the commit that a field names, in seconds since 1970.

        None means that the field names no commit, or one that git cannot read.
        """
        sha = self._resolved[name]
        if sha and sha in self._named:
            return self._named[sha].time
        return None

    @property
    @abstractmethod
    def _named(self) -> Mapping[str, Commit | ShownCommit]:
        """The commits that fields name, by their SHAs, without those that git cannot read."""

    @abstractmethod
    def landing(self, record: IterationRecord) -> Landing:
        """Return whether an iteration's work has landed."""

    def changed(self, record: IterationRecord, *, files: bool = True) -> Changed:
        """Return what an iteration changed.

        Args:
            record: the iteration.
            files: whether to ask git for the files; otherwise only the commit is filled in.
        """
        field, sha = self._commit(record)
        if not field:
            return Changed(self.rules, field, unknown=Unknown.NO_COMMIT)
        if sha is None:
            return Changed(self.rules, field, unknown=Unknown.UNRESOLVED)
        if not files:
            return Changed(self.rules, field, sha)
        return self._changed_by(record, sha)

    @abstractmethod
    def _changed_by(self, record: IterationRecord, sha: str) -> Changed:
        """Return what an iteration with a known commit changed."""

    def _commit(self, record: IterationRecord) -> tuple[str, str | None]:
        """Return the commit field of an entry, trimmed, and the SHA of the commit that it names."""
        field = trim(record.commit)
        return field, self._resolved[field] if field else None
