"""The calendar of a made backlog: when each iteration works, and how times are written."""

from datetime import UTC, datetime

START = 1_767_600_000
"""When the first iteration begins, in seconds since 1970."""

STEP = 5_400
"""How long an iteration takes, in seconds."""


def stamp(seconds: float) -> str:
    """Write a time as transcripts do."""
    return (
        datetime.fromtimestamp(seconds, UTC)
        .isoformat(timespec="milliseconds")
        .removesuffix("+00:00")
        + "Z"
    )


def day(seconds: float) -> str:
    """Write the day of a time."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
