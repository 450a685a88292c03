"""meeting run: a meeting with a scripted judge, stopped and taken up again."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore, Outcome, one_line
from helpers.meetings import record

from scoring.meters.meeting.driver import open_state, save_state, take_answer, take_record

A_AND_B = (("A", 0.5), ("B", 0.5), ("A", 0.4))


def judge(folder: Path, records: list[dict[str, Any]]) -> str:
    """Return the command of a judge that answers with prepared records, and keeps what it was asked."""
    (folder / "records.json").write_text(json.dumps(records), "utf-8")
    script = folder / "judge.py"
    script.write_text(
        "import json, sys\n"
        "question = json.load(sys.stdin)\n"
        f"with open({str(folder / 'asked.jsonl')!r}, 'a') as f: print(json.dumps(question), file=f)\n"
        f"records = json.load(open({str(folder / 'records.json')!r}))\n"
        "print(json.dumps(records[question['next_round'] - 1]))\n",
        "utf-8",
    )
    return shlex.join([sys.executable, str(script)])


def asked(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "asked.jsonl").read_text().splitlines()]


ROUNDS = [record(n) for n in range(1, 11)]


@pytest.fixture
def run(da_score: DaScore, tmp_path: Path) -> Any:
    command = judge(tmp_path, ROUNDS)

    def run(*arguments: str) -> Outcome:
        return da_score("meeting", "run", "--state", str(tmp_path / "meeting.json"), "--judge", command, *arguments)

    return run


@pytest.mark.slow
def test_a_scripted_judge_is_asked_until_people_must_decide(run: Any, tmp_path: Path) -> None:
    found = run()
    assert (found.status, found.err) == (0, "")
    assert "question: We seem to be done: shall we decide on" in found.out
    assert "--answer no: ask for doubts, and go on" in found.out
    assert [question["next_round"] for question in asked(tmp_path)] == [1, 2, 3]
    assert run().out == found.out, "it waits"


@pytest.mark.slow
def test_no_asks_the_judge_of_the_same_round_for_doubts(run: Any, tmp_path: Path) -> None:
    run()
    found = run("--answer", "no", "--json").json
    assert asked(tmp_path)[3]["prompts"][0] == "any remaining doubts or risks?"
    assert (found["phase"], found["verdict"]["round_index"]) == ("needs_answer", 3)


@pytest.mark.slow
def test_a_debate_in_circles_asks_people_before_it_is_parked(da_score: DaScore, tmp_path: Path) -> None:
    command = judge(tmp_path, [record(n, experts=A_AND_B) for n in range(1, 11)])
    where = ["meeting", "run", "--state", str(tmp_path / "m.json")]
    found = da_score(*where, "--judge", command, "--json").json
    assert (found["phase"], found["verdict"]["status"]) == ("needs_answer", "park_or_abort")
    assert "decide between A and B now" in found["question"]
    other = tmp_path / "other.json"
    other.write_bytes((tmp_path / "m.json").read_bytes())
    assert da_score(*where, "--answer", "yes", "--option", "B", "--json").json["decision"] == "B"
    left = da_score("meeting", "run", "--state", str(other), "--answer", "no", "--json").json
    assert left["phase"] == "no_decision"
    assert [row["option"] for row in left["no_decision"]["options"]] == ["A", "B"]


def test_a_judge_that_fails_leaves_the_state_as_it_was(da_score: DaScore, tmp_path: Path) -> None:
    state = tmp_path / "m.json"
    where = ["meeting", "run", "--state", str(state), "--judge"]
    for command, said in (
        ("false", "--judge false: ended with status 1; nothing was taken from it"),
        ("no-such-judge", "--judge no-such-judge: no such file or directory"),
        ("echo no", "judge: line 1, column 1: not JSON: expecting value at 'no'; give the JSON alone"),
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
    ("content", "said"),
    [
        pytest.param('{"version": 2}', "not a state of da-score meeting run of version 1: 2", id="a newer version"),
        pytest.param("[]", "not a state of da-score meeting run", id="something else"),
        pytest.param('{"version": 1, "config": {}, "records": []}', "run: phase: is missing", id="parts missing"),
        pytest.param(
            '{"version": 1, "config": {}, "records": [{"x": 1, "x": 2}], "phase": "needs_record"}',
            "records[0].x: is given twice",
            id="a key twice",
        ),
        pytest.param(
            '{"version": 1, "config": {}, "records": [], "phase": "needs_answer"}', "has no record", id="no record"
        ),
        pytest.param(
            '{"version": 1, "config": {}, "records": [{}], "phase": "needs_answer"}', "round_index", id="no true record"
        ),
    ],
)
def test_what_is_no_state_is_refused(da_score: DaScore, tmp_path: Path, content: str, said: str) -> None:
    state = tmp_path / "m.json"
    state.write_text(content)
    found = da_score("meeting", "run", "--state", str(state), "--answer", "yes")
    assert (found.status, found.out) == (1, "")
    assert said in found.err
    assert state.read_text() == content


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
