"""The evidence rules: which rubric reads under which, what each makes of an entry, and which settings they know."""

from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore, one_line
from helpers.doors import watched_doors
from helpers.places import ENTRY, Place

from rubric import EVIDENCE, RubricError, find_rubric, released_rubric
from rubric.registry import VERSIONS_DIR
from scoring.evidence.rules import (
    CORRECTED,
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
from scoring.signals.values import SignalValue, absent_signal, present_signal

pytestmark = pytest.mark.sampled(3)

CORRECTED_RUBRIC, NEXT_TO_IT = released_rubric("2.3.0"), released_rubric("2.2.0")


class TestRubrics:
    def test_are_read_under_the_rules_that_they_name(self) -> None:
        assert rules_of(released_rubric("2.1.0")) is REFERENCE
        assert rules_of(CORRECTED_RUBRIC) is CORRECTED

    def test_have_rules_for_every_word_that_is_valid(self) -> None:
        assert tuple(RULES) == EVIDENCE
        assert {name: rules.name for name, rules in RULES.items()} == {name: name for name in RULES}

    @pytest.mark.parametrize("word", ["right", "", "Corrected", "true"])
    def test_of_unknown_rules_are_refused(self, tmp_path: Path, word: str) -> None:
        text = (VERSIONS_DIR / "2.3.0.yaml").read_text()
        mine = tmp_path / "mine.yaml"
        mine.write_text(text.replace("evidence: corrected", f'evidence: "{word}"'))
        with pytest.raises(
            RubricError, match=f"evidence '{word}' is unknown; known: reference, corrected"
        ):
            find_rubric(str(mine))

    def test_show_their_rules(self, da_score: DaScore) -> None:
        assert (
            "\nEVIDENCE  corrected (read as found on disk)\n"
            in da_score("rubric", "show", "2.3.0").out
        )
        assert "\nEVIDENCE  reference (" in da_score("rubric", "show", "2.1.0").out
        assert da_score("rubric", "show", "2.3.0", "--json").json["evidence"] == "corrected"


class TestFlags:
    @pytest.mark.parametrize(
        ("written", "reference", "corrected"),
        [
            *((word, True, True) for word in ("true", '"True"', "1")),
            *((word, False, True) for word in ("True", "TRUE")),
            *((word, False, False) for word in ("false", "False", "FALSE", "0")),
            *((word, None, None) for word in ("", "null")),
        ],
    )
    def test_are_true_as_the_rules_spell_it(
        self, written: str, reference: bool | None, corrected: bool | None
    ) -> None:
        text = f"schema_version: 2\niteration: 1\nimpl: {{focused_tests_pass: {written}}}\n"
        for rules, expected in ((REFERENCE, reference), (CORRECTED, corrected)):
            assert (
                parse_iteration_record(text, rules.true_flags).impl.focused_tests_pass is expected
            )
        assert parse_iteration_record(text).impl.focused_tests_pass is reference


NOTHING = absent_signal("no retries field, no review artifact and no tool calls")


class TestCorrectionPressure:
    """Silence is not the same as no corrections."""

    def value(
        self, place: Place, text: str = "", transcripts: str | None = "none"
    ) -> tuple[SignalValue, list[str]]:
        sha = place.iteration(1, retries="")
        (place.log / "iter-1.yaml").write_text(ENTRY.format(n=1, sha=sha, retries="") + text)
        warnings: list[str] = []
        options: Any = {"warn": warnings.append, "transcripts": transcripts}
        found = examine_iteration(place.log, place.path, 1, rubric=CORRECTED_RUBRIC, **options)
        return found.signals.value("correction_pressure"), warnings

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
    def test_is_absent_where_nothing_speaks_of_any(self, place: Place, text: str) -> None:
        assert self.value(place, text) == (NOTHING, [])
        found = examine_iteration(place.log, place.path, 1, rubric=NEXT_TO_IT)
        assert found.signals.value("correction_pressure") == present_signal(
            1, "0 retries, 0 user corrections"
        )

    @pytest.mark.parametrize(
        ("text", "reported"),
        [("", False), ("retries: null", False), ("retries:", False), ("retries: 0", True)],
    )
    def test_of_a_field_that_has_a_value_is_reported(self, text: str, reported: bool) -> None:
        for schema in (
            f"schema_version: 2\niteration: 1\nimpl:\n  {text}\n",
            f"schema_version: 1\niteration: 1\n{text}\n",
        ):
            record = parse_iteration_record(schema)
            assert record.retries_reported is reported
            assert "retries_reported" not in str(record.as_dict())

    @pytest.mark.parametrize(
        ("text", "sub_score", "detail"),
        [
            ("verifiers: [{retries: 0}]", 1.0, "0 retries, 0 user corrections"),
            ("verifiers: [{type: unit}, {retries: 1}]", 0.5, "1 retries, 0 user corrections"),
            ("review: {decision_artifact: review.yaml}", 1 / 3, "0 retries, 2 user corrections"),
            ("review: {decision_artifact: silent.yaml}", 1.0, "0 retries, 0 user corrections"),
        ],
    )
    def test_is_present_when_somebody_did(
        self, place: Place, text: str, sub_score: float, detail: str
    ) -> None:
        (place.path / "review.yaml").write_text(
            "post_invocation: {user_corrections: [a], retries_in_loop: 1}\n"
        )
        (place.path / "silent.yaml").write_text("status: fine\n")
        assert self.value(place, text) == (present_signal(sub_score, detail), [])

    def test_reads_counts_below_0_as_0_and_says_so(self, place: Place) -> None:
        (place.path / "review.yaml").write_text(
            "post_invocation: {user_corrections: [a], retries_in_loop: -4}\n"
        )
        text = "verifiers: [{retries: -2}, {retries: 1}]\nreview: {decision_artifact: review.yaml}"
        value, warnings = self.value(place, text)
        assert value == present_signal(1 / 3, "1 retries, 1 user corrections")
        assert warnings == [
            "iteration 1: retries of verifier 1 is -2; a count below 0 is read as 0",
            "iteration 1: retries_in_loop is -4; a count below 0 is read as 0",
        ]


class TestSources:
    @pytest.mark.parametrize(
        ("rules", "directories", "transcripts", "auto"),
        [
            *((CORRECTED, [], way, True) for way in (None, "auto")),
            *((CORRECTED, ["t"], way, False) for way in (None, "auto")),
            *((REFERENCE, [], way, False) for way in (None, "auto")),
            *((rules, [], "none", False) for rules in (CORRECTED, REFERENCE)),
            *((REFERENCE, ["t"], way, False) for way in (None, "none")),
        ],
    )
    def test_are_looked_for_where_the_settings_and_the_rules_say(
        self, rules: EvidenceRules, directories: list[str], transcripts: Way | None, auto: bool
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
        assert [path for path in doors.opened if path.startswith(str(place.projects))] == []


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
        out = da_score("iteration", "1", "--recompute", "--rubric", "2.3.0", *options).out
        assert ("backfilled from 1 transcript turn(s)" in out) is turns

    def test_takes_the_trunk_that_is_named(self, scored: Place, da_score: DaScore) -> None:
        scored.repo.git("branch", "release")
        assert (
            "ancestor of release"
            in da_score("signals", "--rubric", "2.3.0", "--trunk", "release").out
        )
        found = da_score("run", "--rubric", "2.3.0", "--trunk", "nowhere")
        assert found.status == 1
        assert "no trunk 'nowhere' here" in one_line(found)
        assert not list(scored.log.glob("*.score.yaml"))

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(
        "command", ["run", "iteration 1 --recompute", "signals", "integrity", "close-task"]
    )
    def test_says_when_a_setting_has_no_effect(self, da_score: DaScore, command: str) -> None:
        found = da_score(
            *command.split(), "--rubric", "2.1.0", "--trunk", "main", "--transcripts", "auto"
        )
        assert found.status == 0
        where = "rubric 2.1.0 has the evidence rules of the reference"
        assert (
            f"{where}, where the trunk is the local branch master: trunk 'main' has no effect"
            in found.err
        )
        assert (
            f"{where}, which know no default transcript directories: name folders with --transcript-dir"
            in found.err
        )

    def test_counts_what_a_hook_names_only_where_it_is_of_this_repository(
        self, place: Place, tmp_path: Path, da_score: DaScore
    ) -> None:
        """A harness with a home of its own names the folder of its session, where others may have worked too."""
        place.iteration(1)
        session = place.session(
            "s", place.turn(1), place.turn(1, 2, cwd="/another/app"), slug="moved"
        )
        elsewhere = tmp_path / "elsewhere"
        session.parent.rename(elsewhere)
        hook = f'{{"cwd": "{place.path}", "transcript_path": "{elsewhere / "s.jsonl"}"}}'
        found = da_score("close-task", hook, "--rubric", "2.3.0", "--strict")
        assert (found.status, "iteration 1" in found.out) == (0, True)
        text = (place.log / "iter-1.score.yaml").read_text()
        assert "backfilled from 1 transcript turn(s): cache_hit_rate 0.750 (claude)" in text


class TestComparison:
    def test_explains_every_iteration_that_moved(self, place: Place, da_score: DaScore) -> None:
        place.iteration(1)
        place.iteration(2, retries="")
        place.session("s", place.turn(1), place.turn(1))
        out = da_score("rubric", "diff", "2.2.0", "2.3.0", "--no-cache").out
        assert "Evidence: reference → corrected; each side is read under its own rules.\n" in out
        first, second = out.split("\n2       t2")
        for words in (
            *(
                "landed  +",
                "2.2.0: commit",
                "not reachable from master",
                "2.3.0: commit",
                "is an ancestor of main",
            ),
            "2.2.0: no transcript covers the iteration window",
            "2.3.0: backfilled from 1 transcript turn(s): cache_hit_rate 0.750 (claude)",
        ):
            assert words in first
        for words in ("landed  +", "correction_pressure", f"2.3.0: {NOTHING.detail}"):
            assert words in second
        assert "\nMOVED         2 of 2 iterations\n" in out
