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
    def test_of_a_dead_process_goes_after_an_hour(self, temporary: Path, dead: int) -> None:
        old, new = (
            made(temporary, f"da-score-git-{dead}-{name}", hours)
            for name, hours in (("aaaaaaaa", 1.1), ("bbbbbbbb", 0.9))
        )
        remove_stale_directories()
        assert (old.exists(), new.exists()) == (False, True)

    def test_of_a_living_process_goes_after_a_day(self, temporary: Path) -> None:
        old, new = (
            made(temporary, f"da-score-query-{os.getpid()}-{name}", hours)
            for name, hours in (("aaaaaaaa", 25), ("bbbbbbbb", 23))
        )
        remove_stale_directories()
        assert (old.exists(), new.exists()) == (False, True)

    def test_of_an_earlier_version_goes_after_a_day(self, temporary: Path) -> None:
        old = made(temporary, "da-score-git-a1b2c3d4", 25)
        remove_stale_directories()
        assert not old.exists()

    @pytest.mark.parametrize(
        "name", ["da-score-demo-a1b2c3d4", "da-score-git", "da-score-git-1-x", "other-git-1-aaaaaaaa"]
    )
    def test_of_another_name_stays(self, temporary: Path, name: str) -> None:
        path = made(temporary, name, 1000)
        remove_stale_directories()
        assert path.exists()

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

    def test_is_gone_when_it_is_done_with(self, temporary: Path) -> None:
        with temporary_directory("git") as directory:
            assert directory.parent == temporary
        assert list(temporary.iterdir()) == []


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
