"""Why an iteration moves between two rubrics: each rule, and what looks like it and is not."""

from dataclasses import replace
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.facts import facts_of

from rubric import COMBINE_WEIGHTED_MEAN_RENORMALIZED, Rubric, ScoreBand, SignalID, SignalSpec
from scoring.log.model import IterationRecord
from scoring.score import ScoredIteration, ScoredLog
from scoring.signals.values import (
    IterationObjectives,
    SignalSet,
    SignalValue,
    absent_signal,
    claim_signal,
    inapplicable_signal,
    present_signal,
)
from scoring.views.compare import IterationDiff, diff_logs

BANDS = (ScoreBand("good", 0.7), ScoreBand("fair", 0.5), ScoreBand("bad", 0.0))
NOTHING = absent_signal("nothing")


def rubric(version: str = "1", **data: Any) -> Rubric:
    weights = data.pop("weights", {"landed": 0.25, "tests": 0.25, "scope": 0.25, "verifier": 0.25})
    signals = tuple(SignalSpec(SignalID(name), name.title(), weight) for name, weight in weights.items())
    return replace(Rubric(version, COMBINE_WEIGHTED_MEAN_RENORMALIZED, signals, BANDS), **data)


OLD = rubric()
NEW = rubric("2", claims_vote=False, evidence="attributed")
ENOUGH = rubric("2", minimum_coverage=0.6)


def scored(under: Rubric, values: dict[str, SignalValue], **facts: Any) -> ScoredLog:
    objective = IterationObjectives(NOTHING, NOTHING, NOTHING)
    calls = facts.pop("tool_calls", None)
    signals = SignalSet(1, {SignalID(name): value for name, value in values.items()}, objective, (), None, calls)
    known = facts_of(IterationRecord(iteration=1), **facts)
    one = ScoredIteration(known.record, known, signals, under.score(signals))
    return ScoredLog(under, (one,), ())


def step(before: ScoredLog, after: ScoredLog) -> IterationDiff:
    (diff,) = diff_logs(before, after).iterations
    return diff


def told(diff: IterationDiff) -> dict[str, tuple[str, ...]]:
    return {reason.rule: reason.signals for reason in diff.reasons}


SEEN = present_signal(1, "seen")
HALF = present_signal(0.5, "half seen")


