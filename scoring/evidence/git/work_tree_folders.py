"""Which folders are in the work trees of a repository, and how the URLs of its remotes compare."""

import os
import re
from functools import cached_property
from pathlib import Path

from scoring.errors import InputError
from scoring.evidence.git.repository import GitRepository
from scoring.files import read_file

_POINTER = b"gitdir:"
_POINTER_LIMIT = 1 << 16  # bytes of the file by which a linked work tree points to its repository


class WorkTreeFolders:
    """The folders in all work trees of one repository. Git is asked with the first folder."""

    def __init__(self, repository: Path | str | GitRepository) -> None:
        """Take a directory of the repository, or the open repository."""
        self._location = repository

    @cached_property
    def _repository(self) -> GitRepository:
        return GitRepository.of(self._location)

    @cached_property
    def tops(self) -> list[str]:
        """The tops of the work trees, as git names them. Some may be gone."""
        return self._repository.work_tree_tops

    @cached_property
    def resolved_tops(self) -> frozenset[str]:
        """The tops of the work trees with symbolic links resolved."""
        return frozenset(map(os.path.realpath, self.tops))

    @cached_property
    def _records(self) -> str:
        """Where git records linked work trees."""
        return os.path.join(os.path.realpath(self._repository.common_dir), "worktrees")

    def has(self, folder: str) -> bool | None:
        """Return whether a folder is in a work tree of the repository.

        Args:
            folder: an absolute path, which may not exist.

        Returns:
            False where another repository has it, and None where none has it.

        Raises:
            NotARepositoryError: the repository's directory is in no work tree.
        """
        resolved = Path(os.path.realpath(folder))
        for path in (resolved, *resolved.parents):
            if str(path) in self.resolved_tops:
                return True
            is_ours = self._owner_of_top(str(path))
            if is_ours is not None:
                return is_ours
        return None

    def _owner_of_top(self, folder: str) -> bool | None:
        """Return whether the repository has the work tree with this top, or None for no top."""
        git = os.path.join(folder, ".git")
        if os.path.isdir(git):
            is_repository = os.path.exists(os.path.join(git, "HEAD"))
            return False if is_repository else None

        try:
            content = read_file(git, _POINTER_LIMIT)
        except InputError:
            return None
        if not content.startswith(_POINTER):
            return None

        # A linked work tree still points into its repository when it was moved, or when git has
        # no record of it any more.
        target = os.fsdecode(content.removeprefix(_POINTER).strip())
        record = os.path.realpath(os.path.join(folder, target))
        return os.path.dirname(record) == self._records


def same_remote(url: str) -> str:
    """Return the address of a remote in one form, the same for all ways to one repository.

    Example:
        ``git@Example.org:team/project.git`` and ``https://example.org/team/project`` both become
        ``example.org/team/project``.
    """
    address = url.strip()
    _, has_scheme, rest = address.partition("://")
    if has_scheme:
        host, _, path = rest.partition("/")
        host = re.sub(r":\d+\Z", "", host)  # the port
    else:
        host, has_host, path = address.partition(":")
        if not has_host or "/" in host:  # a path
            return _without_suffix(address)
    host = host.rpartition("@")[2]
    return f"{host.lower()}/{_without_suffix(path.strip('/'))}"


def _without_suffix(path: str) -> str:
    return path.rstrip("/").removesuffix(".git").rstrip("/")
