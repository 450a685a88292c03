"""Where the lines of commits went.

Each line is followed forwards, as ``git blame -w`` follows it back.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from scoring.evidence.git.changes import CommitPair, changes
from scoring.evidence.git.followed_lines import (
    Counts,
    Fate,
    FollowedLines,
    FollowedWork,
    LineIds,
    State,
)
from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.line_history import LineHistory
from scoring.evidence.git.patches import FilePatch, Hunk, Patch

_NEW_LINE = -1  # in a merge: a line that is new to one parent and counts
_NEW_BLANK = -2  # in a merge: a line that is new to one parent and does not count
_MOST_SPLITS = 100  # files of a commit, gone or new, among which split files are looked for


def fates(
    history: LineHistory, graph: CommitGraph, works: Sequence[FollowedWork], counts: Counts
) -> Iterator[tuple[int, Fate | None]]:
    """Follow the lines of works, in files that ``counts`` accepts.

    Yields:
        The index of a work and what became of it, as soon as that is known; None where git lacks
        its lines, or what a commit on the way did to a file that has some.

    Raises:
        GitError: the trunk cannot be read.
    """
    waiting = Counter[str]()
    for work in works:
        waiting.update(work.parts)
    lines = FollowedLines(waiting)
    order = _commits_to_read(graph, works, set(lines.waiting))
    begins = defaultdict[str, list[int]](list)
    ends = defaultdict[str, list[int]](list)
    for index, work in enumerate(works):
        begins[work.commit].append(index)
        ends[work.until].append(index)

    added: dict[int, set[int]] = {}
    walk = _Walk(history, graph, set(lines.waiting), lines, counts)
    for commit, state in walk.states(order):
        for index in begins.get(commit, ()):
            added[index] = lines.of(works[index].parts, state)
        for index in ends.get(commit, ()):
            work = works[index]
            lines_of_work = added.pop(index)
            if not lines.lost_sight.isdisjoint(work.parts):
                yield index, None
            else:
                yield index, _fate(lines_of_work, work, state, graph, lines)
            lines.drop(work.parts)


def _fate(
    added: set[int], work: FollowedWork, state: State, graph: CommitGraph, lines: FollowedLines
) -> Fate:
    end = graph.mainline_index.get(work.until, 0)
    gone = sorted(added - lines.of(work.parts, state))
    taken: list[tuple[str, ...]] = []
    taken_by = Counter[str]()
    for line in gone:
        takers = dict.fromkeys(c for c in lines.taken(line) if graph.introduced[c] >= end)
        taken.append(tuple(takers))
        taken_by.update(list(takers))
        merge = lines.lost_in(line)
        if merge is not None and not takers and graph.introduced[merge] >= end:
            taken_by[merge] += 1
    return Fate(len(added), tuple(taken), taken_by)


def _commits_to_read(
    graph: CommitGraph, works: Sequence[FollowedWork], followed: set[str]
) -> list[str]:
    """Return the followed commits and what comes after them on the trunk, oldest first."""
    newest = min((graph.mainline_index[work.until] for work in works), default=0)
    needed: dict[str, None] = {}
    for commit in reversed(graph.trunk):
        if graph.introduced[commit] < newest:
            continue
        if commit in followed or any(parent in needed for parent in graph.parents[commit]):
            needed[commit] = None
    return list(needed)


class _Side(NamedTuple):
    """One parent of a commit: the state there, and what the commit changes against it."""

    state: State
    patch: Patch


class _Version(NamedTuple):
    """A file in one parent of a merge: the state there, and what the merge changes of the file."""

    state: State
    file: FilePatch | None


class _Walk:
    """One walk over commits, oldest first, that knows after each where the followed lines are."""

    def __init__(
        self,
        history: LineHistory,
        graph: CommitGraph,
        followed: set[str],
        lines: FollowedLines,
        counts: Counts,
    ) -> None:
        self._history = history
        self._graph = graph
        self._followed = followed
        self._lines = lines
        self._counts = counts

    def states(self, order: Sequence[str]) -> Iterator[tuple[str, State]]:
        """Yield each commit, and where the followed lines are in it."""
        parents = {commit: self._parents_here(commit) for commit in order}
        children = Counter[str]()
        pairs: list[CommitPair] = []
        of_merges: list[CommitPair] = []
        for commit in order:
            children.update(parents[commit])
            pairs_here = [CommitPair(commit, parent) for parent in parents[commit] or [""]]
            pairs += pairs_here
            if len(pairs_here) > 1:
                of_merges += pairs_here

        simple = self._simple_merges(of_merges)
        patches = self._history.patches([pair for pair in pairs if pair not in simple])

        states: dict[str, State] = {}
        for commit in order:
            before = []
            for parent in parents[commit] or [""]:
                children[parent] -= 1
                if children[parent] > 0:
                    before.append(dict(states.get(parent, {})))
                else:
                    before.append(states.pop(parent, {}))

            sides = []
            for parent, state in zip(parents[commit] or [""], before, strict=True):
                pair = CommitPair(commit, parent)
                patch = simple[pair] if pair in simple else next(patches)
                if patch is None:
                    self._lose_sight(pair, before)
                    patch = []
                sides.append(_Side(state, [*patch, *self._split_files(pair, state, patch)]))

            if len(sides) == 1:
                state = self._step(*sides[0], commit)
            else:
                state = self._merge(sides, commit)
            if children[commit]:
                states[commit] = state
            yield commit, state

    def _parents_here(self, commit: str) -> list[str]:
        """Return the parents of a commit, without those where a shallow clone ends."""
        return [parent for parent in self._graph.parents[commit] if parent in self._graph]

    def _lose_sight(self, pair: CommitPair, states: Sequence[State]) -> None:
        """Leave the files out of states of which git cannot say what a commit changes.

        Which files these are it mostly can say; if not, all are left out.
        """
        self._lines.lost_sight.add(pair.commit)
        changed = changes(self._history.repository, [pair]).get(pair)
        for state in states:
            paths = list(state)
            if changed is not None:
                paths = [change.path for change in changed]
            for path in paths:
                lines = state.pop(path, ())
                self._lines.lost_sight.update(self._lines.owners[line] for line in lines)

    def _simple_merges(self, pairs: Sequence[CommitPair]) -> dict[CommitPair, Patch]:
        """Return what merges change that have no file of which each parent has other content."""
        sides: dict[str, dict[CommitPair, Patch]] = {}
        unread: set[str] = set()
        for pair, patch in zip(pairs, self._history.files(pairs), strict=True):
            if patch is None:
                unread.add(pair.commit)
            else:
                sides.setdefault(pair.commit, {})[pair] = patch

        simple: dict[CommitPair, Patch] = {}
        for merge, patches in sides.items():
            changed = [set(_files_after(patch)) for patch in patches.values()]
            if merge not in unread and not set.intersection(*changed):
                simple |= patches
        return simple

    def _split_files(self, pair: CommitPair, state: State, patch: Patch) -> Patch:
        """Return the new files that were split off renamed ones that have followed lines."""
        follows_all = pair.commit in self._followed
        sources = []
        for file in patch:
            if file.status == "R" and (follows_all or file.old_path in state):
                sources.append(file.old_path)
        if not 0 < len(sources) <= _MOST_SPLITS:
            return []

        new = [file.path for file in patch if file.status == "A"]
        split = (self._history.file_made_of(pair, sources, path) for path in new[:_MOST_SPLITS])
        return [file for file in split if file is not None]

    # A commit with one parent

    def _step(self, state: State, patch: Patch, commit: str) -> State:
        """Return the state after a commit, and note which lines it took."""
        owner = commit if commit in self._followed else ""
        old = {}
        for file in patch:
            if file.status != "A" and file.old_path in state:
                old[file.old_path] = state[file.old_path]
        for file in patch:
            if file.status in "DRT":
                state.pop(file.old_path, None)

        for file in patch:
            if file.status == "D":
                continue
            old_lines = old.get(file.old_path, []) if file.status in "MR" else []
            ids = self._changed(old_lines, file, owner)
            if any(ids):
                state[file.path] = ids
                if file.status == "R":
                    self._lines.moved(ids, file.path)
            else:
                state.pop(file.path, None)

        gone: set[int] = set()
        for file in patch:
            gone.update(_removed_lines(old.get(file.old_path, []), file))
        if gone:
            for file in patch:
                gone.difference_update(state.get(file.path, ()))
        self._lines.take(gone, commit)
        return state

    def _changed(self, old_lines: LineIds, file: FilePatch, owner: str) -> LineIds:
        """Return the lines of a file after a commit.

        Args:
            old_lines: its lines before.
            file: what the commit changes.
            owner: the commit, where the lines that it adds are followed; else "".
        """
        if not file.hunks:
            return old_lines

        hunks = file.hunks
        if not (owner and self._counts(file.path)):
            hunks = [hunk for hunk in hunks if hunk.start < len(old_lines)]

        ids: LineIds = []
        for counting, unchanged in self._hunks(old_lines, hunks, file.path):
            ids += unchanged
            if owner:
                ids += self._lines.new(owner, file.path, counting)
            else:
                ids += [0] * len(counting)
        while ids and not ids[-1]:
            ids.pop()
        return ids

    def _hunks(
        self, old_lines: LineIds, hunks: Iterable[Hunk], path: str
    ) -> Iterator[tuple[list[bool], LineIds]]:
        """Yield for each hunk which of its new lines count, and the unchanged lines above it.

        The lines below the last hunk come last, with no new ones.
        """
        counts = self._counts(path)
        top = 0
        for hunk in hunks:
            unchanged = old_lines[top : hunk.start]
            missing = hunk.start - max(top, len(old_lines))
            yield [counts and key != 0 for key in hunk.added], unchanged + [0] * missing
            top = hunk.start + hunk.removed_count
        yield [], old_lines[top:]

    # A merge

    def _merge(self, sides: Sequence[_Side], commit: str) -> State:
        """Return the state after a merge, and note which lines were lost in it.

        A file that the merge has as its first parent has it keeps the lines that it has there.
        """
        owner = commit if commit in self._followed else ""
        changed = [_files_after(side.patch) for side in sides]
        state = dict(sides[0].state)
        for file in sides[0].patch:
            state.pop(file.old_path, None)

        for path in changed[0]:
            versions = []
            for side, files in zip(sides, changed, strict=True):
                versions.append(_Version(side.state, files.get(path)))
            ids = self._merged(path, versions, owner)
            if any(ids):
                state[path] = ids
                if not any(version.state.get(path) is ids for version in versions):
                    self._lines.moved(ids, path)

        self._note_lost(sides, state, commit)
        return state

    def _merged(self, path: str, versions: Sequence[_Version], owner: str) -> LineIds:
        """Return the lines of a file after a merge, by its versions in the parents."""
        for state, file in versions:
            if file is None:  # the same as in this parent
                return state.get(path, [])
        for state, file in versions:
            if file is not None and file.same_content and file.status == "R":
                return state.get(file.old_path, [])

        ids: LineIds | None = None
        for state, file in versions:
            if file is None or file.status not in "MR":
                continue
            of_parent = self._marked(state.get(file.old_path, []), file)
            ids = of_parent if ids is None else _combined(ids, of_parent)

        if ids is None:  # new in all parents
            file = versions[0].file
            return self._changed([], file, owner) if file is not None and owner else []
        return [self._id_in_merge(line, path, owner) for line in ids]

    def _marked(self, old_lines: LineIds, file: FilePatch) -> LineIds:
        """Return the lines of a merged file as one parent knows them.

        Lines that it does not know have marks.
        """
        if not file.hunks:
            return old_lines
        ids: LineIds = []
        for counting, unchanged in self._hunks(old_lines, file.hunks, file.path):
            ids += unchanged
            ids += [_NEW_LINE if counts else _NEW_BLANK for counts in counting]
        return ids

    def _id_in_merge(self, line: int, path: str, owner: str) -> int:
        if line == _NEW_LINE and owner:
            return self._lines.new(owner, path, [True])[0]
        return max(line, 0)

    def _note_lost(self, sides: Sequence[_Side], state: State, commit: str) -> None:
        """Note the lines that a parent has and the merge has not, and that no commit took."""
        changed: list[LineIds] = []
        kept: set[int] = set()
        for side in sides:
            for path, ids in side.state.items():
                ids_after = state.get(path, [])
                if ids_after is not ids:
                    changed.append(ids)
                    kept.update(ids_after)
            for file in side.patch:
                kept.update(state.get(file.path, ()))

        for ids in changed:
            lost = [line for line in ids if line not in kept and not self._lines.taken(line)]
            self._lines.lose(lost, commit)


def _removed_lines(old_lines: LineIds, file: FilePatch) -> LineIds:
    """Return the lines of a file that a commit removes, or moves to another file."""
    if file.status in "DT":
        return old_lines
    ids: LineIds = []
    for hunk in file.hunks if old_lines else ():
        ids += old_lines[hunk.start : hunk.start + hunk.removed_count]
    return ids


def _files_after(patch: Patch) -> dict[str, FilePatch]:
    """Return the files that a patch changes, without those that it deletes, by their paths."""
    return {file.path: file for file in patch if file.status != "D"}


def _combined(ids: LineIds, others: LineIds) -> LineIds:
    """Return, line by line, what either of two versions of a merged file knows."""
    pairs = zip_longest(ids, others, fillvalue=0)
    return [other if line < 0 <= other else line for line, other in pairs]
