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
from scoring.views.compare import diff_logs

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


SEEN, HALF = present_signal(1, "seen"), present_signal(0.5, "half seen")
FAILED, CAPPED = present_signal(0, "failed"), present_signal(0, "failed", cap="fair")
LANDED, TESTS = {"landed": HALF}, {"tests": HALF}
CLAIM, BOTH = LANDED | {"tests": claim_signal(1, "said")}, LANDED | {"tests": SEEN}
TWO = {"landed": SEEN, "tests": SEEN}
THREE = TWO | {"scope": SEEN}
FOUR = THREE | {"verifier": SEEN}
SCOPED = THREE | TESTS
LABELS = rubric("2", weights={"landed": 0.5, "human_label": 0.5})
LABELLED = LANDED | {"human_label": present_signal(0.9, "judged")}
DOCUMENTS = LANDED | {"tests": inapplicable_signal("documents alone")}
VOTING, HEAVIER = rubric("2", evidence="corrected"), rubric("2", weights={"landed": 0.75, "tests": 0.25})


CASES = {
    "nothing moves": (scored(OLD, CLAIM), scored(OLD, CLAIM)),
    "a claim has no vote any more": (scored(OLD, CLAIM), scored(NEW, LANDED), "claim dropped: tests"),
    "something was observed in place of a claim": (
        scored(OLD, CLAIM),
        scored(NEW, LANDED | {"tests": FAILED}),
        "claim replaced by what was observed: tests",
    ),
    "a claim that still votes is not dropped": (scored(OLD, CLAIM), scored(VOTING, LANDED), "other evidence: tests"),
    "a commit counts here": (scored(OLD, SCOPED), scored(NEW, TESTS), "other evidence: landed, scope"),
    "a commit counts for an earlier iteration": (
        scored(OLD, SCOPED),
        scored(NEW, TESTS, counted_for=3),
        "commit already counted for iteration 3: landed, scope",
    ),
    "too little evidence": (
        scored(OLD, TWO),
        scored(ENOUGH, TWO),
        "too little evidence: 50.0 % of the weight, 60.0 % needed",
    ),
    "enough evidence is no reason": (scored(OLD, THREE), scored(ENOUGH, THREE)),
    "none of its work was seen": (
        scored(OLD, THREE),
        scored(ENOUGH, THREE, tool_calls=0),
        "too little evidence: none of its own tool calls was seen",
    ),
    "the way back": (scored(ENOUGH, TWO), scored(OLD, TWO), "enough evidence: 50.0 % of the weight"),
    "a last test run that failed caps the band": (
        scored(OLD, FOUR | {"tests": FAILED}),
        scored(NEW, FOUR | {"tests": CAPPED}),
        "last test run failed: at best fair",
    ),
    "a cap that the value is below is no reason": (
        scored(OLD, BOTH),
        scored(NEW, {"landed": FAILED, "tests": CAPPED}),
        "other evidence: landed, tests",
    ),
    "a signal has nothing to say": (scored(OLD, BOTH), scored(NEW, DOCUMENTS), "not applicable: tests"),
    "signals join and leave": (
        scored(OLD, BOTH),
        scored(LABELS, LABELLED),
        "signal joined: human_label",
        "signal left: tests",
    ),
    "weights alone": (scored(OLD, BOTH), scored(HEAVIER, BOTH), "weights: landed, tests"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_reasons_of_a_move(case: tuple[ScoredLog, ScoredLog, *tuple[str, ...]]) -> None:
    before, after, *reasons = case
    (diff,) = diff_logs(before, after).iterations
    assert [reason.text for reason in diff.reasons] == reasons


def test_too_little_evidence_moves_the_band_and_not_the_value() -> None:
    (diff,) = diff_logs(scored(OLD, TWO), scored(ENOUGH, TWO)).iterations
    assert (diff.moved, diff.band_changed, diff.suffices) == (False, True, False)


@pytest.mark.usefixtures("scored")
class TestCommand:
    @pytest.fixture
    def compared(self, da_score: DaScore) -> Any:
        return da_score("rubric", "diff", "2.1.0", "3.1.0", "--json").json

    def test_explains_every_iteration_that_moved(self, compared: Any) -> None:
        moved = [one for one in compared["iterations"] if one["moved"] or one["band_changed"]]
        assert len(moved) >= 8
        assert all(one["reasons"] for one in moved)
        assert all(one["reasons"] == [] for one in compared["iterations"] if one not in moved)

    @pytest.mark.slow
    def test_says_it_in_words_too(self, da_score: DaScore) -> None:
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
