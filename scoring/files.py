"""How files are read and written, in one place.

Read is what is a plain file of a sane size, and nothing else: a FIFO would block for ever, a device would never end,
and a file of gigabytes is no log entry.

Written is so that a reader sees the old file or the new one, never a part. The new bytes go to a temporary file in the
same directory, are flushed to disk, and are renamed over the target. What this gives, and what it does not:

- a crash, a kill or a full disk leaves the old file as it was, and at most one temporary file;
- of several writers at once the last rename wins, and its file is whole;
- a target that is a symlink is replaced, not followed, so nothing outside the directory is written;
- two files are two renames: a crash between them leaves one new and one old.

A temporary file carries the number of its process. It is stale when that process is gone or it is older than an hour;
:func:`remove_stale` takes it away, and :func:`remove_stale_directories` the temporary directories.

The module is long because reading safely, writing whole and sweeping up are promises about the same files.
"""

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from scoring.errors import InputError, WriteError

READ_PLAIN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
"""How files are opened: should a FIFO take the place of a file just now, opening it does not wait."""

SETTLED = 2_000_000_000
"""How long, in nanoseconds, a file must have been left alone when it was read, to be known by its stamp alone."""

SIZE_LIMIT = 16 << 20
"""The largest file, in bytes, that is read as YAML or JSON."""


def read_file(path: Path | str, limit: int = SIZE_LIMIT) -> bytes:
    """Return the bytes of a plain file.

    Raises:
        FileNotFoundError: when there is nothing at ``path``.
        InputError: when it is no plain file, is larger than ``limit`` bytes, or cannot be read.
    """
    try:
        refuse_special(path)
        fd = os.open(path, READ_PLAIN)
    except (FileNotFoundError, NotADirectoryError) as e:
        raise FileNotFoundError(e.errno, "no such file", str(path)) from e
    except (OSError, ValueError) as e:
        raise InputError(f"{path}: {reason(e)}") from e
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path}: is {'a directory' if stat.S_ISDIR(found.st_mode) else 'not a plain file'}")
        if found.st_size > limit:
            raise InputError(f"{path}: larger than {in_words(limit)}")
        data = os.read(fd, found.st_size + 1)
        while len(data) <= limit and (more := os.read(fd, limit + 1 - len(data))):  # it grows, or comes in pieces
            data += more
    except OSError as e:
        raise InputError(f"{path}: {reason(e)}") from e
    finally:
        os.close(fd)
    if len(data) > limit:
        raise InputError(f"{path}: larger than {in_words(limit)}")
    return data


def is_inside(path: Path | str, directory: Path | str) -> bool:
    """Return whether a path, whether there is anything or not, is in a directory once all links are followed."""
    found, root = os.path.realpath(path), os.path.realpath(directory)
    return found == root or found.startswith(root.rstrip("/") + "/")


def in_words(limit: int) -> str:
    """Return a size in bytes as text, in whole MiB or KiB."""
    return f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"


def refuse_special(path: Path | str) -> None:
    """Raise for a FIFO, a device or a socket, which even to open may have effects.

    Raises:
        OSError: there is one at ``path``, or nothing, or it cannot be looked at.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.ENXIO, "is not a plain file", str(path))


def make_folder(path: Path) -> None:
    """Make a folder and those above it; WriteError where that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise WriteError(f"{path}: cannot make the folder: {reason(e)}") from e


def reason(error: Exception) -> str:
    """Return why a file could not be read, in a few words."""
    if isinstance(error, OSError) and error.strerror:
        return "is not a plain file" if error.errno == errno.ENXIO else error.strerror.lower()
    return str(error)


def kept_as(name: bytes | str) -> str:
    """Return the name that a file of the cache has for what it is about, which may be a path or anything longer."""
    from hashlib import blake2b  # only a command that keeps something needs it

    return blake2b(os.fsencode(name), digest_size=16).hexdigest()


def list_names(directory: Path | str) -> list[str]:
    """List the names in a directory, in byte order.

    Raises:
        InputError: when it cannot be listed; the text says why.
    """
    try:
        return sorted(os.listdir(directory), key=os.fsencode)
    except (OSError, ValueError) as e:
        raise InputError(f"{directory}: {reason(e)}") from e


MODE = 0o600
STALE_AGE = 3600.0
"""Seconds after which a temporary file is stale, whatever its process does."""

_AT_ONCE, _FLUSHERS = 128, 8
"""How many files are written together, and how many threads wait for the disk: it serves several at once."""

_MANY = 1000
"""From how many files on the system is asked to write out everything, which is then cheaper than one after another."""

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY_DIRECTORY = re.compile(r"da-score-(?:git|query)-(?:([0-9]{1,10})-)?[a-z0-9_]{8}")
_LONGEST_AGE = 24 * 3600.0
"""Seconds after which a temporary directory is stale, whatever its process does."""

_TEMPORARY = re.compile(r"\.da-score-([0-9]{1,10})-[0-9a-f]{16}\.tmp")


def write_atomically(
    path: Path, data: bytes, durable: bool = True, mode: int = MODE, owner: tuple[int, int] | None = None
) -> None:
    """Write ``data`` to ``path``, by default with mode 0600. A file that holds these bytes already is left alone.

    What need not survive a power cut (a cache) is not ``durable``, and not waited for. ``owner`` are the numbers of the
    user and the group that own it; by default those of this process.

    Raises:
        WriteError: the file could not be written; what was at ``path`` is still there.
    """
    if holds(path, data, mode):
        return
    with _placed(path, durable) as temporary:
        _write_whole(temporary, data, durable, mode, owner)


