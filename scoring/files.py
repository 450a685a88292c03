"""How files are read and written: only plain files of a sane size are read, and a reader never sees a part of one.

New bytes go to a temporary file beside the target, are flushed, and renamed over it: a crash leaves the old file, and
of several writers the last wins. A target that is a symlink is replaced, not followed. The module is long, since what
knows the errors of files is here alone.
"""

import contextlib
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from scoring.errors import InputError, NoFileError, WriteError

READ_PLAIN = (
    os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
)  # to open what is now a FIFO does not wait
SIZE_LIMIT = 16 << 20  # the largest file, in bytes, that is read as YAML or JSON
MODE = 0o600
STALE_AGE = 3600.0  # seconds after which a temporary file is stale, whatever its process does
_LONGEST_AGE = 24 * 3600.0  # the same of a temporary directory where the file system has no locks
_UNLOCKED_AGE = (
    2.0  # seconds that a process may take between making a temporary directory and locking it
)
_MANY = 64  # from how many files on it is cheaper to have the system write out everything than one after another
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_TEMPORARY = re.compile(r"\.da-score-([0-9]{1,10})-[0-9a-f]{16}\.tmp")
_TEMPORARY_DIRECTORY = re.compile(
    r"da-score-(?:git|query|fleet)-(?:[0-9a-f]{1,10}-){0,2}([a-z0-9_]{8})"
)


def read_file(path: Path | str, limit: int = SIZE_LIMIT, within: Path | str | None = None) -> bytes:
    """Return the bytes of a plain file, not led out of ``within`` by a link; NoFileError, InputError."""
    try:
        if within is not None and os.path.islink(path) and not is_inside(path, within):
            raise OSError(errno.EXDEV, "is a link to a file elsewhere")
        if stat.S_ISDIR(refuse_special(path).st_mode):
            raise IsADirectoryError(errno.EISDIR, "is a directory")
        with open(os.open(path, READ_PLAIN), "rb") as f:
            size = refuse_special(f.fileno()).st_size
            data = (
                (f.read(size + 1) or b"") if size <= limit else b""
            )  # None of what would wait, as /proc/kmsg
            if size < len(data) <= limit:  # it grows
                data += f.read(limit + 1 - len(data))
    except (FileNotFoundError, NotADirectoryError) as e:
        raise NoFileError(f"{path}: no such file") from e
    except (OSError, ValueError) as e:
        raise InputError(f"{path}: {reason(e)}") from e
    if max(size, len(data)) > limit:
        raise InputError(f"{path}: larger than {size_in_words(limit)}")
    return data


def is_inside(path: Path | str, directory: Path | str) -> bool:
    """Return whether a path, whether there is anything or not, is in a directory once all links are followed."""
    found, root = os.path.realpath(path), os.path.realpath(directory)
    return found == root or found.startswith(root.rstrip("/") + "/")


def is_of_the_system(folder: Path) -> bool:
    """Return whether a folder is one in which the system shows processes and devices as files; /dev/shm is none."""
    shown = "\0" not in str(folder) and any(
        is_inside(folder, top) for top in ("/proc", "/sys", "/dev")
    )
    return shown and not is_inside(folder, "/dev/shm")  # noqa: S108 - nothing is written there


def in_checkout(path: Path | str, repo_dir: Path | str) -> bool:
    """Return whether a path, or what leads to it, is in the whole checkout around a folder."""
    folder, way = Path(os.path.realpath(repo_dir)), Path(os.path.abspath(path))
    top = next(
        (here for here in (folder, *folder.parents) if os.path.lexists(here / ".git")), folder
    )
    return any(is_inside(one, top) for one in (path, way, *way.parents))


def size_in_words(limit: int) -> str:
    """Return a size in bytes as text, in whole MiB or KiB."""
    return f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"


def refuse_special(path: Path | str | int) -> os.stat_result:
    """Return the stat of a file or a folder; OSError for a FIFO, a device or a socket, which are not to be opened."""
    found = os.stat(path)
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise OSError(errno.ENXIO, "is not a plain file", str(path))
    return found


