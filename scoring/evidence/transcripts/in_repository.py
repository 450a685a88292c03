"""Which work was done in a repository: that in one of its work trees (docs/EVIDENCE.md, "Transcripts").

Work belongs to the repository when the folder it was done in is the top level of one of its work trees, or is below
one. A folder that another repository has claimed for itself, with a ``.git`` of its own between it and that top level,
does not. Symbolic links are resolved; a folder need not be there any more.
"""

import os
from pathlib import Path

from scoring.errors import InputError
from scoring.evidence.git.repository import GitRepository
from scoring.files import read_file

_POINTER_LIMIT = 1 << 16
"""The largest ``.git`` file, in bytes, that is looked at."""


class WorkTrees:
    """The work trees of one repository. Git is asked when the first folder is."""

    def __init__(self, repo_dir: Path | str) -> None:
        """Take a directory in any of the work trees."""
        self._repo_dir = repo_dir
        self._tops: frozenset[str] | None = None
        self._common_dir = ""
        self._known: dict[str, bool] = {}

    def __call__(self, folder: str) -> bool:
        """Say whether work in a folder is work in the repository; ``folder`` is as a transcript names it.

        Raises:
            NotARepositoryError: the directory that was named is in no git work tree.
        """
        if folder not in self._known:
            self._known[folder] = self._belongs(folder)
        return self._known[folder]

    def _belongs(self, folder: str) -> bool:
        if not os.path.isabs(folder) or "\0" in folder:
            return False
        tops = self._work_trees()
        at = os.path.realpath(folder)
        while True:
            if at in tops:
                return True
            claimed = self._claimed(at)
            if claimed is not None:
                return claimed
            above = os.path.dirname(at)
            if above == at:
                return False
            at = above

    def _work_trees(self) -> frozenset[str]:
        if self._tops is None:
            repository = GitRepository(self._repo_dir)
            self._common_dir = os.path.realpath(repository.common_dir)
            self._tops = frozenset(map(os.path.realpath, _work_trees(repository)))
        return self._tops

    def _claimed(self, folder: str) -> bool | None:
        """Say whether a folder is the top of a work tree: True of this repository, False of another, None of none."""
        git = os.path.join(folder, ".git")
        if os.path.isdir(git):
            return False if os.path.exists(os.path.join(git, "HEAD")) else None
        try:
            pointer = read_file(git, _POINTER_LIMIT)
        except (FileNotFoundError, InputError):
            return None
        if not pointer.startswith(b"gitdir:"):
            return None
        target = os.fsdecode(pointer.removeprefix(b"gitdir:").strip())
        place = os.path.realpath(os.path.join(folder, target))
        # A linked work tree that was moved, or whose record git has pruned, still points into its repository.
        return os.path.dirname(place) == os.path.join(self._common_dir, "worktrees")


def _work_trees(repository: GitRepository) -> list[str]:
    """Return the top levels of all work trees of a repository; some may not be there any more."""
    answer, end = repository.ask("worktree", "list", "--porcelain", "-z"), b"\0"
    if answer.returncode:  # git older than 2.36
        answer, end = repository.ask("worktree", "list", "--porcelain"), b"\n"
    lines = answer.stdout.split(end)
    return [os.fsdecode(line.removeprefix(b"worktree ")) for line in lines if line.startswith(b"worktree ")]
