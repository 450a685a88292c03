"""The time that belongs to an iteration, in words."""

import datetime
from collections.abc import Iterator

from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import IterationWindow


def window_source(facts: IterationFacts) -> Iterator[str]:
    """Yield the window as a place that a value was read from; nothing where there is none."""
    if facts.window:
        yield f"transcripts {window_text(facts.window)}"


def window_text(window: IterationWindow) -> str:
    """Return a window in words."""
    end = _moment(window.end)
    return f"up to {end}" if window.start is None else f"after {_moment(window.start)}, up to {end}"


def _moment(ns: int) -> str:
    """Return a time to the second, UTC."""
    try:
        return datetime.datetime.fromtimestamp(ns // 10**9, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{ns // 10**9} seconds after 1970"
