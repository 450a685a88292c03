"""The evidence rules: which rubric reads under which, what each makes of an entry.

The last tests are about the settings that the rules know.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore, one_line
from helpers.doors import watched_doors
from helpers.places import ENTRY, Place

from rubric import EVIDENCE, RubricError, find_rubric, released_rubric
from rubric.registry import VERSIONS_DIR
from scoring.evidence.artifacts import Corrections
from scoring.evidence.rules import (
    ATTRIBUTED,
    REFERENCE,
    RULES,
    EvidenceRules,
    Options,
    Sources,
    Way,
    rules_of,
)
from scoring.evidence.transcripts.facts import TranscriptPlaces
from scoring.log.parse import parse_iteration_record
from scoring.score import examine_iteration, score_log
from scoring.signals.values import present_signal

AS_OBSERVED, NEXT_TO_IT = released_rubric("3.1.0"), released_rubric("2.2.0")


class TestRubrics:
    def test_are_read_under_the_rules_that_they_name(self) -> None:
        assert rules_of(released_rubric("2.1.0")) is REFERENCE
        assert rules_of(AS_OBSERVED) is ATTRIBUTED

    def test_have_rules_for_every_word_that_is_valid(self) -> None:
        assert tuple(RULES) == EVIDENCE
        assert {name: rules.name for name, rules in RULES.items()} == {
            name: name for name in RULES
        }

    @pytest.mark.parametrize("word", ["right", "", "Attributed", "true"])
    def test_of_unknown_rules_are_refused(self, tmp_path: Path, word: str) -> None:
        text = (VERSIONS_DIR / "3.1.0.yaml").read_text()
        mine = tmp_path / "mine.yaml"
        mine.write_text(text.replace("evidence: attributed", f'evidence: "{word}"'))
        with pytest.raises(
            RubricError,
            match=f"evidence '{word}' is unknown; known: reference, attributed",
        ):
            find_rubric(str(mine))

    def test_show_their_rules(self, da_score: DaScore) -> None:
        assert (
            "\nEVIDENCE  attributed (of each iteration its own work, and what was observed in it)\n"
            in da_score("rubric", "show", "3.1.0").out
        )
        assert "\nEVIDENCE  reference (" in da_score("rubric", "show", "2.1.0").out
        assert (
            da_score("rubric", "show", "3.1.0", "--json").json["evidence"]
            == "attributed"
        )


class TestFlags:
    @pytest.mark.parametrize(
        ("written", "reference", "observed"),
        [
            *((word, True, True) for word in ("true", '"True"', "1")),
            *((word, False, True) for word in ("True", "TRUE")),
            *((word, False, False) for word in ("false", "False", "FALSE", "0")),
            *((word, None, None) for word in ("", "null")),
        ],
    )
    def test_are_true_as_the_rules_spell_it(
        self, written: str, reference: bool | None, observed: bool | None
    ) -> None:
        text = f"schema_version: 2\niteration: 1\nimpl: {{focused_tests_pass: {written}}}\n"
        for rules, expected in ((REFERENCE, reference), (ATTRIBUTED, observed)):
            assert (
                parse_iteration_record(text, rules.true_flags).impl.focused_tests_pass
                is expected
            )
        assert parse_iteration_record(text).impl.focused_tests_pass is reference


class TestReportedCorrections:
    """Silence is not the same as no corrections."""

    def reported(self, place: Place, text: str = "") -> tuple[Corrections, list[str]]:
        sha = place.iteration(1, retries="")
        (place.log / "iter-1.yaml").write_text(
            ENTRY.format(n=1, sha=sha, retries="") + text
        )
        warnings: list[str] = []
        options: Any = {"warn": warnings.append, "transcripts": "none"}
        examined = examine_iteration(
            place.log, place.path, 1, rubric=AS_OBSERVED, **options
        )
        return examined.facts.corrections, warnings

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "retries: 0",
            "retries: null",
            "verifiers: []",
            "review: {decision_artifact: missing.yaml}",
        ],
    )
    def test_are_none_where_nothing_speaks_of_any(
        self, place: Place, text: str
    ) -> None:
        assert self.reported(place, text) == (Corrections(0, 0, reported=False), [])
        found = examine_iteration(place.log, place.path, 1, rubric=NEXT_TO_IT)
        assert found.signals.value("correction_pressure") == present_signal(
            1, "0 retries, 0 user corrections"
        )

    @pytest.mark.parametrize(
        ("text", "reported"),
        [
            ("", False),
            ("retries: null", False),
            ("retries:", False),
            ("retries: 0", True),
        ],
    )
    def test_need_a_field_that_has_a_value(self, text: str, reported: bool) -> None:
        for schema in (
            f"schema_version: 2\niteration: 1\nimpl:\n  {text}\n",
            f"schema_version: 1\niteration: 1\n{text}\n",
        ):
            record = parse_iteration_record(schema)
            assert record.retries_reported is reported
            assert "retries_reported" not in str(record.as_dict())

    @pytest.mark.parametrize(
        ("text", "retries", "corrections"),
        [
            ("verifiers: [{retries: 0}]", 0, 0),
            ("verifiers: [{type: unit}, {retries: 1}]", 1, 0),
            ("review: {decision_artifact: review.yaml}", 0, 2),
            ("review: {decision_artifact: silent.yaml}", 0, 0),
        ],
    )
    def test_are_there_when_somebody_did(
        self, place: Place, text: str, retries: int, corrections: int
    ) -> None:
        (place.path / "review.yaml").write_text(
            "post_invocation: {user_corrections: [a], retries_in_loop: 1}\n"
        )
        (place.path / "silent.yaml").write_text("status: fine\n")
        assert self.reported(place, text) == (
            Corrections(retries, corrections, True),
            [],
        )

    def test_below_0_are_read_as_0_with_a_warning(self, place: Place) -> None:
        (place.path / "review.yaml").write_text(
            "post_invocation: {user_corrections: [a], retries_in_loop: -4}\n"
        )
        text = "verifiers: [{retries: -2}, {retries: 1}]\nreview: {decision_artifact: review.yaml}"
        corrections, warnings = self.reported(place, text)
        assert corrections == Corrections(1, 1, True)
        assert warnings == [
            "iteration 1: retries of verifier 1 is -2; a count below 0 is read as 0",
            "iteration 1: retries_in_loop is -4; a count below 0 is read as 0",
        ]


class TestSources:
    @pytest.mark.parametrize(
        ("rules", "directories", "transcripts", "auto"),
        [
            *((ATTRIBUTED, [], way, True) for way in (None, "auto")),
            *((ATTRIBUTED, ["t"], way, False) for way in (None, "auto")),
            *((REFERENCE, [], way, False) for way in (None, "auto")),
            *((rules, [], "none", False) for rules in (ATTRIBUTED, REFERENCE)),
            *((REFERENCE, ["t"], way, False) for way in (None, "none")),
        ],
    )
    def test_are_looked_for_where_the_settings_and_the_rules_say(
        self,
        rules: EvidenceRules,
        directories: list[str],
        transcripts: Way | None,
        auto: bool,
    ) -> None:
        found = Sources.under(
            rules, "repo", directories, Options(transcripts=transcripts), [Path("h")]
        ).places
        named, hinted = (
            () if transcripts == "none" else tuple(map(Path, paths))
            for paths in (directories, ["h"])
        )
        assert found == TranscriptPlaces(Path("repo"), named, auto, hinted)

    def test_of_the_reference_look_into_no_home(self, place: Place) -> None:
        place.iteration(1)
        place.session("s", place.turn(1))
        with watched_doors() as doors:
            score_log(place.log, place.path, rubric=NEXT_TO_IT)
        assert [
            path for path in doors.opened if path.startswith(str(place.projects))
        ] == []


class TestCommandLine:
    @pytest.fixture
    def scored(self, place: Place) -> Place:
        place.iteration(1)
        place.session("s", place.turn(1))
        return place

    @pytest.mark.parametrize(
        ("options", "turns"),
        [
            ([], True),
            (["--transcripts", "auto"], True),
            (["--transcripts", "none"], False),
            (["--transcript-dir", "empty"], False),
        ],
        ids=str,
    )
    def test_reads_transcripts_where_it_is_told(
        self, scored: Place, da_score: DaScore, options: list[str], turns: bool
    ) -> None:
        (scored.path / "empty").mkdir()
        out = da_score(
            "iteration", "1", "--recompute", "--rubric", "3.1.0", *options
        ).out
        assert ("backfilled from 1 transcript turn" in out) is turns

    def test_takes_the_trunk_that_is_named(
        self, scored: Place, da_score: DaScore
    ) -> None:
        scored.repo.git("branch", "release")
        assert (
            "ancestor of release"
            in da_score("signals", "--rubric", "3.1.0", "--trunk", "release").out
        )
        found = da_score("run", "--rubric", "3.1.0", "--trunk", "nowhere")
        assert found.status == 1
        assert "no trunk 'nowhere' here" in one_line(found)
        assert not list(scored.log.glob("*.score.yaml"))

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(
        "command",
        ["run", "iteration 1 --recompute", "signals", "integrity", "close-task"],
    )
    def test_says_when_a_setting_has_no_effect(
        self, da_score: DaScore, command: str
    ) -> None:
        found = da_score(
            *command.split(),
            "--rubric",
            "2.1.0",
            "--trunk",
            "main",
            "--transcripts",
            "auto",
        )
        assert found.status == 0
        where = "rubric 2.1.0 has the evidence rules of the reference"
        assert (
            f"{where}, where the trunk is the local branch master: trunk 'main' has no effect"
            in found.err
        )
        assert (
            f"{where}, which know no default transcript directories:"
            " name folders with --transcript-dir" in found.err
        )

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(
        ("rubrics", "count"),
        [
            pytest.param(["2.0.2", "2.1.0"], 1, id="no effect under both"),
            pytest.param(["2.0.2", "3.1.0"], 0, id="an effect under one"),
        ],
    )
    def test_names_a_rubric_that_is_compared_and_not_that_of_the_settings(
        self,
        da_score: DaScore,
        monkeypatch: pytest.MonkeyPatch,
        rubrics: list[str],
        count: int,
    ) -> None:
        monkeypatch.setenv("DA_SCORE_RUBRIC", "3.0.0")
        found = da_score("rubric", "diff", *rubrics, "--transcripts", "auto")
        said = " has the evidence rules of the reference, which know no default"
        assert found.err.count(f"rubric 2.0.2{said}") == count
        assert found.err.count(said) == count

    def test_counts_what_a_hook_names_only_where_it_is_of_this_repository(
        self, place: Place, tmp_path: Path, da_score: DaScore
    ) -> None:
        """A harness names the folder of its session, where others may have worked too."""
        place.iteration(1)
        session = place.session(
            "s", place.turn(1), place.turn(1, 2, cwd="/another/app"), slug="moved"
        )
        elsewhere = tmp_path / "elsewhere"
        session.parent.rename(elsewhere)
        hook = (
            f'{{"cwd": "{place.path}", "transcript_path": "{elsewhere / "s.jsonl"}"}}'
        )
        found = da_score("close-task", hook, "--rubric", "3.1.0", "--strict")
        assert (found.status, "iteration 1" in found.out) == (0, True)
        text = (place.log / "iter-1.score.yaml").read_text()
        assert (
            "backfilled from 1 transcript turn: cache_hit_rate 0.750 (claude)" in text
        )


class TestComparison:
    def test_explains_every_iteration_that_moved(
        self, place: Place, da_score: DaScore
    ) -> None:
        place.iteration(1)
        place.iteration(2, retries="")
        place.session("s", place.turn(1), place.turn(1))
        out = da_score("rubric", "diff", "2.2.0", "3.1.0", "--no-cache").out
        assert (
            "Evidence: reference → attributed; each side is read under its own rules.\n"
            in out
        )
        first, second = out.split("\n2     t2")
        for words in (
            "landed  +",
            "2.2.0: commit",
            "not reachable from master",
            "3.1.0: commit",
            "is an ancestor of main",
            "2.2.0: 1/1 test-pass flags true",
            "3.1.0: no test run in 0 tool calls; evidence by time",
        ):
            assert words in first
        for words in (
            "landed  +",
            "correction_pressure",
            "3.1.0: no transcript covers",
        ):
            assert words in second
        assert re.search(r"^MOVED +2 of 2 iterations$", out, re.M)
