"""Time stamps of transcript lines, as whole nanoseconds since 1970 in UTC (contract section 2.7)."""

import re

NS = 1_000_000_000
NS_MAX = 2**63 - 1
"""Times beyond the years 1677 to 2262 are cut to this range; no commit lies there."""

_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([-+])(\d\d):(\d\d))", re.ASCII)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_hours: dict[str, int] = {}
_HOURS_KEPT = 100_000
_minutes = {f"{minute:02d}:": minute * 60 * NS for minute in range(60)}
_seconds = {f"{second:02d}": second * NS for second in range(60)}
_millis = {f".{milli:03d}Z": milli * 1_000_000 for milli in range(1000)}


def timestamp_ns(text: str) -> int | None:
    """Return the time a stamp names, or None when it is no RFC 3339 stamp that counts.

    The usual form (``2026-01-01T00:00:00.123Z``) takes a short way: its four parts are looked up.
    """
    try:
        return _hours[text[:14]] + _minutes[text[14:17]] + _seconds[text[17:19]] + _millis[text[19:]]
    except KeyError:
        hour = _any_form(text[:14] + "00:00Z")
        if hour is not None and abs(hour) < NS_MAX - 3600 * NS:
            if len(_hours) >= _HOURS_KEPT:
                _hours.clear()
            _hours[text[:14]] = hour
        return _any_form(text)


def _any_form(text: str) -> int | None:
    m = _STAMP.fullmatch(text)
    if not m:
        return None
    year, month, day, hour, minute, second = (int(m[n]) for n in range(1, 7))
    if not (1 <= month <= 12 and 1 <= day <= _days_in(year, month) and hour < 24 and minute < 60 and second < 60):
        return None
    seconds = _days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    if m[8]:
        offset_hours, offset_minutes = int(m[9]), int(m[10])
        if offset_hours > 24 or offset_minutes > 60:  # the bounds themselves are taken
            return None
        seconds -= (1 if m[8] == "+" else -1) * (offset_hours * 3600 + offset_minutes * 60)
    return clamp_ns(seconds * NS + int((m[7] or "0")[:9].ljust(9, "0")))


def clamp_ns(ns: int) -> int:
    """Cut a time to what 64 bits hold."""
    return max(-NS_MAX, min(NS_MAX, ns))


def _days_in(year: int, month: int) -> int:
    return 29 if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else _MONTH_DAYS[month - 1]


def _days_since_1970(year: int, month: int, day: int) -> int:
    """Count days by the proleptic Gregorian calendar, year 0 included, which the standard library leaves out."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468
