"""A checkpoint that was stored before the result of its commit was written."""

from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.harness_lines import cases, stamp
from helpers.histories import DAY, TEXT, History, Session, writes

PAGES = "".join(f"page {number} of the book\n" for number in range(8))


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    made = History(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def units(history: History, da_score: DaScore) -> list[tuple[str, str, int, str]]:
    """Return of each unit its kind, its subject, its output and its session."""
    history.write()
    places = ("--iter-log-dir", str(history.log), "--repo-dir", str(history.repo))
    payload: Any = da_score("work", "--json", *places, "--no-cache").json
    return [
        (unit["kind"], unit["subject"], unit["tokens"]["output"], unit["session_id"])
        for unit in payload["units"]
    ]


def call(session: Session, second: int, output: int, command: str) -> None:
    """The session calls a command, and has no result of it yet."""
    use = {"id": "last", "name": "Bash", "input": {"command": command}}
    session.turn(second, output, {"type": "tool_use", **use})


def stored(history: History, number: int, second: int, session: Session) -> str:
    """Record a checkpoint of a session's lines so far."""
    about = {"session": session.id, "created_at": stamp(second)}
    return history.checkpoint(number, (about, session.lines))


@cases(
    "command, authored, goes_on, is_one",
    {
        "it was made in the call": ("git commit -am Pages", 201, False, True),
        "it was made before the call": ("git commit -am Pages", 199, False, False),
        "it was made after the storing": ("git commit -am Pages", 203, False, False),
        "the last call makes none": ("git status", 201, False, False),
        "the session went on": ("git commit -aF note", 201, True, False),
    },
)
def test_a_commit_that_a_squash_took_in_is_that_of_the_last_call_of_its_checkpoint(
    history: History,
    da_score: DaScore,
    command: str,
    authored: int,
    goes_on: bool,
    is_one: bool,
) -> None:
    session, code = wrote_code(history)
    session.prompt(170, "now the pages")
    session.run(180, 4, "make pages", "done")
    call(session, 200, 8, command)
    if goes_on:
        session.prompt(201, "did it work?")
    checkpoint = stored(history, 1, 202, session)
    pages = {"pages.txt": PAGES}
    history.commit(authored, "Pages", checkpoint, branch="try", files=pages)
    history.commit(3600, "Code and pages", files=code | pages)
    history.commit(30 * DAY, "Later")

    first, *others = units(history, da_score)
    if is_one:
        assert others == []
        assert first == ("commit", "Code and pages", 1 + 2 + 4 + 8, "s1")
    else:
        assert first[:3] == ("commit", "Code and pages", 1 + 2)
        assert [output for _, _, output, _ in others] == [4 + 8]


@cases(
    "is_same_call, outputs",
    {
        "the result of the same call": (True, [1 + 2 + 4 + 8, 16]),
        "the result of another call": (False, [4 + 8, 1 + 2 + 32, 16]),
    },
)
def test_a_commit_of_which_a_resumed_session_has_the_result_is_that_of_the_call(
    history: History, da_score: DaScore, is_same_call: bool, outputs: list[int]
) -> None:
    session, code = wrote_code(history)
    session.prompt(170, "now the pages")
    session.run(180, 4, "make pages", "done")
    call(session, 200, 8, "git commit -am Pages")
    checkpoint = stored(history, 1, 202, session)
    pages = {"pages.txt": PAGES}
    mark = history.commit(201, "Pages", checkpoint, branch="try", files=pages)

    resumed = session.copy("s2")
    if is_same_call:
        resumed.result(210, "last", f"[try @sha:{mark}@] Pages")
    else:
        resumed.commits(210, 32, mark, "Pages")
    resumed.prompt(290, "and the index")
    resumed.run(300, 16, "make index", "done")
    checkpoint = stored(history, 2, 402, resumed)
    history.commit(3600, "Code and pages", files=code | pages)
    history.commit(400, "Index", checkpoint, files={"index.txt": "one\n"})
    history.commit(30 * DAY, "Later")

    assert [output for _, _, output, _ in units(history, da_score)] == outputs


def wrote_code(history: History) -> tuple[Session, dict[str, str]]:
    """Return a session that made a commit on a branch, and the files of the commit."""
    session = history.session("s1", stored=False)
    writes(session, 100, 1, "src/a.py")
    code = {"src/a.py": TEXT}
    mark = history.commit(150, "Code", branch="try", files=code)
    session.commits(150, 2, mark, "Code")
    return session, code
