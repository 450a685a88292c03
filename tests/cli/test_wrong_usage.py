"""Wrong usage ends with 2: values that an option does not take, and options that exclude others."""

from pathlib import Path

import pytest
from helpers.commands import DaScore, one_line
from helpers.projects import LOG

RECORD = [
    *[
        "hook",
        "record",
        "3",
        "--sentinel",
        "s",
        "--rule",
        "gate.r",
        "--result",
        "advise",
    ],
    "--lifecycle",
]


@pytest.mark.usefixtures("scored")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--since", "whenever"], "--since 'whenever' names no days"),
        (["backfill", "--since", "whenever"], "--since 'whenever' names no days"),
        (["derive", "--since", "whenever"], "--since 'whenever' names no days"),
        (["report", "--since", "whenever"], "--since 'whenever' names no days"),
        (
            ["report", "--out", "-", "--json"],
            "--out - and --json both want standard output",
        ),
        (["check", "--min-band", "fine"], "--min-band: rubric"),
        (["check", "--max-drop", ".1"], "--max-drop and --baseline go together"),
        (["outcomes", "--horizon", "3q"], "--horizon: '3q' is not a time above 0"),
        (["run", "--transcripts", "some"], "--transcripts: 'some' is not auto or none"),
        (
            ["run", "--transcripts", "none", "--transcript-dir", "x"],
            "the command line: transcripts is none and",
        ),
        (["export"], "several tables need a directory"),
        (["export", "--tables", "nope"], "--tables: 'nope' is not a table"),
        (["query", " "], "query: there is no SQL"),
        (
            [*RECORD, "sunrise"],
            "Invalid value for '--lifecycle': 'sunrise' is not one of",
        ),
        (
            ["meeting", "run", "--state", "x", "--option", "B"],
            "--option goes with --answer yes",
        ),
        (
            ["check", "--min-score", "x"],
            "Invalid value for '--min-score': 'x' is not a valid number. (see",
        ),
        (
            ["check", "--min-score", "nan"],
            "Invalid value for '--min-score': 'nan' is not a valid number. (see",
        ),
        (
            ["run", "--last", "x"],
            "Invalid value for '--last': 'x' is not a valid whole number. (see",
        ),
        (
            ["hook", "record", "x", *RECORD[3:], "stop"],
            "Invalid value for '[N]': 'x' is not a valid whole number. (see",
        ),
        (
            ["meeting", "schema"],
            "Missing argument '{record|config}'. Choose from: record, config (see",
        ),
    ],
)
def test_a_value_or_combination_of_options(
    da_score: DaScore, arguments: list[str], said: str
) -> None:
    found = da_score(*arguments)
    assert (found.status, one_line(found)[: len(said)]) == (2, said)


@pytest.mark.usefixtures("scored")
def test_is_neither_a_variable_nor_a_file_nor_a_name_of_nothing(
    da_score: DaScore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert da_score("run", "--iter-log-dir", tmp_path / "missing").status == 1
    assert da_score("check", "--max-drop", ".1", "--baseline", "nope").status == 1
    monkeypatch.setenv("DA_SCORE_HORIZON", "3q")
    assert da_score("outcomes", "--iter-log-dir", LOG).status == 1
