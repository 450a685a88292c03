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

    length = 0
    os.lseek(fd, 0, os.SEEK_SET)
    limits = {int(zstd.DecompressionParameter.window_log_max): WINDOW_LOG_LIMIT}
    with open(fd, "rb", closefd=False) as file, zstd.ZstdFile(file, options=limits) as pieces:
        while True:
            try:
                piece = pieces.read(_PIECE)
            except zstd.ZstdError as e:
                raise OSError(errno.EBADMSG, f"no zstd data that can be read ({str(e).rstrip('.').lower()})") from e
            except EOFError:
                return
            if not piece:
                return
            length += len(piece)
            if length > LIMIT:
                raise OSError(errno.EFBIG, f"more than {LIMIT >> 30} GiB when it is decompressed")
            yield piece
