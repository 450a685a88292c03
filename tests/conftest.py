"""Fixtures that every test may use, and which tests the default run takes.

Tests see no git settings, home or da-score settings of the machine that they run on, and do not
wait for its disk.
"""

import contextlib
import functools
import gc
import os
import shutil
import signal
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.commands import DaScore, OnTerminal, in_process, terminal
from helpers.places import Place
from helpers.repos import Repo
from hypothesis import settings

from scoring.cli import main
from scoring.demo import Demo, build_demo
from scoring.log.settings import DEFAULT_LOG_DIR, Settings

QUICK_EXAMPLES = 20
"""How many examples hypothesis tries in the default run, of 100."""


def pytest_configure(config: pytest.Config) -> None:
    """Let processes be interrupted, and choose how many examples hypothesis tries."""
    # A background job ignores interruptions, and so would every process that it starts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    # Without a deadline, because other work on the machine takes time too.
    settings.register_profile("all", deadline=None)
    settings.register_profile("quick", deadline=None, max_examples=QUICK_EXAMPLES)
    settings.load_profile("quick" if config.option.markexpr == "not slow" else "all")


def pytest_sessionstart() -> None:
    """Do not look for garbage while thousands of tests are collected: there is none."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among what was collected, which stays until the end."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow the cases that the default run leaves out of tests with a sample."""
    cases_by_test = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("sampled"):
            test, _, _ = item.nodeid.partition("[")
            cases_by_test[test].append(item)

    for cases in cases_by_test.values():
        sampled = cases[0].get_closest_marker("sampled")
        assert sampled is not None  # that is why it is here
        in_sample = evenly_spread(len(cases), sampled.args[0])
        for index, item in enumerate(cases):
            if index not in in_sample:
                item.add_marker(pytest.mark.slow)


def evenly_spread(count: int, wanted: int) -> Sequence[int]:
    """Return the indices of ``wanted`` of ``count`` cases, the first and the last among them."""
    if wanted >= count:
        return range(count)
    if wanted == 1:
        return [0]
    return [round(index * (count - 1) / (wanted - 1)) for index in range(wanted)]


@pytest.fixture(autouse=True)
def _own_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    harness_homes = ("CLAUDE_CONFIG_DIR", "CODEX_HOME")
    for name in list(os.environ):
        if name.startswith(("GIT_", "DA_SCORE_", "XDG_")) or name in harness_homes:
            monkeypatch.delenv(name)

    home = tmp_path_factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))

    # What survives a power cut is for the tests of atomic writes.
    monkeypatch.setattr(os, "fsync", lambda _: None)


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
    """The repository of a demo that is not scored yet, as the current directory.

    Its transcripts are in the settings.
    """
    return _enter(demo.root, monkeypatch)


@pytest.fixture(scope="session")
def _scored_demo(compact_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root: Path = shutil.copytree(
        compact_demo, tmp_path_factory.mktemp("scored") / "demo", symlinks=True
    )
    transcripts = [
        f"--transcript-dir={root}/transcripts/{name}" for name in ("claude", "codex")
    ]
    where = [
        "--iter-log-dir",
        f"{root}/repo/{DEFAULT_LOG_DIR}",
        "--repo-dir",
        f"{root}/repo",
    ]
    with contextlib.redirect_stdout(None):
        assert main(["run", "--json", "--no-cache", *where, *transcripts]) == 0
    return root


@pytest.fixture
def scored(_scored_demo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, scored, for tests that only look at it."""
    return _enter(_scored_demo, monkeypatch)


def _enter(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(root / "repo")
    monkeypatch.setenv(
        "DA_SCORE_TRANSCRIPT_DIR", "../transcripts/claude:../transcripts/codex"
    )
    return root / "repo"


@pytest.fixture
def asked_globs(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of which git is asked whether a pattern of code fits no file. None does so."""
    asked: list[Settings] = []

    def note(settings: Settings) -> list[str]:
        asked.append(settings)
        return []

    monkeypatch.setattr("scoring.cli.reading.globs_without_files", note)
    return asked
