"""What a merge commit adds by itself, and not by the commits that it brings together."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import reduce
from operator import and_

from .changes import CommitPair
from .line_history import LineHistory
from .patches import FileLine, files_after, hashes_added


def may_change_files(lines: LineHistory, merge: str, parents: Sequence[str]) -> bool:
    """Return whether a merge has a file as none of its parents has it; True if git cannot say."""
    changed = []
    for patch in lines.files(CommitPair.with_parents(merge, parents)):
        if patch is None:
            return True
        changed.append(set(files_after(patch)))
    return bool(set.intersection(*changed))


def added_by_merge(
    lines: LineHistory, merge: str, parents: Sequence[str], trunk: Collection[str]
) -> Counter[FileLine] | None:
    """Count the lines of a merge that are in none of its parents, as strict :func:`hashes_added`.

    Without any, count the lines that are neither in its first parent nor in a parent on the trunk:
    another parent may have been made to have what a session wrote.

    Args:
        lines: the lines of the repository.
        merge: the merge.
        parents: its parents in their order, at least one.
        trunk: the commits of the trunk.

    Returns:
        None where git cannot say.
    """
    added = []
    for patch in lines.patches(CommitPair.with_parents(merge, parents)):
        if patch is None:
            return None
        added.append(hashes_added(patch, is_strict=True))

    over_trunk = [
        of_parent
        for parent, of_parent in zip(parents, added, strict=True)
        if parent in trunk
    ]
    return reduce(and_, added) or reduce(and_, over_trunk, added[0])
