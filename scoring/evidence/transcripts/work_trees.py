"""Which folders of transcripts are in the work trees of a repository."""

import os
import re
from functools import cached_property
from pathlib import Path

from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.work_tree_folders import WorkTreeFolders

HASHED_FOLDER = "sha256:"
"""Begins the name of a folder of which a transcript only has the SHA-256 of its path."""

SPELLED_FOLDER = "spelled:"
"""Begins the name of a folder of which a transcript has a dash for each slash and dot.

The first slash is left out.
"""


class WorkTrees:
    """The work trees of a repository. Call it with a folder.

    Args:
        repository: a directory of the repository, or the open repository.
    """

    def __init__(self, repository: Path | str | GitRepository) -> None:
        self._folders = WorkTreeFolders(repository)
        self._answers: dict[str, bool] = {}

    def __call__(self, folder: str) -> bool:
        """Return whether work in a folder of a transcript is work in the repository.

        Raises:
            NotARepositoryError: the repository's directory is in no work tree.
        """
        if folder not in self._answers:
            self._answers[folder] = self._contains(folder)
        return self._answers[folder]

    def _contains(self, folder: str) -> bool:
        if folder.startswith((HASHED_FOLDER, SPELLED_FOLDER)):
            return folder in self._disguised_tops
        if not os.path.isabs(folder) or "\0" in folder:
            return False
        return self._folders.contains(folder)

    @property
    def tops(self) -> list[str]:
        """The tops of the work trees, as git names them. Some may be gone."""
        return self._folders.tops

    @cached_property
    def _disguised_tops(self) -> frozenset[str]:
        """The tops of the work trees by the hashes and spellings that some harnesses write."""
        from hashlib import sha256  # few harnesses disguise the names of folders

        disguised = set()
        for top in (*self._folders.tops, *self._folders.resolved_tops):
            spelled = re.sub(r"[/.]", "-", top.lstrip("/"))
            disguised.add(SPELLED_FOLDER + spelled)
            disguised.add(HASHED_FOLDER + sha256(os.fsencode(top)).hexdigest())
        return frozenset(disguised)