def state_of(path: Path | str) -> tuple[int, int, int] | None:
    """Return what of a file is another with each change of it, its size and both times; None where there is none."""
    found = _status(path)
    return found and (found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def identity_of(path: Path | str) -> tuple[int, int] | None:
    """Return by what the system knows a file, whatever name leads to it; None where there is none."""
    found = _status(path)
    return found and (found.st_dev, found.st_ino)


def _status(path: Path | str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None


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


def list_names(directory: Path | str) -> list[str]:
    """List the names in a directory, in byte order; InputError, with the reason, when it cannot be listed."""
    try:
        return sorted(os.listdir(directory), key=os.fsencode)
    except (OSError, ValueError) as e:
        raise InputError(f"{directory}: {reason(e)}") from e


def holds(path: Path, data: bytes, mode: int = MODE) -> bool:
    """Return whether a plain file of this mode at ``path`` has exactly these bytes."""
    try:
        found = os.lstat(path)
        if (found.st_mode, found.st_size) != (stat.S_IFREG | mode, len(data)):
            return False
        with open(os.open(path, READ_PLAIN | os.O_NOFOLLOW), "rb") as f:
            return f.read(len(data) + 1) == data
    except OSError:
        return False


def write_atomically(
    path: Path, data: bytes, mode: int = MODE, owner: tuple[int, int] | None = None
) -> None:
    """Write ``data`` to ``path``, unless it holds these bytes already; the rest is as for :func:`atomic_stream`."""
    if not holds(path, data, mode):
        with atomic_stream(path, mode, owner) as f:
            f.write(data)


@contextlib.contextmanager
def atomic_stream(
    path: Path, mode: int = MODE, owner: tuple[int, int] | None = None
) -> Iterator[BinaryIO]:
    """Give a file to write in steps, put at ``path`` when the block ends without an error; else a WriteError."""
    remove_stale(path.parent)
    temporary = _temporary(path)
    try:
        with _new_file(temporary, mode, owner=owner) as f:
            yield f
        os.replace(temporary, path)
        _flush_directory(path.parent)
    except OSError as e:
        raise _cannot_write(path, e) from e
    finally:
        _unlink(temporary)


def write_together(files: Sequence[tuple[Path, bytes]], mode: int = MODE) -> None:
    """Write many files of one directory and wait for the disk once; WriteError names the first that failed."""
    new = [(path, _temporary(path), data) for path, data in files if not holds(path, data, mode)]
    try:
        for folder in (folders := {path.parent for path, _, _ in new}):
            remove_stale(folder)
        for path, temporary, data in new:  # noqa: B007 - which one fails is asked below
            with _new_file(temporary, mode, flush=len(new) < _MANY) as f:
                f.write(data)
        if len(new) >= _MANY:
            os.sync()
            for path, temporary, _ in new:  # noqa: B007 - the same; it waits no more, and an error is said
                _flush(temporary, os.O_RDONLY)
        for path, temporary, _ in new:
            os.replace(temporary, path)
        for folder in folders:
            _flush_directory(folder)
    except OSError as e:
        raise _cannot_write(path, e) from e
    finally:
        for _, temporary, _ in new:
            _unlink(temporary)


@contextlib.contextmanager
def _new_file(
    path: Path, mode: int, flush: bool = True, owner: tuple[int, int] | None = None
) -> Iterator[BinaryIO]:
    with open(os.open(path, _NEW, MODE & mode), "wb") as f:
        made = os.fstat(f.fileno())
        if owner is not None and owner != (made.st_uid, made.st_gid):
            os.fchown(f.fileno(), *owner)
        os.fchmod(f.fileno(), mode)
        yield f
        f.flush()
        if flush:
            os.fsync(f.fileno())


@contextlib.contextmanager
def alone_in(directory: Path, seconds: float = 30) -> Iterator[None]:
    """Have a folder for this process alone among those of da-score; WriteError when it is no folder, or stays taken."""
    until = time.monotonic() + seconds
    try:
        fd = os.open(directory, _DIRECTORY)
    except OSError as e:
        raise WriteError(f"{directory}: cannot write here: {reason(e)}") from e
    try:
        while _lock(fd) is False:
            if time.monotonic() >= until:
                raise WriteError(f"{directory}: another da-score is at work here; try again later")
            time.sleep(0.02)
        yield
    finally:
        os.close(fd)


def _lock(fd: int) -> bool | None:
    """Lock a file for this process; False where another one has it, None where the file system has no locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _temporary(path: Path) -> Path:
    return path.parent / f".da-score-{os.getpid()}-{os.urandom(8).hex()}.tmp"


def _cannot_write(path: Path, error: OSError) -> WriteError:
    old = "; the old file is untouched" if os.path.lexists(path) else ""
    return WriteError(f"{path}: cannot write: {(error.strerror or str(error)).lower()}{old}")


def _flush_directory(directory: Path) -> None:
    """Make the rename last through a power cut, where the file system lets us."""
    with contextlib.suppress(OSError):
        _flush(directory, _DIRECTORY)


def _flush(path: Path, how: int) -> None:
    with _opened(path, how) as fd:
        os.fsync(fd)


@contextlib.contextmanager
def _opened(path: Path | str, how: int) -> Iterator[int]:
    fd = os.open(path, how)
    try:
        yield fd
    finally:
        os.close(fd)


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def remove_stale(directory: Path, now: Callable[[], float] = time.time) -> None:
    """Remove temporary files that no living process will finish. Never raises."""
    for path, found, process in _left_in(directory, _TEMPORARY):
        if now() - found.st_mtime > STALE_AGE or not _is_alive(int(process)):
            _unlink(path)


@contextlib.contextmanager
def temporary_directory(purpose: str, base: Path | None = None) -> Iterator[Path]:
    """Give a directory for a while, locked while it is in use, and remove those of killed processes; OSError."""
    import tempfile  # most commands make no folder

    remove_stale_directories(base)
    made = tempfile.TemporaryDirectory(
        prefix=f"da-score-{purpose}-", dir=base, ignore_cleanup_errors=True
    )
    with made as directory, _opened(directory, _DIRECTORY) as fd:
        _lock(fd)
        yield Path(directory)


def remove_stale_directories(
    base: Path | None = None, now: Callable[[], float] = time.time
) -> None:
    """Remove temporary directories of this user that no process has any more. Never raises."""
    import shutil

    for path, found, _ in _left_in(base, _TEMPORARY_DIRECTORY):
        age = now() - found.st_mtime
        if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and age > _UNLOCKED_AGE:
            with contextlib.suppress(OSError), _opened(path, _DIRECTORY | os.O_NOFOLLOW) as fd:
                is_free = _lock(fd)
                if is_free or (is_free is None and age > _LONGEST_AGE):
                    shutil.rmtree(path, ignore_errors=True)


def _left_in(
    directory: Path | None, pattern: re.Pattern[str]
) -> Iterator[tuple[Path, os.stat_result, str]]:
    """Yield what has a temporary name in a directory, or that of the system, with its stat and its process's number."""
    import tempfile

    with contextlib.suppress(OSError):  # there may be none, where the disk is full
        directory = directory or Path(tempfile.gettempdir())
        for name in os.listdir(directory):
            if m := pattern.fullmatch(name):
                with contextlib.suppress(OSError):
                    yield directory / name, os.lstat(directory / name), m[1]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it runs, and is another user's
        return True
    return True
