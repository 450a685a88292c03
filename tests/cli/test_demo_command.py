"""``da-score demo``: where it goes, what it shows."""

import re
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
        start, *_ = found.out.split("\n\n")
        assert (
            start == f"Outcome scoring — rubric 2.1.0\nIterations: 9   Sessions: 2   Source: {log}"
        )
        assert "\nIteration 5   rubric 2.1.0   score 0.288   band poor\n" in found.out
        assert (
            "\nverifier    verifier                7       2       +0.143    -1.000    4, 7\n"
            in found.out
        )
        assert re.search(
            r"\nThe demo is in a/b\. Try:\n  cd a/b/repo && da-score iteration [1-9]\n", found.out
        )
        monkeypatch.chdir("a/b/repo")
        assert da_score("iteration", "1").status == 0

    def test_goes_to_a_directory_of_its_own_when_it_is_not_told(
        self, da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        first, second = da_score("demo"), da_score("demo")
        roots = [re.search(r"The demo is in (.*)\. Try:", found.out) for found in (first, second)]
        assert {Path(root[1]) for root in roots if root} == set(tmp_path.iterdir())
        assert len(set(tmp_path.iterdir())) == 2
