"""The two meters of deliberations, and how both compare and round: within 1e-9 two values are equal."""

from typing import Literal, TypeAlias

TOLERANCE = 1e-9  # values no further apart than this are equal
PLACES = 4  # decimal places of numbers in output; comparisons are made before rounding
NOVELTY_HIGH, NOVELTY_LOW = (
    0.5,
    0.15,
)  # where novelty is HIGH and LOW, unless settings say otherwise
Level: TypeAlias = Literal["HIGH", "MEDIUM", "LOW"]


def at_least(value: float, limit: float) -> bool:
    """Return whether ``value`` ≥ ``limit``."""
    return value >= limit - TOLERANCE


def at_most(value: float, limit: float) -> bool:
    """Return whether ``value`` ≤ ``limit``."""
    return value <= limit + TOLERANCE


def above(value: float, limit: float) -> bool:
    """Return whether ``value`` > ``limit``: more than equal to it."""
    return not at_most(value, limit)


def below(value: float, limit: float) -> bool:
    """Return whether ``value`` < ``limit``: less than equal to it."""
    return not at_least(value, limit)


def rounded(value: float) -> float:
    """Return a number as output shows it, to 4 places and never as minus zero."""
    return round(value, PLACES) + 0.0


def novelty_level(rate: float, high: float = NOVELTY_HIGH, low: float = NOVELTY_LOW) -> Level:
    """Return the raw class of a novelty rate: HIGH above one threshold, LOW below the other."""
    if above(rate, high):
        return "HIGH"
    return "LOW" if below(rate, low) else "MEDIUM"
