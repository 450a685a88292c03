"""Commits, and whether they landed, in one line for people."""

from collections import Counter
from collections.abc import Sequence

from scoring.evidence.git.facts import Landing
from scoring.signals.landed import landed_value
from scoring.text import as_utf8, counted, cut, short

_SUBJECT_LENGTH = 200  # characters of a subject that are shown

_LANDED = "Landed"
_REVERTED = "Reverted"
_MISSING = "Did not land"
_UNKNOWN = "Not known whether it landed"


def named_commit(sha: str | None, subject: str) -> str:
    """Return a line that names a commit by short SHA and subject, or "" where neither is known."""
    text = cut(as_utf8(subject), _SUBJECT_LENGTH)
    if sha:
        if text:
            return f"Commit {short(sha)}: {text}"
        return f"Commit {short(sha)}"
    if not text:
        return ""
    return f"Work: {text}"


def landing_text(landing: Landing) -> str:
    """Return a line that says whether the work of an iteration landed, and how that is known."""
    return f"{_fate(landing)}: {landed_value(landing).detail}"


def landings_text(landings: Sequence[Landing]) -> str:
    """Return a line that says how many of some iterations landed."""
    count = Counter(_fate(landing) for landing in landings)
    fates = [
        f"{count[_LANDED]} landed",
        counted(count[_REVERTED], "was reverted", "were reverted"),
        f"{count[_MISSING]} did not land",
        counted(count[_UNKNOWN], "is unclear", "are unclear"),
    ]
    return f"Of {counted(len(landings), 'iteration')} {', '.join(fates)}."


def _fate(landing: Landing) -> str:
    if landing.unknown:
        return _UNKNOWN
    if landing.undone_by:
        return _REVERTED
    if landing.landed:
        return _LANDED
    return _MISSING
