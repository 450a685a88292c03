"""One process at a time in a folder; the lock of a process that ends is gone."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from scoring.errors import WriteError
from scoring.files import reason


@contextlib.contextmanager
def alone_in(directory: Path, seconds: float = 30) -> Iterator[None]:
    """Have a folder for this process alone, as far as other processes of da-score go.

    Raises:
        WriteError: it is no folder that can be read, or another process has had it for as many ``seconds``.
    """
    until = time.monotonic() + seconds
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as e:
        raise WriteError(f"{directory}: cannot write here: {reason(e)}") from e
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as e:
                if time.monotonic() >= until:
                    raise WriteError(f"{directory}: another da-score is at work here; try again later") from e
                time.sleep(0.02)
            except OSError:  # some network file systems have no locks
                break
        yield
    finally:
        os.close(fd)
