"""Answers of git that never change are kept between runs, and used only where certain."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from helpers.repos import Repo

from scoring.evidence.git import changes, line_history
from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.line_history import LineHistory
from scoring.evidence.git.repository import GitRepository
from scoring.outcomes.outcome import Counted
from scoring.store import NAME

KEPT = {
    "one": Counted(4, 2, 1, ("e" * 40,), "e" * 40),
    "caf\u00e9": Counted(0, 0, 0),
}


def lines_of(repo: Repo, cache: Path | None) -> LineHistory:
    return LineHistory(GitRepository(repo.path), cache)


def keep(repo: Repo, cache: Path | None) -> None:
    lines_of(repo, cache).keep(b"outcomes", KEPT)


def kept(repo: Repo, cache: Path | None) -> dict[str, Counted]:
    return lines_of(repo, cache).kept(b"outcomes", dict[str, Counted]) or {}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_is_given_again_as_it_was(repo: Repo, cache: Path) -> None:
    keep(repo, cache)
    assert kept(repo, cache) == KEPT


def test_of_another_repository_is_not_used(
    repo: Repo, cache: Path, tmp_path: Path
) -> None:
    keep(repo, cache)
    assert kept(Repo(tmp_path / "other"), cache) == {}


def test_of_another_type_is_not_used(repo: Repo, cache: Path) -> None:
    wrong: Any = {"one": (4, 2)}
    lines_of(repo, cache).keep(b"outcomes", wrong)
    assert kept(repo, cache) == {}


def test_is_shared_by_the_work_trees_of_a_repository(
    repo: Repo, cache: Path, tmp_path: Path
) -> None:
    repo.commit({"a": "1"})
    keep(repo, cache)
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    assert kept(Repo.at(tmp_path / "linked"), cache) == KEPT


@pytest.mark.parametrize("how", ["replaced", "packed", "grafted", "shallow"])
def test_is_none_of_a_repository_that_can_change_what_a_commit_says(
    repo: Repo, cache: Path, how: str
) -> None:
    one, two = repo.commit({"a": "1"}), repo.commit({"a": "2"})
    keep(repo, cache)
    if how == "grafted":
        (repo.path / ".git/info").mkdir(exist_ok=True)
        (repo.path / ".git/info/grafts").write_text(f"{two}\n")
    elif how == "shallow":
        (repo.path / ".git/shallow").write_text(f"{two}\n")
    else:
        repo.git("replace", two, one)
        if how == "packed":
            repo.git("pack-refs", "--all")
            (repo.path / ".git/refs/replace").rmdir()
    assert kept(repo, cache) == {}
    keep(repo, cache / "new")
    assert not (cache / "new").exists()


def test_that_cannot_be_kept_is_no_error(repo: Repo, cache: Path) -> None:
    cache.write_text("a file where a folder belongs")
    keep(repo, cache)
    assert kept(repo, cache) == {}
    keep(repo, None)


def test_that_is_damaged_is_as_if_it_were_not_there(repo: Repo, cache: Path) -> None:
    keep(repo, cache)
    (cache / NAME).write_bytes(b"\xff" * 5_000)
    assert kept(repo, cache) == {}
    keep(repo, cache)  # finds the damage, and removes it
    keep(repo, cache)
    assert kept(repo, cache) == KEPT


def test_of_patches_in_memory_git_is_not_asked_again(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    shas = [repo.commit({"a": str(number)}) for number in range(4)]
    pairs = [CommitPair(*pair) for pair in pairwise(reversed(shas))]
    history = lines_of(repo, None)
    first = list(history.patches(pairs[:2]))

    asked: list[CommitPair] = []

    def noting(
        repository: GitRepository, more: Sequence[CommitPair], *rest: Any, **names: Any
    ) -> Any:
        asked.extend(more)
        return changes.compare(repository, more, *rest, **names)

    monkeypatch.setattr(line_history, "compare", noting)
    assert list(history.patches(pairs))[:2] == first
    assert asked == pairs[2:]
