"""Refuses a repository in which a pipe or device is in place of a file that git reads.

Git opens these files without asking what they are, and would wait for a pipe forever.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from scoring.errors import GitError, InputError
from scoring.files import read_file, reason, refuse_special, size_in_words
from scoring.paths import checkout_around, real_path

from .starter import Git

PLAIN_FILES = {
    "HEAD": 64 << 10,
    "commondir": 64 << 10,
    "config": 4 << 20,
    "config.worktree": 4 << 20,
    "index": 1 << 30,
    "packed-refs": 256 << 20,
    "shallow": 1 << 20,  # git's time grows with the square of its lines
    "objects/info/alternates": 64 << 10,
    "info/attributes": 4 << 20,
    "info/grafts": 1 << 20,
    "objects/info/commit-graph": 4 << 30,
    "objects/info/commit-graphs/commit-graph-chain": 64 << 10,
    "objects/pack/multi-pack-index": 4 << 30,
}
"""Files in a repository's directory that git reads, and the most bytes that each may have."""

_ALTERNATES_LIMIT = PLAIN_FILES["objects/info/alternates"]
_FOLDER_OF_OBJECTS = re.compile("[0-9a-f]{2}|pack")
_MOST_REPLACEMENTS = 10_000
_MOST_BEHIND_LINKS = 10_000
"""How many files and folders links to folders may lead to, in which git looks for branches."""

_SETTINGS_FILES = ("config", "config.worktree")
_INCLUDES = r"^include(if\..*)?\.path$"
# files that settings include; git reads one as often as it is included
_MOST_INCLUDES = 100
_TIMEOUT = 30  # seconds


def refuse_pipes_around(directory: Path) -> None:
    """Refuse pipes among the files that git reads to open the work tree around a directory.

    A directory outside of any work tree passes.

    Raises:
        GitError: a pipe or device is in place of such a file, the file is too large, there are too
            many replacements or included settings, or links lead to too many files.
    """
    top = checkout_around(directory)
    if top:
        _refuse_pipes_among_settings(top / ".git")
        refuse_pipe(top / ".gitattributes")


def refuse_pipes_in(repository: Path) -> None:
    """Refuse pipes among the settings and the objects of a repository.

    Args:
        repository: its ``.git``, which all its work trees share.

    Raises:
        GitError: as for :func:`refuse_pipes_around`.
    """
    _refuse_pipes_among_settings(repository)
    for folder in folders_of_objects(repository / "objects"):
        _refuse_pipes_among_objects(folder)


def _refuse_pipes_among_settings(repository: Path) -> None:
    """Refuse pipes among the files of a repository that are neither objects nor branches.

    Raises:
        GitError: a pipe or device is in place of a file, a file is too large, there are too many
            replacements or included settings, or links lead to too many files.
    """
    refuse_pipe(repository)
    for name, limit in PLAIN_FILES.items():
        refuse_pipe(repository / name, limit)

    replacements = chain(
        (repository / "refs/replace").rglob("*"), _packed_replacements(repository)
    )
    for count, path in enumerate(replacements):
        if count == _MOST_REPLACEMENTS:
            raise GitError(
                f"{repository}: more than {_MOST_REPLACEMENTS:,} replacements"
            )
        refuse_pipe(path)

    _refuse_large_links(repository / "refs")

    for pattern in ("worktrees/*/*", "sharedindex.*"):
        for path in repository.glob(pattern):
            refuse_pipe(path)

    for name in _SETTINGS_FILES:
        _refuse_pipes_included(repository / name)


def _refuse_large_links(refs: Path) -> None:
    """Refuse links to folders, as to ``/``, in which git would look for very many branches.

    Links that lead to few files are of people who share the branches of a repository.

    Raises:
        GitError: the links lead to more than :data:`_MOST_BEHIND_LINKS` files and folders.
    """
    count = 0
    waiting = [(os.fspath(refs), refs.is_symlink())]
    while waiting:
        folder, is_linked = waiting.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                count += is_linked
                if count > _MOST_BEHIND_LINKS:
                    raise GitError(
                        f"{refs}: links lead to more than {_MOST_BEHIND_LINKS:,} files; "
                        "git would look for branches in all of them"
                    )
                with suppress(OSError):
                    if entry.is_dir():
                        waiting.append((entry.path, is_linked or entry.is_symlink()))


