"""What a sidecar is worth: whether its score is what the evidence gives that is here now.

Any program can write one, so the score is computed anew and compared: what differs is *stale*, unless provenance, or
without it the old numbers, show that evidence is gone: then it is *unverified* (``docs/TRUST.md``).
"""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec.structs import replace

from rubric import BAND_INSUFFICIENT, BAND_UNSCORED, Rubric, SignalContribution
from rubric.breakdown import TOLERANCE
from scoring.errors import DaScoreError
from scoring.evidence.facts import IterationFacts
from scoring.files import read_file
from scoring.frozen import Frozen
from scoring.sessions import SessionScore
from scoring.sidecars.emitter import Value
from scoring.sidecars.provenance import Loss, Provenance, lost_between, read_provenance
from scoring.sidecars.scores import (
    PersistedScore,
    build_persisted_score,
    iteration_score_path,
    parse_iteration_score,
)
from scoring.signals.correction_pressure import CORRECTION_PRESSURE, error_rate_of
from scoring.signals.human_label import HUMAN_LABEL
from scoring.signals.landed import LANDED
from scoring.signals.table import SIGNALS
from scoring.signals.token_efficiency import TOKEN_EFFICIENCY
from scoring.signals.values import SignalSet, SignalValue
from scoring.text import cut, spans

StateName: TypeAlias = Literal["current", "stale", "unverified"]

_LONGEST = 160


class State(Frozen, frozen=True):
    """What a sidecar is worth, why, why it ``says_more`` than the evidence gives, and what evidence is ``lost``."""

    name: StateName
    reason: str = ""
    says_more: str = ""
    lost: tuple[Loss, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}" if self.reason else self.name


CURRENT = State(
    "current"
)  # what a score is worth that was computed now, or equals that to the last digit


class _PartlyKept(Frozen, frozen=True):
    """The readings of an iteration, with those rows of its sidecar for which the evidence is gone."""

    signals: SignalSet
    kept: dict[str, SignalContribution]
    tool_calls: int | None

    @property
    def iteration(self) -> int:
        return self.signals.iteration

    def value(self, signal_id: str) -> SignalValue:
        row = self.kept.get(signal_id)
        if row is None:
            return self.signals.value(signal_id)
        sub_score = min(max(row.sub_score, 0.0), 1.0)
        return SignalValue(
            row.present, sub_score, row.detail, "", row.source, row.applicable, row.cap
        )


def state_of(
    kept: PersistedScore,
    rubric: Rubric,
    facts: IterationFacts,
    signals: SignalSet,
    was: Provenance | None,
    now: Provenance | None,
    edited: bool = False,
) -> State:
    """Say what the sidecar ``kept`` is worth under a rubric, where ``facts`` and ``signals`` are what is known now.

    ``was`` and ``now`` are its provenance and a new score's, if any; ``edited`` is whether its entry changed.
    """
    if kept.rubric_version != rubric.version:
        return State(
            "stale",
            f"it is of rubric {kept.rubric_version or 'unknown'}; --recompute scores it under {rubric.version}",
        )
    computed = build_persisted_score(rubric.score(signals), facts.record)
    if _same(kept, computed):
        return (
            State("stale", "its entry or a file beside it was edited since") if edited else CURRENT
        )
    lost = _lost(kept, computed, facts, was, now)
    gone = _resting_on(lost, facts)
    rows = {row.signal: row for row in kept.breakdown if row.signal in gone}
    calls = signals.tool_calls
    if was is not None and calls is not None and lost:
        calls = max(calls, sum(harness.tool_calls for harness in was.harnesses))
    expected = build_persisted_score(rubric.score(_PartlyKept(signals, rows, calls)), facts.record)
    if lost and not edited and _same(kept, expected):
        return State("unverified", f"evidence is gone: {' and '.join(in_words(lost))}", lost=lost)
    more = _more(kept, expected, rubric)
    other = (
        "its entry or a file beside it was edited since"
        if edited
        else "its details are not those of the evidence"
    )
    reason = more or next(_differences(kept, expected), other)
    return State("stale", reason, more, lost)


