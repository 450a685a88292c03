"""Which result artifacts of verifiers the sessions of a repository wrote, or may have written."""

import posixpath
import re
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from scoring.evidence.commands.file_writes import ANY_BELOW
from scoring.evidence.transcripts.events import TEXT_LIMIT, Edit, PossibleEdit
from scoring.evidence.transcripts.streams import File
from scoring.files import identity_of

_ANY_FOLDERS = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}|\*\*|`")
_VARIABLE = re.compile(r".*\$(?:\{[^}]*\}?|\(\)|\w+|\W)?")


class Writes:
    """The paths that sessions wrote or may have written.

    Args:
        root: a directory of the repository.
        tops: the tops of its work trees.
        files: the transcripts.
        artifacts: the paths of artifacts in the repository.
    """

    def __init__(
        self, root: Path, tops: Sequence[str], files: Sequence[File], artifacts: Iterable[str]
    ) -> None:
        artifact_of = {}
        for artifact in artifacts:
            identity = identity_of(root / artifact) if artifact else None
            if identity:
                artifact_of[identity] = artifact

        def artifacts_at(paths: Iterable[str]) -> set[str]:
            """Return the artifacts to which paths lead."""
            identities = [identity_of(root / path) for path in paths]
            return {artifact_of[identity] for identity in identities if identity in artifact_of}

        paths = _paths(files, Edit)
        self._linked = artifacts_at(paths)
        self._written: dict[str, set[str]] = {}  # by the last part of the path
        for path in paths:
            self._written.setdefault(posixpath.basename(path), set()).add(path)
        self._possible = _paths(files, PossibleEdit)
        self._maybe_linked = artifacts_at(path.removeprefix("$") for path in self._possible)

        inside = tuple(f"{top}/" for top in tops)
        folders = {span.cwd for file in files for span in file.events.spans}
        outside = {folder for folder in folders if not folder.startswith(inside)}
        self._folders = {*tops, *outside}

    def surely(self, artifact: str, stated: str) -> bool:
        """Return whether an artifact was written.

        Args:
            artifact: its path in the repository.
            stated: its path as the entry has it.
        """
        if artifact in self._linked:
            return True

        ends = [f"/{posixpath.normpath(name)}" for name in (artifact, stated) if name]
        for end in ends:
            for path in self._written.get(posixpath.basename(end), ()):
                if f"/{path}".endswith(tuple(ends)):
                    return True
        return False

    def maybe(self, own: Iterable[File], artifact: str, stated: str) -> bool:
        """Return whether any session may have written an artifact.

        Args:
            own: the transcripts of the iteration's sessions: where all files below a folder may
                be written, only these count.
            artifact: its path in the repository.
            stated: its path as the entry has it.
        """
        if artifact in self._maybe_linked:
            return True

        below = [path for path in _paths(own, PossibleEdit) if path.endswith(ANY_BELOW)]
        for name in (artifact, stated):
            if not name:
                continue
            if any(may_be_written(name, path) for path in self._possible):
                return True
            if any(may_be_written(name, path, self._folders) for path in below):
                return True
        return False


def _paths(files: Iterable[File], kind: type[Edit] | type[PossibleEdit]) -> set[str]:
    return {
        posixpath.normpath(file.events.texts[event.path])
        for file in files
        for event in file.events.of(kind)
    }


def may_be_written(path: str, possible: str, tops: Collection[str] = ()) -> bool:
    """Return whether a path may be one that is not known in full.

    Args:
        path: the path of a file.
        possible: a path in which ``$`` begins what is not known.
        tops: folders that may be the folder of the path.
    """
    if len(possible) > TEXT_LIMIT:  # no path that a transcript was read of is as long
        return True

    names = posixpath.normpath(path).split("/")
    if possible.endswith(ANY_BELOW):
        above = possible.rstrip("/*")
        if any(f"{top}/".startswith(f"{above.removeprefix('$')}/") for top in tops):
            return True
        return any(may_be_written("/".join(names[:count]), above) for count in range(1, len(names)))

    for part in reversed(_ANY_FOLDERS.sub("$", possible).split("/")):
        if not names:
            return True
        if "$" in part:  # what follows the last variable is known
            return fnmatchcase("/".join(names), "*" + _VARIABLE.sub("", part))
        if not fnmatchcase(names.pop(), part):
            return False
    return True