class TestReasons:
    def test_of_what_does_not_move_there_are_none(self) -> None:
        diff = step(scored(OLD, {"tests": claim_signal(1, "said")}), scored(OLD, {"tests": claim_signal(1, "said")}))
        assert told(diff) == {}

    def test_a_claim_that_has_no_vote_any_more(self) -> None:
        claimed = {"landed": HALF, "tests": claim_signal(1, "said")}
        diff = step(scored(OLD, claimed), scored(NEW, {"landed": HALF}))
        assert told(diff) == {"claim_dropped": ("tests",)}
        assert diff.reasons[0].text == "claim dropped: tests"

    def test_a_claim_in_whose_place_something_was_seen(self) -> None:
        claimed = {"landed": HALF, "tests": claim_signal(1, "said")}
        diff = step(scored(OLD, claimed), scored(NEW, {"landed": HALF, "tests": present_signal(0, "failed")}))
        assert told(diff) == {"claim_replaced": ("tests",)}

    def test_a_claim_that_still_votes_is_not_dropped(self) -> None:
        claimed = {"landed": HALF, "tests": claim_signal(1, "said")}
        after = rubric("2", evidence="corrected")
        assert told(step(scored(OLD, claimed), scored(after, {"landed": HALF}))) == {"other_evidence": ("tests",)}

    def test_a_commit_that_counts_for_an_earlier_iteration(self) -> None:
        before = scored(OLD, {"landed": SEEN, "scope": SEEN, "tests": HALF})
        diff = step(before, scored(NEW, {"tests": HALF}, counted_for=3))
        assert told(diff) == {"commit_counted_before": ("landed", "scope")}
        assert diff.reasons[0].text == "commit already counted for iteration 3: landed, scope"

    def test_a_commit_that_counts_here_is_other_evidence(self) -> None:
        before = scored(OLD, {"landed": SEEN, "scope": SEEN, "tests": HALF})
        assert told(step(before, scored(NEW, {"tests": HALF}))) == {"other_evidence": ("landed", "scope")}

    def test_too_little_evidence_moves_the_band_and_not_the_value(self) -> None:
        values = {"landed": SEEN, "tests": SEEN}
        diff = step(scored(OLD, values), scored(ENOUGH, values))
        assert (diff.moved, diff.band_changed, diff.suffices) == (False, True, False)
        assert told(diff) == {"too_little_evidence": ()}
        assert diff.reasons[0].text == "too little evidence: 50.0 % of the weight, 60.0 % needed"

    def test_enough_evidence_is_no_reason(self) -> None:
        values = {"landed": SEEN, "tests": SEEN, "scope": SEEN}
        assert told(step(scored(OLD, values), scored(ENOUGH, values))) == {}

    def test_an_iteration_of_whose_work_nothing_was_seen(self) -> None:
        values = {"landed": SEEN, "tests": SEEN, "scope": SEEN}
        diff = step(scored(OLD, values), scored(ENOUGH, values, tool_calls=0))
        assert diff.reasons[0].text == "too little evidence: none of its own tool calls was seen"

    def test_the_way_back_is_enough_evidence(self) -> None:
        values = {"landed": SEEN, "tests": SEEN}
        assert told(step(scored(ENOUGH, values), scored(OLD, values))) == {"enough_evidence": ()}

    def test_a_last_test_run_that_failed_caps_the_band(self) -> None:
        values = {"landed": SEEN, "scope": SEEN, "verifier": SEEN, "tests": present_signal(0, "failed", cap="fair")}
        before = values | {"tests": present_signal(0, "failed")}
        diff = step(scored(OLD, before), scored(NEW, values))
        assert (diff.moved, diff.after.band) == (False, "fair")
        assert told(diff) == {"last_test_run_failed": ("tests",)}
        assert diff.reasons[0].text == "last test run failed: at best fair"

    def test_a_cap_that_the_value_is_below_is_no_reason(self) -> None:
        low = {"landed": present_signal(0, "no"), "tests": present_signal(0, "failed", cap="fair")}
        diff = step(scored(OLD, {"landed": HALF, "tests": SEEN}), scored(NEW, low))
        assert "last_test_run_failed" not in told(diff)

    def test_a_signal_that_has_nothing_to_say(self) -> None:
        diff = step(
            scored(OLD, {"landed": HALF, "tests": SEEN}),
            scored(NEW, {"landed": HALF, "tests": inapplicable_signal("documents alone")}),
        )
        assert told(diff) == {"not_applicable": ("tests",)}

    def test_signals_that_join_and_leave(self) -> None:
        after = rubric("2", weights={"landed": 0.5, "human_label": 0.5})
        judged = {"landed": HALF, "human_label": present_signal(0.9, "judged")}
        diff = step(scored(OLD, {"landed": HALF, "tests": SEEN}), scored(after, judged))
        assert told(diff) == {"signal_joined": ("human_label",), "signal_left": ("tests",)}

    def test_weights_alone(self) -> None:
        after = rubric("2", weights={"landed": 0.75, "tests": 0.25})
        values = {"landed": HALF, "tests": SEEN}
        assert set(told(step(scored(OLD, values), scored(after, values)))) == {"weights"}


class TestCommand:
    @pytest.fixture
    def compared(self, da_score: DaScore, project: object) -> Any:
        assert project
        return da_score("rubric", "diff", "2.1.0", "3.1.0", "--json").json

    def test_explains_every_iteration_that_moved(self, compared: Any) -> None:
        moved = [one for one in compared["iterations"] if one["moved"] or one["band_changed"]]
        assert len(moved) >= 8
        assert all(one["reasons"] for one in moved)
        assert all(one["reasons"] == [] for one in compared["iterations"] if one not in moved)

    @pytest.mark.slow
    def test_says_it_in_words_too(self, da_score: DaScore, project: object) -> None:
        assert project
        text = da_score("rubric", "diff", "2.1.0", "3.1.0").out
        assert "\nClaims vote: yes → no\n" in text
        assert "\nMinimum coverage: 0.0 % → 40.0 %\n" in text
        assert "because: claim dropped: " in text
        assert "because: too little evidence: " in text
        assert "→ not enough evidence\n" in text

    @pytest.mark.slow
    def test_has_the_interval_of_a_paired_bootstrap(self, compared: Any) -> None:
        totals = compared["totals"]
        low, high = totals["interval"]
        assert low < totals["mean_change"] < high
        sufficing = [i for i in compared["iterations"] if "insufficient" not in (i["a"]["band"], i["b"]["band"])]
        changes = [one["change"] for one in sufficing if one["change"] is not None]
        assert totals["mean_change"] == pytest.approx(sum(changes) / len(changes))
        assert totals["insufficient"] == len(compared["iterations"]) - len(sufficing)
