"""How often git is started by a command: a few times, however many iterations there are."""

from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.doors import watched_doors

from scoring.demo import Demo

MOST = {"2.1.0": 4, "3.1.0": 45}
"""How often git may start, by rubric, with outcomes. Asking for each iteration would take more."""


@pytest.mark.parametrize(
    "command",
    [["run"], ["iteration", "7", "--recompute"], ["iteration", "7"]],
    ids=" ".join,
)
@pytest.mark.parametrize("rubric", MOST)
def test_git_is_started_as_often_as_it_has_to_be(
    demo: Demo, da_score: DaScore, tmp_path: Path, rubric: str, command: list[str]
) -> None:
    where: list[str | Path] = [
        "--iter-log-dir",
        demo.iter_log_dir,
        "--repo-dir",
        demo.repo_dir,
        "--rubric",
        rubric,
    ]
    where += [
        "--transcript-dir",
        demo.transcript_dirs[0],
        "--cache-dir",
        tmp_path / "cache",
    ]
    assert da_score("run", *where).status == 0
    assert da_score(*command, *where).status == 0
    with watched_doors() as doors:
        assert da_score(*command, *where).status == 0
    assert len(doors.commands) <= MOST[rubric]
