"""What a rubric is, and what it scores.

A rubric never changes in place: two scores compare when, and only when, the versions that they name do.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import NewType

from rubric.breakdown import (
    BAND_INSUFFICIENT,
    BAND_UNSCORED,
    TOLERANCE,
    Score,
    SignalContribution,
    SignalReadings,
    coverage_of,
)
from rubric.datafiles import RubricError, profile_names

SignalID = NewType("SignalID", str)  # names one input signal, such as ``landed``

CombinationMethod = NewType("CombinationMethod", str)  # names how sub-scores become one value

# the one known method: the weighted mean over the signals that are present
COMBINE_WEIGHTED_MEAN_RENORMALIZED = CombinationMethod("weighted_mean_renormalized")

# the known rules under which evidence is found and read
EVIDENCE_REFERENCE, EVIDENCE_ATTRIBUTED = EVIDENCE = ("reference", "attributed")

STRICT, LENIENT = LOADING = (
    "strict",
    "lenient",
)  # one broken entry stops the load, or the rest is scored without it
REFERENCE_TEXT, FULL_TEXT = TEXT = (
    "reference",
    "full",
)  # of tables on a pipe: full has coverage and uncut names too
REFERENCE_SIDECAR, BOUNDS_SIDECAR = SIDECAR = (
    "reference",
    "bounds",
)  # the latter holds bounds and coverage too
REFERENCE_FLAGS, ALL_FLAGS = TEST_FLAGS = (
    "reference",
    "all",
)  # ``impl.tests_total_pass`` in schema 2 is a claim too

WEIGHT_TOLERANCE = 1e-9  # how far the sum of a rubric's weights may be from 1


@dataclass(frozen=True, slots=True)
class SignalSpec:
    """One signal of a rubric."""

    id: SignalID
    label: str
    weight: float  # above 0; those of a rubric sum to 1
    description: str = ""
    two_way: bool = (
        False  # whether it has a self-reported side, which never votes, for the integrity track
    )
    profile: str = ""  # the released profile of its meter; empty without a meter, and for the meter's first profile


@dataclass(frozen=True, slots=True)
class ScoreBand:
    """A name for the values from ``min`` (inclusive, in [0, 1]) up to the next band."""

    name: str
    min: float


@dataclass(frozen=True, slots=True)
class Rubric:
    """A versioned rubric: signals in voting order, how they combine, and bands from best to worst."""

    version: str
    combination: CombinationMethod
    signals: tuple[SignalSpec, ...]
    bands: tuple[ScoreBand, ...]
    evidence: str = EVIDENCE_REFERENCE  # the rules under which the evidence behind the signals is found and read
    claims_vote: bool = (
        True  # whether what an agent says of its own work can vote beside what was observed
    )
    minimum_coverage: float = 0.0  # the share of the weight, 0 to 1, below which there is no band
    loading: str = STRICT  # of LOADING
    text: str = REFERENCE_TEXT  # of TEXT
    sidecar: str = REFERENCE_SIDECAR  # of SIDECAR
    test_flags: str = REFERENCE_FLAGS  # of TEST_FLAGS

    def validate(self) -> None:
        """Raise a RubricError naming the first broken invariant (docs/OUTCOME_SCORING_RUBRIC.md, "Versioning")."""
        for problem in self.problems():
            raise RubricError(f"rubric {self.version or '(no version)'}: {problem}")

    def problems(self) -> Iterable[str]:
        """Yield what is wrong with this rubric, in words; nothing when it is valid."""
        if not self.version:
            yield "version is empty"
        if not self.combination:
            yield "combination method is empty"
        elif self.combination != COMBINE_WEIGHTED_MEAN_RENORMALIZED:
            yield f"combination method {self.combination!r} is unknown; known: {COMBINE_WEIGHTED_MEAN_RENORMALIZED}"
        names = {
            "evidence": EVIDENCE,
            "loading": LOADING,
            "text": TEXT,
            "sidecar": SIDECAR,
            "test_flags": TEST_FLAGS,
        }
        for name, known in names.items():
            value = getattr(self, name)
            if (name, value) == ("evidence", "corrected"):
                yield f"evidence 'corrected' was removed; use {EVIDENCE_ATTRIBUTED!r}"
            elif value not in known:
                yield f"{name} {value!r} is unknown; known: {', '.join(known)}"
        if not 0 <= self.minimum_coverage <= 1:
            yield f"minimum_coverage is {self.minimum_coverage}; it is a share of the weight, from 0 to 1"
        yield from self._signal_problems()
        yield from self._band_problems()

    def _signal_problems(self) -> Iterable[str]:
        if not self.signals:
            yield "there are no signals"
            return
        seen: set[str] = set()
        total = 0.0
        for spec in self.signals:
            if not spec.id:
                yield "a signal has no id"
            if spec.id in seen:
                yield f"signal {spec.id!r} is listed twice"
            seen.add(spec.id)
            if not (spec.weight > 0 and math.isfinite(spec.weight)):
                yield f"signal {spec.id!r} has weight {spec.weight}; weights are above 0"
            if spec.profile and spec.profile not in profile_names():
                yield f"signal {spec.id!r} names the profile {spec.profile!r}; released: {', '.join(profile_names())}"
            total += spec.weight
        if not abs(total - 1.0) <= WEIGHT_TOLERANCE:
            yield f"weights sum to {total}; they must sum to 1"

    def _band_problems(self) -> Iterable[str]:
        if not self.bands:
            yield "there are no bands"
            return
        for band in self.bands:
            if not band.name:
                yield f"the band from {band.min} has no name"
        for upper, lower in zip(self.bands, self.bands[1:], strict=False):
            if not lower.min < upper.min:
                yield f"band {lower.name!r} ({lower.min}) does not lie below {upper.name!r} ({upper.min})"
        if self.bands[-1].min != 0:
            yield f"the lowest band starts at {self.bands[-1].min}; it must start at 0"

    def band(self, value: float) -> str:
        """Name the band of ``value``; values outside [0, 1] take the nearest band."""
        for band in self.bands:
            if value >= band.min:
                return band.name
        return self.bands[-1].name

    def signal(self, signal_id: str) -> SignalSpec | None:
        """Return the spec of ``signal_id``, or None when this rubric does not have it."""
        return next((spec for spec in self.signals if spec.id == signal_id), None)

    def two_way_signals(self) -> tuple[SignalSpec, ...]:
        """Return the signals that have a self-reported side, in rubric order."""
        return tuple(spec for spec in self.signals if spec.two_way)

    def score(self, readings: SignalReadings) -> Score:
        """Combine one iteration's signals into its score; with no signal present it is 0 and not ``scored``.

        Below ``minimum_coverage``, or where it is known that none of the iteration's own tool calls was seen, the band
        is ``insufficient``, whatever the value; else, with no signal present, it is ``unscored``. Rows may cap it.
        """
        value, scored, rows = combine(((s.id, s.label, s.weight) for s in self.signals), readings)
        unseen = scored and getattr(readings, "tool_calls", None) == 0
        if unseen or not self.suffices(coverage_of(rows).weight):
            band = BAND_INSUFFICIENT
        elif not scored:
            band = BAND_UNSCORED
        else:
            band = self._capped(self.band(value), rows)
        return Score(readings.iteration, self.version, value, scored, band, rows, self.sidecar)

    def suffices(self, weight: float) -> bool:
        """Return whether a share of the weight, 0 to 1, is enough for a band, give or take what rounding does."""
        return weight >= self.minimum_coverage - TOLERANCE

    def _capped(self, band: str, rows: Iterable[SignalContribution]) -> str:
        """Return the band that a value and the caps of its rows allow; a cap that is no band here allows any."""
        names = [known.name for known in self.bands]
        return names[
            max(names.index(name) for name in (band, *(row.cap for row in rows)) if name in names)
        ]

    def score_all(self, sets: Iterable[SignalReadings]) -> list[Score]:
        """Score many iterations, in input order."""
        return [self.score(readings) for readings in sets]


def combine(
    signals: Iterable[tuple[str, str, float]], readings: SignalReadings
) -> tuple[float, bool, tuple[SignalContribution, ...]]:
    """Combine ``(id, label, weight)`` signals with their readings into ``(value, scored, breakdown)``: a weighted mean.

    Weights and contributions are added one by one, in rubric order, as the reference adds them: sum() rounds otherwise.
    """
    read = [(sid, label, weight, readings.value(sid)) for sid, label, weight in signals]
    total = reduce(add, (weight for _, _, weight, reading in read if reading.present), 0.0)
    value = 0.0
    rows = []
    for sid, label, weight, reading in read:
        if reading.present:
            effective = weight / total
            contribution = effective * reading.sub_score
            value += contribution
            voted = True, reading.sub_score, reading.detail, weight, effective, contribution
            source, cap = getattr(reading, "source", None), getattr(reading, "cap", "")
            rows.append(
                SignalContribution(
                    sid, label, *voted, source, cap=cap, fact=getattr(reading, "fact", "")
                )
            )
        else:
            applicable = getattr(reading, "applicable", True)
            rows.append(
                SignalContribution(
                    sid, label, False, 0.0, reading.detail, weight, 0.0, 0.0, None, applicable
                )
            )
    return value, total > 0, tuple(rows)
