"""Why an iteration scored what it did, and what would have raised it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rubric import SignalContribution
from scoring.signals.values import (
    CORRECTION_PRESSURE,
    DIMINISHING_RETURNS,
    HOOK_OUTCOMES,
    LANDED,
    SCOPE,
    TESTS,
    TOKEN_EFFICIENCY,
    VERIFIER,
)
from scoring.views.examined import Examined
from scoring.views.sources import Surroundings, sources, window_text

_WORTH_SAYING = 0.0005

_BETTER: Mapping[str, str] = {
    LANDED: "the commit is on the trunk and stays there",
    VERIFIER: "every verifier ends with status pass",
    TESTS: "every test flag of the entry is true",
    CORRECTION_PRESSURE: "fewer retries, fewer corrections by the user, fewer tool calls that fail",
    SCOPE: "every changed file lies in the task's write_scope",
    HOOK_OUTCOMES: "no hook gate had to advise or remediate",
    TOKEN_EFFICIENCY: "more of the prompt is read from the cache",
    DIMINISHING_RETURNS: "the deliberation has converged and is not blocked when it stops",
}
"""How a signal's vote becomes better, in words."""

_PRESENT: Mapping[str, str] = {
    LANDED: "name the commit in the entry, as one that this repository has",
    VERIFIER: "record a verifier with its status, or tests_total_pass",
    TESTS: "set focused_tests_pass or tests_total_pass",
    SCOPE: "declare the task's write_scope in its TASKS.yaml, or give a scope_note",
    HOOK_OUTCOMES: "let the hook gates write iter-N.hook-outcomes.yaml beside the entry",
    TOKEN_EFFICIENCY: "name the transcripts with --transcript-dir, or record session_tokens in the entry",
    DIMINISHING_RETURNS: "keep the deliberation's rounds in iter-N.dr.json beside the entry",
}
"""How a signal gets to vote, in words."""
_NO_WINDOW = (
    "name the commit in the entry, as one that this repository has: its time tells which transcripts belong to it"
)


@dataclass(frozen=True, slots=True)
class ExplainedSignal:
    """One signal: its row of the breakdown, what it cost, and where it comes from.

    ``cost`` is how much higher the score were with a full vote; None where it did not vote. ``could_add`` is how much
    a full vote would change the score, whether it voted or not.
    """

    signal: str
    label: str
    present: bool
    sub_score: float | None
    effective_weight: float
    contribution: float
    cost: float | None
    could_add: float
    detail: str
    sources: tuple[str, ...]
    advice: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """An iteration's score, signal by signal, with the claims that were made about it."""

    one: Examined
    signals: tuple[ExplainedSignal, ...]
    entry: str | None

    @property
    def raises(self) -> list[ExplainedSignal]:
        """What would have raised the score, most first."""
        worth = [s for s in self.signals if s.could_add >= _WORTH_SAYING]
        return sorted(worth, key=lambda s: -s.could_add)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        one = self.one
        return {
            "iteration": one.record.iteration,
            "task_id": one.record.task_id,
            "rubric_version": one.score.rubric_version,
            "scored": one.score.scored,
            "value": one.score.value,
            "band": one.score.band,
            "coverage": asdict(one.score.coverage),
            "origin": one.origin,
            "differs_from_evidence_now": one.differs,
            "entry": self.entry,
            "commit": one.sha,
            "window": window_text(one.window) if one.window else None,
            "signals": [asdict(signal) for signal in self.signals],
            "would_have_raised": [{"signal": s.signal, "by": s.could_add, "advice": s.advice} for s in self.raises],
            "integrity": [observation.as_dict() for observation in one.signals.integrity],
        }


def explain(one: Examined, around: Surroundings) -> Explanation:
    """Explain the score of an iteration that a pass over its log found."""
    votes = sum(row.nominal_weight for row in one.score.breakdown if row.present)
    signals = tuple(_explained(row, votes, one, around) for row in one.score.breakdown)
    return Explanation(one, signals, str(around.entry.path) if around.entry else None)


def _explained(row: SignalContribution, votes: float, one: Examined, around: Surroundings) -> ExplainedSignal:
    cost = row.effective_weight - row.contribution if row.present else None
    if cost is not None:
        could_add = cost
    else:
        whole = one.score.value * votes + row.nominal_weight
        could_add = whole / (votes + row.nominal_weight) - one.score.value
    advice = (_BETTER if row.present else _PRESENT).get(row.signal, "")
    if row.signal == TOKEN_EFFICIENCY and not row.present and one.window is None:
        advice = _NO_WINDOW
    return ExplainedSignal(
        row.signal,
        row.label,
        row.present,
        row.sub_score if row.present else None,
        row.effective_weight,
        row.contribution,
        cost,
        could_add,
        row.detail,
        tuple(sources(row.signal, one, around)),
        advice,
    )
