"""Everything that the scores of a log rest on, seen from outside: names, sizes and times, and no content.

Two looks with the same digest mean that nothing has changed in between that a score depends on: the files of the log,
the repository with its configuration, its plans and the artifacts that entries name, the transcripts, git, and
da-score itself. What was changed within :data:`~scoring.log.kept.SETTLED` before a look may be changed again without
any of this showing it; such a look has no digest.
"""

import contextlib
import os
import posixpath
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

import msgspec

from scoring.errors import InputError
from scoring.evidence.rules import Sources
from scoring.evidence.scopes import PLANS_DIR, TASKS_NAME
from scoring.evidence.transcripts.work_trees import WorkTrees, is_there, pointed_to
from scoring.files import read_file
from scoring.log.kept import SETTLED
from scoring.text import trim

_PACKAGES = Path(__file__).parents[1], Path(__file__).parents[2] / "rubric"

_NOT_ENTERED = frozenset({"hooks", "lfs", "modules", "objects"})
"""Folders of a repository from which no answer comes, and that of the objects, whose names are enough."""

_SETTINGS_LIMIT = 1 << 20
"""The largest settings of a repository, in bytes, that are read."""


class _UnknownError(Exception):
    """What a score rests on cannot be looked at from outside."""


class _Look:
    """One look: what it saw, in order, as one digest."""

    def __init__(self) -> None:
        self._began, self._newest = time.time_ns(), 0
        self._digest = blake2b(digest_size=16)

    def see(self, *what: object) -> None:
        """Add plain data."""
        self._digest.update(repr(what).encode("utf-8", "backslashreplace"))

    def stamp(self, name: str, found: os.stat_result | None) -> None:
        """Add a file, or that there is none."""
        if found is None:
            self.see(name, None)
            return
        times = found.st_mtime_ns, found.st_ctime_ns
        self._newest = max(self._newest, *times)
        self.see(name, found.st_mode, found.st_dev, found.st_ino, found.st_size, *times)

    def file(self, path: str | Path) -> None:
        """Add the file at a path, behind all links."""
        self.stamp(os.fspath(path), _stat(path))

    def folder(self, path: str | Path) -> list[os.DirEntry[str]]:
        """Add what is in a folder, and return it in the order of the names; nothing where there is no folder."""
        try:
            with os.scandir(path) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as e:
            self.see(os.fspath(path), e.errno)
            return []
        self.see(os.fspath(path), len(found))
        for entry in found:
            self.stamp(entry.name, _stat(entry))
        return found

    def digest(self) -> bytes | None:
        """Return the digest; None when anything had just been changed."""
        return None if self._began - self._newest < SETTLED else self._digest.digest()


def _stat(path: "str | Path | os.DirEntry[str]") -> os.stat_result | None:
    try:
        return path.stat() if isinstance(path, os.DirEntry) else os.stat(path)
    except (OSError, ValueError):
        return None


def log_state(log_dir: Path) -> bytes | None:
    """Return a digest of the state of every file of a log, sidecars too; None when it is not settled."""
    look = _Look()
    look.see(os.path.realpath(log_dir))
    look.folder(log_dir)
    return look.digest()


def state_around(log_dir: Path, sources: Sources) -> bytes | None:
    """Return a digest of what else scores rest on, but for what entries and transcripts name.

    None when it is not settled, or when it cannot be looked at from outside: a repository that borrows objects of
    another one, or includes settings, or belongs to somebody else.
    """
    look = _Look()
    reading = {name: value for name, value in sources.reading.items() if name == "test_commands"}
    look.see(sources.rules.name, sources.places, sources.trunk, sources.worktrees, reading, os.fspath(log_dir))
    try:
        _see_da_score(look)
        _see_repository(look, os.path.realpath(sources.repo_dir))
        _see_plans(look, Path(sources.repo_dir) / PLANS_DIR)
        _see_transcripts(look, sources)
    except (_UnknownError, OSError):
        return None
    return look.digest()


def _see_da_score(look: _Look) -> None:
    look.see(sys.version, sys.prefix)
    look.file(shutil.which("git") or "git")
    look.file(Path(msgspec.__file__).parents[1])  # where libraries are: another version of one has another name
    for package in _PACKAGES:
        for folder, folders, names in os.walk(package):
            folders[:] = sorted(set(folders) - {"__pycache__"})
            for name in sorted(names):
                look.file(os.path.join(folder, name))


def _see_repository(look: _Look, repo_dir: str) -> None:
    """Add the repositories of a folder and of those above it: git passes over what is none."""
    here, above = "", repo_dir
    found = False
    while here != above:
        here, above = above, os.path.dirname(above)
        git = os.path.join(here, ".git")
        look.file(git)
        own = git if os.path.isdir(git) else pointed_to(git, b"gitdir:")
        if own is None:
            continue
        found = True
        common = pointed_to(os.path.join(own, "commondir"), b"")
        if any(os.stat(folder).st_uid != os.geteuid() for folder in (here, git, own)):
            raise _UnknownError  # git trusts it or not by settings of the user
        for folder in dict.fromkeys((own, common or own)):
            _see_git(look, folder)
    if not found:
        raise _UnknownError


def _see_git(look: _Look, repository: str) -> None:
    """Add what a repository holds: all but what is in its objects, whose names say that."""
    waiting = [repository]
    while waiting:
        folder = waiting.pop()
        for entry in look.folder(folder):
            if entry.is_symlink():
                raise _UnknownError
            if entry.is_dir() and not (folder == repository and entry.name in _NOT_ENTERED):
                waiting.append(entry.path)
    for name in ("config", "config.worktree"):
        with contextlib.suppress(FileNotFoundError, InputError):
            if b"[include" in read_file(os.path.join(repository, name), _SETTINGS_LIMIT).lower():
                raise _UnknownError  # of a file that may be anywhere
    objects = os.path.join(repository, "objects")
    look.folder(objects)  # what is new there is a new name in one of the folders
    look.folder(os.path.join(objects, "pack"))
    if any(entry.name == "alternates" for entry in look.folder(os.path.join(objects, "info"))):
        raise _UnknownError


def _see_plans(look: _Look, plans: Path) -> None:
    for entry in look.folder(plans):
        look.file(plans / entry.name / TASKS_NAME)


def _see_transcripts(look: _Look, sources: Sources) -> None:
    found = sources.transcripts().discovered()
    look.see(found.left_out, found.roots)
    for transcript in found.transcripts:
        look.see(transcript.whole, transcript.document)
        look.file(transcript.path)


def artifact_state(repo_dir: Path | str, artifacts: Iterable[str]) -> bytes | None:
    """Return a digest of the state of the artifacts that entries name; None when it is not settled."""
    look, root = _Look(), os.path.realpath(repo_dir)
    for path in sorted(set(map(trim, artifacts))):
        if path and "\0" not in path:
            place = os.path.join(root, posixpath.normpath(path))
            look.see(path, os.path.realpath(place))
            look.file(place)
    return look.digest()


def folders_now(repo_dir: Path | str, folders: Iterable[str]) -> Mapping[str, tuple[bool, bool]]:
    """Return of folders that transcripts name whether they are in the repository, and whether they are there.

    Raises:
        NotARepositoryError, GitError: as :class:`~scoring.evidence.transcripts.work_trees.WorkTrees`.
    """
    in_repository = WorkTrees(repo_dir)
    return {folder: (in_repository(folder), is_there(folder)) for folder in folders}
