"""What a report is made of: the numbers of every iteration, as small as they can be kept, and what they add up to."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rubric import BAND_UNSCORED, Rubric
from scoring.analysis.examined import Examined
from scoring.analysis.gates import weakest
from scoring.analysis.tables import SessionRows
from scoring.evidence.hooks import HookFileError, scored_hook_outcomes
from scoring.integrity import IntegritySummary, summarize_integrity
from scoring.text import as_utf8
from scoring.values import CORRECTION_PRESSURE, SignalSet

_CORRECTIONS = re.compile(r"(-?\d+) retries, (-?\d+) user corrections(?:, (\d+)% tool-error rate)?")
_BEFORE = 5
"""With how many iterations before it an iteration is compared to see whether it improved."""


@dataclass(frozen=True, slots=True)
class Line:
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
    rows: tuple[tuple[str, str, bool, float, float, float, str], ...]
    claims: tuple[tuple[str, str, float | None, float | None, str, str], ...]
    retries: int | None
    corrections: int | None
    tool_errors: float | None


@dataclass(slots=True)
class Digest:
    """A log, as a report shows it."""

    log: str
    rubric: Rubric
    lines: list[Line] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    hooks: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each rule of a hook gate had each result."""
    integrity: list[IntegritySummary] = field(default_factory=list)

    @property
    def values(self) -> list[float]:
        """The scores there are."""
        return [line.value for line in self.lines if line.value is not None]

    @property
    def mean(self) -> float | None:
        """Their mean."""
        return sum(self.values) / len(self.values) if self.values else None

    @property
    def bands(self) -> dict[str, int]:
        """How many iterations each band has, best first; bands of other rubrics and the unscored at the end."""
        counts = Counter(line.band for line in self.lines)
        known = [band.name for band in self.rubric.bands]
        return {name: counts[name] for name in [*known, *sorted(counts.keys() - {*known, BAND_UNSCORED})]} | (
            {BAND_UNSCORED: counts[BAND_UNSCORED]} if counts[BAND_UNSCORED] else {}
        )

    @property
    def signals(self) -> dict[str, str]:
        """The label of every signal that any score has, in the order in which they are met."""
        return {row[0]: row[1] for line in self.lines for row in line.rows}

    def presence(self, signal: str) -> float:
        """Return the share of iterations, 0 to 1, in which a signal is present."""
        return sum(line.sub_scores.get(signal) is not None for line in self.lines) / (len(self.lines) or 1)

    @property
    def rubric_changes(self) -> list[tuple[int, str]]:
        """Where, counted from 0, the rubric is another one than before, and which."""
        found: list[tuple[int, str]] = []
        for n, line in enumerate(self.lines):
            if n == 0 or line.rubric_version != self.lines[n - 1].rubric_version:
                found.append((n, line.rubric_version))
        return found

    def lowest(self, count: int = 5) -> list[Line]:
        """Return the iterations with the lowest scores."""
        return sorted((line for line in self.lines if line.value is not None), key=lambda line: line.value or 0)[:count]

    def most_improved(self, count: int = 5) -> list[tuple[Line, float]]:
        """Return the iterations that rose most over the mean of the five scores before them, and by how much."""
        found: list[tuple[Line, float]] = []
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
    """Go through a log and keep what a report needs."""
    found = Digest(as_utf8(str(log)), rubric)
    sessions, claims = SessionRows(log, rubric), _Claims()
    for one in examined:
        sessions.add(one)
        found.lines.append(_line(one))
        found.hooks.update(_hooks(log, one.record.iteration))
        claims.add(one.signals)
    found.sessions = list(sessions.rows())
    found.integrity = claims.summary()
    return found


class _Claims:
    """Keeps of every iteration the observations alone, until they are summed up."""

    def __init__(self) -> None:
        self._sets: list[SignalSet] = []

    def add(self, signals: SignalSet) -> None:
        self._sets.append(SignalSet(signals.iteration, {}, signals.objective, signals.integrity))

    def summary(self) -> list[IntegritySummary]:
        return summarize_integrity(self._sets)


def _line(one: Examined) -> Line:
    score, record = one.score, one.record
    details = {row.signal: row.detail for row in score.breakdown if row.present}
    counts = _CORRECTIONS.match(details.get(CORRECTION_PRESSURE, ""))
    return Line(
        score.iteration,
        as_utf8(record.task_id),
        as_utf8(record.date),
        as_utf8(record.agent.session_id),
        score.rubric_version,
        score.value if score.scored else None,
        score.band,
        one.origin,
        score.coverage.weight,
        as_utf8(weakest(score)) if score.scored else "no signal is present",
        {row.signal: row.sub_score if row.present else None for row in score.breakdown},
        tuple(
            (
                row.signal,
                row.label,
                row.present,
                row.sub_score,
                row.effective_weight if row.present else row.nominal_weight,
                row.contribution,
                as_utf8(row.detail),
            )
            for row in score.breakdown
        ),
        tuple(
            (
                str(o.role),
                str(o.signal),
                o.claimed.sub_score if o.claimed.present else None,
                o.observed.sub_score if o.observed.present else None,
                as_utf8(o.claimed.detail),
                as_utf8(o.observed.detail),
            )
            for o in one.signals.integrity
        ),
        int(counts[1]) if counts else None,
        int(counts[2]) if counts else None,
        int(counts[3]) / 100 if counts and counts[3] else None,
    )


def _hooks(log: Path, iteration: int) -> Iterable[tuple[str, str]]:
    try:
        outcomes = scored_hook_outcomes(log, iteration) or []
    except HookFileError:
        return []
    return [(as_utf8(o.rule_id), as_utf8(o.result)) for o in outcomes]


@dataclass(frozen=True, slots=True)
class Changed:
    """What is different since the last report: iteration, and its score before and now (None: there was none)."""

    new: list[Line]
    moved: list[tuple[Line, float | None]]
    gone: list[int]

    def __bool__(self) -> bool:
        return bool(self.new or self.moved or self.gone)


def changes(now: Sequence[Line], before: dict[str, list[Any]]) -> Changed:
    """Compare a report's iterations with the snapshot of an earlier one."""
    new = [line for line in now if str(line.iteration) not in before]
    moved = [
        (line, before[str(line.iteration)][1])
        for line in now
        if str(line.iteration) in before and before[str(line.iteration)][:2] != [line.rubric_version, line.value]
    ]
    known = {str(line.iteration) for line in now}
    return Changed(new, moved, sorted(int(n) for n in before if n not in known))
