"""A made iteration log with its hook outcomes, plans, and verification artifacts."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random

from benchmarks.made.history import PACKAGES, Work, package
from benchmarks.made.prose import sentences
from benchmarks.made.times import day, stamp

_PLANS, _TASKS = 20, 15
_ACTIVE = Path(".agents/active")
LOG = _ACTIVE / "iteration-log"


def make_tasks(seed: int) -> dict[str, tuple[str, ...]]:
    """Return the write scope of every task, in the order of their plans."""
    rng = Random(f"{seed} tasks")
    return {
        f"plan{plan:02d}-task{task:02d}": tuple(
            sorted(package(n) for n in rng.sample(range(PACKAGES), 2))
        )
        for plan in range(_PLANS)
        for task in range(_TASKS)
    }


def write_plans(repo: Path, tasks: Mapping[str, tuple[str, ...]]) -> None:
    """Write every plan's ``TASKS.yaml``."""
    plans: dict[str, str] = {}
    for task, scope in tasks.items():
        plan = task.partition("-")[0]
        plans.setdefault(plan, "schema_version: 1\ntasks:\n")
        plans[plan] += (
            f"  - id: {task}\n    title: A task\n    status: done\n    write_scope:\n"
        )
        plans[plan] += "".join(f"      - {folder}\n" for folder in scope)
    for plan, text in plans.items():
        _write(repo / ".agents/workflow/plans" / plan / "TASKS.yaml", text)


def write_log(repo: Path, works: Iterable[Work], seed: int) -> Path:
    """Write the entries, their hook outcomes and artifacts, and return the log's directory.

    The first third is of schema 1. Every second entry of schema 2 names artifacts, every fourth
    entry has hook outcomes, every fifth tokens of its own.
    """
    works = list(works)
    log = repo / LOG
    for work in works:
        rng = Random(f"{seed} entry {work.iteration}")
        write = _flat if work.iteration <= len(works) // 3 else _nested
        _write(log / f"iter-{work.iteration}.yaml", write(repo, work, rng))
        if work.iteration % 4 == 2:
            _write(log / f"iter-{work.iteration}.hook-outcomes.yaml", _hooks(work, rng))
    return log


def _flat(_: Path, work: Work, rng: Random) -> str:
    """Return an entry of schema 1."""
    return f"""schema_version: 1
iteration: {work.iteration}
date: "{day(work.time)}"
wave: wave-{work.iteration // 20}
task_id: {work.task}
commit: {work.commit[: 40 if work.iteration % 2 else 12]}
files_changed: {rng.randint(1, 9)}
lines_added: {rng.randint(1, 900)}
lines_removed: {rng.randint(0, 300)}
first_commit: false
tests_added: {rng.randint(0, 12)}
tests_total_pass: {_flag(rng)}
retries: {rng.choice((0, 0, 0, 1, 3))}
scope_note: {rng.choice(("on-target", "partial", "on-target, with one helper more"))}
summary: {json.dumps(work.subject)}
self_assessment:
  read_loop_state: true
  one_item_only: {_flag(rng)}
  committed_after_tests: {_flag(rng)}
  persisted_via_workflow_commands: {json.dumps(rng.choice(("yes", "no, by hand", "")))}
  cli_produced_actionable_feedback: {json.dumps(sentences(rng, 3), ensure_ascii=False)}
  linked_traces_to_outcomes: {_flag(rng)}
"""


