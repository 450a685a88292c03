"""The ancestry of a trunk and of the commits beside it, in memory: one walk answers what contains what.

*Mainline* is the trunk's first-parent line; every other commit of the trunk was brought in by a merge on it.
"""

import heapq
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

Line = tuple[str, tuple[str, ...]]  # a commit and its parents


class Places(NamedTuple):
    """Places in a list, as bits: bit n is the place ``first + n``."""

    first: int
    bits: int

    def __or__(self, other: "Places") -> "Places":
        if not self.bits or not other.bits:
            return self if self.bits else other
        first = min(self.first, other.first)
        return Places(first, self.bits << self.first - first | other.bits << other.first - first)

    def among(self, some: int = -1) -> Iterator[int]:
        """Yield those of these places that are bits of ``some``, in order."""
        left = self.bits & some >> self.first
        while left:
            bit = left & -left
            yield self.first + bit.bit_length() - 1
            left ^= bit


NOWHERE = Places(0, 0)


class CommitGraph:
    """Commits and their parents. Children come before their parents, in both parts and over both."""

    def __init__(self, trunk: Sequence[Line], beside: Sequence[Line] = ()) -> None:
        """Take the commits of the trunk, its tip first, and those beside it with a known ancestry."""
        self.parents: Mapping[str, tuple[str, ...]] = dict((*beside, *trunk))
        self.trunk = [sha for sha, _ in trunk]  # newest first
        self._of_trunk = frozenset(self.trunk)
        self._beside = [sha for sha, _ in beside]
        self._order = [*self._beside, *self.trunk]
        self._bases: dict[frozenset[str], list[str]] = {}
        self._behind: dict[frozenset[str], set[str]] = {}

    @cached_property
    def position(self) -> dict[str, int]:
        """The place of a commit: smaller is newer, and no commit comes before its descendants."""
        return {sha: n for n, sha in enumerate(self._order)}

    def __contains__(self, sha: str) -> bool:
        return sha in self.parents

    def first_parent(self, sha: str) -> str:
        """Return the first parent of a commit; "" when it has none."""
        return next(iter(self.parents[sha]), "")

    def on_trunk(self, sha: str) -> bool:
        """Return whether the trunk contains a commit."""
        return sha in self._of_trunk

    def side(self, sha: str) -> set[str]:
        """Return what a commit off the trunk contains that the trunk does not, itself included."""
        return _reached((sha,), self.parents, self._of_trunk)

    def boundary(self, sha: str) -> frozenset[str]:
        """Return where the side of a commit leaves the trunk, by parents on it; of a trunk commit that is itself."""
        return self._boundaries.get(sha, frozenset((sha,)))

    @cached_property
    def _boundaries(self) -> dict[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        for sha in reversed(self._beside):
            some = {found.get(parent, self._of_trunk & {parent}) for parent in self.parents[sha]}
            found[sha] = some.pop() if len(some) == 1 else frozenset().union(*some)
        return found

    def contains(self, sha: str, commit: str) -> bool:
        """Return whether a commit contains one of the trunk: by the mainline, or by what its side comes from."""
        if self.introduced[commit] >= self.newest_mainline.get(sha, len(self.mainline)):
            return True
        boundary = self.boundary(sha)
        if boundary not in self._behind:
            off = [at for at in boundary if at not in self.mainline_index]
            self._behind[boundary] = _reached(off, self.parents, self.mainline_index)
        return commit in self._behind[boundary]

    def merge_bases(self, sha: str) -> list[str]:
        """Return the best common ancestors of the trunk and a commit, newest first; [] of unrelated histories."""
        boundary = self.boundary(sha)
        if boundary not in self._bases:
            bases = self._bases[boundary] = list[str]()
            for candidate in sorted(boundary, key=self.position.__getitem__):
                if not any(self.contains(base, candidate) for base in bases):
                    bases.append(candidate)
        return self._bases[boundary]

    def counts(self, shas: Container[str]) -> dict[str, int]:
        """Return how many of ``shas`` each commit beside the trunk contains."""
        found: dict[str, int] = {}
        for sha in reversed(self._beside):
            behind = [found[parent] for parent in self.parents[sha] if parent in found]
            some = self.side(sha) if len(behind) > 1 else (sha,)
            found[sha] = sum(one in shas for one in some) + (behind[0] if len(behind) == 1 else 0)
        return found

    def containing(self, shas: Iterable[str]) -> dict[str, Places]:
        """Return for commits beside the trunk which of ``shas`` contain them, by their places; itself none does."""
        own: dict[str, Places] = {}
        for n, sha in enumerate(shas):
            own[sha] = own.get(sha, NOWHERE) | Places(n, 1)
        found: dict[str, Places] = {}
        for sha in self._beside:
            known = found.get(sha, NOWHERE) | own.get(sha, NOWHERE)
            for parent in self.parents[sha] if known.bits else ():
                if parent not in self._of_trunk:
                    found[parent] = found.get(parent, NOWHERE) | known
        return found

    def between(self, tip: str, excluded: Iterable[str]) -> list[str]:
        """Return what ``tip`` contains and none of ``excluded`` does, newest first."""
        wanted = {tip: True} | {sha: False for sha in excluded if sha in self.position}
        heap = sorted(self.position[sha] for sha in wanted)
        waiting = int(wanted[tip])
        found = []
        while waiting:
            sha = self._order[heapq.heappop(heap)]
            if wanted[sha]:
                found.append(sha)
                waiting -= 1
            for parent in self.parents[sha]:
                if parent in self.position and (
                    parent not in wanted or wanted[parent] > wanted[sha]
                ):
                    if parent not in wanted:
                        heapq.heappush(heap, self.position[parent])
                    waiting += wanted[sha] - wanted.get(parent, False)
                    wanted[parent] = wanted[sha]
        return found

    @cached_property
    def mainline(self) -> list[str]:
        """The first-parent line of the trunk, newest first."""
        line, sha = [], next(iter(self.trunk), "")
        while sha in self.parents:
            line.append(sha)
            sha = self.first_parent(sha)
        return line

    @cached_property
    def mainline_index(self) -> dict[str, int]:
        """The place of a commit on the mainline; the tip has 0."""
        return {sha: n for n, sha in enumerate(self.mainline)}

    @cached_property
    def newest_mainline(self) -> dict[str, int]:
        """The newest commit of the mainline that each commit contains, by its index there; missing when none."""
        own = self.mainline_index
        newest: dict[str, int] = {}
        for sha in reversed(self._order):
            if sha in own:
                newest[sha] = own[sha]
            elif inside := [newest[p] for p in self.parents[sha] if p in newest]:
                newest[sha] = min(inside)
        return newest

    @cached_property
    def introduced(self) -> dict[str, int]:
        """The mainline commit that brought each trunk commit in, by its index."""
        found: dict[str, int] = {}
        for index in range(len(self.mainline) - 1, -1, -1):
            todo = [self.mainline[index]]
            while todo:
                sha = todo.pop()
                if sha not in found:
                    found[sha] = index
                    todo += [p for p in self.parents[sha] if p in self.parents]
        return found

    @cached_property
    def _groups(self) -> dict[int, list[str]]:
        """What each mainline commit brought in, itself included, oldest first."""
        groups: dict[int, list[str]] = {}
        for sha in reversed(self.trunk):
            groups.setdefault(self.introduced[sha], []).append(sha)
        return groups

    def brought_by(self, sha: str) -> list[str]:
        """Return the merges that brought a trunk commit in, the one on the mainline first; [] on the mainline."""
        if sha in self.mainline_index or not self.on_trunk(sha):
            return []
        index = self.introduced[sha]
        holding = {sha}
        for commit in self._groups[index]:
            if any(p in holding for p in self.parents[commit]):
                holding.add(commit)
        found: list[str] = []
        at = self.mainline[index]
        while True:
            while self.parents[at] and self.parents[at][0] in holding:
                at = self.parents[at][0]
            if at == sha:
                return found
            found.append(at)
            at = next(p for p in self.parents[at][1:] if p in holding)

    def nearest(self, shas: Sequence[str], counts: Sequence[bool]) -> list[int | None]:
        """Return of each of ``shas`` the place of the last one before it that counts and that it contains."""
        places: dict[str, list[int]] = {}
        for n, sha in enumerate(shas):
            places.setdefault(sha, []).append(n)
        found: list[int | None] = [None] * len(shas)
        waiting = Counter(parent for parents in self.parents.values() for parent in parents)
        marks: dict[
            str, int
        ] = {}  # which places a commit contains, by their bits, while a child still waits for it
        for sha in reversed(self._order):
            mark = 0
            for parent in self.parents[sha]:
                waiting[parent] -= 1
                of_parent = marks.get(parent, 0) if waiting[parent] else marks.pop(parent, 0)
                mark = mark | of_parent if mark else of_parent
            for n in places.get(sha, ()):
                if before := mark & ((1 << n) - 1):
                    found[n] = before.bit_length() - 1
            for n in places.get(sha, ()):
                mark |= counts[n] << n
            if waiting[sha]:
                marks[sha] = mark
        return found


def _reached(
    start: Iterable[str], parents: Mapping[str, tuple[str, ...]], stop: Container[str]
) -> set[str]:
    """Return commits and what they come from, without what is in ``stop`` and what only that comes from."""
    seen = set(start)
    todo = list(seen)
    while todo:
        for parent in parents.get(todo.pop(), ()):
            if parent not in seen and parent not in stop:
                seen.add(parent)
                todo.append(parent)
    return seen