def session_state(kept: SessionScore, given: SessionScore) -> State:
    """Say what the sidecar of a session is worth, where ``given`` is what the iterations of the log give now."""
    if kept == given:
        return CURRENT
    says, gives = (f"{one.value:.3f}" if one.scored else "no score" for one in (kept, given))
    reason = f"it says {says}, its iterations give {gives}"
    if kept.rubric_version != given.rubric_version:
        reason = f"it is of rubric {kept.rubric_version or 'unknown'}"
    elif kept.iterations != given.iterations:
        had, has = (spans(sorted(one.iterations)) or "none" for one in (kept, given))
        reason = f"it is of iterations {had}, and the log has {has}; {reason}"
    return State("stale", reason)


def _same(kept: PersistedScore, other: PersistedScore) -> bool:
    return _compared(kept) == _compared(other)


def _compared(score: PersistedScore) -> dict[str, Value]:
    """Return what a score says, without how a landing was found: that depends on where one looks from."""
    rows = (
        dataclasses.replace(row, detail="") if row.signal == LANDED else row
        for row in score.breakdown
    )
    return replace(score, breakdown=tuple(rows)).as_dict()


def _lost(
    kept: PersistedScore,
    computed: PersistedScore,
    facts: IterationFacts,
    was: Provenance | None,
    now: Provenance | None,
) -> tuple[Loss, ...]:
    """Return what is gone of the evidence; only provenance can name it where the rules keep that."""
    if now is None:
        return tuple(Loss(signal) for signal in _lost_without_provenance(kept, computed, facts))
    return tuple(lost_between(was, now)) if was else ()


def _lost_without_provenance(
    kept: PersistedScore, computed: PersistedScore, facts: IterationFacts
) -> Iterator[str]:
    """Yield the signals of a sidecar that only a transcript can have given, where none is here."""
    was, new = _by_signal(kept), _by_signal(computed)
    tokens = was.get(TOKEN_EFFICIENCY)
    if tokens is None or not tokens.present or error_rate_of(facts) is not None:
        return
    if not new[TOKEN_EFFICIENCY].present:
        yield TOKEN_EFFICIENCY
    before, after = was.get(CORRECTION_PRESSURE), new.get(CORRECTION_PRESSURE)
    if (
        before
        and after
        and before != after
        and (not after.present or before.sub_score <= after.sub_score)
    ):
        yield CORRECTION_PRESSURE  # failed calls can only have lowered it


def _resting_on(lost: tuple[Loss, ...], facts: IterationFacts) -> set[str]:
    """Return the signals that cannot be checked any more: where lines are gone, all that are read from lines."""
    gone = {loss.signal for loss in lost}
    read_from_lines = {signal.id for signal in SIGNALS if signal.read_from_lines}
    if facts.observed is not None and gone & read_from_lines:
        gone |= read_from_lines
    return gone


def _more(kept: PersistedScore, expected: PersistedScore, rubric: Rubric) -> str:
    says = f"{kept.value:.3f}" if kept.scored else "no score"
    gives = f"{expected.value:.3f}" if expected.scored else "no score"
    why = "".join(f"; {difference}" for difference in _differences(kept, expected, more_only=True))
    where = "the evidence that is here gives"
    if kept.scored and (not expected.scored or kept.value > expected.value + TOLERANCE):
        return f"it says {says}, {where} {gives}{why}"
    if _rank(kept.band, rubric) > _rank(expected.band, rubric):
        return f"it says the band {kept.band}, {where} {expected.band}{why}"
    if kept.bounds.low > expected.bounds.low + TOLERANCE:
        return f"it says at least {kept.bounds.low:.3f}, {where} at least {expected.bounds.low:.3f}{why}"
    if kept.coverage.weight > expected.coverage.weight + TOLERANCE:
        covers, covered = (f"{score.coverage.weight * 100:.1f} %" for score in (kept, expected))
        return f"it says that it rests on {covers} of the weight, {where} {covered}{why}"
    return ""


