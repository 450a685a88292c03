"""What is watched of a repository, so that an answer is kept only while nothing changes it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.landings import clone, started
from helpers.repos import Repo

from scoring.errors import TakesLong
from scoring.evidence.git import limits
from scoring.evidence.git.kept_objects import object_stamps
from scoring.evidence.git.limits import GitTime
from scoring.evidence.kept_answers import AnswerStore
from scoring.evidence.rules import ATTRIBUTED, Options, Sources
from scoring.evidence.watched import Watched

Change = Callable[[Repo], object]


def state(repo: Repo) -> bytes:
    folder = repo.path / ".git"
    watched = Watched(log=str(repo.path / "log"), repository=str(folder)).state()
    stamps = object_stamps(folder, repo.path / "cache")
    assert watched is not None
    assert stamps is not None
    return watched + stamps.objects + stamps.commits


def ref(name: str) -> Change:
    return lambda repo: repo.git("update-ref", f"refs/{name}", "HEAD")


def written(name: str) -> Change:
    """Return what writes a file of git."""

    def write(repo: Repo) -> None:
        path = repo.path / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("something else\n")

    return write


CHANGES = {
    **{
        f"ref-{name}": ref(name)
        for name in (
            "heads/release-hooks",
            "heads/hooks",
            "heads/logs/index",
            "heads/objects/ab/work",
            "tags/new-index",
            "tags/FETCH_HEAD",
            "remotes/origin/index",
            "remotes/origin/logs",
        )
    },
    "work-tree-that-is-called-logs": written("worktrees/logs/HEAD"),
    "ref-of-a-work-tree": written("worktrees/other/refs/bisect/index"),
    "submodule-that-is-called-hooks": written("modules/hooks/HEAD"),
}
NO_CHANGES = [
    "index",
    "index.lock",
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "ORIG_HEAD",
    "hooks/pre-commit",
    "logs/refs/heads/main",
    "worktrees/other/index",
    "worktrees/other/logs/HEAD",
    "modules/other/index",
]


@pytest.mark.parametrize("name", CHANGES)
def test_a_ref_is_watched_whatever_its_name(name: str, tmp_path: Path) -> None:
    repo = started(tmp_path)
    before = state(repo)
    CHANGES[name](repo)
    assert state(repo) != before


@pytest.mark.parametrize("name", NO_CHANGES)
def test_what_is_not_read_is_not_watched(name: str, tmp_path: Path) -> None:
    repo = started(tmp_path)
    for folder in ("hooks", "logs/refs/heads", "worktrees/other", "modules/other"):
        (repo.path / ".git" / folder).mkdir(parents=True, exist_ok=True)
    before = state(repo)
    written(name)(repo)
    assert state(repo) == before


@pytest.mark.parametrize("limit", [1, 100], ids=["as a pack", "as loose objects"])
def test_a_commit_that_is_fetched_without_a_ref_is_watched(
    limit: int, tmp_path: Path
) -> None:
    source = started(tmp_path)
    mine = clone(source.path, tmp_path / "mine")
    mine.git("config", "fetch.unpackLimit", str(limit))
    for number in range(256):
        (mine.path / f".git/objects/{number:02x}").mkdir(exist_ok=True)
    sha = source.commit({"a.txt": "new\n"}, "new")
    before = state(mine)

    mine.git("fetch", "-q", "origin", sha)

    assert state(mine) != before


def test_an_added_file_that_is_not_committed_changes_no_answer(tmp_path: Path) -> None:
    repo = started(tmp_path)
    before = state(repo)
    (repo.path / "new.txt").write_text("not committed\n")

    repo.git("add", "new.txt")

    assert state(repo) == before


def test_a_pack_that_git_finds_an_object_in_changes_no_answer(tmp_path: Path) -> None:
    repo = started(tmp_path)
    repo.git("repack", "-adq")
    before = state(repo)
    (pack,) = (repo.path / ".git/objects/pack").glob("*.pack")

    # git sets the times when it would write an object of the pack
    os.utime(pack, (1, 1))

    assert state(repo) == before


@pytest.mark.parametrize(
    ("warning", "may_keep"),
    [(TakesLong("git takes long"), True), ("a transcript was skipped", False)],
    ids=["takes-long", "something-is-missing"],
)
def test_a_warning_that_something_takes_long_lets_answers_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warning: str, may_keep: bool
) -> None:
    for module in ("kept_answers", "watched"):
        monkeypatch.setattr(f"scoring.evidence.{module}.is_settled", lambda *_: True)
    repo = started(tmp_path)
    options: Options = {"cache_dir": tmp_path / "cache"}
    sources = Sources.under(ATTRIBUTED, repo.path, options=options)
    watched = Watched(log=str(repo.path / "log"), repository=str(repo.path / ".git"))

    with AnswerStore(sources, repo.path / "log") as answers:
        answers.sources.warn(warning)
        assert answers.watch(watched).may_keep is may_keep


def test_that_git_takes_long_is_such_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SECONDS_WITHOUT_WORD", 0)
    warnings: list[str] = []
    git_time = GitTime()
    git_time.warn = warnings.append
    with git_time.waiting():
        pass
    assert list(map(type, warnings)) == [TakesLong]
