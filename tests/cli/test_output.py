"""What commands print: text on a pipe, tables on a terminal, JSON, and in which encoding."""

import contextlib
import io
import json
import os
import re
import shutil
import threading
import time
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest
import yaml
from helpers.commands import (
    DaScore,
    OnTerminal,
    Outcome,
    lines_of,
    process,
    process_on_a_terminal,
)
from helpers.projects import CODEX_SESSION, LOG, READING

from scoring.cli import main
from scoring.cli.group import cli
from scoring.cli.output import (
    progress,
    put_item,
    show,
    warn,
    write_json,
    write_json_around,
)
from scoring.errors import TakesLong
from scoring.text import as_utf8, iterations_named, spans
from scoring.views.table import Block, Line, Table, TableRow, pipe_text


@pytest.mark.usefixtures("scored")
class TestText:
    """Tables that no golden case holds."""

    def test_of_integrity(self, da_score: DaScore) -> None:
        assert da_score("integrity").out == (
            "Claimed against observed — .agents/active/iteration-log\n\n"
            "ROLE      SIGNAL    PAIRS  OVER  MEAN    WORST   OVER-CLAIMED IN\n"
            "impl      landed    8      1     -0.125  -1.000  5\n"
            "impl      verifier  1      0     +0.000  +0.000  -\n"
            "impl      tests     8      3     -0.188  -1.000  4-5, 7\n"
            "impl      scope     6      2     -0.125  -0.500  5, 8\n"
            "verifier  verifier  7      2     +0.143  -1.000  4, 7\n\n"
            "Deltas are observed minus claimed: below 0 the agent claimed more than was observed.\n"
        )

    def test_of_the_rubrics(self, da_score: DaScore) -> None:
        listed = da_score("rubric", "list").out.splitlines()
        assert [line.split()[0] for line in listed][:2] == ["2.0.2", "2.1.0"]
        assert "2.1.0  7 signals  (default)" in listed
        rows = da_score("rubric", "list", "--json").json
        assert {"version": "2.1.0", "signals": 7, "default": True} in rows
        assert {"version": "2.0.2", "signals": 6, "default": False} in rows

    def test_of_a_rubric(self, da_score: DaScore) -> None:
        shown = da_score("rubric", "show").out
        assert shown == da_score("rubric", "show", "2.1.0").out
        assert shown.startswith(
            "Rubric 2.1.0   weighted_mean_renormalized\n\n"
            "SIGNAL               WEIGHT  TWO-WAY  LABEL\n"
        )
        assert "\nhook_outcomes        0.1     no       Hook-gate outcomes\n" in shown
        assert shown.endswith(
            "\nBANDS  excellent from 0.85   good from 0.7   fair from 0.5   poor from 0\n"
        )
        assert da_score("rubric", "show", "2.0.2").out.startswith("Rubric 2.0.2 ")

    def test_of_a_rubric_file(self, da_score: DaScore, tmp_path: Path) -> None:
        own = yaml.safe_dump(
            da_score("rubric", "show", "--json").json | {"version": "9.0.0-\x1b"},
            allow_unicode=True,
        )
        (tmp_path / "own.yaml").write_text(own)
        valid = {"valid": True, "version": "9.0.0-\x1b", "signals": 7}
        assert (
            da_score("rubric", "validate", tmp_path / "own.yaml", "--json").json
            == valid
        )
        found = da_score("rubric", "validate", tmp_path / "own.yaml")
        assert found == Outcome(
            0, f"{tmp_path}/own.yaml: valid rubric 9.0.0-\\x1b, 7 signals\n", ""
        )

    def test_of_runs_of_numbers(self) -> None:
        runs = {
            "": [],
            "4": [4],
            "1-2": [1, 2],
            "1, 3": [1, 3],
            "1-3, 7, 9-10": [1, 2, 3, 7, 9, 10],
        }
        assert [spans(numbers) for numbers in runs.values()] == list(runs)

    def test_of_iterations_has_the_noun_that_fits(self) -> None:
        assert iterations_named([4]) == "iteration 4"
        assert iterations_named([3, 6, 8]) == "iterations 3, 6, 8"
        assert iterations_named([3, 6, 8], most=2) == "iterations 3, 6 and 1 more"


ONLY_PRINTED = ("bounds", "coverage", "interval", "state", "state_reason", "states")


