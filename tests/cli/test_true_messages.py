"""What an error says is true.

A file that exists is not missing, and nothing is untouched that never existed.
"""

import errno
import os
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from helpers.commands import DaScore, one_line
from helpers.projects import tree

UNTOUCHED = "; the old file is untouched"


class TestWhatCannotBeWritten:
    def test_in_a_folder_that_takes_nothing(
        self, da_score: DaScore, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert project
        refusal = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        monkeypatch.setattr("scoring.files._new_file", MagicMock(side_effect=refusal))
        assert one_line(da_score("entry", "new", "77")).endswith(
            "/iter-77.yaml: cannot write: permission denied"
        )

    def test_is_untouched_only_where_there_was_one(
        self, da_score: DaScore, project: Path
    ) -> None:
        found = da_score("check", "--min-score", "0.1", "--junit", "/nowhere/x.xml")
        assert (
            one_line(found) == "/nowhere/x.xml: cannot write: no such file or directory"
        )
        (project / "x.xml").mkdir()
        found = da_score("check", "--min-score", "0.1", "--junit", "x.xml")
        assert one_line(found).endswith(
            f"x.xml: cannot write: is a directory{UNTOUCHED}"
        )


def test_a_dash_is_standard_output_and_no_folder(
    da_score: DaScore, project: Path
) -> None:
    before = tree(project)
    table = ("export", "--tables", "iterations", "--no-cache")
    assert da_score(*table, "--out", "-") == da_score(*table)
    assert da_score("export", "--out", "-").status == 2
    assert tree(project) == before


@pytest.mark.usefixtures("project")
class TestPlainSentences:
    """What a new user had to read twice."""

    def test_doctor_says_which_commits_are_not_here(self, da_score: DaScore) -> None:
        found = da_score("doctor").out
        assert "COMMITS      1 iteration names one that is not here: 7\n" in found

    def test_derive_says_why_there_is_nothing_to_write_in_a_dry_run_too(
        self, da_score: DaScore
    ) -> None:
        without = ("derive", "--transcripts", "none")
        found = da_score(*without, "--dry-run").out
        assert found == da_score(*without).out
        assert found.startswith("No commit of an agent was found: ")

    def test_run_says_from_which_day_it_shows(self, da_score: DaScore) -> None:
        newest = ("run", "--no-write", "--rubric", "3.1.0")
        said = "\nOnly what is of 2026-03-04 or later is shown.\n"
        assert said in da_score(*newest, "--since", "2026-3-4").out
        assert "or later is shown" not in da_score(*newest).out
        as_before = da_score("run", "--no-write", "--since", "2026-3-4").out
        assert as_before.startswith("Outcome scoring ")
        assert "or later is shown" not in as_before
