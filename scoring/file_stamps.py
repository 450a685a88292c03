"""What identifies the content of a file without reading it, and from when on it does."""

import os
import time

SETTLED = 2_000_000_000
"""For how many nanoseconds a file must be unchanged before its stamp identifies its content."""


def last_change(status: os.stat_result) -> int:
    """Return when the content or the rights of a file last changed, in nanoseconds since 1970."""
    return max(status.st_mtime_ns, status.st_ctime_ns)


def is_settled(changed: int, time_ns: int) -> bool:
    """Return whether a file had not changed for :data:`SETTLED` at a time.

    Args:
        changed: when the file last changed, in nanoseconds since 1970.
        time_ns: the time, in nanoseconds since 1970.
    """
    return time_ns - changed >= SETTLED


def stamp_of(status: os.stat_result) -> bytes | None:
    """Return what identifies the content of a file: its size, its times, and its inode.

    None where the file changed less than :data:`SETTLED` ago. Take the status before the file is
    read, so that an answer is never newer than its stamp.
    """
    if not is_settled(last_change(status), time.time_ns()):
        return None
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}".encode()
