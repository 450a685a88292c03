"""Which files a partial clone lacks, asked before git fails at them.

In a partial clone git looks through all objects before it gives up at one that is not there. That
can take it longer than all that it is asked about.
"""

from collections.abc import Iterable

from scoring.errors import GitError

from .patches import Patch
from .repository import GitRepository
from .starter import as_lines, as_text

_LISTS_ABSENT = ("rev-list", "--objects", "--quiet", "--missing=print", "--stdin")


def absent_objects(repository: GitRepository, roots: Iterable[str]) -> set[str]:
    """Return the full ids of the objects that this clone lacks; empty where git cannot say.

    Args:
        repository: an open repository.
        roots: commits or trees. Only what their trees hold is looked for.
    """
    trees = as_lines(f"{root}^{{tree}}" for root in dict.fromkeys(roots))
    try:
        listing = repository.ask(*_LISTS_ABSENT, stdin=trees)
    except GitError:  # the clone may lack millions of files
        return set()
    lines = as_text(listing.stdout).split("\n")
    return {line[1:] for line in lines if line.startswith("?")}


def compared_for_renames(listed: Patch) -> Patch:
    """Return the files that git reads to find out which ones moved, if not asked for lines.

    It compares files that came with files that went, without those with the same content, which
    moved for certain. Empty where only one kind is left.

    Args:
        listed: all files that differ between two commits, without renames.
    """
    added = {file.new_blob for file in listed if file.status == "A"}
    deleted = {file.old_blob for file in listed if file.status == "D"}
    came = [
        file for file in listed if file.status == "A" and file.new_blob not in deleted
    ]
    went = [
        file for file in listed if file.status == "D" and file.old_blob not in added
    ]
    return came + went if came and went else []
