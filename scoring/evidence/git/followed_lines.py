"""The trunk on which lines are followed, and these lines, each by an id."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from scoring.evidence.scopes import is_code

from .commit_history import CommitHistory

DAY = 86_400

LineIds: TypeAlias = list[int]
"""The lines of a file from its top: the id of a followed line, 0 for any other one.

What comes after the last followed line is left out.
"""

State: TypeAlias = dict[str, LineIds]
"""The files with followed lines. A list in it is never changed, only replaced."""


class Fate(NamedTuple):
    """What became of the lines that some work added.

    Attributes:
        added: how many lines of code it added.
        taken: for each line that is gone, the commits, merges aside, that took it.
        taken_by: how many lines each commit took, merges too.
    """

    added: int
    taken: tuple[tuple[str, ...], ...]
    taken_by: Counter[str]


class FollowedTrunk:
    """A trunk, and how work on it is followed.

    Attributes:
        history: the lines of its commits.
        graph: the trunk and what is off it.
        commits: the commits of the trunk by SHA, newest first, with messages.
        code_globs: the files in which lines count; none for all files of code.
        horizon: within how many seconds a commit may take work back without saying so, and work
            that was taken back may come back.
    """

    def __init__(
        self, git: CommitHistory, code_globs: tuple[str, ...], horizon_days: float
    ) -> None:
        """Take the history of the trunk, and the rules, the horizon in days."""
        self.history = git.lines
        self.graph = git.graph
        self.commits = git.walk
        self.code_globs = code_globs
        self.horizon = horizon_days * DAY
        self._git = git

    def counts(self, path: str) -> bool:
        """Return whether the lines of a file are code that counts."""
        return is_code(path, self.code_globs)

    def time(self, commit: str) -> int:
        """Return the committer time of a commit in seconds since 1970, or 0 where git has none."""
        return self.commits[commit].time or 0

    def end_of(self, commit: str) -> str | None:
        """Return the commit of the mainline that ends the horizon of a commit of the trunk.

        None where the trunk is not that old yet.
        """
        end = (self._git.landed_at(commit) or 0) + self.horizon
        if (self._git.tip_time or 0) < end:
            return None
        return self._git.trunk_at(end)

    def until(self, commit: str) -> str:
        """Return the commit of the mainline up to which work is followed: its horizon, or the tip.

        ``commit`` is the commit of the trunk that has all of the work.
        """
        return self.end_of(commit) or self.graph.mainline[0]

    def end(self, work: str) -> int:
        """Return the index on the mainline of the commit up to which some work is followed."""
        return self.graph.mainline_index[self.until(work)]


class LinesOfCommit(msgspec.Struct):
    """The followed lines that one commit wrote.

    Attributes:
        works: how many works with these lines are still followed.
        paths: the files that had some of them.
        takers: by line id, the commits that took the line.
        merges: by line id, the last merge in which the line was lost.
    """

    works: int = 0
    paths: set[str] = set()
    takers: dict[int, tuple[str, ...]] = {}
    merges: dict[int, str] = {}


class FollowedLines:
    """The followed lines of all works.

    Attributes:
        commits: the lines of each commit that has some, while a work with them is followed.
        owners: by line id, the commit that wrote the line; id 0 is not a line.
        lost_sight: the commits of which a line was in a file that git could not compare.
    """

    def __init__(self, works: Iterable[Collection[str]]) -> None:
        """Take the commits that wrote the lines of each work."""
        self.lost_sight: set[str] = set()
        self.commits = defaultdict[str, LinesOfCommit](LinesOfCommit)
        for parts in works:
            for commit in parts:
                self.commits[commit].works += 1
        self.owners = [""]

    def new(self, commit: str, path: str, counting: Sequence[bool]) -> LineIds:
        """Return ids for the lines that a commit adds to a file.

        The id of a line that does not count is 0, and so are all ids where the lines of the commit
        are not followed.
        """
        ids = [0] * len(counting)
        if commit not in self.commits:
            return ids
        for index, counts in enumerate(counting):
            if counts:
                ids[index] = len(self.owners)
                self.owners.append(commit)
        self.commits[commit].paths.add(path)
        return ids

    def moved(self, ids: LineIds, path: str) -> None:
        """Note that lines are in another file now."""
        for commit in {self.owners[line] for line in ids}:
            if commit in self.commits:
                self.commits[commit].paths.add(path)

    def take(self, ids: Iterable[int], commit: str) -> None:
        """Note that a commit took lines away."""
        for line in ids:
            lines = self.commits.get(self.owners[line])
            if lines:
                lines.takers[line] = (*lines.takers.get(line, ()), commit)

    def lose(self, ids: Iterable[int], merge: str) -> None:
        """Note that a merge has lines no more that one of its parents has, and that none took."""
        for line in ids:
            lines = self.commits.get(self.owners[line])
            if lines and line not in lines.takers:
                lines.merges[line] = merge

    def drop(self, parts: Collection[str]) -> None:
        """Forget the lines of commits that are not part of another work that is followed."""
        for commit in parts:
            self.commits[commit].works -= 1
            if not self.commits[commit].works:
                del self.commits[commit]

    def of(self, parts: Collection[str], state: State) -> set[int]:
        """Return the ids of the lines of some commits that a state has."""
        commits = frozenset(parts)
        paths = set()
        for commit in parts:
            paths |= self.commits[commit].paths

        ids = set()
        for path in paths:
            for line in state.get(path, ()):
                if self.owners[line] in commits:
                    ids.add(line)
        return ids
