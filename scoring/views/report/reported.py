"""One iteration as a report keeps it: its numbers, its votes and claims, what it used and where its lines are."""

import os
from dataclasses import dataclass
from typing import NamedTuple

from rubric import BAND_INSUFFICIENT, SignalContribution
from scoring.evidence.git.checkpoints import is_in_git
from scoring.examine import ExaminedIteration
from scoring.outcomes.spending import Spending
from scoring.signals.table import signal_of
from scoring.signals.values import Deliberation, IntegrityObservation
from scoring.text import as_utf8, shortened

DETAIL = 1000  # how many characters of a detail a report shows
_MOST_PLACES = 5  # how many transcripts of one iteration a report names


class Vote(NamedTuple):
    """One row of a breakdown. ``weight`` is the effective weight; the nominal one where the signal is absent."""

    signal: str
    label: str
    present: bool
    sub_score: float
    weight: float
    contribution: float
    detail: str

    @property
    def lost(self) -> float:
        """What it lacks of its weight: all of it where it is absent."""
        return self.weight - self.contribution


class ReportedClaim(NamedTuple):
    """What a role claimed about a signal, and what was observed; each in [0, 1], None where there is nothing."""

    role: str
    signal: str
    claimed: float | None
    observed: float | None
    said: str
    seen: str

    @property
    def delta(self) -> float:
        """Observed minus claimed; 0 when they do not compare."""
        return (
            0.0 if self.claimed is None or self.observed is None else self.observed - self.claimed
        )


@dataclass(frozen=True, slots=True)
class ReportedIteration:
    """One iteration in a report, None for what is not known; ``places`` have path, first and last line, from 1."""

    iteration: int
    task_id: str
    date: str
    session_id: str
    rubric_version: str
    value: float | None
    band: str
    origin: str
    weight: float
    rows: tuple[Vote, ...]
    claims: tuple[ReportedClaim, ...]
    deliberation: Deliberation | None = None
    state: str = "current"
    state_reason: str = ""
    commit: str = ""
    spending: Spending | None = None
    places: tuple[tuple[str, int, int], ...] = ()

    @property
    def sub_scores(self) -> dict[str, float | None]:
        """The sub-scores by signal; None where it is absent."""
        return {row.signal: row.sub_score if row.present else None for row in self.rows}

    @property
    def counted(self) -> bool:
        """Whether it has a score on enough evidence, which is in the means."""
        return self.value is not None and self.band != BAND_INSUFFICIENT


def line_of(one: ExaminedIteration) -> ReportedIteration:
    """Return what a report keeps of an iteration."""
    score, record, observed, landing = one.score, one.record, one.facts.observed, one.facts.landing
    signals = [(row, signal_of(row.signal)) for row in score.breakdown]
    return ReportedIteration(
        iteration=score.iteration,
        task_id=shortened(record.task_id),
        date=shortened(record.date),
        session_id=shortened(record.agent.session_id),
        rubric_version=shortened(score.rubric_version),
        value=score.value if score.scored else None,
        band=shortened(score.band),
        origin=one.origin,
        weight=score.coverage.weight,
        rows=tuple(
            _vote(row, signal.named(row.label, one.facts) if signal else row.label)
            for row, signal in signals
        ),
        claims=tuple(map(_claim, one.signals.integrity)),
        deliberation=one.signals.deliberation,
        state=one.state.name,
        state_reason=shortened(one.state.reason, DETAIL),
        commit=shortened(landing.commit or landing.sha or ""),
        spending=one.spending,
        places=tuple(
            (as_utf8(str(path) if is_in_git(str(path)) else os.path.abspath(path)), first, last)
            for path, first, last, _ in (observed.lines[:_MOST_PLACES] if observed else ())
        ),
    )


def _vote(row: SignalContribution, label: str) -> Vote:
    weight = row.effective_weight if row.present else row.nominal_weight
    detail = shortened(row.detail, DETAIL)
    return Vote(
        row.signal, shortened(label), row.present, row.sub_score, weight, row.contribution, detail
    )


def _claim(found: IntegrityObservation) -> ReportedClaim:
    sides = found.claimed, found.observed
    claimed, observed = (side.sub_score if side.present else None for side in sides)
    said, seen = (shortened(side.detail, DETAIL) for side in sides)
    return ReportedClaim(str(found.role), str(found.signal), claimed, observed, said, seen)
