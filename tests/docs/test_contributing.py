"""What contributors are given works: the commands, the hooks, the workflow and the forms."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
FORMS = sorted(p for p in (ROOT / ".github" / "ISSUE_TEMPLATE").iterdir() if p.name != "config.yml")


def load(path: str | Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((ROOT / path).read_text("utf-8"))
    return found


def test_every_script_has_its_row() -> None:
    named = set(re.findall(r"^\| `bash (\S+)` \|", PAGE, re.M))
    scripts = {f"scripts/{path.name}" for path in (ROOT / "scripts").iterdir()} - {"scripts/setup"}
    assert named == scripts | {".ci/run"}


def test_every_folder_of_tests_that_is_named_exists() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", PAGE)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_hooks_fetch_nothing_and_make_the_checks_of_the_script() -> None:
    (local,) = load(".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    assert all(hook["language"] == "system" for hook in local["hooks"])
    checks = (ROOT / "scripts" / "check").read_text("utf-8")
    for hook in local["hooks"]:
        program = " ".join(word for word in hook["entry"].split() if not word.startswith("--"))
        assert program in checks


class TestWorkflow:
    def test_runs_what_the_build_server_runs_on_a_whole_history(self) -> None:
        steps = load(".github/workflows/ci.yml")["jobs"]["run"]["steps"]
        (checkout,) = (step for step in steps if step.get("uses", "").startswith("actions/checkout@"))
        assert checkout["with"]["fetch-depth"] == 0
        assert [step["run"] for step in steps if "run" in step] == ["bash .ci/run"]

    def test_covers_every_python_that_is_supported(self) -> None:
        versions = load(".github/workflows/ci.yml")["jobs"]["run"]["strategy"]["matrix"]["python-version"]
        said = [c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)]
        assert versions == said
        assert PROJECT["project"]["requires-python"] == f">={versions[0]}"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_is_one_that_github_takes(path: Path) -> None:
    form = load(path)
    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"]]
    assert len(set(ids)) == len(ids)
    assert all(field["type"] in ("textarea", "input") and field["attributes"]["label"] for field in form["body"])
    assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_what_changed_since_the_last_release_comes_first() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first, *released = re.findall(r"^## \[(.+?)\]", changes, re.M)
    assert (first, released[0]) == ("Unreleased", PROJECT["project"]["version"])
