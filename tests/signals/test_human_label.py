"""human_label: what labels give, by whom they count, and where it votes."""

from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.facts import facts_of
from helpers.labels import content, edit, label, write

from rubric import released_rubric, rubric_versions
from scoring import score_log
from scoring.demo import Demo
from scoring.evidence.labels import labels_in
from scoring.log.model import IterationRecord
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
            pytest.param((2, "partial", "minor"), (2 / 3 + 0.5 + 0.5) / 3, id="in between"),
            pytest.param((1, None, None), 1 / 3, id="correctness alone"),
            pytest.param((None, "partial", None), 0.5, id="scope alone"),
            pytest.param((None, "breach", "none"), 0.5, id="two of three"),
            pytest.param((3, "unheard-of", "none"), 1.0, id="an unknown word is as if not given"),
        ],
    )
    def test_is_the_mean_of_what_is_given(self, values: tuple[Any, ...], expected: float) -> None:
        found = judged(label("ann", edit(*values)))
        assert (found.present, found.detail) == (True, "mean of 1 latest label(s) by ann")
        assert found.sub_score == pytest.approx(expected, abs=1e-15)

    def test_is_that_of_the_latest_edit(self) -> None:
        assert judged(label("ann", edit(3), edit(0, "breach"), edit(1))).sub_score == 1 / 3

    def test_does_not_go_back_to_an_older_edit_for_what_the_latest_leaves_open(self) -> None:
        assert judged(label("ann", edit(3, "on-target", "none"), edit(0))).sub_score == 0


class TestLatest:
    def test_is_the_one_that_was_updated_last_wherever_it_is(self) -> None:
        old, new = label("ann", edit(0)), label("ann", edit(3), updated_at=LATER)
        assert judged(old, new).sub_score == judged(new, old).sub_score == 1
        assert judged(old, new).detail == "mean of 1 latest label(s) by ann"

    def test_of_one_time_is_the_later_in_the_file(self) -> None:
        same = label("ann", edit(3), updated_at="2026-03-01T13:00:00+01:00")
        assert judged(label("ann", edit(0)), same).sub_score == 1
        assert judged(same, label("ann", edit(0))).sub_score == 0

    def test_is_none_without_a_time_where_another_has_one(self) -> None:
        assert (
            judged(label("ann", edit(3)), label("ann", edit(0), updated_at="soon")).sub_score == 1
        )


class TestRoles:
    OVERRIDE = label("eve", edit(0), role="admin", admin_override=True)

    def test_an_override_replaces_all_others(self) -> None:
        found = judged(
            label("ann", edit(3)), self.OVERRIDE, label("bob", edit(3), updated_at=LATER)
        )
        assert found == SignalValue(True, 0, "admin override by eve")

    def test_several_overrides_are_a_mean(self) -> None:
        other = label("bob", edit(3), role="admin", admin_override=True)
        found = judged(label("ann", edit(3)), self.OVERRIDE, other)
        assert found == SignalValue(True, 0.5, "admin override by bob, eve")

    def test_who_may_only_read_overrides_nothing(self) -> None:
        found = judged(label("ann", edit(3)), self.OVERRIDE | {"role": "readonly"})
        assert found == SignalValue(True, 1, "mean of 1 latest label(s) by ann")

    def test_an_override_without_a_value_replaces_nothing(self) -> None:
        found = judged(label("ann", edit(3)), self.OVERRIDE | {"history": []})
        assert found == SignalValue(True, 1, "mean of 1 latest label(s) by ann")

    def test_readonly_does_not_count(self) -> None:
        found = judged(
            label("ann", edit(3)), label("bob", edit(0), role="readonly", updated_at=LATEST)
        )
        assert found == SignalValue(True, 1, "mean of 1 latest label(s) by ann")


class TestAbsent:
    @pytest.mark.parametrize(
        ("found", "said"),
        [
            pytest.param(judged(), "no label for iter-5 counts: there is none", id="no label"),
            pytest.param(
                judged(label("ann", edit(3), role="readonly")),
                "no label for iter-5 counts: all of them are readonly",
                id="only readonly ones",
            ),
            pytest.param(
                judged(label("ann", edit(3), schema_version="2.0.0")),
                "no label for iter-5 counts: line 4: schema version 2.0.0, and 1.x is read; "
                "this label is left out",
                id="only one of another major",
            ),
            pytest.param(
                judged(label("ann", edit())),
                "the labels for iter-5 give no value",
                id="only a note",
            ),
            pytest.param(
                judged(schema_version="2.0.0"),
                "cannot read labels for iter-5: iter-5.labels.yaml: has schema version 2.0.0; "
                "1.x is read",
                id="another major",
            ),
            pytest.param(label_value(None, 5), "no labels for iter-5", id="nobody asked"),
        ],
    )
    def test_says_why(self, found: SignalValue, said: str) -> None:
        assert (found.present, found.detail) == (False, said)
        assert "5" not in found.reason.replace(".yaml", "")


class TestVote:
    def test_is_under_the_rubrics_that_have_it(self) -> None:
        having = [v for v in rubric_versions() if released_rubric(v).signal("human_label")]
        assert having
        assert [v for v in rubric_versions() if labels_vote(released_rubric(v))] == having

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
            True, 2 / 3, "mean of 1 latest label(s) by ann"
        )
        assert new[4].signals.value("human_label").detail == "no labels for iter-4"
        old = score_log(*log, rubric=released_rubric("2.1.0")).iterations
        assert all(
            "human_label" not in one.signals.signals and one.facts.labels is None for one in old
        )

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

    def test_names_its_file_where_there_is_one(self, tmp_path: Path) -> None:
        facts = facts_of(IterationRecord(iteration=5))
        assert list(HumanLabel().sources(facts, None)) == []
        path = write(tmp_path, label("ann", edit(3)))
        facts = facts_of(IterationRecord(iteration=5), labels=labels_in(path.read_bytes(), path, 5))
        assert list(HumanLabel().sources(facts, None)) == [str(path)]
