"""meeting run: a meeting with a scripted judge, stopped and taken up again."""

import io
import json
from pathlib import Path

import pytest
from helpers import tables
from helpers.commands import DaScore, one_line
from helpers.meetings import record

from scoring.meters.meeting.driver import take_answer, take_record
from scoring.meters.meeting.state_file import open_state, save_state

ROUNDS = [record(n) for n in range(1, 11)]


def test_a_judge_that_fails_leaves_the_state_as_it_was(
    da_score: DaScore, tmp_path: Path
) -> None:
    state = tmp_path / "m.json"
    where = ["meeting", "run", "--state", str(state), "--judge"]
    for command, said in (
        ("false", "--judge false: ended with status 1; nothing was taken from it"),
        ("no-such-judge", "--judge no-such-judge: no such file or directory"),
        (
            "echo no",
            "judge: line 1, column 1: not JSON: expecting value at 'no'; give the JSON alone",
        ),
        ("", "--judge : is empty; name a command"),
    ):
        assert one_line(da_score(*where, command)).startswith(said)
        assert not state.exists()


def test_what_another_command_wrote_meanwhile_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    mine, theirs = open_state(path), open_state(path)
    save_state(path, take_record(theirs, json.dumps(ROUNDS[0])))
    with pytest.raises(ValueError, match="was changed by another command meanwhile"):
        save_state(path, take_record(mine, json.dumps(ROUNDS[0])))


@pytest.mark.parametrize(
    ("content", "said"), tables.cases("driver", "what is no state is refused")
)
def test_what_is_no_state_is_refused(
    da_score: DaScore, tmp_path: Path, content: str, said: str
) -> None:
    state = tmp_path / "m.json"
    state.write_text(content)
    found = da_score("meeting", "run", "--state", str(state), "--answer", "yes")
    assert (found.status, found.out) == (1, "")
    assert said in found.err
    assert state.read_text() == content


def test_a_record_of_another_round_is_refused(tmp_path: Path) -> None:
    state = open_state(tmp_path / "m.json")
    with pytest.raises(ValueError, match="round 2 where round 1 belongs"):
        take_record(state, json.dumps(ROUNDS[1]))
    state = take_record(state, json.dumps(ROUNDS[0]))
    with pytest.raises(ValueError, match="round 3 where round 2 belongs"):
        take_record(state, json.dumps(ROUNDS[2]))


def test_a_meeting_that_is_over_takes_nothing_more(tmp_path: Path) -> None:
    state = open_state(tmp_path / "m.json")
    for given in ROUNDS[:3]:
        state = take_record(state, json.dumps(given))
    with pytest.raises(ValueError, match="a question is open"):
        take_record(state, json.dumps(ROUNDS[3]))
    over = take_answer(state, yes=True)
    with pytest.raises(ValueError, match="the meeting is over"):
        take_record(over, json.dumps(ROUNDS[3]))
    with pytest.raises(ValueError, match="no question is open"):
        take_answer(over, yes=False)


def test_who_runs_no_judge_learns_how_to_give_the_next_record(
    tmp_path: Path, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    how = "--judge COMMAND writes it, or give it on standard input"
    where = ("meeting", "run", "--state", tmp_path / "m.json")
    assert how in da_score(*where, "--topic", "Cache").out
    assert how not in da_score(*where, "--answer", "park").out
