"""A score in plain words: where every vote comes from, and what would have raised it."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.projects import edit
from msgspec import structs

from scoring.demo import Demo
from scoring.evidence.git.facts import (
    ANCESTOR,
    Landing,
    PartlyReverted,
    TakenBack,
    Trunk,
)
from scoring.evidence.transcripts.observed_facts import LinesFound, Observed
from scoring.examine import LogView
from scoring.log.load import load_iteration_log
from scoring.log.places import EntryPlaces, entry_places
from scoring.log.selection import Selection
from scoring.outcomes.outcome import Outcome
from scoring.sidecars.meaning import NOT_MEASURED
from scoring.views.explain import Explanation, explain
from scoring.views.explain_text import commands_to_read, explanation_page
from scoring.views.landing_text import undone_text
from scoring.views.outcome_pages import later_commits, outcome_text
from scoring.views.table import pipe_text

LOG = Path(".agents/active/iteration-log")


def explained(demo: Demo, number: int) -> Explanation:
    one = next(
        iter(
            LogView(
                LOG, Path(), demo.transcript_dirs, selection=Selection(only=(number,))
            ).examine()
        )
    )
    return explain(one, entry_places(LOG, number))


def outcome(**fields: Any) -> Outcome:
    known: dict[str, Any] = {
        "status": "known",
        "commit": "c" * 40,
        "lines_added": 74,
        "lines_changed": 74,
    }
    return Outcome(iteration=1, **known | fields)


class TestOutcomeInWords:
    TRUNK = Trunk("refs/heads/main", "main", "a" * 40, "")

    def test_is_that_of_what_took_the_work_back(self) -> None:
        taken = TakenBack("b" * 40, 71, 74, 86_400, said=False, subject="Tidy up")
        text = outcome_text(outcome(taken_back=taken, defective=True), None, 14)
        assert text == (
            '71 of its 74 lines were taken back by bbbbbbbbbbbb "Tidy up", 1 day later; '
            "its message does not mention a revert. It counts as defective."
        )
        assert text.startswith(undone_text(taken, "taken_back"))

    @pytest.mark.parametrize(
        ("lines", "text"),
        [(67, "reverted by "), (66, "reverted in 66 of its 74 lines by ")],
        ids=["nearly all", "less"],
    )
    def test_counts_lines_where_a_revert_took_only_some(
        self, lines: int, text: str
    ) -> None:
        taken = TakenBack("b" * 40, lines, 74, 86_400, said=True)
        assert undone_text(taken, "reverted") == text + "b" * 12

    @pytest.mark.parametrize("said", [True, False])
    def test_follows_the_state_of_the_work(self, said: bool) -> None:
        taken = TakenBack("b" * 40, 74, 74, 86_400, said=said, subject="Tidy up")
        became = outcome(taken_back=taken, reverted=True, defective=True)
        commit = "b" * 12
        if not said:
            commit += ' "Tidy up", 1 day later, which does next to nothing else'
        assert outcome_text(became, None, 14) == (
            f"It was reverted by {commit}. It counts as defective."
        )

    def test_is_a_sentence_for_each_fact(self) -> None:
        became = outcome(
            lines_changed=9,
            lines_fixed=2,
            fixed_in=("d" * 40,),
            partly_reverted=PartlyReverted("b" * 40, 3, 74),
            defective=False,
        )
        assert outcome_text(became, None, 14) == (
            "Within 14 days 9 of the 74 lines of code that it added were changed, 2 of them in "
            "what is called a fix: dddddddddddd. 3 of its 74 lines were reverted by bbbbbbbbbbbb. "
            "It does not count as defective."
        )

    @pytest.mark.parametrize(
        ("fixes", "text"),
        [
            ("abc", "aaaaaaaaaaaa, bbbbbbbbbbbb, cccccccccccc. "),
            (
                "abcde",
                "aaaaaaaaaaaa, bbbbbbbbbbbb, cccccccccccc and 2 more, which --json lists as "
                "fixed_in. ",
            ),
        ],
        ids=["all of three", "three of five"],
    )
    def test_names_the_fixes(self, fixes: str, text: str) -> None:
        fixed_in = tuple(letter * 40 for letter in fixes)
        became = outcome(lines_fixed=5, fixed_in=fixed_in, defective=True)
        assert f"5 of them in what is called a fix: {text}" in outcome_text(
            became, None, 14
        )

    def test_has_a_command_for_each_commit_that_undid_or_fixed_the_work(self) -> None:
        landing = Landing("attributed", self.TRUNK, sha="c" * 40, found_by=ANCESTOR)
        assert later_commits(outcome(), landing) == []
        fixed = outcome(fixed_in=tuple(letter * 40 for letter in "abde"))
        assert later_commits(fixed, landing) == ["a" * 12, "b" * 12, "d" * 12]

        taken = TakenBack("b" * 40, 71, 74, 86_400, said=False, subject="Tidy up")
        undone = outcome(taken_back=taken, fixed_in=("a" * 40,))
        reverted = structs.replace(landing, reverted_by="b" * 40)
        assert later_commits(undone, reverted) == ["b" * 12]
        assert pipe_text(commands_to_read([], ["b" * 12], [])) == (
            "\nTo read what undid or fixed the work\n  git show bbbbbbbbbbbb\n"
        )
        assert pipe_text(commands_to_read([], [], [])) == ""

    @pytest.mark.parametrize(
        "harness, said",
        [
            ("claude", "To read these lines\n  sed -n 2,5p t.jsonl\n"),
            (
                "opencode",
                "The numbers above count events of a document, not its lines.\n",
            ),
        ],
    )
    def test_has_commands_for_lines_and_not_for_events(
        self, harness: str, said: str
    ) -> None:
        seen = Observed(lines=(LinesFound(Path("t.jsonl"), 2, 5, 4),))
        assert pipe_text(commands_to_read([seen], [], [harness])) == f"\n{said}"

    def test_is_not_too_young_where_it_was_reverted_already(self) -> None:
        young = outcome(status="too_young")
        landing = Landing("attributed", self.TRUNK, sha="c" * 40, found_by=ANCESTOR)
        assert "too young to tell" in outcome_text(young, landing, 14)
        reverted = structs.replace(landing, reverted_by="b" * 40)
        assert outcome_text(young, reverted, 14) == ""


class TestPlaces:
    def test_are_the_lines_of_the_fields(self, demo: Demo) -> None:
        for record in load_iteration_log(demo.iter_log_dir):
            places = entry_places(demo.iter_log_dir, record.iteration)
            assert places.path is not None
            lines = places.path.read_text().splitlines()
            for field, line in places.lines.items():
                name = field.rsplit(".", 1)[-1]
                assert name in lines[line - 1] or name.isdigit()
            assert {"commit", "task_id"} <= places.lines.keys()

    def test_of_the_file_that_counts(self, tmp_path: Path) -> None:
        (tmp_path / "iter-2.yaml").write_text(
            "schema_version: 1\niteration: 7\ncommit: a\n"
        )
        (tmp_path / "iter-7.yaml").write_text(
            "schema_version: 1\n\niteration: 7\ncommit: b\n"
        )
        places = entry_places(tmp_path, 7)
        assert (places.place("commit"), places.place("date")) == (
            f"{tmp_path}/iter-7.yaml:4",
            None,
        )

    def test_in_the_archive_are_where_a_merged_field_is_defined(
        self, tmp_path: Path
    ) -> None:
        first = "- &x\n  iteration: 1\n  retries: 2\n"
        text = f"iterations:\n{first}- <<: *x\n  iteration: 2\n  commit: b\n"
        (tmp_path / "historical.yaml").write_text(text)
        places = entry_places(tmp_path, 2)
        assert places.lines == {"iteration": 6, "retries": 4, "commit": 7}
        assert places.place("commit") == f"{tmp_path}/historical.yaml:7"

    def test_are_those_of_fields_that_count_alone(self, tmp_path: Path) -> None:
        block = "impl:\n  retries: 3\nverifiers:\n- null\n- status: pass\n"
        text = f"schema_version: 2\niteration: 1\nretries: 2\n{block}"
        (tmp_path / "iter-1.yaml").write_text(text)
        places = entry_places(tmp_path, 1)
        assert places.place("retries") is None
        assert places.lines["impl.retries"] == 5
        assert places.lines["verifiers.0.status"] == 8

    @pytest.mark.parametrize("text", ["a: [", "- a\n- b", "x: &x [*x]"])
    def test_of_what_cannot_be_read_are_unknown(
        self, tmp_path: Path, text: str
    ) -> None:
        (tmp_path / "iter-1.yaml").write_text(text)
        assert entry_places(tmp_path, 1) == EntryPlaces()


@pytest.mark.usefixtures("here")
class TestExplanation:
    def test_names_a_scope_note_that_voted_as_the_source(
        self, da_score: DaScore
    ) -> None:
        found = da_score("explain", "2").out
        assert f"from scope_note at {LOG}/iter-2.yaml:" in found
        assert "so that git measures the scope" in found
        assert "write_scope" not in found

    def test_adds_up(self, demo: Demo) -> None:
        for number in range(1, 10):
            found = explained(demo, number)
            score = found.examined.score
            assert math.isclose(
                sum(s.contribution for s in found.signals), score.value, abs_tol=1e-12
            )
            costs = sum(s.cost for s in found.signals if s.cost is not None)
            assert math.isclose(score.value + costs, 1, abs_tol=1e-12)

    def test_names_where_every_vote_comes_from(self, demo: Demo) -> None:
        sources = {s.signal: s.sources for s in explained(demo, 5).signals}
        assert sources["landed"] == (
            f"commit f05ce0048ec2, named at {LOG}/iter-5.yaml:6",
        )
        assert (
            sources["scope"][1]
            == "write_scope in .agents/workflow/plans/links/TASKS.yaml"
        )
        assert sources["hook_outcomes"] == (f"{LOG}/iter-5.hook-outcomes.yaml",)
        assert sources["token_efficiency"] == (
            "transcripts after 2026-03-03 11:02:30 UTC, up to 2026-03-03 14:27:10 UTC",
        )
        assert f"verifiers.1.status at {LOG}/iter-5.yaml:34" in sources["verifier"]
        assert any("decision" in source for source in sources["correction_pressure"])
        for source in (
            part for found in sources.values() for part in found if ".yaml:" in part
        ):
            path, line = source.split(" at ")[-1].rsplit(":", 1)
            assert int(line) <= len(Path(path).read_text().splitlines())

    def test_knows_what_would_have_raised_the_score(self, demo: Demo) -> None:
        found = explained(demo, 5)
        assert [s.signal for s in found.raises][:2] == ["landed", "verifier"]
        assert math.isclose(found.raises[0].could_add, 0.2)

    def test_says_what_each_part_adds_in_plain_words(self, demo: Demo) -> None:
        text = pipe_text(explanation_page(explained(demo, 5), "", NOT_MEASURED))
        assert (
            "7 of 7 signals have evidence, with 100.0 % of the rubric's weight." in text
        )
        assert (
            "Verifier results: 0.250 of 1, times 18.0 % of the score: "
            "it adds 0.045 and could have added 0.180\n" in text
        )
        for riddle in ("vote", "rests on", "gave ", "behind"):
            assert riddle not in text

    def test_of_a_full_score_says_whether_every_signal_voted(self, demo: Demo) -> None:
        found = explained(demo, 1)
        assert found.raises == []
        nothing = "nothing: every signal with evidence is at 1, and"
        text = pipe_text(explanation_page(found, "", NOT_MEASURED))
        assert f"{nothing} the others could only lower the score\n" in text

        voted = found._replace(signals=tuple(s for s in found.signals if s.present))
        assert f"{nothing} none is without evidence\n" in pipe_text(
            explanation_page(voted, "", NOT_MEASURED)
        )

    def test_what_has_no_part_could_have_raised_nothing(self, demo: Demo) -> None:
        one = explained(demo, 2).examined
        for part in (True, False):
            rows = tuple(
                replace(row, applicable=part or row.signal != "landed")
                for row in one.score.breakdown
            )
            found = explain(
                structs.replace(one, score=structs.replace(one.score, breakdown=rows)),
                EntryPlaces(),
            )
            assert ("landed" in {s.signal for s in found.raises}) is part

    def test_of_a_silent_signal_says_what_its_vote_could_add(self, demo: Demo) -> None:
        found = explained(demo, 2)
        (landed,) = (s for s in found.signals if s.signal == "landed")
        votes = sum(
            row.nominal_weight for row in found.examined.score.breakdown if row.present
        )
        better = (found.examined.score.value * votes + 0.2) / (votes + 0.2)
        assert math.isclose(landed.could_add, better - found.examined.score.value)
        assert (landed.present, bool(landed.advice)) == (False, True)

    def test_reads_as_text(self, da_score: DaScore) -> None:
        found = da_score("explain", "5")
        assert (found.status, found.err) == (0, "")
        assert found.out.startswith(
            "Iteration 5 (limit-requests)\n"
            "Commit f05ce0048ec2: feat(limits): limit requests per client\n"
            "Reverted: commit f05ce0048ec2 reachable but reverted by dc5fe68d151e\n"
            "Evidence score 0.288 (0.29–0.29), under rubric 2.1.0: not known yet "
            "if that foretells anything: run da-score validate.\n"
        )
        assert (
            "\n  +0.200  Landed on master: the commit is on the trunk and stays there\n"
            in found.out
        )
        assert (
            "observed 0.00 (commit f05ce0048ec2 reachable but reverted by dc5fe68d151e): "
            "over-claimed\n" in found.out
        )
        assert "was computed now, and nothing was written" in found.out

    def test_names_an_artifact_only_where_it_is(
        self, demo: Demo, da_score: DaScore
    ) -> None:
        named = ".agents/active/verification/limit-requests/review-decision.yaml"
        missing = f"It names artifact {named}, but no file is there.\n"
        shown = da_score("explain", "5").out
        assert f"from artifact {named}\n" in shown
        assert missing not in shown

        (demo.repo_dir / named).unlink()
        shown = da_score("explain", "5").out
        assert f"from artifact {named}\n" not in shown
        assert missing in shown
        assert "from artifact .agents/active/verification/limit-requests/unit" in shown

    def test_says_who_claimed_nothing(self, demo: Demo, da_score: DaScore) -> None:
        key = "persisted_via_workflow_commands"
        edit(demo.iter_log_dir / "iter-1.yaml", f'{key}: "yes"', f'{key}: ""')
        shown = da_score("explain", "1", "--recompute", "--rubric", "3.1.0").out
        assert (
            "\n  landed: the agent that did the work claimed nothing in the entry; "
            "observed 1.00 (" in shown
        )

    def test_says_that_an_entry_without_verifiers_claims_by_itself(
        self, demo: Demo, da_score: DaScore
    ) -> None:
        recompute = "explain", "5", "--recompute", "--rubric", "2.1.0"
        claim = "verifier: {} claimed "
        assert claim.format("the verifier") in da_score(*recompute).out
        entry = demo.iter_log_dir / "iter-5.yaml"
        head, _, rest = entry.read_text().partition("\nverifiers:\n")
        _, _, tail = rest.partition("\nreview:")
        entry.write_text(f"{head}\nverifiers: []\nreview:{tail}")
        assert claim.format("the entry") in da_score(*recompute).out

    @pytest.mark.parametrize("command", ["explain", "iteration"])
    def test_says_that_work_adds_what_followed_the_commit_to_its_cost(
        self, da_score: DaScore, command: str
    ) -> None:
        note = (
            "up to the end of the work; da-score work also counts what the agent wrote"
        )
        assert note in da_score(command, "5", "--rubric", "3.1.0").out
        assert (
            note
            not in da_score(
                command, "5", "--rubric", "3.1.0", "--transcripts", "none"
            ).out
        )

        spent = da_score("explain", "5", "--rubric", "3.1.0", "--json").json[
            "spending"
        ]["cost_usd"]
        units = da_score("work", "--json").json["units"]
        (of_unit,) = [unit["cost"] for unit in units if unit["iteration"] == 5]
        assert 0 < spent <= of_unit

    def test_says_when_the_sidecar_and_the_evidence_differ(
        self, demo: Demo, da_score: DaScore
    ) -> None:
        da_score("run")
        assert "The evidence gives" not in da_score("explain", "5").out
        edit(
            demo.iter_log_dir / "iter-5.yaml",
            "tests_total_pass: false",
            "tests_total_pass: true",
        )
        assert "The evidence gives 0.3" in da_score("explain", "5").out
        assert "The evidence gives" not in da_score("explain", "5", "--recompute").out
