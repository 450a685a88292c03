"""One bad entry: a lenient rubric scores the rest, and a strict one scores nothing.

Both list every bad file.
"""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.commands import DaScore, Outcome
from helpers.projects import Project, edit, tree

LENIENT, STRICT = ("--rubric", "3.0.0"), ("--rubric", "2.1.0")

ARCHIVE = "iterations:\n  - {iteration: 20, task_id: old}\n  - iteration: 21\n    retries: lots\n"


@pytest.fixture
def broken(project: Path) -> Project:
    """The demo with two entries and one of its archive broken."""
    found = Project(project.parent)
    found.entry(2).write_text("schema_version: 2\niteration: [\n")
    edit(found.entry(5), "iteration: 5", "iteration: five")
    (found.log / "historical.yaml").write_text(ARCHIVE)
    return found


SAID = (
    "iter-2.yaml: line 3: ",
    "iter-5.yaml: line 2: iteration: 'five' where a whole number belongs",
    "historical.yaml: line 4: iterations.retries: 'lots' where a whole number belongs",
)
"""What is said of the broken files, in the order in which they are read."""


def errors(found: Outcome) -> list[str]:
    """The lines of standard error, without what every line begins with."""
    lines = found.err.splitlines()
    assert all(line.startswith("da-score: error: ") for line in lines), lines
    return [line.removeprefix("da-score: error: ") for line in lines]


WORK_COMMANDS = [("work",), ("outcomes",), ("report", "--terminal")]
"""Commands about the work: what they print does not rest on entries."""


@pytest.mark.parametrize("rubric", [LENIENT[1], STRICT[1], "3.1.0"])
@pytest.mark.parametrize("command", WORK_COMMANDS, ids=" ".join)
@pytest.mark.usefixtures("broken")
def test_commands_about_the_work_warn_and_go_on(
    da_score: DaScore,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    rubric: str,
) -> None:
    monkeypatch.setenv("DA_SCORE_RUBRIC", rubric)
    found = da_score(*command, "--verbose")
    assert (found.status, bool(found.out)) == (0, True)
    warnings = [
        line for line in found.err.splitlines() if line.endswith("; it is left out")
    ]
    assert len(warnings) == len(SAID)
    for line, said in zip(warnings, SAID, strict=True):
        assert line.startswith("da-score: warning: ")
        assert said in line


def assert_lists_them(found: Outcome) -> None:
    """Check that every broken file is named with line and reason, and nothing else is said."""
    assert found.status == 1
    lines = errors(found)
    assert len(lines) == len(SAID), lines
    for line, said in zip(lines, SAID, strict=True):
        assert said in line


COMMANDS = {
    "run": ("run", "--no-write"),
    "iteration": ("iteration", "3", "--recompute"),
    "signals": ("signals",),
    "integrity": ("integrity",),
    "explain": ("explain", "3"),
    "check": ("check", "--min-score", "0"),
    "check that fails": ("check", "--min-score", "1"),
    "export": ("export", "--tables", "iterations", "--out", "iterations.csv"),
    "records": ("records",),
}


@pytest.mark.parametrize(
    "rubric", [LENIENT, STRICT, ("--rubric", "3.1.0")], ids=" ".join
)
def test_an_old_sidecar_of_a_broken_entry_is_called_that_first(
    da_score: DaScore, project: Path, rubric: tuple[str, str]
) -> None:
    assert da_score("run").status == 0
    with Project(project.parent).entry(5).open("a") as entry:
        entry.write("commit: [\n")
    found = da_score("iteration", "5", *rubric)
    assert found.out.startswith("Iteration 5 ")
    broken, *_ = found.err.splitlines()
    assert "the entry is broken, and what is shown was scored before that: " in broken
    assert "iter-5.yaml: line " in broken


def test_explain_last_lists_each_broken_file_once(
    da_score: DaScore, broken: Project
) -> None:
    assert broken.log.is_dir()
    for rubric in (LENIENT, STRICT):
        assert_lists_them(da_score("explain", "last", *rubric))


