"""What contributors are given works: the commands, the hooks, the workflow and the forms."""

import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import conftest
import pytest
import yaml

import scoring
from scoring.cli.group import COMMANDS, OLD_NAMES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FORMS = sorted(
    p for p in (ROOT / ".github" / "ISSUE_TEMPLATE").iterdir() if p.name != "config.yml"
)


def load(path: str | Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((ROOT / path).read_text("utf-8"))
    return found


def test_the_default_run_is_described_by_its_numbers() -> None:
    described = " ".join(PAGE.split())
    markers = " ".join(PROJECT["tool"]["pytest"]["ini_options"]["markers"])
    assert f"tries {conftest.QUICK_EXAMPLES} examples in the default run" in described
    assert "marked `slow`: truly long ones" in described
    assert "slow: a truly long test" in markers
    assert (
        "marked `sampled(n)`: of many cases that each take long, it runs `n`"
        in described
    )
    assert "of the many cases of a long test, scripts/test runs n" in markers


def test_a_sample_is_spread_evenly_from_the_first_case_to_the_last() -> None:
    assert list(conftest.evenly_spread(9, 3)) == [0, 4, 8]
    assert list(conftest.evenly_spread(9, 1)) == [0]
    assert list(conftest.evenly_spread(2, 3)) == [0, 1]


def test_every_script_has_its_row() -> None:
    named = set(re.findall(r"^\| `bash (\S+)` \|", PAGE, re.M))
    scripts = {f"scripts/{path.name}" for path in (ROOT / "scripts").iterdir()} - {
        "scripts/setup"
    }
    assert named == scripts | {".ci/run"}


def test_the_hooks_fetch_nothing_and_make_the_checks_of_the_script() -> None:
    (local,) = load(".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    assert all(hook["language"] == "system" for hook in local["hooks"])
    checks = (ROOT / "scripts" / "check").read_text("utf-8")
    for hook in local["hooks"]:
        program = " ".join(
            word for word in hook["entry"].split() if not word.startswith("--")
        )
        assert program in checks


class TestWorkflow:
    def test_runs_what_the_build_server_runs_on_a_whole_history(self) -> None:
        steps = load(".github/workflows/ci.yml")["jobs"]["run"]["steps"]
        (checkout,) = (
            step
            for step in steps
            if step.get("uses", "").startswith("actions/checkout@")
        )
        assert checkout["with"]["fetch-depth"] == 0
        assert [step["run"] for step in steps if "run" in step] == ["bash .ci/run"]

    def test_covers_every_python_that_is_supported(self) -> None:
        versions = load(".github/workflows/ci.yml")["jobs"]["run"]["strategy"][
            "matrix"
        ]["python-version"]
        said = [
            c.rpartition(" ")[2]
            for c in PROJECT["project"]["classifiers"]
            if re.search(r":: 3\.\d+$", c)
        ]
        assert versions == said
        assert PROJECT["project"]["requires-python"] == f">={versions[0]}"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_is_one_that_github_takes(path: Path) -> None:
    form = load(path)
    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids)
    assert all(
        field["type"] in ("textarea", "input") and field["attributes"]["label"]
        for field in form["body"]
    )
    assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_the_source_package_has_the_folders_at_the_top_alone() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert all(
        name.startswith("/") and (ROOT / name[1:]).exists() for name in included
    )  # docs is tests/docs too


def test_what_changed_since_the_last_release_comes_first() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first, *released = re.findall(r"^## \[(.+?)\]", changes, re.M)
    assert (first, released[0]) == ("Unreleased", scoring.__version__)


class TestRelease:
    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        """Return a tree that is ready for the release of 1.2.3."""
        for name in ("scripts", "scoring"):
            (tmp_path / name).mkdir()
        shutil.copy(ROOT / "scripts" / "release", tmp_path / "scripts")
        (tmp_path / "scoring" / "__init__.py").write_text(
            '"""Scores."""\n\n__version__ = "1.2.3"\n'
        )
        (tmp_path / "CHANGELOG.md").write_text(
            "## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n"
        )
        git(tmp_path, "init", "-q")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", "all")
        return tmp_path

    def test_is_made_of_a_tree_that_is_ready(self, tree: Path) -> None:
        assert self.check(tree) == (0, "ready: 1.2.3\n")

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (lambda tree: (tree / "new").write_text(""), "not committed"),
            (
                lambda tree: git(tree, "tag", "v1.2.3"),
                "the tag v1.2.3 is there already",
            ),
            (
                lambda tree: replace(tree / "CHANGELOG.md", " - 2026-01-31", ""),
                "CHANGELOG.md: no heading",
            ),
            (
                lambda tree: replace(tree / "scoring/__init__.py", "1.2.3", "1.2"),
                "no line of the form",
            ),
        ],
        ids=[
            "a file that is not committed",
            "a tag",
            "a version without a day",
            "no version",
        ],
    )
    def test_is_refused(
        self, tree: Path, change: Callable[[Path], object], why: str
    ) -> None:
        change(tree)
        status, said = self.check(tree)
        assert (status, said.count("\n")) == (1, 1)
        assert why in said

    @pytest.mark.parametrize("option", ["--chek", "1.2.3"])
    def test_is_not_begun_by_a_word_that_is_mistyped(
        self, tree: Path, option: str
    ) -> None:
        assert self.check(tree, option) == (
            1,
            f"error: scripts/release takes --check or nothing, not: {option}\n",
        )

    @staticmethod
    def check(tree: Path, option: str = "--check") -> tuple[int, str]:
        found = subprocess.run(
            ["bash", "scripts/release", option],
            cwd=tree,
            capture_output=True,
            text=True,
        )
        return found.returncode, found.stdout + found.stderr

    def test_is_published_only_when_the_tag_is_the_version(self) -> None:
        jobs = load(".github/workflows/release.yml")["jobs"]
        steps = [step.get("run", "") for step in jobs["build"]["steps"]]
        assert any('test "$GITHUB_REF_NAME" = "v' in step for step in steps)
        assert jobs["publish"]["needs"] == "build"
        assert jobs["publish"]["permissions"] == {"id-token": "write"}


def git(tree: Path, *arguments: str) -> None:
    who = (
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.com",
        "-c",
        "commit.gpgsign=false",
    )
    subprocess.run(["git", *who, *arguments], cwd=tree, check=True)


def replace(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text().replace(old, new))
    git(
        path.parent if path.name == "CHANGELOG.md" else path.parent.parent,
        "commit",
        "-qam",
        "change",
    )


def test_the_hooks_for_logs_name_commands_that_there_are() -> None:
    hooks: Any = load(".pre-commit-hooks.yaml")
    assert [hook["id"] for hook in hooks] == ["da-score-lint", "da-score-check"]
    for hook in hooks:
        program, group, *command = hook["entry"].split()
        assert program == "da-score"
        assert group in COMMANDS
        assert set(command) <= set(OLD_NAMES if group == "log" else ())
        assert re.search(hook["files"], ".agents/active/iteration-log/iter-42.yaml")
        assert not re.search(hook["files"], "iter-42.score.yaml")
