"""What git answered and will always answer the same, kept between runs.

A commit never changes: its time, files and subject are kept by SHA. Which commits the trunk holds, and in which order,
is kept with the trunk's tip and used only while the tip is the same. One file per repository in the cache directory;
one that is not whole, or of another format or repository, is as if it were not there.

A repository that can change what a commit says (replaced or grafted commits, a shallow clone that may be deepened) is
never cached.
"""

import contextlib
import json
import os
import zlib
from pathlib import Path
from typing import Any

from scoring.errors import InputError, WriteError
from scoring.evidence.git.repository import ShownCommit, TrunkCommit
from scoring.files import read_file, remove_stale, write_atomically

FORMAT = 1
"""Goes up with every change of what is kept or of how git is asked; a cache of another format is not read."""

UNUSABLE = (OSError, InputError, ValueError, TypeError, KeyError, IndexError, RecursionError)
"""What a cache file that is not what it should be raises; it is then as if it were not there."""

_SIZE_LIMIT = 1 << 30


class GitCache:
    """What is kept of one repository."""

    def __init__(self, cache_dir: Path | None, repository: Path) -> None:
        """Read what is kept.

        Args:
            cache_dir: where caches lie; None keeps nothing.
            repository: the repository's own directory, which all its work trees share.
        """
        self._place = place_of(cache_dir, f"git-{FORMAT}", repository)
        self._repository = os.fspath(repository)
        self.shown: dict[str, ShownCommit] = {}
        self.trunk: dict[str, TrunkCommit] = {}
        self.walks: dict[str, list[str]] = {}
        """The order of the last walk, by its tip."""
        self.changed = False
        if self._place is not None:
            with contextlib.suppress(*UNUSABLE):
                self._load(kept_content(self._place, FORMAT, self._repository))

    def _load(self, kept: dict[str, Any]) -> None:
        shown = {sha: ShownCommit(time, tuple(files)) for sha, (time, files) in kept["shown"].items()}
        trunk = {sha: TrunkCommit(sha, subject, message.encode("latin-1")) for sha, subject, message in kept["trunk"]}
        self.shown, self.trunk, self.walks = shown, trunk, kept["walks"]

    def save(self) -> None:
        """Write what is kept, when there is something new. A cache that cannot be written is no error."""
        if self._place is None or not self.changed:
            return
        content = {
            "shown": self.shown,
            "trunk": [(c.sha, c.subject, c.message.decode("latin-1")) for c in self.trunk.values()],
            "walks": self.walks,
        }
        with contextlib.suppress(OSError, WriteError):
            keep_content(self._place, FORMAT, self._repository, content)
            self.changed = False


def kept_content(place: Path, file_format: int, repository: str) -> dict[str, Any]:
    """Return what a cache file keeps of a repository.

    Raises:
        One of :data:`UNUSABLE`: there is none, it is not whole, or it is of another format or repository.
    """
    checksum, _, rest = read_file(place, _SIZE_LIMIT).partition(b"\n")
    kept: dict[str, Any] = json.loads(rest) if int(checksum, 16) == zlib.crc32(rest) else {}
    if kept["format"] != file_format or kept["repository"] != repository:
        raise ValueError("of another format or repository")
    return kept


def keep_content(place: Path, file_format: int, repository: str, content: dict[str, Any]) -> None:
    """Write a cache file.

    Raises:
        OSError, WriteError: it cannot be written.
    """
    rest = json.dumps({"format": file_format, "repository": repository, **content}).encode()
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    remove_stale(place.parent)
    write_atomically(place, f"{zlib.crc32(rest):08x}\n".encode() + rest, durable=False)


def place_of(cache_dir: Path | None, kind: str, repository: Path) -> Path | None:
    """Return where a cache of some kind and format (``git-1``) is kept for a repository; None when none may be."""
    if cache_dir is None or may_change(repository):
        return None
    from hashlib import blake2b

    return cache_dir / kind / f"{blake2b(os.fsencode(repository), digest_size=16).hexdigest()}.cache"


def may_change(repository: Path) -> bool:
    """Tell whether what a commit says may change in this repository."""
    with contextlib.suppress(OSError):
        if b" refs/replace/" in (repository / "packed-refs").read_bytes():
            return True
    return any((repository / name).exists() for name in ("shallow", "info/grafts", "refs/replace"))
