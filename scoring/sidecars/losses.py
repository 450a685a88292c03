"""Evidence that an old score rested on, and that a new one cannot see any more."""

from collections.abc import Sequence
from pathlib import Path

from rubric import SignalContribution
from rubric.breakdown import TOLERANCE
from scoring.errors import DaScoreError
from scoring.evidence.facts import IterationFacts
from scoring.files import read_file
from scoring.sidecars.provenance import Loss, Provenance, lost_between, read_provenance
from scoring.sidecars.read_scores import parse_iteration_score
from scoring.sidecars.scores import PersistedScore, iteration_score_path
from scoring.signals.correction_pressure import CORRECTION_PRESSURE, error_rate_of
from scoring.signals.human_label import HUMAN_LABEL
from scoring.signals.token_efficiency import TOKEN_EFFICIENCY

_WEIGHT_OF_ERRORS = 2


def lost_signals(old: PersistedScore, new: PersistedScore, facts: IterationFacts) -> list[str]:
    """Return the signals that lost their transcript evidence between two scores.

    Args:
        old: the score before.
        new: the score of ``facts``.
        facts: what evidence says now.
    """
    old_rows = rows_by_signal(old)
    new_rows = rows_by_signal(new)

    # A transcript with tool calls has turns, and turns have tokens.
    tokens = old_rows.get(TOKEN_EFFICIENCY)
    if tokens is None or not tokens.present:
        return []

    lost: list[str] = []
    old_pressure = old_rows.get(CORRECTION_PRESSURE)
    pressure = new_rows.get(CORRECTION_PRESSURE)
    if old_pressure and pressure and old_pressure.present and error_rate_of(facts) is None:
        if _was_lowered_by_errors(old_pressure, pressure):
            lost.append(CORRECTION_PRESSURE)

    tokens_now = new_rows.get(TOKEN_EFFICIENCY)
    if tokens_now and not tokens_now.present:
        lost.append(TOKEN_EFFICIENCY)
    return lost


def _was_lowered_by_errors(old: SignalContribution, new: SignalContribution) -> bool:
    """Return whether failed tool calls explain how much lower an old vote was.

    Their rate, at most 1, adds at most twice itself to the divisor of the vote.
    """
    without_errors = new.sub_score if new.present else 1.0
    if not 0 < old.sub_score < without_errors - TOLERANCE:
        return False
    return 1 / old.sub_score - 1 / without_errors <= _WEIGHT_OF_ERRORS + TOLERANCE


def lost_evidence(
    old: PersistedScore,
    new: PersistedScore,
    facts: IterationFacts,
    old_provenance: Provenance | None,
    new_provenance: Provenance | None,
) -> list[Loss]:
    """Return what an old score rested on that a new one cannot see any more.

    Args:
        old: the score before.
        new: the score of ``facts``.
        facts: what evidence says now.
        old_provenance: that of the old score.
        new_provenance: that of the new score.
    """
    lost = [Loss(signal) for signal in lost_signals(old, new, facts)]

    if old_provenance and new_provenance:
        # Tokens that the entry reports need no transcript.
        reported = facts.record.session_tokens is not None and facts.observed is None
        for loss in lost_between(old_provenance, new_provenance):
            if not (reported and loss.signal == TOKEN_EFFICIENCY):
                lost.append(loss)

    label = rows_by_signal(old).get(HUMAN_LABEL)
    label_now = rows_by_signal(new).get(HUMAN_LABEL)
    if label and label_now and label.present and not label_now.present:
        lost.append(Loss(HUMAN_LABEL, "the labels that voted are gone"))
    return lost


def in_words(lost: Sequence[Loss]) -> list[str]:
    """Return what was lost as text, one for each signal."""
    by_signal: dict[str, list[str]] = {}
    for loss in lost:
        parts = by_signal.setdefault(loss.signal, [])
        if loss.what:
            parts.append(loss.what)

    return [
        f"{signal} ({'; '.join(parts)})" if parts else signal for signal, parts in by_signal.items()
    ]


def rows_by_signal(score: PersistedScore) -> dict[str, SignalContribution]:
    """Return the rows of a score by their signals."""
    return {row.signal: row for row in score.breakdown}


def loss_on_disk(
    iter_log_dir: Path | str,
    new: PersistedScore,
    facts: IterationFacts,
    new_provenance: Provenance | None = None,
) -> list[Loss]:
    """Return the evidence that the sidecar on disk has and a new score lacks.

    A sidecar that cannot be read loses nothing.

    Args:
        iter_log_dir: the folder of the sidecar.
        new: the score of ``facts``.
        facts: what evidence says now.
        new_provenance: that of the new score; None under rules that keep none.
    """
    path = iteration_score_path(iter_log_dir, new.iteration)
    try:
        old = parse_iteration_score(read_file(path, within=iter_log_dir), str(path))
        old_provenance = None
        if new_provenance is not None:
            old_provenance = read_provenance(iter_log_dir, new.iteration)
        return lost_evidence(old, new, facts, old_provenance, new_provenance)
    except DaScoreError:
        return []


def loss_warning(iteration: int, lost: Sequence[Loss]) -> str:
    """Return the line that says what a new score lost."""
    gone = "the transcripts no longer cover its window"
    if any(loss.what for loss in lost):
        gone = "what its score was computed from is not all there any more"

    signals = " and ".join(in_words(lost))
    return f"iteration {iteration}: {gone}; {signals} lost evidence that the old sidecar had"
