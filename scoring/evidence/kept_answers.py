"""What git and transcripts said of iterations, kept until something changes that said it.

These are the log, the repository, the folders of transcripts, and the folders that transcripts
name. The files next to an entry are read each time.
"""

import os
import re
import shutil
import stat
import time
from collections.abc import Collection, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from scoring.errors import TakesLong
from scoring.file_stamps import is_settled, last_change
from scoring.frozen import Frozen
from scoring.store import Store, Value

from .git.facts import Changed, Landing, Trunk
from .git.kept_objects import object_stamps
from .rules import Sources
from .table_digest import digest_of_tables
from .transcripts.facts import IterationWindow, TranscriptFacts
from .transcripts.observed_facts import Observed

_VARIABLES = re.compile(r".*(?:HOME|_DIR|_DB)")
"""Matches the names of variables that may say where transcripts are."""

_SIDECARS = re.compile(r".*(?:\.score|\.evidence)\.yaml/?")
_NOT_READ_OF_GIT = re.compile(
    r"(?:/worktrees/[^/]+)?/(?:logs|hooks)/?|/objects/[0-9a-f]{2}/"
    r"|(?!.*/refs/).*/(?:index|index\.lock|\w+_EDITMSG|FETCH_HEAD|ORIG_HEAD)"
)
"""Matches paths in a git directory that no answer depends on, from the directory on.

Below ``refs`` any name may be that of a branch or a tag, so nothing there matches. Loose objects
have stamps of their own.
"""

_PACK = re.compile(r"(?!.*/refs/).*/objects/pack/[^/]+\.pack")
_NOTHING = re.compile("(?!)")
_MOST_FILES = 50_000

MOST_KEPT = 64 << 20
"""How many bytes the store keeps of what is known about a log. The rest is asked again."""


class Answers(Frozen):
    """What git and transcripts say of one iteration.

    Attributes:
        trunk: where work lands.
        landing: whether the work landed.
        changed: what the iteration changed.
        window: the time of the iteration; None when its commit does not resolve as written.
        transcripts: what transcripts show in the window, or in the iteration's own lines; None
            without a window under the reference's rules.
        observed: what was seen in the iteration's own lines; None under the reference's rules.
        counted_for: the lower iteration that names the same commit and for which the commit counts;
            None without one.
    """

    trunk: Trunk
    landing: Landing
    changed: Changed
    window: IterationWindow | None
    transcripts: TranscriptFacts | None
    observed: Observed | None = None
    counted_for: int | None = None


class Watched(Frozen):
    """What the answers about a log, or others, are read from. All are paths.

    Attributes:
        log: the folder of the entries, of which sidecars do not matter; "": none.
        repository: the git directory that all work trees of the repository share; "": none.
        folders: the folders of transcripts and the one of the plans, with all that is below.
        places: the folders that transcripts name. Of these only what they lead to, and in which
            repository it is, matters.
        files: further files.
    """

    log: str = ""
    repository: str = ""
    folders: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def with_files_of(self, other: Self) -> Self:
        """Return this with the folders, places and files of another one too.

        The log and the repository stay.
        """
        return replace(
            self,
            folders=self.folders | other.folders,
            places=self.places | other.places,
            files=self.files | other.files,
        )

    def state(self, settled_at: int | None = None) -> bytes | None:
        """Return a digest of the state of all that is watched.

        None where there are too many files or a symlink, or where a file cannot be looked at.

        Args:
            settled_at: a time in ns since 1970. Where a file changed too shortly before that time,
                or after it, the state is None. None: any time of change is right.
        """
        digest = blake2b(digest_size=16)
        try:
            for number, (name, status) in enumerate(self._statuses()):
                if number > _MOST_FILES or (status and stat.S_ISLNK(status.st_mode)):
                    return None
                if (
                    status
                    and settled_at
                    and not is_settled(last_change(status), settled_at)
                ):
                    return None
                digest.update(os.fsencode(f"{name}\0{_mark(status)}\0"))
        except (OSError, ValueError):  # the latter where no path can be so called
            return None
        return digest.digest()

    def _statuses(self) -> Iterator[tuple[str, os.stat_result | None]]:
        """Yield all that is watched, always in the same order.

        Each item has a text, which names a thing and may say its state, and the status of a file;
        None where the text says all.
        """
        yield f"git {shutil.which('git')}", None
        yield from _below(self.log, _SIDECARS)
        yield from _below(self.repository, _NOT_READ_OF_GIT)
        for folder in sorted(self.folders):
            yield from _below(folder)
        for path in sorted(self.files):
            yield path, _status_of(path)

        looked_at = set()
        for named_folder in sorted(self.places):
            real = os.path.realpath(named_folder)
            yield f"{named_folder} {real} {os.path.isdir(real)}", None
            for folder in (real, *map(str, Path(real).parents)):
                if folder in looked_at:
                    break
                looked_at.add(folder)
                pointer = os.path.join(folder, ".git")
                if os.path.isfile(pointer):
                    yield pointer, _status_of(pointer)
                else:
                    yield f"{pointer} {os.path.exists(f'{pointer}/HEAD')}", None


