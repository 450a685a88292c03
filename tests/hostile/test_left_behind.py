"""The next process removes what a killed process left behind, and nothing else."""

import os
import tempfile
import time
from pathlib import Path

import pytest
from helpers.commands import DaScore, one_line
from helpers.litter import dead_process, litter

from scoring.files import atomic_stream
from scoring.temporary import remove_stale_directories, temporary_directory

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
    return dead_process()


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
            ("da-score-git-a1b2c3d4", 0, True),  # it may be locked in a moment
            ("da-score-git-a1b2c3d4", 0.01, False),
            ("da-score-query-aaaaaaaa", 0.01, False),
            # of an earlier version
            ("da-score-fleet-0123abcd-77-aaaaaaaa", 0.01, False),
            ("da-score-demo-a1b2c3d4", 1000, True),
            ("da-score-git", 1000, True),
            ("da-score-git-1-x", 1000, True),
            ("other-git-aaaaaaaa", 1000, True),
        ],
    )
    def test_go_by_name_and_age(
        self, temporary: Path, name: str, hours: float, stays: bool
    ) -> None:
        path = made(temporary, name, hours)
        remove_stale_directories()
        assert path.exists() is stays

    def test_that_is_in_use_stays_however_old_it_is(self, temporary: Path) -> None:
        with temporary_directory("git") as directory:
            os.utime(directory, (1, 1))
            remove_stale_directories()
            assert directory.parent == temporary
            assert directory.exists()

    @pytest.mark.parametrize(("hours", "stays"), [(23, True), (25, False)])
    def test_go_after_a_day_where_there_are_no_locks(
        self,
        temporary: Path,
        monkeypatch: pytest.MonkeyPatch,
        hours: float,
        stays: bool,
    ) -> None:
        monkeypatch.setattr("scoring.temporary.lock", lambda _: None)
        path = made(temporary, "da-score-git-aaaaaaaa", hours)
        remove_stale_directories()
        assert path.exists() is stays

    def test_that_is_a_link_stays_and_is_not_followed(
        self, temporary: Path, tmp_path: Path
    ) -> None:
        mine = made(tmp_path, "mine", 1000)
        link = temporary / "da-score-git-aaaaaaaa"
        link.symlink_to(mine)
        long_ago = time.time() - 1e6
        os.utime(link, (long_ago, long_ago), follow_symlinks=False)
        remove_stale_directories()
        assert link.is_symlink()
        assert (mine / "sub/file").exists()

    @pytest.mark.skipif(
        os.geteuid() != 0, reason="only root can make what is somebody else's"
    )
    def test_of_somebody_else_stays(self, temporary: Path) -> None:
        path = made(temporary, "da-score-git-aaaaaaaa", 1000)
        os.chown(path, 1234, 1234)
        remove_stale_directories()
        assert path.exists()

    def test_goes_with_whatever_command_is_next(
        self, temporary: Path, dead: int, project: Path, da_score: DaScore
    ) -> None:
        for command in (
            ("run", "--no-cache"),
            ("records",),
            ("lint",),
            ("check", "--no-unscored"),
            ("explain", "3"),
        ):
            old = made(temporary, "da-score-git-aaaaaaaa", 2)
            file = litter(project / ".agents/active/iteration-log", dead)
            da_score(*command)
            assert not old.exists(), command
            assert not file.exists(), command
        with temporary_directory("git") as directory:
            assert directory.parent == temporary
        assert not directory.exists()


@pytest.mark.usefixtures("project")
def test_where_there_is_no_folder_for_them_commands_that_need_none_go_on(
    da_score: DaScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> str:
        # on a full disk, too
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", none)
    assert da_score("records").status == 0
    found = da_score("demo")
    assert (found.status, found.err.count("\n")) == (1, 1)
    assert (
        "cannot write to any folder for temporary files; make room, or set TMPDIR"
        in found.err
    )


def test_a_current_directory_that_is_gone_is_not_taken_for_a_full_disk(
    da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert one_line(da_score("work")) == (
        "the current directory was removed; change to one that exists"
    )


@pytest.mark.parametrize("what", ["a report", "the settings of a harness"])
def test_a_file_goes_wherever_the_next_is_written(
    tmp_path: Path, dead: int, what: str
) -> None:
    from scoring.jobs.hook_install import install_hook

    left = litter(tmp_path, dead)
    if what == "a report":
        with atomic_stream(tmp_path / "out") as f:
            f.write(b"x")
    else:
        install_hook(tmp_path / "settings.json")
    assert not left.exists()
