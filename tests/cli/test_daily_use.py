"""What makes commands convenient.

They work in any folder, take the beginning of an id, choose, and say a thing once.
"""

import json
import re
import shutil
from pathlib import Path

import pytest
from helpers.commands import DaScore, OnTerminal, lines_of, one_line
from helpers.labels import SOUND

from rubric import newest_version
from scoring.cli.output import Warnings
from scoring.errors import TakesLong
from scoring.evidence.git.repository import GitRepository

LOG = ".agents/active/iteration-log"


class TestWhereTheLogIs:
    @pytest.mark.parametrize(
        "folder", [".", "shortlink", f"{LOG}", "shortlink/deep/er"]
    )
    def test_is_found_from_any_folder_of_the_repository(
        self,
        da_score: DaScore,
        scored: Path,
        monkeypatch: pytest.MonkeyPatch,
        folder: str,
    ) -> None:
        expected = da_score("records").json
        inside = scored / folder
        inside.mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(inside)
        assert da_score("records").json == expected

    def test_is_not_looked_for_outside_of_it(
        self,
        da_score: DaScore,
        scored: Path,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> None:
        shutil.copytree(scored / LOG, tmp_path / LOG)
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path / "other")
        assert "no such file or directory" in one_line(da_score("records"))

    @pytest.mark.usefixtures("scored")
    def test_is_no_folder_that_is_not_there(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        place = tmp_path / "place"
        for said in ("there is no such folder", "not a folder"):
            assert one_line(da_score("run", "--repo-dir", place)).startswith(
                f"--repo-dir '{place}': {said}"
            )
            place.write_text("")

    @pytest.mark.usefixtures("project")
    def test_that_chooses_nothing_says_so(self, da_score: DaScore) -> None:
        found = da_score("run", "--since", "2031-01-01")
        assert found.out.endswith(
            "no iterations found in .agents/active/iteration-log "
            "that --last, --since and --task choose\n"
        )


class TestSession:
    def test_that_begins_like_another_names_both(
        self, da_score: DaScore, project: Path
    ) -> None:
        assert da_score("run").status == 0
        (project / LOG / "session-5c0e-other.score.yaml").write_text("")
        found = one_line(da_score("session", "5c0e"))
        assert found == (
            "several sessions begin with '5c0e': 5c0e-other, 5c0e1b7a-93d4-4f0e-8a6b-2d71c94be310"
        )

    def test_says_that_its_scores_are_current_or_stale(
        self, da_score: DaScore, project: Path, on_a_terminal: OnTerminal
    ) -> None:
        assert da_score("run").status == 0
        found = da_score("session", "5c0e", "--json").json
        assert (found["state"], [one["state"] for one in found["states"]]) == (
            "current",
            ["current"] * 4,
        )
        entry = project / LOG / "iter-4.yaml"
        entry.write_text(entry.read_text().replace("retries: ", "retries: 3"))
        found = da_score("session", "5c0e")
        assert (
            "warning: session 5c0e1b7a-93d4-4f0e-8a6b-2d71c94be310: iteration 4 stale: "
            in found.err
        )
        assert "stale" not in found.out
        assert (
            "its sidecar is stale: it says 0.707, its iterations give 0.700"
            in found.err
        )
        assert da_score("session", "5c0e", "--json").json["state"] == "stale"
        assert any(
            "good" not in line and "stale" in line
            for line in lines_of(on_a_terminal("session", "5c0e")[1])
        )

    @pytest.mark.parametrize(
        ("old", "new", "says"),
        [
            (
                "value: 0.7071841677569216",
                "value: 1",
                "it says 1.000, its iterations give 0.707",
            ),
            (
                "band: good\n",
                "band: excellent\n",
                "it says 0.707, its iterations give 0.707",
            ),
            (
                "value: 0.2882276115106456",
                "value: 0.9",
                "it says 0.707, its iterations give 0.707",
            ),
            (
                "    - 5\n",
                "",
                "it is of iterations 3-4, 6, and the log has 3-6; it says 0.707",
            ),
            (
                "rubric_version: 2.1.0",
                "rubric_version: 2.0.2",
                "it says 0.707, its iterations give 0.7",
            ),
            (
                "rubric_version: 2.1.0",
                "rubric_version: mine",
                "it was scored under rubric mine",
            ),
            ("", "", ""),
        ],
        ids=[
            "its value",
            "its band",
            "that of a member",
            "a member that is left out",
            "its rubric",
            "no rubric",
            "nothing",
        ],
    )
    def test_that_does_not_equal_what_its_iterations_give_is_stale(
        self, da_score: DaScore, project: Path, old: str, new: str, says: str
    ) -> None:
        assert da_score("run").status == 0
        before = da_score("session", "5c0e", "--json").json
        sidecar = project / LOG / f"session-{before['session_id']}.score.yaml"
        text = sidecar.read_text()
        sidecar.write_text(text.replace(old, new, 1))
        found, shown = (
            da_score("session", "5c0e", "--json"),
            da_score("session", "5c0e"),
        )
        if not says:
            assert (found.json, found.err, before["state"], before["state_reason"]) == (
                before,
                "",
                "current",
                None,
            )
            return
        assert found.json["state"] == "stale"
        assert found.json["state_reason"].startswith(says)
        assert f"its sidecar is stale: {says}" in shown.err
        if "rubric" not in old:
            assert {**found.json, "state": "current", "state_reason": None} == before
            assert "score 0.707   band good" in shown.out
        else:
            assert f"rubric {found.json['rubric_version']}" in shown.out

    def test_whose_entries_are_gone_has_no_score(
        self, da_score: DaScore, project: Path
    ) -> None:
        assert da_score("run").status == 0
        for n in range(3, 7):
            (project / LOG / f"iter-{n}.yaml").unlink()
        found = da_score("session", "5c0e", "--json").json
        assert (found["state"], found["scored"], found["iterations"]) == (
            "stale",
            False,
            [],
        )


class TestWarnings:
    @pytest.mark.parametrize(
        ("options", "lines"),
        [([], 3), (["-v"], 4), (["-q"], 0)],
        ids=["of one kind are one line", "one by one with -v", "none with -q"],
    )
    def test_are_said(
        self, da_score: DaScore, project: Path, options: list[str], lines: int
    ) -> None:
        assert da_score("run", "--rubric", "2.1.0").status == 0
        shutil.rmtree(project.parent / "transcripts" / "claude")
        (project.parent / "transcripts" / "claude").mkdir()
        said = da_score("run", "--rubric", "2.1.0", *options).err.splitlines()
        assert len(said) == lines

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            pytest.param("file 1 is broken", "file 2 is broken", id="numbers"),
            pytest.param("in /a/b.db: locked", "in /c/d.db: locked", id="paths"),
            pytest.param("./a: locked", "x/y/z: locked", id="relative paths"),
        ],
    )
    def test_that_differ_in_numbers_or_paths_are_one_line(
        self, capsys: pytest.CaptureFixture[str], first: str, second: str
    ) -> None:
        assert self.said(capsys, first, second) == [
            f"da-score: warning: {first} (and 1 more like it; -v says each)"
        ]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            pytest.param("in a/b: locked", "in a/b: too large", id="in reasons"),
            pytest.param("in ab: locked", "in cd: locked", id="in words"),
        ],
    )
    def test_that_differ_otherwise_are_two_lines(
        self, capsys: pytest.CaptureFixture[str], first: str, second: str
    ) -> None:
        assert len(self.said(capsys, first, second)) == 2

    def test_with_a_long_name_have_their_beginning_and_end(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (line,) = self.said(capsys, f"branch {'n' * 60_000} is gone")
        assert line.startswith("da-score: warning: branch nnn")
        assert line.endswith("nnn is gone")
        assert len(line) < 2_100

    def test_of_usual_length_are_whole(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = f"branch {'n' * 1_900} is gone"
        assert self.said(capsys, text) == [f"da-score: warning: {text}"]

    @pytest.mark.parametrize(
        ("text", "is_printed"),
        [
            pytest.param(TakesLong("git is slow"), True, id="that git takes long"),
            pytest.param("git is gone", False, id="not of what went wrong"),
        ],
    )
    def test_are_printed_while_the_command_runs(
        self, capsys: pytest.CaptureFixture[str], text: str, is_printed: bool
    ) -> None:
        warnings = Warnings()
        warnings.holds = True
        warnings.take(text)
        line = f"da-score: warning: {text}\n"
        assert capsys.readouterr().err == line * is_printed
        warnings.say()
        assert capsys.readouterr().err == line * (not is_printed)

    def said(self, capsys: pytest.CaptureFixture[str], *texts: str) -> list[str]:
        """Return the lines that a command prints that takes these warnings."""
        warnings = Warnings()
        warnings.holds = True
        for text in texts:
            warnings.take(text)
        warnings.say()
        return capsys.readouterr().err.splitlines()


class TestChoice:
    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(
        ("options", "chosen"),
        [
            pytest.param(["--last", "2"], [8, 9], id="the newest"),
            pytest.param(["--since", "2026-03-05"], [7, 8, 9], id="from a day on"),
            pytest.param(["--task", "redirect"], [3], id="of a task"),
            pytest.param(["--task", "*-slugs"], [6], id="of tasks by a pattern"),
            pytest.param(["--since", "2026-03-04", "--last", "1"], [9], id="both"),
        ],
    )
    def test_is_the_same_everywhere(
        self, da_score: DaScore, options: list[str], chosen: list[int]
    ) -> None:
        run = da_score("run", "--no-write", "--json", *options).json["iterations"]
        records = da_score("records", *options).json
        asked = da_score(
            "query", "select iteration from iterations order by 1", "--json", *options
        ).json
        assert [
            [one["iteration"] for one in rows] for rows in (run, records, asked)
        ] == [chosen] * 3

    @pytest.mark.usefixtures("project")
    def test_is_made_among_labels_too(self, da_score: DaScore) -> None:
        for n in (3, 9):
            assert da_score("label", n, *SOUND, "--as", "ann").status == 0
        assert [
            one["iteration"] for one in da_score("label", "list", "--json").json
        ] == [3, 9]
        assert [
            one["iteration"]
            for one in da_score("label", "list", "--json", "--last", "2").json
        ] == [9]


class TestGates:
    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(
        ("holds", "fails", "by"),
        [
            pytest.param(
                ["--min-coverage", "0.2"], ["--min-coverage", "0.5"], [2], id="coverage"
            ),
            pytest.param(
                ["--min-low", "0.1"], ["--min-low", "0.5"], [2, 5], id="the lower bound"
            ),
        ],
    )
    def test_of_evidence(
        self, da_score: DaScore, holds: list[str], fails: list[str], by: list[int]
    ) -> None:
        assert da_score("check", *holds).status == 0
        found = da_score("check", *fails)
        assert (found.status, found.out.count("FAIL  iteration")) == (3, len(by))

    def test_of_commits_fails_for_one_that_is_gone_and_not_for_one_that_landed_as_another(
        self, da_score: DaScore, project: Path
    ) -> None:
        assert da_score("check", "--no-unresolved-commits").status == 0
        entry = project / LOG / "iter-4.yaml"
        text = re.sub("summary: .*", "summary: no", entry.read_text())
        entry.write_text(re.sub("commit: .*", "commit: deadbeef12", text))
        found = da_score("check", "--no-unresolved-commits")
        said = (
            "FAIL  iteration 4: no-unresolved-commits: commit deadbeef12 is not in this repository;"
            " fetch it, or name in the entry the commit that it became"
        )
        assert (found.status, found.out.splitlines()[0]) == (3, said)


@pytest.mark.usefixtures("scored")
def test_a_rubric_that_does_not_exist_is_said_alone(da_score: DaScore) -> None:
    found = da_score(
        "explain", "3", "--rubric", "9.9.9", "--trunk", "main", "--transcripts", "auto"
    )
    assert (found.status, "9.9.9" in one_line(found)) == (1, True)


class TestRun:
    @pytest.mark.parametrize(
        ("branch", "rubric", "missing"),
        [
            pytest.param("main", "2.1.0", True, id="the reference's is not here"),
            pytest.param("master", "2.1.0", False, id="it is here"),
            pytest.param("main", "3.1.0", False, id="a rubric that finds it itself"),
        ],
    )
    def test_says_once_that_the_trunk_of_a_rubric_is_not_here(
        self, project: Path, da_score: DaScore, branch: str, rubric: str, missing: bool
    ) -> None:
        GitRepository(project).ask("branch", "-m", "master", branch)
        advice = f"or score with --rubric {newest_version('attributed')}, which finds the trunk or "
        advice += "takes --trunk ('da-score init' writes it into the settings)\n"
        problem = (
            f"there is no branch master, where rubric {rubric} looks for what landed"
        )
        follows = "so no commit counts as landed"
        asked = ("run", "--no-write", "--rubric", rubric)
        said = f"{problem}, {follows}: run 'git branch master TRUNK', {advice}"
        found = da_score(*asked)
        assert found.err.count(said) == missing
        landed = [
            iteration["breakdown"][0]["sub_score"]
            for iteration in json.loads(da_score(*asked, "--json").out)["iterations"]
        ]
        assert (max(landed) == 0) is missing

        repository = GitRepository(project)
        repository.ask("update-ref", "refs/remotes/origin/master", branch)
        command = "git branch master origin/master"
        said = f"{problem}, {follows}: run '{command}', {advice}"
        assert da_score(*asked).err.count(said) == missing
        if missing:
            assert repository.ask(*command.split()[1:]).returncode == 0
            assert problem not in da_score(*asked).err

    @pytest.mark.parametrize(
        ("claim", "rubric", "numbers"),
        [
            pytest.param(
                "True", "2.1.0", [3], id="capital, under the rules of the reference"
            ),
            pytest.param(
                "TRUE", "2.1.0", [3], id="all capital, under the rules of the reference"
            ),
            pytest.param("true", "2.1.0", [], id="spelled as the reference has it"),
            pytest.param(
                "'True'", "2.1.0", [], id="a text, which the reference takes for true"
            ),
            pytest.param("True", "3.1.0", [], id="a rubric that reads it as true"),
        ],
    )
    def test_says_once_that_a_claim_of_true_is_read_as_false(
        self,
        project: Path,
        da_score: DaScore,
        claim: str,
        rubric: str,
        numbers: list[int],
    ) -> None:
        entry = project / ".agents" / "active" / "iteration-log" / "iter-3.yaml"
        entry.write_text(
            f"schema_version: 1\niteration: 3\ntests_total_pass: {claim}\n"
        )
        told = da_score("run", "--no-write", "--rubric", rubric).err
        said = f"iteration 3: rubric {rubric} reads the claim True as false; write true"
        assert (told.count(said), told.count("as false")) == (
            len(numbers),
            len(numbers),
        )
        line = (
            f'{entry.name}:3: warning: tests_total_pass: "{claim}" is read as false by rubrics '
            "before 3.1.0; write true"
        )
        assert (line in da_score("lint").out) == (claim in ("True", "TRUE"))

    def test_says_lost_beside_a_score_that_lost_evidence(
        self, da_score: DaScore, project: Path, on_a_terminal: OnTerminal
    ) -> None:
        assert da_score("run").status == 0
        shutil.rmtree(project.parent / "transcripts" / "claude")
        (project.parent / "transcripts" / "claude").mkdir()
        found = {
            one["iteration"]: one
            for one in da_score("run", "-q", "--no-write", "--json").json["iterations"]
        }
        assert found[5]["lost"] == ["correction_pressure", "token_efficiency"]
        assert "lost" not in found[9]
        lines = lines_of(on_a_terminal("run", "--no-write")[1])
        at = next(n for n, line in enumerate(lines) if line.startswith("   5  "))
        assert any(
            line.endswith("lost: correction_pressure, token_efficiency")
            for line in lines[at : at + 3]
        )


@pytest.mark.usefixtures("scored")
def test_the_key_fact_stands_beside_a_detail(da_score: DaScore) -> None:
    rows = {
        row["signal"]: row
        for row in da_score("iteration", "5", "--json").json["breakdown"]
    }
    assert rows["verifier"]["fact"] == "load: fail, unit: partial"
    assert rows["token_efficiency"]["fact"] == "cache hit rate 0.82 over 6 turns"
    assert rows["correction_pressure"]["fact"] == "2 of 5 tool calls failed"
    assert rows["hook_outcomes"]["fact"] is None
    facts = {
        one["signal"]: one["fact"]
        for one in da_score("explain", "5", "--json").json["signals"]
    }
    assert facts["tests"] == "unit: fail"
    assert "load: fail" not in da_score("iteration", "5").out


def test_all_test_flags_of_schema_2_are_claims_under_3_1_0_alone(
    da_score: DaScore, project: Path
) -> None:
    entry = project / LOG / "iter-3.yaml"
    entry.write_text(
        "schema_version: 2\niteration: 3\ntask_id: redirect\nimpl: {tests_total_pass: true}\n"
    )
    rows = {}
    for version in ("2.1.0", "3.0.0", "3.1.0"):
        shown = da_score("explain", "3", "--rubric", version, "--json").json
        rows[version] = {row["signal"]: row for row in shown["signals"]}
    for signal in ("tests", "verifier"):
        assert [row[signal]["present"] for row in rows.values()] == [
            False,
            False,
            False,
        ]
    old, new = rows["2.1.0"], rows["3.1.0"]
    assert old["verifier"]["advice"] == "list verifiers with a status in the entry"
    assert new["tests"]["sources"] == [f"impl.tests_total_pass at {LOG}/iter-3.yaml:4"]
