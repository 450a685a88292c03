"""Fixtures that every test may use. Tests see no git settings, home or da-score settings of the machine they
run on, and wait for no disk."""

import contextlib
import functools
import gc
import os
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest
from helpers.commands import DaScore, OnTerminal, in_process, terminal
from helpers.places import Place
from helpers.repos import Repo
from hypothesis import settings

from scoring.cli import main
from scoring.demo import Demo, build_demo
from scoring.log.settings import DEFAULT_LOG_DIR

QUICK_CASES = 1
"""How many cases of a test are quick; of more than one, some evenly spread."""


def pytest_configure(config: pytest.Config) -> None:
    """Let processes be interrupted, and hypothesis try a twentieth of its examples where slow tests are left out."""
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # in a background job, and then in every process it starts
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.register_profile("all", deadline=None)  # what else the machine does is no matter
    settings.register_profile("quick", deadline=None, max_examples=5)
    settings.load_profile("quick" if config.option.markexpr == "not slow" else "all")


def pytest_sessionstart() -> None:
    """Leave garbage alone while thousands of tests are collected: none of them is any."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage again, but look no more at what was collected, which stays until the end."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what a sample leaves out: of many cases the first is quick, and others evenly spread."""
    tests = [item.nodeid.partition("[")[0] for item in items]
    cases, seen = Counter(tests), Counter[str]()
    for item, test in zip(items, tests, strict=True):
        sampled = item.get_closest_marker("sampled")
        step = max(sampled.args[0] if sampled else 1, cases[test] / QUICK_CASES)
        if seen[test] % step >= 1:
            item.add_marker(pytest.mark.slow)
        seen[test] += 1


@pytest.fixture(autouse=True)
def _own_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in list(os.environ):
        if name.startswith(("GIT_", "DA_SCORE_", "XDG_")) or name in (
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
        ):
            monkeypatch.delenv(name)
    home = tmp_path_factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(
        os, "fsync", lambda _: None
    )  # what survives a power cut is for the tests of atomic writes


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """An empty repository on branch master."""
    return Repo(tmp_path / "repo")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A repository with a log and a home of its own: the current directory."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    place = Place(tmp_path)
    monkeypatch.chdir(place.path)
    return place


@pytest.fixture
def da_score(capsysbinary: pytest.CaptureFixture[bytes]) -> DaScore:
    """Run a command line in this process."""

    return functools.partial(in_process, capsysbinary)


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> OnTerminal:
    """Run a command line in this process with standard output on a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(*arguments: str | Path, columns: int = 160) -> tuple[int, list[bytes]]:
        monkeypatch.setenv("COLUMNS", str(columns))
        with (
            terminal(columns) as (child, shown),
            open(child, "w", encoding="utf-8", closefd=False) as screen,
            contextlib.redirect_stdout(screen),
        ):
            status = main([str(argument) for argument in arguments])
        return status, shown

    return run


@pytest.fixture(scope="session")
def _built_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demo") / "demo"
    build_demo(root)
    return root


@pytest.fixture(scope="session")
def compact_demo(_built_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo to copy: the same, its objects packed into few files."""
    root: Path = shutil.copytree(
        _built_demo, tmp_path_factory.mktemp("compact") / "demo", symlinks=True
    )
    Repo.at(root / "repo").git("repack", "-a", "-d", "-q")
    return root


@pytest.fixture
def demo(compact_demo: Path, tmp_path: Path) -> Demo:
    """A demo of one's own, to be changed at will."""
    root = tmp_path / "demo"
    shutil.copytree(compact_demo, root, symlinks=True)
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


@pytest.fixture
def project(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository of a demo that nothing has scored: the current directory, its transcripts in the settings."""
    return _enter(demo.root, monkeypatch)


@pytest.fixture(scope="session")
def _scored_demo(compact_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root: Path = shutil.copytree(
        compact_demo, tmp_path_factory.mktemp("scored") / "demo", symlinks=True
    )
    transcripts = [f"--transcript-dir={root}/transcripts/{name}" for name in ("claude", "codex")]
    where = ["--iter-log-dir", f"{root}/repo/{DEFAULT_LOG_DIR}", "--repo-dir", f"{root}/repo"]
    with contextlib.redirect_stdout(None):
        assert main(["run", "--json", "--no-cache", *where, *transcripts]) == 0
    return root


@pytest.fixture
def scored(_scored_demo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, scored, for tests that only look at it."""
    return _enter(_scored_demo, monkeypatch)


def _enter(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(root / "repo")
    monkeypatch.setenv("DA_SCORE_TRANSCRIPT_DIR", "../transcripts/claude:../transcripts/codex")
    return root / "repo"
