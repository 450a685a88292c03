"""The embedding cache: vectors of claims that were embedded before, by a digest of their text.

One directory per model in the cache directory; in it at most 256 files, each with the vectors whose digests begin with
the same byte. A file names its format and its model and carries a checksum; one that is not whole, or of another format
or model, is as if it were not there, and is written anew with the next vectors. It holds digests and numbers, never a
word of a claim. Deleting the cache changes nothing but time.

Several processes may use it at once: a file is replaced whole, and what another process added meanwhile is kept.
"""

import contextlib
import fcntl
import os
import struct
import sys
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

from scoring.errors import InputError, WriteError
from scoring.files import read_file, remove_stale, write_atomically

FORMAT = 1
"""Goes up with every change of what is kept or of how texts are embedded; a cache of another format is not read."""

_MAGIC = b"DASCVEC" + bytes([sys.byteorder == "little"])
_HEADER = struct.Struct("<8sII")  # magic, format, checksum of the rest
_SHAPE = struct.Struct("<16sII")  # model, numbers in a vector, vectors
_DIGEST = 16
_SIZE_LIMIT = 1 << 30

Vector: TypeAlias = "array[float]"
"""Single-precision numbers (typecode ``f``)."""


class VectorCache:
    """The vectors of one model.

    Args:
        cache_dir: where caches lie; None keeps nothing.
        model: 16 bytes that stand for the model: its weights, its tokenizer and how it is run.
        size: how many numbers a vector has.
    """

    def __init__(self, cache_dir: Path | None, model: bytes, size: int) -> None:
        self._directory = None if cache_dir is None else cache_dir / f"embeddings-{FORMAT}-{model.hex()}"
        self._model = model
        self._size = size

    def load(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return the vectors that are kept of some texts, by text."""
        if self._directory is None:
            return {}
        digests = {text: digest(text) for text in texts}
        shards = {key[0]: self._read(key[0]) for key in digests.values()}
        return {text: vector for text, key in digests.items() if (vector := shards[key[0]].get(key)) is not None}

    def save(self, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of some texts. A cache that cannot be written is no error."""
        if self._directory is None or not vectors:
            return
        shards: dict[int, dict[bytes, Vector]] = {}
        for text, vector in vectors.items():
            key = digest(text)
            shards.setdefault(key[0], {})[key] = vector
        with contextlib.suppress(OSError, WriteError):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            remove_stale(self._directory)
            with _held(self._directory / "lock"):
                for first, added in sorted(shards.items()):
                    data = self._pack(self._read(first) | added)
                    write_atomically(self._place(first), data, durable=False)

    def _place(self, first: int) -> Path:
        assert self._directory is not None
        return self._directory / f"{first:02x}.vectors"

    def _read(self, first: int) -> dict[bytes, Vector]:
        try:
            return self._unpack(read_file(self._place(first), _SIZE_LIMIT))
        except (OSError, InputError, ValueError, struct.error):
            return {}

    def _pack(self, vectors: Mapping[bytes, Vector]) -> bytes:
        shape = _SHAPE.pack(self._model, self._size, len(vectors))
        rest = b"".join([shape, *vectors, *(vector.tobytes() for vector in vectors.values())])
        return _HEADER.pack(_MAGIC, FORMAT, zlib.crc32(rest)) + rest

    def _unpack(self, data: bytes) -> dict[bytes, Vector]:
        """Read a file of the cache.

        Raises:
            ValueError, struct.error: it is not whole, or of another format or model.
        """
        magic, version, checksum = _HEADER.unpack_from(data)
        rest = memoryview(data)[_HEADER.size :]
        if magic != _MAGIC or version != FORMAT or checksum != zlib.crc32(rest):
            raise ValueError("the file is not whole")
        model, size, count = _SHAPE.unpack_from(rest)
        width = size * array("f").itemsize
        if model != self._model or size != self._size or len(rest) != _SHAPE.size + count * (_DIGEST + width):
            raise ValueError("the file is of another model")
        vectors, at = {}, _SHAPE.size + count * _DIGEST
        for i in range(count):
            start = _SHAPE.size + i * _DIGEST
            numbers = rest[at + i * width : at + (i + 1) * width]
            vectors[bytes(rest[start : start + _DIGEST])] = array("f", numbers.tobytes())
        return vectors


def digest(text: str) -> bytes:
    """Return what stands for a text in the cache."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


@contextlib.contextmanager
def _held(lock: Path) -> Iterator[None]:
    """Let one process at a time add to the cache. The system lets go of the lock when the process ends."""
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
