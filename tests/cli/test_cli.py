"""The command line as its users meet it: what it prints where, what it writes, and how it ends."""

import contextlib
import errno
import fcntl
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from helpers.commands import DaScore, Outcome, process

import scoring.cli
import scoring.cli.records
import scoring.cli.run
from scoring.cli import main
from scoring.cli.app import COMMANDS, cli
from scoring.demo import Demo, build_demo
from scoring.errors import DaScoreError, GitError, InputError, WriteError
from scoring.text import spans

CODEX_SESSION = "019cbd3b-b01a-7970-85d9-5954058b4714"
CLAUDE_SESSION = "5c0e1b7a-93d4-4f0e-8a6b-2d71c94be310"
LOG = ".agents/active/iteration-log"


@contextlib.contextmanager
def terminal(columns: int = 160) -> Iterator[tuple[int, list[bytes]]]:
    """A terminal to write to, and what stands there once it is closed."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    shown: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # how Linux says that the other end was closed
            while data := os.read(parent, 65536):
                shown.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield child, shown
    finally:
        os.close(child)
        reader.join()
        os.close(parent)


def lines_of(shown: list[bytes]) -> list[str]:
    """Return the lines of a terminal without their colours."""
    return [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", b"".join(shown).decode()).splitlines()]


def process_on_a_terminal(*arguments: str | Path, columns: int = 160, **variables: str) -> tuple[int, list[bytes]]:
    """Run a command line in a process of its own, on a terminal, and return its status and what stands there."""
    with terminal(columns) as (child, shown):
        command = [sys.executable, "-m", "scoring", *map(str, arguments)]
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        environment = kept | {"TERM": "xterm", **variables}
        done = subprocess.run(command, stdin=child, stdout=child, stderr=child, env=environment, check=False)
    return done.returncode, shown


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, list[bytes]]]:
    """Run a command line in this process with standard output on a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(*arguments: str | Path, columns: int = 160) -> tuple[int, list[bytes]]:
        monkeypatch.setenv("COLUMNS", str(columns))
        with (
            terminal(columns) as (child, shown),
            open(child, "w", encoding="utf-8", closefd=False) as screen,
            contextlib.redirect_stdout(screen),
        ):
            status = main([str(argument) for argument in arguments])
        return status, shown

    return run


OnTerminal = Callable[..., tuple[int, list[bytes]]]


