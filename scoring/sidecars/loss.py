"""Evidence that a new score would lose: harnesses delete their transcripts after some weeks.

A sidecar that rests on a transcript is worth more than a new one that cannot see it any more. Where the provenance of
the old score was kept, what is missing is known to the turn; otherwise only its numbers show the loss: a signal
that was present and is absent now, or a vote that was lower by something that cannot be seen now.
"""

from collections.abc import Sequence
from pathlib import Path

from rubric import SignalContribution
from rubric.scorer import TOLERANCE
from scoring.errors import DaScoreError
from scoring.evidence.facts import IterationFacts
from scoring.files import read_file
from scoring.sidecars.provenance import Loss, Provenance, lost_between, read_provenance
from scoring.sidecars.scores import PersistedScore, iteration_score_path, parse_iteration_score
from scoring.signals.correction_pressure import CORRECTION_PRESSURE, error_rate_of
from scoring.signals.human_label import HUMAN_LABEL
from scoring.signals.token_efficiency import TOKEN_EFFICIENCY


def lost_signals(old: PersistedScore, new: PersistedScore, facts: IterationFacts) -> list[str]:
    """Return the signals that rested on a transcript and in the new score do not any more, in rubric order.

    ``facts`` is what the new one was computed from.
    """
    before, after = _by_signal(old), _by_signal(new)
    tokens = before.get(TOKEN_EFFICIENCY)
    if tokens is None or not tokens.present:  # a transcript with tool calls has turns, and these have tokens
        return []
    lost = []
    was, now = before.get(CORRECTION_PRESSURE), after.get(CORRECTION_PRESSURE)
    if was and now and was.present and error_rate_of(facts) is None and _held_errors(was, now):
        lost.append(str(CORRECTION_PRESSURE))
    now = after.get(TOKEN_EFFICIENCY)
    if now and not now.present:
        lost.append(str(TOKEN_EFFICIENCY))
    return lost


def _held_errors(was: SignalContribution, now: SignalContribution) -> bool:
    """Tell whether an old vote was lowered by failed tool calls: it lacks what their rate, at most 1, can take away.

    An entry that was edited since can look the same when it had one or two corrections more.
    """
    without = now.sub_score if now.present else 1.0
    return 0 < was.sub_score < without - TOLERANCE and 1 / was.sub_score - 1 / without <= 2 + TOLERANCE


def lost_evidence(
    old: PersistedScore, new: PersistedScore, facts: IterationFacts, was: Provenance | None, now: Provenance | None
) -> list[Loss]:
    """Return what an old score rested on and the new one cannot see any more, as exactly as known.

    Args:
        old: the score on disk.
        new: the score that would replace it.
        facts: what the new one was computed from.
        was: the provenance of the old one, if that was kept.
        now: the provenance of the new one, if its rubric's rules keep that.
    """
    reported = facts.record.session_tokens is not None and facts.observed is None
    lost = [Loss(signal) for signal in lost_signals(old, new, facts)]
    missing = lost_between(was, now) if was and now else []
    lost += [loss for loss in missing if not (reported and loss.signal == TOKEN_EFFICIENCY)]
    label, left = _by_signal(old).get(HUMAN_LABEL), _by_signal(new).get(HUMAN_LABEL)
    if label and left and label.present and not left.present:
        lost.append(Loss(HUMAN_LABEL, "the labels that voted are gone"))
    return lost


def in_words(lost: Sequence[Loss]) -> list[str]:
    """Return what was lost as text, a signal each."""
    parts: dict[str, list[str]] = {}
    for loss in lost:
        parts.setdefault(loss.signal, []).extend([loss.what] if loss.what else [])
    return [f"{signal} ({'; '.join(what)})" if what else signal for signal, what in parts.items()]


def _by_signal(score: PersistedScore) -> dict[str, SignalContribution]:
    return {row.signal: row for row in score.breakdown}


def loss_on_disk(
    iter_log_dir: Path | str, new: PersistedScore, facts: IterationFacts, now: Provenance | None = None
) -> list[Loss]:
    """Return what the sidecar on disk would lose to a new score; nothing when there is no readable one.

    ``now`` is the provenance of the new score, if its rubric's rules keep that.
    """
    path = iteration_score_path(iter_log_dir, new.iteration)
    try:
        old = parse_iteration_score(read_file(path), str(path))
        was = read_provenance(iter_log_dir, new.iteration) if now is not None else None
        return lost_evidence(old, new, facts, was, now)
    except (DaScoreError, FileNotFoundError):
        return []


def loss_warning(iteration: int, lost: Sequence[Loss]) -> str:
    """Return the line that says what a new score lost."""
    gone = "the transcripts no longer cover its window"
    if any(loss.what for loss in lost):
        gone = "what its score was computed from is not all there any more"
    return f"iteration {iteration}: {gone}; {' and '.join(in_words(lost))} lost evidence that the old sidecar had"
