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

from scoring.atomic import remove_litter, write_atomically
from scoring.errors import InputError, WriteError
from scoring.evidence.files import read_file
from scoring.evidence.git import ShownCommit, TrunkCommit

FORMAT = 1
"""Goes up with every change of what is kept or of how git is asked; a cache of another format is not read."""


_SIZE_LIMIT = 1 << 30


class GitCache:
    """What is kept of one repository."""

    def __init__(self, cache_dir: Path | None, repository: Path) -> None:
        """Read what is kept.

        Args:
            cache_dir: where caches lie; None keeps nothing.
            repository: the repository's own directory, which all its work trees share.
        """
        self._place = None if cache_dir is None or _may_change(repository) else _place(cache_dir, repository)
        self._repository = os.fspath(repository)
        self.shown: dict[str, ShownCommit] = {}
        self.trunk: dict[str, TrunkCommit] = {}
        self.walks: dict[str, list[str]] = {}
        """The order of the last walk, by its tip."""
        self.changed = False
        if self._place is not None:
            with contextlib.suppress(OSError, InputError, ValueError, TypeError, KeyError, IndexError, RecursionError):
                self._load(read_file(self._place, _SIZE_LIMIT))

    def _load(self, data: bytes) -> None:
        checksum, _, rest = data.partition(b"\n")
        if int(checksum, 16) != zlib.crc32(rest):
            return
        kept = json.loads(rest)
        if kept["format"] != FORMAT or kept["repository"] != self._repository:
            return
        shown = {sha: ShownCommit(time, tuple(files)) for sha, (time, files) in kept["shown"].items()}
        trunk = {sha: TrunkCommit(sha, subject, message.encode("latin-1")) for sha, subject, message in kept["trunk"]}
        self.shown, self.trunk, self.walks = shown, trunk, kept["walks"]

    def save(self) -> None:
        """Write what is kept, when there is something new. A cache that cannot be written is no error."""
        if self._place is None or not self.changed:
            return
        content = {
            "format": FORMAT,
            "repository": self._repository,
            "shown": self.shown,
            "trunk": [(c.sha, c.subject, c.message.decode("latin-1")) for c in self.trunk.values()],
            "walks": self.walks,
        }
        rest = json.dumps(content).encode()
        with contextlib.suppress(OSError, WriteError):
            self._place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            remove_litter(self._place.parent)
            write_atomically(self._place, f"{zlib.crc32(rest):08x}\n".encode() + rest, durable=False)
            self.changed = False


def _place(cache_dir: Path, repository: Path) -> Path:
    from hashlib import blake2b

    return cache_dir / f"git-{FORMAT}" / f"{blake2b(os.fsencode(repository), digest_size=16).hexdigest()}.cache"


def _may_change(repository: Path) -> bool:
    """Tell whether what a commit says may change in this repository."""
    with contextlib.suppress(OSError):
        if b" refs/replace/" in (repository / "packed-refs").read_bytes():
            return True
    return any((repository / name).exists() for name in ("shallow", "info/grafts", "refs/replace"))
