"""Which lines of sessions are work in a repository, and which are another one's."""

from pathlib import Path

import pytest
from helpers.histories import History

from rubric import released_rubric
from scoring.score import score_log


@pytest.fixture
def made(tmp_path: Path) -> History:
    """Return a history whose repository has another one next to it."""
    return History(tmp_path)


def output_tokens(made: History, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the output tokens of each iteration."""
    made.write()
    monkeypatch.setenv("HOME", str(made.home))
    rubric = released_rubric("3.1.0")
    log = score_log(made.log, made.repo, rubric=rubric, transcripts="auto")
    counted = [scored.facts.transcripts for scored in log.iterations]
    return [facts.output_tokens if facts else 0 for facts in counted]


class TestFolders:
    def test_a_session_above_the_repository_counts_with_what_it_did_here(
        self, made: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = made.session("s1", made.root)
        session.turn(9, 1)
        session.edit(10, 2, f"{made.repo.name}/src/a.py")
        mark = made.commit(20, "work", files={"src/a.py": "x"})
        session.commits(
            20.2, 4, mark, "work", f"cd {made.repo.name} && git commit -m work"
        )
        session.turn(30, 8)
        session.edit(40, 16, "other/b.py")
        made.entry(mark, "work")
        assert output_tokens(made, monkeypatch) == [1 + 2 + 4]

    def test_a_session_of_another_repository_counts_with_what_it_did_here(
        self, made: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = made.session("s1", made.root / "other")
        session.edit(8, 1, "b.py")
        session.edit(10, 2, f"../{made.repo.name}/src/a.py")
        mark = made.commit(20, "work", files={"src/a.py": "x"})
        session.commits(20.2, 4, mark, "work", f"git -C {made.repo} commit -m work")
        session.edit(40, 16, "b.py")
        made.entry(mark, "work")
        assert output_tokens(made, monkeypatch) == [2 + 4]

    def test_a_folder_that_is_gone_is_the_repository_where_another_session_committed(
        self, made: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = made.session("s1", Path("/workspaces/shop"))
        first.edit(10, 1, "src/a.py")
        mark = made.commit(20, "work", files={"src/a.py": "x"})
        first.commits(20.2, 2, mark, "work")
        second = made.session("s2", Path("/workspaces/shop"))
        second.edit(30, 4, "src/b.py")
        made.entry(mark, "work")
        made.entry(made.commit(40, "by hand", files={"src/b.py": "y"}), "by hand")
        assert output_tokens(made, monkeypatch) == [1 + 2, 4]

    def test_a_folder_that_is_gone_is_any_other_one_without_such_a_commit(
        self, made: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = made.session("s2", Path("/workspaces/shop"))
        session.edit(30, 4, "src/b.py")
        made.entry(made.commit(40, "by hand", files={"src/b.py": "y"}), "by hand")
        assert output_tokens(made, monkeypatch) == [0]


class TestOtherRepositories:
    def test_edits_of_a_sibling_clone_count_there(
        self, made: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = made.session("s1")
        session.edit(10, 1, "src/a.py")
        session.edit(12, 2, "../other/b.py")
        session.edit(14, 4, "src/a.py")
        mark = made.commit(20, "work", files={"src/a.py": "x"})
        session.commits(20.2, 8, mark, "work")
        made.entry(mark, "work")
        assert output_tokens(made, monkeypatch) == [1 + 4 + 8]

    def test_edits_of_a_plain_folder_outside_count_here(
        self, made: History, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = made.session("s1")
        session.edit(10, 1, "src/a.py")
        session.edit(12, 2, "../notes/b.md")
        mark = made.commit(20, "work", files={"src/a.py": "x"})
        session.commits(20.2, 8, mark, "work")
        made.entry(mark, "work")
        assert output_tokens(made, monkeypatch) == [1 + 2 + 8]
