"""The lines that are followed through a history, each by an id."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

Counts = Callable[[str], bool]
"""Says of a path whether its lines count."""

LineIds: TypeAlias = list[int]
"""The lines of a file from its top: the id of a followed line, 0 for any other one.

What comes after the last followed line is left out.
"""

State: TypeAlias = dict[str, LineIds]
"""The files with followed lines. A list in it is never changed, only replaced."""


class FollowedWork(NamedTuple):
    """Some work, to follow its lines.

    Attributes:
        commit: the commit of the trunk that has all of it.
        parts: the commits that wrote its lines: that one, or those that a merge brought.
        until: the commit of the mainline up to which it is followed.
    """

    commit: str
    parts: tuple[str, ...]
    until: str


class Fate(NamedTuple):
    """What became of the lines that some work added.

    Attributes:
        added: how many lines of code it added.
        taken: for each line that is gone, the commits, merges aside, that took it.
        taken_by: how many lines each commit took, merges too.
    """

    added: int
    taken: tuple[tuple[str, ...], ...]
    taken_by: Mapping[str, int]


@dataclass(slots=True)
class FollowedLines:
    """The followed lines of all works.

    Attributes:
        waiting: by commit, how many works with its lines are still followed.
        owners: by line id, the commit that wrote the line; id 0 is not a line.
        paths: by commit, the files that had lines of it.
        takers: by commit and line id, the commits that took the line.
        merges: by commit and line id, the merge in which the line was lost.
        lost_sight: the commits of which a line was in a file that git could not compare.
    """

    waiting: Counter[str]
    owners: list[str] = field(default_factory=lambda: [""])
    paths: dict[str, set[str]] = field(default_factory=dict)
    takers: dict[str, dict[int, tuple[str, ...]]] = field(default_factory=dict)
    merges: dict[str, dict[int, str]] = field(default_factory=dict)
    lost_sight: set[str] = field(default_factory=set)

    def new(self, commit: str, path: str, counting: Iterable[bool]) -> LineIds:
        """Return ids for the lines that a commit adds to a file.

        The id of a line that does not count is 0.
        """
        ids = []
        for counts in counting:
            if counts:
                self.owners.append(commit)
            ids.append(len(self.owners) - 1 if counts else 0)
        self.paths.setdefault(commit, set()).add(path)
        return ids

    def moved(self, ids: LineIds, path: str) -> None:
        """Note that lines are in another file now."""
        for commit in {self.owners[line] for line in set(ids)}:
            if commit in self.paths:
                self.paths[commit].add(path)

    def take(self, ids: Iterable[int], commit: str) -> None:
        """Note that a commit took lines away."""
        for line in ids:
            owner = self.owners[line] if line > 0 else ""
            if self.waiting[owner]:
                taken = self.takers.setdefault(owner, {})
                taken[line] = (*taken.get(line, ()), commit)

    def lose(self, ids: Iterable[int], merge: str) -> None:
        """Note that a merge has lines no more that one of its parents has."""
        for line in ids:
            owner = self.owners[line] if line > 0 else ""
            if self.waiting[owner]:
                self.merges.setdefault(owner, {})[line] = merge

    def taken(self, line: int) -> tuple[str, ...]:
        """Return the commits that took a line."""
        return self.takers.get(self.owners[line], {}).get(line, ())

    def lost_in(self, line: int) -> str | None:
        """Return the last merge in which a line was lost."""
        return self.merges.get(self.owners[line], {}).get(line)

    def drop(self, parts: Collection[str]) -> None:
        """Forget the lines of commits that are not part of another work that is followed."""
        self.waiting.subtract(parts)
        for commit in parts:
            if not self.waiting[commit]:
                for table in (self.paths, self.takers, self.merges):
                    table.pop(commit, None)

    def of(self, parts: Collection[str], state: State) -> set[int]:
        """Return the ids of the lines of some commits that a state has."""
        commits = frozenset(parts)
        paths: set[str] = set()
        for commit in parts:
            paths |= self.paths.get(commit, set())

        ids: set[int] = set()
        for path in paths:
            for line in state.get(path, ()):
                if line and self.owners[line] in commits:
                    ids.add(line)
        return ids
