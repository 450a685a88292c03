"""Fixtures that every test may use. Tests see no git settings, home or da-score settings of the machine they run on."""

import os
from pathlib import Path

import pytest
from helpers.repos import Repo


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in list(os.environ):
        if name.startswith(("GIT_", "DA_SCORE_", "XDG_")) or name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
            monkeypatch.delenv(name)
    home = tmp_path_factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """An empty repository on branch master."""
    return Repo(tmp_path / "repo")
