"""What git answered about a repository and will always answer the same, kept between runs in the store.

Nothing is kept of a repository that can change what a commit says: replaced or grafted commits, a shallow clone that
may be deepened.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from scoring.store import Store

_STAMP = b"objects"
"""What is kept depends on objects of git alone, which never change."""
_UNUSABLE = (ValueError, msgspec.ValidationError, RecursionError)

T = TypeVar("T", bound="dict[str, Any]")


def kept_answers(cache_dir: Path | None, repository: Path, name: str, kind: type[T]) -> T:
    """Return the answers that are kept under a name about a repository: the directory that its work trees share."""
    with Store(None if may_change(repository) else cache_dir, keeps=False) as store, contextlib.suppress(*_UNUSABLE):
        if raw := store.get("git", _key(repository, name), _STAMP):
            found: T = msgspec.convert(json.loads(raw), kind)
            return found
    return kind()


def keep_answers(cache_dir: Path | None, repository: Path, name: str, answers: dict[str, Any]) -> None:
    """Keep all answers under a name; None as ``cache_dir`` keeps none."""
    with Store(None if may_change(repository) else cache_dir) as store:
        store.put("git", _key(repository, name), _STAMP, json.dumps(answers).encode())


def _key(repository: Path, name: str) -> bytes:
    return b"\0".join((os.fsencode(repository), name.encode()))


def may_change(repository: Path) -> bool:
    """Return whether what a commit says may change in this repository."""
    with contextlib.suppress(OSError):
        if b" refs/replace/" in (repository / "packed-refs").read_bytes():
            return True
    return any((repository / name).exists() for name in ("shallow", "info/grafts", "refs/replace"))
