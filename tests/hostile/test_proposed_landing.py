"""Under ``check --trusted`` what is proposed is open: it did not land, and is not lost."""

from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.pull_requests import (
    FILES,
    LOG,
    TRUNK,
    Check,
    begin_beside_the_trunk,
    entry,
    put,
    session,
    trusted_check,
)
from helpers.repos import Repo

ACCEPTED = "review: {overall_decision: accept}\n"
MONTH = 30 * 86_400


@pytest.fixture
def change(repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Repo:
    """A commit on a branch, with an entry that claims that it was accepted."""
    begin_beside_the_trunk(repo, tmp_path / "home", monkeypatch)
    sha = repo.commit(FILES, "Add a")
    put(repo, {f"{LOG}/iter-1.yaml": entry(1, sha) + ACCEPTED})
    return repo


@pytest.fixture
def check(change: Repo, da_score: DaScore) -> Check:
    return trusted_check(change, da_score)


def trunk_goes_on(repo: Repo) -> None:
    """Commit on the trunk a month later."""
    repo.git("checkout", "-q", "--detach", TRUNK)
    repo.commit({"later": "x\n"}, "later", time=repo.clock + MONTH)
    repo.git("update-ref", TRUNK, "HEAD")
    repo.checkout("own")


@pytest.mark.parametrize(
    "ref",
    [
        pytest.param("refs/remotes/origin/release/x", id="a release line"),
        pytest.param("refs/heads/1.x", id="a local release line"),
        pytest.param("refs/tags/v1.0", id="a version"),
    ],
)
def test_no_name_of_a_branch_lets_what_is_proposed_land(
    change: Repo, check: Check, ref: str
) -> None:
    change.git("update-ref", ref, "HEAD")
    found = check("--no-unscored", "--trunk", TRUNK)
    assert found.status == 3
    assert "would raise landed: score it again when it has landed" in found.out


def test_a_release_that_head_has_not_lets_work_land(change: Repo, check: Check) -> None:
    change.git("update-ref", "refs/remotes/origin/release/x", "HEAD")
    change.checkout(TRUNK)
    assert check("--no-unscored", "--trunk", TRUNK).status == 0


def test_no_commit_of_the_trunk_that_resembles_it_takes_the_place_of_a_proposal(
    change: Repo, check: Check
) -> None:
    """The commit has its subject, and no line that it has not."""
    change.git("checkout", "-q", "--detach", TRUNK)
    change.commit({"README": "y\n", **FILES}, "Add a (#7)")
    change.git("update-ref", TRUNK, "HEAD")
    assert check("--no-unscored", "--trunk", TRUNK).status == 0

    change.checkout("own")
    assert check("--no-unscored", "--trunk", TRUNK).status == 3


def test_a_proposal_that_takes_a_month_claims_no_more_than_was_observed(
    change: Repo, check: Check
) -> None:
    trunk_goes_on(change)
    assert check("--no-over-claims", "--trunk", TRUNK).status == 0


def test_what_was_left_behind_a_month_ago_was_not_accepted(
    change: Repo, check: Check
) -> None:
    trunk_goes_on(change)
    change.checkout(TRUNK)
    found = check("--no-over-claims", "--trunk", TRUNK)
    assert found.status == 3
    assert "over-claimed landed" in found.out


def test_what_is_proposed_has_too_little_evidence_for_a_band(
    change: Repo, check: Check
) -> None:
    put(change, {"../home/projects/x/s.jsonl": session(change)})
    found = check("--min-band", "poor", "--trunk", TRUNK)
    assert found.status == 3
    assert "3 of 9 signals, 30.4 % of the weight" in found.out


def test_what_landed_may_have_enough(change: Repo, check: Check) -> None:
    put(change, {"../home/projects/x/s.jsonl": session(change)})
    change.git("update-ref", TRUNK, "HEAD")
    assert check("--min-band", "good", "--trunk", TRUNK).status == 0
