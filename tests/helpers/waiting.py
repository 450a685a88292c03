"""Waiting for something, as long as any machine may need, and whether processes run."""

import time
from collections.abc import Callable
from pathlib import Path


def becomes(true: Callable[[], object], seconds: float = 300) -> bool:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def is_running(process: int) -> bool:
    """Return whether a process has not ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def all_end(pids: Path) -> bool:
    """Wait until the processes that a file names, if it came to any, have ended."""
    numbers = pids.read_text().split() if pids.exists() else []
    return becomes(lambda: not any(is_running(int(number)) for number in numbers))
