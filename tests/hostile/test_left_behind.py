"""What a process that was killed leaves behind is taken away by the next one, and nothing else is."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from helpers.commands import DaScore

from scoring.files import atomic_stream, remove_stale_directories, temporary_directory

HOUR = 3600


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture(scope="module")
def dead() -> int:
    """The number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def made(folder: Path, name: str, hours: float) -> Path:
    path = folder / name
    (path / "sub").mkdir(parents=True)
    (path / "sub/file").write_text("x")
    then = time.time() - hours * HOUR
    os.utime(path, (then, then))
    return path


class TestDirectories:
    @pytest.mark.parametrize(
        ("name", "hours", "stays"),
        [
            ("da-score-git-{dead}-aaaaaaaa", 0.9, True),
            ("da-score-git-{dead}-aaaaaaaa", 1.1, False),
            ("da-score-query-{alive}-aaaaaaaa", 23, True),
            ("da-score-query-{alive}-aaaaaaaa", 25, False),
            ("da-score-git-a1b2c3d4", 25, False),  # of an earlier version
            ("da-score-demo-a1b2c3d4", 1000, True),
            ("da-score-git", 1000, True),
            ("da-score-git-1-x", 1000, True),
            ("other-git-1-aaaaaaaa", 1000, True),
        ],
    )
    def test_go_by_name_process_and_age(self, temporary: Path, dead: int, name: str, hours: float, stays: bool) -> None:
        path = made(temporary, name.format(dead=dead, alive=os.getpid()), hours)
        remove_stale_directories()
        assert path.exists() is stays

    def test_that_is_a_link_stays_and_is_not_followed(self, temporary: Path, tmp_path: Path, dead: int) -> None:
        mine = made(tmp_path, "mine", 1000)
        link = temporary / f"da-score-git-{dead}-aaaaaaaa"
        link.symlink_to(mine)
        remove_stale_directories(lambda: time.time() + 1e6)
        assert link.is_symlink()
        assert (mine / "sub/file").exists()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what is somebody else's")
    def test_of_somebody_else_stays(self, temporary: Path, dead: int) -> None:
        path = made(temporary, f"da-score-git-{dead}-aaaaaaaa", 1000)
        os.chown(path, 1234, 1234)
        remove_stale_directories()
        assert path.exists()

    def test_goes_when_the_next_is_made_and_when_a_log_is_scored(
        self, temporary: Path, dead: int, project: Path, da_score: DaScore
    ) -> None:
        assert project
        for sweep in (lambda: temporary_directory("git").__enter__(), lambda: da_score("run", "--no-cache")):
            old = made(temporary, f"da-score-git-{dead}-aaaaaaaa", 2)
            sweep()
            assert not old.exists()
        with temporary_directory("git") as directory:
            assert directory.parent == temporary
        assert not directory.exists()


@pytest.mark.parametrize("what", ["a report", "the settings of a harness"])
def test_a_file_goes_wherever_the_next_is_written(tmp_path: Path, dead: int, what: str) -> None:
    from scoring.jobs.hook_install import install_hook

    left = tmp_path / f".da-score-{dead}-0123456789abcdef.tmp"
    left.write_text("half")
    if what == "a report":
        with atomic_stream(tmp_path / "out") as f:
            f.write(b"x")
    else:
        install_hook(tmp_path / "settings.json")
    assert not left.exists()
