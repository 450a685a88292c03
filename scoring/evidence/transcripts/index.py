"""The transcript index: what was read of a transcript is kept, so that only what was added is read again.

One file per transcript in the cache directory. It holds the events of the complete lines up to an offset, and what
tells that the transcript is still the one they came from: path, size, modification time, inode, and checksums over its
first bytes and the last ones before the offset. It is trusted only when all of that agrees:

- unchanged: the events are taken as they are;
- grown, and the guarded bytes are the same: reading goes on at the offset;
- anything else, or an index that is not whole: the transcript is read anew.

What stands behind the last line break is never kept. Deleting the cache changes nothing but time. The index holds
numbers and names, never a word of a conversation.

Each evidence policy keeps an index of its own, in a folder of its own: what they keep of a line differs.
"""

import os
import struct
import sys
import zlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from scoring.errors import InputError, WriteError
from scoring.evidence.transcripts.events import TYPECODES, FileEvents
from scoring.files import read_file, remove_stale, write_atomically

T = TypeVar("T")

FORMAT = 2
"""Goes up with every change of what :func:`event_index` keeps or of how lines are read; another format is not read."""

_MAGIC = b"DASCORE" + bytes([sys.byteorder == "little"])
_HEADER = struct.Struct("<8sII")  # magic, format, checksum of the rest
_STAMP = struct.Struct("<QqQQIII")  # size, mtime, inode, offset, two guards, length of the path
_COUNTS = struct.Struct("<QQ")  # events, turns
_GUARDED = 4096
_SIZE_LIMIT = 1 << 30


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells one state of a file from another. ``mtime`` is in nanoseconds since 1970."""

    size: int
    mtime: int
    inode: int

    @classmethod
    def of(cls, fd: int) -> "Stamp":
        """Read the stamp of an open file."""
        found = os.fstat(fd)
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


@dataclass(frozen=True, slots=True)
class Indexed(Generic[T]):
    """What the index knows of a transcript: its events up to ``offset``, in the state ``stamp``."""

    stamp: Stamp
    offset: int
    events: T


class TranscriptIndex(Generic[T]):
    """The index of one evidence policy in one cache directory."""

    def __init__(
        self,
        cache_dir: Path,
        folder: str,
        version: int,
        pack: Callable[[T], bytes],
        unpack: Callable[[memoryview], T],
    ) -> None:
        """Say what is kept, and where.

        Args:
            cache_dir: where caches lie.
            folder: the name of the index below it.
            version: the format of what is kept.
            pack: writes what is kept of a transcript as bytes.
            unpack: reads them again; raises ValueError or struct.error when they are not whole.
        """
        self._directory = cache_dir / f"{folder}-{version}"
        self._version, self._pack, self._unpack = version, pack, unpack
        self._ready = False

    def load(self, path: Path, fd: int, stamp: Stamp) -> Indexed[T] | None:
        """Return what is known of an open transcript, if it may be trusted; its offset may lie before the end."""
        try:
            data = read_file(self._place(path), _SIZE_LIMIT)
            known, events = _opened(data, self._version, os.fsencode(path.absolute()), fd)
            same_file = known.stamp.inode == stamp.inode and known.stamp.size <= stamp.size
            if same_file and (known.stamp == stamp or known.stamp.size < stamp.size):
                return Indexed(known.stamp, known.offset, self._unpack(events))
        except (OSError, InputError, ValueError, struct.error):
            pass
        return None

    def save(self, path: Path, fd: int, indexed: Indexed[T]) -> None:
        """Keep what was read of a transcript. A cache that cannot be written is no error."""
        try:
            if not self._ready:
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                remove_stale(self._directory)
                self._ready = True
            data = _closed(indexed, self._version, os.fsencode(path.absolute()), fd, self._pack(indexed.events))
            write_atomically(self._place(path), data, durable=False)
        except (OSError, WriteError, struct.error):  # the last: a time stamp beyond the year 2262
            return

    def _place(self, path: Path) -> Path:
        from hashlib import blake2b  # a scan without an index does not pay for it

        name = blake2b(os.fsencode(path.absolute()), digest_size=16).hexdigest()
        return self._directory / f"{name}.idx"


def event_index(cache_dir: Path) -> TranscriptIndex[FileEvents]:
    """Return the index of what the reference's rules read."""
    return TranscriptIndex(cache_dir, "transcripts", FORMAT, _pack, _unpack)


def _closed(indexed: Indexed[T], version: int, path: bytes, fd: int, events: bytes) -> bytes:
    """Return what an index file holds."""
    first, last = _guards(fd, indexed.offset)
    stamp = indexed.stamp
    head = _STAMP.pack(stamp.size, stamp.mtime, stamp.inode, indexed.offset, first, last, len(path))
    rest = b"".join([head, path, events])
    return _HEADER.pack(_MAGIC, version, zlib.crc32(rest)) + rest


def _opened(data: bytes, version: int, path: bytes, fd: int) -> tuple[Indexed[None], memoryview]:
    """Read an index file, and hold it against the transcript.

    Raises:
        ValueError, struct.error: the file is not whole, or it is not of this transcript.
        OSError: the transcript cannot be read.
    """
    magic, found, checksum = _HEADER.unpack_from(data)
    rest = memoryview(data)[_HEADER.size :]
    if magic != _MAGIC or found != version or checksum != zlib.crc32(rest):
        raise ValueError("the index is not whole")
    size, mtime, inode, offset, first, last, path_length = _STAMP.unpack_from(rest)
    at = _STAMP.size + path_length
    if rest[_STAMP.size : at] != path or (first, last) != _guards(fd, offset):
        raise ValueError("the index is of another transcript")
    return Indexed(Stamp(size, mtime, inode), offset, None), rest[at:]


def _pack(events: FileEvents) -> bytes:
    counts = _COUNTS.pack(len(events.times), len(events.turn_times))
    return b"".join([counts, *(column.tobytes() for column in events.columns())])


def _unpack(data: memoryview) -> FileEvents:
    events, turns = _COUNTS.unpack_from(data)
    at = _COUNTS.size
    columns = []
    for code, count in zip(TYPECODES, [events] * 4 + [turns] * 5, strict=True):
        column = array(code)
        column.frombytes(data[at : at + count * column.itemsize])
        columns.append(column)
        at += count * column.itemsize
    return FileEvents.of_columns(columns)


def _guards(fd: int, offset: int) -> tuple[int, int]:
    """Return checksums over the first bytes of a transcript and over the last ones before an offset."""
    length = min(_GUARDED, offset)
    return zlib.crc32(os.pread(fd, length, 0)), zlib.crc32(os.pread(fd, length, offset - length))
