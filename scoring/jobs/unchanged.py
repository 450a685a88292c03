"""The answer of a command about a whole log, kept until anything that it rests on differs.

Most of the time nothing has happened to a log since it was last gone through. Then nothing is gone through again: the
answer that was kept is given once more. What it rests on is looked at from outside (:mod:`scoring.evidence.state`), but
for files of the log that had just been changed, or were written by the command itself: their content is compared. An
answer that came with a warning is not kept, because what was warned of may be gone the next time.
"""

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from scoring.errors import DaScoreError, InputError, WriteError
from scoring.evidence.state import (
    LogState,
    Places,
    artifact_state,
    folder_state,
    folders_now,
    from_here,
    log_state,
    number_of,
    places_of,
    state_around,
)
from scoring.files import atomic_stream, kept_as, read_file

if TYPE_CHECKING:  # an answer that is kept is given without anything that reads
    from scoring.evidence.rules import Sources
    from scoring.log.model import IterationRecord

FORMAT = 3
"""Goes up with every change of this layout; da-score itself is part of the state."""

_SIZE_LIMIT = 64 << 20
"""The largest answer that is kept, in bytes as it is stored."""

_PAGE_LIMIT = 1 << 20
"""The largest answer about one iteration that is kept, likewise."""

_PAGES = 256
"""How many answers about one iteration are kept, of all logs together; the oldest go."""

_CHECKSUM, _LENGTH = 16, 8
"""How many bytes the checksum has, and the length of what the answer rests on."""
_PIECE = 1 << 20
"""In pieces of at most how many bytes an answer is given."""


class _Ground(msgspec.Struct, array_like=True):
    """What an answer rests on.

    ``asked`` is a digest of the question, ``log`` and ``around`` of what was looked at, in ``places`` too, ``named`` of
    the ``artifacts`` that entries name, ``seen`` of the ``folders`` that transcripts name; ``tops`` are those of the
    work trees. ``contents`` are digests of the files of the log whose times do not say enough, by name.
    """

    asked: bytes
    log: bytes
    around: bytes
    places: Places
    named: bytes
    artifacts: list[str]
    folders: list[str] = []
    tops: list[str] = []
    seen: bytes = b""
    contents: dict[str, bytes] = {}


