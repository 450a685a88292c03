"""What is kept about objects of git is right only until one of them is lost."""

import os
from pathlib import Path

import pytest
from helpers.repos import Repo

from scoring.errors import GitError, TooLargeError
from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.kept_objects import ObjectStamps, object_stamps
from scoring.evidence.git.limits import SECONDS_TO_LOSE
from scoring.evidence.git.line_history import LineHistory
from scoring.evidence.git.patches import Patch
from scoring.evidence.git.repository import GitRepository


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def stamps(repo: Repo, cache: Path) -> ObjectStamps:
    kept = object_stamps(repo.path / ".git", cache)
    assert kept is not None
    return kept


def stamp(repo: Repo, cache: Path) -> bytes:
    return stamps(repo, cache).objects


def patch(repo: Repo, cache: Path, pair: CommitPair) -> Patch | None:
    return LineHistory(GitRepository(repo.path), cache).patch(pair)


@pytest.mark.parametrize("name", ["{}:a", "{}:c/b", "{}:c", "{}^{{tree}}"])
def test_lines_of_a_lost_object_are_not_known(
    repo: Repo, cache: Path, name: str
) -> None:
    first = repo.commit({"a": "1\n", "c/b": "2\n"})
    pair = CommitPair(repo.commit({"a": "other\n", "c/b": "another\n"}), first)
    assert patch(repo, cache, pair) is not None
    repo.lose(name.format(pair.base))
    assert patch(repo, cache, pair) is None


def test_lines_of_an_object_that_is_back_are_known(repo: Repo, cache: Path) -> None:
    first = repo.commit({"a": "1\n"})
    pair = CommitPair(repo.commit({"a": "other\n"}), first)
    content = repo.git_bytes("show", f"{first}:a")
    repo.lose(f"{first}:a")
    assert patch(repo, cache, pair) is None
    repo.git("hash-object", "-w", "--stdin", given=content)
    assert patch(repo, cache, pair) is not None


@pytest.mark.parametrize(
    ("lost", "is_kept"),
    [
        pytest.param((0.0, GitError("no such object")), False, id="git failed"),
        pytest.param(
            (0.0, TooLargeError("too many files")), True, id="too much each time"
        ),
        pytest.param(
            (SECONDS_TO_LOSE + 1, TooLargeError("too many files")),
            False,
            id="git has no time left",
        ),
    ],
)
def test_what_git_may_answer_another_time_is_not_kept(
    repo: Repo, cache: Path, lost: tuple[float, GitError], is_kept: bool
) -> None:
    history = LineHistory(GitRepository(repo.path), cache)
    history.repository.time.lose(*lost)
    history.keep(b"name", "value")
    assert history.kept(b"name", str) == ("value" if is_kept else None)


def test_a_stamp_stays_while_objects_come(repo: Repo, cache: Path) -> None:
    repo.commit({"a": "1\n"})
    before = stamp(repo, cache)
    repo.commit({"a": "2\n"})
    assert stamp(repo, cache) == before
    assert stamp(repo, cache) == before


def test_a_stamp_of_commits_changes_with_these_alone(repo: Repo, cache: Path) -> None:
    repo.commit({"a": "1\n"})
    before = stamps(repo, cache).commits
    repo.git("hash-object", "-w", "--stdin", given=b"a file that is added")
    assert stamps(repo, cache).commits == before
    repo.commit({})
    assert stamps(repo, cache).commits != before


@pytest.mark.parametrize("is_packed", [False, True], ids=["loose", "packed"])
def test_objects_are_not_new_when_git_renews_the_times_of_their_files(
    repo: Repo, cache: Path, is_packed: bool
) -> None:
    repo.commit({"a": "1\n"})
    if is_packed:
        repo.git("repack", "-adq")
    before = stamps(repo, cache)
    for path in (repo.path / ".git/objects").glob("??*/*"):
        os.utime(path)
    assert stamps(repo, cache) == before


def test_an_object_that_comes_is_new(repo: Repo, cache: Path) -> None:
    repo.commit({"a": "1\n"})
    before = stamps(repo, cache).newest
    repo.git("hash-object", "-w", "--stdin", given=b"a file that is added")
    assert stamps(repo, cache).newest > before


def test_a_pipe_among_the_objects_is_not_opened(repo: Repo, cache: Path) -> None:
    sha = repo.commit({"a": "1\n"})
    before = stamps(repo, cache)
    os.mkfifo(repo.path / ".git/objects" / sha[:2] / ("0" * 38))
    after = stamps(repo, cache)
    assert (after.objects, after.commits) == (before.objects, before.commits)


def test_nothing_is_kept_of_more_files_than_can_be_listed(
    repo: Repo, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"a": "1\n"})
    monkeypatch.setattr("scoring.evidence.git.kept_objects._MOST_FILES", 2)
    assert object_stamps(repo.path / ".git", cache) is None


@pytest.mark.parametrize("change", ["rights", "packed", "pack", "borrowed"])
def test_a_stamp_changes_with_what_can_be_read(
    repo: Repo, cache: Path, tmp_path: Path, change: str
) -> None:
    sha = repo.commit({"a": "1\n"})
    objects = repo.path / ".git/objects"
    loose = objects / sha[:2] / sha[2:]
    if change == "pack":
        repo.git("repack", "-adq")
    elif change == "borrowed":
        loose.parent.rename(tmp_path / sha[:2])
        (objects / "info/alternates").write_text(f"{tmp_path}\n")
    before = stamp(repo, cache)
    if change == "rights":
        loose.chmod(0)
    elif change == "packed":
        repo.git("repack", "-adq")
    elif change == "pack":
        next((objects / "pack").glob("*.pack")).rename(tmp_path / "away")
    else:
        (tmp_path / sha[:2] / sha[2:]).unlink()
    assert stamp(repo, cache) != before


@pytest.mark.parametrize(
    "kind", ["in circles", "many", "no path", "a pipe", "a pipe elsewhere"]
)
def test_borrowing_without_an_end_ends(
    repo: Repo, cache: Path, tmp_path: Path, kind: str
) -> None:
    sha = repo.commit({"a": "1\n"})
    objects = repo.path / ".git/objects"
    alternates = objects / "info/alternates"
    if kind == "in circles":
        alternates.write_text("../objects\npack/..\ninfo/..\n")
    elif kind == "many":
        alternates.write_text("".join(f"/nowhere/{n}\n" for n in range(4_000)))
    elif kind == "no path":
        alternates.write_text("a\0b\n")
    elif kind == "a pipe":
        os.mkfifo(alternates)
    else:
        (tmp_path / "info").mkdir()
        os.mkfifo(tmp_path / "info/alternates")
        alternates.write_text(f"{tmp_path}\n")
    before = stamp(repo, cache)
    assert stamp(repo, cache) == before
    (objects / sha[:2] / sha[2:]).unlink()
    assert stamp(repo, cache) != before


def test_lines_of_a_file_whose_name_is_not_utf_8_are_read_each_time(
    repo: Repo, cache: Path
) -> None:
    first = repo.commit({"a": "1\n"})
    pair = CommitPair(repo.commit({"caf\udce9.py": "alpha = 1\n"}), first)
    for _ in range(2):
        files = patch(repo, cache, pair)
        assert files is not None
        assert [file.path for file in files] == ["caf\udce9.py"]
