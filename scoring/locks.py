"""One process at a time: a lock on an open file or a folder, which the system lets go of when its holder ends."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def held_alone(fd: int) -> Iterator[None]:
    """Hold an open file, or directory, for one process at a time, and close it.

    The system lets go of it when the process ends, however it ends.
    """
    try:
        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def alone_in(directory: Path) -> "contextlib.AbstractContextManager[None]":
    """Hold a directory for one process at a time; see :func:`held_alone`.

    Raises:
        OSError: it is no directory that can be read.
    """
    return held_alone(os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
