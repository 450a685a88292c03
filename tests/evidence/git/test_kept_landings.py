"""Of which commits the trunk has the change is kept, and asked again where the trunk moves."""

from pathlib import Path

import pytest
from helpers.doors import watched_doors
from helpers.landings import record, started
from helpers.repos import Repo

from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.facts import Landing

OLD = "".join(f"line {n}\n" for n in range(20))
WORDS = OLD.replace("line", "word")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A trunk, and a branch with one commit that it has not, both with a change of one file."""
    repo = started(tmp_path / "repo")
    repo.commit({"a.txt": OLD, "work.txt": OLD}, "older")
    repo.branch("work")
    repo.commit({"work.txt": WORDS}, "say words")
    repo.checkout("master")
    repo.commit({"work.txt": f"first\n{OLD}"}, "begin with the first")
    return repo


def ask(repo: Repo, cache: Path | None, *shas: str) -> tuple[list[Landing], bool]:
    """Return where commits landed, of the log and others, and whether git was asked to merge."""
    with watched_doors() as doors:
        history = AttributedHistory(repo.path, [record(1, shas[0])], cache_dir=cache)
        landings = [
            history.landing(record(1, shas[0])),
            *history.landings(shas).values(),
        ]
    return landings, any("merge-tree" in command for command in doors.commands)


def test_a_second_question_merges_nothing_and_has_the_same_answer(
    repo: Repo, tmp_path: Path
) -> None:
    sha = repo.git("rev-parse", "work").strip()
    first, merged_first = ask(repo, tmp_path / "cache", sha)
    second, merged_again = ask(repo, tmp_path / "cache", sha)
    assert first == second == ask(repo, None, sha)[0]
    assert (merged_first, merged_again) == (True, False)


def test_what_changes_with_the_trunk_is_asked_again(repo: Repo, tmp_path: Path) -> None:
    sha = repo.git("rev-parse", "work").strip()
    ask(repo, tmp_path / "cache", sha)
    landed = repo.commit({"work.txt": WORDS}, "say words")
    landings, _ = ask(repo, tmp_path / "cache", sha)
    assert {landing.commit for landing in landings} == {landed}


def test_a_merge_is_not_tried_again_after_another_branch_moved(
    repo: Repo, tmp_path: Path
) -> None:
    sha = repo.git("rev-parse", "work").strip()
    first, _ = ask(repo, tmp_path / "cache", sha)
    repo.branch("other", "master~1")
    other = repo.commit({"work.txt": OLD.replace("line", "text")}, "say texts")
    repo.checkout("master")

    assert ask(repo, tmp_path / "cache", sha) == (first, False)
    landings, merged = ask(repo, tmp_path / "cache", other)
    assert (landings, merged) == (ask(repo, None, other)[0], True)


def test_a_commit_is_merged_once_for_two_questions(repo: Repo) -> None:
    sha = repo.git("rev-parse", "work").strip()
    with watched_doors() as doors:
        history = AttributedHistory(repo.path, [record(1, sha)])
        history.landing(record(1, sha))
        history.landings([sha])
    assert sum("merge-tree" in command for command in doors.commands) == 1


@pytest.mark.parametrize("path", ["a.txt", "new.txt"])
def test_a_change_of_a_file_that_the_trunk_left_alone_is_not_merged(
    repo: Repo, path: str
) -> None:
    repo.branch("other", "master~1")
    other = repo.commit({path: WORDS, "work.txt": f"first\n{OLD}"}, "say words")
    repo.checkout("master")
    landings, merged = ask(repo, None, other)
    assert ([landing.landed for landing in landings], merged) == ([False] * 2, False)


def test_what_git_lacks_is_not_kept(repo: Repo, tmp_path: Path) -> None:
    sha = repo.git("rev-parse", "work").strip()
    content = repo.git_bytes("show", "work:work.txt")
    repo.lose("work:work.txt")
    ask(repo, tmp_path / "cache", sha)
    repo.git("hash-object", "-w", "--stdin", given=content)
    assert ask(repo, tmp_path / "cache", sha)[0] == ask(repo, None, sha)[0]


def test_what_git_had_no_time_for_is_not_kept(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = repo.git("rev-parse", "work").strip()
    whole, _ = ask(repo, None, sha)
    with monkeypatch.context() as patched:
        patched.setattr("scoring.evidence.git.limits.SECONDS_TO_LOSE", -1)
        assert ask(repo, tmp_path / "cache", sha)[0] != whole
    assert ask(repo, tmp_path / "cache", sha)[0] == whole
