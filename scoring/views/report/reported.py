"""One iteration as a report keeps it."""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from rubric import BAND_INSUFFICIENT, SignalContribution
from scoring.evidence.git.checkpoints import is_in_git
from scoring.examine import ExaminedIteration
from scoring.outcomes.spending import Spending
from scoring.signals.table import signal_of
from scoring.signals.values import Deliberation, IntegrityObservation
from scoring.text import as_utf8, shortened

DETAIL = 1000  # characters of a detail that a report shows
_MOST_TRANSCRIPTS = 5  # of one iteration that a report names


class ReportedClaim(NamedTuple):
    """What a role claimed about a signal, and what was observed.

    Attributes:
        role: who claimed.
        signal: what was claimed about.
        claimed: the claimed sub-score, 0 to 1; None without a claim.
        observed: the observed sub-score; None without an observation.
        said: the claim in words.
        seen: the observation in words.
    """

    role: str
    signal: str
    claimed: float | None
    observed: float | None
    said: str
    seen: str

    @property
    def delta(self) -> float:
        """Observed minus claimed, or 0 when they do not compare."""
        if self.claimed is None or self.observed is None:
            return 0.0
        return self.observed - self.claimed


class TranscriptLines(NamedTuple):
    """The lines of an iteration in one transcript: its path, the first and last line, from 1."""

    path: str
    first: int
    last: int


class ReportedIteration(NamedTuple):
    """One iteration in a report.

    Attributes:
        iteration: its number.
        task_id: its task.
        date: when the agent says it was.
        session_id: its session.
        rubric_version: the rubric of its score.
        value: its score; None without one.
        band: the band of the score.
        origin: where the score comes from.
        weight: the share of the rubric's weight that voted, 0 to 1.
        rows: the breakdown, with the names that people read, and its texts cut.
        claims: the claims, compared with what was observed.
        deliberation: what the diminishing-returns meter says.
        state: how far the sidecar can be trusted.
        state_reason: why it is not current.
        commit: its commit.
        spending: what it used.
        places: its lines in transcripts.
    """

    iteration: int
    task_id: str
    date: str
    session_id: str
    rubric_version: str
    value: float | None
    band: str
    origin: str
    weight: float
    rows: tuple[SignalContribution, ...]
    claims: tuple[ReportedClaim, ...]
    deliberation: Deliberation | None = None
    state: str = "current"
    state_reason: str = ""
    commit: str = ""
    spending: Spending | None = None
    places: tuple[TranscriptLines, ...] = ()

    @property
    def counted(self) -> bool:
        """Whether it has a score on enough evidence to be in means."""
        return self.value is not None and self.band != BAND_INSUFFICIENT


def line_of(examined: ExaminedIteration) -> ReportedIteration:
    """Return what a report keeps of an iteration."""
    score = examined.score
    record = examined.record
    landing = examined.facts.landing
    return ReportedIteration(
        iteration=score.iteration,
        task_id=shortened(record.task_id),
        date=shortened(record.date),
        session_id=shortened(record.agent.session_id),
        rubric_version=shortened(score.rubric_version),
        value=score.value if score.scored else None,
        band=shortened(score.band),
        origin=examined.origin,
        weight=score.coverage.weight,
        rows=tuple(_shown_row(row, examined) for row in score.breakdown),
        claims=tuple(_claim(pair) for pair in examined.signals.integrity),
        deliberation=examined.signals.deliberation,
        state=examined.state.name,
        state_reason=shortened(examined.state.reason, DETAIL),
        commit=shortened(landing.commit or landing.sha or ""),
        spending=examined.spending,
        places=tuple(_transcript_lines(examined)),
    )


def _shown_row(row: SignalContribution, examined: ExaminedIteration) -> SignalContribution:
    signal = signal_of(row.signal)
    label = signal.named(row.label, examined.facts) if signal else row.label
    return replace(row, label=shortened(label), detail=shortened(row.detail, DETAIL), fact="")


def _claim(pair: IntegrityObservation) -> ReportedClaim:
    claimed = pair.claimed
    observed = pair.observed
    return ReportedClaim(
        role=str(pair.role),
        signal=str(pair.signal),
        claimed=claimed.sub_score if claimed.present else None,
        observed=observed.sub_score if observed.present else None,
        said=shortened(claimed.detail, DETAIL),
        seen=shortened(observed.detail, DETAIL),
    )


def _transcript_lines(examined: ExaminedIteration) -> Iterator[TranscriptLines]:
    observed = examined.facts.observed
    if observed is None:
        return

    for lines in observed.lines[:_MOST_TRANSCRIPTS]:
        path = str(lines.path)
        if not is_in_git(path):
            path = os.path.abspath(path)
        yield TranscriptLines(as_utf8(path), lines.first, lines.last)
