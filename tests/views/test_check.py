"""Gates: what holds, what does not, and what a build gets to know of it."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias
from xml.etree import ElementTree

import pytest
from helpers.commands import DaScore, one_line
from helpers.facts import facts_of
from helpers.projects import edit
from helpers.repos import Repo

from rubric import default_rubric, released_rubric
from scoring.demo import Demo
from scoring.examine import ExaminedIteration, LogView
from scoring.log.model import IterationRecord
from scoring.log.selection import Selection
from scoring.score import score_log
from scoring.sidecars.scores import build_persisted_score
from scoring.signals.landed import LANDED
from scoring.signals.values import (
    ROLE_IMPL,
    IntegrityObservation,
    IterationObjectives,
    SignalSet,
    absent_signal,
    present_signal,
)
from scoring.views.gates import Verdict, check, demands_of
from scoring.views.gates.drops import MAX_DROP, Baseline, BaselineScore, Drop
from scoring.views.gates.gate import Demand
from scoring.views.gates.score_gates import NO_OVER_CLAIMS

Failure: TypeAlias = tuple[str, int | None]
NOTHING = IterationObjectives(absent_signal(""), absent_signal(""), absent_signal(""))


def examined(
    number: int,
    value: float | None,
    claimed: float | None = None,
    rubric: str = "2.1.0",
) -> ExaminedIteration:
    """One iteration whose only signal is landed."""
    landed = (
        absent_signal("not told") if value is None else present_signal(value, "told")
    )
    claim = absent_signal("") if claimed is None else present_signal(claimed, "said so")
    integrity = (IntegrityObservation(LANDED, ROLE_IMPL, claim, landed),)
    signals = SignalSet(number, {LANDED: landed}, NOTHING, integrity)
    record = IterationRecord(iteration=number, task_id=f"task-{number}")
    score = build_persisted_score(released_rubric(rubric).score(signals), record)
    return ExaminedIteration(facts_of(record), signals, score, score, "computed")


def checked(
    iterations: list[ExaminedIteration], last: int | None = None, **given: Any
) -> Verdict:
    """Check iterations by gates; a baseline may be given as it is."""
    log = LogView(Path(), Path(), rubric=default_rubric(), selection=Selection(last))
    before = given.pop("baseline", None)
    drop = (
        [Demand(MAX_DROP, Drop(given.pop("max_drop"), before, last))] if before else []
    )
    return check(iterations, demands_of(given, log) + drop, last)


def verdict(*values: float | None, **given: Any) -> Verdict:
    return checked([examined(n, value) for n, value in enumerate(values, 1)], **given)


def baseline(*values: float | None, version: str = "2.1.0") -> Baseline:
    return Baseline(
        "before",
        {n: BaselineScore(version, value, True) for n, value in enumerate(values, 1)},
    )


def failed(found: Verdict) -> list[Failure]:
    return [(failure.gate, failure.iteration) for failure in found.failures]


class TestGates:
    @pytest.mark.parametrize(
        ("values", "gates", "failures"),
        [
            pytest.param(
                (0.4, 1), {"min_score": 0.5}, [("min-score", 1)], id="a score below"
            ),
            pytest.param((0.4, 1), {"min_score": 0.4}, [], id="a score on the limit"),
            pytest.param(
                (0.4, 1), {"min_band": "fair"}, [("min-band", 1)], id="a band below"
            ),
            pytest.param((0.4, 1), {"min_band": "poor"}, [], id="a band on the limit"),
            pytest.param(
                (0.4, 1), {"min_mean": 0.71}, [("min-mean", None)], id="a mean below"
            ),
            pytest.param((0.4, 1), {"min_mean": 0.7}, [], id="a mean on the limit"),
            pytest.param(
                (0.4, 1),
                {"min_score": 0.5, "min_mean": 0.9},
                [("min-score", 1), ("min-mean", None)],
                id="two gates",
            ),
            pytest.param(
                (None, 1),
                {"no_unscored": True},
                [("no-unscored", 1)],
                id="one without a score",
            ),
            pytest.param((0.2, 1), {"no_unscored": True}, [], id="each with a score"),
        ],
    )
    def test_of_scores(
        self, values: Sequence[float], gates: dict[str, Any], failures: list[Failure]
    ) -> None:
        assert failed(verdict(*values, **gates)) == failures

    def test_an_unscored_iteration_is_noted(self) -> None:
        found = verdict(None, 1.0, min_score=0.5, min_mean=0.9)
        assert found.passed
        assert found.iterations[0].notes == (
            "no signal is present, so there is no score to check",
        )

    @pytest.mark.parametrize(
        ("values", "limit", "before", "failures"),
        [
            pytest.param((0.4, 0.6), 0.1, (0.6, 0.6), [("max-drop", 1)], id="one fell"),
            pytest.param((0.4, 0.6), 0.1, (0.5, 0.6), [], id="fell by the limit"),
            pytest.param((0.4, 0.6), 0.1, (0.4, 0.4), [], id="none fell"),
            pytest.param((0.4, 0.6), 0.1, (None, 0.4), [], id="had no score"),
            pytest.param(
                (0.4, 0.6),
                0.1,
                (0.9, 0.9),
                [("max-drop", 1), ("max-drop", 2), ("max-drop", None)],
                id="the mean too",
            ),
            pytest.param((0.9, 0.1), 0.5, (0.9,), [], id="one is new"),
            pytest.param(
                (0.9, 0.1),
                0.2,
                (0.9,),
                [("max-drop", None)],
                id="one is new and lowers the mean",
            ),
        ],
    )
    def test_of_drops(
        self,
        values: Sequence[float],
        limit: float,
        before: Sequence[float | None],
        failures: list[Failure],
    ) -> None:
        found = verdict(*values, max_drop=limit, baseline=baseline(*before))
        assert failed(found) == failures
        assert found.iterations[1].notes == (
            () if len(before) == 2 else ("not in the baseline before",)
        )

    def test_scores_of_two_rubrics_are_not_compared(self) -> None:
        mixed = Baseline(
            "before",
            {
                1: BaselineScore("1.0.0", 1.0, True),
                2: BaselineScore("2.1.0", 0.6, True),
            },
        )
        found = verdict(0.4, 0.6, max_drop=0.1, baseline=mixed)
        assert found.passed
        assert "under rubric 1.0.0" in found.iterations[0].notes[0]
        found = verdict(0.4, max_drop=0.1, baseline=baseline(1.0, version="1.0.0"))
        assert failed(found) == [("max-drop", None)]
        assert (
            "no iteration has a score under the rubric of" in found.failures[0].reason
        )
        assert "under rubric 1.0.0" in found.iterations[0].notes[0]

    def test_of_drops_compares_the_mean_of_the_newest_with_theirs(self) -> None:
        before = baseline(1.0, 1.0, 0.4, 0.4)
        newest = [examined(n, 0.4) for n in (3, 4)]
        assert checked(newest, 2, max_drop=0.1, baseline=before).passed
        assert failed(checked(newest, max_drop=0.1, baseline=before)) == [
            ("max-drop", None)
        ]

    @pytest.mark.parametrize(
        ("numbers", "chosen", "named"),
        [
            pytest.param([1, 2, 3, 4], {}, "", id="none"),
            pytest.param([1, 4], {}, "iterations 2-3", id="in between"),
            pytest.param([2, 3, 4], {}, "iteration 1", id="the oldest"),
            pytest.param([3, 4], {"last": 2}, "", id="older than the last"),
            pytest.param([2, 4], {"last": 2}, "iteration 3", id="among the last"),
            pytest.param([4], {"is_of_part": True}, "", id="a part is checked"),
        ],
    )
    def test_of_drops_notes_what_the_log_leaves_out(
        self, numbers: list[int], chosen: dict[str, Any], named: str
    ) -> None:
        scores = [examined(number, 0.5).score for number in numbers]
        drop = Drop(0.1, baseline(0.5, 0.5, 0.5, 0.5), **{"last": None, **chosen})
        note = (
            f"{named} of the baseline before: not in the log, so no score is compared"
        )
        assert list(MAX_DROP.log_notes(drop, scores)) == ([note] if named else [])

    @pytest.mark.parametrize(
        ("is_of_part", "numbers", "fell"),
        [
            pytest.param(False, [3, 4], True, id="the whole log is checked"),
            pytest.param(True, [3, 4], False, id="a part, as good as before"),
            pytest.param(True, [1, 2], True, id="a part, worse than before"),
        ],
    )
    def test_of_drops_compares_a_part_with_the_same_iterations(
        self, is_of_part: bool, numbers: list[int], fell: bool
    ) -> None:
        scores = [examined(number, 0.4).score for number in numbers]
        drop = Drop(0.1, baseline(1.0, 1.0, 0.4, 0.4), None, is_of_part)
        assert bool(list(MAX_DROP.log_reasons(drop, scores))) == fell

    def test_of_claims(self) -> None:
        claims = [
            examined(1, 0.5, 1.0),
            examined(2, 0.5, 0.5),
            examined(3, 0.5, None),
            examined(4, None, 1.0),
        ]
        found = checked(claims, no_over_claims=True)
        assert failed(found) == [("no-over-claims", 1)]
        assert (
            found.failures[0].reason
            == "impl over-claimed landed: claimed 1.00 (said so), observed 0.50 (told);"
            " do what was claimed, or correct the claim in the entry"
        )

    def test_of_claims_say_what_they_compare(self) -> None:
        """The entry may say in words that tests pass: only its fields are compared."""
        found = checked([examined(1, 0.5, None)], no_over_claims=True)
        assert (found.passed, found.notes) == (
            True,
            [
                "no field of an entry claims what can be compared with an observation (what "
                "agents say in words does not count), so there was nothing to judge for "
                "--no-over-claims"
            ],
        )
        (option,) = NO_OVER_CLAIMS.options
        assert option.help.endswith("What agents say in words does not count.")

    def test_reasons_name_the_signal_that_cost_most(self) -> None:
        assert (
            verdict(0.4, min_score=0.5).failures[0].reason
            == "score 0.400 is below 0.5; landed cost most: told;"
            " what would raise landed: the commit is on the trunk and stays there"
        )


def break_tests(demo: Demo) -> None:
    edit(
        demo.iter_log_dir / "iter-3.yaml",
        "tests_total_pass: true",
        "tests_total_pass: false",
    )


@pytest.mark.usefixtures("here")
class TestCommand:
    def test_passes(self, da_score: DaScore) -> None:
        found = da_score("check", "--min-score", "0.2", "--min-band", "poor")
        assert (found.status, found.err) == (0, "")
        assert found.out.startswith(
            "check passed: the gates on entries hold for 9 of 9 iterations, mean score 0.749 "
        )

    def test_fails_with_status_3_and_says_which(self, da_score: DaScore) -> None:
        found = da_score("check", "--min-score", "0.6", "--no-over-claims")
        assert (found.status, found.err) == (3, "")
        lines = found.out.splitlines()
        assert lines[0].startswith(
            "FAIL  iteration 2: min-score: score 0.500 is below 0.6; "
        )
        assert any(
            line.startswith(
                "FAIL  iteration 5: no-over-claims: impl over-claimed landed: "
            )
            for line in lines
        )
        assert lines[-1].startswith(
            "check failed: the gates on entries hold for 4 of 9 iterations"
        )

    @pytest.mark.parametrize(
        ("options", "source"),
        [
            ((), "transcripts from ../transcripts/claude, ../transcripts/codex"),
            (("--transcripts", "none"), "no transcripts"),
        ],
    )
    def test_the_last_line_says_what_was_read(
        self, da_score: DaScore, options: tuple[str, ...], source: str
    ) -> None:
        *_, last = da_score("check", "--min-score", "0.2", *options).out.splitlines()
        settings = ", ".join([".agents/da-score.toml", *options[:1]])
        assert last == (
            "check passed: the gates on entries hold for 9 of 9 iterations, mean score 0.749   "
            f"Source: .agents/active/iteration-log; settings from {settings}; {source}"
        )

    def test_the_last_line_says_that_entries_cannot_be_read(
        self, demo: Demo, da_score: DaScore
    ) -> None:
        for number in (3, 7):
            (demo.iter_log_dir / f"iter-{number}.yaml").write_text("iteration: [")
        found = da_score(
            "check", "--min-score", "0", "--rubric", "3.1.0", "--allow-empty"
        )
        *_, last = found.out.splitlines()
        assert found.status == 1
        assert last.startswith(
            "check failed: the gates on entries hold for 7 of 7 iterations, but not for the "
            "log as a whole, "
        )
        assert "2 entries cannot be read" in found.out

    def test_notes_that_a_sidecar_says_less_than_the_evidence(
        self, demo: Demo, da_score: DaScore
    ) -> None:
        da_score("run")
        edit(demo.iter_log_dir / "iter-3.score.yaml", "value: 0.93", "value: 0.13")
        found = da_score("check", "--min-score", "0.2")
        assert found.out.startswith(
            "note  iteration 3: stale: it says 0.133, the evidence gives 0.933\n"
        )
        assert da_score("check", "--min-score", "0.2", "--no-stale").status == 3

    def test_names_one_command_for_all_sidecars_that_are_stale(
        self, demo: Demo, da_score: DaScore
    ) -> None:
        da_score("run")
        for number in (3, 5):
            path = demo.iter_log_dir / f"iter-{number}.score.yaml"
            path.write_text(re.sub("value: .*", "value: 0.13", path.read_text()))
        gates = ("check", "--min-score", "0.2", "--no-stale")
        found = da_score(*gates)
        commands = re.findall("'(da-score .*?)'", found.out)
        assert commands == ["da-score backfill --refresh-git"] * 2
        assert da_score(*commands[0].split()[1:]).status == 0
        assert da_score(*gates).status == 0

    @pytest.mark.parametrize("written", [".nan", ".inf", "7", "-0.5"])
    def test_a_sidecar_of_impossible_numbers_is_scored_again(
        self, demo: Demo, da_score: DaScore, written: str
    ) -> None:
        da_score("run")
        edit(
            demo.iter_log_dir / "iter-5.score.yaml",
            "\nvalue: ",
            f"\nvalue: {written} #",
        )
        found = da_score("check", "--min-score", "0.3")
        assert found.status == 3
        assert found.out.startswith(
            "FAIL  iteration 5: min-score: score 0.288 is below 0.3"
        )
        value = written.removeprefix(".")
        warning = (
            f"its value {value} is not from 0 to 1; this iteration is scored again"
        )
        assert f"iter-5.score.yaml: {warning}" in found.err

    def test_a_log_without_iterations_does_not_hold(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        (tmp_path / "empty").mkdir()
        options = ("check", "--min-score", "0.3", "--iter-log-dir", tmp_path / "empty")
        assert da_score(*options).status == 3
        found = da_score(*options, "--allow-empty")
        assert found.status == 0
        assert found.err.endswith(
            "empty: holds no iterations, so there was nothing to check\n"
        )

    def test_as_json(self, da_score: DaScore) -> None:
        found = da_score("check", "--min-score", "0.3", "--json")
        data = json.loads(found.out)
        assert (found.status, data["passed"]) == (3, False)
        limits = (
            *(
                "min_band",
                "min_mean",
                "min_coverage",
                "min_low",
                "max_drop",
                "baseline",
                "last",
            ),
            *("max_reverted", "max_taken_back", "max_lost_cost"),
        )
        switches = (
            "no_over_claims",
            "no_unscored",
            "no_unresolved_commits",
            "no_stale",
            "require_verified",
            "no_failing_tests",
        )
        assert data["gates"] == {"min_score": 0.3} | dict.fromkeys(
            limits
        ) | dict.fromkeys(switches, False)
        assert [i["iteration"] for i in data["iterations"] if not i["passed"]] == [5]

    def test_as_junit(self, da_score: DaScore, tmp_path: Path) -> None:
        assert (
            da_score(
                "check",
                "--min-score",
                "0.3",
                "--min-mean",
                "0.9",
                "--junit",
                tmp_path / "j.xml",
            ).status
            == 3
        )
        suite = ElementTree.parse(tmp_path / "j.xml").getroot()[0]
        assert (suite.get("tests"), suite.get("failures")) == ("10", "2")
        broken = {
            case.get("name"): failure
            for case in suite
            if (failure := case.find("failure")) is not None
        }
        assert set(broken) == {"iteration 5 (limit-requests)", "the log as a whole"}
        failure = broken["iteration 5 (limit-requests)"]
        assert (failure.get("type"), "0.288" in (failure.get("message") or "")) == (
            "min-score",
            True,
        )

    @pytest.fixture
    def summary(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        path = tmp_path / "summary.md"
        path.write_text("before\n")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
        return path

    def test_appends_to_the_summary_of_a_workflow(
        self, da_score: DaScore, summary: Path
    ) -> None:
        assert da_score("check", "--min-score", "0.3", "--github-summary").status == 3
        text = summary.read_text()
        assert text.startswith("before\n## da-score check: failed for 1 reason\n")
        assert "| 5 | min-score | score 0.288 is below 0.3; landed cost most" in text
        assert text.count("\n| ") >= 10

    @pytest.mark.parametrize("rubric", ["3.1.0", "2.1.0"])
    def test_a_summary_names_bands_as_every_page_does(
        self, da_score: DaScore, summary: Path, rubric: str
    ) -> None:
        da_score("check", "--min-score", "0", "--rubric", rubric, "--github-summary")
        text = summary.read_text()
        assert ("| not enough evidence |" in text) is (rubric == "3.1.0")
        assert "insufficient" not in text

    @pytest.mark.parametrize(
        ("gate", "most", "what"),
        [
            pytest.param("max-reverted", "0", "the work", id="the work fails"),
            pytest.param("min-mean", "0.9", "all iterations", id="the mean fails"),
        ],
    )
    def test_a_summary_says_what_fails_where_no_iteration_does(
        self, da_score: DaScore, summary: Path, gate: str, most: str, what: str
    ) -> None:
        assert da_score("check", f"--{gate}", most, "--github-summary").status == 3
        text = summary.read_text()
        assert f"\n| {what} | {gate} | " in text
        assert ("\nWork: 9 units of work looked at" in text) is (what == "the work")

    def test_text_of_a_log_is_text_in_a_summary(
        self, demo: Demo, da_score: DaScore, summary: Path, tmp_path: Path
    ) -> None:
        edit(
            demo.iter_log_dir / "iter-1.yaml",
            "task_id: store-links",
            'task_id: "<b>|`x`\\n# [a](b)"',
        )
        da_score(
            "check",
            "--min-score",
            "0.3",
            "--github-summary",
            "--junit",
            tmp_path / "j.xml",
        )
        assert "| &#60;b&#62;\\|\\`x\\`\\\\n# \\[a\\](b) |" in summary.read_text()
        ElementTree.parse(tmp_path / "j.xml")

    @pytest.mark.parametrize(
        ("arguments", "status", "said"),
        [
            (
                ["--min-band", "great"],
                2,
                "rubric 2.1.0 has no band 'great'; it has excellent, good",
            ),
            (["--baseline", "master"], 2, "--max-drop and --baseline go together"),
            (
                ["--max-drop", "0.1", "--baseline", "nope"],
                1,
                "'nope' is neither a file nor a revision of .",
            ),
            (
                ["--max-drop", "0.1", "--baseline", "-x"],
                1,
                "'-x' is neither a file nor a revision of .",
            ),
            (
                ["--max-drop", "0.1", "--baseline", "master"],
                1,
                "no iter-N.score.yaml is committed there",
            ),
            (
                ["--min-score", "0.1", "--github-summary"],
                1,
                "GITHUB_STEP_SUMMARY names no file",
            ),
        ],
    )
    def test_mistakes_are_said_in_a_line(
        self, da_score: DaScore, arguments: list[str], status: int, said: str
    ) -> None:
        found = da_score("check", *arguments)
        assert (found.status, said in one_line(found)) == (status, True)


ROW = '{"iteration": 3, "rubric_version": "2.1.0", "scored": true, "score": VALUE}'


@pytest.mark.usefixtures("here")
class TestBaseline:
    @pytest.mark.parametrize(
        "command",
        [
            "run --no-write --json",
            "check --min-score 0 --json",
            "export --tables iterations --format jsonl",
        ],
    )
    def test_is_a_file_that_another_command_printed(
        self, demo: Demo, da_score: DaScore, tmp_path: Path, command: str
    ) -> None:
        before = tmp_path / "before.json"
        before.write_text(da_score(*command.split()).out)
        assert da_score("check", "--max-drop", "0.1", "--baseline", before).status == 0
        break_tests(demo)
        found = da_score("check", "--max-drop", "0.05", "--baseline", before)
        assert found.status == 3
        assert found.out.startswith("FAIL  iteration 3: max-drop: score 0.")

    @pytest.mark.parametrize(
        ("options", "is_noted"),
        [
            pytest.param([], True, id="all"),
            pytest.param(["--task", "redirect"], False, id="of a task"),
            pytest.param(["--last", "1"], False, id="older than the last"),
        ],
    )
    def test_may_have_an_iteration_that_the_log_leaves_out(
        self,
        demo: Demo,
        da_score: DaScore,
        tmp_path: Path,
        options: list[str],
        is_noted: bool,
    ) -> None:
        before = tmp_path / "before.json"
        before.write_text(da_score("run", "--no-write", "--json").out)
        (demo.iter_log_dir / "iter-1.yaml").unlink()
        gate = ["--max-drop", "1", "--baseline", before]
        found = da_score("check", *gate, *options)
        assert (found.status, "not in the log" in found.out) == (0, is_noted)

    def test_is_a_revision_that_has_the_sidecars(
        self, demo: Demo, da_score: DaScore
    ) -> None:
        da_score("run")
        repo = Repo.at(demo.repo_dir)
        repo.git("add", "-f", str(demo.iter_log_dir))
        repo.git("commit", "-qm", "scores")
        assert da_score("check", "--max-drop", "0", "--baseline", "HEAD").status == 0
        repo.tag("master", "HEAD~1")  # it has none, and is not the branch
        assert da_score("check", "--max-drop", "0", "--baseline", "master").status == 0
        monday = (
            score_log(demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs)
            .iterations[2]
            .score.value
        )
        break_tests(demo)
        found = da_score("check", "--max-drop", "0.01", "--baseline", "HEAD")
        assert found.status == 3
        assert "of HEAD (" in found.out
        assert f"below the {monday:.3f}" in found.out

    @pytest.mark.parametrize(
        "text",
        [
            *(
                "",
                "nonsense",
                "{}",
                "[]",
                '{"iterations": [1]}',
                '{"iterations": {}}',
                "null",
            ),
            *(
                ROW.replace("VALUE", value)
                for value in ("NaN", "7", "-1", "true", '"1"', "Infinity")
            ),
        ],
    )
    def test_that_holds_no_scores(
        self, da_score: DaScore, tmp_path: Path, text: str
    ) -> None:
        (tmp_path / "b").write_text(text)
        found = da_score("check", "--max-drop", "0.1", "--baseline", tmp_path / "b")
        assert (found.status, str(tmp_path / "b") in one_line(found)) == (1, True)
