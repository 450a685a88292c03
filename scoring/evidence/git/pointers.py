"""The files by which git points to a repository: a linked work tree to its record, and that to the repository."""

import os

from scoring.errors import InputError
from scoring.files import read_file

_POINTER_LIMIT = 1 << 16
"""The largest file, in bytes, that is read to find where git keeps a repository."""


def pointed_to(file: str, before: bytes) -> str | None:
    """Return the folder that a file of git names, ``before`` which something is said; None where it names none."""
    try:
        text = read_file(file, _POINTER_LIMIT)
    except (FileNotFoundError, InputError):
        return None
    target = os.fsdecode(text.removeprefix(before).strip())
    return os.path.realpath(os.path.join(os.path.dirname(file), target)) if text.startswith(before) else None
