"""Iterations as cases of an outcome."""

import pytest
from helpers.facts import facts_of

from rubric import default_rubric
from scoring.log.model import IterationRecord
from scoring.outcomes.cases import Became, Case, OutcomeName, case_of
from scoring.outcomes.outcome import Outcome
from scoring.signals.table import signal_set


def case_with(name: OutcomeName, outcome: Outcome) -> Case | None:
    """The case of an iteration without evidence, by what became of it."""
    facts = facts_of(IterationRecord(iteration=1))
    signals = signal_set(facts, frozenset(), False)
    score = default_rubric().score(signals)
    return case_of(facts, signals, score, name, Became(outcome))


@pytest.mark.parametrize("name", ["reverted", "defective"])
class TestWhatGitDoesNotAnswer:
    def test_makes_no_case(self, name: OutcomeName) -> None:
        """Git counted the lines, and did not answer in time what undid them."""
        assert case_with(name, Outcome(1, "known", lines_added=9)) is None

    @pytest.mark.parametrize(
        ("went_wrong", "truth"),
        [pytest.param(True, 0.0, id="undone"), pytest.param(False, 1.0, id="stayed")],
    )
    def test_is_not_what_it_answers(
        self, name: OutcomeName, went_wrong: bool, truth: float
    ) -> None:
        outcome = Outcome(
            1, "known", lines_added=9, reverted=went_wrong, defective=went_wrong
        )
        case = case_with(name, outcome)
        assert case is not None
        assert case.truth == truth