@pytest.mark.parametrize("rubric", [LENIENT, STRICT], ids=" ".join)
@pytest.mark.parametrize(
    ("count", "last"),
    [
        pytest.param(50, "iter-149.yaml: ", id="each of a few"),
        pytest.param(51, "1 more fault is not shown", id="and another one"),
        pytest.param(53, "3 more faults are not shown", id="and how many others"),
    ],
)
def test_many_broken_files_are_counted(
    da_score: DaScore, project: Path, count: int, last: str, rubric: tuple[str, str]
) -> None:
    log = Project(project.parent).log
    for number in range(100, 100 + count):
        (log / f"iter-{number}.yaml").write_text("iteration: [\n")
    found = da_score("run", "--no-write", *rubric)
    assert found.status == 1
    lines = errors(found)
    assert len(lines) == min(count, 51)
    assert "iter-100.yaml: " in lines[0]
    assert last in lines[-1]


def test_the_error_that_ends_a_command_comes_after_many_broken_files(
    da_score: DaScore, project: Path
) -> None:
    log = Project(project.parent).log
    for number in range(100, 160):
        (log / f"iter-{number}.yaml").write_text("iteration: [\n")
    *_, hidden, last = errors(da_score("iteration", "77", "--recompute", *LENIENT))
    assert hidden == "10 more faults are not shown"
    assert "77" in last


