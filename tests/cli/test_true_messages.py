"""What an error says is so: a file that is there is not missing, and nothing is untouched that never was."""

import errno
import os
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from helpers.commands import DaScore, one_line
from helpers.projects import LOG, tree

UNTOUCHED = "; the old file is untouched"


@pytest.mark.usefixtures("scored")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--rubric", "notes"], "rubric 'notes' is not released; released: 2.0.2,"),
        (["run", "--rubric", "nothing"], "rubric 'nothing' is not released; released: 2.0.2,"),
        (["backfill", "notes"], "notes: not a directory"),
        (["backfill", "nothing"], "nothing: no such directory"),
        (["iteration", "--", "-1"], f"{LOG}/iter--1.yaml: no entry for iteration -1 in this log; numbers begin with 0"),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else "",
)
def test_is_about_what_is_there(da_score: DaScore, project: Path, arguments: list[str], said: str) -> None:
    (project / "notes").write_text("")
    found = da_score(*arguments)
    assert (found.status, one_line(found)[: len(said)]) == (1, said)


class TestWhatCannotBeWritten:
    def test_in_a_folder_that_takes_nothing(
        self, da_score: DaScore, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert project
        refusal = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        monkeypatch.setattr("scoring.files._new_file", MagicMock(side_effect=refusal))
        assert one_line(da_score("entry", "new", "77")).endswith("/iter-77.yaml: cannot write: permission denied")

    def test_is_untouched_only_where_there_was_one(self, da_score: DaScore, project: Path) -> None:
        found = da_score("check", "--min-score", "0.1", "--junit", "/nowhere/x.xml")
        assert one_line(found) == "/nowhere/x.xml: cannot write: no such file or directory"
        (project / "x.xml").mkdir()
        found = da_score("check", "--min-score", "0.1", "--junit", "x.xml")
        assert one_line(found).endswith(f"x.xml: cannot write: is a directory{UNTOUCHED}")


def test_a_dash_is_standard_output_and_no_folder(da_score: DaScore, project: Path) -> None:
    before = tree(project)
    table = ("export", "--tables", "iterations", "--no-cache")
    assert da_score(*table, "--out", "-") == da_score(*table)
    assert da_score("export", "--out", "-").status == 2
    assert tree(project) == before
