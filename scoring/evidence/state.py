"""Everything that the scores of a log rest on, seen from outside: names, sizes and times, and no content.

Two looks with the same digest mean that nothing has changed in between that a score depends on: the files of the log,
the repository with its configuration, its plans and the artifacts that entries name, the transcripts, git, and
da-score itself. What was changed within :data:`~scoring.files.SETTLED` before a look may be changed again without
any of this showing it: of a log these files are named, any other such look has no digest.

Where to look for transcripts is found out by whoever reads them, and is kept with the look: to look again loads nothing
that reads. The module is long because all that a score rests on is listed in one place.
"""

import contextlib
import os
import posixpath
import re
import shutil
import struct
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from scoring.errors import InputError
from scoring.evidence.git.pointers import pointed_to
from scoring.files import SETTLED, read_file
from scoring.frozen import Frozen
from scoring.log.settings import PLANS_DIR, TASKS_NAME
from scoring.text import trim

if TYPE_CHECKING:  # to look again, nothing is loaded that reads
    from scoring.evidence.rules import Sources

_PACKAGES = Path(__file__).parents[1], Path(__file__).parents[2] / "rubric"

_NOT_ENTERED = frozenset({"hooks", "lfs", "modules", "objects"})
"""Folders of a repository from which no answer comes, and that of the objects, whose names are enough."""

_SETTINGS_LIMIT = 1 << 20
"""The largest settings of a repository, in bytes, that are read."""


ENVIRONMENT = ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME")
"""The variables that say where harnesses keep transcripts; those of git count for nothing."""


_BESIDE = r"session-|iter-(?!%d\.)[^.]*\.[^.]*\."
"""How the sidecars of sessions begin, and the files beside other entries than one."""


class Places(Frozen, frozen=True):
    """Where to look, beside the log and the repository.

    ``transcripts`` are the folders in which transcripts are looked for, with ``below`` also in the folders in them;
    ``files`` are single files.
    """

    transcripts: tuple[str, ...] = ()
    below: bool = True
    files: tuple[str, ...] = ()


class _UnknownError(Exception):
    """What a score rests on cannot be looked at from outside."""


class _Look:
    """One look: what it saw, in order, as one digest. In folders, names that it ``skips`` are passed over.

    ``recent`` names what had just been changed, as it was looked at. ``total`` is the sum of the numbers of all that
    was in folders, where it ``sums``.
    """

    def __init__(self, skips: Callable[[str], object] | None = None, sums: bool = False) -> None:
        self._skips, self._sums = skips, sums
        self._settled = time.time_ns() - SETTLED
        self._digest = blake2b(digest_size=16)
        self.recent: list[str] = []
        self.total = 0

    def see(self, *what: object) -> None:
        """Add plain data."""
        self._digest.update(repr(what).encode("utf-8", "backslashreplace"))

    def stamp(self, name: str, found: os.stat_result | None) -> None:
        """Add a file, or that there is none."""
        if found is None:
            self.see(name, None)
            return
        if max(found.st_mtime_ns, found.st_ctime_ns) > self._settled:
            self.recent.append(name)
        self.see(name, _packed(found))

    def file(self, path: str | Path) -> None:
        """Add the file at a path, behind all links."""
        self.stamp(os.fspath(path), _stat(path))

    def folder(self, path: str | Path) -> list[os.DirEntry[str]]:
        """Add what is in a folder, and return it in the order of the names; nothing where there is no folder."""
        stamps, missing, settled = bytearray(), [], self._settled
        try:
            with os.scandir(path) as entries:
                listed = entries if self._skips is None else [e for e in entries if not self._skips(e.name)]
                found = sorted(listed, key=_name_of)
            place = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError) as e:
            self.see(os.fspath(path), e.errno if isinstance(e, OSError) else str(e))
            self.total += hash(str(e))
            return []
        try:
            for n, entry in enumerate(found):
                stamp = _stat(entry.name, place)  # entries would hold on to what they are asked for
                if stamp is None:
                    missing.append(n)
                    self.total += hash(entry.name)
                    continue
                if stamp.st_ctime_ns > settled or stamp.st_mtime_ns > settled:
                    self.recent.append(entry.name)
                packed = _packed(stamp)
                stamps += packed
                if self._sums:
                    self.total += hash((entry.name, packed))
        finally:
            os.close(place)
        self.see(os.fspath(path), len(found), missing)
        self._digest.update("\0".join([entry.name for entry in found]).encode("utf-8", "surrogateescape"))
        self._digest.update(stamps)
        return found

    def digest(self) -> bytes | None:
        """Return the digest; None when anything had just been changed."""
        return None if self.recent else self.seen()

    def seen(self) -> bytes:
        """Return the digest, whenever anything was changed."""
        return self._digest.digest()


_name_of = attrgetter("name")
_STAMP = struct.Struct("<6Q")
_ANY = (1 << 64) - 1
"""Times may lie before 1970, and behind the year 2262, whose nanoseconds have more than 64 bits."""


def _packed(found: os.stat_result) -> bytes:
    what = found.st_mode, found.st_dev, found.st_ino, found.st_size
    return _STAMP.pack(*what, found.st_mtime_ns & _ANY, found.st_ctime_ns & _ANY)


