"""The diminishing-returns meter and the meeting meter, and how both compare and round numbers.

Both treat two values within 1e-9 of each other as equal.
"""

from typing import Literal

TOLERANCE = 1e-9
"""Values that differ by at most this are equal."""

PLACES = 4
"""Decimal places of numbers in output. Comparisons are made before rounding."""

NOVELTY_HIGH = 0.5
"""A novelty rate above this is HIGH, unless settings say otherwise."""

NOVELTY_LOW = 0.15
"""A novelty rate below this is LOW, unless settings say otherwise."""

Level = Literal["HIGH", "MEDIUM", "LOW"]


def at_least(value: float, limit: float) -> bool:
    """Return whether ``value`` is above ``limit``, or equal to it within 1e-9."""
    return value >= limit - TOLERANCE


def at_most(value: float, limit: float) -> bool:
    """Return whether ``value`` is below ``limit``, or equal to it within 1e-9."""
    return value <= limit + TOLERANCE


def above(value: float, limit: float) -> bool:
    """Return whether ``value`` is above ``limit`` by more than 1e-9."""
    return not at_most(value, limit)


def below(value: float, limit: float) -> bool:
    """Return whether ``value`` is below ``limit`` by more than 1e-9."""
    return not at_least(value, limit)


def rounded(value: float) -> float:
    """Return a number as output shows it: to 4 places, and never as minus zero."""
    return round(value, PLACES) + 0.0


def novelty_level(
    rate: float, high: float = NOVELTY_HIGH, low: float = NOVELTY_LOW
) -> Level:
    """Return the class of a novelty rate by itself, whatever the rounds before it had.

    Args:
        rate: the novelty rate, 0 to 1.
        high: a rate above this is HIGH.
        low: a rate below this is LOW.
    """
    if above(rate, high):
        return "HIGH"
    if below(rate, low):
        return "LOW"
    return "MEDIUM"
