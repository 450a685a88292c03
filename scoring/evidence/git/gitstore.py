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


class GitStore:
    """The kept answers about one repository, by section: dictionaries that their readers fill; what a key has stays."""

    def __init__(self, cache_dir: Path | None, repository: Path) -> None:
        """Take the cache directory, None to keep nothing, and the directory that all work trees of it share."""
        self._cache_dir = None if cache_dir is None or may_change(repository) else cache_dir
        self._repository = os.fsencode(repository)
        self._sections: dict[str, tuple[dict[str, Any], set[str]]] = {}

    def section(self, name: str, kind: type[T]) -> T:
        """Return what is kept under a name; what is added to it is kept by :meth:`save`."""
        if name not in self._sections:
            found: dict[str, Any] = kind()
            with Store(self._cache_dir) as store, contextlib.suppress(*_UNUSABLE):
                if raw := store.get("git", self._key(name), _STAMP):
                    found = msgspec.convert(json.loads(raw), kind)
            self._sections[name] = found, set(found)
        section: T = self._sections[name][0]  # type: ignore[assignment]
        return section

    def save(self) -> None:
        """Write the sections that have other keys than before to the store."""
        with Store(self._cache_dir) as store:
            for name, (section, before) in self._sections.items():
                if section.keys() != before:
                    store.put("git", self._key(name), _STAMP, json.dumps(section).encode())
                    self._sections[name] = section, set(section)

    def _key(self, name: str) -> bytes:
        return b"\0".join((self._repository, name.encode()))


def may_change(repository: Path) -> bool:
    """Return whether what a commit says may change in this repository."""
    with contextlib.suppress(OSError):
        if b" refs/replace/" in (repository / "packed-refs").read_bytes():
            return True
    return any((repository / name).exists() for name in ("shallow", "info/grafts", "refs/replace"))
