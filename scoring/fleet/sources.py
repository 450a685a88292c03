"""Which repositories a FLEET.toml names, and what shows, by names, sizes and times of files, that one is unchanged."""

import glob
import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rubric import Rubric
from scoring import store
from scoring.errors import DaScoreError, InputError
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.scopes import PLANS_DIR
from scoring.files import state_of
from scoring.fleet.fleet_toml import FleetConfig, Source, Storage, file_system, one_line
from scoring.log.find import find_logs
from scoring.log.settings import PYPROJECT_FILE, SETTINGS_FILE, resolve_settings
from scoring.signals.table import meter_profile

_NOT_READ = re.compile(
    r"session-.*\.score\.yaml|.*\.tmp", re.DOTALL
)  # files in a log without a part in a row
_ARCHIVES = (".tar", ".tgz", ".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2", ".zip")


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository to score: a directory with its log, or the ``url`` of an archive or of a folder elsewhere."""

    name: str  # what the data set calls it
    source: Source  # without its list of paths and URLs
    repo_dir: Path | None = None
    log: Path | None = None
    url: str = ""
    stamp: str = ""  # a digest of what the object store says of it

    @property
    def short(self) -> str:
        """The last part of its name, without the ending of an archive: what ``{name}`` is."""
        last = posixpath.basename((self.url or str(self.repo_dir)).rstrip("/"))
        return next(
            (last.removesuffix(ending) for ending in reversed(_ARCHIVES) if last.endswith(ending)),
            last,
        )

    def options(self) -> dict[str, Any]:
        """Return what its source sets, as the options of a command."""
        found: dict[str, Any] = {"trunk": self.source.trunk, "transcripts": self.source.way}
        found |= {"worktrees": self.source.worktrees, "test-commands": self.source.test_commands}
        if self.repo_dir is not None:
            found |= {"repo-dir": self.repo_dir, "iter-log-dir": self.log}
            named = [Path(text.replace("{name}", self.short)) for text in self.source.transcripts]
            found["transcript-dir"] = tuple(self.repo_dir / path.expanduser() for path in named)
        return found


def repositories(config: FleetConfig) -> list[Repository]:
    """Return the repositories that the sources name, each once, in order; InputError where one leads nowhere."""
    found: dict[str, Repository] = {}
    for source in config.sources:
        how = replace(
            source, paths=(), urls=()
        )  # a list of thousands would go to a worker with each of them
        for one in (*_directories(source, how), *_remote(source, how, config.storage)):
            found.setdefault(one.name, one)
    return list(found.values())


def _directories(source: Source, how: Source) -> Iterator[Repository]:
    for path in source.paths:
        several = glob.has_magic(path)
        places = sorted(glob.glob(path)) if several else [path]
        if not places:
            raise InputError(f"{path}: nothing is there")
        for place in map(Path, places):
            if several and not place.is_dir():
                continue
            try:
                logs = find_logs([place])
            except InputError:
                if several:  # a glob may take in folders that are no repositories
                    continue
                raise
            for log in logs:
                repo_dir = log.repo_dir or log.iter_log_dir
                yield Repository(_name(repo_dir), how, repo_dir, log.iter_log_dir)


def _remote(source: Source, how: Source, storage: Storage) -> Iterator[Repository]:
    for url in source.urls:
        fs, path = file_system(url, storage)
        protocol = url.partition("://")[0]
        try:
            found = _listed(fs, path.rstrip("/"))
        except FileNotFoundError:
            found = {}
        except Exception as e:
            raise InputError(f"{url}: cannot be listed: {one_line(e)}") from e
        if not found:
            raise InputError(
                f"{url}: nothing is there that is an archive or a folder with a repository"
            )
        for place, stamp in found.items():
            place = f"{protocol}://{place}"
            yield Repository(_name(place), how, url=place, stamp=stamp)


def _name(place: Path | str) -> str:
    return os.fsencode(place).decode("utf-8", "backslashreplace")


def _listed(fs: Any, path: str) -> dict[str, str]:
    found = fs.glob(path, detail=True) if glob.has_magic(path) else {path: fs.info(path)}
    listed: dict[str, str] = {}
    for place, info in sorted(found.items()):
        if info["type"] == "directory":
            if below := fs.find(place, detail=True):
                listed[place] = _digest([(name, _stamp_of(below[name])) for name in sorted(below)])
        elif place.endswith(_ARCHIVES):
            listed[place] = _stamp_of(info)
    return listed


_SAYS = (
    "ETag",
    "etag",
    "md5Hash",
    "content_md5",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "ino",
    "size",
)


def _stamp_of(info: Mapping[str, Any]) -> str:
    return _digest([(name, str(info[name])) for name in _SAYS if name in info])


def evidence_key(rubric: Rubric) -> dict[str, Any]:
    """Return how a rubric has evidence read: what another one must have alike to be scored from what is kept."""
    read = {"evidence": rubric.evidence, "profile": meter_profile(rubric, observe=True)}
    return {**read, "test_flags": rubric.test_flags, "loading": rubric.loading}


_ROWS = 2  # goes up when rows hold something else, so that all repositories are scored again


def folder_state(folder: Path) -> str:
    """Return a digest of the names, sizes and times of the files below a folder."""
    return _digest(_files(str(folder)))


def fingerprint_of(
    one: Repository,
    config: FleetConfig,
    rubric: Rubric,
    watched: Sequence[str] = (),
    look: Callable[[Path], str] = folder_state,
) -> str:
    """Return a digest of all that a repository is scored from but weights; ``watched`` are files that entries name."""
    key = [value for name, value in evidence_key(rubric).items() if name != "loading"]
    versions = store.FORMAT, _ROWS, key, config.horizon
    how = (
        one.source.trunk,
        one.source.way,
        one.source.transcripts,
        one.source.worktrees,
        one.source.test_commands,
    )
    if one.repo_dir is None or one.log is None:
        return _digest([versions, how, one.url, one.stamp])
    repo = str(one.repo_dir)
    named = [*map(str, (SETTINGS_FILE, PYPROJECT_FILE)), *watched]
    parts: list[object] = [versions, how, repo, str(one.log)]
    parts += [
        list(_files(str(one.log), _NOT_READ)),
        [state_of(os.path.join(repo, name)) for name in named],
    ]
    parts += [list(_files(os.path.join(repo, PLANS_DIR))), list(_git_state(repo))]
    parts += map(look, _transcript_folders(one))
    return _digest(parts)


def _transcript_folders(one: Repository) -> list[Path]:
    try:
        settings = resolve_settings(one.options(), environment={})
    except DaScoreError:  # the worker that scores it says so
        return []
    if settings.transcripts == "none":
        return []
    if settings.transcript_dirs:
        return list(settings.transcript_dirs)
    return [place for h in HARNESSES for place, *_ in h.homes(os.environ)]


def _files(folder: str, passed_over: re.Pattern[str] | None = None) -> Iterator[tuple[str, object]]:
    for here, folders, names in os.walk(folder):
        folders.sort()
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        for name in sorted([*names, *links]):
            if not (passed_over and passed_over.fullmatch(name)):
                path = os.path.join(here, name)
                yield path, state_of(path)


_REFTABLES = "reftable/tables.list"  # what git writes anew with every change of a ref, where refs are in tables


def _git_state(repo: str) -> Iterator[object]:
    folder = os.path.join(repo, ".git")
    above = os.path.dirname(os.path.abspath(repo))
    while not os.path.lexists(folder):  # a folder in a work tree
        if above == os.path.dirname(above):
            return
        folder, above = os.path.join(above, ".git"), os.path.dirname(above)
    if os.path.isfile(folder):  # a linked work tree
        folder = os.path.join(os.path.dirname(folder), _first_line(folder).removeprefix("gitdir: "))
        yield _first_line(os.path.join(folder, "HEAD")), state_of(os.path.join(folder, _REFTABLES))
        folder = os.path.join(folder, _first_line(os.path.join(folder, "commondir")) or ".")
    yield _first_line(os.path.join(folder, "HEAD"))
    named = ("packed-refs", _REFTABLES, "config", "shallow", "objects/info/alternates")
    yield [state_of(os.path.join(folder, name)) for name in named]
    yield list(_files(os.path.join(folder, "refs")))


def _first_line(path: str) -> str:
    if not os.path.isfile(path):  # a FIFO would be waited for
        return ""
    try:
        with open(path, "rb") as f:
            return os.fsdecode(f.readline(4096).rstrip(b"\n"))
    except OSError:
        return ""


def _digest(parts: Iterable[object]) -> str:
    made = blake2b(digest_size=16)
    for part in parts:
        made.update(repr(part).encode("utf-8", "backslashreplace"))
        made.update(b"\0")
    return made.hexdigest()