def _stat(path: str | Path, folder: int | None = None) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=folder)
    except (OSError, ValueError):
        return None


class LogState(NamedTuple):
    """What a log looks like from outside.

    ``recent`` names the files that had just been changed. ``total`` is the sum of a number for everything seen, by
    which two looks of one process are compared but for some files; of a look for one iteration it says nothing.
    """

    digest: bytes
    recent: list[str]
    total: int


def log_state(log_dir: Path, iteration: int | None = None) -> LogState:
    """Return the state of every file of a log, sidecars too.

    With an ``iteration`` without what is beside other entries than its own: the entries themselves bound each other.
    """
    look = _Look(None if iteration is None else re.compile(_BESIDE % iteration).match, iteration is None)
    place = os.path.realpath(log_dir)
    look.see(place, iteration)
    look.folder(log_dir)
    return LogState(look.seen(), look.recent, look.total + hash(place))


def number_of(path: Path) -> int:
    """Return the part that a file of a log has in its total, as it is now; 0 where there is none."""
    found = _stat(path)
    return 0 if found is None else hash((path.name, _packed(found)))


def places_of(sources: "Sources", files: Iterable[Path | str] = ()) -> Places:
    """Return where to look for what scores rest on, as it is now."""
    roots = dict.fromkeys(os.fspath(root.path) for root in sources.transcripts().discovered().roots)
    return Places(tuple(roots), sources.rules.discovers_transcripts, tuple(os.fspath(file) for file in files))


def described(sources: "Sources") -> tuple[object, ...]:
    """Return from where and under which rules evidence is read, as plain data."""
    reading = {name: value for name, value in sources.reading.items() if name == "test_commands"}
    return sources.rules.name, str(sources.repo_dir), sources.places, sources.trunk, sources.worktrees, reading


def from_here() -> tuple[object, ...]:
    """Return what places depend on that are relative, or the usual ones, as plain data."""
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    return here, [os.environ.get(name) for name in ENVIRONMENT]


def state_around(repo_dir: Path | str, places: Places) -> bytes | None:
    """Return a digest of what else scores rest on, but for what entries and transcripts name.

    None when it is not settled, or when it cannot be looked at from outside: a repository that borrows objects of
    another one, or includes settings, or belongs to somebody else.
    """
    look = _Look()
    try:
        _see_da_score(look)
        _see_repository(look, os.path.realpath(repo_dir))
        _see_plans(look, Path(repo_dir) / PLANS_DIR)
        _see_transcripts(look, places)
        for file in places.files:
            look.file(file)
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


def _see_transcripts(look: _Look, places: Places) -> None:
    seen: set[tuple[int, int]] = set()
    for root in places.transcripts:
        look.file(root)
        waiting = [root]
        while waiting:
            folder = waiting.pop()
            found = _stat(folder)
            if found is not None and (found.st_dev, found.st_ino) in seen:
                continue
            if found is not None:
                seen.add((found.st_dev, found.st_ino))
            for entry in look.folder(folder):
                with contextlib.suppress(OSError):
                    if places.below and entry.is_dir():
                        waiting.append(entry.path)


def artifact_state(repo_dir: Path | str, artifacts: Iterable[str]) -> bytes | None:
    """Return a digest of the state of the artifacts that entries name; None when it is not settled."""
    look, root = _Look(), os.path.realpath(repo_dir)
    for path in sorted(set(map(trim, artifacts))):
        if path and "\0" not in path:
            place = os.path.join(root, posixpath.normpath(path))
            look.see(path, os.path.realpath(place))
            look.file(place)
    return look.digest()


def folder_state(folders: Iterable[str], tops: Iterable[str]) -> bytes:
    """Return a digest of what decides whether folders that transcripts name are there and in the repository.

    ``tops`` are those of the work trees of the repository, as git names them; which they are, its own files say.
    """
    look, claims = _Look(), dict[str, object]()
    for top in sorted(tops):
        look.see(top, os.path.realpath(top))
    for folder in sorted(folders):
        if not os.path.isabs(folder) or "\0" in folder:
            look.see(folder)
            continue
        here, above = "", os.path.realpath(folder)
        look.see(folder, above, os.path.isdir(folder))
        while here != above:
            here, above = above, os.path.dirname(above)
            if here not in claims:
                git = os.path.join(here, ".git")
                is_folder = os.path.isdir(git)
                claims[here] = os.path.exists(os.path.join(git, "HEAD")) if is_folder else pointed_to(git, b"gitdir:")
    look.see(sorted(claims.items()))
    return look.seen()


def folders_now(repo_dir: Path | str, folders: Iterable[str]) -> tuple[Mapping[str, tuple[bool, bool]], list[str]]:
    """Return of folders that transcripts name whether they are in the repository and there, and the tops of work trees.

    Raises:
        NotARepositoryError, GitError: as :class:`~scoring.evidence.transcripts.work_trees.WorkTrees`.
    """
    from scoring.evidence.transcripts.work_trees import WorkTrees, is_there  # who looks again asks git nothing

    in_repository = WorkTrees(repo_dir)
    found = {folder: (in_repository(folder), is_there(folder)) for folder in folders}
    return found, in_repository.tops
