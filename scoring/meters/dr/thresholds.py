"""How the meters compare and round: within 1e-9 two values are equal, and output has 4 places (contract sections 6, 7).

A rate such as 0.15 is rarely that number as a float; without the tolerance a class would hang on the last bit of a sum.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

TOLERANCE = 1e-9
"""Values no further apart than this are equal."""

PLACES = 4
"""Decimal places of numbers in output; comparisons are made before rounding."""

Level: TypeAlias = Literal["HIGH", "MEDIUM", "LOW"]


def at_least(value: float, limit: float) -> bool:
    """Tell whether ``value`` ≥ ``limit``."""
    return value >= limit - TOLERANCE


def at_most(value: float, limit: float) -> bool:
    """Tell whether ``value`` ≤ ``limit``."""
    return value <= limit + TOLERANCE


def above(value: float, limit: float) -> bool:
    """Tell whether ``value`` > ``limit``: more than equal to it."""
    return not at_most(value, limit)


def below(value: float, limit: float) -> bool:
    """Tell whether ``value`` < ``limit``: less than equal to it."""
    return not at_least(value, limit)


def rounded(value: float) -> float:
    """Return a number as output shows it, to 4 places and never as minus zero."""
    return round(value, PLACES) + 0.0


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where classes begin and when two claims say the same; each from 0 to 1."""

    novelty_high: float = 0.5
    """A novelty rate above this is HIGH."""
    novelty_low: float = 0.15
    """A novelty rate below this is LOW."""
    paraphrase: float = 0.6
    """A claim this similar to an earlier one by its words (Jaccard) is no new one: level L1."""
    semantic: float = 0.82
    """A claim this similar to an earlier one by its meaning (cosine) is no new one: level L2."""
    stability: float = 0.82
    """Two rounds this similar (cosine) are stable: the composite rule."""
    readiness_high: float = 0.7
    """Readiness from here on is HIGH."""
    readiness_medium: float = 0.4
    """Readiness from here on is MEDIUM, below it is LOW."""


DEFAULT = Thresholds()
"""The thresholds of the contract."""


def novelty_level(rate: float, thresholds: Thresholds = DEFAULT) -> Level:
    """Return the raw class of a novelty rate: HIGH above one threshold, LOW below the other."""
    if above(rate, thresholds.novelty_high):
        return "HIGH"
    return "LOW" if below(rate, thresholds.novelty_low) else "MEDIUM"


def readiness_level(readiness: float, thresholds: Thresholds = DEFAULT) -> Level:
    """Return the class of a readiness."""
    if at_least(readiness, thresholds.readiness_high):
        return "HIGH"
    return "MEDIUM" if at_least(readiness, thresholds.readiness_medium) else "LOW"
