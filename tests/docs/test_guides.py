"""The guides: what docs/CI.md and docs/TABLES.md tell users to type does what they say."""

import contextlib
import importlib
import io
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from helpers.commands import DaScore
from helpers.pages import code

from scoring.demo import Demo

DOCS = Path(__file__).parents[2] / "docs"
CI, TABLES = ((DOCS / name).read_text("utf-8") for name in ("CI.md", "TABLES.md"))
PLACEHOLDER = re.compile(r"\$\{\{.*?\}\}")


WORKFLOW: dict[Any, Any] = yaml.safe_load(code(CI, "yaml")[0])
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["check"]["steps"]


def options_of(command: str) -> set[str]:
    module = importlib.import_module(f"scoring.cli.{command.replace('-', '_')}")
    parameters: list[click.Parameter] = module.command.params
    return {option for parameter in parameters for option in parameter.opts}


def commands_of_the_workflow() -> list[list[str]]:
    """The command lines of da-score in the workflow, what GitHub fills in replaced by a branch."""
    runs = [PLACEHOLDER.sub("master", step["run"]) for step in STEPS if "run" in step]
    return [words[1:] for line in runs if (words := shlex.split(line))[0] == "da-score"]


class TestWorkflow:
    def test_is_one_that_github_reads(self) -> None:
        assert set(WORKFLOW) == {
            "name",
            True,
            "jobs",
        }  # YAML 1.1, which GitHub does not read, takes "on" for true
        assert all(("uses" in step) != ("run" in step) for step in STEPS)
        checkout, of_da_score = (
            step
            for step in STEPS
            if step.get("uses", "").startswith("actions/checkout@")
        )
        assert checkout["with"]["fetch-depth"] == 0
        assert of_da_score["with"]["path"] == ".da-score"

    def test_keeps_the_report_of_a_build_that_fails(self) -> None:
        gate = next(n for n, step in enumerate(STEPS) if step.get("name") == "Gate")
        assert all(step["if"] == "always()" for step in STEPS[gate + 1 :])

    def test_does_what_it_says(
        self,
        here: Demo,
        da_score: DaScore,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        da_score("run")
        git = [
            "git",
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-C",
            str(here.repo_dir),
        ]
        for step in (
            ["add", "-f", str(here.iter_log_dir)],
            ["commit", "-qm", "scores"],
            ["update-ref", "refs/remotes/origin/master", "HEAD"],
        ):
            subprocess.run([*git, *step], check=True)
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
        gate, report = commands_of_the_workflow()
        assert (gate[0], report[0]) == ("check", "report")
        found = da_score(*gate)
        assert (found.status, found.err) == (3, "")
        assert found.out.startswith("FAIL  iteration 5: no-over-claims: ")
        assert da_score(*report).status == 0
        (upload,) = (
            step
            for step in STEPS
            if step.get("uses", "").startswith("actions/upload-artifact@")
        )
        assert all(Path(name).is_file() for name in upload["with"]["path"].split())
        assert "## da-score check: failed" in (tmp_path / "summary").read_text()


class TestGates:
    @pytest.mark.usefixtures("here")
    def test_the_example_is_what_the_demo_prints(self, da_score: DaScore) -> None:
        command, *pasted = code(CI, "text")[0].splitlines()
        found = da_score(*shlex.split(command.removeprefix("$ da-score ")))
        assert found.status == 3
        said = found.out.splitlines()
        assert len(said) == len(pasted)
        for line, shown in zip(said, pasted, strict=True):
            assert re.fullmatch(re.escape(shown).replace("…", ".*"), line)

    def test_options_that_are_named_exist(self) -> None:
        prose = re.sub(r"^```.*?^```$", "", CI, flags=re.M | re.S)
        every = set().union(*map(options_of, ("check", "run", "report", "export")))
        assert set(re.findall(r"--[a-z][a-z-]+", prose)) <= every

    def test_every_gate_has_its_row(self) -> None:
        rows = set(re.findall(r"^\| `(--[a-z-]+)", CI, re.M))
        others = {
            "--baseline",
            "--last",
            "--since",
            "--task",
            "--recompute",
            "--junit",
            "--github-summary",
        }
        others |= {"--trusted", "--trust-checkpoints", "--allow-empty", "--base"}
        shared = options_of("explain")
        assert rows == options_of("check") - shared - others


class TestTables:
    @pytest.mark.sampled(5)
    @pytest.mark.parametrize("line", code(TABLES, "sh")[0].splitlines())
    def test_commands_run(self, line: str, here: Demo, da_score: DaScore) -> None:
        program, *words = shlex.split(
            line.partition(" > ")[0].replace("~/src", shlex.quote(str(here.root)))
        )
        assert program == "da-score"
        found = da_score(*words)
        assert (found.status, found.err) == (0, "")
        assert found.out.count("\n") > 1

    @pytest.mark.usefixtures("here")
    def test_the_snippet_runs(self) -> None:
        (snippet,) = code(TABLES, "python")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(snippet, {})
        assert re.search(r"^5 +0\.\d+ .* 0\.0 ", said.getvalue(), re.M)
