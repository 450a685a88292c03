"""Adding a test tool is one entry in its table; logs that were read before then show its runs."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.histories import History

ROOT = Path(__file__).parents[2]

TOOL = """
[[tool]]
name = "quokka"
starts = ["quokka test"]
failing = [["Quokka: ", 'Quokka: \\d+ passed, [1-9]\\d* failed']]
passing = [["Quokka: ", 'Quokka: [1-9]\\d* passed, 0 failed']]
passed = '(\\d+) passed'
failed = '(\\d+) failed'
"""

PROGRAM = """
import scoring.file_stamps
scoring.file_stamps.SETTLED = 0  # files that were just written count as left alone
from scoring.cli import run
run()
"""


class Installed:
    """A copy of the program, whose tables can be edited, with a home and a cache of its own."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home
        for package in ("scoring", "rubric"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, folder / package, ignore=ignored)

    def add_tool(self, text: str) -> None:
        table = self.folder / "scoring/evidence/commands/test_tools.toml"
        table.write_text(table.read_text("utf-8") + text, "utf-8")

    def tests_signal(self, history: History) -> Mapping[str, Any]:
        """Return the row of the signal ``tests`` of the first iteration."""
        options = [
            "--rubric",
            "3.1.0",
            "--transcripts",
            "auto",
            "--recompute",
            "--json",
        ]
        where = ["--iter-log-dir", str(history.log), "--repo-dir", str(history.repo)]
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(self.folder),
            "HOME": str(self.home),
        }
        process = subprocess.run(
            [sys.executable, "-c", PROGRAM, "iteration", "1", *options, *where],
            cwd=history.repo,
            env=environment,
            capture_output=True,
            check=True,
        )
        rows = json.loads(process.stdout)["breakdown"]
        (row,) = [row for row in rows if row["signal"] == "tests"]
        return dict(row)


@pytest.fixture
def history(tmp_path: Path) -> History:
    history = History(tmp_path)
    session = history.session("s1")
    session.run(1, 2, "quokka test", "Quokka: 3 passed, 0 failed")
    mark = history.commit(20, "work")
    session.commits(20.2, 4, mark, "work")
    history.entry(mark, "work", "s1")
    return history.write()


def test_a_log_that_was_read_before_shows_its_runs(
    tmp_path: Path, history: History
) -> None:
    installed = Installed(tmp_path / "installed", history.home)
    assert "quokka" not in json.dumps(installed.tests_signal(history))

    installed.add_tool(TOOL)

    row = installed.tests_signal(history)
    assert row["present"]
    assert "quokka test" in row["detail"]
