"""A commit whose command gives its subject, and whose result does not show it."""

from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.harness_lines import cases, stamp
from helpers.histories import DAY, TEXT, History, Session, writes

OTHER_TEXT = "".join(f"def other_{number}(): return {number}\n" for number in range(8))


@pytest.fixture
def history(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> History:
    made = History(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def outputs(history: History, da_score: DaScore) -> dict[str, int | None]:
    """Return the output of each unit by its subject, "" for the lines of no commit."""
    history.write()
    places = ("--iter-log-dir", str(history.log), "--repo-dir", str(history.repo))
    payload: Any = da_score("work", "--json", *places, "--no-cache").json
    return {
        unit["subject"] or "": unit["tokens"] and unit["tokens"]["output"]
        for unit in payload["units"]
    }


@cases(
    "command, second, ends, is_one",
    {
        "it was stopped": ("git commit -m 'Add it'", 200, True, True),
        "it has no result": ("git commit -m 'Add it'", 203, False, True),
        "it was made after the next call": (
            "git commit -m 'Add it'",
            206,
            False,
            False,
        ),
        "it was made before the call": ("git commit -m 'Add it'", 199, True, False),
        "it has another subject": ("git commit -m 'Add all'", 200, True, False),
        "the command gives no subject": ("git commit -F note", 200, True, False),
    },
)
def test_the_only_commit_of_the_time_with_that_subject_is_that_of_the_command(
    history: History,
    da_score: DaScore,
    command: str,
    second: int,
    ends: bool,
    is_one: bool,
) -> None:
    session = history.session("s1")
    writes(session, 100, 1, "src/a.py")
    history.commit(second, "Add it", files={"src/b.py": OTHER_TEXT})
    use = {"id": "last", "name": "Bash", "input": {"command": command}}
    session.turn(200, 2, {"type": "tool_use", **use})
    if ends:
        session.result(200.9, "last", "", failed=True)
    session.run(205, 4, "git status", "clean")
    history.commit(30 * DAY, "Later")

    made = outputs(history, da_score)
    assert made.get("Add it") == (1 + 2 + 4 if is_one else None)


def test_what_is_written_in_the_second_of_a_commit_without_a_result_is_of_it(
    history: History, da_score: DaScore
) -> None:
    session = history.session("s1")
    writes(session, 100, 1, "src/a.py")
    history.commit(200, "Add it", files={"src/a.py": TEXT})
    use = {"id": "last", "name": "Bash", "input": {"command": "git commit -m 'Add it'"}}
    session.turn(200, 2, {"type": "tool_use", **use})
    session.turn(200.1, 4)
    session.prompt(300, "now the other one")
    writes(session, 310, 8, "src/b.py")
    mark = history.commit(320, "Add another", files={"src/b.py": OTHER_TEXT})
    session.commits(320.2, 16, mark, "Add another")
    history.commit(30 * DAY, "Later")
    assert outputs(history, da_score)["Add it"] == 1 + 2 + 4


def test_two_commits_of_the_time_with_that_subject_are_not_that_of_the_command(
    history: History, da_score: DaScore
) -> None:
    session = history.session("s1")
    writes(session, 100, 1, "src/a.py")
    for path in ("src/b.py", "src/c.py"):
        history.commit(200, "Add it", files={path: f"{path}\n{OTHER_TEXT}"})
    session.run(200, 2, "git commit -m 'Add it'", "", failed=True)
    history.commit(30 * DAY, "Later")
    assert "Add it" not in outputs(history, da_score)


@cases(
    "text, path, output",
    {
        "another session wrote all lines": (TEXT, "src/c.py", 1),
        "it edited no other file": (TEXT, "src/a.py", 1 + 2 + 4),
        "it wrote some": (TEXT + "def other_1(): return 1\n", "src/c.py", 1 + 2 + 4),
        "nobody here wrote nine tenths": (
            TEXT + "def unknown(): pass\n" * 2,
            "src/c.py",
            1 + 2 + 4,
        ),
    },
)
def test_a_listed_session_without_a_line_has_no_part_in_what_another_wrote(
    history: History, da_score: DaScore, text: str, path: str, output: int
) -> None:
    first, second = history.session("s1"), history.session("s2")
    writes(first, 100, 1, "src/a.py")
    writes(second, 110, 2, path)
    writes(second, 120, 4, "src/a.py", OTHER_TEXT)
    checkpoint = recorded(history, first, second)
    history.commit(200, "Add it", checkpoint, files={"src/a.py": text})
    history.commit(30 * DAY, "Later")
    assert outputs(history, da_score)["Add it"] == output


def recorded(history: History, *sessions: Session) -> str:
    """Record a checkpoint of sessions, and return its id."""
    return history.checkpoint(
        1,
        *(
            ({"session": session.id, "created_at": stamp(200)}, session.lines)
            for session in sessions
        ),
    )
