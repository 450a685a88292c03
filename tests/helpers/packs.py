"""Bundles of a few kilobytes that git unpacks to gigabytes."""

import struct
import zlib
from hashlib import sha1
from pathlib import Path

_COMMIT = 1
_TREE = 2
_BLOB = 3
_DELTA = 6  # to the object at an offset before it
_BASE = bytes(1 << 20)
_COPY_ALL = b"\xc0\x10"  # the first MiB of what a delta is made to


def _number(number: int, first_bits: int = 7, kind: int = 0) -> bytes:
    """Return a number, its lowest bits first; the first byte may hold a kind too."""
    data = [kind << 4 | number & ((1 << first_bits) - 1)]
    number >>= first_bits
    while number:
        data[-1] |= 0x80
        data.append(number & 0x7F)
        number >>= 7
    return bytes(data)


def _offset(number: int) -> bytes:
    data = [number & 0x7F]
    while number := number >> 7:
        number -= 1
        data.insert(0, 0x80 | number & 0x7F)
    return bytes(data)


def _packed(kind: int, data: bytes, offset: bytes = b"") -> bytes:
    return _number(len(data), 4, kind) + offset + zlib.compress(data)


def write_bundle(path: Path, count: int, size: int) -> Path:
    """Write a bundle with ``count`` blobs of ``size`` MiB, each a few bytes as a delta."""
    about = b"a <a> 1 +0000"
    empty_tree = sha1(b"tree 0\0").hexdigest().encode()
    commit = b"tree %b\nauthor %b\ncommitter %b\n\nx\n" % (empty_tree, about, about)

    objects = [_packed(_COMMIT, commit), _packed(_TREE, b""), _packed(_BLOB, _BASE)]
    back = len(objects[-1])
    for number in range(count):
        end = b"%d" % number
        sizes = _number(len(_BASE)) + _number((size << 20) + len(end))
        delta = sizes + _COPY_ALL * size + bytes([len(end)]) + end
        objects.append(_packed(_DELTA, delta, _offset(back)))
        back += len(objects[-1])

    pack = b"PACK" + struct.pack(">2I", 2, len(objects)) + b"".join(objects)
    sha = sha1(b"commit %d\0" % len(commit) + commit).hexdigest().encode()
    path.write_bytes(
        b"# v2 git bundle\n%b refs/heads/main\n\n%b%b"
        % (sha, pack, sha1(pack).digest())
    )
    return path
