"""Which commits changed a file when, and which took a session's edits."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from scoring.evidence.attribution.session_trees import (
    A_SECOND,
    NO_ITERATION,
    Asked,
    SessionPart,
    Tree,
)


class _Change(NamedTuple):
    """A change of a file by the commit of an iteration: the end of its second, and the index."""

    time: int
    iteration: int


class ChangedFiles:
    """Which iterations of a log changed a file when, and which took a session's edits.

    Attributes:
        asked: the iterations.
    """

    def __init__(self, asked: Sequence[Asked]) -> None:
        self.asked = asked
        self._changes: dict[str, list[_Change]] = {}
        for index, question in enumerate(asked):
            if question.authored is None:
                continue
            for name in question.files:
                change = _Change(question.authored + A_SECOND, index)
                self._changes.setdefault(name, []).append(change)
        for changes in self._changes.values():
            changes.sort()

    def pending(self, index: int, part: SessionPart) -> set[str]:
        """Return the files edited in a part that no commit took before that of an iteration."""
        pending = set()
        for name in part.tree.edited:
            edited = part.last_edit(name)
            if edited is None:
                continue
            takers = {change.iteration for change in self._between(name, edited, index)[:2]}
            if takers <= {index} and not self._is_in_amended(name, edited, index, part.tree):
                pending.add(name)
        return pending

    def _is_in_amended(self, name: str, edited: int, index: int, tree: Tree) -> bool:
        """Return whether another commit has an edit that it was amended with.

        Its author time is before the edit. After it come the time of its checkpoint, which holds
        the session, and that of the commit as it is now.
        """
        for change in self._changes[name]:
            if change.time >= edited:
                break
            other = self.asked[change.iteration]
            if change.iteration == index or (other.committed or 0) < edited:
                continue
            for file in tree.files:
                is_listed = file.checkpoint in other.checkpoints
                if is_listed and edited <= (file.stored or 0) <= (other.committed or 0) + A_SECOND:
                    return True
        return False

    def _between(self, name: str, since: int, index: int) -> Sequence[_Change]:
        """Return the changes of a file from a time until the commit of an iteration."""
        changes = self._changes[name]
        end = self.asked[index].authored or 0
        return changes[bisect_left(changes, (since, -1)) : bisect_left(changes, (end, -1))]

    def untaken(self, index: int, part: SessionPart) -> SessionPart:
        """Return a part from the last other commit on that took edits before an iteration's."""
        tree = part.tree
        start = part.start
        for name, edits in tree.edited.items():
            edits_inside = part.inside(edits)
            if not edits_inside:
                continue
            for change in self._between(name, tree.times[edits_inside[0]], index):
                if change.iteration != index:
                    start = max(start, bisect_right(tree.times, change.time))
        return part._replace(start=min(start, part.end))

    def took_from(self, index: int, part: SessionPart) -> bool:
        """Return whether an iteration's commit took an edit of a part, which may end at another.

        Where a part ends at a commit that names the same checkpoint, both took its edits.
        """
        question = self.asked[index]
        checkpoints = self.asked[part.place].checkpoints if part.place >= 0 else ()
        is_own = part.place in (index, NO_ITERATION)
        if is_own or not set(question.checkpoints).isdisjoint(checkpoints):
            return any(part.last_edit(name) is not None for name in question.files)
        return not self.pending(index, part).isdisjoint(question.files)

    def name_of(self, path: str, folder: str) -> str:
        """Return the changed file that an edited path is, or "" where it is not one of them.

        Args:
            path: the path.
            folder: the folder of the line.
        """
        below_folder = path.removeprefix(f"{folder}/")
        if below_folder in self._changes:
            return below_folder

        parts = path.split("/")
        for first in range(len(parts) - 1):
            name = "/".join(parts[first:])
            if name in self._changes:
                return name
        return ""
