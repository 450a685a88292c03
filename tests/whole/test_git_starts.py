"""How often git is started by a run that knows everything already: no command asks for what never changes again."""

from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.doors import watched_doors

from scoring.demo import Demo

ASKED = {
    "2.1.0": ["rev-parse", "cat-file"],
    "2.3.0": ["rev-parse", "for-each-ref", "remote", "cat-file", "rev-list"],
    "3.1.0": ["rev-parse", "for-each-ref", "remote", "cat-file", "rev-list", "config"],
}
"""What git is asked in a warm run, in this order: the remotes only where no branch of origin shows which one counts,
and the history beside the trunk only where a commit of the log is there."""


@pytest.mark.parametrize("command", [["run"], ["iteration", "7", "--recompute"], ["iteration", "7"]], ids=" ".join)
@pytest.mark.parametrize("rubric", ASKED)
def test_git_is_started_as_often_as_it_has_to_be(
    demo: Demo, da_score: DaScore, tmp_path: Path, rubric: str, command: list[str]
) -> None:
    where: list[str | Path] = ["--iter-log-dir", demo.iter_log_dir, "--repo-dir", demo.repo_dir, "--rubric", rubric]
    where += ["--transcript-dir", demo.transcript_dirs[0], "--cache-dir", tmp_path / "cache"]
    assert da_score("run", *where).status == 0
    assert da_score(*command, *where).status == 0
    with watched_doors() as doors:
        assert da_score(*command, *where).status == 0
    assert [asked(one) for one in doors.commands] == ASKED[rubric]


def asked(command: list[str]) -> str:
    """Return the word that says what git is asked, behind all settings."""
    rest = iter(command[1:])
    for part in rest:
        if part in ("-c", "-C"):
            next(rest)
        elif not part.startswith("-"):
            return part
    return ""
