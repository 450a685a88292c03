"""Nothing that a checkout says, or links to, makes a command write outside of it."""

import os
import stat
from pathlib import Path

import pytest
from helpers.commands import DaScore, one_line
from helpers.projects import tree
from helpers.repos import Repo

from scoring.demo import Demo
from scoring.errors import SettingsError
from scoring.jobs.hook_install import install_hook
from scoring.jobs.hook_places import hook_settings
from scoring.log.settings import resolve_settings


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another project, in which nothing may change."""
    log = tmp_path / "other/log"
    log.mkdir(parents=True)
    (log / "iter-1.yaml").write_text("schema_version: 2\niteration: 1\n")
    (log / "iter-1.score.yaml").write_text("value: 0.5\n")
    return log


NAMED = {
    "by a way up": ('iter-log-dir = "../../other/log"', ""),
    "by an absolute path": ('iter-log-dir = "OTHER"', ""),
    "through a link": ('iter-log-dir = "link/log"', "link"),
    "through a link of its own": ('iter-log-dir = "log"', "log"),
}


class TestALogThatFilesName:
    @pytest.mark.parametrize("how", NAMED)
    @pytest.mark.parametrize("file", [".agents/da-score.toml", "pyproject.toml"])
    @pytest.mark.parametrize("command", ["run", "derive", "backfill"])
    def test_outside_is_refused_and_left_alone(
        self,
        here: Demo,
        da_score: DaScore,
        other: Path,
        how: str,
        file: str,
        command: str,
    ) -> None:
        text, link = NAMED[how]
        table = "[tool.da-score]\n" if file == "pyproject.toml" else ""
        (here.repo_dir / file).write_text(
            table + text.replace("OTHER", str(other)) + "\n"
        )
        if link:
            (here.repo_dir / link).symlink_to(other if link == "log" else other.parent)
        before = tree(other)
        assert "is outside of the repository" in one_line(
            da_score(command, "--no-cache")
        )
        assert tree(other) == before

    def test_inside_is_taken_and_outside_where_the_command_line_or_a_variable_names_it(
        self, here: Demo, other: Path
    ) -> None:
        (here.repo_dir / "link").symlink_to(here.iter_log_dir)
        assert resolve_settings({"iter-log-dir": other}, {}).iter_log_dir == other
        assert (
            resolve_settings({}, {"DA_SCORE_ITER_LOG_DIR": str(other)}).iter_log_dir
            == other
        )
        (here.repo_dir / ".agents/da-score.toml").write_text('iter-log-dir = "link"\n')
        assert resolve_settings({}, {}).iter_log_dir == Path("link")

    def test_the_default_log_may_be_no_link_to_outside_either(
        self, tmp_path: Path, other: Path
    ) -> None:
        (tmp_path / "repo/.agents/active").mkdir(parents=True)
        (tmp_path / "repo/.agents/active/iteration-log").symlink_to(other)
        with pytest.raises(SettingsError, match="is outside of the repository"):
            resolve_settings({"repo-dir": str(tmp_path / "repo")}, {})


class TestSettingsOfAHarness:
    @pytest.mark.parametrize("link", [".claude", ".claude/settings.json"])
    def test_of_a_project_are_not_written_through_a_link_to_outside(
        self, here: Demo, da_score: DaScore, tmp_path: Path, link: str
    ) -> None:
        target = tmp_path / "mine" / ("settings.json" if link.endswith("json") else "")
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine/settings.json").write_text("{}")
        place = here.repo_dir / link
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(target)
        for command in ("install", "uninstall"):
            assert "it leads out of the project" in one_line(da_score("hook", command))
        assert (tmp_path / "mine/settings.json").read_text() == "{}"

    def test_of_a_project_that_files_lead_to_are_not_written(
        self, here: Demo, da_score: DaScore, other: Path
    ) -> None:
        Repo(other)
        (here.repo_dir / ".agents/da-score.toml").write_text(f'repo-dir = "{other}"\n')
        assert "it leads out of the project" in one_line(da_score("hook", "install"))
        assert da_score("hook", "install", "--repo-dir", other).status == 0, (
            "the command line may say so"
        )

    def test_of_a_project_may_be_a_link_inside(
        self, here: Demo, da_score: DaScore
    ) -> None:
        (here.repo_dir / "dotfiles").mkdir()
        (here.repo_dir / ".claude").symlink_to("dotfiles")
        assert da_score("hook", "install").status == 0
        assert (
            "close-task" in (here.repo_dir / "dotfiles/settings.local.json").read_text()
        )

    @pytest.mark.parametrize(
        ("harness", "variable", "name"),
        [
            ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
            ("codex", "CODEX_HOME", "hooks.json"),
            ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
            ("cursor", "CURSOR_CONFIG_DIR", "hooks.json"),
        ],
    )
    def test_of_the_user_are_where_the_harness_looks(
        self,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        harness: str,
        variable: str,
        name: str,
    ) -> None:
        monkeypatch.setenv(variable, str(tmp_path / "config"))
        project = tmp_path / "project"
        assert hook_settings(harness, "user", project) == [tmp_path / "config" / name]
        assert hook_settings(harness, "project", project)[0].is_relative_to(project)
        monkeypatch.setenv(variable, "")
        assert hook_settings(harness, "user", project)[0].is_relative_to(Path.home())

    @pytest.mark.skipif(
        os.geteuid() != 0,
        reason="only root can write what is somebody else's and stays so",
    )
    def test_keep_their_owner_and_mode(self, tmp_path: Path) -> None:
        path = tmp_path / "settings.json"
        path.write_text("{}")
        path.chmod(0o640)
        os.chown(path, 1234, 4321)
        backup = install_hook(path).backup
        assert backup is not None
        for written in (path, backup):
            found = written.stat()
            assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (
                1234,
                4321,
                0o640,
            )


@pytest.mark.parametrize("how", ["--force", ""])
def test_init_writes_no_settings_through_a_link_to_outside(
    repo: Repo, da_score: DaScore, tmp_path: Path, how: str
) -> None:
    repo.commit({"a": "b"})
    (tmp_path / "outside").mkdir()
    (repo.path / ".agents").symlink_to(tmp_path / "outside")
    assert "outside" in one_line(
        da_score("init", "--repo-dir", repo.path, *filter(None, [how]))
    )
    assert list((tmp_path / "outside").iterdir()) == []