def _nested(repo: Path, work: Work, rng: Random) -> str:
    """Return an entry of schema 2; writes the artifacts that it names."""
    result = decision = ""
    if work.iteration % 2:
        folder = _ACTIVE / "verification" / str(work.iteration)
        result, decision = (
            str(folder / "unit.result.yaml"),
            str(folder / "review-decision.yaml"),
        )
        _write(
            repo / result,
            f"schema_version: 1\nstatus: {_status(rng)}\nsummary: {json.dumps(work.subject)}\n",
        )
        corrections = "[again]" if rng.random() < 0.2 else "[]"
        _write(
            repo / decision,
            f"post_invocation:\n  user_corrections: {corrections}\n  retries_in_loop: 0\n",
        )
    tokens = ""
    if work.iteration % 5 == 0:
        counts = f"{{input_tokens: {rng.randint(1, 9999)}, output_tokens: 900"
        counts += ", cache_read_tokens: 800000"
        cache = f"cache_creation_tokens: 90000, cache_hit_rate: 0.{rng.randint(50, 99)}"
        tokens = f"session_tokens: {counts}, {cache}}}\n"
    session, harness = (
        work.iteration // 6,
        ("claude-code", "codex")[work.iteration % 7 == 3],
    )
    return f"""schema_version: 2
iteration: {work.iteration}
date: "{day(work.time)}"
wave: wave-{work.iteration // 20}
task_id: {work.task}
commit: {work.commit}
files_changed: {rng.randint(1, 9)}
lines_added: {rng.randint(1, 900)}
lines_removed: {rng.randint(0, 300)}
first_commit: false
checkpoint_at: "{stamp(work.time)}"
agent: {{session_id: session-{session:04d}, harness: {harness}, model: some-model}}
{tokens}impl:
  summary: {json.dumps(work.subject)}
  scope_note: {rng.choice(("on-target", "partial", "scope-breach"))}
  feedback: {json.dumps(sentences(rng, 6), ensure_ascii=False)}
  retries: {rng.choice((0, 0, 0, 1, 2))}
  focused_tests_added: {rng.randint(0, 9)}
  focused_tests_pass: {_flag(rng)}
  tests_total_pass: {_flag(rng)}
  self_assessment:
    read_loop_state: true
    one_item_only: {_flag(rng)}
    committed_after_tests: {_flag(rng)}
    persisted_via_workflow_commands: {json.dumps(rng.choice(("yes", "no")))}
    stayed_under_10_files: true
verifiers:
  - type: unit
    status: {_status(rng)}
    gate_passed: true
    tests_added: {rng.randint(0, 9)}
    tests_added_by_kind: [{{name: test_one, kind: positive}}, {{name: test_two, kind: negative}}]
    linked_traces: [{{trace_ref: trace-{work.iteration}, outcome_ref: outcome-{work.iteration}}}]
    tests_total_pass: {_flag(rng)}
    retries: 0
    result_artifact: {json.dumps(result)}
    self_assessment: {{tdd_refresh_performed: {_flag(rng)}}}
  - type: review
    status: {_status(rng)}
    tests_total_pass: {_flag(rng)}
review:
  phase_1_decision: accept
  phase_2_decision: accept
  overall_decision: {rng.choice(("accept", "accept", "escalate", "reject"))}
  failed_gates: []
  decision_artifact: {json.dumps(decision)}
"""


_INTERVENTIONS = ("prevent_before_action", "remediate_at_stop", "continuity_advice")


def _hooks(work: Work, rng: Random) -> str:
    verdicts = rng.choice(
        (
            ("allow",),
            ("allow", "allow"),
            ("allow", "advise"),
            ("allow", "remediate", "allow"),
        )
    )
    return "schema_version: 1\nrecords:\n" + "".join(
        f"""  - sentinel_id: sentinel-{work.iteration}-{n}
    skill: iteration-close
    lifecycle_point: stop
    intervention_class: {rng.choice(_INTERVENTIONS)}
    result: {verdict}
    rule_id: close.rule-{n}
    platform: claude
    ts: "{stamp(work.time)}"
    correlation_id: {work.iteration}-{n}
"""
        for n, verdict in enumerate(verdicts)
    )


def _flag(rng: Random) -> str:
    return "true" if rng.random() < 0.85 else "false"


def _status(rng: Random) -> str:
    return rng.choice(("pass", "pass", "pass", "partial", "fail"))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
