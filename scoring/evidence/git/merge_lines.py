"""What a merge commit adds by itself, and not by the commits that it brings together."""

from collections import Counter
from collections.abc import Collection, Sequence

from .changes import CommitPair
from .line_history import LineHistory
from .patches import FileLine, files_after, hashes_added


def changes_of_its_own(
    lines: LineHistory, merge: str, parents: Sequence[str]
) -> bool | None:
    """Return whether a merge has a file as none of its parents has it; None if git cannot say."""
    changed: set[str] | None = None
    for patch in lines.files([CommitPair(merge, parent) for parent in parents]):
        if patch is None:
            return None
        paths = set(files_after(patch))
        changed = paths if changed is None else changed & paths
    return bool(changed)


def added_by_merge(
    lines: LineHistory, merge: str, parents: Sequence[str], trunk: Collection[str]
) -> Counter[FileLine] | None:
    """Count the lines of a merge, by path and hash, that are in none of its parents.

    A merge without such lines counts with those that are neither in its first parent nor in one of
    the trunk: another parent may have been made to have what a session wrote.

    Args:
        lines: the lines of the repository.
        merge: the merge.
        parents: its parents.
        trunk: the commits of the trunk.

    Returns:
        None where git cannot say.
    """
    own: Counter[FileLine] | None = None
    not_on_trunk: Counter[FileLine] | None = None
    pairs = [CommitPair(merge, parent) for parent in parents]
    for number, patch in enumerate(lines.patches(pairs)):
        if patch is None:
            return None

        added = hashes_added(patch, is_strict=True)
        own = added if own is None else own & added
        if not_on_trunk is None:
            not_on_trunk = added
        elif parents[number] in trunk:
            not_on_trunk &= added
    return own or not_on_trunk