def _packed_replacements(repository: Path) -> Iterator[Path]:
    """Yield the file of packed branches once for each replacement in it."""
    path = repository / "packed-refs"
    with suppress(OSError), open(path, "rb") as file:
        for line in file:
            if b" refs/replace/" in line:
                yield path


def folders_of_objects(objects: Path) -> Iterator[Path]:
    """Yield a folder of objects, then those from which it, or one of these, borrows, each once."""
    folders = [objects]
    known = {real_path(objects)}
    for folder in folders:
        yield folder
        for borrowed in _borrowed(folder):
            if borrowed not in known:
                known.add(borrowed)
                folders.append(Path(borrowed))


def _borrowed(folder: Path) -> list[str]:
    """Return the real paths of the folders from which a folder of objects borrows some.

    Where its ``info/alternates`` cannot be read, it borrows nothing. A path in quotes has escapes,
    and is passed over if these are broken.
    """
    try:
        text = read_file(folder / "info/alternates", _ALTERNATES_LIMIT)
    except InputError:
        return []

    borrowed = []
    for line in text.split(b"\n"):
        if line.startswith(b'"'):
            try:
                line = line[1:-1].decode("unicode_escape").encode("latin-1")
            except ValueError:
                continue
        if b"\0" not in line:
            borrowed.append(real_path(folder / os.fsdecode(line)))
    return borrowed


def _refuse_pipes_among_objects(objects: Path) -> None:
    """Refuse pipes among the loose objects and packs of a folder, and as ``info/alternates``.

    Raises:
        GitError: a pipe or device is in place of a file, or ``info/alternates`` is too large.
    """
    refuse_pipe(objects / "info/alternates", _ALTERNATES_LIMIT)
    for folder in folders_with_objects(objects):
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_file(follow_symlinks=False):
                    refuse_pipe(Path(entry.path))


def folders_with_objects(objects: Path) -> Iterator[str]:
    """Yield the paths of those folders in a folder of objects that hold loose objects or packs."""
    with suppress(OSError):
        for name in os.listdir(objects):
            if _FOLDER_OF_OBJECTS.fullmatch(name):
                yield f"{objects}/{name}"


def refuse_pipes_below(folder: Path) -> None:
    """Refuse pipes among all files below a folder.

    Raises:
        GitError: a pipe or device is in place of a file.
    """
    for parent, _, names in os.walk(folder):
        for name in names:
            refuse_pipe(Path(parent, name))


def refuse_pipe(path: Path, limit: int | None = None) -> None:
    """Refuse a pipe or device in place of a file. A file that does not exist passes.

    So does the null device: git reads it as an empty file, and people often set it as one.

    Args:
        path: the file.
        limit: the most bytes that the file may have; None for any number.

    Raises:
        GitError: the file is a pipe or another device, cannot be looked at, or has more bytes.
    """
    try:
        size = refuse_special(path).st_size
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as e:
        if e.errno != errno.ENXIO:
            raise GitError(f"{path}: {reason(e)}") from e
        if real_path(path) == os.devnull:
            return
        raise GitError(f"{path}: {reason(e)}; git would wait for it forever") from e
    if limit is not None and size > limit:
        raise GitError(
            f"{path}: larger than {size_in_words(limit)}; git would read it for long"
        )


def _refuse_pipes_included(settings: Path) -> None:
    """Refuse pipes among the files that a file of settings includes, and what these include.

    Raises:
        GitError: a pipe or device is in place of such a file, or there are too many.
    """
    waiting = [settings]
    for _ in range(_MOST_INCLUDES):
        if not waiting:
            return
        waiting += _included(waiting.pop())
    if waiting:
        raise GitError(f"{settings}: includes more than {_MOST_INCLUDES} files")


def _included(settings: Path) -> list[Path]:
    """Return the files that a file of settings includes, none where it cannot be read.

    Raises:
        GitError: a pipe or device is in place of one of them, or git does not answer.
    """
    try:
        if b"include" not in read_file(settings).lower():
            return []
    except InputError:
        return []

    answer = Git(Path("/")).ask(
        "config",
        f"--file={os.path.abspath(settings)}",
        "--no-includes",
        "-z",
        "--get-regexp",
        _INCLUDES,
        timeout=_TIMEOUT,
    )
    paths = []
    for row in answer.stdout.split(b"\0"):
        _, _, value = row.partition(b"\n")
        if value:
            path = settings.parent / os.path.expanduser(os.fsdecode(value))
            refuse_pipe(path)
            paths.append(path)
    return paths
