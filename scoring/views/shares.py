"""Shares of units of work, for every page (``docs/VALIDITY.md``, "All of the work")."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from scoring.outcomes.unit import State
from scoring.statistics import wilson

DECIDED: tuple[State, ...] = ("landed", "reverted", "taken_back", "lost")
"""The states in which it is certain whether the work landed and stayed."""


class CountedShare(NamedTuple):
    """A share of a whole, in numbers of units."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1, or None of nothing."""
        if not self.whole:
            return None
        return self.part / self.whole

    @property
    def range(self) -> str:
        """The share and its Wilson interval, as ``50 %, 9–91 %``, or "" of nothing."""
        if self.value is None:
            return ""
        low, high = wilson(self.part, self.whole)
        return f"{percent(self.value)} %, {percent(low)}\u2013{percent(high)} %"

    def as_dict(self) -> dict[str, float | None]:
        """Return the share and its Wilson interval for JSON. All are None of nothing."""
        if not self.whole:
            return {"value": None, "low": None, "high": None}
        low, high = wilson(self.part, self.whole)
        return {"value": self.value, "low": low, "high": high}

    def __str__(self) -> str:
        if not self.whole:
            return "-"
        return f"{self.part} of {self.whole} ({self.range})"


def landed_share(summary: Mapping[str, Any]) -> CountedShare:
    """Return how much of the work landed and stayed, of that which is decided.

    Work that is open or unclear is in neither number.

    Args:
        summary: the numbers of units by state, as in :func:`work_summary`.
    """
    return CountedShare(summary["landed"], sum(summary[state] for state in DECIDED))


def fixed_share(summary: Mapping[str, Any]) -> CountedShare:
    """Return how much was reverted or fixed later, of the work that is old enough to judge.

    Args:
        summary: the numbers of units that are ``judged`` and ``defective``.
    """
    return CountedShare(summary["defective"], summary["judged"])


def percent(share: float) -> str:
    """Return a share in percent. Only none is 0, and only all is 100."""
    value = round(share * 100, 6)
    if value in (0, 100) or 0.5 <= value < 99.5:
        return f"{value:.0f}"
    return f"{min(max(value, 0.1), 99.9):.1f}"