def tree(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a directory: mode, time of change and content."""
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in root.rglob("*")
    }


def changed(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return build_demo(tmp_path_factory.mktemp("cli") / "demo")


@pytest.fixture
def project(template: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo, with the current directory in its repository and nothing scored."""
    shutil.copytree(template.root, tmp_path / "demo")
    return enter(tmp_path / "demo", monkeypatch)


@pytest.fixture(scope="module")
def scored_template(template: Demo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = shutil.copytree(template.root, tmp_path_factory.mktemp("scored") / "demo")
    transcripts = [f"--transcript-dir={root}/transcripts/{name}" for name in ("claude", "codex")]
    command = ["run", "--json", "--iter-log-dir", f"{root}/repo/{LOG}", "--repo-dir", f"{root}/repo", *transcripts]
    with contextlib.redirect_stdout(None):
        assert main(command) == 0
    return root


@pytest.fixture
def scored(scored_template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The scored demo, for tests that only look at it."""
    return enter(scored_template, monkeypatch)


def enter(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(root / "repo")
    monkeypatch.setenv("DA_SCORE_TRANSCRIPT_DIR", "../transcripts/claude:../transcripts/codex")
    return root / "repo"


def every_command() -> Iterator[tuple[str, ...]]:
    for name in COMMANDS:
        yield (name,)
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            yield from ((name, inner) for inner in command.commands)


# What is printed


class TestHelp:
    @pytest.mark.parametrize("path", [(), *every_command()], ids=lambda path: " ".join(path) or "da-score")
    @pytest.mark.parametrize("option", ["--help", "-h"])
    def test_of_every_command_documents_its_options_and_gives_an_example(
        self, da_score: DaScore, path: tuple[str, ...], option: str
    ) -> None:
        found = da_score(*path, option)
        assert (found.status, found.err) == (0, "")
        assert found.out.startswith(f"Usage: {' '.join(('da-score', *path))} ")
        assert re.search(rf"^  Example:  .*da-score {' '.join(path)}", found.out, re.MULTILINE)
        documented = dict(re.findall(r"^  (-.*?)(?:  |$)((?s:.*?)(?=^  -|^$|\Z))", found.out, re.MULTILINE))
        command: click.Command = cli
        for name in path:
            assert isinstance(command, click.Group)
            found_command = command.get_command(click.Context(command), name)
            assert found_command is not None
            command = found_command
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{parameter.name} says nothing"
                assert any(parameter.opts[0] in flags for flags in documented), f"{parameter.name} is not listed"
        assert command.get_short_help_str()

    def test_lists_every_command(self, da_score: DaScore) -> None:
        listed = re.findall(r"^  ([a-z-]+)  +\S", da_score("--help").out.split("Commands:")[1], re.MULTILINE)
        assert listed == list(COMMANDS)

    def test_says_where_settings_come_from(self, da_score: DaScore) -> None:
        said = " ".join(da_score("--help").out.replace("-\n", "-").split())
        assert all(word in said for word in ("DA_SCORE_*", ".agents/da- score.toml", "pyproject.toml")) or all(
            word in said for word in ("DA_SCORE_*", ".agents/da-score.toml", "pyproject.toml")
        )

    @pytest.mark.parametrize("path", [[], ["rubric"]], ids=["da-score", "rubric"])
    def test_comes_in_full_when_there_is_no_command(self, da_score: DaScore, path: list[str]) -> None:
        found = da_score(*path)
        shown = found.out + found.err
        assert found.status in (0, 2)
        assert "\nCommands:\n" in shown
        assert "error" not in shown

    def test_of_a_wrong_option_names_the_help_of_its_command(self, da_score: DaScore) -> None:
        message = one_line(da_score("rubric", "show", "--nope"))
        assert re.fullmatch(r"No such option:? '?--nope'?\.? \(see 'da-score rubric show --help'\)", message)


class TestVersion:
    def test_names_the_program_and_the_rubric(self, da_score: DaScore) -> None:
        found = da_score("--version")
        assert (found.status, found.err) == (0, "")
        assert re.fullmatch(r"da-score \d+\.\d+\.\d+ \(default rubric 2\.1\.0\)\n", found.out)

    def test_is_that_of_python_m_scoring(self, da_score: DaScore) -> None:
        assert process("--version") == da_score("--version")


@pytest.mark.usefixtures("scored")
class TestText:
    """Tables that no golden case holds."""

    def test_of_integrity(self, da_score: DaScore) -> None:
        assert da_score("integrity").out == (
            "Claimed against observed — .agents/active/iteration-log\n\n"
            "ROLE        SIGNAL                  PAIRS   OVER    MEAN      WORST     OVER-CLAIMED IN\n"
            "impl        landed                  8       1       -0.125    -1.000    5\n"
            "impl        verifier                1       0       +0.000    +0.000    -\n"
            "impl        tests                   8       3       -0.188    -1.000    4-5, 7\n"
            "impl        scope                   6       2       -0.125    -0.500    5, 8\n"
            "verifier    verifier                7       2       +0.143    -1.000    4, 7\n\n"
            "Deltas are observed minus claimed: below 0 the agent claimed more than was seen.\n"
        )

    def test_of_the_rubrics(self, da_score: DaScore) -> None:
        listed = da_score("rubric", "list").out.splitlines()
        assert [line.split()[0] for line in listed][:2] == ["2.0.2", "2.1.0"]
        assert "2.1.0     7 signals  (default)" in listed
        assert "2.2.0     8 signals" in listed

    def test_of_a_rubric(self, da_score: DaScore) -> None:
        shown = da_score("rubric", "show").out
        assert shown == da_score("rubric", "show", "2.1.0").out
        assert shown.startswith(
            "Rubric 2.1.0   weighted_mean_renormalized\n\nSIGNAL                WEIGHT   TWO-WAY  LABEL\n"
        )
        assert "\nhook_outcomes         0.1      no       Hook-gate outcomes\n" in shown
        assert shown.endswith("\nBANDS  excellent from 0.85   good from 0.7   fair from 0.5   poor from 0\n")
        assert da_score("rubric", "show", "2.0.2").out.startswith("Rubric 2.0.2 ")
        shown = da_score("rubric", "show", "2.2.0").out
        assert "\nverifier              0.1656   yes      Verifier results\n" in shown
        assert "\ndiminishing_returns   0.08     no       Diminishing returns\n" in shown

    def test_of_a_rubric_file(self, da_score: DaScore, tmp_path: Path) -> None:
        own = yaml.safe_dump(da_score("rubric", "show", "--json").json | {"version": "9.0.0-\x1b"}, allow_unicode=True)
        (tmp_path / "own.yaml").write_text(own)
        found = da_score("rubric", "validate", tmp_path / "own.yaml")
        assert found == Outcome(0, f"{tmp_path}/own.yaml: valid rubric 9.0.0-\\x1b, 7 signals\n", "")

    def test_of_runs_of_numbers(self) -> None:
        assert [spans(numbers) for numbers in ([], [4], [1, 2], [1, 3], [1, 2, 3, 7, 9, 10])] == [
            "",
            "4",
            "1-2",
            "1, 3",
            "1-3, 7, 9-10",
        ]


READING = {
    "run": ["run", "--no-write"],
    "iteration": ["iteration", "3"],
    "session": ["session", CLAUDE_SESSION],
    "records": ["records"],
    "signals": ["signals"],
    "integrity": ["integrity"],
    "rubric list": ["rubric", "list"],
    "rubric show": ["rubric", "show", "2.0.2"],
    "rubric diff": ["rubric", "diff", "2.0.2", "2.1.0"],
}


class TestJson:
    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize("arguments", READING.values(), ids=READING)
    def test_may_be_asked_for_before_or_after_the_command(
        self, da_score: DaScore, arguments: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        after = da_score(*arguments, "--json")
        assert after.json
        assert da_score("--json", *arguments) == da_score("--json", *arguments, "--json") == after
        assert (da_score(*arguments) == after) is (arguments[0] in ("records", "signals"))
        monkeypatch.setenv("DA_SCORE_JSON", "1")
        assert da_score(*arguments) == after

    def test_changes_nothing_that_is_written(self, da_score: DaScore, project: Path) -> None:
        assert da_score("run").status == 0
        text = tree(project)
        assert da_score("run", "--json").status == 0
        assert tree(project) == text

    def test_of_a_run_holds_the_sidecars_and_coverage(self, da_score: DaScore, scored: Path) -> None:
        found = da_score("run", "--no-write", "--json").json
        assert list(found) == ["rubric_version", "iterations", "sessions", "presence"]
        for iteration in found["iterations"]:
            sidecar = yaml.safe_load((scored / LOG / f"iter-{iteration['iteration']}.score.yaml").read_bytes())
            assert {k: v for k, v in iteration.items() if k != "coverage"} == sidecar
        for session in found["sessions"]:
            sidecar = yaml.safe_load((scored / LOG / f"session-{session['session_id']}.score.yaml").read_bytes())
            assert {k: v for k, v in session.items() if k != "coverage"} == sidecar
        assert found["iterations"][1]["coverage"] == {"present": 2, "total": 7, "weight": pytest.approx(0.26)}
        assert found["sessions"][0]["coverage"] == {"scored": 3, "total": 3, "weight": pytest.approx(0.86, abs=0.01)}
        assert found["presence"]["hook_outcomes"] == 5 / 9

    def test_of_an_iteration_has_its_claims_only_when_it_was_scored_now(self, da_score: DaScore, project: Path) -> None:
        first = da_score("iteration", "3", "--json").json
        assert (project / LOG / "iter-3.score.yaml").exists()
        read = da_score("iteration", "3", "--json").json
        again = da_score("iteration", "3", "--recompute", "--json").json
        assert first == again
        assert {key: again[key] for key in read} == read
        assert again.keys() - read.keys() == {"objective", "integrity"}
        assert again["objective"]["ran_cli_command"] == {
            "present": True,
            "sub_score": 1.0,
            "detail": "Bash tool invoked",
        }
        assert {row["signal"] for row in again["integrity"]} == {"landed", "scope", "tests", "verifier"}

    @pytest.mark.usefixtures("scored")
    def test_of_a_session_knows_the_coverage_of_members_whose_sidecars_are_there(
        self, da_score: DaScore, project: Path
    ) -> None:
        assert da_score("run", "--json").status == 0
        whole = da_score("session", CODEX_SESSION, "--json").json
        assert whole["coverage"]["weight"] == pytest.approx(0.86, abs=0.01)
        for n in (7, 8, 9):
            (project / LOG / f"iter-{n}.score.yaml").unlink()
        alone = da_score("session", CODEX_SESSION, "--json").json
        assert alone == whole | {"coverage": {"scored": 3, "total": 3, "weight": None}}

    @pytest.mark.usefixtures("scored")
    def test_of_rubrics(self, da_score: DaScore, tmp_path: Path) -> None:
        listed = da_score("rubric", "list", "--json").json
        assert {"version": "2.1.0", "signals": 7, "default": True} in listed
        assert {"version": "2.0.2", "signals": 6, "default": False} in listed
        (tmp_path / "own.yaml").write_text(json.dumps(da_score("rubric", "show", "--json").json))
        assert da_score("rubric", "validate", tmp_path / "own.yaml", "--json").json == {
            "valid": True,
            "version": "2.1.0",
            "signals": 7,
        }

    def test_has_no_bytes_that_are_not_text(self, da_score: DaScore, tmp_path: Path) -> None:
        (tmp_path / "iter-1.yaml").write_text("schema_version: 1\niteration: 1\ntask_id: !!binary /2E=\nwave: ü\n")
        (entry,) = da_score("records", "--iter-log-dir", tmp_path).json
        assert (entry["task_id"], entry["wave"]) == ("\ufffda", "ü")


class TestTerminal:
    @pytest.mark.usefixtures("project")
    def test_shows_the_coverage_of_each_iteration_and_session_and_where_the_log_is_blind(self) -> None:
        status, shown = process_on_a_terminal("run")
        lines = lines_of(shown)
        assert status == 0
        assert b"\x1b[1;32mexcellent" in b"".join(shown)
        assert "   2  choose-alphabet  0.500  fair       2 of 7 signals, 26 % of the weight   2026-03-02" in lines
        assert "   3  redirect         0.933  excellent  7 of 7 signals, 100 % of the weight  2026-03-03" in lines
        assert f"{CODEX_SESSION}  0.804      3  good  3 of 3 iterations, 86 % of the weight on average" in lines
        assert "hook_outcomes              56 %  ███████████·········" in lines
        assert f"Wrote 9 iteration and 2 session sidecars to {LOG}" in lines

    @pytest.mark.usefixtures("scored")
    def test_says_when_nothing_was_written(self, on_a_terminal: OnTerminal) -> None:
        assert lines_of(on_a_terminal("run", "--no-write")[1])[-1] == "Wrote nothing (--no-write)"

    @pytest.mark.usefixtures("scored")
    def test_shows_the_coverage_of_an_iteration(self, on_a_terminal: OnTerminal) -> None:
        status, shown = on_a_terminal("iteration", "5")
        lines = lines_of(shown)
        assert (status, lines[:2]) == (
            0,
            ["Iteration 5   rubric 2.1.0   score 0.288   band poor", "7 of 7 signals, 100 % of the weight"],
        )
        assert any(re.fullmatch(r"scope +yes +0\.500 +0\.130 +0\.065 +2/4 changed files within .*", x) for x in lines)
        assert "Hook outcome sources" in lines
        assert lines[-1] == f"Source: {LOG}/iter-5.score.yaml"
        assert "Observed, not scored" not in lines

    @pytest.mark.usefixtures("project")
    def test_shows_the_checks_of_an_iteration_that_was_scored_now(self, on_a_terminal: OnTerminal) -> None:
        status, shown = on_a_terminal("iteration", "5", "--recompute")
        lines = lines_of(shown)
        assert status == 0
        assert lines[lines.index("Observed, not scored") + 2].split() == [
            "ran_cli_command",
            "yes",
            "Bash",
            "tool",
            "invoked",
        ]

    @pytest.mark.usefixtures("scored")
    def test_shows_the_coverage_of_a_session(self, on_a_terminal: OnTerminal) -> None:
        status, shown = on_a_terminal("session", CODEX_SESSION)
        lines = lines_of(shown)
        assert status == 0
        assert lines[0].split() == ["Session", CODEX_SESSION, "rubric", "2.1.0", "score", "0.804", "good"]
        assert lines[1] == "3 of 3 iterations, 86 % of the weight on average"
        assert "   8  0.845  good       7 of 7 signals, 100 % of the weight" in lines

    @pytest.mark.usefixtures("scored")
    def test_shows_integrity(self, on_a_terminal: OnTerminal) -> None:
        status, shown = on_a_terminal("integrity")
        assert status == 0
        assert "impl      tests         8     3  -0.188  -1.000  4-5, 7" in lines_of(shown)

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize("arguments", [["run", "--no-write"], ["iteration", "5"], ["session", CODEX_SESSION]])
    def test_a_pipe_has_none_of_it(self, da_score: DaScore, arguments: list[str]) -> None:
        found = da_score(*arguments)
        assert (found.status, found.err) == (0, "")
        assert not re.search("of the weight|PRESENT IN|COVERAGE|\x1b|█", found.out)

    @pytest.mark.usefixtures("scored")
    def test_json_is_that_of_a_pipe(self, da_score: DaScore, on_a_terminal: OnTerminal) -> None:
        status, shown = on_a_terminal("session", CODEX_SESSION, "--json")
        assert (status, lines_of(shown)) == (0, da_score("session", CODEX_SESSION, "--json").out.splitlines())

    @pytest.mark.usefixtures("scored")
    def test_that_is_narrow_loses_no_word(self) -> None:
        status, shown = process_on_a_terminal("iteration", "5", columns=30)
        lines = lines_of(shown)
        assert status == 0
        assert max(map(len, lines)) <= 30
        assert "Source:.agents/active/iteration-log/iter-5.score.yaml" in re.sub(r"\s+", "", "".join(lines))

    @pytest.mark.usefixtures("scored")
    def test_that_knows_only_ascii_is_no_error(self) -> None:
        status, shown = process_on_a_terminal("run", "--no-write", PYTHONIOENCODING="ascii")
        assert (status, b"error" in b"".join(shown)) == (0, False)
        assert any(line.startswith("   3  redirect") for line in lines_of(shown))

    @pytest.mark.usefixtures("project")
    def test_shows_a_log_without_sessions_and_hooks(self, on_a_terminal: OnTerminal, tmp_path: Path) -> None:
        (tmp_path / "log").mkdir()
        (tmp_path / "log" / "iter-1.yaml").write_text("schema_version: 1\niteration: 1\ntask_id: only\n")
        status, shown = on_a_terminal("run", "--iter-log-dir", tmp_path / "log")
        lines = lines_of(shown)
        assert (status, any(line.startswith("SESSION") for line in lines)) == (0, False)
        assert "   1  only  1.000  excellent  1 of 7 signals, 13 % of the weight" in lines
        status, shown = on_a_terminal("iteration", "1", "--iter-log-dir", tmp_path / "log")
        assert (status, "Hook outcome sources" in lines_of(shown)) == (0, False)

    def test_a_log_cannot_write_to_it(self, project: Path, on_a_terminal: OnTerminal) -> None:
        entry = project / LOG / "iter-2.yaml"
        hostile = 'task_id: "\\e[31mred\\e]0;title\\a [bold]x[/]"'
        entry.write_text(re.sub("task_id: .*", lambda _: hostile, entry.read_text()))
        status, shown = on_a_terminal("run")
        assert (status, b"\x1b[31mred" in b"".join(shown)) == (0, False)
        (line,) = (line for line in lines_of(shown) if line.startswith("   2 "))
        assert line.startswith(r"   2  \x1b[31mred\x1b]0;title\a [bold]x[/]  0.500  fair ")
        assert "\x1b" not in "".join(lines_of(shown))

    @pytest.mark.parametrize("name", ["log", "log[old]", "log[bold]", "a[/b]", "log:bug:", "a log [red]x"])
    def test_shows_the_path_of_a_log_as_it_is(self, project: Path, on_a_terminal: OnTerminal, name: str) -> None:
        shutil.copytree(project / LOG, project / name)
        status, shown = on_a_terminal("run", "--iter-log-dir", name)
        assert (status, lines_of(shown)[0]) == (0, f"Outcome scoring — rubric 2.1.0 · {name}")
        status, shown = on_a_terminal("iteration", "3", "--iter-log-dir", name)
        assert (status, lines_of(shown)[-1]) == (0, f"Source: {name}/iter-3.score.yaml")


class TestEncoding:
    @pytest.mark.usefixtures("scored")
    def test_of_a_pipe_is_utf_8_whatever_the_locale(self, da_score: DaScore) -> None:
        expected = da_score("run", "--no-write")
        assert "—" in expected.out
        for variables in (
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            {"PYTHONIOENCODING": "ascii"},
        ):
            assert process("run", "--no-write", **variables) == expected

    def test_of_an_error_is_readable_too(self, tmp_path: Path) -> None:
        found = process(
            "records", "--iter-log-dir", tmp_path / "ü", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C"
        )
        assert (found.status, found.err.count("\n"), "Traceback" in found.err) == (1, 1, False)
        assert "no such file or directory" in found.err

    def test_of_a_path_that_is_not_text(self, da_score: DaScore, tmp_path: Path) -> None:
        found = da_score("records", "--iter-log-dir", tmp_path / os.fsdecode(b"\xff\n"))
        assert (found.status, found.out, found.err.count("\n")) == (1, "", 1)
        assert "\\xff" in found.err


class TestOutput:
    def test_may_be_text_without_bytes_below(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            assert main(["rubric", "show", "2.0.2"]) == 0
        assert shown.getvalue().startswith("Rubric 2.0.2 ")


class TestEmptyLog:
    @pytest.mark.parametrize("name", ["log", "a log"])
    def test_is_said_to_be_empty(self, da_score: DaScore, tmp_path: Path, name: str) -> None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text("nothing")
        found = da_score("run", "--iter-log-dir", tmp_path / name, "--repo-dir", tmp_path)
        assert found == Outcome(0, f"score: no iterations found in {tmp_path / name}\n", "")
        assert os.listdir(tmp_path / name) == ["README.md"]

    def test_is_empty_in_json(self, da_score: DaScore, tmp_path: Path) -> None:
        (tmp_path / "log").mkdir()
        where = ("--iter-log-dir", tmp_path / "log", "--repo-dir", tmp_path)
        found = da_score("run", "--json", *where).json
        assert (found["iterations"], found["sessions"], set(found["presence"].values())) == ([], [], {0.0})
        assert da_score("records", "--iter-log-dir", tmp_path / "log").json == []
        assert da_score("signals", *where).json == []
        assert da_score("integrity", "--json", *where).json == {"pairs": []}

    def test_is_empty_on_a_terminal(self, tmp_path: Path, on_a_terminal: OnTerminal) -> None:
        (tmp_path / "log").mkdir()
        status, shown = on_a_terminal("run", "--iter-log-dir", tmp_path / "log", "--repo-dir", tmp_path)
        assert (status, lines_of(shown)) == (0, [f"score: no iterations found in {tmp_path / 'log'}"])


# What is written


class TestWritten:
    @pytest.fixture
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        home = tmp_path / "home"
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        return home

    SIDECARS = {
        f"demo/repo/{LOG}/{name}.score.yaml"
        for name in (*(f"iter-{n}" for n in range(1, 10)), f"session-{CODEX_SESSION}", f"session-{CLAUDE_SESSION}")
    } | {f"demo/repo/{LOG}"}

    @pytest.mark.usefixtures("project", "home")
    def test_by_a_run_are_sidecars_in_the_log_and_the_cache(self, da_score: DaScore, tmp_path: Path) -> None:
        before = tree(tmp_path)
        assert da_score("run").status == 0
        touched = changed(before, tree(tmp_path))
        cached = {name for name in touched if name.startswith("home/.cache")}
        assert touched - cached - {"home"} == self.SIDECARS
        assert all(name == "home/.cache" or name.startswith("home/.cache/da-score") for name in cached)

    @pytest.mark.usefixtures("project", "home")
    def test_by_a_run_without_a_cache_are_sidecars_alone(self, da_score: DaScore, tmp_path: Path) -> None:
        before = tree(tmp_path)
        assert da_score("run", "--no-cache").status == 0
        assert changed(before, tree(tmp_path)) == self.SIDECARS

    @pytest.mark.usefixtures("project", "home")
    def test_the_cache_goes_where_it_is_told(self, da_score: DaScore, tmp_path: Path) -> None:
        before = tree(tmp_path)
        assert da_score("run", "--no-write", "--cache-dir", tmp_path / "cache").status == 0
        touched = changed(before, tree(tmp_path))
        assert touched
        assert all(name.split("/")[0] == "cache" for name in touched)

    @pytest.mark.usefixtures("project", "home")
    def test_by_no_write_is_nothing(self, da_score: DaScore, tmp_path: Path) -> None:
        before = tree(tmp_path)
        found = da_score("run", "--no-write", "--no-cache")
        assert found.out.endswith("\nWrote nothing (--no-write)\n")
        assert da_score("run", "--no-write", "--no-cache", "--json").status == 0
        assert tree(tmp_path) == before

    @pytest.mark.usefixtures("scored", "home")
    @pytest.mark.parametrize("arguments", READING.values(), ids=READING)
    def test_by_commands_that_read_is_nothing(
        self,
        da_score: DaScore,
        scored_template: Path,
        home: Path,
        arguments: list[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("DA_SCORE_NO_CACHE", "1")
        before = tree(scored_template)
        assert da_score(*arguments).status == 0
        assert (tree(scored_template), os.listdir(home)) == (before, [])

    @pytest.mark.usefixtures("home")
    def test_by_an_iteration_is_its_sidecar(self, da_score: DaScore, tmp_path: Path, project: Path) -> None:
        before = tree(tmp_path)
        assert da_score("iteration", "3", "--no-cache").status == 0
        after = tree(tmp_path)
        sidecar = f"demo/repo/{LOG}/iter-3.score.yaml"
        assert changed(before, after) == {sidecar, f"demo/repo/{LOG}"}
        assert da_score("iteration", "3", "--recompute", "--no-cache").status == 0
        assert tree(tmp_path) == after
        (project / sidecar.removeprefix("demo/repo/")).write_text("iteration: 3\n")
        assert da_score("iteration", "3", "--recompute", "--no-cache").status == 0
        assert {name: rest[::2] for name, rest in tree(tmp_path).items()} == {
            name: rest[::2] for name, rest in after.items()
        }

    def test_a_second_run_changes_nothing(self, da_score: DaScore, project: Path) -> None:
        first = da_score("run")
        before = tree(project)
        assert da_score("run") == first
        assert tree(project) == before

    def test_is_the_same_by_a_process_and_by_a_terminal(
        self, da_score: DaScore, project: Path, on_a_terminal: OnTerminal
    ) -> None:
        assert da_score("run").status == 0
        expected = {name: rest[2] for name, rest in tree(project / LOG).items()}
        for again in (process, on_a_terminal):
            for path in (project / LOG).glob("*.score.yaml"):
                path.unlink()
            again("run")
            assert {name: rest[2] for name, rest in tree(project / LOG).items()} == expected


class TestWarnings:
    def test_are_one_line_each_on_standard_error(self, da_score: DaScore, project: Path, tmp_path: Path) -> None:
        clean = da_score("run", "--json", "--no-write")
        missing = tmp_path / "missing"
        more = [f"../transcripts/{name}" for name in ("claude", "codex")]
        arguments = [part for path in (*more, missing) for part in ("--transcript-dir", path)]
        found = da_score("run", "--json", "--no-write", *arguments)
        assert (found.status, found.out) == (0, clean.out)
        assert re.fullmatch(rf"da-score: warning: .*{re.escape(str(missing))}.*\n", found.err)
        assert clean.err == ""
        assert (project / LOG / "iter-1.yaml").exists()

    def test_tell_of_evidence_that_a_new_score_lost(
        self, da_score: DaScore, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert da_score("run").err == ""
        assert da_score("run").err == ""
        monkeypatch.delenv("DA_SCORE_TRANSCRIPT_DIR")
        (project / ".agents" / "da-score.toml").unlink()  # the demo's own settings name its transcripts
        found = da_score("iteration", "3", "--recompute")
        assert (found.status, found.err) == (
            0,
            "da-score: warning: iteration 3: the transcripts no longer cover its window; "
            "correction_pressure and token_efficiency lost evidence that the old sidecar had\n",
        )
        lost = da_score("run").err.splitlines()
        assert [line.split(":")[2] for line in lost] == [f" iteration {n}" for n in (4, 5, 8, 9)]
        assert da_score("run").err == ""

    def test_tell_of_a_sidecar_of_another_rubric(self, da_score: DaScore, project: Path) -> None:
        assert da_score("run").status == 0
        shown = da_score("iteration", "3")
        assert da_score("iteration", "3", "--rubric", "2.1.0") == shown
        found = da_score("iteration", "3", "--rubric", "2.0.2")
        said = "this sidecar is of rubric 2.1.0; --recompute scores it under 2.0.2"
        assert found == Outcome(0, shown.out, f"da-score: warning: {said}\n")
        (project / "same.yaml").write_text(json.dumps(da_score("rubric", "show", "--json").json))
        assert da_score("iteration", "3", "--rubric", "./same.yaml") == shown

    def test_tell_of_a_session_that_can_have_no_file(self, da_score: DaScore, project: Path) -> None:
        for n in (7, 8, 9):
            entry = project / LOG / f"iter-{n}.yaml"
            entry.write_text(entry.read_text().replace(CODEX_SESSION, '"../\\e[31m\\n"'))
        found = da_score("run")
        assert found.status == 0
        assert found.err == (
            "da-score: warning: session id '../\\x1b[31m\\n' is no plain file name; this session gets no score file\n"
        )
        assert "Wrote 9 iter sidecars + 1 session sidecars" in found.out

    def test_tell_of_hook_outcomes_that_cannot_be_shown(self, da_score: DaScore, project: Path) -> None:
        assert da_score("run").status == 0
        shown = da_score("iteration", "3")
        (project / LOG / "iter-3.hook-outcomes.yaml").write_text("records: [\n")
        found = da_score("iteration", "3")
        assert (found.status, found.out) == (0, re.sub(r"Hook outcome sources:\n(.+\n)+\n", "", shown.out))
        assert re.fullmatch("da-score: warning: the hook outcomes of iteration 3 cannot be shown: line .*\n", found.err)


# How it ends


def overwrite(name: str, text: str) -> Callable[[Path], None]:
    def prepare(repo: Path) -> None:
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)

    return prepare


def nothing(_: Path) -> None:
    pass


@dataclass(frozen=True)
class Mistake:
    arguments: list[str]
    said: str
    prepare: Callable[[Path], None] = nothing


MISSING_LOG = r"missing: no such file or directory; name the iteration log with --iter-log-dir"
ERRORS = {
    **{
        f"no log for {command}": Mistake([command, *rest, "--iter-log-dir", "missing"], MISSING_LOG)
        for command, *rest in (["run"], ["records"], ["signals"], ["integrity"], ["iteration", "3"])
    },
    "a log that is a file": Mistake(
        ["run", "--iter-log-dir", f"{LOG}/iter-1.yaml"],
        rf"{LOG}/iter-1\.yaml: not a directory; name the iteration log with",
    ),
    **{
        f"no repository for {command}": Mistake(
            [command, *rest, "--iter-log-dir", LOG, "--repo-dir", "/"],
            r"/: not a git work tree \(.*\); name the repository with --repo-dir",
        )
        for command, *rest in (["run"], ["signals"], ["integrity"], ["iteration", "3"])
    },
    "an entry that is not YAML": Mistake(
        ["run"], rf"{LOG}/iter-2\.yaml: line 2: ", overwrite(f"{LOG}/iter-2.yaml", "schema_version: [\n")
    ),
    "an archive that is not YAML": Mistake(
        ["records"], rf"{LOG}/historical\.yaml: line 1: ", overwrite(f"{LOG}/historical.yaml", "iterations: 1\n")
    ),
    "an unknown iteration": Mistake(
        ["iteration", "99"], rf"{LOG}/iter-99\.yaml: no entry for iteration 99 in this log"
    ),
    "an unknown iteration scored anew": Mistake(
        ["iteration", "99", "--recompute"], rf"{LOG}/iter-99\.yaml: no entry for iteration 99 in this log"
    ),
    "an iteration beyond all numbers": Mistake(
        ["iteration", "9" * 30], rf"{LOG}/iter-9{{30}}\.yaml: no entry for iteration"
    ),
    "an unknown session": Mistake(
        ["session", "nobody"],
        rf"{LOG}/session-nobody\.score\.yaml: no such score; score the log first with 'da-score run'",
    ),
    "a session that is a way out": Mistake(["session", "../iter-1"], r"session id '\.\./iter-1' is no plain file name"),
    "a session without a name": Mistake(["session", ""], r"session id '' is no plain file name"),
    "an iteration's sidecar that is not YAML": Mistake(
        ["iteration", "3"],
        rf"{LOG}/iter-3\.score\.yaml: line 2: .*; this is no score sidecar, score it anew",
        overwrite(f"{LOG}/iter-3.score.yaml", "iteration: [\n"),
    ),
    "an iteration's sidecar that is empty": Mistake(
        ["iteration", "3", "--json"],
        rf"{LOG}/iter-3\.score\.yaml: it is empty; this is no score sidecar, score it anew",
        overwrite(f"{LOG}/iter-3.score.yaml", ""),
    ),
    "a session's sidecar of the wrong kind": Mistake(
        ["session", "x"],
        rf"{LOG}/session-x\.score\.yaml: line 1: value: 'high' where a number belongs; this is no score sidecar",
        overwrite(f"{LOG}/session-x.score.yaml", "value: high\n"),
    ),
    "a sidecar that is a directory": Mistake(
        ["iteration", "3"], rf"{LOG}/iter-3\.score\.yaml: is a directory", overwrite(f"{LOG}/iter-3.score.yaml/x", "")
    ),
    "a sidecar that cannot be written": Mistake(
        ["run"],
        rf"{LOG}/iter-3\.score\.yaml: cannot write: is a directory; the old file is untouched",
        overwrite(f"{LOG}/iter-3.score.yaml/x", ""),
    ),
    **{
        f"an unknown rubric for {command}": Mistake(
            [command, *rest, "--rubric", "9.9.9"], r"rubric '9\.9\.9' is not released; released: 2\.0\.2, 2\.1\.0"
        )
        for command, *rest in (["run"], ["signals"], ["iteration", "3", "--recompute"])
    },
    "an unknown rubric to show": Mistake(["rubric", "show", "9"], r"rubric '9' is not released; released: 2\.0\.2, "),
    "a rubric file that is not there": Mistake(["run", "--rubric", "x.yaml"], r"x\.yaml: no such rubric file"),
    "a rubric file that is no rubric": Mistake(
        ["rubric", "validate", "x.yaml"], r"x\.yaml: the rubric is not a mapping", overwrite("x.yaml", "- 1\n")
    ),
    "a rubric file that is not YAML": Mistake(["run", "--rubric", "./x"], r"x: not YAML: ", overwrite("x", "a: [\n\n")),
    "settings that are not TOML": Mistake(
        ["run"], r"\.agents/da-score\.toml: not TOML: ", overwrite(".agents/da-score.toml", "rubric = \n")
    ),
    "an unknown setting": Mistake(
        ["records"],
        r"pyproject\.toml: \[tool\.da-score\]: unknown setting 'rubrics'; known: iter-log-dir, ",
        overwrite("pyproject.toml", "[tool.da-score]\nrubrics = 1\n"),
    ),
    "a demo over something": Mistake(
        ["demo", "."], r"\.: not empty; name a directory that is empty or does not exist yet"
    ),
}

USAGE = {
    "an unknown command": (["zzz"], r"No such command 'zzz'\. \(see 'da-score --help'\)"),
    "a misspelled command": (["itration"], r"No such command 'itration'\. Did you mean 'iteration'\? \(see .*\)"),
    "an unknown inner command": (["rubric", "score"], r"No such command 'score'.*\(see 'da-score rubric --help'\)"),
    "an unknown option": (["run", "--frobnicate"], r"No such option:? '?--frobnicate'?.*\(see 'da-score run --help'\)"),
    "an unknown option before the command": (["--frobnicate", "run"], r"No such option:? '?--frobnicate'?"),
    "an iteration that is no number": (["iteration", "three"], r"'three' is not a valid integer.* --help'\)"),
    "no iteration": (["iteration"], r"Missing argument 'ITERATION'.*\(see 'da-score iteration --help'\)"),
    "no session": (["session"], r"Missing argument 'ID'"),
    "too much": (["run", "extra"], r"Got unexpected extra argument \(extra\)"),
    "an option without its value": (["run", "--rubric"], r"Option '--rubric' requires an argument"),
    "a flag with a value": (["run", "--no-write=1"], r"Option '--no-write' does not take a value"),
    "no processes at all": (
        ["run", "--processes", "0"],
        r"Invalid value for '--processes': 0 is not in the range x>=1",
    ),
    "an unknown shell": (["completion", "tcsh"], r"'tcsh' is not one of 'bash', 'zsh', 'fish'"),
}


def one_line(found: Outcome) -> str:
    """Return the message of an error, which is one line on standard error and nothing anywhere else."""
    match = re.fullmatch(r"da-score: error: (.+)\n", found.err)
    assert match, found
    assert found.out == ""
    return match[1]


class TestErrors:
    @pytest.mark.parametrize("mistake", ERRORS.values(), ids=ERRORS)
    def test_are_one_line_that_says_what_and_where(self, da_score: DaScore, project: Path, mistake: Mistake) -> None:
        mistake.prepare(project)
        found = da_score(*mistake.arguments)
        message = one_line(found)
        assert re.match(mistake.said, message), message
        assert (found.status, "internal" in message) == (1, False)

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(("arguments", "said"), USAGE.values(), ids=USAGE)
    def test_of_usage_name_the_help(self, da_score: DaScore, arguments: list[str], said: str) -> None:
        found = da_score(*arguments)
        message = one_line(found)
        assert re.search(said, message), message
        assert (found.status, message.endswith("--help')")) == (2, True)

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(
        ("variable", "value", "said"),
        [
            ("DA_SCORE_JSON", "maybe", "DA_SCORE_JSON: 'maybe' is not true or false; use 1 or 0"),
            ("DA_SCORE_PROCESSES", "0", "DA_SCORE_PROCESSES: '0' is not a number above 0"),
            ("DA_SCORE_RUBRIC", "9", "rubric '9' is not released; released: "),
            ("PATH", "/nonexistent", "git was not found on PATH; install git "),
        ],
    )
    def test_of_variables(
        self, da_score: DaScore, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
    ) -> None:
        monkeypatch.setenv(variable, value)
        found = da_score("run", "--no-write")
        assert one_line(found).startswith(said)
        assert found.status == 1

    def test_write_nothing(self, da_score: DaScore, project: Path) -> None:
        (project / LOG / "iter-9.yaml").write_text("schema_version: 7\n")
        before = tree(project)
        assert da_score("run").status == 1
        assert da_score("iteration", "1", "--recompute").status == 1
        assert tree(project) == before

    @pytest.mark.usefixtures("scored")
    def test_are_the_status_of_a_process(self) -> None:
        assert process("iteration", "99").status == 1
        assert process("iteration", "x").status == 2
        assert process("iteration", "3").status == 0

    @pytest.mark.parametrize("kind", [DaScoreError, InputError, GitError, WriteError])
    def test_of_ours_do_not_look_like_bugs(
        self, da_score: DaScore, monkeypatch: pytest.MonkeyPatch, kind: type[DaScoreError]
    ) -> None:
        monkeypatch.setattr(scoring.cli.records, "load_iteration_log", raising(kind("what\nwhere\x1b\nwhat to do")))
        assert da_score("records") == Outcome(1, "", "da-score: error: what where\\x1b what to do\n")

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (RuntimeError("boom"), "RuntimeError: boom"),
            (ValueError("boom"), "ValueError: boom"),
            (KeyError("boom"), "KeyError: 'boom'"),
            (OSError(errno.EIO, "boom"), "OSError: [Errno 5] boom"),
            (AssertionError(), "AssertionError: "),
            (RecursionError("a\nb"), "RecursionError: a b"),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
    )
    def test_of_nobody_look_like_bugs(
        self, da_score: DaScore, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
    ) -> None:
        monkeypatch.setattr(scoring.cli.records, "load_iteration_log", raising(error))
        found = da_score("records")
        assert one_line(found) == f"internal error, please report it: {said} (DA_SCORE_TRACEBACK=1 shows where)"
        assert found.status == 1
        monkeypatch.setenv("DA_SCORE_TRACEBACK", "1")
        with pytest.raises(type(error)):
            da_score("records")

    def test_of_click_are_one_line_too(self, da_score: DaScore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(scoring.cli.records, "load_iteration_log", raising(click.ClickException("no\nway")))
        assert da_score("records") == Outcome(1, "", "da-score: error: no way\n")

    def test_are_silent_when_nobody_can_hear_them(self, tmp_path: Path) -> None:
        script = f'"$0" -m scoring records --iter-log-dir "{tmp_path}/missing" 2>&-'
        done = subprocess.run(["bash", "-c", script, sys.executable], stdout=subprocess.PIPE, check=False)
        assert (done.returncode, done.stdout) == (1, b"")

    @pytest.mark.usefixtures("scored")
    def test_of_a_session_name_those_that_are_known(self, da_score: DaScore) -> None:
        assert da_score("session", "x").err.endswith(f"; known sessions: {CODEX_SESSION}, {CLAUDE_SESSION}\n")

    def test_an_interruption_is_130(self, da_score: DaScore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(scoring.cli.records, "load_iteration_log", raising(KeyboardInterrupt()))
        found = da_score("records")
        assert (found.status, found.out, found.err.strip()) == (130, "", "da-score: error: interrupted")


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


class TestReaderThatIsGone:
    """What prints into a pipe that nobody reads has done its work: it says nothing, and that is no error."""

    def gone(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        read, write = os.pipe()
        os.close(read)
        try:
            command = [sys.executable, "-m", "scoring", *arguments]
            return subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
        finally:
            os.close(write)

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(
        "arguments",
        [
            ["signals"],
            ["--help"],
        ],
        ids=" ".join,
    )
    def test_is_no_error(self, arguments: list[str]) -> None:
        done = self.gone(*arguments)
        assert (done.returncode, done.stderr) == (0, b"")

    def test_does_not_keep_a_run_from_writing(self, project: Path) -> None:
        assert self.gone("run").returncode == 0
        assert len(list((project / LOG).glob("*.score.yaml"))) == 11

    @pytest.mark.usefixtures("scored")
    def test_may_have_read_a_line(self) -> None:
        script = 'set -o pipefail; "$0" -m scoring run --no-write | head -1'
        done = subprocess.run(["bash", "-c", script, sys.executable], capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "Outcome scoring — rubric 2.1.0\n".encode(), b"")

    def test_may_never_have_been_there(self, project: Path) -> None:
        script = '"$0" -m scoring run >&-'
        done = subprocess.run(["bash", "-c", script, sys.executable], stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert len(list((project / LOG).glob("*.score.yaml"))) == 11

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize("command", ["records", "--help"])
    def test_is_not_a_full_disk_which_is_an_error_and_no_bug(self, command: str) -> None:
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "scoring", command], stdout=full, stderr=subprocess.PIPE, check=False
            )
        assert done.returncode == 1
        assert re.fullmatch(b"da-score: error: .*no space left on device.*\n", done.stderr, re.IGNORECASE)
        assert b"internal error" not in done.stderr


# Completion


Complete = Callable[[str], set[str]]


class TestCompletion:
    @pytest.mark.parametrize(
        ("shell", "has"),
        [
            ("bash", "complete -o nosort -F _da_score_completion da-score"),
            ("zsh", "#compdef da-score"),
            ("fish", "complete --no-files --command da-score"),
        ],
    )
    def test_has_a_script_for_each_shell(self, da_score: DaScore, shell: str, has: str) -> None:
        found = da_score("completion", shell)
        assert (found.status, found.err) == (0, "")
        assert has in found.out
        assert f"_DA_SCORE_COMPLETE={shell}_complete" in found.out

    @pytest.fixture
    def complete(self, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Complete:
        """Ask for what may stand at the end of a line, the way bash does."""

        def complete(words: str) -> set[str]:
            monkeypatch.setenv("_DA_SCORE_COMPLETE", "bash_complete")
            monkeypatch.setenv("COMP_WORDS", words)
            monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
            capsysbinary.readouterr()
            kept = os.dup(1)  # a completion ends its process, and may close what it printed to
            try:
                status: object = main([])
            except SystemExit as e:
                status = e.code
            finally:
                os.dup2(kept, 1)
                os.close(kept)
            out, err = capsysbinary.readouterr()
            assert (status, err) == (0, b"")
            return {line.split(",", 1)[1] for line in out.decode().splitlines() if line}

        return complete

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(
        ("words", "offered"),
        [
            ("da-score iteration ", {"1", "2", "3", "4", "5", "6", "7", "8", "9"}),
            ("da-score iteration 4", {"4"}),
            ("da-score iteration x", set()),
            ("da-score iteration --recompute ", {"1", "2", "3", "4", "5", "6", "7", "8", "9"}),
            ("da-score iteration --iter-log-dir missing ", set()),
            ("da-score session ", {CODEX_SESSION, CLAUDE_SESSION}),
            ("da-score session 5", {CLAUDE_SESSION}),
            ("da-score ses", {"session"}),
            ("da-score rubric ", {"list", "show", "validate", "diff"}),
            ("da-score completion ", {"bash", "zsh", "fish"}),
            ("da-score run --no-w", {"--no-write"}),
        ],
    )
    def test_offers(self, complete: Complete, words: str, offered: set[str]) -> None:
        assert complete(words) == offered

    @pytest.mark.usefixtures("scored")
    def test_offers_every_command(self, complete: Complete) -> None:
        assert complete("da-score ") == set(COMMANDS)

    def test_looks_where_the_line_says(
        self, monkeypatch: pytest.MonkeyPatch, complete: Complete, project: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "log").mkdir()
        for name in ("iter-12.yaml", "iter-3.score.yaml", "session-a b.score.yaml", "iter-x.yaml", "xiter-7.yaml"):
            (tmp_path / "log" / name).write_bytes(b"")
        line = f"da-score iteration --iter-log-dir {tmp_path / 'log'} "
        assert complete(line) == {"12"}
        monkeypatch.setenv("DA_SCORE_ITER_LOG_DIR", str(tmp_path / "log"))
        assert complete("da-score iteration ") == {"12"}
        assert complete("da-score session ") == {"a b"}
        monkeypatch.delenv("DA_SCORE_ITER_LOG_DIR")
        (project / ".agents" / "da-score.toml").write_text("broken")
        assert complete("da-score iteration ") == set()

    @pytest.mark.usefixtures("scored")
    def test_works_in_a_process(self) -> None:
        found = process(_DA_SCORE_COMPLETE="bash_complete", COMP_WORDS="da-score iteration ", COMP_CWORD="2")
        assert found == Outcome(0, "".join(f"plain,{n}\n" for n in range(1, 10)), "")


# The demo


class TestDemo:
    def test_goes_where_it_is_told(self, da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        found = da_score("demo", "a/b")
        assert (found.status, found.err) == (0, "")
        log = Path("a/b/repo") / LOG
        assert len(list(log.glob("*.score.yaml"))) == 11
        start, *_ = found.out.split("\n\n")
        assert start == f"Outcome scoring — rubric 2.1.0\nIterations: 9   Sessions: 2   Source: {log}"
        assert "\nIteration 5   rubric 2.1.0   score 0.288   band poor\n" in found.out
        assert "\nverifier    verifier                7       2       +0.143    -1.000    4, 7\n" in found.out
        assert re.search(r"\nThe demo is in a/b\. Try:\n  cd a/b/repo && da-score iteration [1-9]\n", found.out)
        monkeypatch.chdir("a/b/repo")
        assert da_score("iteration", "1").status == 0

    def test_goes_to_a_directory_of_its_own_when_it_is_not_told(
        self, da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        first, second = da_score("demo"), da_score("demo")
        roots = [re.search(r"The demo is in (.*)\. Try:", found.out) for found in (first, second)]
        assert {Path(root[1]) for root in roots if root} == set(tmp_path.iterdir())
        assert len(set(tmp_path.iterdir())) == 2

    def test_is_data_with_json(self, da_score: DaScore, tmp_path: Path) -> None:
        found = da_score("demo", tmp_path / "demo", "--json").json
        assert [iteration["iteration"] for iteration in found["iterations"]] == list(range(1, 10))
        assert da_score("--json", "demo", tmp_path / "other").json == found

    def test_is_drawn_on_a_terminal(self, tmp_path: Path, on_a_terminal: OnTerminal) -> None:
        status, shown = on_a_terminal("demo", tmp_path / "demo")
        lines = lines_of(shown)
        assert status == 0
        assert "   2  choose-alphabet  0.500  fair       2 of 7 signals, 26 % of the weight   2026-03-02" in lines
        assert "Why iteration 5 scored lowest" in lines
        assert "impl      tests         8     3  -0.188  -1.000  4-5, 7" in lines

    def test_leaves_a_directory_alone_that_is_not_empty(self, da_score: DaScore, tmp_path: Path) -> None:
        (tmp_path / "mine").write_bytes(b"mine")
        before = tree(tmp_path)
        found = da_score("demo", tmp_path)
        assert one_line(found) == f"{tmp_path}: not empty; name a directory that is empty or does not exist yet"
        assert (found.status, tree(tmp_path)) == (1, before)

    def test_may_fill_a_directory_that_is_empty(self, da_score: DaScore, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        assert da_score("demo", tmp_path / "empty").status == 0
