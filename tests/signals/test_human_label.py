"""human_label: what labels give, by whom they count, and where it votes."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.facts import facts_of
from helpers.labels import content, edit, label, write

from rubric import find_rubric, released_rubric, rubric_versions
from scoring import (
    HUMAN_LABEL,
    BackfillSignals,
    absent_signal,
    assemble_signal_set,
    build_signal_sets,
    extract_git_signals,
    extract_human_label_signals,
    extract_iteration_objectives,
    extract_iterlog_signals,
    score_iteration,
    score_log,
)
from scoring.demo import Demo
from scoring.evidence.labels import labels_in
from scoring.log.model import IterationRecord
from scoring.log.places import EntryPlaces
from scoring.signals.human_label import HumanLabel, label_value
from scoring.signals.table import entry_file_names, labels_vote
from scoring.signals.values import SignalValue

PATH = Path("iter-5.labels.yaml")
LATER, LATEST = "2026-03-01T13:00:00Z", "2026-03-01T13:30:00+00:00"


def judged(*labels: Any, **more: Any) -> SignalValue:
    return label_value(labels_in(content(*labels, **more), PATH, 5), 5)


class TestValue:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            pytest.param((3, "on-target", "none"), 1.0, id="all at its best"),
            pytest.param((0, "breach", "major"), 0.0, id="all at its worst"),
            pytest.param(
                (2, "partial", "minor"), (2 / 3 + 0.5 + 0.5) / 3, id="in between"
            ),
            pytest.param((1, "breach", "none"), (1 / 3 + 0 + 1) / 3, id="one of each"),
        ],
    )
    def test_is_the_mean_of_what_is_given(
        self, values: tuple[Any, ...], expected: float
    ) -> None:
        found = judged(label("ann", edit(*values)))
        assert (found.present, found.detail) == (
            True,
            "mean of 1 latest label(s) by ann",
        )
        assert found.sub_score == pytest.approx(expected, abs=1e-15)

    def test_is_that_of_the_latest_edit(self) -> None:
        assert judged(label("ann", edit(3), edit(2), edit(0))).sub_score == 0


class TestLatest:
    def test_is_the_one_that_was_updated_last_wherever_it_is(self) -> None:
        old = label("ann", edit(0))
        new = label("ann", edit(3), updated_at=LATER, id="new")
        assert judged(old, new).sub_score == judged(new, old).sub_score == 1
        assert judged(old, new).detail == "mean of 1 latest label(s) by ann"

    def test_of_one_time_is_the_later_in_the_file(self) -> None:
        same = label("ann", edit(3), updated_at="2026-03-01T13:00:00+01:00", id="other")
        assert judged(label("ann", edit(0)), same).sub_score == 1
        assert judged(same, label("ann", edit(0))).sub_score == 0

    def test_is_none_without_a_time_where_another_has_one(self) -> None:
        without_time = label("ann", edit(0), updated_at=None, id="other")
        assert judged(label("ann", edit(3)), without_time).sub_score == 1


class TestRoles:
    OVERRIDE = label("eve", edit(0), role="admin", admin_override=True)

    def test_an_override_replaces_all_others(self) -> None:
        found = judged(
            label("ann", edit(3)),
            self.OVERRIDE,
            label("bob", edit(3), updated_at=LATER),
        )
        assert found == SignalValue(True, 0, "admin override by eve")

    def test_several_overrides_are_a_mean(self) -> None:
        other = label("bob", edit(3), role="admin", admin_override=True)
        found = judged(label("ann", edit(3)), self.OVERRIDE, other)
        assert found == SignalValue(True, 0.5, "admin override by bob, eve")

    def test_no_role_decides_whether_a_label_counts(self) -> None:
        readonly = label("bob", edit(0), role="readonly", updated_at=LATEST)
        found = judged(label("ann", edit(3)), readonly)
        assert found == SignalValue(True, 0.5, "mean of 2 latest label(s) by ann, bob")


class TestAbsent:
    @pytest.mark.parametrize(
        ("found", "said"),
        [
            pytest.param(
                judged(), "no label for iter-5 counts: there is none", id="no label"
            ),
            pytest.param(
                judged(label("ann", edit(3), schema_version="2.0.0")),
                "cannot read labels for iter-5: iter-5.labels.yaml: line 4: the label has schema "
                "version 2.0.0; 1.x is read",
                id="one of another major",
            ),
            pytest.param(
                judged(schema_version="2.0.0"),
                "cannot read labels for iter-5: iter-5.labels.yaml: has schema version 2.0.0; "
                "1.x is read",
                id="another major",
            ),
            pytest.param(
                label_value(None, 5), "no labels for iter-5", id="nobody asked"
            ),
        ],
    )
    def test_says_why(self, found: SignalValue, said: str) -> None:
        assert (found.present, found.detail) == (False, said)
        assert "5" not in found.reason.replace(".yaml", "")


class TestVote:
    def test_is_under_the_rubrics_that_have_it(self) -> None:
        having = [
            v for v in rubric_versions() if released_rubric(v).signal("human_label")
        ]
        assert having
        assert [
            v for v in rubric_versions() if labels_vote(released_rubric(v))
        ] == having

    def test_is_seen_by_the_stamp_there_and_not_elsewhere(self) -> None:
        assert "iter-5.labels.yaml" in entry_file_names(5, {"human_label"})
        assert "iter-5.labels.yaml" not in entry_file_names(5, ())

    def test_comes_through_a_whole_log(self, demo: Demo) -> None:
        write(demo.iter_log_dir, label("ann", edit(2)))
        log = demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs
        new = {
            i.record.iteration: i
            for i in score_log(*log, rubric=released_rubric("3.0.0")).iterations
        }
        assert new[5].signals.value("human_label") == SignalValue(
            True, (2 / 3 + 0.5 + 0.5) / 3, "mean of 1 latest label(s) by ann"
        )
        assert new[4].signals.value("human_label").detail == "no labels for iter-4"
        old = score_log(*log, rubric=released_rubric("2.1.0")).iterations
        assert all(
            "human_label" not in one.signals.signals and one.facts.labels is None
            for one in old
        )

    def test_library_and_command_agree_over_a_log_with_labels(
        self, demo: Demo, da_score: DaScore
    ) -> None:
        write(demo.iter_log_dir, label("ann", edit(1)))
        rubric = find_rubric("3.0.0")
        log = demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs
        scores = rubric.score_all(build_signal_sets(*log))
        for score in scores:
            alone, record = score_iteration(
                log[0], log[1], score.iteration, *log[2:], rubric=rubric
            )
            assert (alone, record.iteration) == (score, score.iteration)

        folders = [
            part for path in demo.transcript_dirs for part in ("--transcript-dir", path)
        ]
        options = ["--iter-log-dir", log[0], "--repo-dir", log[1], *folders]
        printed = da_score("run", "--rubric", "3.0.0", "--json", "--no-write", *options)
        assert [row["value"] for row in json.loads(printed.out)["iterations"]] == [
            score.value for score in scores
        ]
        for score, row in zip(
            scores, json.loads(printed.out)["iterations"], strict=True
        ):
            shown = [
                (one["signal"], one["present"], one["detail"])
                for one in row["breakdown"]
            ]
            assert shown == [
                (one.signal, one.present, one.detail) for one in score.breakdown
            ]
            if score.iteration != 5:
                absent = extract_human_label_signals(demo.iter_log_dir, score.iteration)
                assert absent.detail == f"no labels for iter-{score.iteration}"
                assert (HUMAN_LABEL, False, absent.detail) in shown
        by_number = {score.iteration: score for score in scores}
        (row,) = (row for row in by_number[5].breakdown if row.signal == HUMAN_LABEL)
        assert row.present
        without = rubric.score_all(build_signal_sets(*log, labels=False))
        differ = [
            a.iteration
            for a, b in zip(scores, without, strict=True)
            if a.value != b.value
        ]
        assert differ == [5]

    def test_labels_are_assembled_like_the_other_signals(self, demo: Demo) -> None:
        write(demo.iter_log_dir, label("ann", edit(1)))
        given = extract_human_label_signals(demo.iter_log_dir, 5)
        record = IterationRecord(iteration=5)
        assembled = assemble_signal_set(
            record,
            extract_iterlog_signals(record, ""),
            extract_git_signals(record, demo.repo_dir),
            BackfillSignals(5, absent_signal("none"), None),
            extract_iteration_objectives(record, None),
            absent_signal("none"),
            human_label=given,
        )
        assert given.present
        assert assembled.value(HUMAN_LABEL) == given
        rows = {
            row.signal: row for row in find_rubric("3.0.0").score(assembled).breakdown
        }
        assert rows[HUMAN_LABEL].present
        assert rows[HUMAN_LABEL].sub_score == given.sub_score

    def test_only_the_fields_of_the_reference_are_read_under_its_next_rubric(
        self, demo: Demo
    ) -> None:
        path = demo.iter_log_dir / "iter-1.yaml"
        path.write_text(
            "schema_version: 2\niteration: 1\nimpl: {tests_total_pass: false}\n"
        )
        log = demo.iter_log_dir, demo.repo_dir
        for version in ("3.0.0", "2.1.0"):
            score, _ = score_iteration(*log, 1, rubric=find_rubric(version))
            (row,) = (row for row in score.breakdown if row.signal == "tests")
            assert not row.present

    def test_backfill_sees_a_label_that_was_added(
        self, da_score: DaScore, demo: Demo, tmp_path: Path
    ) -> None:
        where = (demo.repo_dir, "--cache-dir", tmp_path / "cache")
        arguments = ("backfill", *where, "--rubric", "3.0.0")
        assert da_score(*arguments).status == 0
        before = (demo.iter_log_dir / "iter-5.score.yaml").read_bytes()
        write(demo.iter_log_dir, label("ann", edit(0)))
        assert da_score(*arguments).status == 0
        after = (demo.iter_log_dir / "iter-5.score.yaml").read_bytes()
        assert after != before
        assert b"mean of 1 latest label(s) by ann" in after

    @pytest.mark.parametrize(
        ("present", "expected"),
        [
            (False, "label it with da-score label 5"),
            (
                True,
                "people judge the work correct, on target and free of hallucinations",
            ),
        ],
    )
    def test_advises_the_command_for_the_iteration_or_better_work(
        self, present: bool, expected: str
    ) -> None:
        facts = facts_of(IterationRecord(iteration=5))
        assert HumanLabel().advice(present, facts) == expected

    def test_names_its_file_where_there_is_one(self, tmp_path: Path) -> None:
        facts = facts_of(IterationRecord(iteration=5))
        assert list(HumanLabel().sources(facts, EntryPlaces())) == []
        path = write(tmp_path, label("ann", edit(3)))
        facts = facts_of(
            IterationRecord(iteration=5), labels=labels_in(path.read_bytes(), path, 5)
        )
        assert list(HumanLabel().sources(facts, EntryPlaces())) == [str(path)]
