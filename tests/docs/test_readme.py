"""README and guide are true: screen, example, commands, settings, weights and links."""

import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from helpers.commands import lines_of, process_on_a_terminal
from helpers.pages import anchors, code, quoted, section, table
from msgspec.structs import fields

from rubric import RUBRIC_VERSION
from scoring import score_log, session_score_path
from scoring.cli.group import COMMANDS, OLD_NAMES, PROGRAM, module_of
from scoring.errors import installing
from scoring.log.selection import parse_period, period_between, today_here
from scoring.log.settings import (
    ENVIRONMENT_PREFIX,
    SETTINGS_FILE,
    Settings,
    resolve_settings,
)

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
GUIDE = (ROOT / "docs" / "GUIDE.md").read_text("utf-8")
INDEX = (ROOT / "docs" / "README.md").read_text("utf-8")

WIDTH = 120
"""The width of the terminal on which the README's screen was taken."""


def test_the_example_adds_up_and_is_that_of_the_picture() -> None:
    """It is of a whole clone, so not nearly all of it landed."""
    (line,) = re.findall(r"^Of \d+ units of work .*", README, re.M)
    total, *states = map(int, re.findall(r"\d+", line))
    landed, reverted, taken_back, *_ = states
    assert total == sum(states)
    assert landed < 0.8 * total
    to_nothing = reverted + taken_back + states[4]
    assert f"\n{to_nothing} units were lost, reverted or taken back: " in README
    for page in (README, GUIDE):
        assert f": {landed} of {total} units" in page


def test_the_month_that_is_compared_is_that_month_alone() -> None:
    """``--since`` with a month goes on after it."""
    ((since, until, other),) = re.findall(
        r"`da-score work --since (\S+) --until (\S+) --against (\S+)` puts", README
    )
    chosen = period_between(since, until, today_here())
    assert chosen == parse_period(since, today_here())
    assert parse_period(other, today_here()).last < chosen.first


# The two commands


SCRIPTS = sorted([*(ROOT / "scripts").iterdir(), *(ROOT / ".ci").iterdir()])


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_script_stops_at_the_first_fault_and_is_well_formed(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("#!/usr/bin/env bash\n# ")
    assert "\nset -euo pipefail\n" in text
    assert os.access(path, os.X_OK)
    subprocess.run(["bash", "-n", str(path)], check=True)


SAYS_ITS_ARGUMENTS = "#!/usr/bin/env bash\nprintf '%s|' \"$@\"\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The scripts, in a checkout without set-up, with programs that print their arguments."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "scripts" / "setup").write_text("")
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "ruff"):
        (programs / name).write_text(SAYS_ITS_ARGUMENTS)
        (programs / name).chmod(0o755)
    return tmp_path


def script(
    checkout: Path, name: str, *arguments: str, **variables: str
) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": os.environ["PATH"], **variables}
    command = ["bash", str(checkout / "scripts" / name), *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "variables", "passed_on"),
    [
        pytest.param([], {}, "-m|not slow|", id="by itself it leaves slow tests out"),
        pytest.param(
            ["tests/docs", "-x"],
            {},
            "-m|not slow|tests/docs|-x|",
            id="arguments go to pytest",
        ),
        pytest.param(
            ["-m", ""],
            {},
            "-m|not slow|-m||",
            id="another -m wins, because it is the last",
        ),
        pytest.param(
            ["tests/a.py::b"], {}, "tests/a.py::b|", id="a test that is named is run"
        ),
        pytest.param(
            [], {"DA_SCORE_SLOW_TESTS": "1"}, "", id="all of them when asked for"
        ),
        pytest.param(
            [], {"DA_SCORE_SLOW_TESTS": "0"}, "-m|not slow|", id="not when not"
        ),
    ],
)
def test_the_script_of_the_tests(
    checkout: Path, arguments: list[str], variables: dict[str, str], passed_on: str
) -> None:
    done = script(checkout, "test", *arguments, **variables)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"-m|pytest|-n|2|--dist|worksteal|{passed_on}",
        "",
    )


