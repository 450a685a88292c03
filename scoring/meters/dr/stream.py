"""Reads a transcript from a pipe or a terminal: whole, or as it grows."""

import os
import select
from collections.abc import Iterator

from scoring.errors import TranscriptError
from scoring.files import SIZE_LIMIT, reason

_PART = 1 << 20


def read_all(descriptor: int) -> bytes:
    """Return everything up to the end.

    Raises:
        TranscriptError: it is too much, or cannot be read.
    """
    for data, is_final in growing_contents(descriptor):
        if is_final:
            return data
    raise AssertionError  # the last content is final


def growing_contents(descriptor: int, only_whole: bool = False) -> Iterator[tuple[bytes, bool]]:
    """Yield everything read so far, whenever there is more and nothing further waits, and whether it is the end.

    Args:
        descriptor: what to read from.
        only_whole: yield once, at the end.

    Raises:
        TranscriptError: it is too much, or cannot be read.
    """
    data = bytearray()
    while True:
        try:
            part = os.read(descriptor, _PART)
        except OSError as e:
            raise TranscriptError(f"standard input: {reason(e)}") from e
        data += part
        if len(data) > SIZE_LIMIT:
            raise TranscriptError(f"standard input: larger than {SIZE_LIMIT >> 20} MiB")
        if not part:
            yield bytes(data), True
            return
        if not only_whole and not select.select([descriptor], [], [], 0)[0]:
            yield bytes(data), False
