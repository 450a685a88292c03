"""The caller's own repository: read in Python, as the caller's settings say, and no git started."""

import ast
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import git.cmd
import pytest
from helpers.commands import DaScore
from helpers.labels import SOUND
from helpers.repos import Repo

from scoring.demo import Demo
from scoring.errors import GitError, NotARepositoryError
from scoring.evidence.git.repository import GitRepository
from scoring.own_repository import make_repository, own_name, own_repository

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def no_git_by_gitpython(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Fail when GitPython starts git, except where a repository is made."""
    if "makes" not in request.node.name:
        monkeypatch.setattr(
            git.cmd.Git, "execute", lambda *_, **__: pytest.fail("git was started")
        )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and no settings of this machine."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.delenv(name, raising=False)
    return folder


def test_it_is_what_git_says(repo: Repo, home: Path) -> None:
    repo.commit({"a": "1\n"}, "Begin")
    repo.git("config", "remote.origin.url", "https://name@example.org/team/app.git")
    repo.git(
        "config", "--add", "remote.origin.url", "https://other.example.org/app.git"
    )
    repo.git("worktree", "add", "-q", "-b", "side", str(home / "side"))
    own = own_repository(repo.path)
    theirs = GitRepository(repo.path)
    assert own.top_level == theirs.top_level
    assert own.common_dir.resolve() == theirs.common_dir.resolve()
    assert own.branch == theirs.branch
    assert own.remotes == theirs.remote_urls
    assert [str(path) for path in own.work_trees] == theirs.work_tree_tops[1:]

    linked = own_repository(home / "side")
    assert (linked.branch, linked.top_level) == ("side", (home / "side").resolve())
    assert linked.common_dir.resolve() == theirs.common_dir.resolve()
    repo.git("checkout", "-q", "--detach")
    assert own_repository(repo.path).branch == ""


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("section", "key"),
    [("remote", "URL"), ("Remote", "Url"), ("remote", "pushURL")],
)
def test_a_remote_is_found_in_any_case(repo: Repo, section: str, key: str) -> None:
    config = repo.path / ".git" / "config"
    url = "https://example.org/team/app.git"
    config.write_text(f'{config.read_text()}[{section} "Up"]\n\t{key} = {url}\n')
    remotes = own_repository(repo.path).remotes
    assert remotes == GitRepository(repo.path).remote_urls
    assert remotes == ({} if key == "pushURL" else {"Up": url})


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "variable", ["GIT_COMMON_DIR", "GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE"]
)
def test_it_is_that_of_the_folder_where_a_variable_names_another(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    expected = own_repository(repo.path)
    monkeypatch.setenv(variable, "/nowhere")
    assert own_repository(repo.path) == expected
    assert os.environ[variable] == "/nowhere"


def test_the_callers_settings_hold(
    repo: Repo, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("user.name", "user.email"):
        subprocess.run(["git", "-C", repo.path, "config", "--unset", key], check=False)
    assert own_name(repo.path) == ""
    (home / ".gitconfig").write_text("[User]\n\tName = Ann\n[include]\n\tpath = more\n")
    assert own_name(repo.path) == "Ann"
    (home / "more").write_text('[user]\n\tname = "12"\n')
    assert own_name(repo.path) == "12"
    assert own_name(home) == "12"
    repo.git("config", "user.name", "true")
    assert own_name(repo.path) == "true"
    other = home / "other"
    other.write_text("[user]\n\tname = Zoë\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(other))
    repo.git("config", "--unset", "user.name")
    assert own_name(repo.path) == "Zoë"


@pytest.mark.parametrize(
    "setting", ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "core.excludesFile"]
)
def test_the_null_device_is_an_empty_file(
    repo: Repo, home: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    if setting.isupper():
        monkeypatch.setenv(setting, os.devnull)
    else:
        repo.git("config", setting, os.devnull)
    (home / ".gitconfig").symlink_to(os.devnull)
    repo.git("config", "include.path", os.devnull)
    repo.git("config", "user.name", "Ann")
    assert own_name(repo.path) == "Ann"
    assert own_repository(repo.path).top_level == repo.path.resolve()
    assert GitRepository(repo.path).top_level == repo.path.resolve()


def test_what_git_would_wait_for_is_refused(repo: Repo, home: Path) -> None:
    os.mkfifo(home / ".gitconfig")
    with pytest.raises(GitError, match="git would wait for it forever"):
        own_repository(repo.path)
    (home / ".gitconfig").unlink()
    (repo.path / ".git" / "config").unlink()
    os.mkfifo(repo.path / ".git" / "config")
    with pytest.raises(GitError, match="git would wait for it forever"):
        own_repository(repo.path)


@pytest.mark.usefixtures("home")
def test_elsewhere_is_no_repository(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(NotARepositoryError):
            own_repository(folder)


def test_settings_that_cannot_be_read_are_passed_over(repo: Repo, home: Path) -> None:
    (home / ".gitconfig").write_text("name = x\n[[[\n")
    repo.git("config", "user.name", "Ann")
    assert own_name(repo.path) == "Ann"


def test_it_makes_a_repository_whatever_variables_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    folder = tmp_path / "new"
    folder.mkdir()
    make_repository(folder)
    assert (folder / ".git" / "HEAD").read_text() == "ref: refs/heads/master\n"
    assert not (tmp_path / "elsewhere").exists()
    assert os.environ["GIT_DIR"] == str(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    "command",
    [
        ("doctor",),
        ("label", "5", *SOUND),
        ("init", "--yes", "--force"),
        ("hook", "install"),
    ],
    ids=lambda command: command[0],
)
def test_commands_use_it_and_start_no_git_by_it(
    here: Demo,
    da_score: DaScore,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
) -> None:
    read: list[Path] = []

    def noted(folder: Path | str) -> object:
        read.append(Path(folder))
        return own_repository(folder)

    for module in (
        "scoring.own_repository",
        "scoring.jobs.hook_places",
        "scoring.views.doctor",
        "scoring.cli.init",
    ):
        monkeypatch.setattr(f"{module}.own_repository", noted)
    monkeypatch.setenv("USER", "dan")
    assert da_score(*command).status == 0
    assert read
    assert here.repo_dir.is_dir()


def test_a_process_that_reads_it_starts_no_git_at_all(
    repo: Repo, tmp_path: Path
) -> None:
    """Not even for the version, which GitPython asks for when it is imported."""
    folder = tmp_path / "path"
    folder.mkdir()
    note = tmp_path / "started"
    script = folder / "git"
    script.write_text(f'#!/bin/sh\necho "$*" >> {note}\n')
    script.chmod(0o755)
    code = (
        "from scoring.own_repository import own_name, own_repository; "
        f"print(own_repository({str(repo.path)!r}).branch, own_name({str(repo.path)!r}))"
    )
    environment = {**os.environ, "PATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert done.stdout.split()[0] == own_repository(repo.path).branch
    assert not note.exists()


def test_it_is_installed_with_the_command() -> None:
    required = importlib.metadata.requires("da-score") or []
    (requirement,) = (text for text in required if text.lower().startswith("gitpython"))
    assert "extra" not in requirement


def test_evidence_and_what_only_scores_never_load_it() -> None:
    importers = []
    for path in [*ROOT.glob("scoring/**/*.py"), *ROOT.glob("rubric/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            if any(name.partition(".")[0] == "git" for name in names):
                importers.append(path.relative_to(ROOT).as_posix())
    assert set(importers) == {"scoring/own_repository.py"}

    code = (
        "import sys, scoring.api, scoring.cli.run, scoring.cli.work, scoring.cli.close_task; "
        "print('git' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
