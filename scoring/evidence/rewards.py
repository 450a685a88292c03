"""What graded runs: those of ``da eval`` and jobs of Harbor (``docs/VALIDITY.md``, "Rewards").

A file that cannot be read grades nothing; a run that nothing graded has no reward, which is not 0.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scoring.evidence.harnesses.fields import member, text_in, value_in
from scoring.files import SIZE_LIMIT
from scoring.log.model import IterationRecord
from scoring.yamlread import Reader, read_fields

EVAL_RUN, TRIAL = "eval-run.yaml", "result.json"
EVAL_RUNS = Path(".agents/eval/runs")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class GradedRun(NamedTuple):
    """A run: its name, what it was about, who did it and when ("" where nothing says), and its reward, 0 to 1."""

    source: str
    task: str
    session: str
    harness: str
    model: str
    date: str
    reward: float | None


def reward_file_name(iteration: int) -> str:
    """Return the name of the file with the reward of an iteration: a copy, because jobs are thrown away."""
    return f"iter-{iteration}.reward.yaml"


def graded_runs(folder: Path) -> Iterator[GradedRun]:
    """Yield the runs below a folder, by their paths."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        if EVAL_RUN in names and (run := _eval_run(Path(place))):
            yield run
        if TRIAL in names and (run := _trial(Path(place))):
            yield run


def _eval_run(folder: Path) -> GradedRun | None:
    agent = dict.fromkeys(("session_id", "harness", "model"), Reader.string)
    verify = {"passed": Reader.boolean, "phase": Reader.string}
    fields = {"agent": lambda r, n: r.struct(n, agent), "verify": lambda r, n: r.struct(n, verify)}
    given = read_fields(
        folder / EVAL_RUN, fields | dict.fromkeys(("task_id", "finished_at"), Reader.string)
    )
    if given is None:
        return None
    who, graded = given.get("agent", {}), given.get("verify", {})
    passed = graded.get("passed")
    verified = passed or (passed is not None and graded.get("phase"))
    reward = float(passed) if verified else None
    day = _DAY.match(given.get("finished_at", ""))
    task = given.get("task_id") or (
        read_fields(folder / "taskspec.yaml", {"task_id": Reader.string}) or {}
    ).get("task_id", "")
    names = (who.get("session_id", ""), who.get("harness", ""), who.get("model", ""))
    return GradedRun(_name(folder), task, *names, day[0] if day else "", reward)


def _trial(folder: Path) -> GradedRun | None:
    given, trajectory = (
        value_in(folder / TRIAL, SIZE_LIMIT),
        value_in(folder / "agent/trajectory.json", SIZE_LIMIT),
    )
    if (
        not isinstance(given, dict)
        or not {"trial_name", "verifier_result", "task_name"} & given.keys()
    ):
        return None  # that of the whole job
    found = member(given, "verifier_result", "rewards")
    rewards: dict[str, Any] = found if isinstance(found, dict) else {}
    reward: Any = rewards.get("reward", next(iter(rewards.values())) if len(rewards) == 1 else None)
    reward = float(reward) if type(reward) in (int, float) and 0 <= reward <= 1 else None
    task = text_in(given, "task_name") or folder.name.rpartition("__")[0] or folder.name
    session = text_in(trajectory, "session_id") or text_in(given, "trial_name") or folder.name
    model = text_in(given, "agent_info", "model_info", "name") or text_in(
        trajectory, "agent", "model_name"
    )
    day = _DAY.match(text_in(given, "finished_at") or text_in(given, "started_at"))
    harness = text_in(given, "agent_info", "name") or text_in(trajectory, "agent", "name")
    return GradedRun(_name(folder), task, session, harness, model, day[0] if day else "", reward)


def source_of_reward(log_dir: Path, iteration: int) -> str | None:
    """Return the name of the run that an entry was derived from; None for any other entry."""
    return (
        read_fields(log_dir / reward_file_name(iteration), {"source": Reader.string}) or {}
    ).get("source")


def rewards(records: Sequence[IterationRecord], log_dir: Path, repo_dir: Path) -> dict[int, float]:
    """Return the reward of each iteration that has one: of the file beside it, else of the run that it is about."""
    found: dict[int, float] = {}
    runs = list(graded_runs(repo_dir / EVAL_RUNS)) if (repo_dir / EVAL_RUNS).is_dir() else []
    by_session = {
        run.session: run.reward
        for run in runs
        if sum(one.session == run.session for one in runs) == 1
    }
    own = _eval_run(log_dir.parent) if log_dir.name == "iteration-log" else None
    for record in records:
        beside = (
            read_fields(log_dir / reward_file_name(record.iteration), {"reward": Reader.number})
            or {}
        )
        reward = beside.get("reward")
        if reward is None:
            reward = own.reward if own else by_session.get(record.agent.session_id or "-")
        if reward is not None and 0 <= reward <= 1:
            found[record.iteration] = reward
    return found


def _name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"
