"""Opens transcripts, and decompresses them within limits."""

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from scoring.errors import Warn
from scoring.files import READ_PLAIN, reason, refuse_special

LIMIT = 4 << 30
"""How many bytes a transcript may have when it is decompressed."""

EXPANSION = 500
"""How many times as long a transcript may get that has over :data:`FREE` bytes decompressed.

Rollouts of Codex get 5 to 50 times as long.
"""

FREE = 16 << 20
"""How many bytes a transcript may have when it is decompressed, whatever its size."""

WINDOW_LOG_LIMIT = 27
"""How much memory decompressing may need, as a power of two of bytes: 128 MiB."""

MOST_FRAMES = 10_000
"""How many zstd frames a transcript may have: each takes time, even an empty one."""

BLOCK = 120_000
"""How many bytes are read at once.

That is many lines, and below 128 KiB, from where the allocator asks the system each time.
"""


@contextlib.contextmanager
def opened_transcript(path: Path, warn: Warn) -> Iterator[int | None]:
    """Open a transcript, and close it afterwards.

    Args:
        path: the transcript.
        warn: takes a message where it cannot be opened, or is neither a plain file nor a directory.

    Returns:
        The descriptor of the file; None for a directory, and where ``warn`` took a message.
    """
    try:
        refuse_special(path)
        fd = os.open(path, READ_PLAIN)
    except (OSError, ValueError) as e:
        warn(f"transcript {path}: {reason(e)}; skipped")
        yield None
        return

    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            warn(f"transcript {path}: is not a plain file; skipped")
        yield fd if stat.S_ISREG(mode) else None
    finally:
        os.close(fd)


def chunks(fd: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file before an offset, a block at a time.

    Raises:
        OSError: the file cannot be read.
    """
    start = 0
    while start < end:
        data = os.pread(fd, min(BLOCK, end - start), start)
        if not data:
            break
        start += len(data)
        yield data


def decompressed(fd: int) -> Iterator[bytes]:
    """Yield the content of a zstd file, a piece at a time. A file that is cut ends early.

    Raises:
        OSError: the file cannot be read or is damaged, or its content or the number of its frames
            is too large.
    """
    # loaded here: few machines have compressed transcripts
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    frames = 1
    limits = {int(zstd.DecompressionParameter.window_log_max): WINDOW_LOG_LIMIT}
    frame = zstd.ZstdDecompressor(options=limits)
    length = 0
    taken = 0
    data = b""
    os.lseek(fd, 0, os.SEEK_SET)
    while True:
        if frame.eof:
            data = frame.unused_data
            frames += 1
            if frames > MOST_FRAMES:
                raise OSError(errno.EFBIG, f"more than {MOST_FRAMES:,} zstd frames")
            frame = zstd.ZstdDecompressor(options=limits)
        if frame.needs_input and not data:
            data = os.read(fd, BLOCK)
            if not data:
                return
            taken += len(data)

        try:
            piece = frame.decompress(data, BLOCK)
        except zstd.ZstdError as e:
            detail = str(e).rstrip(".").lower()
            raise OSError(
                errno.EBADMSG, f"no zstd data that can be read ({detail})"
            ) from e
        data = b""

        length += len(piece)
        if length > LIMIT:
            raise OSError(
                errno.EFBIG, f"more than {LIMIT >> 30} GiB when it is decompressed"
            )
        if length > max(FREE, taken * EXPANSION):
            raise OSError(
                errno.EFBIG,
                f"more than {EXPANSION} times as long when it is decompressed",
            )
        if piece:
            yield piece
