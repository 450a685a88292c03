"""Fixtures that every test may use. Tests see no git settings, home or da-score settings of the machine they run on."""

import os
import shutil
from pathlib import Path

import pytest
from helpers.commands import DaScore, Outcome
from helpers.repos import Repo

from scoring.cli import main
from scoring.demo import Demo, build_demo
from scoring.log.settings import DEFAULT_LOG_DIR


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


@pytest.fixture
def da_score(capsysbinary: pytest.CaptureFixture[bytes]) -> DaScore:
    """Run a command line in this process."""

    def run(*arguments: str | Path) -> Outcome:
        capsysbinary.readouterr()
        status = main([str(argument) for argument in arguments])
        out, err = capsysbinary.readouterr()
        return Outcome(status, out.decode(), err.decode())

    return run


@pytest.fixture(scope="session")
def _built_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demo") / "demo"
    build_demo(root)
    return root


@pytest.fixture
def demo(_built_demo: Path, tmp_path: Path) -> Demo:
    """A demo of one's own, to be changed at will."""
    root = tmp_path / "demo"
    shutil.copytree(_built_demo, root, symlinks=True)
    return Demo(
        root,
        root / "repo",
        root / "repo" / DEFAULT_LOG_DIR,
        tuple(sorted((root / "transcripts").iterdir())),
    )


@pytest.fixture
def here(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> Demo:
    """The demo, from within its repository."""
    monkeypatch.chdir(demo.repo_dir)
    return demo
