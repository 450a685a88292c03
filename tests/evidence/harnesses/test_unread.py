"""Harnesses that are not read: their files and sessions are named, and nothing of them counts."""

import contextlib
import errno
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.harness_lines import response, stamp, write
from helpers.places import Place
from helpers.sessions import put, read_under

from scoring.evidence.harnesses.lines import MOST_UNCLAIMED
from scoring.evidence.harnesses.sqlite_store import opened_database
from scoring.evidence.harnesses.unread import sessions_not_read
from scoring.evidence.transcripts.facts import TranscriptPlaces

WINDSURF = {"type": "run_command", "status": "done", "run_command": {"command": "ls"}}
KIRO = {"kind": "Prompt", "data": {"content": "Go"}}
KIMI = {"timestamp": 1.5, "message": {"type": "TurnBegin", "payload": {}}}


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        pytest.param([WINDSURF], "Windsurf", id="windsurf"),
        pytest.param([KIRO], "Kiro CLI", id="kiro"),
        pytest.param([KIMI], "Kimi CLI", id="kimi-cli"),
        pytest.param(
            [{"level": "info", "message": "started"}], "not known", id="a-log"
        ),
        pytest.param(
            [{"time": stamp(1), "message": {"text": "x"}}], "not known", id="messages"
        ),
        pytest.param([[1], "x", 5], "not known", id="no-objects"),
        pytest.param([b"not JSON"], "not known", id="no-json"),
    ],
)
def test_a_file_named_by_hand_is_named_by_what_it_is(
    tmp_path: Path, lines: list[Any], name: str
) -> None:
    path = put(tmp_path / "any" / "session.jsonl", *lines)
    events = read_under(tmp_path)[path]
    assert {harness: part.lines for harness, part in events.items()} == {name: []}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (
            "saoudrizwan.claude-dev/tasks/7/api_conversation_history.json",
            "Cline's tasks",
        ),
        (
            "rooveterinaryinc.roo-cline/tasks/7/api_conversation_history.json",
            "Roo Code",
        ),
        ("copied/tasks/7/api_conversation_history.json", "Cline or Roo Code"),
        (".crush/crush.db", "Crush"),
    ],
)
def test_a_file_is_named_by_its_name(tmp_path: Path, path: str, name: str) -> None:
    put(tmp_path / path, [])
    assert {tmp_path / path: [name]} == {
        file: list(events) for file, events in read_under(tmp_path).items()
    }


def test_a_database_of_another_program_is_not_known(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as database:
        database.execute("CREATE TABLE things (id)")
    assert list(read_under(tmp_path)[tmp_path / "other.db"]) == ["not known"]


def test_lines_that_nobody_claims_are_given_up(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", *[{"a": 1}] * MOST_UNCLAIMED, response(2))
    assert list(read_under(tmp_path)[path]) == ["not known"]


def sessions(home: Path) -> None:
    """Keep two sessions of Windsurf and one of Cline's extension."""
    for name in "ab":
        write(home / ".windsurf" / "transcripts" / f"{name}.jsonl", WINDSURF)
    tasks = home / ".config/VSCodium/User/globalStorage/saoudrizwan.claude-dev/tasks"
    put(tasks / "1" / "api_conversation_history.json", [])


def test_sessions_that_are_not_read_are_named(place: Place, da_score: DaScore) -> None:
    sessions(place.home)
    texts = (
        "1 session of Cline's tasks is here; da-score does not read it.",
        "2 sessions of Windsurf are here; da-score does not read them.",
    )
    for command in ("doctor", "work"):
        printed = da_score(
            command, *(["--rubric", "3.1.0"] if command == "doctor" else [])
        ).out
        assert all(text in printed for text in texts)

    found = da_score("doctor", "--rubric", "3.1.0", "--json").json["transcripts"][
        "not_read"
    ]
    assert {one["harness"]: one["sessions"] for one in found} == {
        "Cline's tasks": 1,
        "Windsurf": 2,
    }


def crush(folder: Path) -> Path:
    """Keep two sessions of Crush and one of a sub-agent."""
    (folder / ".crush").mkdir()
    path = folder / ".crush" / "crush.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE sessions (id, parent_session_id)")
        database.execute("INSERT INTO sessions VALUES (1, NULL), (2, NULL), (3, 1)")
        database.commit()
    return path


def crush_sessions(folder: Path) -> list[str]:
    return [str(one) for one in sessions_not_read(TranscriptPlaces(folder, auto=True))]


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("special", ["link", "fifo"])
@pytest.mark.usefixtures("place")
def test_a_database_of_crush_must_be_of_plain_files(
    tmp_path: Path, ending: str, special: str
) -> None:
    folder = tmp_path / "checkout"
    folder.mkdir()
    path = crush(folder)
    assert crush_sessions(folder) == [
        "2 sessions of Crush are here; da-score does not read them"
    ]

    changed = Path(f"{path}{ending}")
    changed.unlink(missing_ok=True)
    if special == "fifo":
        os.mkfifo(changed)
    else:
        changed.symlink_to("/dev/null")
    assert crush_sessions(folder) == []


def test_a_log_without_an_end_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "crush.db"
    path.write_bytes(b"SQLite format 3\0\0\0\2\2")
    Path(f"{path}-wal").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="is not a plain file"), opened_database(path):
        pass


def test_a_log_that_is_too_large_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scoring.evidence.harnesses.sqlite_store._COPY_LIMIT", 1 << 20)
    path = tmp_path / "crush.db"
    path.write_bytes(b"SQLite format 3\0\0\0\2\2")
    Path(f"{path}-wal").write_bytes(bytes((1 << 20) + 1))
    with pytest.raises(OSError, match="larger than") as error, opened_database(path):
        pass
    assert error.value.errno == errno.EFBIG


def test_work_says_nothing_of_them_where_it_finds_work(
    place: Place, da_score: DaScore
) -> None:
    place.iteration(1)
    sessions(place.home)
    assert "does not read" not in da_score("work").out


@pytest.mark.usefixtures("place")
def test_a_file_that_is_not_read_is_left_out_with_the_reason(
    tmp_path: Path, da_score: DaScore
) -> None:
    put(tmp_path / "named" / "a.jsonl", KIRO)
    named = ("--transcript-dir", str(tmp_path / "named"), "--rubric", "3.1.0")
    (file,) = da_score("doctor", *named, "--json").json["transcripts"]["files"]
    assert (file["harness"], file["left_out"]) == (
        "Kiro CLI",
        "of a harness that is not read",
    )
