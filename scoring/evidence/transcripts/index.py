"""The transcript index: what was read of a transcript is kept, so that only what was added is read again.

One file per transcript in the cache directory. It holds the events of the complete lines up to an offset, and what
tells
that the transcript is still the one they came from: path, size, modification time, inode, and checksums over its first
bytes and the last ones before the offset. It is trusted only when all of that agrees:

- unchanged: the events are taken as they are;
- grown, and the guarded bytes are the same: reading goes on at the offset;
- anything else, or an index that is not whole: the transcript is read anew.

What stands behind the last line break is never kept. Deleting the cache changes nothing but time. The index holds
numbers only, never a word of a conversation.
"""

import os
import struct
import sys
import zlib
from array import array
from dataclasses import dataclass
from pathlib import Path

from scoring.atomic import remove_litter, write_atomically
from scoring.errors import InputError, WriteError
from scoring.evidence.files import read_file
from scoring.evidence.transcripts.events import TYPECODES, FileEvents

FORMAT = 1
"""Goes up with every change of what is kept or of how lines are read; an index of another format is not read."""

_MAGIC = b"DASCORE" + bytes([sys.byteorder == "little"])
_HEADER = struct.Struct("<8sII")  # magic, format, checksum of the rest
_STAMP = struct.Struct("<QqQQIIQQI")  # size, mtime, inode, offset, two guards, events, turns, length of the path
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
class Indexed:
    """What the index knows of a transcript: its events up to ``offset``, in the state ``stamp``."""

    stamp: Stamp
    offset: int
    events: FileEvents


class TranscriptIndex:
    """The index in one cache directory."""

    def __init__(self, cache_dir: Path) -> None:
        self._directory = cache_dir / f"transcripts-{FORMAT}"
        self._ready = False

    def load(self, path: Path, fd: int, stamp: Stamp) -> Indexed | None:
        """Return what is known of an open transcript, if it may be trusted; its offset may lie before the end."""
        try:
            data = read_file(self._place(path), _SIZE_LIMIT)
            indexed = _unpack(data, os.fsencode(path.absolute()), fd)
        except (OSError, InputError, ValueError, struct.error):
            return None
        same_file = indexed.stamp.inode == stamp.inode and indexed.stamp.size <= stamp.size
        return indexed if same_file and (indexed.stamp == stamp or indexed.stamp.size < stamp.size) else None

    def save(self, path: Path, fd: int, indexed: Indexed) -> None:
        """Keep what was read of a transcript. A cache that cannot be written is no error."""
        try:
            if not self._ready:
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                remove_litter(self._directory)
                self._ready = True
            data = _pack(indexed, os.fsencode(path.absolute()), fd)
            write_atomically(self._place(path), data, durable=False)
        except (OSError, WriteError, struct.error):  # the last: a time stamp beyond the year 2262
            return

    def _place(self, path: Path) -> Path:
        from hashlib import blake2b  # a scan without an index does not pay for it

        name = blake2b(os.fsencode(path.absolute()), digest_size=16).hexdigest()
        return self._directory / f"{name}.idx"


def _pack(indexed: Indexed, path: bytes, fd: int) -> bytes:
    first, last = _guards(fd, indexed.offset)
    stamp, events = indexed.stamp, indexed.events
    head = _STAMP.pack(
        stamp.size,
        stamp.mtime,
        stamp.inode,
        indexed.offset,
        first,
        last,
        len(events.times),
        len(events.turn_times),
        len(path),
    )
    rest = b"".join([head, path, *(column.tobytes() for column in events.columns())])
    return _HEADER.pack(_MAGIC, FORMAT, zlib.crc32(rest)) + rest


def _unpack(data: bytes, path: bytes, fd: int) -> Indexed:
    """Read an index file, and hold it against the transcript.

    Raises:
        ValueError, struct.error: the file is not whole, or it is not of this transcript.
        OSError: the transcript cannot be read.
    """
    magic, version, checksum = _HEADER.unpack_from(data)
    rest = memoryview(data)[_HEADER.size :]
    if magic != _MAGIC or version != FORMAT or checksum != zlib.crc32(rest):
        raise ValueError("the index is not whole")
    size, mtime, inode, offset, first, last, events, turns, path_length = _STAMP.unpack_from(rest)
    at = _STAMP.size + path_length
    if rest[_STAMP.size : at] != path or (first, last) != _guards(fd, offset):
        raise ValueError("the index is of another transcript")
    columns = []
    for code, count in zip(TYPECODES, [events] * 4 + [turns] * 5, strict=True):
        column = array(code)
        column.frombytes(rest[at : at + count * column.itemsize])
        columns.append(column)
        at += count * column.itemsize
    return Indexed(Stamp(size, mtime, inode), offset, FileEvents.of_columns(columns))


def _guards(fd: int, offset: int) -> tuple[int, int]:
    """Return checksums over the first bytes of a transcript and over the last ones before an offset."""
    length = min(_GUARDED, offset)
    return zlib.crc32(os.pread(fd, length, 0)), zlib.crc32(os.pread(fd, length, offset - length))
