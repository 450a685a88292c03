"""Logs and meetings far larger than real ones: memory has a bound, and time grows with them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.commands import COMMAND
from helpers.meetings import record
from helpers.repos import Repo
from helpers.timing import too_slow

MEMORY = {"report": 600 << 10}  # it holds the ledger
"""How much memory a command may take on a log of a hundred thousand entries, in KiB."""

PLAIN = 400 << 10
"""The same of commands that hold a line for each entry."""

MORE = 90_000
"""How many entries that has more than the larger log here; memory grows in a straight line."""


def make_log(folder: Path, count: int) -> Path:
    log = folder / ".agents/active/iteration-log"
    log.mkdir(parents=True)
    for n in range(1, count + 1):
        (log / f"iter-{n}.yaml").write_text(
            f"schema_version: 2\niteration: {n}\ndate: '2026-05-01'\ntask_id: task-{n % 97}\n"
            f"agent: {{session_id: s{n // 10}}}\nimpl: {{summary: work {n}, retries: {n % 3}}}\n"
            "verifiers: [{type: unit, status: pass}]\n"
        )
    return log


def measured(folder: Path, *arguments: str, status: str = "0") -> tuple[float, int]:
    """Run a command; return the seconds of CPU and the most memory, in KiB, that it took."""
    program = (
        "import resource, subprocess, sys;"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    command = [sys.executable, "-c", program, *COMMAND, *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    )
    ended, seconds, memory = done.stdout.split()
    assert ended == status, done.stderr
    return float(seconds), int(memory)


COMMANDS = (
    ("run", "--no-cache"),
    ("run", "--no-cache", "--no-write", "--json"),
    ("report", "--no-cache", "--out", "report.html"),
    ("check", "--no-cache", "--min-score", "0"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", COMMANDS, ids=["run", "run --json", "report", "check"]
)
def test_a_log_of_ten_thousand_entries(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    memory = {}

    def taken(count: int) -> float:
        repo = Repo(tmp_path / str(count))
        if count not in memory:
            repo.commit({"a": "b"})
            make_log(repo.path, count)
        seconds, memory[count] = measured(repo.path, *command)
        return seconds

    # a share of the smaller one's time does not grow: work that grows linearly takes three times it
    assert not too_slow(lambda: taken(10_000), lambda: taken(2_500), times=5, rounds=1)
    growth = (memory[10_000] - memory[2_500]) / 7_500
    limit = next((limit for word, limit in MEMORY.items() if word in command), PLAIN)
    assert memory[10_000] + MORE * growth < limit, memory


@pytest.mark.slow
def test_a_meeting_of_three_hundred_thousand_records(tmp_path: Path) -> None:
    """It is over the limit of a file, which one line says, at once and in little memory."""
    path = tmp_path / "meeting.jsonl"
    with path.open("w") as f:
        for n in range(300_000):
            f.write(json.dumps(record(n + 1)) + "\n")
    done = subprocess.run(
        [*COMMAND, "meeting", "score", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "larger than 16 MiB" in done.stderr
    seconds, memory = measured(tmp_path, "meeting", "score", str(path), status="1")
    assert seconds < 20
    assert memory < PLAIN
