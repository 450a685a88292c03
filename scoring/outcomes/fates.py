"""Where lines of commits went, each followed forwards through one stream of patches, as ``git blame -w`` goes back."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.hunks import PatchedFile, PathFilter, read_patches, read_split
from scoring.evidence.git.repository import GitRepository

Lines: TypeAlias = list[
    int
]  # of a file: the number of each followed one, 0 for any other, and for all after the last
State: TypeAlias = dict[
    str, Lines
]  # by file, where there are followed lines; a list is never changed, only replaced

_NEW, _ASIDE = (
    -1,
    -2,
)  # lines that are new to one parent of a merge: one that counts, and one that does not
_MOST_SPLITS = 100  # files that went, and new ones, among which splits are looked for in one commit


class Fate(NamedTuple):
    """What became of ``added`` lines of some work; ``taken`` has, for each that is gone, the commits that did it."""

    added: int
    taken: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Work:
    """Some work: the commit that has all of it, those that wrote its lines, and until which commit it is watched."""

    commit: str
    parts: tuple[str, ...]
    until: str


@dataclass(slots=True)
class _Ledger:
    """The followed lines: the commit of each, the files that had a commit's lines, and what took each away.

    ``waiting`` counts the works with a commit that are still watched; without any, its lines are dropped.
    """

    waiting: Counter[str]
    owners: list[str] = field(default_factory=lambda: [""])
    places: dict[str, set[str]] = field(default_factory=dict)
    takers: dict[str, dict[int, tuple[str, ...]]] = field(default_factory=dict)

    def new(self, commit: str, path: str, marks: bytes) -> Lines:
        """Return the numbers of new lines; 0 for one that does not count."""
        found = []
        for counts in marks:
            if counts:
                self.owners.append(commit)
            found.append(len(self.owners) - 1 if counts else 0)
        self.places.setdefault(commit, set()).add(path)
        return found

    def moved(self, lines: Lines, path: str) -> None:
        for commit in {self.owners[n] for n in set(lines)} - {""}:
            if commit in self.places:
                self.places[commit].add(path)

    def take(self, lines: Iterable[int], commit: str) -> None:
        alone = (commit,)  # one for all of its lines
        for line in lines:
            if line > 0 and self.waiting[self.owners[line]]:
                taken = self.takers.setdefault(self.owners[line], {})
                taken[line] = taken[line] + alone if line in taken else alone

    def taken(self, line: int) -> tuple[str, ...]:
        """Return the commits that took a line away."""
        return self.takers.get(self.owners[line], {}).get(line, ())

    def drop(self, parts: Collection[str]) -> None:
        """Forget the lines of some commits, as far as they are part of no other work that is watched."""
        self.waiting.subtract(parts)
        for commit in parts:
            if not self.waiting[commit]:
                self.places.pop(commit, None)
                self.takers.pop(commit, None)

    def of(self, parts: Iterable[str], state: State) -> set[int]:
        """Return which lines of some commits are in a state."""
        paths = {path for commit in parts for path in self.places.get(commit, ())}
        owners, own = self.owners, frozenset(parts)
        return {n for path in paths for n in state.get(path, ()) if n and owners[n] in own}


def fates(
    repository: GitRepository, graph: CommitGraph, works: Sequence[Work], counts: PathFilter
) -> Iterator[tuple[int, Fate]]:
    """Yield the place of each work and what became of it in files that ``counts`` takes, as soon as that is known.

    GitError for an unreadable trunk.
    """
    ledger = _Ledger(Counter(part for work in works for part in work.parts))
    order = _needed(graph, works, set(ledger.waiting))
    begins, ends = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    for n, work in enumerate(works):
        begins[work.commit].append(n)
        ends[work.until].append(n)
    added: dict[int, set[int]] = {}
    for commit, state in _states(repository, graph, order, set(ledger.waiting), ledger, counts):
        for n in begins.get(commit, ()):
            added[n] = ledger.of(works[n].parts, state)
        until = graph.mainline_index.get(commit, 0)
        for n in ends.get(commit, ()):
            own, parts = added.pop(n), works[n].parts
            gone = sorted(own - ledger.of(parts, state))
            takers = (
                [c for c in ledger.taken(line) if graph.introduced[c] >= until] for line in gone
            )
            yield n, Fate(len(own), tuple(tuple(dict.fromkeys(commits)) for commits in takers))
            ledger.drop(parts)


def _needed(graph: CommitGraph, works: Sequence[Work], followed: set[str]) -> list[str]:
    newest = min((graph.mainline_index[work.until] for work in works), default=0)
    found: dict[str, None] = {}
    for commit in reversed(graph.trunk):
        holds = commit in followed or any(parent in found for parent in graph.parents[commit])
        if holds and graph.introduced[commit] >= newest:
            found[commit] = None
    return list(found)


def _states(
    repository: GitRepository,
    graph: CommitGraph,
    order: Sequence[str],
    followed: set[str],
    ledger: _Ledger,
    counts: PathFilter,
) -> Iterator[tuple[str, State]]:
    parents = {commit: [p for p in graph.parents[commit] if p in graph] for commit in order}
    waiting = Counter(parent for commit in order for parent in parents[commit])
    pairs = [CommitPair(commit, parent) for commit in order for parent in parents[commit] or [""]]
    simple = _simple_merges(
        repository, [pair for pair in pairs if len(parents[pair[0]]) > 1], counts
    )
    stream = read_patches(repository, [pair for pair in pairs if pair not in simple], counts)
    states: dict[str, State] = {}
    for commit in order:
        owner = commit if commit in followed else ""
        sides = []
        for parent in parents[commit] or [""]:
            waiting[parent] -= 1
            before = dict(states.get(parent, {})) if waiting[parent] > 0 else states.pop(parent, {})
            pair = CommitPair(commit, parent)
            files = simple[pair] if pair in simple else next(stream)
            held = None if owner else before
            sides.append((before, files + _splits(repository, pair, held, files, counts)))
        state = (
            _step(*sides[0], commit, owner, ledger)
            if len(sides) == 1
            else _merge(sides, owner, ledger)
        )
        if waiting[commit]:
            states[commit] = state
        yield commit, state
    next(stream, None)


def _simple_merges(
    repository: GitRepository, pairs: Sequence[CommitPair], counts: PathFilter
) -> dict[CommitPair, list[PatchedFile]]:
    sides: dict[str, dict[CommitPair, list[PatchedFile]]] = {}
    for pair, files in zip(
        pairs, read_patches(repository, pairs, counts, with_hunks=False), strict=True
    ):
        sides.setdefault(pair[0], {})[pair] = files
    found: dict[CommitPair, list[PatchedFile]] = {}
    for merge in sides.values():
        if not set.intersection(
            *({file.path for file in files if file.status != "D"} for files in merge.values())
        ):
            found |= merge
    return found


def _splits(
    repository: GitRepository,
    pair: CommitPair,
    held: State | None,
    files: Sequence[PatchedFile],
    counts: PathFilter,
) -> list[PatchedFile]:
    sources = [
        file.old_path
        for file in files
        if file.status == "R" and (held is None or file.old_path in held)
    ]
    new = (
        [file.path for file in files if file.status == "A"]
        if 0 < len(sources) <= _MOST_SPLITS
        else []
    )
    found = (read_split(repository, pair, sources, path, counts) for path in new[:_MOST_SPLITS])
    return [file for file in found if file]


def _step(
    state: State, files: Sequence[PatchedFile], commit: str, owner: str, ledger: _Ledger
) -> State:
    old = {
        file.old_path: state[file.old_path]
        for file in files
        if file.status != "A" and file.old_path in state
    }
    kept: set[int] = set()
    gone: list[int] = []
    for file in files:
        if file.status in "DRT":
            state.pop(file.old_path, None)
    for file in files:
        if file.status == "D":
            continue
        before = old.get(file.old_path, []) if file.status in "MR" else []
        lines = _changed(before, file, owner, ledger)
        if any(lines):
            state[file.path] = lines
            if file.status == "R":
                ledger.moved(lines, file.path)
        else:
            state.pop(file.path, None)
    for file in files:
        if file.old_path in old:
            gone += old.pop(file.old_path)
        if file.status != "D":
            kept.update(state.get(file.path, ()))
    ledger.take((line for line in gone if line not in kept), commit)
    return state


def _changed(
    before: Lines, file: PatchedFile, owner: str, ledger: _Ledger, merged: bool = False
) -> Lines:
    if not file.hunks:
        return before
    lines: Lines = []
    at = 0
    for hunk in file.hunks:
        if hunk.start > at:
            lines += before[at : hunk.start]
            lines += [0] * (hunk.start - max(at, len(before)))
        if merged:
            lines += [_NEW if counts else _ASIDE for counts in hunk.added]
        else:
            lines += ledger.new(owner, file.path, hunk.added) if owner else [0] * len(hunk.added)
        at = hunk.start + hunk.removed
    lines += before[at:]
    while not merged and lines and not lines[-1]:
        lines.pop()
    return lines


def _merge(
    sides: Sequence[tuple[State, Sequence[PatchedFile]]], owner: str, ledger: _Ledger
) -> State:
    changed = [{file.path: file for file in files if file.status != "D"} for _, files in sides]
    gone = [{file.old_path for file in files if file.status in "DR"} for _, files in sides]
    paths: dict[str, None] = {}
    for (before, files), lost in zip(sides, gone, strict=True):
        paths.update(dict.fromkeys(path for path in before if path not in lost))
        paths.update(
            dict.fromkeys(
                file.path for file in files if file.status == "R" and file.old_path in before
            )
        )
    if owner:
        paths.update(
            dict.fromkeys(path for path in changed[0] if all(path in files for files in changed))
        )
    state: State = {}
    for path in paths:
        of = [(before, files.get(path)) for (before, _), files in zip(sides, changed, strict=True)]
        lines = _merged(path, of, owner, ledger)
        if any(lines):
            state[path] = lines
            if not any(before.get(path) is lines for before, _ in of):
                ledger.moved(lines, path)
    return state


def _merged(
    path: str, sides: Sequence[tuple[State, PatchedFile | None]], owner: str, ledger: _Ledger
) -> Lines:
    for before, file in sides:
        if file is None:  # the same as in this parent
            return before.get(path, [])
    for before, file in sides:
        if file is not None and file.has_same_content and file.status == "R":
            return before.get(file.old_path, [])
    lines: Lines | None = None
    for before, file in sides:
        if file is None or file.status not in "MR":
            continue
        own = _changed(before.get(file.old_path, []), file, "", ledger, merged=True)
        pairs = zip_longest(own if lines is None else lines, own, fillvalue=0)
        lines = [b if a < 0 <= b else a for a, b in pairs]
    if lines is None:  # new in all parents
        file = sides[0][1]
        return _changed([], file, owner, ledger) if file is not None and owner else []
    return [
        ledger.new(owner, path, b"\1")[0] if line == _NEW and owner else max(line, 0)
        for line in lines
    ]
