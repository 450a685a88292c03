"""The evidence that an old score rested on, and that a new one cannot see any more."""

from collections.abc import Sequence

from rubric import SignalContribution
from rubric.breakdown import TOLERANCE
from scoring.evidence.facts import IterationFacts
from scoring.signals.correction_pressure import (
    CORRECTION_PRESSURE,
    WEIGHT_OF_ERRORS,
    error_rate_of,
)
from scoring.signals.human_label import HUMAN_LABEL
from scoring.signals.token_efficiency import TOKEN_EFFICIENCY

from .provenance import Loss, Provenance, lost_between
from .scores import PersistedScore


def lost_signals(
    old: PersistedScore, new: PersistedScore, facts: IterationFacts
) -> list[str]:
    """Return the signals that lost their transcript evidence.

    These are ``token_efficiency`` where it has no vote any more, and ``correction_pressure`` where
    it is not known any more how calls ended and only failed calls can have made the old vote lower.
    Empty where ``token_efficiency`` had no vote in the old score.

    Args:
        old: the score before.
        new: the score that ``facts`` give.
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
    if (
        old_pressure
        and pressure
        and old_pressure.present
        and error_rate_of(facts) is None
    ):
        if _was_lowered_by_errors(old_pressure, pressure):
            lost.append(CORRECTION_PRESSURE)

    tokens_now = new_rows.get(TOKEN_EFFICIENCY)
    if tokens_now and not tokens_now.present:
        lost.append(TOKEN_EFFICIENCY)
    return lost


def _was_lowered_by_errors(old: SignalContribution, new: SignalContribution) -> bool:
    """Return whether failed tool calls explain how much lower an old vote is than the new one.

    The share of failed calls, at most 1, adds twice itself to the divisor of the vote.
    """
    without_errors = new.sub_score if new.present else 1.0
    if not 0 < old.sub_score < without_errors - TOLERANCE:
        return False
    return 1 / old.sub_score - 1 / without_errors <= WEIGHT_OF_ERRORS + TOLERANCE


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
        new: the score that ``facts`` give.
        facts: what evidence says now.
        old_provenance: what the old score was computed from; None without provenance.
        new_provenance: what the new score was computed from; None without provenance.
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
    """Return what was lost in words, one text for each signal, in order of their first loss."""
    by_signal: dict[str, list[str]] = {}
    for loss in lost:
        parts = by_signal.setdefault(loss.signal, [])
        if loss.what:
            parts.append(loss.what)

    return [
        f"{signal} ({'; '.join(parts)})" if parts else signal
        for signal, parts in by_signal.items()
    ]


def rows_by_signal(score: PersistedScore) -> dict[str, SignalContribution]:
    """Return the rows of a score by their signals."""
    return {row.signal: row for row in score.breakdown}
