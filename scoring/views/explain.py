"""Why an iteration scored what it did, and what would have raised it."""

from dataclasses import asdict, dataclass
from typing import Any

from rubric import SignalContribution
from scoring.log.load import EntryPlaces
from scoring.signals.signal import window_text
from scoring.signals.table import signal_of
from scoring.views.examined import Examined

_WORTH_SAYING = 0.0005


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
            "commit": one.facts.landing.sha,
            "window": window_text(one.facts.window) if one.facts.window else None,
            "signals": [asdict(signal) for signal in self.signals],
            "would_have_raised": [{"signal": s.signal, "by": s.could_add, "advice": s.advice} for s in self.raises],
            "integrity": [observation.as_dict() for observation in one.signals.integrity],
        }


def explain(one: Examined, entry: EntryPlaces | None) -> Explanation:
    """Explain the score of an iteration that a pass over its log found; ``entry`` is where its fields are, if known."""
    votes = sum(row.nominal_weight for row in one.score.breakdown if row.present)
    signals = tuple(_explained(row, votes, one, entry) for row in one.score.breakdown)
    return Explanation(one, signals, str(entry.path) if entry else None)


def _explained(row: SignalContribution, votes: float, one: Examined, entry: EntryPlaces | None) -> ExplainedSignal:
    cost = row.effective_weight - row.contribution if row.present else None
    if cost is not None:
        could_add = cost
    else:
        whole = one.score.value * votes + row.nominal_weight
        could_add = whole / (votes + row.nominal_weight) - one.score.value
    signal = signal_of(row.signal)
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
        tuple(signal.sources(one.facts, entry)) if signal else (),
        signal.advice(row.present, one.facts) if signal else "",
    )