class TestLenient:
    @pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
    @pytest.mark.usefixtures("broken")
    def test_the_rest_is_shown_and_every_broken_file_listed(
        self,
        da_score: DaScore,
        monkeypatch: pytest.MonkeyPatch,
        command: tuple[str, ...],
    ) -> None:
        monkeypatch.setenv("DA_SCORE_RUBRIC", LENIENT[1])
        found = da_score(*command)
        assert_lists_them(found)
        assert found.out

    @pytest.mark.usefixtures("broken")
    def test_backfill_scores_the_rest(self, da_score: DaScore) -> None:
        found = da_score("backfill", "--json", *LENIENT)
        assert_lists_them(found)
        (log,) = json.loads(found.out)["logs"]
        assert log["error"] is None
        assert [one["iteration"] for one in log["scored"]] == [1, 3, 4, 6, 7, 8, 9, 20]
        assert len(log["broken"]) == 3

    @pytest.mark.usefixtures("broken")
    def test_close_task_scores_what_was_closed_in_one_line(
        self, da_score: DaScore
    ) -> None:
        found = da_score("close-task", "9", *LENIENT)
        assert found.status == 0
        assert found.out.startswith("iteration 9  evidence score ")
        (line,) = found.err.splitlines()
        assert line.startswith("da-score: warning: ")
        assert all(
            name in line
            for name in ("iter-2.yaml: line 3", "iter-5.yaml", "historical.yaml")
        )
        assert da_score("close-task", "9", "--strict", *LENIENT).status == 1

    @pytest.mark.usefixtures("broken")
    def test_two_rubrics_of_which_one_is_strict_stop(self, da_score: DaScore) -> None:
        assert_lists_them(da_score("rubric", "diff", "3.0.0", "2.1.0"))
        assert da_score("rubric", "diff", "3.0.0", "2.1.0").out == ""
        found = da_score("rubric", "diff", "3.0.0", "3.0.0")
        assert_lists_them(found)
        assert "0 of 8 iterations" in found.out

    @pytest.mark.parametrize(
        "command", [("explain",), ("iteration", "--recompute")], ids=" ".join
    )
    @pytest.mark.usefixtures("broken")
    def test_only_one_that_is_nowhere_is_said_to_have_no_entry(
        self, da_score: DaScore, command: tuple[str, ...]
    ) -> None:
        found = da_score(*command, "2", *LENIENT)
        assert_lists_them(found)
        assert found.out == ""
        found = da_score(*command, "99", *LENIENT)
        assert (found.status, len(errors(found))) == (1, 4)
        assert errors(found)[-1].endswith(
            "iter-99.yaml: no entry for iteration 99 in this log"
        )

    @pytest.mark.usefixtures("broken")
    def test_a_check_that_cannot_read_entries_fails_in_every_form(
        self, da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        summary = tmp_path / "summary.md"
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        junit = tmp_path / "j.xml"
        files = ("--junit", junit, "--github-summary")
        found = da_score("check", "--min-score", "0", *LENIENT, *files)
        reason = "3 entries cannot be read, so the status is 1"
        assert found.status == 1
        assert f"FAIL  all iterations: entries: {reason}" in found.out.splitlines()
        assert found.out.splitlines()[-1].startswith(
            "check failed: the gates on entries hold for 8 of 8 iterations, "
        )
        assert (
            ElementTree.parse(junit).find(f".//failure[@message='{reason}']")
            is not None
        )
        assert "## da-score check: failed for " in summary.read_text()
        as_json = json.loads(
            da_score("check", "--min-score", "0", *LENIENT, "--json").out
        )
        assert as_json["passed"] is False


class TestStrict:
    def test_an_archive_that_is_not_yaml_stops_too_and_the_way_out_is_named(
        self, da_score: DaScore, project: Path
    ) -> None:
        log = Project(project.parent).log
        (log / "historical.yaml").write_text("iterations:\n- a: b: c\n")
        found = da_score("run", *STRICT)
        assert (found.status, found.out) == (1, "")
        (line,) = errors(found)
        assert (
            "historical.yaml: line 2: mapping values are not allowed in this context"
            in line
        )
        assert "in this context (column 7); rubric 2.1.0 stops there" in line
        assert line.endswith(
            "Mend that, or move each broken file out of the folder to score the rest by the same "
            "rubric; or leave it out: --rubric 3.1.0, which counts no claims, scores the other 9 "
            'and ends with status 1, as does rubric = "3.1.0" in .agents/da-score.toml'
        )
        scored = json.loads(da_score("run", "--rubric", "3.1.0", "--json").out)
        assert len(scored["iterations"]) == 9
        (log / "historical.yaml").rename(project / "historical.yaml")
        assert da_score("run", *STRICT).status == 0

    def test_no_way_out_is_named_where_no_entry_can_be_read(
        self, da_score: DaScore, project: Path
    ) -> None:
        for path in Project(project.parent).log.glob("iter-?.yaml"):
            path.write_text("{")
        assert "--rubric" not in da_score("run", *STRICT).err

    @pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
    def test_nothing_is_shown_or_written_and_every_broken_file_is_listed(
        self,
        da_score: DaScore,
        broken: Project,
        monkeypatch: pytest.MonkeyPatch,
        command: tuple[str, ...],
    ) -> None:
        monkeypatch.setenv("DA_SCORE_RUBRIC", STRICT[1])
        before = tree(broken.log)
        found = da_score(*command)
        assert_lists_them(found)
        assert found.out == ""
        assert tree(broken.log) == before
        assert (
            "; rubric 2.1.0 stops there as the reference does. Mend that, " in found.err
        )
        assert (
            "--rubric 3.1.0, which counts no claims, scores the other 8 " in found.err
        )

    def test_backfill_names_the_first_as_the_error_of_the_log(
        self, da_score: DaScore, broken: Project
    ) -> None:
        found = da_score("backfill", "--json", *STRICT)
        assert found.status == 1
        (log,) = json.loads(found.out)["logs"]
        assert log["error"] == log["broken"][0]
        assert len(log["broken"]) == 3
        assert broken.written() == []


class TestGatesOnWork:
    """They judge what can be read; an entry that cannot be read may name work that fails."""

    @pytest.mark.parametrize("rubric", [LENIENT, STRICT], ids=" ".join)
    @pytest.mark.parametrize("more", [(), ("--last", "3")], ids=["all", "last"])
    @pytest.mark.usefixtures("broken")
    def test_judge_the_rest_and_do_not_pass(
        self, da_score: DaScore, rubric: tuple[str, str], more: tuple[str, ...]
    ) -> None:
        found = da_score("check", "--max-reverted", "0", *rubric, *more)
        assert_lists_them(found)
        *reasons, last = found.out.splitlines()
        reason = "3 entries cannot be read, so the status is 1"
        assert f"FAIL  all iterations: entries: {reason}" in reasons
        assert last.startswith("check failed: ")
        assert " looked at, " in last

    @pytest.mark.parametrize("rubric", [LENIENT, STRICT], ids=" ".join)
    @pytest.mark.usefixtures("project")
    def test_pass_where_every_entry_can_be_read(
        self, da_score: DaScore, rubric: tuple[str, str]
    ) -> None:
        assert da_score("check", "--max-reverted", "1", *rubric).status == 0

    @pytest.mark.usefixtures("broken")
    def test_stop_at_them_beside_a_gate_on_scores(self, da_score: DaScore) -> None:
        gates = ("--max-reverted", "3", "--min-low", "0")
        found = da_score("check", *gates, *STRICT)
        assert (found.status, found.out) == (1, "")
