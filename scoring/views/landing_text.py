"""Commits, and whether they landed, in one line for people."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scoring.evidence.git.facts import Landing
from scoring.signals.landed import landed_value
from scoring.text import as_utf8, counted, cut, short

if TYPE_CHECKING:  # outcomes take long to load, and most commands only show a landing
    from scoring.outcomes.unit import Unit

_SUBJECT_LENGTH = 200  # characters of a subject that are shown

_LANDED = "Landed"
_REVERTED = "Reverted"
_TAKEN_BACK = "Taken back"
_MISSING = "Did not land"
_UNKNOWN = "Not known whether it landed"

_FATES_BY_LINES = {"landed": _LANDED, "open": "Open", "lost": "Lost"}
"""What is said of a unit of which git has no commit, by its state."""


def named_commit(sha: str | None, subject: str) -> str:
    """Return a line that names a commit by short SHA and subject, or "" where neither is known."""
    name = f"Commit {short(sha)}" if sha else "Work"
    text = cut(as_utf8(subject), _SUBJECT_LENGTH)
    if text:
        return f"{name}: {text}"
    return name if sha else ""


def landing_text(landing: Landing) -> str:
    """Return a line that says whether the work of an iteration landed, and how that is known."""
    return f"{_fate(landing)}: {landed_value(landing).detail}"


def unit_text(unit: "Unit") -> str:
    """Return a line that says what became of a unit, and how that is known."""
    landing = unit.landing
    if unit.state == "talk":
        return "Talk, which led to no work"
    if landing and (landing.unknown is None or unit.state == "unclear"):
        return landing_text(landing)
    if landing and landing.part_of and unit.state == "landed":
        return f"Landed: it is part of {short(landing.part_of)}, which is on the trunk"

    fate = _FATES_BY_LINES.get(unit.state, _UNKNOWN)
    if unit.lines_there is None:
        return "Open: the trunk does not have it yet" if unit.state == "open" else fate
    return f"{fate}: the trunk has {unit.lines_there} of the {unit.written_here} lines it wrote"


def landings_text(landings: Sequence[Landing]) -> str:
    """Return a line that says how many of some iterations landed."""
    count = Counter(map(_fate, landings))
    fates = [
        f"{count[_LANDED]} landed",
        counted(count[_REVERTED], "was reverted", "were reverted"),
    ]
    if count[_TAKEN_BACK]:
        fates.append(counted(count[_TAKEN_BACK], "was taken back", "were taken back"))
    fates.append(f"{count[_MISSING]} did not land")
    fates.append(counted(count[_UNKNOWN], "is unclear", "are unclear"))
    return f"Of {counted(len(landings), 'iteration')} {', '.join(fates)}."


def _fate(landing: Landing) -> str:
    if landing.unknown:
        return _UNKNOWN
    if landing.reverted_by:
        return _REVERTED
    if landing.taken_back_by:
        return _TAKEN_BACK
    if landing.landed:
        return _LANDED
    return _MISSING
