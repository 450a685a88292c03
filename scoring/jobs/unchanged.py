"""The answer of a command about a whole log, kept until anything that it rests on differs.

Most of the time nothing has happened to a log since it was last gone through. Then nothing is gone through again: the
answer that was kept is given once more. What it rests on is looked at from outside (:mod:`scoring.evidence.state`); an
answer that came with a warning is not kept, because what was warned of may be gone the next time.
"""

import contextlib
import os
import zlib
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path

import msgspec

from scoring.errors import DaScoreError, InputError, WriteError
from scoring.evidence.rules import Sources
from scoring.evidence.state import artifact_state, folders_now, log_state, state_around
from scoring.files import atomic_stream, kept_as, read_file
from scoring.log.kept import Records

FORMAT = 1
"""Goes up with every change of this layout; da-score itself is part of the state."""

_SIZE_LIMIT = 64 << 20
"""The largest answer that is kept, in bytes as it is stored."""

_CHECKSUM, _LENGTH = 16, 8
"""How many bytes the checksum has, and the length of what the answer rests on."""
_PIECE = 1 << 20
"""In pieces of at most how many bytes an answer is given."""


class _Ground(msgspec.Struct, array_like=True):
    """What an answer rests on.

    ``asked`` is a digest of the question, ``log`` and ``around`` of what was looked at, ``named`` of the ``artifacts``
    that entries name; ``folders`` are those that transcripts name, as they were seen.
    """

    asked: bytes
    log: bytes
    around: bytes
    named: bytes
    artifacts: list[str]
    folders: dict[str, tuple[bool, bool]]


class Unchanged:
    """The answer to one question about one log."""

    def __init__(self, cache_dir: Path | None, kind: str, asked: object, log_dir: Path, sources: Sources) -> None:
        """Look at what the answer will rest on.

        Args:
            cache_dir: where answers are kept; None keeps none.
            kind: what is asked; of each kind the last answer is kept.
            asked: what else the answer depends on, as plain data.
            log_dir: the log.
            sources: where evidence comes from.
        """
        self._log_dir, self._sources = log_dir, sources
        self._asked = _digest(repr(asked).encode("utf-8", "backslashreplace"))
        self._packer, self._packed, self._size = zlib.compressobj(1), list[bytes](), 0
        self._ground: _Ground | None = None
        self._log = log_state(log_dir) if cache_dir is not None else None
        self._around = state_around(log_dir, sources) if self._log else None
        if cache_dir is not None:
            name = kept_as(os.fsencode(os.path.realpath(log_dir)) + b"\0" + kind.encode())
            self._place = cache_dir / f"answers-of-logs-{FORMAT}" / name

    def answer(self) -> Iterator[bytes] | None:
        """Return the answer, a piece at a time; None where none is kept that still holds."""
        if not (self._log and self._around):
            return None
        try:
            data = read_file(self._place, 2 * _SIZE_LIMIT)
            checksum, length = data[:_CHECKSUM], int.from_bytes(data[_CHECKSUM : _CHECKSUM + _LENGTH], "little")
            if checksum != _digest(data[_CHECKSUM:]):
                return None
            packed = _CHECKSUM + _LENGTH + length
            ground = msgspec.msgpack.decode(data[_CHECKSUM + _LENGTH : packed], type=_Ground)
        except (InputError, FileNotFoundError, msgspec.MsgspecError):
            return None
        return _unpacked(memoryview(data)[packed:]) if self._holds(ground) else None

    def _holds(self, kept: _Ground) -> bool:
        if (kept.asked, kept.log, kept.around) != (self._asked, self._log, self._around):
            return False
        repo_dir = self._sources.repo_dir
        if kept.named != artifact_state(repo_dir, kept.artifacts):
            return False
        with contextlib.suppress(DaScoreError):
            return not kept.folders or kept.folders == folders_now(repo_dir, kept.folders)
        return False

    def rests_on(self, records: Records) -> None:
        """Look at what entries name, before any of it is read."""
        if not (self._log and self._around):
            return
        artifacts = sorted({artifact for record in records for artifact in record.artifacts})
        if named := artifact_state(self._sources.repo_dir, artifacts):
            self._ground = _Ground(self._asked, self._log, self._around, named, artifacts, {})

    def take(self, piece: bytes) -> None:
        """Take a piece of the answer, as it is given."""
        if self._ground is None:
            return
        packed = self._packer.compress(piece)
        self._size += len(packed)
        self._packed.append(packed)
        if self._size > _SIZE_LIMIT:
            self._ground, self._packed = None, []

    def keep(self, folders: Mapping[str, tuple[bool, bool]]) -> None:
        """Keep the answer, unless the log has changed while it was made. A cache that cannot be written is no error.

        ``folders`` are those that transcripts name, as they were seen.
        """
        if self._ground is None or log_state(self._log_dir) != self._log:
            return
        self._ground.folders = dict(folders)
        with contextlib.suppress(OSError, WriteError, UnicodeEncodeError):
            ground = msgspec.msgpack.encode(self._ground)
            parts = [len(ground).to_bytes(_LENGTH, "little"), ground, *self._packed, self._packer.flush()]
            self._place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with atomic_stream(self._place, durable=False) as file:
                file.write(_digest(*parts))
                file.writelines(parts)


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
