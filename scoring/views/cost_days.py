"""The days of which costs are wanted."""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple
from zoneinfo import ZoneInfo

from scoring.evidence.transcripts.facts import QUARTER
from scoring.frozen import PlainData
from scoring.log.selection import Period
from scoring.outcomes.spending import Charge, Spending

from .work_rows import day_of, zone_text


class CostDays(NamedTuple):
    """The days of which costs are wanted.

    Attributes:
        period: the days, in ``zone``; None for all.
        zone: the time zone of days; None for the local one.
    """

    period: Period | None = None
    zone: ZoneInfo | None = None

    @property
    def zone_text(self) -> str:
        """The time zone, for people."""
        return zone_text(self.zone.key if self.zone else None)

    def as_dict(self) -> PlainData:
        """Return the time zone and the ends of the period for JSON; an open end is None."""
        since = until = None
        if self.period and self.period.first > date.min:
            since = self.period.first.isoformat()
        if self.period and self.period.last < date.max:
            until = self.period.last.isoformat()
        return {"timezone": self.zone_text, "since": since, "until": until}

    def __str__(self) -> str:
        return str(self.period) if self.period else "all days"

    def charges(self, spending: Spending) -> Iterator[tuple[Charge, date | None]]:
        """Yield the charges of these days, each with its day.

        Responses without a time are of the day on which the work ended. Where that is not known
        either, the day is None, and a period leaves the charge out.
        """
        for charge in spending.charges:
            moment = spending.ended
            if charge.spent.quarter >= 0:
                moment = charge.spent.quarter * QUARTER
            day = day_of(moment, self.zone)
            if self.period is None or day in self.period:
                yield charge, day
