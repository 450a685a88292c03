"""What killed processes leave behind."""

import os
import subprocess
import time
from pathlib import Path

from scoring.temporary import STALE_AGE, temporary_name


def dead_process() -> int:
    """Return the number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def litter(folder: Path, process: int, age: float = STALE_AGE + 60) -> Path:
    """Make a temporary file of a process of this host, as old as so many seconds."""
    name = temporary_name(folder / "x").name.replace(f"-{os.getpid()}-", f"-{process}-")
    path = folder / name
    path.write_bytes(b"half of a fi")
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def age_litter(root: Path) -> None:
    """Make every temporary file below a folder so old that it may be removed."""
    for path in root.rglob(".da-score-*.tmp"):
        os.utime(path, (1, 1))
