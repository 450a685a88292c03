"""At 80 and at 60 columns no command breaks a word, wraps a row or squeezes a column.

Each command is tried on a terminal.
"""

import contextlib
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import lines_of, terminal
from helpers.deliberations import OWNED, document, new_claims, outputs, write_json
from helpers.meetings import record

from scoring.cli import main
from scoring.cli.group import COMMANDS, OLD_NAMES

DATA = {
    "log records": "JSON of all entries, for other programs",
    "log signals": "JSON of all signals, for other programs",
    "log schema": "a JSON Schema",
    "completion": "a program for the shell",
    "fleet": "many repositories at once, which take long",
}
"""What prints data, whose lines are as long as they are.

Their help and their errors fold like those of the others.
"""

LOOKS = [
    "cost",
    "run --no-write",
    "run --no-write --rubric 3.1.0",
    "doctor",
    "doctor --rubric 3.1.0",
    "demo DIR/shown",
    "explain 5",
    "explain 7 --rubric 3.1.0",
    "iteration 5",
    "iteration 9 --rubric 3.1.0",
    "session 5c0e",
    "log integrity",
    "log lint",
    "outcomes",
    "work",
    "cost",
    "validate",
    "label list",
    "label next",
    "label agreement",
    "rubric list",
    "rubric show",
    "rubric show 3.1.0",
    "rubric diff 2.1.0 3.1.0",
    "report --terminal",
    "query 'select * from iterations limit 2'",
    "query 'select iteration, task_id, score from iterations'",
    "check --min-score 0.9",
    "check --rubric 3.1.0 --min-coverage 0.8",
    "export --describe",
    "derive --dry-run",
    "backfill --dry-run --rubric 3.1.0",
    "hook show",
    "watch --once",
    "dr stop DIR/dr.json",
    "meeting DIR/meeting.json",
]
WRITES = [
    "iteration 5 --recompute",
    "run --rubric 3.1.0",
    "backfill",
    "close-task",
    "init --yes",
    "hook install",
    "log entry new",
    "label 5 --correctness 3 --as ann",
    "dr save 3 DIR/dr.json",
    "derive",
]
FAILS = [
    "run --rubric 9.9.9",
    "run --repo-dir nowhere",
    "session 77",
    "explain 77",
    "query 'select nothing'",
    "check",
    "log records --iter-log-dir nowhere",
    "log signals --rubric 9",
    "log schema nothing",
    "log nothing",
    "completion csh",
    "nothing",
]
EVERY_COMMAND = [
    *COMMANDS,
    *(f"log {name}" for name in OLD_NAMES),
]
HELP = ["--help", *(f"{name} --help" for name in EVERY_COMMAND)]

Screen = Callable[[str, int], list[str]]

_KNOWN = re.compile(r"""(?x)
    # what is said in brief
    [0-9]+/[0-9]+ | · | % | [0-9]+ | not | enough | insufficient | [0-9a-f]{8} | \.\.\.
    | [0-9.]+ | [0-9:-]+ | ━+ | [█▁▂▃▄▅▆▇·]+  # how long something took, and bars
""")

_PASTED = re.compile("  (sed -n|git show) ")
"""Begins a command that people paste: the terminal breaks it, so that it stays one line."""


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Run a command in this process on a terminal, and return the lines that it shows."""
    write_json(
        tmp_path / "dr.json",
        document(outputs(new_claims(3)[0], OWNED, ["Is there a limit?"]), outputs()),
    )
    write_json(tmp_path / "meeting.json", [record(n) for n in (1, 2, 3)])
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    # else a slow machine shows more lines
    monkeypatch.setattr("scoring.cli.output._LONG", 3600)

    def run(command: str, columns: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "stdin", None)
        shutil.rmtree(tmp_path / "shown", ignore_errors=True)
        with (
            terminal(columns) as (child, shown),
            open(child, "w", encoding="utf-8", closefd=False, buffering=1) as tty,
            contextlib.redirect_stdout(tty),
            contextlib.redirect_stderr(tty),
        ):
            main(
                [
                    argument.replace("DIR", str(tmp_path))
                    for argument in shlex.split(command)
                ]
            )
        return lines_of(shown)

    return run


def faults(narrow: list[str], wide: list[str], columns: int) -> list[str]:
    """Return what is wrong with the lines of a narrow terminal, compared with a wide one."""
    words = {word for line in wide for word in line.split()}
    paths = [
        word for word in words if "/" in word and len(word) > columns - 8
    ]  # only these are folded
    found = [
        f"longer than {columns}: {line}"
        for line in narrow
        if len(line) > columns and not _PASTED.match(line)
    ]
    for line in narrow:
        pieces = (
            word
            for word in line.split()
            if word not in words and not _KNOWN.fullmatch(word)
        )
        found += [
            f"broken: {word} in {line}"
            for word in pieces
            if not any(word in path for path in paths)
        ]
    return found


def test_every_command_is_tried() -> None:
    lines = [*LOOKS, *WRITES, *DATA]
    for name in EVERY_COMMAND:
        assert any(line == name or line.startswith(f"{name} ") for line in lines), name


@pytest.mark.sampled(24)
@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("command", LOOKS)
@pytest.mark.usefixtures("scored")
def test_what_is_looked_at_fits(screen: Screen, command: str, columns: int) -> None:
    assert faults(screen(command, columns), screen(command, 400), columns) == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("command", WRITES)
def test_what_is_said_of_files_fits(
    screen: Screen,
    command: str,
    columns: int,
    compact_demo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = {}
    for width in (columns, 400):
        shutil.rmtree(tmp_path / "demo", ignore_errors=True)
        root = shutil.copytree(compact_demo, tmp_path / "demo", symlinks=True)
        monkeypatch.chdir(root / "repo")
        monkeypatch.setenv(
            "DA_SCORE_TRANSCRIPT_DIR", "../transcripts/claude:../transcripts/codex"
        )
        shown[width] = screen(command, width)
    assert faults(shown[columns], shown[400], columns) == []


@pytest.mark.parametrize("columns", [80, 60])
@pytest.mark.parametrize("command", [*FAILS, *HELP])
@pytest.mark.usefixtures("scored")
def test_what_went_wrong_and_help_fit(
    screen: Screen, command: str, columns: int
) -> None:
    assert faults(screen(command, columns), screen(command, 400), columns) == []


@pytest.mark.usefixtures("scored")
def test_a_row_of_a_log_is_one_line_and_its_names(screen: Screen) -> None:
    lines = screen("run --no-write --last 9", 80)
    first = next(
        n
        for n, line in enumerate(lines)
        if re.match(r"   1  .*526945f00405 +1\.000  ", line)
    )
    rows = lines[first:][:18]
    assert rows[1].endswith("feat(store): keep links in SQLite")
    assert [int(row.split()[0]) for row in rows[::2]] == list(range(1, 10))