def _below(
    top: str, left_out: re.Pattern[str] = _NOTHING
) -> Iterator[tuple[str, os.stat_result | None]]:
    """Yield a folder, and the files and folders below it, each with its status.

    Of a pack the size is yielded in the text, without a status: git renews the times of a pack
    whenever it would write what the pack has. The status of a folder that is gone is None.

    Args:
        top: the folder.
        left_out: a pattern for what is left out, as ``/path`` below the folder; the path of a
            folder ends in a slash.
    """
    folders = [top]
    while folders:
        folder = folders.pop()
        yield folder, _status_of(folder)
        if not os.path.isdir(folder):
            continue

        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                path = entry.path.removeprefix(top)
                if entry.is_dir(follow_symlinks=False):
                    if not left_out.fullmatch(f"{path}/"):
                        folders.append(entry.path)
                elif _PACK.fullmatch(path):
                    yield (
                        f"{entry.path} {entry.stat(follow_symlinks=False).st_size}",
                        None,
                    )
                elif not left_out.fullmatch(path):
                    yield entry.path, entry.stat(follow_symlinks=False)


def _status_of(path: str) -> os.stat_result | None:
    """Return the status of what a path leads to through symlinks, or None where nothing is."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _mark(status: os.stat_result | None) -> str:
    """Return the part of a status by which a change is seen, or "" without a status.

    It has no times for a folder, because these change with what is left out in the folder.
    """
    if not status:
        return ""
    if stat.S_ISDIR(status.st_mode):
        return f"{status.st_ino} {status.st_mode}"
    times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
    return f"{status.st_size} {times} {status.st_ino}"


class AnswerStore:
    """The answers about one log from one set of sources, in the store. A context manager.

    Make one before anything is read: what has changed since then is not kept. Once there was a
    warning no answer is kept either, so that the next command warns too. A warning that something
    takes long does not count: what was read is whole.

    Attributes:
        sources: the sources to read evidence from, so that warnings are noted here.
        has_warned: whether there was a warning after which no answer is kept.
    """

    def __init__(
        self, sources: Sources, log_dir: Path | str, begun: int | None = None
    ) -> None:
        """Prepare the store, and open nothing yet.

        Args:
            sources: where evidence comes from.
            log_dir: the folder of the entries.
            begun: when reading began, in ns since 1970; None: it has not begun.
        """
        self.has_warned = False
        self.sources = sources.noting(self._note)
        self._store = Store(sources.cache_dir, sources.reading.get("keep", True))
        self._key = _key_of(sources, log_dir) if sources.cache_dir else b""
        self._begun = begun or time.time_ns()
        self._state: bytes | None = None
        self._kept: set[bytes] = set()
        self._room = MOST_KEPT

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def _note(self, warning: str) -> None:
        """Note a warning after which no answer is kept."""
        if not isinstance(warning, TakesLong):
            self.has_warned = True

    def get_all(
        self, names: Collection[object], value_type: type[Value]
    ) -> list[Value] | None:
        """Return what was kept under some names, in their order, if nothing changed since.

        None where anything changed, or where nothing is kept under one of the names.

        Args:
            names: the numbers of iterations, or other names.
            value_type: the type of the values.
        """
        kept = self._unchanged()
        if not kept:
            return None

        values = []
        for name in names:
            value = self._store.get_value(
                "answer", self._key_of(name), kept.state, value_type
            )
            if value is None:
                return None
            values.append(value)
        return values

    def put_other(self, name: str, value: object) -> None:
        """Keep a value under a name, for what is already watched for other answers.

        :meth:`watch` is not needed. Nothing is kept where no answer is kept, what answers were read
        from has changed, or there was a warning.
        """
        kept = self._unchanged()
        if kept and not self.has_warned:
            self._store.put_value("answer", self._key_of(name), kept.state, value)

    def _unchanged(self) -> "_KeptState | None":
        """Return what the kept answers were read from, or None where any of it has changed."""
        kept = self._store.get_value("answer", self._key, b"", _KeptState)
        if not kept or self._state_of(kept.watched) != kept.state:
            return None
        return kept

    def _state_of(
        self, watched: Watched, settled_at: int | None = None
    ) -> bytes | None:
        """Return the state of what is watched, with the stamps of the objects of git.

        None where :meth:`Watched.state` is None, or where objects have no stamps or have changed
        too shortly before ``settled_at``.
        """
        state = watched.state(settled_at)
        if state is None:
            return None

        repository = Path(watched.repository)
        stamps = object_stamps(repository, self.sources.cache_dir, self._store.keeps)
        if not stamps or (settled_at and not is_settled(stamps.newest, settled_at)):
            return None
        return state + stamps.objects + stamps.commits

    def watch(self, watched: Watched) -> None:
        """Note what the answers are read from that :meth:`put` keeps.

        Call this once, before :meth:`put`. No answer is kept where any of that has just changed, or
        where the repository borrows objects from elsewhere. Answers that are kept now stay, and
        what they were read from is watched as well.
        """
        if not self._store.keeps or os.path.exists(
            f"{watched.repository}/objects/info/alternates"
        ):
            return
        kept = self._unchanged()
        if kept:
            watched = watched.with_files_of(kept.watched)
        self._state = self._state_of(watched, settled_at=self._begun)
        if self._state is None:
            return

        self._store.put_value(
            "answer", self._key, b"", _KeptState(watched, self._state)
        )
        rows = self._store.get_all("answer", self._key, MOST_KEPT)
        for (key, stamp), value in rows.items():
            if kept and stamp == kept.state != self._state:
                self._store.put("answer", key, self._state, value)
                stamp = self._state
            if stamp == self._state:
                self._kept.add(key)
                self._room -= len(value)

    @property
    def may_keep(self) -> bool:
        """Whether :meth:`put` keeps anything."""
        return self._state is not None and not self.has_warned

    def put(self, name: object, value: object) -> None:
        """Keep a value under the number of an iteration or another name.

        Nothing is kept where the name has a value already, there was a warning, or all values would
        have more than :data:`MOST_KEPT` bytes.
        """
        key = self._key_of(name)
        if key not in self._kept and self.may_keep:
            self._room -= self._store.put_value(
                "answer", key, self._state, value, self._room
            )

    def _key_of(self, name: object) -> bytes:
        """Return the key in the store of what is kept under a name."""
        return self._key + str(name).encode()


class _KeptState(Frozen):
    """What the kept answers were read from.

    Attributes:
        watched: what they were read from.
        state: the state of that at the time, with the stamps of the objects of git.
    """

    watched: Watched
    state: bytes


def _key_of(sources: Sources, log_dir: Path | str) -> bytes:
    """Return a digest of what decides where evidence is, and how it is read."""
    places = sources.places
    names = sorted(filter(_VARIABLES.fullmatch, os.environ))
    variables = [(name, os.environ[name]) for name in names]
    about = (
        os.path.realpath(log_dir),
        os.path.abspath(sources.repo_dir),
        sources.rules.name,
        sorted(map(os.path.abspath, (*places.directories, *places.hinted))),
        (places.auto, places.checkpoints),
        sources.trunk,
        sources.worktrees,
        sources.trusted,
        sources.reading.get("test_commands", ()),
        variables,
        os.geteuid(),
        digest_of_tables(),
    )
    return blake2b(
        repr(about).encode("utf-8", "backslashreplace"), digest_size=16
    ).digest()
