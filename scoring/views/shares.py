"""Shares of units of work, for every page (``docs/VALIDITY.md``, "All of the work")."""

from typing import NamedTuple

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
        low, high = wilson(self.part, self.whole) if self.whole else (None, None)
        return {"value": self.value, "low": low, "high": high}

    def __str__(self) -> str:
        if not self.whole:
            return "-"
        return f"{self.part} of {self.whole} ({self.range})"


def percent(share: float) -> str:
    """Return a share in percent. Only none is 0, and only all is 100."""
    value = round(share * 100, 6)
    if value in (0, 100) or 0.5 <= value < 99.5:
        return f"{value:.0f}"
    return f"{min(max(value, 0.1), 99.9):.1f}"
