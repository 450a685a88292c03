"""Iterations as cases of an outcome."""

from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.facts import facts_of
from helpers.pull_requests import LOG, entry, put
from helpers.repos import Repo
from msgspec.structs import replace

from rubric import default_rubric
from scoring.log.model import IterationRecord
from scoring.outcomes.cases import Became, Case, OutcomeName, case_of
from scoring.outcomes.outcome import Outcome
from scoring.score import score_log_under
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


@pytest.mark.parametrize("missing", [0, 1])
def test_an_entry_that_comes_between_two_readings_of_a_log_ends_nothing(
    missing: int, repo: Repo, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rubrics with other rules of evidence read the log again."""
    for number in (1, 2):
        sha = repo.commit({f"{number}.py": "x = 1\n"})
        put(repo, {f"{LOG}/iter-{number}.yaml": entry(number, sha)})

    def scored(*arguments: Any) -> list[Any]:
        first, *others = score_log_under(*arguments)
        known = first.iterations[: len(first.iterations) - missing]
        return [replace(first, iterations=known), *others]

    monkeypatch.setattr("scoring.outcomes.cases.score_log_under", scored)
    rubrics = ("--rubric", "2.2.0", "--rubric", "3.1.0")
    checked = da_score("validate", *rubrics, "--repo-dir", str(repo.path))
    assert checked.status == 0
