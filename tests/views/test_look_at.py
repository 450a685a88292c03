"""``Look at``: the units that most deserve a look, and commands that list all of a kind."""

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from helpers.extras import needs
from helpers.histories import DAY, TEXT, History, Session, writes

MANY = 6
"""More units of a kind than are shown."""


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    made = History(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("TZ", "UTC")
    return made


def places_of(history: History) -> tuple[str, ...]:
    """Write a history down, and return the options for it."""
    history.commit(60 * DAY, "Later")
    history.write()
    return (
        "--iter-log-dir",
        str(history.log),
        "--repo-dir",
        str(history.repo),
        "--no-cache",
    )


def commit_with_tests(
    history: History, session: Session, number: int, second: int, failed: bool
) -> None:
    """Have a session run the tests, which pass, write a file, run them again, and commit."""
    text = TEXT.replace("made", f"made{second}")
    path = f"src/{second}.py"
    session.run(second - 10, number + 10, "pytest", "1 passed in 0.1s")
    writes(session, second, number, path, text)
    result = "1 failed in 0.1s" if failed else "1 passed in 0.1s"
    session.run(second + 10, number + 20, "pytest", result, failed=failed)
    mark = history.commit(second + 50, f"Step {second}", files={path: text})
    session.commits(second + 50, number + 30, mark, f"Step {second}")
    history.entry(mark, f"Step {second}", session.id)


@pytest.fixture
def places(history: History) -> tuple[str, ...]:
    """Return the options for work of which six units fail their tests, and six are lost.

    A seventh failed too, and the next work of its session passed.
    """
    for n in range(1, MANY + 2):
        session = history.session(f"s{n}")
        commit_with_tests(history, session, 100 * n, 10_000 * n, failed=True)
        if n > MANY:
            commit_with_tests(
                history, session, 100 * n + 50, 10_000 * n + 500, failed=False
            )
            continue
        lost = history.session(f"lost{n}")
        text = TEXT.replace("made", f"lost{n}")
        writes(lost, 10_000 * n + 5_000, 100 * n + 50, f"src/never{n}.py", text)
    return places_of(history)


def lines_of(text: str, what: str) -> list[str]:
    return [line for line in text.splitlines() if what in line]


def counted_units(line: str, what: str) -> tuple[int, str]:
    """Return how many units a line counts, and the command that it names."""
    match = re.fullmatch(rf"(\d+) units {what}: da-score (.+)", line)
    assert match, line
    return int(match[1]), match[2]


@needs("duckdb")
def test_the_command_lists_as_many_units_as_are_counted(
    places: tuple[str, ...], da_score: Any
) -> None:
    text = da_score("work", *places).out
    (line,) = lines_of(text, " lost: da-score query")
    count, command = counted_units(line, "lost")
    assert count == MANY
    assert len(da_score(*shlex.split(command), "--json", *places).json) == MANY


def test_without_duckdb_no_query_is_named(
    places: tuple[str, ...], da_score: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec

    def without_duckdb(name: str, *more: Any) -> Any:
        return None if name == "duckdb" else find_spec(name, *more)

    monkeypatch.setattr(importlib.util, "find_spec", without_duckdb)
    text = da_score("work", *places).out
    assert lines_of(text, "units lost") == [f"{MANY} units lost"]
    assert "da-score query" not in text


def test_the_gate_lists_all_work_with_failing_tests(
    places: tuple[str, ...], da_score: Any
) -> None:
    """What passed later in its session is neither counted nor listed."""
    (line,) = lines_of(da_score("work", *places).out, "failing tests")
    count, command = counted_units(line, "with failing tests at the end")
    found = da_score(*shlex.split(command), "--rubric", "3.1.0", *places)
    assert (found.status, count) == (3, MANY)
    assert len(lines_of(found.out, "FAIL  the work: no-failing-tests: ")) == MANY


def test_what_a_row_does_not_have_is_a_dash(history: History, da_score: Any) -> None:
    """Work that was lost has neither an iteration nor a commit."""
    writes(history.session("lost"), 10_000, 5, "src/never.py")
    places = places_of(history)
    (unit,) = da_score("work", *places, "--json").json["look_at"]
    assert (unit["iteration"], unit["commit"]) == (None, None)
    (row,) = lines_of(da_score("work", *places).out, "work without a commit")
    iteration, day, subject, commit, *_ = re.split(r" {2,}", row.strip())
    assert (iteration, day, subject, commit) == (
        "-",
        unit["ended"][:10],
        "work without a commit",
        "-",
    )