class Unchanged:
    """The answer to one question about one log."""

    def __init__(
        self,
        cache_dir: Path | None,
        kind: str,
        asked: object,
        log_dir: Path,
        repo_dir: Path | str,
        iteration: int | None = None,
    ) -> None:
        """Take a question, and look at the log.

        Args:
            cache_dir: where answers are kept; None keeps none.
            kind: what is asked; of each kind the last answer is kept.
            asked: what else the answer depends on, as plain data; where evidence comes from is a part of it.
            log_dir: the log.
            repo_dir: the repository.
            iteration: the one that the question is about, if it is about one; of each the last answer is kept.
        """
        self._log_dir, self._repo_dir, self._iteration = log_dir, repo_dir, iteration
        self._asked = _digest(repr((asked, from_here())).encode("utf-8", "backslashreplace"))
        self._packer, self._packed, self._size = zlib.compressobj(1), list[bytes](), 0
        self._limit = _SIZE_LIMIT if iteration is None else _PAGE_LIMIT
        self._ground: _Ground | None = None
        self._around: tuple[Places, bytes | None] | None = None
        self._recent, self._own = dict[str, bytes](), dict[str, bytes]()
        self._log = log_state(log_dir, iteration) if cache_dir is not None else None
        self._but_own = self._log.total if self._log else 0
        if cache_dir is not None:
            folder = f"answers-of-{'logs' if iteration is None else 'iterations'}-{FORMAT}"
            about = kind if iteration is None else f"{kind} {iteration}"
            self._place = cache_dir / folder / kept_as(os.fsencode(os.path.realpath(log_dir)) + b"\0" + about.encode())

    def answer(self) -> Iterator[bytes] | None:
        """Return the answer, a piece at a time; None where none is kept that still holds.

        Then files of the log are read that have just been changed, before anybody else does; of a question about one
        iteration only its own.
        """
        if self._log is None:
            return None
        if (answer := self._kept(self._log)) is not None:
            return _unpacked(answer)
        if not self._knows(self._log.recent):
            self._log = None
        return None

    def _knows(self, recent: list[str]) -> bool:
        """Read files that have just been changed, and return whether that is all of them."""
        own = "" if self._iteration is None else f"iter-{self._iteration}."
        if not all(name.startswith(own) for name in recent):
            return False
        try:
            self._recent = {name: _digest(read_file(self._log_dir / name)) for name in recent}
        except (InputError, FileNotFoundError):
            return False
        return True

    def _kept(self, log: LogState) -> memoryview | None:
        try:
            data = read_file(self._place, 2 * _SIZE_LIMIT)
            checksum, length = data[:_CHECKSUM], int.from_bytes(data[_CHECKSUM : _CHECKSUM + _LENGTH], "little")
            if checksum != _digest(data[_CHECKSUM:]):
                return None
            packed = _CHECKSUM + _LENGTH + length
            ground = msgspec.msgpack.decode(data[_CHECKSUM + _LENGTH : packed], type=_Ground)
            if not self._holds(ground, log):
                return None
        except (InputError, FileNotFoundError, msgspec.MsgspecError):
            return None
        answer = memoryview(data)[packed:]
        still = {name: ground.contents[name] for name in log.recent if name in ground.contents}
        if still != ground.contents:  # of the others their times say enough from now on
            ground.contents = still
            self._store(ground, answer)
        return answer

    def _holds(self, kept: _Ground, log: LogState) -> bool:
        """Return whether everything looks from outside as it did, and holds what it did where that says too little."""
        if (kept.asked, kept.log) != (self._asked, log.digest):
            return False
        if kept.around != self._around_now(kept.places):
            return False
        if kept.named != artifact_state(self._repo_dir, kept.artifacts):
            return False
        if kept.folders and kept.seen != folder_state(kept.folders, kept.tops):
            return False
        return all(_digest(read_file(self._log_dir / name)) == digest for name, digest in kept.contents.items())

    def _around_now(self, places: Places) -> bytes | None:
        if self._around is None or self._around[0] != places:
            self._around = places, state_around(self._repo_dir, places)
        return self._around[1]

    def begin(self, sources: "Sources", files: Iterable[Path] = ()) -> None:
        """Look at what the answer that is made now will rest on, before any of it is read.

        ``sources`` is where evidence comes from; ``files`` are further ones that are read.
        """
        if self._log is not None and self._around_now(places_of(sources, files)) is None:
            self._log = None

    def will_write(self, path: Path, data: bytes) -> None:
        """Take note of a file that the command itself puts into the log."""
        if self._log is not None and self._ground is not None and path.parent == self._log_dir:
            if path.name not in self._own:
                self._but_own -= number_of(path)
            self._own[path.name] = _digest(data)

    def rests_on(self, records: "Iterable[IterationRecord]") -> None:
        """Look at what entries name, before any of it is read."""
        if self._log is None or self._around is None:
            return
        places, around = self._around
        artifacts = sorted({artifact for record in records for artifact in record.artifacts})
        if around and (named := artifact_state(self._repo_dir, artifacts)):
            self._ground = _Ground(self._asked, self._log.digest, around, places, named, artifacts)

    def take(self, piece: bytes) -> None:
        """Take a piece of the answer, as it is given."""
        if self._ground is None:
            return
        packed = self._packer.compress(piece)
        self._size += len(packed)
        self._packed.append(packed)
        if self._size > self._limit:
            self._ground, self._packed = None, []

    def keep(self, folders: Mapping[str, tuple[bool, bool]]) -> None:
        """Keep the answer. A cache that cannot be written is no error.

        One about a whole log is what the command would say once more, so the log may differ by what it wrote, and by
        nothing else. ``folders`` are those that transcripts name, as they were seen.
        """
        if self._ground is None or (self._iteration is None and not self._sees_its_own(self._ground)):
            return
        if folders and not self._has_seen(self._ground, folders):
            return
        self._ground.contents = self._recent | self._own
        self._store(self._ground, *self._packed, self._packer.flush())
        if self._iteration is not None:
            with contextlib.suppress(OSError):
                _remove_oldest(self._place.parent)

    def _sees_its_own(self, ground: _Ground) -> bool:
        """Look at the log again, and return whether nothing but its own files has changed."""
        ground.log, _, total = log_state(self._log_dir)
        return self._but_own == total - sum(number_of(self._log_dir / name) for name in self._own)

    def _store(self, ground: _Ground, *answer: bytes | memoryview) -> None:
        with contextlib.suppress(OSError, WriteError, UnicodeEncodeError):
            rests_on = msgspec.msgpack.encode(ground)
            parts = [len(rests_on).to_bytes(_LENGTH, "little"), rests_on, *answer]
            self._place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with atomic_stream(self._place, durable=False) as file:
                file.write(_digest(*parts))
                file.writelines(parts)

    def _has_seen(self, ground: _Ground, folders: Mapping[str, tuple[bool, bool]]) -> bool:
        """Look at folders from outside, and return whether they are still as they were seen."""
        try:
            tops = folders_now(self._repo_dir, ())[1]
            ground.folders, ground.tops, ground.seen = list(folders), tops, folder_state(folders, tops)
            return folders_now(self._repo_dir, folders) == (folders, tops)
        except DaScoreError:
            return False


def _remove_oldest(folder: Path) -> None:
    """Remove the oldest answers, where there are too many."""
    with os.scandir(folder) as entries:
        found = sorted(((entry.stat().st_mtime_ns, entry.path) for entry in entries), reverse=True)
    for _, path in found[_PAGES:]:
        os.unlink(path)


def _digest(*parts: bytes | memoryview) -> bytes:
    found = blake2b(digest_size=_CHECKSUM)
    for part in parts:
        found.update(part)
    return found.digest()


def _unpacked(packed: memoryview) -> Iterator[bytes]:
    unpacker = zlib.decompressobj()
    for start in range(0, len(packed), _PIECE // 16):
        waiting: bytes | memoryview = packed[start : start + _PIECE // 16]
        while waiting:
            yield unpacker.decompress(waiting, _PIECE)
            waiting = unpacker.unconsumed_tail
