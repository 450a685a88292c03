"""The transcript index: what was read of a transcript is kept, so that only what was added is read again.

One file per transcript in the cache directory. It holds what was read of the complete lines up to an offset, and what
shows that the transcript is still the one it came from: path, size, modification time, inode, and checksums over its
first bytes and the last ones before the offset. It is trusted only when all of that agrees:

- unchanged: what is kept is taken as it is;
- grown, and the guarded bytes are the same: reading goes on at the offset;
- anything else, or an index that is not whole: the transcript is read anew.

What follows the last line break is never kept. Deleting the cache changes nothing but time. The index holds numbers and
names, never a word of a conversation. The rules under which transcripts are read keep an index each, in a folder of its
own: what they keep of a line differs.
"""

import os
import struct
import sys
import zlib
from pathlib import Path
from typing import NamedTuple

from scoring.errors import InputError, WriteError
from scoring.evidence.transcripts.rows import FORMAT, FileRows, pack, unpack
from scoring.files import read_file, remove_stale, write_atomically

_MAGIC = b"DASCORE" + bytes([sys.byteorder == "little"])
_HEADER = struct.Struct("<8sII")  # magic, format, checksum of the rest
_STAMP = struct.Struct("<QqQQIII")  # size, mtime, inode, offset, two guards, length of the path
_GUARDED = 4096
_SIZE_LIMIT = 1 << 30


class Stamp(NamedTuple):
    """What differs between one state of a file and another. ``mtime`` is in nanoseconds since 1970."""

    size: int
    mtime: int
    inode: int

    @classmethod
    def of(cls, fd: int) -> "Stamp":
        """Read the stamp of an open file."""
        found = os.fstat(fd)
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


class Indexed(NamedTuple):
    """What the index knows of a transcript: its rows up to ``offset``, in the state ``stamp``."""

    stamp: Stamp
    offset: int
    rows: FileRows


class TranscriptIndex:
    """The index of one set of rules in one cache directory."""

    def __init__(self, cache_dir: Path, folder: str) -> None:
        """Take the cache directory, and the name of the index in it."""
        self._directory = cache_dir / f"{folder}-{FORMAT}"
        self._ready = False

    def load(self, path: Path, fd: int, stamp: Stamp) -> Indexed | None:
        """Return what is known of an open transcript, if it may be trusted; its offset may be before the end."""
        try:
            data = read_file(self._place(path), _SIZE_LIMIT)
            known, offset, rows = _opened(data, os.fsencode(path.absolute()), fd)
            if known == stamp or (known.inode == stamp.inode and known.size < stamp.size):
                return Indexed(known, offset, unpack(rows))
        except (OSError, InputError, ValueError, struct.error):
            pass
        return None

    def save(self, path: Path, fd: int, indexed: Indexed) -> None:
        """Keep what was read of a transcript. A cache that cannot be written is no error."""
        try:
            if not self._ready:
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                remove_stale(self._directory)
                self._ready = True
            data = _closed(indexed, os.fsencode(path.absolute()), fd)
            write_atomically(self._place(path), data, durable=False)
        except (OSError, WriteError, struct.error):  # the last: a time stamp beyond the year 2262
            return

    def _place(self, path: Path) -> Path:
        from hashlib import blake2b  # a scan without an index does not pay for it

        name = blake2b(os.fsencode(path.absolute()), digest_size=16).hexdigest()
        return self._directory / f"{name}.idx"


def _closed(indexed: Indexed, path: bytes, fd: int) -> bytes:
    """Return what an index file holds."""
    first, last = _guards(fd, indexed.offset)
    stamp = indexed.stamp
    head = _STAMP.pack(stamp.size, stamp.mtime, stamp.inode, indexed.offset, first, last, len(path))
    rest = b"".join([head, path, pack(indexed.rows)])
    return _HEADER.pack(_MAGIC, FORMAT, zlib.crc32(rest)) + rest


def _opened(data: bytes, path: bytes, fd: int) -> tuple[Stamp, int, memoryview]:
    """Read an index file and compare it with the transcript; return its stamp, its offset and the rows in it.

    Raises:
        ValueError, struct.error: the file is not whole, or it is not of this transcript.
        OSError: the transcript cannot be read.
    """
    magic, found, checksum = _HEADER.unpack_from(data)
    rest = memoryview(data)[_HEADER.size :]
    if magic != _MAGIC or found != FORMAT or checksum != zlib.crc32(rest):
        raise ValueError("the index is not whole")
    size, mtime, inode, offset, first, last, path_length = _STAMP.unpack_from(rest)
    at = _STAMP.size + path_length
    if rest[_STAMP.size : at] != path or (first, last) != _guards(fd, offset):
        raise ValueError("the index is of another transcript")
    return Stamp(size, mtime, inode), offset, rest[at:]


def _guards(fd: int, offset: int) -> tuple[int, int]:
    """Return checksums over the first bytes of a transcript and over the last ones before an offset."""
    length = min(_GUARDED, offset)
    return zlib.crc32(os.pread(fd, length, 0)), zlib.crc32(os.pread(fd, length, offset - length))
