"""Which folders of transcripts are in the work trees of a repository."""

import os
import re
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.work_tree_folders import WorkTreeFolders

HASHED_FOLDER = "sha256:"
"""Begins the name of a folder of which a transcript only has the SHA-256 of its path."""

SPELLED_FOLDER = "spelled:"
"""Begins the name of a folder of which a transcript has a dash for each slash and dot.

The first slash is left out.
"""


InRepository: TypeAlias = Callable[[str], bool]
"""Returns whether work in a folder is work in the repository."""


class WorkTrees:
    """The work trees of a repository. Call it with a folder.

    Args:
        repository: a directory of the repository, or the open repository.

    Attributes:
        former: folders that are gone, in which the repository was.
    """

    former: Collection[str] = ()

    def __init__(self, repository: Path | str | GitRepository) -> None:
        self._folders = WorkTreeFolders(repository)
        self._answers: dict[str, bool | None] = {}
        self._gone: dict[str, bool] = {}

    def __call__(self, folder: str) -> bool:
        """Return whether work in a folder of a transcript is work in the repository.

        Raises:
            NotARepositoryError: the repository's directory is in no work tree.
        """
        was_in = any(f"{folder}/".startswith(f"{former}/") for former in self.former)
        return was_in or bool(self._owner(folder))

    def is_in_another(self, folder: str) -> bool:
        """Return whether a folder is in another repository, such as a clone or a submodule.

        Raises:
            NotARepositoryError: the repository's directory is in no work tree.
        """
        return self._owner(folder) is False

    def is_gone(self, folder: str) -> bool:
        """Return whether a path can be that of a folder, and no folder is there."""
        if folder not in self._gone:
            self._gone[folder] = _is_path(folder) and not os.path.isdir(folder)
        return self._gone[folder]

    def _owner(self, folder: str) -> bool | None:
        """Return whether the repository has a folder: False: another one, None: none."""
        if folder not in self._answers:
            is_ours: bool | None = None
            if folder.startswith((HASHED_FOLDER, SPELLED_FOLDER)):
                is_ours = folder in self._disguised_tops or None
            elif _is_path(folder):
                is_ours = self._folders.has(folder)
            self._answers[folder] = is_ours
        return self._answers[folder]

    @property
    def asked(self) -> list[str]:
        """The folders that were asked about."""
        return list(filter(_is_path, dict.fromkeys([*self._answers, *self._gone])))

    @property
    def tops(self) -> list[str]:
        """The tops of the work trees, as git names them. Some may be gone."""
        return self._folders.tops

    @property
    def all_tops(self) -> list[str]:
        """The same, and what they are with symbolic links resolved."""
        return [*self._folders.tops, *self._folders.resolved_tops]

    @cached_property
    def _disguised_tops(self) -> frozenset[str]:
        """The tops of the work trees by the hashes and spellings that some harnesses write."""
        from hashlib import sha256  # few harnesses disguise the names of folders

        disguised = set()
        for top in self.all_tops:
            spelled = re.sub(r"[/.]", "-", top.lstrip("/"))
            disguised.add(SPELLED_FOLDER + spelled)
            disguised.add(HASHED_FOLDER + sha256(os.fsencode(top)).hexdigest())
        return frozenset(disguised)


def _is_path(folder: str) -> bool:
    return os.path.isabs(folder) and "\0" not in folder
