"""close-task under the names of the documents, and options that it does not know."""

import pytest
from helpers.commands import DaScore

from scoring.demo import Demo


@pytest.mark.sampled(100)
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["--recompute=current", "--score-recompute=current", "--recompute=recent-2"])
def test_both_names_of_recompute_work(da_score: DaScore, name: str) -> None:
    found = da_score("close-task", name, "--strict", "--no-cache")
    assert (found.status, found.err) == (0, "")
    assert found.out.startswith("iteration ")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "place", [["close-task", "--recomputed=all"], ["--json", "close-task", "4", "--recomputed=all"]]
)
def test_an_unknown_option_is_said_aloud_and_fails_nothing(da_score: DaScore, place: list[str]) -> None:
    found = da_score(*place)
    assert (found.status, found.out) == (0, "")
    assert found.err.startswith("da-score: warning: No such option '--recomputed'")
    assert da_score(*place, "--strict").status == 1


def test_a_known_option_is_not_complained_about(here: Demo, da_score: DaScore) -> None:
    assert da_score("close-task", "--repo-dir", str(here.repo_dir), "--no-cache").err == ""
