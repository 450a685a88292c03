"""What a clone without large files still says of the commits that have them."""

from pathlib import Path

import pytest
from helpers.repos import Files, Repo

from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.line_history import LineHistory
from scoring.evidence.git.partial_clone import absent_objects
from scoring.evidence.git.repository import GitRepository

LARGE = "".join(f"line {number}\n" for number in range(300))


@pytest.mark.parametrize(
    ("before", "after", "statuses"),
    [
        pytest.param({}, {"new": LARGE}, "A", id="a file that came"),
        pytest.param({"old": LARGE}, {"old": None}, "D", id="a file that went"),
        pytest.param(
            {"old": LARGE}, {"old": None, "new": LARGE}, "R", id="a file that moved"
        ),
        pytest.param(
            {"old": LARGE},
            {"old": None, "new": LARGE + "more\n"},
            None,
            id="a file that may have moved, which git has to read",
        ),
    ],
)
def test_names_of_files_are_known_where_git_reads_none_that_is_not_here(
    before: Files, after: Files, statuses: str | None, tmp_path: Path
) -> None:
    repo = Repo(tmp_path / "whole")
    repo.config("uploadpack.allowFilter", "true")
    base = repo.commit({"README": "x\n", **before})
    commit = repo.commit(after)
    limits = "--no-checkout", "--filter=blob:limit=1k", f"file://{repo.path}"
    repo.git("clone", "-q", *limits, str(tmp_path / "partial"))

    history = LineHistory(GitRepository(tmp_path / "partial"))
    [listed] = history.files([CommitPair(commit, base)])
    found = listed if listed is None else "".join(file.status for file in listed)
    assert found == statuses
    assert history.repository.time.lacks_files is (statuses is None)


@pytest.mark.parametrize(("limit", "count"), [(1 << 20, 2), (50, 0)])
def test_no_file_counts_as_absent_where_git_cannot_list_all_of_them(
    limit: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git is then asked about each commit, as in a clone that is whole."""
    repo = Repo(tmp_path / "whole")
    repo.config("uploadpack.allowFilter", "true")
    commit = repo.commit({"one": LARGE, "two": LARGE * 2})
    limits = "--no-checkout", "--filter=blob:limit=1k", f"file://{repo.path}"
    repo.git("clone", "-q", *limits, str(tmp_path / "partial"))

    partial = GitRepository(tmp_path / "partial")
    monkeypatch.setattr("scoring.evidence.git.starter.ANSWER_LIMIT", limit)
    assert len(absent_objects(partial, [commit])) == count
