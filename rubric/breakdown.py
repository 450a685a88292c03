"""What a score is: a value, its band and a row for each signal, with its coverage and bounds; and what makes one."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

BAND_UNSCORED = "unscored"  # the band of an iteration or session in which nothing could be scored
BAND_INSUFFICIENT = "insufficient"  # that of an iteration with too little evidence for another, or of such ones only
BAND_LABELS = {
    BAND_INSUFFICIENT: "not enough evidence"
}  # what people read for a band that its name does not explain

TOLERANCE = 1e-9  # numbers no further apart are equal: rounding alone may have made the difference

Source = Literal[
    "observed", "claimed"
]  # a sub-score was observed, or the one who did the work says so


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
    """What the scorer needs of one iteration; it may have ``tool_calls``, those seen in its own work, or None."""

    @property
    def iteration(self) -> int:
        """The iteration number."""

    def value(self, signal_id: str) -> SignalReading:
        """Return the reading of a signal; absent when the id is unknown."""


@dataclass(frozen=True, slots=True)
class SignalContribution:
    """One row of the breakdown. An absent signal has sub-score, effective weight and contribution 0."""

    signal: str
    label: str
    present: bool
    sub_score: float
    detail: str
    nominal_weight: float
    effective_weight: float
    contribution: float
    source: Source | None = field(default=None, compare=False)  # None also where it was not kept
    applicable: bool = (
        True  # without that it is absent, and counts neither for coverage nor for bounds
    )
    cap: str = ""  # the best band that the row allows, "" when it allows any
    fact: str = field(
        default="", compare=False
    )  # what the vote goes by in a few words, "" where it was not kept


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the applicable rubric a score rests on: signals ``present`` of ``total``, ``weight`` from 0 to 1."""

    present: int
    total: int
    weight: float

    def __str__(self) -> str:
        return f"{self.present} of {self.total} signals, {self.weight * 100:.1f} % of the weight"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What the absent signals could make of a score, in [0, 1]: ``low`` with all of them 0, ``high`` with all 1."""

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

    def without(self, signal: str) -> float | None:
        """Return the mean of the other present signals by nominal weight, 0 to 1; None without any."""
        others = [row for row in self.breakdown if row.present and row.signal != signal]
        weight = math.fsum(row.nominal_weight for row in others)
        return (
            math.fsum(row.nominal_weight * row.sub_score for row in others) / weight
            if weight
            else None
        )


@dataclass(frozen=True, slots=True)
class Score(Breakdown):
    """What the rubric made of one iteration: a value, its band, and one row per signal in rubric order."""

    iteration: int
    rubric_version: str
    value: float  # in [0, 1], or above by a rounding error
    scored: bool
    band: str
    breakdown: tuple[SignalContribution, ...]
    sidecar: str = "reference"  # what a sidecar holds of it, of :data:`~rubric.model.SIDECAR`


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
