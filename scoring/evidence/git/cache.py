"""What git answered and will always answer the same, kept between runs: one file a repository, for both histories.

What may change with the trunk (its order, whether a merge would change it) is used only while the trunk's tip is the
same. A file that is not whole, or is of another format or repository, is as if it were not there. A repository that can
change what a commit says (replaced or grafted commits, a shallow clone that may be deepened) is never cached.

The file is a header and one line a section, each with its checksum. The header says where each section is, so that one
history does not read what only the other one needs.
"""

import base64
import contextlib
import json
import os
import zlib
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from scoring.errors import InputError, WriteError
from scoring.files import READ_PLAIN, atomic_stream, kept_as

FORMAT = 5
"""Goes up with every change of what is kept or of how git is asked; a cache of another format is not read."""

_UNUSABLE = (OSError, InputError, msgspec.MsgspecError, ValueError, TypeError, RecursionError)
_SIZE_LIMIT = 1 << 30
_HEADER_LIMIT = 1 << 16

T = TypeVar("T", bound="list[Any] | dict[str, Any]")


class GitCache:
    """What is kept of one repository, by section. Sections are lists and dictionaries that their readers fill."""

    def __init__(self, cache_dir: Path | None, repository: Path) -> None:
        """Read what is kept of a repository, whose directory its work trees share; nothing without ``cache_dir``."""
        self.changed = False
        self._stored: dict[str, tuple[int, int]] = {}
        self._sections: dict[str, Any] = {}
        self._fd = -1
        self._header = {"format": FORMAT, "repository": os.fspath(repository)}
        self._place: Path | None = None
        if cache_dir is None or may_change(repository):
            return
        self._place = cache_dir / f"git-{FORMAT}" / f"{kept_as(os.fspath(repository))}.cache"
        with contextlib.suppress(*_UNUSABLE):
            self._fd = os.open(self._place, READ_PLAIN)
            first = os.pread(self._fd, _HEADER_LIMIT, 0).partition(b"\n")[0]
            header = json.loads(first)
            if {name: header.get(name) for name in self._header} == self._header:
                places = {name: (len(first) + 1 + at, size) for name, at, size in header["sections"]}
                self._stored = {name: place for name, place in places.items() if 0 <= place[1] <= _SIZE_LIMIT}

    def __del__(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self._fd)

    def section(self, name: str, kind: type[T]) -> T:
        """Return what is kept under a name, empty when nothing is. Who adds to it sets ``changed``."""
        if name not in self._sections:
            self._sections[name] = kind()
            with contextlib.suppress(*_UNUSABLE):
                checksum, _, content = self._raw(name).partition(b" ")
                if content and int(checksum, 16) == zlib.crc32(content):
                    self._sections[name] = _decoded(content, kind)
        found: T = self._sections[name]
        return found

    def save(self) -> None:
        """Write what is kept, when there is something new. A cache that cannot be written is no error."""
        if self._place is None or not self.changed:
            return
        with contextlib.suppress(OSError, WriteError):
            stored = {name: [self._raw(name)] for name in self._stored if name not in self._sections}
            stored |= {name: _stored(section) for name, section in self._sections.items() if section}
            sizes = [sum(map(len, pieces)) for pieces in stored.values()]
            starts = accumulate((size + 1 for size in sizes[:-1]), initial=0)
            places = list(zip(stored, starts, sizes, strict=False))
            header = json.dumps(self._header | {"sections": places}).encode()
            self._place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with atomic_stream(self._place, durable=False) as file:
                for pieces in [[header], *stored.values()]:
                    file.writelines([*pieces, b"\n"])
            self.changed = False

    def _raw(self, name: str) -> bytes:
        """Return the line of a section as it is stored; empty when there is none."""
        at, size = self._stored.get(name, (0, 0))
        return os.pread(self._fd, size, at) if size else b""


def _stored(section: object) -> list[bytes]:
    try:
        content = msgspec.json.encode(section)
    except UnicodeEncodeError:  # bytes in it are no text; msgspec has no way to write that down
        content = json.dumps(section, default=lambda raw: base64.b64encode(raw).decode()).encode()
    return [b"%08x " % zlib.crc32(content), content]


def _decoded(content: bytes, kind: type[T]) -> T:
    found: T
    try:
        found = msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError:
        found = msgspec.convert(json.loads(content), kind)
    return found


def may_change(repository: Path) -> bool:
    """Return whether what a commit says may change in this repository."""
    with contextlib.suppress(OSError):
        if b" refs/replace/" in (repository / "packed-refs").read_bytes():
            return True
    return any((repository / name).exists() for name in ("shallow", "info/grafts", "refs/replace"))
