"""Evidence that a new score would lose: harnesses delete their transcripts after some weeks.

A sidecar that rests on a transcript is worth more than a new one that cannot see it any more (contract section 5).
Where the evidence behind the old score was kept (section 10), what is missing is told to the turn; otherwise only the
loss of all of it shows, in the details of the sidecars.
"""

import re
from pathlib import Path

from rubric import SignalContribution
from scoring.errors import DaScoreError, InputError
from scoring.files import read_file
from scoring.origin import Origin, lost_between
from scoring.sidecars.origins import is_kept, read_origin
from scoring.sidecars.scores import PersistedScore, iteration_score_path, read_iteration_score
from scoring.signals.values import CORRECTION_PRESSURE, TOKEN_EFFICIENCY

_TOKENS = re.compile(r"backfilled from \d+ transcript turn")
_TOOLS = re.compile(r"% tool-error rate")
_NATIVE = "native "
_TRACES = (b"backfilled from ", b"% tool-error rate")


def lost_signals(old: PersistedScore, new: PersistedScore) -> list[str]:
    """Return the signals that rested on a transcript and in the new score do not any more, in rubric order.

    ``token_efficiency`` rests on one when it was backfilled, ``correction_pressure`` when it holds a tool-error rate.
    """
    before, after = _by_signal(old), _by_signal(new)
    lost = []
    for signal, trace in ((CORRECTION_PRESSURE, _TOOLS), (TOKEN_EFFICIENCY, _TOKENS)):
        row, now = before.get(signal), after.get(signal)
        if row and row.present and trace.search(row.detail) and now and not _rests(now, trace):
            lost.append(str(signal))
    return lost


def lost_evidence(old: PersistedScore, new: PersistedScore, was: Origin | None, now: Origin | None) -> list[str]:
    """Return what an old score rested on and the new one cannot see any more, a signal each, told as well as known.

    Args:
        old: the score on disk.
        new: the score that would replace it.
        was: where the old one came from, if that was kept.
        now: where the new one comes from, if its rubric's rules keep that.
    """
    signals = lost_signals(old, new)
    if was is None or now is None:
        return signals
    native = (row := _by_signal(new).get(TOKEN_EFFICIENCY)) is not None and row.detail.startswith(_NATIVE)
    parts: dict[str, list[str]] = {signal: [] for signal in signals}
    for loss in lost_between(was, now):
        if not (native and loss.signal == TOKEN_EFFICIENCY):
            parts.setdefault(loss.signal, []).append(loss.what)
    return [f"{signal} ({'; '.join(what)})" if what else signal for signal, what in parts.items()]


def _rests(row: SignalContribution, trace: "re.Pattern[str]") -> bool:
    """Tell whether a row still has what its evidence gave: the trace, or for tokens a native count instead."""
    return bool(trace.search(row.detail)) or (row.signal == TOKEN_EFFICIENCY and row.present)


def _by_signal(score: PersistedScore) -> dict[str, SignalContribution]:
    return {row.signal: row for row in score.breakdown}


def loss_on_disk(iter_log_dir: Path | str, new: PersistedScore, now: Origin | None = None) -> list[str]:
    """Return what the sidecar on disk would lose to a new score; nothing when there is no readable one.

    ``now`` is where the new score comes from, if its rubric's rules keep that.
    """
    try:
        data = read_file(iteration_score_path(iter_log_dir, new.iteration))
    except (InputError, FileNotFoundError):
        return []
    was = None
    if now is not None:
        alike = f"\nrubric_version: {new.rubric_version}\n".encode() in data
        if alike and is_kept(iter_log_dir, now, new.rubric_version):  # most end here, unparsed
            return []
        was = read_origin(iter_log_dir, new.iteration)
        if alike and was is not None and not lost_between(was, now):
            return []
    if was is None and not any(trace in data for trace in _TRACES):  # and most others here
        return []
    try:
        return lost_evidence(read_iteration_score(iter_log_dir, new.iteration), new, was, now)
    except DaScoreError:
        return []


def loss_warning(iteration: int, lost: list[str]) -> str:
    """Return the line that tells people what a new score lost."""
    gone = "the transcripts no longer cover its window"
    if any("(" in signal for signal in lost):  # it is told in detail
        gone = "what its score came from is not all there any more"
    return f"iteration {iteration}: {gone}; {' and '.join(lost)} lost evidence that the old sidecar had"
