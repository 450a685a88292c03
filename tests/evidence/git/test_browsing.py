"""Branches and remotes of a repository, as GitPython reads them, under the guards of our own git."""

import os
from pathlib import Path

import pytest
from helpers.repos import Repo

from scoring.evidence.git.browsing import NOTHING_BROWSED, Browsed, browse
from scoring.evidence.git.repository import GitRepository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit({"a": "1"})
    made.git("branch", "side")
    return made


def browsed(repo: Repo) -> Browsed:
    return browse(GitRepository(repo.path))


def test_branches_and_remotes(repo: Repo) -> None:
    repo.git("remote", "add", "origin", "https://name:secret@Example.org/team/project.git")
    assert browsed(repo) == Browsed("master", 2, (("origin", "example.org/team/project"),))


def test_no_remote_and_no_branch(repo: Repo) -> None:
    repo.git("checkout", "-q", "--detach")
    assert browsed(repo) == Browsed("", 2, ())


def test_what_the_configuration_includes_is_not_read(repo: Repo, tmp_path: Path) -> None:
    other = tmp_path / "other.config"
    other.write_text('[remote "evil"]\n\turl = https://example.org/evil\n')
    with open(repo.path / ".git" / "config", "a") as f:
        f.write(f"[include]\n\tpath = {other}\n")
    assert browsed(repo).remotes == ()


def test_the_callers_variables_change_nothing_and_stay(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = Repo(tmp_path / "elsewhere")
    elsewhere.commit({"b": "1"})
    elsewhere.git("checkout", "-q", "-b", "wrong")
    monkeypatch.setenv("GIT_DIR", str(elsewhere.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(elsewhere.path))
    repository = GitRepository(repo.path)
    assert browse(repository).branch == "master"
    assert os.environ["GIT_DIR"] == str(elsewhere.path / ".git")
    assert "GIT_PYTHON_REFRESH" not in os.environ


def test_a_broken_configuration_is_as_if_it_were_not_there(repo: Repo) -> None:
    repository = GitRepository(repo.path)
    (repo.path / ".git" / "config").write_bytes(b"\xff[\n\0remote")
    assert browse(repository) == NOTHING_BROWSED
