"""Which result artifacts of verifiers the sessions of a repository wrote, or may have written."""

import posixpath
import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from scoring.evidence.commands.file_writes import ANY_BELOW
from scoring.evidence.transcripts.events import TEXT_LIMIT, Edit, PossibleEdit
from scoring.evidence.transcripts.streams import File
from scoring.files import identity_of

from .iteration_shares import Verification
from .session_trees import AllWork

_ANY_FOLDERS = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}|\*\*|`")
_VARIABLE = re.compile(r".*\$(?:\{[^}]*\}?|\(\)|\w+|\W)?")


class Writes:
    """The paths that sessions wrote or may have written.

    Args:
        root: a directory of the repository.
        work: the transcripts, and the work trees of the repository.
        artifacts: the paths of artifacts in the repository. Without any nothing is looked at.
    """

    def __init__(self, root: Path, work: AllWork, artifacts: Collection[str]) -> None:
        files = work.files if artifacts else []
        tops = work.work_trees.tops if artifacts else []
        artifact_of = {}
        for artifact in filter(None, artifacts):
            identity = identity_of(root / artifact)
            if identity:
                artifact_of[identity] = artifact

        def artifacts_at(paths: Iterable[str]) -> set[str]:
            """Return the artifacts to which paths lead."""
            identities = (identity_of(root / path) for path in paths)
            return {
                artifact_of[identity]
                for identity in identities
                if identity in artifact_of
            }

        paths = _paths(files, Edit)
        self._linked = artifacts_at(paths)
        self._written: dict[str, set[str]] = {}  # by the last part of the path
        for path in paths:
            self._written.setdefault(posixpath.basename(path), set()).add(path)
        self._possible = _paths(files, PossibleEdit)
        self._maybe_linked = artifacts_at(
            path.removeprefix("$") for path in self._possible
        )

        inside = tuple(f"{top}/" for top in tops)
        folders = {span.cwd for file in files for span in file.events.spans}
        self._folders = {folder for folder in folders if not folder.startswith(inside)}
        self._folders.update(tops)

    def surely(self, verifier: Verification) -> bool:
        """Return whether the artifact of a verifier was written."""
        if verifier.place in self._linked:
            return True

        ends = tuple(f"/{posixpath.normpath(name)}" for name in verifier.paths)
        for end in ends:
            for path in self._written.get(posixpath.basename(end), ()):
                if f"/{path}".endswith(ends):
                    return True
        return False

    def maybe(self, session_files: Iterable[File], verifier: Verification) -> bool:
        """Return whether any session may have written the artifact of a verifier.

        Args:
            session_files: the transcripts of the iteration's sessions: where all files below a
                folder may be written, only these count.
            verifier: the verifier.
        """
        if verifier.place in self._maybe_linked:
            return True

        below = [
            path
            for path in _paths(session_files, PossibleEdit)
            if path.endswith(ANY_BELOW)
        ]
        for name in verifier.paths:
            if any(may_be_written(name, path) for path in self._possible):
                return True
            if any(may_be_written(name, path, self._folders) for path in below):
                return True
        return False


def _paths(files: Iterable[File], kind: type[Edit] | type[PossibleEdit]) -> set[str]:
    """Return the paths that events of a kind name, normalized."""
    paths: set[str] = set()
    for file in files:
        paths.update(
            posixpath.normpath(file.text(event.path)) for event in file.events.of(kind)
        )
    return paths


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
        folders = ("/".join(names[:count]) for count in range(1, len(names)))
        return any(may_be_written(folder, above) for folder in folders)

    for part in reversed(_ANY_FOLDERS.sub("$", possible).split("/")):
        if not names:
            return True
        if "$" in part:  # what follows the last variable is known
            return fnmatchcase("/".join(names), "*" + _VARIABLE.sub("", part))
        if not fnmatchcase(names.pop(), part):
            return False
    return True
