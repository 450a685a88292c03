"""``da-score meeting`` as its users meet it: what it prints where, and how it ends."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore, one_line
from helpers.meetings import ALL_NONE, record

from scoring import score_meeting
from scoring.meters.meeting.config import config_schema
from scoring.meters.meeting.records import record_schema

ROUNDS = [record(1, levels=ALL_NONE), record(2), record(3)]


def write(path: Path, records: Sequence[Any] = ROUNDS) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in records), "utf-8")
    return path


# Scoring


def test_a_meeting_is_a_table_and_its_reasons_in_words(
    da_score: DaScore, tmp_path: Path
) -> None:
    done = da_score("meeting", write(tmp_path / "rounds.jsonl"))
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert (
        lines[0]
        == f"Deliberation — {tmp_path}/rounds.jsonl · config default, 3 to 10 rounds"
    )
    assert (
        " ".join(lines[2].split())
        == "ROUND STATUS STRENGTH MAY END E C F N RECENT M SPREAD"
    )
    assert lines[5].split()[:5] == ["3", "ready_to_decide", "strong", "yes", "1.0000"]
    assert lines[5].split()[5:] == [
        "0.8000",
        "0.8000",
        "0.1000",
        "0.1000",
        "0.8800",
        "0.0000",
    ]
    statuses = [line.partition(": ")[2] for line in lines if line.startswith("Round ")]
    assert statuses == ["continue_targeted", "must_continue", "ready_to_decide"]
    said = [" ".join(line.split()) for line in lines]
    assert "why early consensus: convergence 0.8 in round 1" in said
    assert "next focus problem_clarity" in said
    assert (
        '  to say  We seem to be done: shall we decide on "A" '
        "(5 of 5 experts, mean confidence 0.8), " in done.out
    )


def test_a_meeting_is_called_by_its_id_and_what_it_states_otherwise_is_shown(
    da_score: DaScore, tmp_path: Path
) -> None:
    given = record(3, meeting_id="budget\x1b[31m", exploration__exploration_score=0.46)
    done = da_score("meeting", write(tmp_path / "r", [given]))
    assert done.out.startswith("Deliberation — budget\\x1b[31m · ")
    assert "\x1b" not in done.out
    assert "  stated  exploration.exploration_score 0.46, computed 1\n" in done.out


@pytest.mark.parametrize(
    "place",
    [("--json", "meeting"), ("meeting", "--json"), ("meeting", "score", "--json")],
    ids=" ".join,
)
def test_data_is_one_object_per_round(
    place: tuple[str, ...], da_score: DaScore, tmp_path: Path
) -> None:
    found = da_score(*place, write(tmp_path / "r")).json
    assert found == [verdict.as_dict() for verdict in score_meeting(ROUNDS)]
    assert list(found[0]) == [
        *(
            "round_index",
            "scores",
            "status",
            "strength",
            "ending_allowed",
            "reasons",
            "facilitator_prompt",
        ),
        *(
            "next_round_focus_prompts",
            "missing_aspects",
            "pressure",
            "stated_differences",
        ),
    ]


def test_a_config_may_be_a_file_and_its_unknown_keys_are_warned_of(
    da_score: DaScore, tmp_path: Path
) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[round_limits]\nmax_rounds = 3\nmaximum = 4\n", "utf-8")
    done = da_score("meeting", write(tmp_path / "r"), "--config", own)
    assert done.err == (
        f"da-score: warning: {own}: round_limits.maximum is not a key of a config and is ignored\n"
    )
    assert (done.status, "(rule round_limit)" in done.out) == (0, True)


def test_a_file_may_be_called_like_a_command(
    da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "schema")
    assert da_score("meeting", "score", "schema").status == 0
    assert da_score("meeting", "./schema").status == 0


# Errors


@pytest.mark.parametrize(
    ("count", "lines"),
    [
        pytest.param(50, 50, id="each of a few"),
        pytest.param(3_000, 51, id="and how many others there are"),
    ],
)
def test_faults_of_records_are_shown(
    count: int, lines: int, tmp_path: Path, da_score: DaScore
) -> None:
    (tmp_path / "records.json").write_text(json.dumps([1] * count))
    shown = da_score("meeting", tmp_path / "records.json")
    assert (shown.status, shown.out) == (1, "")
    assert len(shown.err.splitlines()) == lines
    assert shown.err.endswith("2950 more faults are not shown\n") == (count > lines)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            ["nowhere"],
            "nowhere: no such file; name a judge's records, or - for standard input",
        ),
        (["."], ".: is a directory"),
        (
            ["r", "--config", "tactcal"],
            "tactcal: no such config; name one of default, tactical, strategic, or a file",
        ),
        (["r", "--config", "x.toml"], "x.toml: no such file"),
        (["empty"], "empty: is empty; give JSON"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_an_error_of_one_line(
    arguments: list[str],
    error: str,
    da_score: DaScore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "r")
    (tmp_path / "empty").touch()
    done = da_score("meeting", *arguments)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(f"da-score: error: {error}")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [["r", "more"], ["r", "--bad"], ["schema"], ["schema", "x"]],
    ids=" ".join,
)
def test_wrong_usage_is_one(arguments: list[str], da_score: DaScore) -> None:
    done = da_score("meeting", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1


# Schemas


@pytest.mark.parametrize(
    ("kind", "wanted"), [("record", record_schema), ("config", config_schema)]
)
def test_a_schema_is_printed(
    kind: str, wanted: Callable[[], Any], da_score: DaScore
) -> None:
    assert da_score("meeting", "schema", kind).json == wanted()


# What meeting run keeps


def test_a_state_is_scored_by_its_own_config_and_sums_up_how_it_ended(
    da_score: DaScore, tmp_path: Path
) -> None:
    path = tmp_path / "m.json"
    da_score("meeting", "run", "--state", path, "--config", "tactical", "--example")
    found = da_score("meeting", path)
    assert "config tactical, 2 to 7 rounds" in found.out
    assert "config strategic" in da_score("meeting", path, "--config", "strategic").out
    assert "The meeting may go on" not in da_score("meeting", "no-decision", path).out
    parked = tmp_path / "parked.json"
    da_score("meeting", "run", "--state", parked, "--example", "--rounds", "1")
    assert "The meeting may go on" in da_score("meeting", "no-decision", parked).out
    da_score("meeting", "run", "--state", parked, "--answer", "park")
    assert "Ended after round 1" in da_score("meeting", "no-decision", parked).out
    da_score("meeting", "run", "--state", path, "--answer", "yes", "--option", "queue")
    assert (
        one_line(da_score("meeting", "no-decision", path))
        == f"{path}: the meeting ended with a decision: queue"
    )


# Cost


def test_help_and_other_commands_do_not_load_the_models() -> None:
    code = (
        "import sys\nfrom scoring.cli import main\n"
        "helps = ('--help', 'meeting --help', 'rubric list', 'dr --help', 'dr stop --help')\n"
        "for arguments in helps:\n"
        "    main(arguments.split())\n"
        "heavy = ('pydantic', 'matplotlib', 'numpy', 'rich')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    assert subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.endswith("\n[]\n")
