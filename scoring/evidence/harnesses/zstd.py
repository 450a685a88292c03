"""Reads compressed transcripts, a piece at a time, within limits."""

import errno
import os
from collections.abc import Iterator

LIMIT = 4 << 30
"""How many bytes one transcript may have when it is decompressed."""

WINDOW_LIMIT = 128 << 20
"""How much memory, in bytes, decompressing may need."""

_PIECE = 120_000


def decompressed(fd: int) -> Iterator[bytes]:
    """Yield what a file holds, from its beginning, a piece at a time.

    A file that ends too early yields what is there: it is being written.

    Raises:
        OSError: it cannot be read, is no zstd file, or holds more than the limits allow.
    """
    import zstandard  # few machines have compressed transcripts

    length = 0
    with open(fd, "rb", closefd=False) as file:
        file.seek(0)
        reader = zstandard.ZstdDecompressor(max_window_size=WINDOW_LIMIT).stream_reader(file, read_across_frames=True)
        while True:
            try:
                piece = reader.read(_PIECE)
            except zstandard.ZstdError as e:
                raise OSError(errno.EBADMSG, f"is no zstd file that can be read ({e})", os.fspath(str(fd))) from e
            if not piece:
                return
            length += len(piece)
            if length > LIMIT:
                raise OSError(errno.EFBIG, f"holds more than {LIMIT >> 30} GiB when it is decompressed")
            yield piece
