"""The demo: what it promises to show, and that it is the same everywhere."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.repos import Repo

from rubric import default_rubric
from scoring.demo import Demo, build_demo
from scoring.errors import GitError, InputError, WriteError
from scoring.evidence.git.checkout import fill_repository
from scoring.own_repository import make_repository
from scoring.parity import build_signal_sets
from scoring.signals.values import SignalSet

HEAD = "6bf77a85c46fe625307a8d7eefac1c2fd6e5f3af"

SCORES = {
    1: ("1.0", "excellent"),
    2: ("0.5", "fair"),
    3: ("0.9326595479903601", "excellent"),
    4: ("0.6795095115266807", "fair"),
    5: ("0.2882276115106456", "poor"),
    6: ("0.9283399999999999", "excellent"),
    7: ("0.8641975308641974", "excellent"),
    8: ("0.8448308540439096", "good"),
    9: ("0.7041648571057487", "good"),
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return build_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def sets(demo: Demo) -> list[SignalSet]:
    warnings: list[str] = []
    found = build_signal_sets(
        demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs, warn=warnings.append
    )
    assert not warnings
    return found


def git(demo: Demo, *arguments: str) -> str:
    return Repo.at(demo.repo_dir).git(*arguments).strip()


def tree(root: Path) -> Mapping[str, bytes]:
    """Every file below ``root`` but git's own, whose index holds the times of this build."""
    files = (
        path
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    )
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def test_scores_are_pinned(sets: list[SignalSet]) -> None:
    scores = default_rubric().score_all(sets)
    assert [
        score.iteration
        for score in scores
        if score.coverage.present == score.coverage.total
    ] == [3, 4, 5, 6, 8]
    assert {
        score.iteration: (repr(score.value), score.band) for score in scores
    } == SCORES


DETAILS = {
    "landed": {
        2: "no commit SHA on iteration entry",
        3: "commit 1b0a1589693b reachable from master, not reverted",
        5: "commit f05ce0048ec2 reachable but reverted by dc5fe68d151e",
        7: "unresolved SHA b61d09f4c7e2; message-matched 3d7ed7b9de35 reachable from master",
        9: "commit 89925c84a012 not reachable from master",
    },
    "hook_outcomes": {3: "allow: ", 4: "advise: ", 5: "remediate: "},
    "token_efficiency": dict.fromkeys((3, 4, 5, 8, 9), "backfilled from "),
}


@pytest.mark.parametrize("signal", DETAILS)
def test_each_way_to_land_each_hook_result_and_both_harnesses_are_shown(
    signal: str, sets: list[SignalSet]
) -> None:
    details = {s.iteration: s.value(signal).detail for s in sets}
    assert all(details[n].startswith(detail) for n, detail in DETAILS[signal].items())


def test_two_builds_are_identical(demo: Demo, tmp_path: Path) -> None:
    again = build_demo(tmp_path / "not" / "there" / "yet")
    assert tree(again.root) == tree(demo.root)
    assert git(again, "rev-parse", "HEAD") == HEAD


@pytest.mark.parametrize(
    "target", [".", "file", "file/demo"], ids=["not empty", "a file", "below a file"]
)
def test_what_is_in_the_way_is_refused_and_left(tmp_path: Path, target: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(
        InputError, match="name a directory that is empty or does not exist yet"
    ):
        build_demo(tmp_path / target)
    assert tree(tmp_path) == {"file": b"mine"}


def test_a_demo_inside_another_repository_leaves_that_alone(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    inner = build_demo(tmp_path / "demo")
    assert git(inner, "rev-parse", "HEAD") == HEAD
    assert not list((tmp_path / ".git" / "refs" / "heads").iterdir())


def test_without_git_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="git was not found"):
        build_demo(tmp_path / "demo")
    assert tree(tmp_path) == {}
    monkeypatch.undo()
    build_demo(tmp_path / "demo")


def test_a_failed_write_is_a_write_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path, __: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(
        WriteError,
        match=r"demo: the demo could not be written: no space left on device$",
    ):
        build_demo(tmp_path / "demo")
    assert list(tmp_path.rglob("*")) == [tmp_path / "demo"]


@pytest.mark.parametrize(
    ("stream", "step"),
    [(b"nonsense\ndone\n", "fast-import"), (b"", "fast-import"), (b"done\n", "reset")],
    ids=["not a stream", "cut off", "without the trunk"],
)
def test_a_history_that_cannot_be_imported_is_a_git_error(
    tmp_path: Path, stream: bytes, step: str
) -> None:
    make_repository(tmp_path)
    with pytest.raises(GitError, match=rf"git {step} failed: .+"):
        fill_repository(tmp_path, stream)
