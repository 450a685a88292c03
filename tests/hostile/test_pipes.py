"""A FIFO where a file belongs is named, and nobody waits for it."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import DaScore, one_line
from helpers.doors import make_fifo
from helpers.repos import Repo

from scoring.demo import Demo
from scoring.errors import GitError
from scoring.evidence.git import starter
from scoring.evidence.git.plain_files import PLAIN_FILES
from scoring.evidence.git.repository import GitRepository


class TestInARepository:
    @pytest.mark.parametrize(
        "name", [*PLAIN_FILES, "refs/replace/x", "worktrees/linked/gitdir"]
    )
    def test_is_named_at_once(self, repo: Repo, name: str) -> None:
        repo.commit({"a": "b"})
        linked = repo.path.parent / "linked"
        repo.git("worktree", "add", "-q", str(linked))
        assert GitRepository(repo.path).top_level == repo.path.resolve()
        make_fifo(repo.path / ".git" / name)
        for place in (repo.path, linked) if name == "packed-refs" else (repo.path,):
            with pytest.raises(
                GitError,
                match=rf"\.git/{name}: is not a plain file; git would wait for it forever",
            ):
                GitRepository(place)

    def test_what_cannot_be_looked_at_is_not_called_a_pipe(self, repo: Repo) -> None:
        (repo.path / ".git/packed-refs").symlink_to("packed-refs")
        with pytest.raises(GitError, match=r"too many levels of symbolic links$"):
            GitRepository(repo.path)

    @pytest.mark.parametrize(
        "command", [("run",), ("doctor",), ("derive",), ("check", "--min-score", "0")]
    )
    def test_ends_a_command_in_one_line(
        self, here: Demo, da_score: DaScore, command: tuple[str, ...]
    ) -> None:
        make_fifo(here.repo_dir / ".git/packed-refs")
        found = da_score(*command, "--no-cache")
        assert "packed-refs: is not a plain file" in found.out + found.err
        assert "Traceback" not in found.err

    @pytest.mark.parametrize(
        ("key", "chain"),
        [("include.path", 1), ("includeIf.gitdir:/**.path", 1), ("INCLUDE.path", 3)],
        ids=["included", "included where it is", "included by what is included"],
    )
    def test_that_settings_lead_to_is_named_at_once(
        self, repo: Repo, monkeypatch: pytest.MonkeyPatch, key: str, chain: int
    ) -> None:
        repo.commit({"a": "b"})
        for n in range(1, chain):
            (repo.path / f"{n}").write_text(f"[include]\npath = {n - 1}\n")
        (repo.path / "0").write_text("[user]\nname = x\n")
        repo.config(key, f"../{chain - 1}")
        assert GitRepository(repo.path).top_level == repo.path.resolve()
        make_fifo(repo.path / "0")
        monkeypatch.setenv("DA_SCORE_GIT_TIMEOUT", "1")
        with pytest.raises(
            GitError, match=r"/0: is not a plain file; git would wait for it forever"
        ):
            GitRepository(repo.path)

    def test_for_attributes_is_named_at_once(self, repo: Repo) -> None:
        repo.commit({"a": "b", "sub/b": "c"})
        make_fifo(repo.path / ".gitattributes")
        with pytest.raises(GitError, match=r"\.gitattributes: is not a plain file"):
            GitRepository(repo.path / "sub")

    @pytest.mark.parametrize("folder", [".", ".agents"])
    def test_for_what_git_ignores_is_named_before_init_writes(
        self, here: Demo, da_score: DaScore, folder: str
    ) -> None:
        settings = here.repo_dir / ".agents/da-score.toml"
        settings.unlink()
        make_fifo(here.repo_dir / folder / ".gitignore")
        found = da_score("init", "--yes")
        assert found.status == 1
        assert ".gitignore: is not a plain file" in one_line(found)
        assert not settings.exists()

    @pytest.mark.parametrize("lent", ["", "{}\n", '"{}"\n', '"\\x"\n{}\n'])
    def test_in_place_of_an_object_is_named_at_once(
        self, repo: Repo, lent: str
    ) -> None:
        """``lent`` is how the repository names the folder that it borrows from, if it does."""
        sha = repo.commit({"a": "b"})
        objects = repo.path / ".git/objects"
        if lent:
            objects = objects.rename(repo.path.parent / "lent")
            (repo.path / ".git/objects/info").mkdir(parents=True)
            (repo.path / ".git/objects/info/alternates").write_text(
                lent.format(objects)
            )
        assert GitRepository(repo.path).resolve(["HEAD"]) == {"HEAD": sha}
        make_fifo(objects / sha[:2] / sha[2:])
        with pytest.raises(GitError, match=f"{sha[2:]}: is not a plain file"):
            GitRepository(repo.path)

    def test_in_place_of_a_shared_index_is_named_at_once(self, repo: Repo) -> None:
        repo.commit({"a": "b"})
        repo.git("update-index", "--split-index")
        (index,) = repo.path.glob(".git/sharedindex.*")
        make_fifo(index)
        with pytest.raises(GitError, match=r"sharedindex\.\w+: is not a plain file"):
            GitRepository(repo.path)

    def test_among_branches_is_named_at_once(self, repo: Repo) -> None:
        repo.commit({"a": "b"})
        opened = GitRepository(repo.path)
        make_fifo(repo.path / ".git/refs/heads/pipe")
        with pytest.raises(GitError, match=r"refs/heads/pipe: is not a plain file"):
            _ = opened.branches


class TestTimeLimit:
    @pytest.fixture
    def slow(self, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
        """A repository whose git answers nothing any more."""
        repo.commit({"a": "b"})
        opened = GitRepository(repo.path)
        monkeypatch.setattr(starter, "time_limit", lambda: 0.2)
        monkeypatch.setattr(
            starter.Git,
            "_command",
            lambda *_: ["sh", "-c", "sleep 60", "-C", str(repo.path)],
        )
        return opened

    def test_limits_every_way_to_ask(self, slow: GitRepository) -> None:
        with slow.objects() as content:
            ways: tuple[Callable[[], object], ...] = (
                lambda: slow.ask("log"),
                lambda: list(slow.lines("log")),
                lambda: list(content("0" * 40)),
            )
            for way in ways:
                with pytest.raises(GitError, match=r"git did not answer in time"):
                    way()

    @pytest.mark.parametrize(
        ("timeout", "advises"),
        [
            pytest.param(None, True, id="the limit that people set"),
            pytest.param(0.1, False, id="a shorter limit, which they cannot change"),
        ],
    )
    def test_is_advised_to_be_raised_where_that_helps(
        self, slow: GitRepository, timeout: float | None, advises: bool
    ) -> None:
        with pytest.raises(GitError) as caught:
            slow.ask("log", timeout=timeout)
        assert ("DA_SCORE_GIT_TIMEOUT" in str(caught.value)) is advises

    @pytest.mark.parametrize("text", ["", "0", "-1", "x", "9" * 99])
    def test_is_settable(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        monkeypatch.setenv("DA_SCORE_GIT_TIMEOUT", "7")
        assert starter.time_limit() == 7
        monkeypatch.setenv("DA_SCORE_GIT_TIMEOUT", text)
        assert starter.time_limit() == 300


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "read", [False, True], ids=["without a reader", "with a reader"]
)
def test_a_step_summary_that_is_a_pipe_is_refused(
    da_score: DaScore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, read: bool
) -> None:
    make_fifo(tmp_path / "summary")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    reader = os.open(tmp_path / "summary", os.O_RDONLY | os.O_NONBLOCK) if read else -1
    others = set(threading.enumerate())
    found = da_score("check", "--min-score", "0", "--github-summary", "--no-cache")
    assert "summary: cannot append: is not a plain file" in one_line(found)
    assert set(threading.enumerate()) <= others
    if read:
        os.close(reader)
