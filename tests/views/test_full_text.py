"""How sure a score is, where it is shown: bounds and coverage in full text."""

import json
import re
from pathlib import Path

import pytest
from helpers.commands import DaScore, OnTerminal, lines_of
from helpers.projects import CODEX_SESSION, Project

from rubric import RubricError, newest_version, released_rubric, rubric_versions

FULL, CUT, ENOUGH = ("--rubric", "3.0.0"), ("--rubric", "2.1.0"), ("--rubric", "3.1.0")
DASH = "\N{EN DASH}"
BOUNDS = rf"\(0\.\d\d{DASH}[01]\.\d\d\)"


@pytest.mark.usefixtures("project")
class TestPipe:
    def test_of_a_run_has_coverage_and_whole_names(self, da_score: DaScore) -> None:
        full, cut = (
            da_score("run", "--no-write", *FULL).out,
            da_score("run", "--no-write", *CUT).out,
        )
        coverage = r"\d of 8 signals, \d+\.\d % of the weight"
        row = rf"^2 +choose-alphabet +Compared slug .* +- +0\.500 +{BOUNDS} +{coverage} +2026"
        assert re.search(row, full, re.M)
        assert ("COVERAGE" in full, CODEX_SESSION in full, "..." in full) == (
            True,
            True,
            False,
        )
        assert ("COVERAGE" in cut, "choose-al..." in cut) == (False, True)
        assert DASH not in cut

    def test_of_an_iteration_and_a_session_are_those_of_the_rubric_that_scored_them(
        self, da_score: DaScore
    ) -> None:
        da_score("run", *FULL)
        iteration, session = (
            da_score("iteration", "5").out,
            da_score("session", CODEX_SESSION).out,
        )
        assert re.search(r"^\d of 8 signals, \d+\.\d % of the weight$", iteration, re.M)
        assert "..." not in iteration
        assert re.search(
            r"^3 of 3 iterations scored, \d+\.\d % of the weight on average$",
            session,
            re.M,
        )
        assert re.search(
            rf"^8 +daily-totals +feat.* 0\.\d+ +{BOUNDS} +\d of 8 signals, ",
            session,
            re.M,
        )
        da_score("run", *CUT)
        shown = da_score("iteration", "5").out + da_score("session", CODEX_SESSION).out
        assert ("of the weight" in shown, "..." in shown) == (False, True)


@pytest.mark.usefixtures("project")
class TestTerminal:
    def test_has_bounds_beside_every_value(
        self, on_a_terminal: OnTerminal, da_score: DaScore
    ) -> None:
        assert da_score("run").status == 0
        for command in (
            "run --no-write",
            f"session {CODEX_SESSION}",
            "iteration 7",
            "explain 7",
        ):
            status, shown = on_a_terminal(*command.split())
            assert (
                status,
                f"0.864 (0.70{DASH}0.89)"
                in "\n".join(lines_of(shown)).replace("  (", " ("),
            ) == (0, True)

    def test_has_none_beside_what_is_not_scored(
        self, on_a_terminal: OnTerminal, tmp_path: Path
    ) -> None:
        (tmp_path / "log").mkdir()
        (tmp_path / "log" / "iter-1.yaml").write_text(
            "schema_version: 2\niteration: 1\n"
        )
        status, shown = on_a_terminal(
            "run", "--no-write", "--iter-log-dir", tmp_path / "log", *ENOUGH
        )
        (line,) = (line for line in lines_of(shown) if line.startswith("   1 "))
        assert (status, DASH in line) == (0, False)

    def test_says_that_there_is_not_enough_evidence(
        self, on_a_terminal: OnTerminal, da_score: DaScore
    ) -> None:
        shown = "\n".join(lines_of(on_a_terminal("run", *ENOUGH)[1]))
        assert ("not enough" in shown, "insufficient" in shown) == (True, False)
        assert (
            ", not enough evidence, under rubric"
            in da_score("explain", "6", *ENOUGH).out
        )
        assert (
            da_score("explain", "6", *ENOUGH, "--json").json["band"] == "insufficient"
        )


class TestMeans:
    def test_of_sessions_have_an_interval_in_json(
        self, da_score: DaScore, project: Path
    ) -> None:
        found = {
            session["session_id"]: session
            for session in da_score("run", "--json").json["sessions"]
        }
        for session in found.values():
            low, high = session["interval"]
            assert low <= session["value"] <= high
        assert (
            da_score("session", CODEX_SESSION, "--json").json["interval"]
            == found[CODEX_SESSION]["interval"]
        )
        assert (
            "interval" not in Project(project.parent).session(CODEX_SESSION).read_text()
        )

    @pytest.mark.usefixtures("project")
    def test_of_a_log_are_over_what_suffices_and_say_how_many_do_not(
        self, da_score: DaScore
    ) -> None:
        iterations = da_score("run", "--no-write", "--json", *ENOUGH).json["iterations"]
        enough = [
            one["value"]
            for one in iterations
            if one["scored"] and one["band"] != "insufficient"
        ]
        few = sum(one["band"] == "insufficient" for one in iterations)
        assert few
        text = da_score("report", "--terminal", *ENOUGH).out
        assert re.search(
            rf"^9 iterations in .*, {len(enough)} with enough evidence$", text, re.M
        )
        assert len(enough) == 9 - few
        found = da_score("check", "--min-score", "0", "--json", *ENOUGH).json
        assert found["mean"] == pytest.approx(sum(enough) / len(enough))


@pytest.mark.usefixtures("project")
class TestGates:
    def test_a_band_is_not_reached_without_evidence(self, da_score: DaScore) -> None:
        found = da_score("check", "--min-band", "poor", *ENOUGH, "--json")
        failures = [
            f["reason"]
            for one in json.loads(found.out)["iterations"]
            for f in one["failures"]
        ]
        assert (found.status, bool(failures)) == (3, True)
        assert all(
            reason.startswith("there is not enough evidence for a band: ")
            for reason in failures
        )

    def test_means_of_a_baseline_leave_out_what_does_not_suffice(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        now = da_score("run", "--no-write", "--json", *ENOUGH).json
        for one in now["iterations"]:
            if one["band"] == "insufficient":
                one["value"] = 0.999  # would lift the mean of the baseline far above
        before = tmp_path / "before.json"
        before.write_text(json.dumps(now))
        found = da_score(
            "check", *ENOUGH, "--max-drop", "0.01", "--baseline", before, "--json"
        )
        assert json.loads(found.out)["failures"] == []


class TestRubrics:
    def test_are_shown_with_what_their_data_asks_for(self, da_score: DaScore) -> None:
        shown = da_score("rubric", "show", "3.1.0").out
        for line in (
            "CLAIMS VOTE  no",
            "LOADING  lenient",
            "TEXT  full",
            "SIDECAR  bounds",
            "MINIMUM COVERAGE  40.0 %",
        ):
            assert f"\n{line}" in shown
        assert "\nMINIMUM COVERAGE  40.0 %" in shown
        found = da_score("rubric", "show", "3.1.0", "--json").json
        assert (found["claims_vote"], found["minimum_coverage"], found["loading"]) == (
            False,
            0.4,
            "lenient",
        )

    def test_the_newest_is_found_by_its_evidence(self) -> None:
        versions = rubric_versions()
        for evidence in ("reference", "attributed", "attributed"):
            newest = newest_version(evidence)
            later = versions[versions.index(newest) + 1 :]
            assert released_rubric(newest).evidence == evidence
            assert all(
                released_rubric(version).evidence != evidence for version in later
            )
        with pytest.raises(RubricError, match="'magic'"):
            newest_version("magic")
