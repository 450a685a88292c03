"""``da-score demo``: where it goes, what it shows."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.projects import LOG


class TestDemo:
    def test_goes_where_it_is_told(
        self, da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        found = da_score("demo", "a/b")
        assert (found.status, found.err) == (0, "")
        log = Path("a/b/repo") / LOG
        assert len(list(log.glob("*.score.yaml"))) == 11
        heads = re.findall(r"^\$ da-score (.*)$", found.out, re.M)
        assert heads == [
            "work",
            "explain 5 --rubric 3.1.0",
            "iteration 5",
            "run",
            "log integrity",
        ]
        assert found.out.startswith(
            "$ da-score work\nOf 9 units of work 6 landed, 1 was reverted"
        )
        for shown in (
            "\nIt cost $0.48 in all; ",
            "\nLook at\n",
            "\nReverted: commit f05ce0048ec2 ",
            "\nIteration 5   rubric 2.1.0   score 0.288   band poor\n",
            f"\nOutcome scoring — rubric 2.1.0\nIterations: 9   Sessions: 2   Source: {log}\n",
            "\nverifier  verifier  7      2     +0.143  -1.000  4, 7\n",
        ):
            assert shown in found.out
        assert found.out.endswith(
            "\nThe demo is in a/b. Try:\n  cd a/b/repo && da-score work\n"
        )
        monkeypatch.chdir("a/b/repo")
        assert da_score("iteration", "1").status == 0

    def test_has_transcripts_that_show_the_commits_without_its_log(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        da_score("demo", tmp_path / "a")
        clone = tmp_path / "clone"
        subprocess.run(["git", "clone", "-q", tmp_path / "a/repo", clone], check=True)
        folders = [
            f"--transcript-dir={tmp_path}/a/transcripts/{name}"
            for name in ("claude", "codex")
        ]

        shown = da_score("work", f"--repo-dir={clone}", *folders).out
        assert shown.startswith(
            "Of 6 units of work 4 landed, 1 was reverted, 1 is open"
        )
        without = da_score("work", f"--repo-dir={clone}", "--transcripts=none").out
        assert without.startswith("No work of an agent is known here")

    def test_is_the_same_whatever_the_settings_of_its_user(
        self, da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        usual = da_score("demo", "a").out
        for variable, value in {
            "RUBRIC": "3.0.0",
            "TRANSCRIPTS": "none",
            "ITER_LOG_DIR": "elsewhere",
            "TRUNK": "elsewhere",
            "CODE_GLOBS": "*.none",
            "FIX_WORDS": "usage",
            "HORIZON": "1 hour",  # which is no horizon
            "JSON": "1",
        }.items():
            monkeypatch.setenv(f"DA_SCORE_{variable}", value)
        assert da_score("demo", "b").out == usual.replace("a/", "b/").replace(
            "in a.", "in b."
        )

    def test_leaves_the_variables_of_settings_as_they_were(
        self, da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DA_SCORE_RUBRIC", "3.0.0")
        da_score("demo", tmp_path / "a", "--json")
        assert os.environ["DA_SCORE_RUBRIC"] == "3.0.0"

    def test_gives_the_scores_as_json(self, da_score: DaScore, tmp_path: Path) -> None:
        found = da_score("demo", tmp_path / "a", "--json").json
        assert (found["rubric_version"], len(found["iterations"])) == ("2.1.0", 9)

    def test_goes_to_a_directory_of_its_own_when_it_is_not_told(
        self, da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        first, second = da_score("demo"), da_score("demo")
        roots = [
            re.search(r"The demo is in (.*)\. Try:", found.out)
            for found in (first, second)
        ]
        assert {Path(root[1]) for root in roots if root} == set(tmp_path.iterdir())
        assert len(set(tmp_path.iterdir())) == 2

    def test_leaves_the_help_of_the_commands_that_it_shows(
        self, tmp_path: Path
    ) -> None:
        program = (
            "import sys; from scoring.cli import main; "
            "sys.exit(main(['demo', sys.argv[1]]) or main(['log', 'integrity', '-h']))"
        )
        command = [sys.executable, "-c", program, str(tmp_path / "a")]
        assert subprocess.run(command, capture_output=True).returncode == 0
