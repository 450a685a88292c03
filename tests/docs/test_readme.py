"""The README says what is so: its screen, its example, its commands, settings, weights and links are tried here."""

import importlib
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import click
import pytest
from helpers.commands import lines_of, process_on_a_terminal

from rubric import RUBRIC_VERSION, default_rubric, released_rubric, rubric_versions
from scoring import score_log, session_score_path
from scoring.cli.app import COMMANDS, PROGRAM
from scoring.log.settings import ENVIRONMENT_PREFIX, SETTINGS_FILE, Settings, resolve_settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")

WIDTH = 120
"""The width of the terminal on which the README's screen was taken."""


def section(title: str) -> str:
    """Return the text under a heading, up to the next one of its level or above."""
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^#{{1,2}} |\Z)", README, re.M | re.S)
    assert found, f"the README has no section {title!r}"
    return found[2]


def code(language: str, text: str = README) -> list[str]:
    """Return the code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def table(text: str) -> list[list[str]]:
    """Return the rows of the one table in a text, without its head."""
    _, _, *lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def quoted(text: str) -> list[str]:
    """Return what stands in back quotes."""
    return re.findall(r"`([^`]+)`", text)


# The two commands


def test_the_scripts_of_the_two_commands_are_there() -> None:
    commands = re.findall(r"^bash (\S+)", "".join(code("sh", section("Try it"))), re.M)
    assert commands == [".ci/demo", ".ci/test"]
    for name in (*commands, ".ci/setup", ".ci/run", ".ci/browser", ".ci/lint", ".ci/types"):
        text = (ROOT / name).read_text("utf-8")
        assert text.startswith("#!/usr/bin/env bash\n")
        assert "\nset -euo pipefail\n" in text
        subprocess.run(["bash", "-n", str(ROOT / name)], check=True)


def test_the_scripts_run_what_they_say() -> None:
    assert f'{PROGRAM}" demo' in (ROOT / ".ci/demo").read_text("utf-8")
    assert "-m pytest" in (ROOT / ".ci/test").read_text("utf-8")
    assert re.search(
        r"^if bash \.ci/browser; then\n    export NEED_BROWSER=1 ", (ROOT / ".ci/run").read_text("utf-8"), re.M
    )
    assert "browser" not in "".join((ROOT / ".ci" / name).read_text("utf-8") for name in ("test", "setup", "demo"))


@pytest.mark.parametrize(
    ("programs", "status"),
    [
        pytest.param({}, 1, id="nothing to install with"),
        pytest.param({"chromium": "exit 0"}, 0, id="a browser"),
        pytest.param({"chromium": "exit 1"}, 1, id="a browser that does not run"),
    ],
)
def test_the_script_of_the_browser_says_whether_there_is_one(
    tmp_path: Path, programs: dict[str, str], status: int
) -> None:
    for name, does in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    bash = shutil.which("bash") or "bash"
    done = subprocess.run(
        [bash, str(ROOT / ".ci/browser")], env={"PATH": str(tmp_path)}, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


# The screen


def test_the_screen_is_what_the_demo_shows(tmp_path: Path) -> None:
    pasted = re.findall(r"<!-- demo -->\n```text\n(.*?)^```$", README, re.M | re.S)
    assert len(pasted) == 3
    status, shown = process_on_a_terminal("demo", "demo", columns=WIDTH, cwd=tmp_path)
    assert (status, "\n".join(pasted).splitlines()) == (0, lines_of(shown))


def test_what_is_said_of_iterations_of_the_demo_is_on_the_screen() -> None:
    screen = "".join(code("text"))
    assert re.search(r"^ +2 .* 0\.500 .* 2 of 7 signals, 26 % of the weight", screen, re.M)
    assert re.search(r"^ +4 .* 0\.680 .* 7 of 7 signals, 100 % of the weight", screen, re.M)


# Tables


def test_every_command_has_its_row_and_no_other() -> None:
    named = [quoted(row[0])[0].split()[1] for row in table(section("Commands"))]
    assert named == list(COMMANDS)


def test_every_command_that_is_mentioned_exists() -> None:
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.M | re.S)
    written = [*quoted(prose), *(re.sub("#.*", "", block) for block in code("sh"))]
    mentioned = set(re.findall(rf"\b{PROGRAM} ([a-z][a-z-]*)", "\n".join(written)))
    assert "run" in mentioned
    assert mentioned <= set(COMMANDS)


@pytest.mark.parametrize("row", table(section("Commands")), ids=lambda row: quoted(row[0])[0])
def test_the_options_of_a_row_are_options_of_the_command(row: list[str]) -> None:
    command = quoted(row[0])[0].split()[1]
    parameters: list[click.Parameter] = importlib.import_module(COMMANDS[command]).command.params
    known = {option for parameter in parameters for option in parameter.opts}
    assert set(re.findall(r"`(--[a-z-]+)`", row[1])) <= known


def test_every_setting_has_its_row() -> None:
    rows = table(section("Settings"))
    attributes = [quoted(key)[0].replace("-", "_").replace("transcript_dir", "transcript_dirs") for key, *_ in rows]
    assert attributes == [field.name for field in fields(Settings)]
    for key, variable, *_ in rows:
        assert quoted(variable)[0] == ENVIRONMENT_PREFIX + quoted(key)[0].upper().replace("-", "_")


def test_the_example_of_a_settings_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = code("toml")
    (tmp_path / SETTINGS_FILE).parent.mkdir()
    (tmp_path / SETTINGS_FILE).write_text(example, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    settings = resolve_settings({})
    assert [str(path) for path in settings.transcript_dirs] == [
        "/home/me/.claude/projects/-home-me-src-app",
        "/home/me/.codex/sessions/2026/03/05",
    ]
    assert settings.rubric == RUBRIC_VERSION


def test_every_signal_has_its_row_with_its_weight() -> None:
    listed = {quoted(signal)[0]: weight for signal, weight, _ in table(section("Where each number comes from"))}
    assert listed == {spec.id: f"{spec.weight:.2f}" for spec in default_rubric().signals}


def test_every_rubric_has_its_row() -> None:
    listed = {
        version: (int(signals), "default" in note) for version, signals, note in table(section("Rubric versions"))
    }
    assert listed == {v: (len(released_rubric(v).signals), v == RUBRIC_VERSION) for v in rubric_versions()}


def test_the_bands_are_those_of_the_rubric() -> None:
    *named, (lowest, _) = [(band.name, band.min) for band in default_rubric().bands]
    sentence = ", ".join(f"{name} from {start:.2f}" for name, start in named) + f", and {lowest} below"
    assert sentence in README


# The library


def test_the_example_works(tmp_path: Path) -> None:
    (example,) = code("python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert answer.stderr == ""
    *iterations, lowest = answer.stdout.splitlines()
    log_dir = tmp_path / "demo" / "repo" / Settings().iter_log_dir
    transcripts = sorted((tmp_path / "demo" / "transcripts").iterdir())
    log = score_log(log_dir, tmp_path / "demo" / "repo", *transcripts)
    assert [line.split()[:3] for line in iterations] == [
        [str(i.score.iteration), f"{i.score.value:.3f}", i.score.band] for i in log.iterations
    ]
    assert "'scope': 0.065" in lowest
    assert all(session_score_path(log_dir, session.session_id).is_file() for session in log.sessions)


# Links


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CHANGELOG.md",
        "docs/CI.md",
        "docs/DELIBERATION.md",
        "docs/DEPENDENCIES.md",
        "docs/DIMINISHING_RETURNS.md",
        "docs/PARITY.md",
        "docs/TABLES.md",
    ],
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not link.startswith("https://")]
    for link in links:
        path, _, anchor = link.partition("#")
        target = ROOT / page if not path else (ROOT / page).parent / path
        assert target.is_file(), link
        headings = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.M)
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}, link


def test_every_page_is_linked() -> None:
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    assert pages <= set(re.findall(r"\]\(([^)\s#]+)", README))


def test_every_dependency_has_its_line() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    page = (ROOT / "docs" / "DEPENDENCIES.md").read_text("utf-8")
    declared = re.findall(r'^    "([a-z.-]+)>=', project, re.M)
    assert declared
    assert [name for name in declared if not re.search(rf"^\| {re.escape(name)} \|", page, re.M)] == []
