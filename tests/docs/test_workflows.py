"""The gates of docs/CI.md, run as they are printed there over a good and over a bad log."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from helpers.checkpoints import BRANCH, about, record
from helpers.pages import code, section
from helpers.pull_requests import CHECKPOINT, FILES, LOG, propose, put, session
from helpers.repos import Repo

ROOT = Path(__file__).parents[2]
CI = (ROOT / "docs" / "CI.md").read_text("utf-8")
GONE = "e" * 40
Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def checkout(repo: Repo) -> Repo:
    """A pull request whose entry claims nothing, on a machine without transcripts."""
    name_commit(repo, propose(repo))
    return repo


@pytest.fixture
def run(checkout: Repo, tmp_path: Path) -> Run:
    """Runs commands in a shell as a build does, with ``da-score`` on the path."""

    def run_in_shell(commands: str) -> "subprocess.CompletedProcess[str]":
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_REPOSITORY": "owner/project",
        }
        return subprocess.run(
            ["bash", "-e", "-c", commands],
            cwd=checkout.path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run_in_shell


def name_commit(repo: Repo, sha: str) -> None:
    text = f"schema_version: 2\niteration: 1\ntask_id: t\ncommit: {sha}\n"
    put(repo, {f"{LOG}/iter-1.yaml": text})


def steps() -> list[str]:
    """The steps of the complete workflow that run da-score."""
    workflow = yaml.safe_load(code(CI, "yaml")[0])
    commands = [step.get("run", "") for step in workflow["jobs"]["check"]["steps"]]
    return [command for command in commands if command.startswith("da-score ")]


def check_of_the_action() -> str:
    """The check that the action makes of the gates that the page gives it."""
    text = " ".join(section(CI, "A complete workflow").split())
    gates = re.search(r"`gates: ([^`]+)`", text)
    assert gates
    return f"da-score check --trusted --github-summary {gates[1]}"


def checks_of_the_hook() -> list[str]:
    """The checks before a commit, without arguments and with those on the page."""
    text = " ".join(section(CI, "Before a commit").split())
    arguments = re.search(r"`args: \[([^`]+)\]`", text)
    assert arguments
    return ["da-score check", f"da-score check {arguments[1].replace(',', '')}"]


GATES = [steps()[0], check_of_the_action(), *checks_of_the_hook()]
NEW = "--rubric 3.1.0"


@pytest.mark.parametrize("command", GATES)
def test_a_good_log_without_claims_and_transcripts_holds(
    run: Run, command: str
) -> None:
    found = run(command)
    assert (found.returncode, found.stderr) == (0, "")


def test_a_repository_without_work_of_agents_passes(run: Run, checkout: Repo) -> None:
    """``init`` makes no log there, and the workflow holds before the first entry."""
    shutil.rmtree(checkout.path / ".agents")
    checkout.git("checkout", "-q", "--orphan", "fresh")
    checkout.commit({"README": "x\n"})
    assert run("da-score init --yes").returncode == 0
    for step in steps():
        found = run(step)
        assert found.returncode == 0, found


@pytest.mark.parametrize("command", GATES[:3])
def test_a_log_of_a_commit_that_is_not_there_does_not_hold(
    run: Run, checkout: Repo, command: str
) -> None:
    name_commit(checkout, GONE)
    found = run(command)
    assert (
        found.returncode,
        f"commit {GONE} is not in this repository" in found.stdout,
    ) == (
        3,
        True,
    )


def test_a_claim_that_is_untrue_does_not_hold(run: Run, checkout: Repo) -> None:
    """What was reverted is claimed to have landed."""
    path = checkout.path / LOG / "iter-1.yaml"
    claim = "impl: {self_assessment: {persisted_via_workflow_commands: 'yes'}}\n"
    path.write_text(path.read_text() + claim)
    checkout.revert("HEAD")
    for command in GATES:
        found = run(f"{command} {NEW}")
        assert found.returncode == 3, found


def test_the_report_is_made_after_either(run: Run, checkout: Repo) -> None:
    report = steps()[1]
    assert run(report).returncode == 0
    name_commit(checkout, GONE)
    assert run(report).returncode == 0


def run_the_action(
    folder: Path, tmp_path: Path, gates: str, base: str
) -> "subprocess.CompletedProcess[str]":
    """Run the check of the action with a da-score that prints its arguments and exits with 3."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    program = tmp_path / "da-score/bin/da-score"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "<%s>" "$@"\nexit 3\n')
    program.chmod(0o755)
    values = {
        "RUNNER_TEMP": str(tmp_path),
        "GATES": gates,
        "LOG": "log",
        "BASE": base,
    }
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", action["runs"]["steps"][-1]["run"]],
        cwd=folder,
        env={**os.environ, **values},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_action_passes_gates_of_all_lines_on(tmp_path: Path) -> None:
    gates = "--rubric 3.1.0\n--min-score 0.6\n  --no-over-claims\n"
    found = run_the_action(tmp_path, tmp_path, gates, "no-such")
    assert found.returncode == 3
    assert "<log><--rubric><3.1.0><--min-score><0.6><--no-over-claims>" in found.stdout


@pytest.mark.parametrize(
    ("link", "may_be_empty"),
    [
        pytest.param("", True, id="the change leaves the log as it was"),
        pytest.param("log", False, id="the change empties the folder it leads to"),
        pytest.param("log/iter-1.yaml", False, id="the change removes a file it links"),
    ],
)
def test_the_action_lets_a_log_be_empty_only_where_the_change_leaves_it(
    repo: Repo, tmp_path: Path, link: str, may_be_empty: bool
) -> None:
    entry = "entries/iter-1.yaml" if link else "log/iter-1.yaml"
    put(repo, {entry: "iteration: 1\n", "entries/x": ""})
    if link == "log":
        (repo.path / link).symlink_to("entries")
    elif link:
        (repo.path / "log").mkdir()
        (repo.path / link).symlink_to("../entries/iter-1.yaml")
    base = repo.commit({"README": "x\n"})
    repo.commit({"entries/iter-1.yaml": None} if link else {"README": "y\n"})

    found = run_the_action(repo.path, tmp_path, "--no-over-claims", base)
    assert ("<--allow-empty>" in found.stdout) == may_be_empty


@pytest.mark.parametrize(
    ("wrote", "status"), [(FILES, 0), ({"src/a.py": "nothing\n"}, 3)]
)
def test_checkpoints_of_the_base_repository_count(
    run: Run, checkout: Repo, tmp_path: Path, wrote: dict[str, str], status: int
) -> None:
    files = {
        "metadata.json": {"files_touched": [*FILES]},
        "0/metadata.json": about("s"),
    }
    record(
        checkout,
        {
            CHECKPOINT: {
                **files,
                "0/full.jsonl": session(checkout, files=wrote).encode(),
            }
        },
    )
    checkout.git("clone", "-q", "--bare", ".", str(tmp_path / "owner/project"))
    checkout.git("update-ref", "-d", BRANCH)
    checkout.git("config", f"url.{tmp_path}/.insteadOf", "https://github.com/")

    (commands,) = [block for block in code(CI, "sh") if "--trust-checkpoints" in block]
    found = run(commands)
    assert found.returncode == status, found


def test_every_check_on_the_page_is_run_here() -> None:
    """A command that is added to the page is added here."""
    shown = [
        line
        for block in code(CI, "sh") + code(CI, "yaml")
        for line in block.splitlines()
    ]
    commands = [
        line for line in shown if re.search(r"\bda-score (?:check|report|run)\b", line)
    ]
    assert len(commands) == 3
    assert {shlex.split(step)[1] for step in steps()} == {"check", "report"}