def as_in_the_sidecar(found: dict[str, Any], *others: str) -> dict[str, Any]:
    """What commands print of a score, without what only they say."""
    kept = {
        key: value
        for key, value in found.items()
        if key not in (*ONLY_PRINTED, *others)
    }
    if "breakdown" in kept:
        kept["breakdown"] = [
            {
                key: value
                for key, value in row.items()
                if key not in ("source", "applicable", "cap", "fact")
            }
            for row in kept["breakdown"]
        ]
    return kept


LONG = "a" * 60_000


class TestLongNames:
    PAGE: tuple[Block, ...] = (
        Table(("NAME", "N"), [("b", 1), TableRow((LONG, 2), notes=[LONG])]),
        f"session {LONG}",
    )

    def test_lose_their_middle(self, capsys: pytest.CaptureFixture[str]) -> None:
        show(self.PAGE)
        head, other, row, note, line = capsys.readouterr().out.splitlines()
        assert head.split() == ["NAME", "N"]
        assert other.split() == ["b", "1"]
        assert row.split() == ["a" * 997, "...", "a" * 997, "2"]
        assert note.split() == row.split()[:3]
        assert line.endswith(" ... " + "a" * 997)

    def test_lose_it_on_a_terminal(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("scoring.cli.output.on_terminal", lambda: True)
        show(self.PAGE, bound_to_reference=True)
        assert len(capsys.readouterr().out) < 10_000

    @pytest.mark.parametrize(
        ("block", "bound_to_reference"),
        [
            pytest.param(f"task {LONG}", True, id="where the reference's bytes count"),
            pytest.param(Line(LONG, pasted=True), False, id="in a command to paste"),
            pytest.param(Table(("",), [(LONG[:2_000],)]), False, id="of 2,000"),
        ],
    )
    def test_stay_whole(
        self,
        block: Block,
        bound_to_reference: bool,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        show([block], bound_to_reference)
        assert capsys.readouterr().out == pipe_text([block])


class TestJson:
    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize("arguments", READING.values(), ids=READING)
    def test_may_be_asked_for_before_or_after_the_command(
        self, da_score: DaScore, arguments: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        after = da_score(*arguments, "--json")
        assert after.json
        assert (
            da_score("--json", *arguments)
            == da_score("--json", *arguments, "--json")
            == after
        )
        assert (da_score(*arguments) == after) is (
            arguments[0] in ("records", "signals")
        )
        monkeypatch.setenv("DA_SCORE_JSON", "1")
        assert da_score(*arguments) == after

    def test_of_a_run_holds_the_sidecars_and_coverage(
        self, da_score: DaScore, scored: Path
    ) -> None:
        found = da_score("run", "--no-write", "--json").json
        assert list(found) == ["rubric_version", "iterations", "sessions", "presence"]
        for iteration in found["iterations"]:
            sidecar = yaml.safe_load(
                (
                    scored / LOG / f"iter-{iteration['iteration']}.score.yaml"
                ).read_bytes()
            )
            assert as_in_the_sidecar(iteration) == sidecar
        for session in found["sessions"]:
            sidecar = yaml.safe_load(
                (
                    scored / LOG / f"session-{session['session_id']}.score.yaml"
                ).read_bytes()
            )
            assert as_in_the_sidecar(session) == sidecar
        assert found["iterations"][1]["coverage"] == {
            "present": 2,
            "total": 7,
            "weight": pytest.approx(0.26),
        }
        assert found["iterations"][1]["bounds"] == {
            "low": pytest.approx(0.13),
            "high": pytest.approx(0.87),
        }
        rests_on = {
            "scored": 3,
            "total": 3,
            "weight": pytest.approx(0.86, abs=0.01),
            "insufficient": 0,
        }
        assert found["sessions"][0]["coverage"] == rests_on
        assert found["sessions"][0]["bounds"] == {
            "low": pytest.approx(0.696, abs=0.001),
            "high": pytest.approx(0.836, abs=0.001),
        }
        sources = {
            row["signal"]: row["source"] for row in found["iterations"][2]["breakdown"]
        }
        assert sources["landed"] == "observed"
        assert sources["tests"] == "claimed"
        assert {
            row["source"]
            for one in found["iterations"]
            for row in one["breakdown"]
            if not row["present"]
        } == {None}
        assert found["presence"]["hook_outcomes"] == 5 / 9

    def test_of_an_iteration_has_its_claims_only_when_it_was_scored_now(
        self, da_score: DaScore, project: Path
    ) -> None:
        first = da_score("iteration", "3", "--json").json
        assert (project / LOG / "iter-3.score.yaml").exists()
        read = da_score("iteration", "3", "--json").json
        again = da_score("iteration", "3", "--recompute", "--json").json
        assert first == again
        assert {
            key: again[key] for key in read if key != "breakdown"
        } == as_in_the_sidecar(read, "breakdown") | {
            key: read[key] for key in ("bounds", "coverage", "state", "state_reason")
        }
        assert (
            as_in_the_sidecar(again)["breakdown"]
            == as_in_the_sidecar(read)["breakdown"]
        )
        assert {row["source"] for row in read["breakdown"]} == {None}
        assert {row["source"] for row in again["breakdown"] if row["present"]} == {
            "claimed",
            "observed",
        }
        assert again.keys() - read.keys() == {"objective", "integrity"}
        ran = {"present": True, "sub_score": 1.0, "detail": "Bash tool invoked"}
        assert again["objective"]["ran_cli_command"] == ran
        assert {row["signal"] for row in again["integrity"]} == {
            "landed",
            "scope",
            "tests",
            "verifier",
        }

    @pytest.mark.usefixtures("scored")
    def test_of_a_session_is_what_the_evidence_gives_with_sidecars_or_without(
        self, da_score: DaScore, project: Path
    ) -> None:
        assert da_score("run", "--json").status == 0
        whole = da_score("session", CODEX_SESSION, "--json").json
        assert whole["coverage"]["weight"] == pytest.approx(0.86, abs=0.01)
        for n in (7, 8, 9):
            (project / LOG / f"iter-{n}.score.yaml").unlink()
        assert da_score("session", CODEX_SESSION, "--json").json == whole

    def test_has_no_bytes_that_are_not_text(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        (tmp_path / "iter-1.yaml").write_text(
            "schema_version: 1\niteration: 1\ntask_id: !!binary /2E=\nwave: ü\n"
        )
        (entry,) = da_score("records", "--iter-log-dir", tmp_path).json
        assert (entry["task_id"], entry["wave"]) == ("\ufffda", "ü")


class TestTerminal:
    @pytest.mark.usefixtures("project")
    def test_shows_the_coverage_of_each_iteration_and_session(self) -> None:
        status, shown = process_on_a_terminal("run")
        lines = lines_of(shown)
        assert status == 0
        (row,) = (line for line in lines if line.startswith("   2  "))
        assert "   2  choose-alphabet" in row
        assert "0.500  (0.13–0.87)  2/7 · 26 %" in row
        assert (
            f"{CODEX_SESSION}     0.804  (0.70–0.84)  0.70–0.86      3  "
            "3 of 3, 86.0 % of the weight" in lines
        )
        assert f"Wrote 9 iteration sidecars and 2 session sidecars to {LOG}" in lines

    @pytest.mark.usefixtures("scored")
    def test_shows_the_coverage_of_an_iteration(
        self, on_a_terminal: OnTerminal
    ) -> None:
        status, shown = on_a_terminal("iteration", "5", "--no-cache")
        lines = lines_of(shown)
        assert (status, lines[0]) == (0, "Iteration 5")
        assert (
            lines[1] == "Commit f05ce0048ec2: feat(limits): limit requests per client"
        )
        assert (
            lines[2]
            == "Reverted: commit f05ce0048ec2 reachable but reverted by dc5fe68d151e"
        )
        assert lines[3].startswith(
            "Evidence score 0.288 (0.29–0.29), under rubric 2.1.0: not known yet if"
        )
        assert "7 of 7 signals, 100.0 % of the weight" in lines[4:6]
        below = lines[
            lines.index("scope                yes         0.500   0.130    0.065") + 1
        ]
        assert below.startswith(
            "    outside: shortlink/app.py, shortlink/store.py · 2/4 changed files within declared "
        )
        assert "Hook outcome sources" in lines
        assert lines[-1] == f"Source: {LOG}/iter-5.score.yaml"
        assert "Observed, not scored" not in lines

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(
        "arguments",
        [["run", "--no-write"], ["iteration", "5"], ["session", CODEX_SESSION]],
    )
    def test_a_pipe_has_none_of_it(
        self, da_score: DaScore, arguments: list[str]
    ) -> None:
        found = da_score(*arguments)
        assert (found.status, found.err) == (0, "")
        assert not re.search("of the weight|PRESENT IN|COVERAGE|\x1b|█", found.out)

    @pytest.mark.usefixtures("scored")
    def test_that_knows_only_ascii_is_no_error(self) -> None:
        status, shown = process_on_a_terminal(
            "run", "--no-write", PYTHONIOENCODING="ascii"
        )
        assert (status, b"error" in b"".join(shown)) == (0, False)
        assert any(line.startswith("   3  redirect") for line in lines_of(shown))

    @pytest.mark.parametrize("name", ["log", "a[/b]", "log:bug: [red]x"])
    def test_shows_the_path_of_a_log_as_it_is(
        self, project: Path, on_a_terminal: OnTerminal, name: str
    ) -> None:
        shutil.copytree(project / LOG, project / name)
        status, shown = on_a_terminal("run", "--iter-log-dir", name)
        assert (status, f" in {name}, " in " ".join(lines_of(shown))) == (0, True)
        status, shown = on_a_terminal("iteration", "3", "--iter-log-dir", name)
        assert (status, lines_of(shown)[-1]) == (0, f"Source: {name}/iter-3.score.yaml")


class TestEncoding:
    @pytest.mark.usefixtures("scored")
    def test_of_a_pipe_is_utf_8_whatever_the_locale(self, da_score: DaScore) -> None:
        expected = da_score("run", "--no-write")
        assert "—" in expected.out
        assert (
            process(
                "run", "--no-write", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
            )
            == expected
        )
        assert process("run", "--no-write", PYTHONIOENCODING="ascii") == expected

    def test_of_text_without_bytes_below(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            assert main(["rubric", "show", "2.0.2"]) == 0
        assert shown.getvalue().startswith("Rubric 2.0.2 ")

    def test_of_a_path_that_is_not_text(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        found = da_score("records", "--iter-log-dir", tmp_path / os.fsdecode(b"\xff\n"))
        assert (found.status, found.out, found.err.count("\n")) == (1, "", 1)
        assert "\\xff" in found.err


class TestEmptyLog:
    def test_is_said_to_be_empty_and_is_so_in_json(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        log = tmp_path / "a log"
        log.mkdir()
        (log / "README.md").write_text("nothing")
        where = ("--iter-log-dir", log, "--repo-dir", tmp_path)
        assert da_score("run", *where) == Outcome(
            0, f"score: no iterations found in {log}\n", ""
        )
        assert os.listdir(log) == ["README.md"]
        found = da_score("run", "--json", *where).json
        assert (
            found["iterations"],
            found["sessions"],
            set(found["presence"].values()),
        ) == (
            [],
            [],
            {0.0},
        )
        assert da_score("records", *where).json == []
        assert da_score("signals", *where).json == []
        assert da_score("integrity", "--json", *where).json == {"pairs": []}


@pytest.mark.parametrize(
    ("limit", "command", "warning", "is_said"),
    [
        pytest.param(-1, "run", "other", True, id="where nothing else says so"),
        pytest.param(-1, "run", TakesLong("git"), False, id="not where git does"),
        pytest.param(-1, "fleet", "other", False, id="not of many logs"),
        pytest.param(600, "run", "other", False, id="not of a quick one"),
    ],
)
def test_a_long_command_says_so_once(
    limit: int,
    command: str,
    warning: str,
    is_said: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("scoring.cli.SECONDS_WITHOUT_WORD", limit)
    monkeypatch.setattr(cli, "main", lambda *_, **__: warn(warning))
    for _ in range(2):
        assert main([command]) == 0
        said = capsys.readouterr().err
        assert str(warning) in said
        assert ("seconds of processor time" in said) == is_said


class TestWrittenJson:
    @pytest.mark.parametrize(
        "value",
        [
            pytest.param(
                {
                    "a": [1.5, {"c": []}, {}, [[1, {"f": "\n"}]]],
                    "d": {"e": None},
                    "b": 1,
                },
                id="nested",
            ),
            pytest.param({"a": [0.1, 1.0, -0.0, 1 / 3, 123456.789]}, id="floats"),
            pytest.param(
                {"a": ["".join(map(chr, range(127))), 'é€😀"\\/', "\udcff"]}, id="text"
            ),
            pytest.param({"a": [], "b": [[]]}, id="empty"),
            pytest.param({"a": [TakesLong("git takes long")]}, id="a warning"),
        ],
    )
    def test_is_what_python_writes(
        self, value: dict[str, Any], capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        expected = (
            as_utf8(json.dumps(value, ensure_ascii=False, indent=1)).encode() + b"\n"
        )
        write_json(value)
        with SpooledTemporaryFile() as items:
            for item in value["a"]:
                put_item(items, item)
            write_json_around(value | {"a": []}, "a", items)
        assert capsysbinary.readouterr().out == expected * 2

    def test_reads_back_to_the_last_digit_or_is_not_begun(
        self, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        with pytest.raises(TypeError):
            write_json({"a": 1, "b": [1.0, object()]})
        value = [1e-05, 1e16, 1.2345678901234568e17, 5e-324, -0.0, 0.1, 1e300]
        write_json(value)
        assert list(map(repr, json.loads(capsysbinary.readouterr().out))) == list(
            map(repr, value)
        )

    @pytest.mark.parametrize(
        ("value", "written"),
        [
            pytest.param(
                [float("nan"), float("inf"), -float("inf")],
                "[null, null, null]",
                id="no numbers",
            ),
            pytest.param([{"a": 1}, "\udcff"], '[{"a": 1}, "\ufffd"]', id="no text"),
            pytest.param(
                {"b": "ü\x9b\u200b", "c": {}},
                '{"b": "ü\\u009b\\u200b", "c": {}}',
                id="control characters",
            ),
        ],
    )
    def test_may_be_on_one_line(
        self, value: Any, written: str, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        write_json(value, indent=0)
        assert capsysbinary.readouterr().out.decode() == f"{written}\n"


class _Stream(io.StringIO):
    """Standard error as a terminal or as a pipe, which waits until something is on it."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal
        self.written = threading.Event()

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        self.written.set()
        return super().write(text)


class TestProgress:
    """What takes more than a second says on a terminal what it does."""

    def test_is_shown_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = _Stream(is_terminal=True)
        monkeypatch.setattr("sys.stderr", stream)
        with progress("Reading git"):
            assert stream.written.wait(30)
        assert stream.getvalue() == "Reading git \N{HORIZONTAL ELLIPSIS}\n"

    @pytest.mark.parametrize(("is_terminal", "seconds"), [(False, 1.5), (True, 0.0)])
    def test_is_not_shown_on_a_pipe_and_of_what_is_quick(
        self, monkeypatch: pytest.MonkeyPatch, is_terminal: bool, seconds: float
    ) -> None:
        stream = _Stream(is_terminal)
        monkeypatch.setattr("sys.stderr", stream)
        with progress("Reading git"):
            time.sleep(seconds)
        time.sleep(0 if seconds else 1.2)
        assert stream.getvalue() == ""

    @pytest.mark.usefixtures("here")
    @pytest.mark.parametrize(
        ("command", "says"),
        [
            ("init --yes --no-hook", "Looking at git and transcripts"),
            ("label next", "Scoring the log"),
            ("report --out report.html", "Reading transcripts and git"),
            ("run --rubric 3.1.0", "Scoring the log"),
            ("run --rubric 3.1.0", "Finding out what became of the work"),
            ("validate", "Scoring the log, and looking at what became of the work"),
            ("work", "Reading transcripts and git"),
            ("cost", "Reading transcripts and git"),
            ("outcomes", ""),
            ("explain 3", "Scoring the iteration"),
            ("iteration 3 --recompute", "Scoring the iteration"),
            (
                "check --min-score 0",
                "Scoring the log, and looking at what became of the work",
            ),
            ("doctor", "Looking at git and transcripts"),
            ("derive --dry-run", "Looking for commits of agents"),
            ("export --json", "Reading transcripts and git"),
            ("log signals", "Scoring the log"),
            ("log integrity", "Scoring the log"),
        ],
    )
    def test_is_shown_by_every_command_that_may_take_long(
        self,
        monkeypatch: pytest.MonkeyPatch,
        da_score: DaScore,
        command: str,
        says: str,
    ) -> None:
        monkeypatch.setattr("scoring.cli.output._LONG", 0.0)
        stream = _Stream(is_terminal=True)
        monkeypatch.setattr("sys.stderr", stream)
        assert da_score(*command.split()).status == 0
        assert f"{says} \N{HORIZONTAL ELLIPSIS}\n" in stream.getvalue()
