"""The pool that reads transcripts leaves no process behind, however its parent ends."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, time
from pathlib import Path
from scoring.evidence.transcripts.reading import FileRead, Pool, Reading

class Slow(Reading):
    def read(self, transcript):
        Path(sys.argv[1], str(os.getpid())).touch()
        time.sleep(600)
        return FileRead(None, [])

pool = Pool(Slow(()), {1: (None, 1), 2: (None, 1), 3: (None, 1)}, 2)
while len(os.listdir(sys.argv[1])) < 2:
    time.sleep(0.01)
if sys.argv[2] == "close":
    pool.close()
else:
    os.kill(os.getpid(), 9)
"""


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor reads alone")
@pytest.mark.parametrize("end", ["close", "kill"])
def test_workers_end_with_it(tmp_path: Path, end: str) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, tmp_path, end], check=False, timeout=60)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert len(workers) == 2
    until = time.monotonic() + 20
    while any(map(is_running, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_running, workers))
