"""Reads compressed transcripts, a piece at a time, within limits."""

import errno
import os
import sys
from collections.abc import Iterator

LIMIT = 4 << 30
"""How many bytes one transcript may have when it is decompressed."""

WINDOW_LOG_LIMIT = 27
"""How much memory decompressing may need, as a power of two of bytes: 128 MiB."""

_PIECE = 120_000


def decompressed(fd: int) -> Iterator[bytes]:
    """Yield what a file holds, from its beginning, a piece at a time.

    A file that ends too early yields what is there: it may still be written.

    Raises:
        OSError: it cannot be read, is no zstd file, or holds more than the limits allow.
    """
    if sys.version_info >= (3, 14):  # few machines have compressed transcripts
        from compression import zstd
    else:
        from backports import zstd

    length, given = 0, b""
    limits = {int(zstd.DecompressionParameter.window_log_max): WINDOW_LOG_LIMIT}
    frame = zstd.ZstdDecompressor(options=limits)
    os.lseek(fd, 0, os.SEEK_SET)
    while True:
        if frame.eof:
            given, frame = frame.unused_data, zstd.ZstdDecompressor(options=limits)
        if frame.needs_input and not given and not (given := os.read(fd, _PIECE)):
            return
        try:
            piece = frame.decompress(given, _PIECE)
        except zstd.ZstdError as e:
            raise OSError(errno.EBADMSG, f"no zstd data that can be read ({str(e).rstrip('.').lower()})") from e
        given = b""
        length += len(piece)
        if length > LIMIT:
            raise OSError(errno.EFBIG, f"more than {LIMIT >> 30} GiB when it is decompressed")
        if piece:
            yield piece
