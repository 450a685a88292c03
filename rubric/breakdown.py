"""What a score is: a value, its band and a row for each signal, with its coverage and bounds."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

BAND_UNSCORED = "unscored"  # the band of an iteration or session in which nothing could be scored
BAND_INSUFFICIENT = "insufficient"  # that of an iteration with too little evidence for another, or of such ones only
BAND_LABELS = {BAND_INSUFFICIENT: "not enough evidence"}  # what people read for a band that its name does not explain

TOLERANCE = 1e-9  # numbers no further apart are equal: rounding alone may have made the difference

Source = Literal["observed", "claimed"]
"""Where a sub-score comes from: it was observed, or the one who did the work says so."""


class SignalReading(Protocol):
    """What the scorer needs of a signal: a sub-score in [0, 1] or absence, maybe source, applicable, cap, fact."""

    @property
    def present(self) -> bool:
        """Whether the signal votes."""

    @property
    def sub_score(self) -> float:
        """The vote, in [0, 1]; meaningless when absent."""

    @property
    def detail(self) -> str:
        """What produced the value, for people."""


class SignalReadings(Protocol):
    """What the scorer needs of an iteration; maybe with ``tool_calls``, how many its own work shows (or None)."""

    @property
    def iteration(self) -> int:
        """The iteration number."""

    def value(self, signal_id: str) -> SignalReading:
        """Return the reading of a signal; absent when the id is unknown."""


@dataclass(frozen=True, slots=True)
class SignalContribution:
    """One row of the breakdown. An absent signal has sub-score, effective weight and contribution 0.

    One not ``applicable`` counts for neither coverage nor bounds; ``cap`` is the best band it allows, "" for any.
    Rows compare without ``source`` (None where absent or not kept) and ``fact``.
    """

    signal: str
    label: str
    present: bool
    sub_score: float
    detail: str
    nominal_weight: float
    effective_weight: float
    contribution: float
    source: Source | None = field(default=None, compare=False)
    applicable: bool = True
    cap: str = ""
    fact: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the rubric a score rests on: ``present`` of ``total`` signals, ``weight`` of the weight (0 to 1).

    What is not applicable is not in the total.
    """

    present: int
    total: int
    weight: float

    def __str__(self) -> str:
        return f"{self.present} of {self.total} signals, {self.weight * 100:.1f} % of the weight"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the absent signals could make of a score, in [0, 1]: ``low`` if all were 0, ``high`` if all were 1."""

    low: float
    high: float


class Rested(Protocol):
    """Whatever knows on how much of the rubric a score rests."""

    @property
    def coverage(self) -> Coverage:
        """How many signals, and how much of the weight, the score rests on."""

    @property
    def bounds(self) -> Bounds:
        """What the absent signals could make of the value."""


class Breakdown:
    """What is known of a score by its rows, be it computed or read back."""

    __slots__ = ()
    breakdown: tuple[SignalContribution, ...]

    @property
    def coverage(self) -> Coverage:
        """How many signals, and how much of the weight, this score rests on."""
        return coverage_of(self.breakdown)

    @property
    def bounds(self) -> Bounds:
        """What the absent signals could make of the value."""
        return bounds_of(self.breakdown)


@dataclass(frozen=True, slots=True)
class Score(Breakdown):
    """What the rubric made of an iteration: a value in [0, 1] up to the last bit, its band, and a row per signal."""

    iteration: int
    rubric_version: str
    value: float
    scored: bool
    band: str
    breakdown: tuple[SignalContribution, ...]
    sidecar: str = "reference"


def coverage_of(rows: Iterable[SignalContribution]) -> Coverage:
    """Measure the coverage of a breakdown."""
    rows = tuple(row for row in rows if row.applicable)
    voted = [row.nominal_weight for row in rows if row.present]
    total = math.fsum(row.nominal_weight for row in rows)
    return Coverage(len(voted), len(rows), math.fsum(voted) / total if total else 0.0)


def bounds_of(rows: Iterable[SignalContribution]) -> Bounds:
    """Return how low and high a score could be with its absent signals, by nominal weight; 0 and 1 if none applies."""
    rows = tuple(row for row in rows if row.applicable)
    total = math.fsum(row.nominal_weight for row in rows)
    if not total:
        return Bounds(0.0, 1.0)
    low = math.fsum(row.nominal_weight * row.sub_score for row in rows if row.present) / total
    absent = math.fsum(row.nominal_weight for row in rows if not row.present) / total
    return Bounds(min(low, 1.0), min(low + absent, 1.0))
