"""What a score is: a value, its band and a row for each signal, with its coverage and bounds."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import fsum
from typing import Literal, Protocol

BAND_UNSCORED = "unscored"
"""The band of an iteration or session in which nothing could be scored."""

BAND_INSUFFICIENT = "insufficient"
"""The band of an iteration with too little evidence, or of a session of such iterations."""

BAND_LABELS = {BAND_INSUFFICIENT: "not enough evidence"}
"""What people read for a band that its name does not explain."""

TOLERANCE = 1e-9
"""Numbers that differ by at most this are equal: rounding alone may have made the difference."""

Source = Literal["observed", "claimed"]
"""Whether a sub-score was observed, or the one who did the work claims it."""


class SignalReading(Protocol):
    """What the scorer needs of a signal: a sub-score from 0 to 1, or absence.

    A reading may also have ``source``, ``applicable``, ``cap`` and ``fact``, as
    :class:`SignalContribution` has them.
    """

    @property
    def present(self) -> bool:
        """Whether the signal votes."""

    @property
    def sub_score(self) -> float:
        """The vote, from 0 to 1. It means nothing when the signal is absent."""

    @property
    def detail(self) -> str:
        """What produced the value, for people."""


class SignalReadings(Protocol):
    """What the scorer needs of one iteration.

    It may also have ``tool_calls``: how many calls of tools were seen in its own work, or None.
    """

    @property
    def iteration(self) -> int:
        """The number of the iteration."""

    def value(self, signal_id: str) -> SignalReading:
        """Return the reading of a signal, an absent one when the id is unknown."""


@dataclass(frozen=True, slots=True)
class SignalContribution:
    """One row of the breakdown.

    Attributes:
        signal: the id of the signal.
        label: its name for people.
        present: whether the signal votes; without a vote the sub-score, the effective weight and
            the contribution are 0.
        sub_score: the vote, from 0 to 1.
        detail: what produced the vote, or why the signal does not vote.
        nominal_weight: the weight in the rubric.
        effective_weight: the nominal weight as a share of the weights of all signals that vote.
        contribution: what the vote adds to the value: effective weight times sub-score.
        source: whether the vote was observed or claimed; None without a vote, and where that was
            not kept.
        applicable: whether the signal has anything to say of such an iteration; if not, neither
            coverage nor bounds count it.
        cap: the best band that the row allows; "" when it allows any.
        fact: what the vote goes by, in a few words; "" where that was not kept.
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
    """How much of the applicable rubric a score rests on.

    Attributes:
        present: how many signals vote.
        total: how many signals are applicable.
        weight: the share of the weight of the applicable signals that votes, from 0 to 1; 0 where
            no signal is applicable.
    """

    present: int
    total: int
    weight: float

    def __str__(self) -> str:
        percent = self.weight * 100
        return f"{self.present} of {self.total} signals, {percent:.1f} % of the weight"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between which values a score could be if all applicable signals had a vote.

    Attributes:
        low: the value with all absent signals at 0.
        high: the value with all absent signals at 1.
    """

    low: float
    high: float


class Breakdown:
    """What follows from the rows of a score, be it computed or read back.

    Attributes:
        breakdown: a row for each signal.
    """

    __slots__ = ()
    breakdown: tuple[SignalContribution, ...]

    @property
    def coverage(self) -> Coverage:
        """How many signals, and how much of the weight, this score rests on."""
        return coverage_of(self.breakdown)

    @property
    def bounds(self) -> Bounds:
        """How low and how high the value could be with a vote of every applicable signal.

        The bounds are 0 and 1 when no signal is applicable.
        """
        applicable = [row for row in self.breakdown if row.applicable]
        total = fsum(row.nominal_weight for row in applicable)
        if not total:
            return Bounds(0.0, 1.0)

        votes = [
            row.nominal_weight * row.sub_score for row in applicable if row.present
        ]
        absent = [row.nominal_weight for row in applicable if not row.present]
        low = fsum(votes) / total
        high = low + fsum(absent) / total
        return Bounds(min(low, 1.0), min(high, 1.0))

    def without(self, signal: str) -> float | None:
        """Return the mean of the other present signals by nominal weight, from 0 to 1.

        None when no other signal is present.
        """
        others = [row for row in self.breakdown if row.present and row.signal != signal]
        weight = fsum(row.nominal_weight for row in others)
        if not weight:
            return None
        return fsum(row.nominal_weight * row.sub_score for row in others) / weight


@dataclass(frozen=True, slots=True)
class Score(Breakdown):
    """What a rubric makes of one iteration.

    Attributes:
        iteration: the number of the iteration.
        rubric_version: the version of the rubric.
        value: the value, from 0 to 1, or above by a rounding error; 0 where it is not scored.
        scored: whether any signal is present.
        band: the name of the band, or :data:`BAND_UNSCORED` or :data:`BAND_INSUFFICIENT`.
        breakdown: a row for each signal, in the order of the rubric.
        sidecar: what a sidecar holds of it, one of :data:`rubric.model.SIDECAR`.
    """

    iteration: int
    rubric_version: str
    value: float
    scored: bool
    band: str
    breakdown: tuple[SignalContribution, ...]
    sidecar: str = "reference"


def coverage_of(rows: Iterable[SignalContribution]) -> Coverage:
    """Return how many of the applicable rows vote, and with what share of the weight of these."""
    applicable = [row for row in rows if row.applicable]
    voting = [row.nominal_weight for row in applicable if row.present]

    total = fsum(row.nominal_weight for row in applicable)
    weight = fsum(voting) / total if total else 0.0
    return Coverage(len(voting), len(applicable), weight)
