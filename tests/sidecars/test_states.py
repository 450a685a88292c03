"""What a sidecar is worth.

A forged one, a stale one, one whose evidence is gone, in every command that shows it.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.places import Place
from helpers.projects import edit

from scoring.log.settings import DEFAULT_LOG_DIR as LOG

RUBRICS = ("2.1.0", "3.0.0", "3.1.0")
WITH_PROVENANCE = ("3.1.0",)


@pytest.fixture(params=RUBRICS)
def rubric(
    request: pytest.FixtureRequest,
    project: Path,  # noqa: ARG001 - it is made before the rubric is set
    da_score: DaScore,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """A rubric under which the demo is scored."""
    monkeypatch.setenv("DA_SCORE_RUBRIC", request.param)
    assert da_score("run").status == 0
    return str(request.param)


def forge(
    project: Path, iteration: int, value: str = "1", band: str = "excellent"
) -> None:
    """Let a sidecar say more than the evidence gives."""
    path = project / LOG / f"iter-{iteration}.score.yaml"
    text = re.sub("^value: .*", f"value: {value}", path.read_text(), flags=re.M)
    path.write_text(re.sub("^band: .*", f"band: {band}", text, flags=re.M))


def lose_transcripts(project: Path) -> None:
    for folder in (project.parent / "transcripts").iterdir():
        shutil.rmtree(folder)
        folder.mkdir()


def states(da_score: DaScore, *arguments: str) -> dict[int, str]:
    """What ``check`` says of the iterations that are not current."""
    found = json.loads(da_score("check", "--min-score", "0", "--json", *arguments).out)
    return {
        one["iteration"]: one["state"]
        for one in found["iterations"]
        if one["state"] != "current"
    }


def state_in(da_score: DaScore, command: str, iteration: int) -> Any:
    if command == "export":
        rows = da_score(
            "export", "--tables", "iterations", "--format", "jsonl"
        ).out.splitlines()
        return {row["iteration"]: row["state"] for row in map(json.loads, rows)}[
            iteration
        ]
    return json.loads(da_score(command, str(iteration), "--json").out)["state"]


COMMANDS = ("explain", "iteration", "export")


@pytest.mark.usefixtures("rubric")
class TestEveryRubric:
    def test_what_was_just_scored_is_current_and_an_edited_entry_makes_it_stale(
        self, da_score: DaScore, project: Path
    ) -> None:
        assert states(da_score) == {}
        assert {state_in(da_score, command, 3) for command in COMMANDS} == {"current"}
        edit(project / LOG / "iter-3.yaml", "retries: 0", "retries: 4")
        assert {state_in(da_score, command, 3) for command in COMMANDS} == {"stale"}
        assert {state_in(da_score, command, 4) for command in COMMANDS} == {"current"}

    def test_an_edit_that_moves_no_number_leaves_it_current(
        self, da_score: DaScore, project: Path
    ) -> None:
        edit(project / LOG / "iter-3.yaml", "wave: links", "wave: other")
        assert states(da_score) == {}

    def test_the_way_to_the_repository_is_no_edit(
        self, da_score: DaScore, project: Path
    ) -> None:
        assert "0 scored" in da_score("backfill", str(project.parent)).out
        assert states(da_score) == {}

    def test_a_forged_one_fails_with_the_reason_whatever_the_gates(
        self, da_score: DaScore, project: Path
    ) -> None:
        forge(project, 5)
        found = da_score("check", "--min-score", "0")
        assert found.status == 3
        assert re.match(
            r"FAIL  iteration 5: sidecar: it says 1\.000, the evidence that is here gives 0\.\d",
            found.out,
        )
        assert states(da_score) == {5: "stale"}
        assert "This score is stale: it says 1.000" in da_score("explain", "5").out
        shown = da_score("iteration", "5")
        assert "stale: it says 1.000" in shown.out + shown.err
        assert da_score("check", "--min-score", "0", "--recompute").status == 0

    def test_one_with_more_coverage_is_said_to_be_so_in_plain_words(
        self, da_score: DaScore, project: Path, rubric: str
    ) -> None:
        if rubric == "2.1.0":
            pytest.skip("its sidecars have no coverage")
        path = project / LOG / "iter-5.score.yaml"
        row = r"(signal: human_label\n +label: .*\n +present: )false"
        text, count = re.subn(row, r"\1true", path.read_text())
        assert count == 1
        path.write_text(text)
        shown = da_score("explain", "5").out
        assert re.search(
            r"it says that [\d.]+ % of the weight has evidence, the evidence that is here gives ",
            shown,
        )

    def test_one_that_says_less_is_only_noted(
        self, da_score: DaScore, project: Path
    ) -> None:
        forge(project, 3, "0.1", "poor")
        assert da_score("check", "--min-score", "0").status == 0
        assert da_score("check", "--min-score", "0.2", "--last", "7").status == 0, (
            "the gates look at the evidence"
        )
        assert da_score("check", "--min-score", "0", "--no-stale").status == 3

    def test_one_that_cannot_be_read_is_stale(
        self, da_score: DaScore, project: Path
    ) -> None:
        assert da_score("check", "--no-stale").status == 0
        forge(project, 3, value=".nan")
        found = da_score("check", "--no-stale")
        assert found.status == 3
        assert "its sidecar is stale: it cannot be read" in found.out
        assert da_score("check", "--min-score", "0").status == 0


class TestEvidenceThatIsGone:
    @pytest.mark.usefixtures("rubric")
    def test_is_unverified_and_not_failed(
        self, da_score: DaScore, project: Path
    ) -> None:
        lose_transcripts(project)
        found = states(da_score)
        assert set(found.values()) <= {"unverified"}
        assert found
        assert da_score("check", "--min-score", "0").status == 0
        assert da_score("check", "--require-verified").status == 3
        assert da_score("check", "--no-stale").status == 0

    @pytest.mark.parametrize("version", WITH_PROVENANCE)
    def test_excuses_no_other_row_and_no_file_without_its_provenance(
        self,
        da_score: DaScore,
        project: Path,
        monkeypatch: pytest.MonkeyPatch,
        version: str,
    ) -> None:
        monkeypatch.setenv("DA_SCORE_RUBRIC", version)
        da_score("run")
        lose_transcripts(project)
        forge(project, 5)
        (project / LOG / "iter-3.evidence.yaml").unlink()
        found = states(da_score)
        assert (found[3], found[5], found[4]) == ("stale", "stale", "unverified")
        assert da_score("check", "--min-score", "0").status == 3

    def test_never_raises_a_score_without_the_word(
        self, da_score: DaScore, project: Path
    ) -> None:
        assert da_score("run", "--rubric", "3.1.0").status == 0
        lose_transcripts(project)
        assert (
            "Without the lost evidence it would be 1.000"
            in da_score("explain", "3", "--rubric", "3.1.0").out
        )
        assert (
            "lost evidence"
            in da_score("iteration", "3", "--recompute", "--rubric", "3.1.0").err
        )

    @pytest.mark.parametrize("code", ["", "**/*.py"])
    def test_without_a_repository_nothing_can_be_verified(
        self,
        da_score: DaScore,
        scored: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        code: str,
    ) -> None:
        monkeypatch.setenv("DA_SCORE_CODE_GLOBS", code)
        shutil.copytree(scored / LOG, tmp_path / "log")
        monkeypatch.chdir(tmp_path)
        found = json.loads(
            da_score("iteration", "3", "--iter-log-dir", "log", "--json").out
        )
        assert found["state"] == "unverified"

        found = json.loads(
            da_score("session", "5c0e", "--iter-log-dir", "log", "--json").out
        )
        assert found["state"] == "unverified"
        assert "its evidence cannot be read" in found["state_reason"]


def test_a_recomputed_iteration_brings_its_session_up_to_date(
    da_score: DaScore, project: Path
) -> None:
    da_score("run")
    session = next((project / LOG).glob("session-5c0e*.score.yaml"))
    before = session.read_text()
    edit(project / LOG / "iter-3.yaml", "retries: 0", "retries: 4")
    assert da_score("iteration", "3", "--recompute").err == ""
    after = session.read_text()
    assert after != before
    da_score("run")
    assert session.read_text() == after


def test_a_session_that_cannot_be_brought_up_to_date_is_named(
    da_score: DaScore, project: Path
) -> None:
    da_score("run")
    (project / LOG / "iter-4.score.yaml").unlink()
    found = da_score("iteration", "3", "--recompute")
    assert (
        "is old: there is no score of iteration 4 under rubric 2.1.0; 'da-score run' makes it"
        in found.err
    )


def test_one_from_before_it_was_known_whether_work_landed_says_no_more(
    place: Place, da_score: DaScore
) -> None:
    """A log with sidecars must not fail since time went on."""
    for n in (1, 2):
        place.iteration(n)
    place.session("two", place.turn(2), place.turn(2, 2))
    place.repo.branch("side")
    place.repo.git("update-ref", "refs/heads/main", "side~1")
    gates = ("check", "--rubric", "3.1.0", "--no-unresolved-commits")
    assert da_score("run", "--rubric", "3.1.0").status == 0
    later = place.repo.git(
        *("commit-tree", "main^{tree}", "-p", "main", "-m", "later"),
        time=place.repo.clock + 20 * 86_400,
    )
    place.repo.git("update-ref", "refs/heads/main", later)
    found = da_score(*gates)
    assert found.status == 0
    assert "note  iteration 2: stale: landed: absent there, here 0.00" in found.out
    assert da_score(*gates, "--no-stale").status == 3
    assert da_score("backfill", "--rubric", "3.1.0", "--refresh-git").status == 0
    assert da_score(*gates, "--no-stale").status == 0


def test_backfill_lays_no_edited_score_to_the_charge_of_git(
    place: Place, da_score: DaScore
) -> None:
    """Where the store does not know what a score was computed from, as in a fresh clone."""
    place.iteration(1)
    place.session("one", place.turn(1), place.turn(1, 2))
    assert da_score("run", "--rubric", "3.1.0").status == 0
    (path,) = place.repo.path.rglob("iter-1.score.yaml")
    written = path.read_text("utf-8")
    text, count = re.subn(r"(?m)^value: .*$", "value: 0.99", written)
    assert count == 1
    path.write_text(text, "utf-8")
    found = da_score("backfill", "--rubric", "3.1.0", "--no-cache").out
    assert "Git answers differently" not in found
    assert path.read_text("utf-8") == written
