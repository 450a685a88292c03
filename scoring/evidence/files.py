"""The door to files: reads what is a plain file of a sane size, and nothing else.

A FIFO would block for ever, a device would never end, and a file of gigabytes is no log entry (contract section 9).
"""

import errno
import os
import stat
from pathlib import Path

from scoring.errors import InputError

READ_PLAIN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
"""How files are opened: should a FIFO take the place of a file just now, opening it does not wait."""

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
            raise InputError(f"{path}: larger than {limit >> 20} MiB")
        with open(fd, "rb", closefd=False) as f:
            data = f.read(limit + 1)
    except OSError as e:
        raise InputError(f"{path}: {reason(e)}") from e
    finally:
        os.close(fd)
    if len(data) > limit:
        raise InputError(f"{path}: larger than {limit >> 20} MiB")
    return data


def refuse_special(path: Path | str) -> None:
    """Raise for a FIFO, a device or a socket, which even to open may have effects.

    Raises:
        OSError: there is one at ``path``, or nothing, or it cannot be looked at.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.ENXIO, "is not a plain file", str(path))


def reason(error: Exception) -> str:
    """Return why a file could not be read, in a few words."""
    if isinstance(error, OSError) and error.strerror:
        return "is not a plain file" if error.errno == errno.ENXIO else error.strerror.lower()
    return str(error)


def list_names(directory: Path | str) -> list[str]:
    """List the names in a directory, in byte order.

    Raises:
        InputError: when it cannot be listed; the text says why.
    """
    try:
        return sorted(os.listdir(directory), key=os.fsencode)
    except (OSError, ValueError) as e:
        raise InputError(f"{directory}: {reason(e)}") from e
