"""What graded runs: jobs of Harbor and runs of ``da eval``, as a log and as an outcome."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore, one_line
from helpers.repos import Repo

from scoring.evidence.rewards import graded_runs, rewards
from scoring.log.load import load_iteration_log


def trial(folder: Path, name: str, reward: Any, **more: Any) -> None:
    (folder / name / "agent").mkdir(parents=True)
    task = name.partition("__")[0]
    given: dict[str, Any] = {
        "task_name": task,
        "trial_name": name,
        "finished_at": "2026-01-02T03:04:05.678",
    }
    given["agent_info"] = {
        "name": "codex",
        "model_info": {"name": "gpt-5", "provider": "openai"},
    }
    given["verifier_result"] = (
        None if reward is None else {"rewards": {"reward": reward}}
    )
    (folder / name / "result.json").write_text(json.dumps(given | more))
    document = {
        "schema_version": "ATIF-v1.5",
        "session_id": f"s-{name}",
        "agent": {"name": "codex"},
        "steps": [],
    }
    (folder / name / "agent/trajectory.json").write_text(json.dumps(document))


def eval_run(folder: Path, verify: str, session: str = "e1") -> None:
    folder.mkdir(parents=True)
    text = (
        f"run_id: {folder.name}\nagent: {{harness: h, model: m, session_id: {session}}}\n"
        f"verify: {verify}\n"
    )
    (folder / "eval-run.yaml").write_text(text)
    (folder / "taskspec.yaml").write_text("task_id: t-1\nlanguage: go\n")


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    job = tmp_path / "jobs/2026-01-02"
    for name, reward in (
        ("a__1", 1.0),
        ("a__2", 0),
        ("b__1", 0.5),
        ("b__2", None),
        ("b__3", 7),
        ("b__4", True),
    ):
        trial(job, name, reward)
    (job / "result.json").write_text(json.dumps({"id": "x", "stats": {"n_trials": 6}}))
    (job / "broken").mkdir()
    (job / "broken/result.json").write_text("{")
    return tmp_path / "jobs"


def test_a_trial_has_the_reward_of_its_verifier_where_that_is_one(jobs: Path) -> None:
    found = {run.source: run.reward for run in graded_runs(jobs)}
    names = {
        "a__1": 1.0,
        "a__2": 0.0,
        "b__1": 0.5,
        "b__2": None,
        "b__3": None,
        "b__4": None,
    }
    assert found == {f"2026-01-02/{name}": reward for name, reward in names.items()}
    first = next(iter(graded_runs(jobs)))
    assert first[1:6] == ("a", "s-a__1", "codex", "gpt-5", "2026-01-02")


@pytest.mark.parametrize(
    ("verify", "reward"),
    [
        pytest.param("{passed: true, phase: test}", 1.0, id="passed"),
        pytest.param("{passed: false, phase: build}", 0.0, id="failed"),
        pytest.param('{passed: false, phase: ""}', None, id="nothing verified it"),
        pytest.param("[1", None, id="broken"),
    ],
)
def test_a_run_of_da_eval_passed_or_failed(
    tmp_path: Path, verify: str, reward: float | None
) -> None:
    eval_run(tmp_path / "runs/r1", verify)
    assert [run.reward for run in graded_runs(tmp_path)] == (
        [] if verify == "[1" else [reward]
    )


def test_jobs_become_a_log_once_and_its_outcomes_have_the_rewards(
    jobs: Path, tmp_path: Path, da_score: DaScore
) -> None:
    repo = Repo(tmp_path / "repo", branch="main")
    repo.commit({"a.py": "1\n"})
    log = tmp_path / "log"
    places = "--iter-log-dir", str(log), "--repo-dir", str(repo.path), "--no-cache"
    dry = da_score("derive", "--jobs", str(jobs), "--dry-run", *places)
    assert (dry.status, "Would write 6 entries" in dry.out, log.exists()) == (
        0,
        True,
        False,
    )
    found = da_score("derive", "--jobs", str(jobs), "--json", *places).json["written"]
    assert [
        (row["iteration"], row["kind"], row["task"], row["reward"]) for row in found
    ][:2] == [
        (1, "run", "a", 1.0),
        (2, "run", "a", 0.0),
    ]
    assert (
        da_score("derive", "--jobs", str(jobs), "--json", *places).json["written"] == []
    )
    assert da_score("lint", *places).status == 0
    outcomes = da_score("outcomes", "--json", *places).json["outcomes"]
    assert [one["reward"] for one in outcomes] == [1.0, 0.0, 0.5, None, None, None]
    said = da_score(
        "validate", "--outcome", "reward", "--rubric", "3.1.0", "--json", *places
    ).json
    assert (said["outcome"], said["measure"], said["verdict"]) == (
        "reward",
        "auc",
        "too few",
    )
    nowhere = da_score("derive", "--jobs", str(tmp_path / "nothing"), *places)
    assert (nowhere.status, "no such directory" in one_line(nowhere)) == (1, True)


def test_a_run_of_da_eval_grades_its_own_log_and_the_entry_that_names_its_session(
    tmp_path: Path,
) -> None:
    runs = tmp_path / "repo/.agents/eval/runs"
    eval_run(runs / "r1", "{passed: true, phase: test}")
    eval_run(runs / "r2", "{passed: false, phase: test}", "e2")
    for log, session in ((runs / "r2/iteration-log", "e9"), (tmp_path / "log", "e1")):
        log.mkdir()
        entry = f"schema_version: 2\niteration: 1\nagent: {{session_id: {session}}}\n"
        (log / "iter-1.yaml").write_text(entry)
    found = [
        rewards(load_iteration_log(log), log, tmp_path / "repo")
        for log in (runs / "r2/iteration-log", tmp_path / "log")
    ]
    assert found == [{1: 0.0}, {1: 1.0}]
    assert (
        rewards(load_iteration_log(tmp_path / "log"), tmp_path / "log", tmp_path) == {}
    )
