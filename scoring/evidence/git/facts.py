"""What git says about the commits of a log, as facts; the signals ``landed`` and ``scope`` judge them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple

from scoring.frozen import Frozen
from scoring.log.model import IterationRecord
from scoring.text import trim

Rules = Literal[
    "reference", "attributed"
]  # under which a fact was found; their details are worded differently

ANCESTOR, PATCH_ID, SQUASH, MERGE_TREE = "ancestor", "patch-id", "squash", "merge-tree"
LATER_ANCESTOR, SUBJECT, MESSAGE = "later-ancestor", "subject", "message"
NAMED, PULL_REQUEST, NUMBERED = "named", "pull-request", "numbered-subject"
LISTED, LINES, PART = "listed-subject", "lines", "part"
REVERTED, NOT_LANDED = "reverted", "not-landed"

MERGE_GIT = (2, 38)  # the first git that can merge without a work tree


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
    PART = "too little of it is in the commit that it is part of"
    NOT_FOUND = "some of its lines are on the trunk"
    ELSEWHERE = "its lines are in other files of the trunk"
    TOO_YOUNG = "none of its lines is on the trunk yet"
    ALIKE = "none of its lines is on the trunk, but its subject is"
    NO_LINES = "it adds no lines that could be found"
    LARGE = "it adds too many lines"
    LONG = "too many commits of the trunk came after it"


class Trunk(Frozen, frozen=True):
    """Where work lands: ``ref`` in full and ``name`` for details, its tip or None, how it was chosen, if shallow."""

    ref: str
    name: str
    commit: str | None
    how: str
    shallow: bool = False


class Tip(NamedTuple):
    """A commit, of an iteration or a branch, that may speak for those it contains; ``method`` is how it was found."""

    sha: str
    iteration: int = 0
    branch: str = ""
    method: str = ""


class Landing(Frozen, frozen=True):
    """Whether the work of one iteration came to the trunk, and how that was found out.

    ``lines`` are how many of the significant lines that it adds are there (in ``commit`` or ``part_of``, where there is
    one, else in any trunk commit at or after it), and how many they are; None where they were not looked for.
    """

    rules: Rules
    trunk: Trunk
    field: str = ""  # the commit field of the entry, trimmed
    sha: str | None = None  # the commit that it names
    found_by: str = (
        ""  # how the work was found on the trunk, reverted or not, in a word of this module, or ""
    )
    commit: str | None = (
        None  # the trunk commit that brought the work; None where no single one did
    )
    merged_in: str | None = (
        None  # the merge that brought ``commit`` to the trunk's first-parent line
    )
    reverted_by: str | None = None  # the trunk commit that took the work back
    whole: bool = True  # whether this holds for all that the commit contains, and not for its own change alone
    common_files: int = (
        0  # that the commit shares with the one of the same subject, where that is how it was found
    )
    tip: Tip | None = None  # the commit that speaks for this one
    unknown: Unknown | None = None  # why it cannot be known; None when it is known
    lines: tuple[int, int] | None = None
    removed: bool = False  # whether ``lines`` are those that it removes, as it adds none
    request: int | None = (
        None  # the number of the pull or merge request that brought that trunk commit
    )
    part_of: str | None = None  # the trunk commit that it is part of, without enough of its lines
    old_git: tuple[int, int] | None = (
        None  # the version of git, where that was too old to try a merge
    )

    @property
    def method(self) -> str:
        """How it was decided, in the one word that provenance keeps; "" when it is unknown."""
        return REVERTED if self.reverted_by else self.found_by

    @property
    def landed(self) -> bool:
        """Whether the work came to the trunk, reverted or not."""
        return self.found_by not in ("", NOT_LANDED)


class Changed(Frozen, frozen=True):
    """Which files one iteration changed, and over which range of commits."""

    rules: Rules
    field: str  # the commit field of the entry, trimmed
    sha: str | None = None  # the commit that it names
    files: tuple[str, ...] = ()  # by their new names; the reference has them as git quotes them
    base: str = ""  # the commit that ``sha`` was compared with, "" for a first commit
    since: int | None = (
        None  # the earlier iteration with the commit ``base``; None when that is the first parent
    )
    without_trunk: bool = False  # whether changes that came in from the trunk are left out
    merge: bool = False  # whether the commit is a merge, compared with its first parent
    unknown: Unknown | None = (
        None  # why the files cannot be known; None also where they were not asked for
    )


class GitFacts(ABC):
    """What git says about the commits of one log. Git is asked in batches, whatever the length of the log."""

    rules: Rules
    trunk: Trunk  # where work lands, and how that was found out
    _resolved: Mapping[str, str | None]

    def resolve(self, name: str) -> str | None:
        """Return the SHA of a commit field, exactly as written or trimmed; None where it names no commit."""
        return self._resolved[name]

    def committed(self, name: str) -> int | None:
        """Return the committer time, in seconds since 1970, of the commit that a field names, or None."""
        sha = self._resolved[name]
        return self._time_of(sha) if sha else None

    @abstractmethod
    def _time_of(self, sha: str) -> int | None:
        """Return the committer time of a commit; None when it cannot be read or names none."""

    @abstractmethod
    def landing(self, record: IterationRecord) -> Landing:
        """Return whether an iteration's work has landed."""

    def changed(self, record: IterationRecord, *, files: bool = True) -> Changed:
        """Return what an iteration changed; with ``files`` false only its commit, without asking git for more."""
        field, sha = self._commit(record)
        if sha is None:
            return Changed(
                self.rules, field, unknown=Unknown.UNRESOLVED if field else Unknown.NO_COMMIT
            )
        return self._changed_by(record, sha) if files else Changed(self.rules, field, sha)

    @abstractmethod
    def _changed_by(self, record: IterationRecord, sha: str) -> Changed:
        """Return what an iteration with a known commit changed."""

    def _commit(self, record: IterationRecord) -> tuple[str, str | None]:
        """Return the commit field of an entry, trimmed, and the SHA of the commit that it names."""
        field = trim(record.commit)
        return field, self._resolved[field] if field else None
