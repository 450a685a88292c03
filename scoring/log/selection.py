"""Chooses entries of a log by number, date, task and session, as the options of a command say."""

import datetime
import re
import time
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from scoring.errors import OptionError
from scoring.frozen import Frozen

from .model import IterationRecord


class Selection(Frozen):
    """A choice of entries. A field that is None leaves nothing out.

    Attributes:
        last: how many entries are chosen at most, 1 or more: the last of those that the other
            fields choose.
        since: the first day, which is chosen too. An entry without a date is chosen.
        task: the id of a task, or a pattern such as ``auth-*``.
        only: the numbers of the iterations that are chosen.
        session: the id of a session.
    """

    last: int | None = None
    since: datetime.date | None = None
    task: str | None = None
    only: Collection[int] | None = None
    session: str | None = None

    def select(self, records: Sequence[IterationRecord]) -> list[IterationRecord]:
        """Return the entries of the choice, in their order."""
        selected = [record for record in records if self._includes(record)]
        if self.last is None:
            return selected
        return selected[-self.last :]

    def numbers(self, records: Sequence[IterationRecord]) -> set[int]:
        """Return the numbers of the iterations that are chosen."""
        return {record.iteration for record in self.select(records)}

    def _includes(self, record: IterationRecord) -> bool:
        """Return whether all fields but ``last`` choose an entry.

        ``since`` also chooses an entry with a date that is not a day.
        """
        if self.only is not None and record.iteration not in self.only:
            return False
        if self.session is not None and record.agent.session_id != self.session:
            return False
        if self.task not in (None, record.task_id) and not fnmatchcase(
            record.task_id, self.task
        ):
            return False
        if self.since is None:
            return True

        date = day_or_none(record.date[:10])
        return date is None or date >= self.since


def day_or_none(text: str) -> datetime.date | None:
    """Return the day that a text such as ``2026-06-03`` names, or None for any other text."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


class Period(NamedTuple):
    """Some days in a row.

    Attributes:
        first: the first day, which belongs to the period; ``date.min`` for an open beginning.
        last: the last day, which belongs to the period; ``date.max`` for an open end.
    """

    first: datetime.date
    last: datetime.date

    def __contains__(self, day: object) -> bool:
        """Return whether a day is in the period. None is not."""
        return isinstance(day, datetime.date) and self.first <= day <= self.last

    def __str__(self) -> str:
        if self.first == self.last:
            return str(self.first)
        if self == _month_of(self.first):
            return f"{self.first:%Y-%m}"
        if self.last == datetime.date.max:
            return f"since {self.first}"
        if self.first == datetime.date.min:
            return f"until {self.last}"
        return f"{self.first} to {self.last}"


_DATE = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?")
_NEWEST = re.compile(r"([1-9]\d{0,3}) ?(d|days?|w|weeks?)")
_A_DAY = datetime.timedelta(days=1)


def today_here() -> datetime.date:
    """Return the current day in the time zone of the machine."""
    # a time with its zone is refused where TZ is a day or more from UTC
    return datetime.date(*time.localtime()[:3])


def first_day(since: str | None) -> datetime.date | None:
    """Return the first of the days that ``--since`` names, or None without the option.

    Raises:
        OptionError: it names no days.
    """
    if since is None:
        return None
    return parse_period(since, today_here(), "--since").first


def period_between(
    since: str | None, until: str | None, today: datetime.date
) -> Period | None:
    """Return the days that ``--since`` and ``--until`` choose, or None without these options.

    One option without the other leaves the period open at the other end.

    Args:
        since: the text of ``--since``, of which the first day counts; None without the option.
        until: the text of ``--until``, of which the last day counts; None without the option.
        today: the current day.

    Raises:
        OptionError: one of them names no days, or the first day is after the last.
    """
    if since is None and until is None:
        return None

    first, last = datetime.date.min, datetime.date.max
    if since is not None:
        first = parse_period(since, today, "--since").first
    if until is not None:
        last = parse_period(until, today, "--until").last
    if first > last:
        raise OptionError(f"--since {first} is after the last day, {last}")
    return Period(first, last)


def parse_period(text: str, today: datetime.date, option: str = "") -> Period:
    """Return the days that people name.

    Args:
        text: a day (``2026-6-3``), a month (``2026-6``), the newest days (``30d``, ``2 weeks``),
            ``today``, ``yesterday``, or this or the last week or month (``last week``).
        today: the current day.
        option: the option that has the text, for an error.

    Raises:
        OptionError: the text names no days.
    """
    words = " ".join(text.lower().split())
    try:
        period = _period_of_date(words) or _relative_period(words, today)
    except (ValueError, OverflowError):  # such as the 31st of June
        period = None
    if not period:
        raise OptionError(
            f"{option} {text!r} names no days; write 2026-06-03, 2026-06, 30d, today, "
            "yesterday, or this or last week or month".lstrip()
        )
    return period


def _period_of_date(text: str) -> Period | None:
    """Return the day or month that a text such as ``2026-6-3`` names, or None for other text.

    Raises:
        ValueError: the calendar has no such day.
    """
    date = _DATE.fullmatch(text)
    if not date:
        return None

    day = datetime.date(int(date[1]), int(date[2]), int(date[3] or 1))
    return Period(day, day) if date[3] else _month_of(day)


def _month_of(day: datetime.date) -> Period:
    import calendar  # few commands are about a month

    _, last = calendar.monthrange(day.year, day.month)
    return Period(day.replace(day=1), day.replace(day=last))


def _relative_period(text: str, today: datetime.date) -> Period | None:
    """Return the days that words name, such as ``last week`` or ``30d``, or None for other text.

    ``30d`` is 30 days with today as the last. A week begins on Monday.

    Raises:
        OverflowError: the first day would be before the year 1.
    """
    newest = _NEWEST.fullmatch(text)
    if newest:
        days = int(newest[1])
        if newest[2].startswith("w"):
            days *= 7
        return Period(today - (days - 1) * _A_DAY, today)

    monday = today - today.weekday() * _A_DAY
    periods = {
        "today": Period(today, today),
        "yesterday": Period(today - _A_DAY, today - _A_DAY),
        "this week": Period(monday, monday + 6 * _A_DAY),
        "last week": Period(monday - 7 * _A_DAY, monday - _A_DAY),
        "this month": _month_of(today),
        "last month": _month_of(today.replace(day=1) - _A_DAY),
    }
    return periods.get(text)
