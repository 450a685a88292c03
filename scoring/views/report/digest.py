"""What a report is made of: the numbers of every iteration, as small as they can be kept, and what they add up to.

The module is long because all that a report adds up comes from the same lines, and is kept beside them.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from rubric import BAND_INSUFFICIENT, BAND_UNSCORED, Rubric, SignalContribution
from scoring.outcomes.validity import Validity
from scoring.signals.values import Deliberation, IntegrityObservation
from scoring.statistics import Interval, bootstrap_interval, difference_interval
from scoring.text import as_utf8, cut
from scoring.views.columns import SessionRows
from scoring.views.examined import Examined
from scoring.views.gates.gate import weakest
from scoring.views.integrity import IntegritySummary, summarize_integrity

RESULTS = ("remediate", "advise", "allow", "other")
"""The results of hook gates, the gravest first; any other result is "other"."""
_BEFORE = 5
"""With how many iterations before it an iteration is compared to see whether it improved."""
_NAME, _DETAIL = 200, 1000
"""How many characters of a name and of a detail a report shows."""


class Vote(NamedTuple):
    """One row of a breakdown. ``weight`` is the effective weight; the nominal one where the signal is absent."""

    signal: str
    label: str
    present: bool
    sub_score: float
    weight: float
    contribution: float
    detail: str


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
        return 0.0 if self.claimed is None or self.observed is None else self.observed - self.claimed


class Deliberated(NamedTuple):
    """What the diminishing-returns meter says of an iteration's deliberation.

    ``score``, ``novelty`` (of the last round) and ``readiness`` are in [0, 1]; None when the transcript cannot be read,
    for the reason that ``detail`` gives.
    """

    verdict: str
    score: float | None
    novelty: float | None
    readiness: float | None
    rounds: int
    detail: str


@dataclass(frozen=True, slots=True)
class ReportedIteration:
    """One iteration in a report. ``value`` is None when it has no score; sub-scores are None where absent."""

    iteration: int
    task_id: str
    date: str
    session_id: str
    rubric_version: str
    value: float | None
    band: str
    origin: str
    weight: float
    weakest: str
    sub_scores: dict[str, float | None]
    rows: tuple[Vote, ...]
    claims: tuple[ReportedClaim, ...]
    retries: int | None = None
    corrections: int | None = None
    tool_errors: float | None = None
    cache_hit_rate: float | None = None
    deliberation: Deliberated | None = None
    state: str = "current"
    state_reason: str = ""


class Trend(NamedTuple):
    """The mean scores of the older and the newer half of a log, and the interval of the change."""

    older: float
    newer: float
    interval: Interval

    @property
    def verdict(self) -> str:
        """What the interval says, in words."""
        low, high = self.interval
        return "better" if low > 0 else "worse" if high < 0 else "no clear change"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        means = {"older": self.older, "newer": self.newer, "change": self.newer - self.older}
        return means | {"interval": list(self.interval), "verdict": self.verdict}


@dataclass
class Digest:
    """A log, as a report shows it."""

    log: str
    rubric: Rubric
    lines: list[ReportedIteration] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    hooks: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each rule of a hook gate had each result."""
    integrity: list[IntegritySummary] = field(default_factory=list)
    validity: Validity | None = None
    """Whether the scores foretell what became of the work; None where nobody looked at that."""

    @property
    def values(self) -> list[float]:
        """The scores of the iterations that have one on enough evidence."""
        return [line.value for line in self.lines if line.value is not None and line.band != BAND_INSUFFICIENT]

    @property
    def insufficient(self) -> int:
        """How many iterations have too little evidence, and are in no mean."""
        return sum(line.band == BAND_INSUFFICIENT for line in self.lines)

    @functools.cached_property
    def interval(self) -> Interval | None:
        """The bootstrap interval of the mean; None for fewer than two scores."""
        return bootstrap_interval(self.values)

    @functools.cached_property
    def trend(self) -> "Trend | None":
        """How the newer half of the scores differs from the older one; None where either has fewer than two."""
        values = self.values
        older, newer = values[: len(values) // 2], values[len(values) // 2 :]
        interval = difference_interval(older, newer)
        return interval and Trend(sum(older) / len(older), sum(newer) / len(newer), interval)

    @property
    def mean(self) -> float | None:
        """The mean of those scores; None when there is none."""
        return sum(self.values) / len(self.values) if self.values else None

    @property
    def bands(self) -> dict[str, int]:
        """How many iterations each band has, best first; bands of other rubrics and the unscored at the end."""
        counts = Counter(line.band for line in self.lines)
        known = [band.name for band in self.rubric.bands]
        others = sorted(counts.keys() - {*known, BAND_UNSCORED})
        unscored = [BAND_UNSCORED] if counts[BAND_UNSCORED] else []
        return {name: counts[name] for name in [*known, *others, *unscored]}

    @property
    def signals(self) -> dict[str, str]:
        """The label of every signal that any score has, in the order in which they are met."""
        return {row.signal: row.label for line in self.lines for row in line.rows}

    def presence(self, signal: str) -> float:
        """Return the share of iterations, 0 to 1, in which a signal is present."""
        return sum(line.sub_scores.get(signal) is not None for line in self.lines) / (len(self.lines) or 1)

    @property
    def deliberated(self) -> list[tuple[ReportedIteration, Deliberated]]:
        """The iterations that have a DR transcript, with what the meter says of it."""
        return [(line, line.deliberation) for line in self.lines if line.deliberation]

    @property
    def states(self) -> dict[str, list[int]]:
        """The iterations whose scores are not current, by what their sidecars are worth instead."""
        found: dict[str, list[int]] = {}
        for line in self.lines:
            if line.state != "current":
                found.setdefault(line.state, []).append(line.iteration)
        return found

    @property
    def over_claims(self) -> list[tuple[ReportedIteration, ReportedClaim]]:
        """Every claim of more than was observed, the largest difference first."""
        found = [(line, claim) for line in self.lines for claim in line.claims if claim.delta < 0]
        return sorted(found, key=lambda pair: (pair[1].delta, -pair[0].iteration))

    @property
    def rules(self) -> list[tuple[str, dict[str, int]]]:
        """Every rule of a hook gate with how often it had each result, those that remediated most first."""
        counts: dict[str, dict[str, int]] = {}
        for (rule, result), count in self.hooks.items():
            counts.setdefault(rule, dict.fromkeys(RESULTS, 0))[result] = count
        return sorted(counts.items(), key=lambda pair: (*(-pair[1][result] for result in RESULTS), pair[0]))

    @property
    def rubric_changes(self) -> list[tuple[int, str]]:
        """Where, counted from 0, the rubric is another one than before, and which."""
        versions = [line.rubric_version for line in self.lines]
        return [(n, version) for n, version in enumerate(versions) if n == 0 or version != versions[n - 1]]

    def lowest(self, count: int = 5) -> list[ReportedIteration]:
        """Return the iterations with the lowest scores."""
        return sorted((line for line in self.lines if line.value is not None), key=lambda line: line.value or 0)[:count]

    def most_improved(self, count: int = 5) -> list[tuple[ReportedIteration, float]]:
        """Return the iterations that rose most over the mean of the five scores before them, and by how much."""
        found: list[tuple[ReportedIteration, float]] = []
        before: list[float] = []
        version = ""
        for line in self.lines:
            if line.value is None:
                continue
            if line.rubric_version != version:  # scores compare under one rubric only
                before, version = [], line.rubric_version
            if before:
                found.append((line, line.value - sum(before) / len(before)))
            before = [*before, line.value][-_BEFORE:]
        return [pair for pair in sorted(found, key=lambda pair: -pair[1])[:count] if pair[1] > 0]

    def snapshot(self) -> dict[str, list[Any]]:
        """Return what the next report compares with: rubric version, value and band by iteration."""
        return {str(line.iteration): [line.rubric_version, line.value, line.band] for line in self.lines}


def digest(log: Path, rubric: Rubric, examined: Iterable[Examined]) -> Digest:
    """Go through the iterations of a log, in order, and keep what a report needs; ``rubric`` names the bands."""
    found = Digest(as_utf8(str(log)), rubric)
    sessions, observed = SessionRows(log, rubric), []
    for one in examined:
        sessions.add(one)
        found.lines.append(_line(one))
        hooks = one.facts.hooks.records or ()
        found.hooks.update((_short(o.rule_id), o.result if o.result in RESULTS else "other") for o in hooks)
        observed.append(replace(one.signals, signals={}, deliberation=None))  # of a long log no more than is needed
    found.sessions = list(sessions.rows())
    found.integrity = summarize_integrity(observed)
    return found


def _line(one: Examined) -> ReportedIteration:
    score, record = one.score, one.record
    pressure, transcripts = one.facts.corrections, one.facts.transcripts
    return ReportedIteration(
        iteration=score.iteration,
        task_id=_short(record.task_id),
        date=_short(record.date),
        session_id=_short(record.agent.session_id),
        rubric_version=_short(score.rubric_version),
        value=score.value if score.scored else None,
        band=_short(score.band),
        origin=one.origin,
        weight=score.coverage.weight,
        weakest=_short(weakest(score), _DETAIL) if score.scored else "no signal is present",
        sub_scores={row.signal: row.sub_score if row.present else None for row in score.breakdown},
        rows=tuple(map(_vote, score.breakdown)),
        claims=tuple(map(_claim, one.signals.integrity)),
        retries=pressure.retries if pressure.reported else None,
        corrections=pressure.corrections if pressure.reported else None,
        tool_errors=transcripts.tool_error_rate if transcripts else None,
        cache_hit_rate=_cache_hit_rate(one),
        deliberation=_deliberated(one.signals.deliberation),
        state=one.state.name,
        state_reason=_short(one.state.reason, _DETAIL),
    )


def _cache_hit_rate(one: Examined) -> float | None:
    """Return the share of the cached prompt that was read, in [0, 1], as the entry or else the transcripts have it."""
    counted, transcripts = one.record.session_tokens, one.facts.transcripts
    if counted is not None:
        return counted.cache_hit_rate if math.isfinite(counted.cache_hit_rate) else None
    return transcripts.cache_hit_rate if transcripts and transcripts.turns else None


def _vote(row: SignalContribution) -> Vote:
    weight = row.effective_weight if row.present else row.nominal_weight
    detail = _short(row.detail, _DETAIL)
    return Vote(row.signal, _short(row.label), row.present, row.sub_score, weight, row.contribution, detail)


def _claim(found: IntegrityObservation) -> ReportedClaim:
    sides = found.claimed, found.observed
    claimed, observed = (side.sub_score if side.present else None for side in sides)
    said, seen = (_short(side.detail, _DETAIL) for side in sides)
    return ReportedClaim(str(found.role), str(found.signal), claimed, observed, said, seen)


def _deliberated(found: Deliberation | None) -> Deliberated | None:
    if found is None:
        return None
    detail, meter = _short(found.value.detail, _DETAIL), found.meter
    if meter is None:
        return Deliberated("unreadable", None, None, None, 0, detail)
    of_last = meter["components"]
    verdict, rounds = meter["stop_recommendation"]["signal"], len(meter["novelty_by_round"])
    return Deliberated(verdict, meter["score"], of_last["novelty_rate"], of_last["action_readiness"], rounds, detail)


def _short(text: str, width: int = _NAME) -> str:
    return cut(as_utf8(text), width)
