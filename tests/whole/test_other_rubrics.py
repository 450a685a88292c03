"""Sidecars of another rubric than the one that is asked for: nothing is read under two at once."""

from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore

KEPT = "3.1.0"
ASKED = "2.1.0"
NOTE = f"the score is of rubric {KEPT}, and all else is read under {ASKED}"


@pytest.fixture
def kept(project: Path, da_score: DaScore) -> Path:
    """A project whose settings name no rubric, with sidecars of another one than the default."""
    assert da_score("run", "--rubric", KEPT).status == 0
    return project


def without_origin(page: str) -> list[str]:
    """Return the lines of a page but those that say where the score comes from."""
    others = ("The score ", "The sidecar ", "'da-score run' scores ", "This score ")
    return [line for line in page.splitlines() if not line.startswith(others)]


@pytest.mark.usefixtures("kept")
class TestExplain:
    def test_reads_all_under_the_rubric_of_the_sidecar(self, da_score: DaScore) -> None:
        found = da_score("explain", "5")
        named = da_score("explain", "5", "--rubric", KEPT)
        assert without_origin(found.out) == without_origin(named.out)
        assert f", under rubric {KEPT}" in found.out
        assert "the last test run before the commit passes" in found.out
        assert "The score comes from the sidecar." in found.out
        assert f"\n'da-score run' scores under rubric {ASKED} here, " in found.out
        assert f"under rubric {ASKED}" not in named.out
        assert da_score("explain", "5", "--json").json["state"] == "current"

    @pytest.mark.parametrize("option", [("--rubric", ASKED), ("--recompute",)])
    def test_computes_the_score_of_another_rubric(
        self, da_score: DaScore, option: tuple[str, ...]
    ) -> None:
        page = da_score("explain", "5", *option).out
        assert "every test flag of the entry is true" in page
        assert "was computed now, and nothing was written" in page
        assert f"\nThe sidecar has a score under rubric {KEPT}.\n" in page
        assert f", under rubric {ASKED}" in page


@pytest.mark.usefixtures("kept")
class TestIterationAndSession:
    def test_of_the_sidecar_say_when_another_rubric_is_asked_for(
        self, da_score: DaScore
    ) -> None:
        plain: dict[str, Any] = da_score("iteration", "5", "--json").json
        named = da_score("iteration", "5", "--json", "--rubric", ASKED).json
        assert (plain["state"], named["state"]) == ("current", "stale")
        assert f"scored under rubric {KEPT}" in named["state_reason"]
        states = {"state": None, "state_reason": None}
        assert named | states == plain | states

    def test_of_a_session_too(self, da_score: DaScore) -> None:
        session = da_score("iteration", "5", "--json").json["attribution"]["sessions"]
        named = da_score("session", session[0], "--rubric", ASKED)
        assert f"it was scored under rubric {KEPT}" in named.err
        assert da_score("session", session[0]).err == ""


@pytest.mark.usefixtures("kept")
class TestWholeLog:
    @pytest.mark.parametrize(
        "command",
        [
            ("report", "--terminal"),
            ("label", "next"),
            ("label", "agreement"),
            ("export", "--tables", "iterations"),
        ],
        ids=" ".join,
    )
    def test_says_that_the_scores_are_of_another_rubric(
        self, da_score: DaScore, command: tuple[str, ...]
    ) -> None:
        assert f"iterations 1-9: {NOTE}" in da_score(*command).err
        assert NOTE not in da_score(*command, "--rubric", KEPT).err

    def test_no_rubric_is_advised_that_is_not_here(
        self, kept: Path, da_score: DaScore
    ) -> None:
        for path in kept.rglob("iter-*.score.yaml"):
            text = path.read_text("utf-8")
            path.write_text(
                text.replace(f"rubric_version: {KEPT}", "rubric_version: 9"), "utf-8"
            )
        found = da_score("label", "agreement")
        assert "the score is of rubric 9, and all else" in found.err
        assert f"under {ASKED}; score it again with 'da-score run'" in found.err

    def test_the_report_names_the_rubric_of_its_scores(self, da_score: DaScore) -> None:
        page = da_score("report", "--terminal").out
        assert f"\nEvidence scores under rubric {KEPT}: not known yet if that" in page

    def test_check_uses_no_score_of_another_rubric(self, da_score: DaScore) -> None:
        found = da_score("check", "--min-score", "0")
        assert NOTE not in found.err
        assert f"note  iterations 1-9: stale: it was scored under rubric {KEPT}; " in (
            found.out
        )
