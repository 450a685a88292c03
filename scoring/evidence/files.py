"""The door to files: reads what is a plain file of a sane size, and nothing else.

A FIFO would block for ever, a device would never end, and a file of gigabytes is no log entry (contract section 9).
"""

import errno
import os
import stat
from pathlib import Path

from scoring.errors import InputError

SIZE_LIMIT = 16 << 20
"""The largest file, in bytes, that is read as YAML or JSON."""


def read_file(path: Path | str, limit: int = SIZE_LIMIT) -> bytes:
    """Return the bytes of a plain file.

    Raises:
        FileNotFoundError: when there is nothing at ``path``.
        InputError: when it is no plain file, is larger than ``limit`` bytes, or cannot be read.
    """
    try:
        # O_NONBLOCK keeps the open itself from waiting for the other end of a FIFO.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (FileNotFoundError, NotADirectoryError) as e:
        raise FileNotFoundError(e.errno, "no such file", str(path)) from e
    except (OSError, ValueError) as e:
        raise InputError(f"{path}: {_reason(e)}") from e
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path}: is {'a directory' if stat.S_ISDIR(found.st_mode) else 'not a plain file'}")
        if found.st_size > limit:
            raise InputError(f"{path}: larger than {limit >> 20} MiB")
        with open(fd, "rb", closefd=False) as f:
            data = f.read(limit + 1)
    except OSError as e:
        raise InputError(f"{path}: {_reason(e)}") from e
    finally:
        os.close(fd)
    if len(data) > limit:
        raise InputError(f"{path}: larger than {limit >> 20} MiB")
    return data


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return "not a plain file" if error.errno == errno.ENXIO else error.strerror.lower()
    return str(error)


def list_names(directory: Path | str) -> list[str]:
    """List the names in a directory, in byte order.

    Raises:
        InputError: when it cannot be listed; the text says why.
    """
    try:
        return sorted(os.listdir(directory), key=os.fsencode)
    except (OSError, ValueError) as e:
        raise InputError(f"{directory}: {_reason(e)}") from e
