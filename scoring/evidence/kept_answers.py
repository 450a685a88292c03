"""What git and transcripts said of iterations, kept as long as nothing changes that says it.

That is the log, the repository, the folders of transcripts, and the folders that these name. The
files of an entry are read each time.
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

from scoring.frozen import Frozen
from scoring.store import Store, Value, is_settled, last_change

from .git.facts import Changed, Landing, Trunk
from .git.kept_objects import object_stamps
from .rules import Sources
from .table_digest import digest_of_tables
from .transcripts.facts import IterationWindow, TranscriptFacts
from .transcripts.observed_facts import Observed

_VARIABLES = re.compile(r".*(?:HOME|_DIR|_DB)")
"""The names of variables that may say where transcripts are."""

_SIDECARS = re.compile(r".*(?:\.score|\.evidence)\.yaml/?")
_NOT_READ_OF_GIT = re.compile(
    r"(?:/worktrees/[^/]+)?/(?:logs|hooks)/?|/objects/[0-9a-f]{2}/"
    r"|(?!.*/refs/).*/(?:index|index\.lock|\w+_EDITMSG|FETCH_HEAD|ORIG_HEAD)"
)
"""Names where git keeps them: below ``refs`` each is the name of a branch or a tag.

Loose objects have stamps of their own.
"""

_PACK = re.compile(r"(?!.*/refs/).*/objects/pack/[^/]+\.pack")
_NOTHING = re.compile("(?!)")
_MOST_FILES = 50_000


class Answers(Frozen):
    """What git and transcripts say of one iteration.

    The fields are those of :class:`~scoring.evidence.facts.IterationFacts`.
    """

    trunk: Trunk
    landing: Landing
    changed: Changed
    window: IterationWindow | None
    transcripts: TranscriptFacts | None
    observed: Observed | None = None
    counted_for: int | None = None


class Watched(Frozen):
    """What the answers about a log are read from.

    Attributes:
        log: the folder of the entries.
        repository: the repository that all its work trees share.
        folders: folders of transcripts, and that of the plans.
        places: folders that transcripts name, of which it matters what is there.
        files: further files.
    """

    log: str
    repository: str
    folders: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def and_also(self, other: Self) -> Self:
        """Return this and what another one has."""
        return replace(
            self,
            folders=self.folders | other.folders,
            places=self.places | other.places,
            files=self.files | other.files,
        )

    def state(self, settled_at: int | None = None) -> bytes | None:
        """Return a digest of the state of all of it.

        None where too much or odd files are there.

        Args:
            settled_at: a time in nanoseconds since 1970: where a file was not left alone for long
                enough then, the state is None. None: whenever it changed.
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
        except OSError:
            return None
        return digest.digest()

    def _statuses(self) -> Iterator[tuple[str, os.stat_result | None]]:
        """Yield all that is watched: what names it and its state, and the status of a file."""
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
    """Yield the files and folders below a folder.

    Of a pack it yields the size, as git renews its times whenever it would write what the pack has.

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
    """Return the status of what a path leads to, or None where nothing is there."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _mark(status: os.stat_result | None) -> str:
    """Return what a file is known by. The times of a folder change with what is left out in it."""
    if not status:
        return ""
    if stat.S_ISDIR(status.st_mode):
        return f"{status.st_ino} {status.st_mode}"
    times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
    return f"{status.st_size} {times} {status.st_ino}"


class AnswerStore:
    """The answers about one log from one set of sources, in the store. A context manager.

    Make it before anything is read: what has changed since then is not kept. Nothing is kept either
    once there was a warning, so that the next command warns too.

    Attributes:
        sources: the sources, to be read with these warnings.
    """

    def __init__(self, sources: Sources, log_dir: Path | str) -> None:
        """Open nothing yet.

        Args:
            sources: where evidence comes from.
            log_dir: the folder of the entries.
        """
        self._warnings: list[str] = []
        self.sources = sources.noting(self._warnings.append)
        self._store = Store(sources.cache_dir, sources.reading.get("keep", True))
        self._key = _key_of(sources, log_dir) if sources.cache_dir else b""
        self._begun = time.time_ns()
        self._state: bytes | None = None
        self._kept: set[bytes] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def get_all(
        self, names: Collection[object], value_type: type[Value]
    ) -> list[Value] | None:
        """Return what was kept of iterations or under names, if nothing changed since.

        None where one of the names has nothing.
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
        """Keep a value under a name without :meth:`watch`: for what is watched for other answers.

        Nothing is kept where none of these are kept, or what they were read from has changed.
        """
        kept = self._unchanged()
        if kept:
            self._store.put_value("answer", self._key_of(name), kept.state, value)

    def _unchanged(self) -> "_KeptState | None":
        """Return what answers are kept for, or None where it has changed since."""
        kept = self._store.get_value("answer", self._key, b"", _KeptState)
        if not kept or self._state_of(kept.watched) != kept.state:
            return None
        return kept

    def _state_of(
        self, watched: Watched, settled_at: int | None = None
    ) -> bytes | None:
        """Return the state of what is watched, with the stamps of the objects of git."""
        state = watched.state(settled_at)
        if state is None:
            return None

        repository = Path(watched.repository)
        stamps = object_stamps(repository, self.sources.cache_dir, self._store.keeps)
        if not stamps or (settled_at and not is_settled(stamps.newest, settled_at)):
            return None
        return state + stamps.objects + stamps.commits

    def watch(self, watched: Watched) -> None:
        """Say what the answers are read from that :meth:`put` keeps.

        Where any of it has just changed, or objects are borrowed from elsewhere, none is kept. What
        other answers are read from that are kept now is watched too, so that they stay.
        """
        if not self._store.keeps or os.path.exists(
            f"{watched.repository}/objects/info/alternates"
        ):
            return
        kept = self._unchanged()
        if kept:
            watched = watched.and_also(kept.watched)
        self._state = self._state_of(watched, settled_at=self._begun)
        if self._state is None:
            return

        self._store.put_value(
            "answer", self._key, b"", _KeptState(watched, self._state)
        )
        for (key, stamp), value in self._store.get_all("answer", self._key).items():
            if kept and stamp == kept.state != self._state:
                self._store.put("answer", key, self._state, value)
                stamp = self._state
            if stamp == self._state:
                self._kept.add(key)

    def put(self, name: object, value: object) -> None:
        """Keep what was said of an iteration, or something else under a name."""
        key = self._key_of(name)
        if key not in self._kept and not self._warnings:
            self._store.put_value("answer", key, self._state, value)

    def _key_of(self, name: object) -> bytes:
        """Return the key in the store of what is kept under a name."""
        return self._key + str(name).encode()


class _KeptState(Frozen):
    """What answers were read from, and the digest of its state then."""

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
