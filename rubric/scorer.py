"""From signals to a score: the weighted mean over what is present, in the reference's order of operations.

The order matters to the last digit: weights and contributions are added in rubric order, in doubles.
Nothing here knows where a signal came from.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

BAND_UNSCORED = "unscored"
"""The band of an iteration or session in which nothing could be scored."""


class SignalReading(Protocol):
    """What the scorer needs of a signal's value: a sub-score in [0, 1], or that it is absent."""

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
    """What the scorer needs of one iteration."""

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


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the rubric a score rests on: ``present`` of ``total`` signals, ``weight`` of the weight (0 to 1)."""

    present: int
    total: int
    weight: float

    def __str__(self) -> str:
        return f"{self.present} of {self.total} signals, {self.weight * 100:.0f} % of the weight"


@dataclass(frozen=True, slots=True)
class Score:
    """What the rubric made of one iteration: a value, its band, and one row per signal in rubric order.

    The value is in [0, 1] up to the last bit: the effective weights may add up to a hair more than 1.
    """

    iteration: int
    rubric_version: str
    value: float
    scored: bool
    band: str
    breakdown: tuple[SignalContribution, ...]

    @property
    def coverage(self) -> Coverage:
        """How many signals, and how much of the weight, this score rests on."""
        return coverage_of(self.breakdown)


def coverage_of(rows: Iterable[SignalContribution]) -> Coverage:
    """Measure the coverage of a breakdown."""
    rows = tuple(rows)
    voted = [row.nominal_weight for row in rows if row.present]
    total = math.fsum(row.nominal_weight for row in rows)
    return Coverage(len(voted), len(rows), math.fsum(voted) / total if total else 0.0)


def combine(
    signals: Iterable[tuple[str, str, float]], readings: SignalReadings
) -> tuple[float, bool, tuple[SignalContribution, ...]]:
    """Combine ``(id, label, weight)`` signals with their readings into ``(value, scored, breakdown)``."""
    read = [(sid, label, weight, readings.value(sid)) for sid, label, weight in signals]
    total = 0.0
    for _, _, weight, reading in read:
        if reading.present:
            total += weight
    value = 0.0
    rows = []
    for sid, label, weight, reading in read:
        if reading.present:
            effective = weight / total
            contribution = effective * reading.sub_score
            value += contribution
            rows.append(
                SignalContribution(sid, label, True, reading.sub_score, reading.detail, weight, effective, contribution)
            )
        else:
            rows.append(SignalContribution(sid, label, False, 0.0, reading.detail, weight, 0.0, 0.0))
    return value, total > 0, tuple(rows)