@pytest.mark.parametrize(
    ("arguments", "failing", "status", "out", "err"),
    [
        pytest.param([], "", 0, "lint format types", "", id="all of them"),
        pytest.param(["types"], "", 0, "types", "", id="those that are named"),
        pytest.param(
            [],
            "ruff",
            1,
            "lint format types",
            "FAILED: lint format\n",
            id="all, after some that fail",
        ),
        pytest.param(
            ["spelling"],
            "",
            2,
            "spelling",
            "error: no check is called spelling",
            id="one that is none",
        ),
    ],
)
def test_the_script_of_the_checks(
    checkout: Path, arguments: list[str], failing: str, status: int, out: str, err: str
) -> None:
    if failing:
        (checkout / ".venv" / "bin" / failing).write_text(
            "#!/usr/bin/env bash\nexit 1\n"
        )
    done = script(checkout, "check", *arguments)
    assert (done.returncode, " ".join(re.findall(r"== (\w+)$", done.stdout, re.M))) == (
        status,
        out,
    )
    assert done.stderr.startswith(err)
    assert bool(done.stderr) is bool(err)


@pytest.mark.parametrize("failing", [[], ["test"], ["check", "build"]], ids=" ".join)
def test_the_build_server_runs_everything_and_fails_when_anything_does(
    checkout: Path, failing: list[str]
) -> None:
    shutil.copytree(ROOT / ".ci", checkout / ".ci")
    for name in ("browser", "servers"):
        (checkout / ".ci" / name).write_text("exit 0\n")
    for name in ("test", "check", "build"):
        (checkout / "scripts" / name).write_text(
            f"echo ran {name} $NEED_BROWSER\nexit {int(name in failing)}\n"
        )
    done = subprocess.run(
        ["bash", str(checkout / ".ci" / "run")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == bool(failing)
    assert done.stderr == (f"FAILED: {' '.join(failing)}\n" if failing else "")
    assert re.findall(r"^ran (.*)$", done.stdout, re.M) == [
        "test 1",
        "check 1",
        "build 1",
    ]


# The screen


def test_the_screen_is_what_the_demo_shows(tmp_path: Path) -> None:
    pasted = re.findall(r"<!-- demo -->\n```text\n(.*?)^```$", GUIDE, re.M | re.S)
    assert len(pasted) == 5
    status, shown = process_on_a_terminal("demo", "demo", columns=WIDTH, cwd=tmp_path)
    pattern = re.escape("".join(pasted)).replace(
        "…\\\n", "(?s:.*)"
    )  # lines are left out where there is a "…"
    assert status == 0
    # What takes more than a second is announced, which depends on the machine.
    lines = [line for line in lines_of(shown) if not line.endswith(" …")]
    assert re.fullmatch(pattern, "".join(f"{line}\n" for line in lines))
    screen = "".join(code(GUIDE, "text"))
    assert re.search(r"^ +2 .* 0\.500 .* 2/7 · 26 %", screen, re.M)
    assert re.search(r"^ +4 .* 0\.680 .* 7/7 · 100 %", screen, re.M)


# Tables


def command_of(row: list[str]) -> str:
    """Return the command that a row of the guide's table is about, such as "log lint"."""
    _, name, *more = quoted(row[0])[0].split()
    if name == "log" and more and more[0] in OLD_NAMES:
        return f"{name} {more[0]}"
    return name


def test_every_command_has_its_row_and_what_is_mentioned_exists() -> None:
    names = []
    for command in COMMANDS:
        names.append(command)
        if command == "log":
            names += [f"log {name}" for name in OLD_NAMES]
    assert [command_of(row) for row in table(section(GUIDE, "Commands"))] == names
    prose = re.sub(r"^```.*?^```$", "", README + GUIDE, flags=re.M | re.S)
    written = [
        *quoted(prose),
        *(re.sub("#.*", "", block) for block in code(README, "sh")),
    ]
    mentioned = set(re.findall(rf"\b{PROGRAM} ([a-z][a-z-]*)", "\n".join(written)))
    assert "run" in mentioned
    assert mentioned <= set(COMMANDS)


@pytest.mark.parametrize(
    "row", table(section(GUIDE, "Commands")), ids=lambda row: quoted(row[0])[0]
)
def test_the_options_of_a_row_are_options_of_the_command(row: list[str]) -> None:
    name, *within = command_of(row).split()
    command: click.Command = importlib.import_module(module_of(name)).command
    for each in within:
        assert isinstance(command, click.Group)
        command = command.commands[each]
    parameters = command.params
    known = {option for parameter in parameters for option in parameter.opts}
    assert set(re.findall(r"`(--[a-z-]+)`", row[1])) <= known


def test_every_setting_has_its_row() -> None:
    rows = table(section(GUIDE, "Settings"))
    attributes = [
        quoted(key)[0].replace("-", "_").replace("transcript_dir", "transcript_dirs")
        for key, *_ in rows
    ]
    assert attributes == [field.name for field in fields(Settings)]
    for key, variable, *_ in rows:
        assert quoted(variable)[0] == ENVIRONMENT_PREFIX + quoted(key)[
            0
        ].upper().replace("-", "_")


def test_the_example_of_a_settings_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = code(GUIDE, "toml")
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


# The library


def test_the_example_works(tmp_path: Path) -> None:
    (example,) = code(GUIDE, "python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 14
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stderr == ""
    *iterations, lowest = answer.stdout.splitlines()
    log_dir = tmp_path / "demo" / "repo" / Settings().iter_log_dir
    transcripts = sorted((tmp_path / "demo" / "transcripts").iterdir())
    log = score_log(log_dir, tmp_path / "demo" / "repo", *transcripts)
    assert [line.split()[:3] for line in iterations] == [
        [str(i.score.iteration), f"{i.score.value:.3f}", i.score.band]
        for i in log.iterations
    ]
    assert "'scope': 0.065" in lowest
    assert all(
        session_score_path(log_dir, session.session_id).is_file()
        for session in log.sessions
    )


# Links


PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    links = [
        link
        for link in re.findall(r"\]\(([^)\s]+)\)", text)
        if not link.startswith("https://")
    ]
    for link in links:
        path, _, anchor = link.partition("#")
        target = ROOT / page if not path else (ROOT / page).parent / path
        assert target.is_file(), link
        assert (
            target.suffix != ".md"
            or not anchor
            or anchor in anchors(target.read_text("utf-8"))
        ), link


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in ("CHANGELOG.md", "docs/ARCHITECTURE.md")],
)
def test_a_file_of_this_repository_that_a_page_names_exists(page: str) -> None:
    named = re.findall(
        r"`((?:scoring|rubric|tests|testdata|benchmarks)/[\w/.*-]+)",
        (ROOT / page).read_text("utf-8"),
    )
    assert [name for name in sorted(set(named)) if not list(ROOT.glob(name))] == []


def test_every_page_is_in_the_index() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages <= set(re.findall(r"\]\(([^)\s#]+)", INDEX))
    assert "](docs/README.md)" in README


# The first screen


def test_the_first_screen_has_a_picture_and_the_two_commands() -> None:
    first = README.partition("\n## What it says")[0]
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", first)
    assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")
    assert code(first, "sh") == code(section(README, "Try it"), "sh")
    assert len(first.splitlines()) <= 25


def test_the_commands_of_the_installation() -> None:
    first, without_pipx = code(section(README, "Install"), "sh")
    assert [line.split("#")[0].split() for line in first.splitlines()] == [
        ["pipx", "install", "'.[report]'"],
        ["cd", "~/your-repository"],
        [PROGRAM, "init"],
        [PROGRAM, "work"],
    ]
    assert [line.split("#")[0].split() for line in without_pipx.splitlines()] == [
        ["python3", "-m", "venv", "~/.da-score"],
        ["~/.da-score/bin/pip", "install", "'.[report]'"],
        ["export", 'PATH="$PATH:$HOME/.da-score/bin"'],
    ]
    assert "`uvx --from ~/checkout da-score init --no-hook`" in README


def test_every_dependency_has_its_line_and_every_extra_of_a_user_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    page = (ROOT / "docs" / "DEPENDENCIES.md").read_text("utf-8")
    extras = project["optional-dependencies"]
    declared = [
        *project["dependencies"],
        *(line for extra in extras.values() for line in extra),
    ]
    names = [
        line.partition(">=")[0] for line in declared if re.match(r"[a-z.-]+>=", line)
    ]
    assert [
        name
        for name in names
        if not re.search(rf"^\| ([^|]+, )?{re.escape(name)}(,[^|]+)? \|", page, re.M)
    ] == []
    section_of_extras = section(README, "Install")
    of_users = extras.keys() - {"dev", "bench", "servers"}
    assert [extra for extra in of_users if f"`{extra}`" not in section_of_extras] == []


def test_an_install_hint_takes_nothing_from_an_index_and_keeps_what_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The name is free there: who asked for it would get what another person puts under it."""
    sources = [
        path
        for folder in ("scoring", "docs")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix != ".pyc"
    ]
    texts = {
        path: path.read_bytes() for path in sources if path.suffix in (".py", ".md")
    }
    found = [
        path.relative_to(ROOT).as_posix()
        for path, text in texts.items()
        if b"'da-score[" in text
    ]
    assert found == []
    monkeypatch.setattr("importlib.util.find_spec", {"jinja2": True}.get)
    assert installing("query").startswith(
        "in a clone of da-score run pipx install --force '.[query,report]', or "
    )
