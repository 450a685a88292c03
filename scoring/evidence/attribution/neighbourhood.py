"""Which sessions and lines belong to a repository, and which paths they wrote."""

import os
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from functools import cached_property
from pathlib import Path
from typing import Self

from scoring.evidence.commands.file_writes import ANY_BELOW
from scoring.evidence.git.work_tree_folders import same_remote
from scoring.evidence.transcripts.counter import InRepository
from scoring.evidence.transcripts.events import TEXT_LIMIT, Edit, PossibleEdit
from scoring.evidence.transcripts.streams import File, Session
from scoring.evidence.transcripts.work_trees import WorkTrees
from scoring.files import identity_of


@dataclass(frozen=True)
class Neighbourhood:
    """What decides whether work is a repository's: globs of work trees, remotes, commits."""

    in_repository: InRepository
    worktrees: Sequence[str]
    remotes: Callable[[], Iterable[str]]
    is_its_commit: Callable[[str], bool]

    @cached_property
    def _is_worktree(self) -> Callable[[str], object]:
        return re.compile("|".join(map(translate, self.worktrees)) or r"(?!)").match

    @cached_property
    def _remotes(self) -> frozenset[str]:
        return frozenset(map(same_remote, self.remotes()))

    def mark(self, sessions: Iterable[Session]) -> None:
        """Say of each line of some sessions whether it is work in the repository."""
        for session in sessions:
            known = self._is_known(session)
            recorded = any(file.checkpoint for file in session.files)
            for file in session.files:
                if not file.here:
                    file.here = bytearray(len(file.numbers))
                self._mark(file, session.key[1], known, recorded)

    def _is_known(self, session: Session) -> bool:
        """Whether a session is the repository's wherever it worked, by a commit or by a remote."""
        named = {span.remote for file in session.files for span in file.events.spans} - {""}
        is_remote = any(same_remote(remote) in self._remotes for remote in named)
        return is_remote or any(self.is_its_commit(made.sha) for made in session.made)

    def _mark(self, file: File, session: str, known: bool, recorded: bool) -> None:
        if recorded or file.transcript.whole:
            for place in file.of(session):
                file.here[place] = True
            return
        folders = file.harness.folders(file.events.spans)
        counts = [self._counts(folder, known) for folder in folders]
        said = [here for here, folder in zip(counts, folders, strict=True) if folder]
        for span, here, folder, numbers in zip(
            file.events.spans, counts, folders, file.events.covers, strict=True
        ):
            # A line without a folder goes with the others of its file.
            if (
                (here if folder else any(said))
                and len(numbers)
                and session in (span.session, file.owner)
            ):
                for number in numbers:
                    file.here[file.at(number)] = True

    def _counts(self, folder: str, known: bool) -> bool:
        if not folder or self.in_repository(folder):
            return bool(folder)
        is_gone = os.path.isabs(folder) and "\0" not in folder and not os.path.isdir(folder)
        return is_gone and (known or self._is_worktree(folder) is not None)


@dataclass(frozen=True, slots=True)
class Writes:
    """The paths that sessions wrote or may have, the artifacts these lead to, and top folders."""

    written: Mapping[str, Collection[str]]
    unsure: Collection[str]
    linked: tuple[Collection[str], Collection[str]]
    tops: Collection[str]

    @classmethod
    def of(
        cls, root: Path, trees: WorkTrees, files: Sequence[File], places: Collection[str]
    ) -> Self:
        """Look through files for what wrote artifacts, by their places in the repository."""
        written: dict[str, set[str]] = {}
        for path in _paths(files, Edit):
            written.setdefault(posixpath.basename(path), set()).add(path)
        unsure = _paths(files, PossibleEdit)
        places_of = {
            identity: place for place in places if place and (identity := identity_of(root / place))
        }
        linked, may_be_linked = (
            {places_of[found] for path in paths if (found := identity_of(root / path)) in places_of}
            for paths in (
                set().union(*written.values()),
                {path.removeprefix("$") for path in unsure},
            )
        )
        tops, folders = (
            trees.tops if files else (),
            {span.cwd for file in files for span in file.events.spans},
        )
        inside = tuple(f"{top}/" for top in tops)
        beside = (folder for folder in folders if not folder.startswith(inside))
        return cls(written, unsure, (linked, may_be_linked), {*tops, *beside})

    def surely(self, *names: str) -> bool:
        """Whether an artifact was written, known by its place and by the entry's path."""
        ends = [f"/{posixpath.normpath(name)}" for name in names if name]
        alike = (
            f"/{path}" for end in ends for path in self.written.get(posixpath.basename(end), ())
        )
        return names[0] in self.linked[0] or any(path.endswith(tuple(ends)) for path in alike)

    def maybe(self, own: Iterable[File], *names: str) -> bool:
        """Whether it may have been written by any session.

        Where all below a folder may be, only its ``own`` sessions count.
        """
        below = [path for path in _paths(own, PossibleEdit) if path.endswith(ANY_BELOW)]
        tried = [*((path, ()) for path in self.unsure), *((path, self.tops) for path in below)]
        return names[0] in self.linked[1] or any(
            may_be_written(n, *one) for n in names if n for one in tried
        )


def _paths(files: Iterable[File], kind: type[Edit] | type[PossibleEdit]) -> set[str]:
    return {
        posixpath.normpath(file.events.texts[event.path])
        for file in files
        for event in file.events.of(kind)
    }


def may_be_written(path: str, unsure: str, tops: Collection[str] = ()) -> bool:
    """Whether a path may be one that is not known in full. ``tops`` may be its folders."""
    names = posixpath.normpath(path).split("/")
    if len(unsure) > TEXT_LIMIT:  # none that a transcript was read of is as long
        return True
    if unsure.endswith(ANY_BELOW):
        above = unsure.rstrip("/*")
        below = any(may_be_written("/".join(names[:n]), above) for n in range(1, len(names)))
        return below or any(f"{top}/".startswith(f"{above.removeprefix('$')}/") for top in tops)
    for part in reversed(_ANY_FOLDERS.sub("$", unsure).split("/")):
        if not names:
            return True
        if "$" in part:  # what is behind the last variable is known
            return fnmatchcase("/".join(names), "*" + _VARIABLE.sub("", part))
        if not fnmatchcase(names.pop(), part):
            return False
    return True


_ANY_FOLDERS = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}|\*\*|`")
_VARIABLE = re.compile(r".*\$(?:\{[^}]*\}?|\(\)|\w+|\W)?")