def _rank(band: str, rubric: Rubric) -> int:
    names = [BAND_UNSCORED, BAND_INSUFFICIENT, *(b.name for b in reversed(rubric.bands))]
    return names.index(band) if band in names else len(names)


def _differences(
    kept: PersistedScore, expected: PersistedScore, more_only: bool = False
) -> Iterator[str]:
    """Yield the first row that differs, in words; with ``more_only`` the first that says more than was found."""
    rows = _by_signal(kept)
    for row in expected.breakdown:
        said = rows.get(row.signal)
        if said is None or (said.present, said.sub_score) == (row.present, row.sub_score):
            continue
        if not more_only or (said.present and (not row.present or said.sub_score > row.sub_score)):
            found = (
                f"{row.sub_score:.2f} ({cut(row.detail, _LONGEST)})"
                if row.present
                else cut(row.detail, _LONGEST)
            )
            yield f"{row.signal}: {f'{said.sub_score:.2f}' if said.present else 'absent'} there, here {found}"
            return
    if not more_only and kept.value != expected.value:
        yield f"it says {kept.value:.3f}, the evidence gives {expected.value:.3f}"


def lost_signals(old: PersistedScore, new: PersistedScore, facts: IterationFacts) -> list[str]:
    """Return the signals that rested on a transcript and in the new score, of ``facts``, do not any more."""
    before, after = _by_signal(old), _by_signal(new)
    tokens = before.get(TOKEN_EFFICIENCY)
    if (
        tokens is None or not tokens.present
    ):  # a transcript with tool calls has turns, and these have tokens
        return []
    lost: list[str] = []
    was, now = before.get(CORRECTION_PRESSURE), after.get(CORRECTION_PRESSURE)
    if was and now and was.present and error_rate_of(facts) is None and _held_errors(was, now):
        lost.append(CORRECTION_PRESSURE)
    now = after.get(TOKEN_EFFICIENCY)
    if now and not now.present:
        lost.append(TOKEN_EFFICIENCY)
    return lost


def _held_errors(was: SignalContribution, now: SignalContribution) -> bool:
    """Tell whether an old vote was lowered by failed tool calls: it lacks what their rate, at most 1, can take away."""
    without = now.sub_score if now.present else 1.0
    return (
        0 < was.sub_score < without - TOLERANCE and 1 / was.sub_score - 1 / without <= 2 + TOLERANCE
    )


def lost_evidence(
    old: PersistedScore,
    new: PersistedScore,
    facts: IterationFacts,
    was: Provenance | None,
    now: Provenance | None,
) -> list[Loss]:
    """Return what an old score rested on that a new one, of ``facts``, cannot see any more, by their provenances."""
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
    iter_log_dir: Path | str,
    new: PersistedScore,
    facts: IterationFacts,
    now: Provenance | None = None,
) -> list[Loss]:
    """Return what the sidecar on disk, if it can be read, would lose to a new score of the provenance ``now``."""
    path = iteration_score_path(iter_log_dir, new.iteration)
    try:
        old = parse_iteration_score(read_file(path, within=iter_log_dir), str(path))
        was = read_provenance(iter_log_dir, new.iteration) if now is not None else None
        return lost_evidence(old, new, facts, was, now)
    except DaScoreError:
        return []


def loss_warning(iteration: int, lost: Sequence[Loss]) -> str:
    """Return the line that says what a new score lost."""
    gone = "the transcripts no longer cover its window"
    if any(loss.what for loss in lost):
        gone = "what its score was computed from is not all there any more"
    return f"iteration {iteration}: {gone}; {' and '.join(in_words(lost))} lost evidence that the old sidecar had"