def write_together(files: Sequence[tuple[Path, bytes]], mode: int = MODE) -> None:
    """Write many files of one directory, each as :func:`write_atomically` does, and wait for the disk once for several.

    Raises:
        WriteError: naming the first that could not be written. Those before it may be written or not.
    """
    count = _AT_ONCE if len(files) < _MANY else 10 * _MANY
    for start in range(0, len(files), count):
        some = files[start : start + count]
        _write_some([(path, data) for path, data in some if not holds(path, data, mode)], mode)


def _write_some(files: Sequence[tuple[Path, bytes]], mode: int) -> None:
    if not files:
        return
    from concurrent.futures import ThreadPoolExecutor  # one file alone needs no threads

    waiting: list[tuple[Path, Path]] = []
    path = files[0][0]
    try:
        for path, data in files:
            temporary = _temporary(path)
            waiting.append((temporary, path))
            _write_whole(temporary, data, False, mode)
        if len(waiting) < _MANY:
            with ThreadPoolExecutor(_FLUSHERS) as pool:
                list(pool.map(_flush, [temporary for temporary, _ in waiting]))
        else:
            os.sync()
        waiting.reverse()
        while waiting:
            temporary, path = waiting[-1]
            os.replace(temporary, path)
            waiting.pop()
        _flush_directory(path.parent)
    except OSError as e:
        raise _cannot_write(path, e) from e
    finally:
        for temporary, _ in waiting:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _flush(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def atomic_stream(path: Path, mode: int = MODE, durable: bool = True) -> Iterator[BinaryIO]:
    """Give a file to write to in any number of steps, and put it at ``path`` when all of them are done.

    When the block is left by an error nothing is put there. What need not survive a power cut is not ``durable``. What
    a killed process left beside it is taken away.

    Raises:
        WriteError: the file could not be written; what was at ``path`` is still there.
    """
    remove_stale(path.parent)
    with _placed(path, durable) as temporary, open(os.open(temporary, _NEW, mode), "wb") as f:
        os.fchmod(f.fileno(), mode)
        yield f
        f.flush()
        if durable:
            os.fsync(f.fileno())


@contextlib.contextmanager
def _placed(path: Path, durable: bool = True) -> Iterator[Path]:
    """Name a file to write, and put it at ``path`` when that is done; take it away when it fails."""
    temporary = _temporary(path)
    try:
        try:
            yield temporary
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        if durable:
            _flush_directory(path.parent)
    except OSError as e:
        raise _cannot_write(path, e) from e


def _temporary(path: Path) -> Path:
    return path.parent / f".da-score-{os.getpid()}-{os.urandom(8).hex()}.tmp"


def _cannot_write(path: Path, error: OSError) -> WriteError:
    old = "; the old file is untouched" if os.path.lexists(path) else ""
    return WriteError(f"{path}: cannot write: {(error.strerror or str(error)).lower()}{old}")


def _write_whole(path: Path, data: bytes, flush: bool, mode: int, owner: tuple[int, int] | None = None) -> None:
    fd = os.open(path, _NEW, MODE & mode)
    try:
        made = os.fstat(fd)
        if owner is not None and owner != (made.st_uid, made.st_gid):
            os.fchown(fd, *owner)
        os.fchmod(fd, mode)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        if flush:
            os.fsync(fd)
    finally:
        os.close(fd)


def _flush_directory(directory: Path) -> None:
    """Make the rename last through a power cut, where the file system lets us."""
    with contextlib.suppress(OSError):
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def holds(path: Path, data: bytes, mode: int = MODE) -> bool:
    """Tell whether a plain file of this mode at ``path`` holds exactly these bytes."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        found = os.fstat(fd)
        same_kind = found.st_mode == 0o100000 | mode and found.st_size == len(data)
        return same_kind and os.read(fd, len(data) + 1) == data
    except OSError:
        return False
    finally:
        os.close(fd)


def remove_stale(directory: Path, now: Callable[[], float] = time.time) -> None:
    """Remove temporary files that no living process will finish. Never raises."""
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            if (
                name.startswith(".")
                and (m := _TEMPORARY.fullmatch(name))
                and _is_stale(directory / name, int(m[1]), now())
            ):
                with contextlib.suppress(OSError):
                    os.unlink(directory / name)


@contextlib.contextmanager
def temporary_directory(purpose: str) -> Iterator[Path]:
    """Give a directory of one's own for a while; ``purpose`` is ``git`` or ``query``.

    What a process that was killed left behind of these is taken away first.

    Raises:
        OSError: it cannot be made.
    """
    import tempfile  # most commands make no folder

    remove_stale_directories()
    prefix = f"da-score-{purpose}-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def remove_stale_directories(now: Callable[[], float] = time.time) -> None:
    """Remove temporary directories of this user that were left behind, by name, age and owner. Never raises.

    One is left alone for an hour, and for a day as long as there is a process of its number: it may run elsewhere.
    """
    import shutil
    import tempfile

    place = Path(tempfile.gettempdir())
    with contextlib.suppress(OSError):
        for name in os.listdir(place):
            if m := _TEMPORARY_DIRECTORY.fullmatch(name):
                found = os.lstat(place / name)
                if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                    continue
                age = now() - found.st_mtime
                if age > _LONGEST_AGE or (age > STALE_AGE and m[1] and not _is_alive(int(m[1]))):
                    shutil.rmtree(place / name, ignore_errors=True)


def _is_stale(path: Path, process: int, now: float) -> bool:
    try:
        age = now - os.lstat(path).st_mtime
    except OSError:
        return False
    return age > STALE_AGE or not _is_alive(process)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it runs, and is another user's
        return True
    return True
