"""Scoring a whole log or one iteration of it, and writing what came out."""

import os
import re
from pathlib import Path

import pytest
from helpers.repos import Repo

from rubric import default_rubric
from scoring.demo import Demo, build_demo
from scoring.errors import LogError, NotARepositoryError, NotFoundError
from scoring.log.load import load_iteration_log
from scoring.score import examine_iteration, score_iteration, score_log
from scoring.scored import ScoredLog
from scoring.sidecars.writing import write_scored_log

VALUES = {
    1: "1.0",
    2: "0.5",
    3: "0.9326595479903601",
    4: "0.6795095115266807",
    5: "0.2882276115106456",
    6: "0.9283399999999999",
    7: "0.8641975308641974",
    8: "0.8448308540439096",
    9: "0.7041648571057487",
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return build_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def scored(demo: Demo) -> ScoredLog:
    return score_log(demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    path.mkdir()
    return path


def entry(
    log: Path,
    iteration: int,
    *,
    commit: str = "",
    session: str = "",
    summary: str = "",
    retries: int = 0,
) -> Path:
    """Write an entry of schema 2; text goes in double quotes, so YAML escapes hold."""
    path = log / f"iter-{iteration}.yaml"
    path.write_text(
        f'schema_version: 2\niteration: {iteration}\ncommit: "{commit}"\n'
        f'agent: {{session_id: "{session}"}}\n'
        f'impl: {{summary: "{summary}", retries: {retries}}}\n'
    )
    return path


class TestScoreLog:
    def test_scores_every_iteration_in_order(
        self, demo: Demo, scored: ScoredLog
    ) -> None:
        assert {
            i.score.iteration: repr(i.score.value) for i in scored.iterations
        } == VALUES
        assert [i.record.iteration for i in scored.iterations] == list(VALUES)
        assert [i.signals.iteration for i in scored.iterations] == list(VALUES)
        assert scored.rubric is default_rubric()
        assert [i.record for i in scored.iterations] == load_iteration_log(
            demo.iter_log_dir
        )
        for i in scored.iterations:
            assert default_rubric().score(i.signals) == i.score
            assert i.persisted.breakdown == i.score.breakdown
        assert [
            i.score.iteration
            for i in scored.iterations
            if i.persisted.linked_traces_to_outcomes
        ] == [3]

    def test_wants_a_repository_and_entries_that_can_be_read(
        self, log: Path, repo: Repo, tmp_path: Path
    ) -> None:
        entry(log, 1, commit=repo.commit())
        with pytest.raises(
            NotARepositoryError, match=re.escape(f"{tmp_path}: not a git work tree")
        ):
            score_log(log, tmp_path)
        warned: list[str] = []
        score_log(log, repo.path, tmp_path / "missing", warn=warned.append)
        assert [str(tmp_path / "missing") in warning for warning in warned] == [True]
        broken = entry(log, 2)
        broken.write_text("schema_version: 3\n")
        with pytest.raises(LogError, match=re.escape(str(broken))):
            score_log(log, repo.path)

    def test_of_an_empty_log_is_empty(self, log: Path, tmp_path: Path) -> None:
        scored = score_log(log, tmp_path)  # no repository; an empty log comes first
        assert (scored.iterations, scored.sessions) == ((), ())


class TestOneIteration:
    @pytest.mark.parametrize("iteration", [0, 10, -1, 10**30])
    def test_that_is_not_there_is_named_by_its_path(
        self, demo: Demo, iteration: int
    ) -> None:
        path = demo.iter_log_dir / f"iter-{iteration}.yaml"
        message = re.escape(f"{path}: no entry for iteration {iteration} in this log")
        for find in (examine_iteration, score_iteration):
            with pytest.raises(NotFoundError, match=message):
                find(demo.iter_log_dir, demo.repo_dir, iteration)

    def test_is_found_by_its_field_and_not_by_its_file(
        self, log: Path, repo: Repo
    ) -> None:
        entry(log, 7).rename(log / "iter-1.yaml")
        assert examine_iteration(log, repo.path, 7).record.iteration == 7
        with pytest.raises(
            NotFoundError, match=r"iter-1\.yaml: no entry for iteration 1 in this log"
        ):
            examine_iteration(log, repo.path, 1)
        (log / "historical.yaml").write_text(
            "iterations:\n- {iteration: 4, retries: 1}\n"
        )
        score, record = score_iteration(log, repo.path, 4)
        assert (record.schema_version, record.impl.retries, score.scored) == (
            1,
            1,
            True,
        )


class TestWriting:
    def test_a_session_without_a_file_name_is_warned_of_and_skipped(
        self, log: Path, repo: Repo
    ) -> None:
        for n, session in enumerate(["a", "../b", "c", "", "d\\n", "/"], 1):
            entry(log, n, session=session)
        told: list[str] = []
        scored = score_log(log, repo.path)
        iterations, sessions = write_scored_log(log, scored, told.append)
        assert (len(iterations), [path.name for path in sessions]) == (
            6,
            ["session-a.score.yaml", "session-c.score.yaml"],
        )
        assert told == [
            f"session id {name} cannot be a file name; this session gets no score file"
            for name in ("'../b'", "'/'", "'d\\n'")
        ]
        assert [s.session_id for s in scored.sessions] == ["../b", "/", "a", "c", "d\n"]
        assert sorted(os.listdir(log.parent)) == ["log", "repo"]
