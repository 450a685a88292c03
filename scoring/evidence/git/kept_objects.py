"""How long answers about objects of git stay right: until one of the objects is gone."""

import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from scoring.file_stamps import last_change
from scoring.frozen import Frozen
from scoring.store import Store

from .plain_files import folders_of_objects, folders_with_objects

_MOST_FILES = 50_000  # loose objects and packs, after which nothing is kept
_CHANGES_OBJECTS = ("shallow", "info/grafts", "refs/replace")
_ENDINGS_OF_PACKS = (".pack", ".idx")
_START_LENGTH = 64  # bytes of a loose object that are read, to see what it is


class ObjectStamps(NamedTuple):
    """Stamps for what is kept of the objects of a repository.

    Attributes:
        objects: a stamp that changes after a file of objects was lost, packed, resized or got other
            rights.
        commits: a stamp that also changes after a loose commit or tag came.
        newest: when a file last came into a folder of objects or went from there, in nanoseconds
            since 1970; 0 without any such folder.
    """

    objects: bytes
    commits: bytes
    newest: int


class _KnownObjects(Frozen):
    """What the store has of a repository.

    Attributes:
        objects: as :attr:`ObjectStamps.objects`.
        commits: as :attr:`ObjectStamps.commits`.
        files: the names of the files for which both stamps hold, as :attr:`_ObjectFile.name`.
    """

    objects: bytes
    commits: bytes
    files: frozenset[str]


class _ObjectFile(NamedTuple):
    """A loose object, or a file of a pack.

    Attributes:
        name: the end of its folder's path, its name, its size and its mode, as one text.
        path: its whole path.
    """

    name: str
    path: str


def object_stamps(
    repository: Path, cache_dir: Path | None, keeps: bool = True
) -> ObjectStamps | None:
    """Return the stamps for what is kept of a repository, or None where too many files are there.

    Args:
        repository: the directory that all its work trees share.
        cache_dir: where answers are kept; None: nowhere, so that the stamps are new each time.
        keeps: whether answers are kept. If not, they are only read.
    """
    key = b"%b\0objects for %d" % (bytes(repository), os.geteuid())
    paths: dict[str, str] = {}
    newest = 0
    own_and_borrowed = folders_of_objects(repository / "objects")
    for folder in chain.from_iterable(map(folders_with_objects, own_and_borrowed)):
        left = _MOST_FILES + 1 - len(paths)
        paths.update(islice(_files_in(folder), left))
        if len(paths) > _MOST_FILES:
            return None
        # Git renews the times of a file whenever it would write what the file has.
        with suppress(OSError):
            newest = max(newest, last_change(os.stat(folder)))

    with Store(cache_dir, keeps) as store:
        known = store.get_value("git", key, b"", _KnownObjects)
        objects = os.urandom(16)
        commits = os.urandom(16)
        if known and known.files <= paths.keys():
            objects = known.objects
            new_files = paths.keys() - known.files
            if not any(_is_commit(paths[name]) for name in new_files):
                commits = known.commits

        current = _KnownObjects(objects, commits, frozenset(paths))
        if current != known:
            store.put_value("git", key, b"", current)
    return ObjectStamps(objects, commits, newest)


def may_change(repository: Path) -> bool:
    """Return whether what git says of the same objects may change.

    It may in a repository that has replacements, grafts or the end of a shallow clone.

    Args:
        repository: the directory that all its work trees share.
    """
    with suppress(OSError):
        if b" refs/replace/" in (repository / "packed-refs").read_bytes():
            return True
    return any((repository / name).exists() for name in _CHANGES_OBJECTS)


def _files_in(folder: str) -> Iterator[_ObjectFile]:
    """Yield the loose objects, or the packs with their indices, in a folder.

    Temporary files are left out. Nothing where the folder cannot be listed.
    """
    endings = _ENDINGS_OF_PACKS if folder.endswith("/pack") else ""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            is_temporary = entry.name.startswith("tmp_")
            if entry.name.endswith(endings) and entry.is_file() and not is_temporary:
                status = entry.stat()
                name = f"{folder[-4:]}/{entry.name} {status.st_size} {status.st_mode}"
                yield _ObjectFile(name, entry.path)


def _is_commit(path: str) -> bool:
    """Return whether a file is a loose commit or tag. A file that cannot be read is neither."""
    try:
        with open(path, "rb", buffering=0) as f:
            start = zlib.decompressobj().decompress(
                f.read(_START_LENGTH), len(b"commit")
            )
    except (OSError, zlib.error):
        return False
    return start.startswith((b"commit", b"tag "))
