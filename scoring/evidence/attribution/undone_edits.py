"""Edits that were undone, as of a fault that was put in to see a test fail.

docs/EVIDENCE.md, "Observations", has the rules.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from scoring.evidence.commands.undone_code import taken_back
from scoring.evidence.transcripts.events import (
    Edit,
    LinesWritten,
    UnseenEdit,
    WorkReset,
)
from scoring.evidence.transcripts.streams import SessionKey

from .sighting import Sighting


class Undoing(NamedTuple):
    """Edits of one session, or of its sub-agents, that were undone.

    Attributes:
        edits: the edits; where edits undid them, these too. There is at least one.
        began: when the first of the edits was made, in ns since 1970.
        time: when the edits were undone, in ns since 1970.
        by_git: whether git took them back.
    """

    edits: list[Sighting]
    began: int
    time: int
    by_git: bool


class SpoiledRuns:
    """The test runs that say nothing: they began between edits and the undoing of these.

    Two such runs count all the same: a run that did not fail, where edits undid these edits; and a
    run that failed, where git took them back and may have brought them back later, because other
    code was checked out after that.

    Args:
        undone: the edits that were undone.
        switched_at: when other code was checked out, in ns since 1970.
    """

    def __init__(self, undone: Iterable[Undoing], switched_at: Iterable[int]) -> None:
        last_switch = max(switched_at, default=0)
        of_failed = defaultdict[SessionKey, list[Undoing]](list)
        of_others = defaultdict[SessionKey, list[Undoing]](list)
        for undoing in undone:
            root = undoing.edits[0].file.root
            if undoing.by_git:
                of_others[root].append(undoing)
            if not undoing.by_git or last_switch <= undoing.time:
                of_failed[root].append(undoing)
        self._of_failed = {key: _Spans(some) for key, some in of_failed.items()}
        self._of_others = {key: _Spans(some) for key, some in of_others.items()}

    def __contains__(self, run: Sighting) -> bool:
        spans_of = self._of_others
        if run.event.passed is False:
            spans_of = self._of_failed
        spans = spans_of.get(run.file.root)
        return spans is not None and spans.have(run.began)


class _Spans:
    """The times from edits to what undid them, which may overlap."""

    def __init__(self, undone: Iterable[Undoing]) -> None:
        ordered = sorted(undone, key=attrgetter("began"))
        self._begins = [undoing.began for undoing in ordered]
        # of each and those that began before it, the last end
        self._last_ends = list(accumulate((each.time for each in ordered), max))

    def have(self, moment: int) -> bool:
        """Return whether a moment is in one of these times."""
        count = bisect_right(self._begins, moment)
        return count > 0 and moment <= self._last_ends[count - 1]


class _FileEdits:
    """The edits of a file that stand.

    The text that a file has is known by the sum of the hashes of all lines that edits changed.
    """

    def __init__(self) -> None:
        self.edits: list[Sighting] = []
        self._text = 0
        self._counts = {0: 0}  # by text, after how many edits the file had it

    def add(self, edit: Sighting) -> None:
        """Add an edit. Where it does not show what it changes, no earlier text is known."""
        if isinstance(edit.event, UnseenEdit):
            self._counts.clear()
        else:
            self._counts[self._text] = len(self.edits)
        self.edits.append(edit)

    def undone_by(self, written: Sighting) -> list[Sighting]:
        """Return the edits that are undone where written lines give the file an earlier text again.

        The edit that wrote the lines is the last of them. Empty where the text is new.
        """
        self._text += sum(written.event.hashes)
        count = self._counts.setdefault(self._text, len(self.edits))
        undone = self.edits[count:]
        if undone:
            del self.edits[count:]
            self._counts = {
                text: earlier
                for text, earlier in self._counts.items()
                if earlier <= count
            }
        return undone


def undone_edits(seen: Iterable[Sighting]) -> list[Undoing]:
    """Return the edits that git took back, and those that other edits undid.

    Where an edit gives a file a text again that it had before, all edits since then are undone, and
    that one counts among them. Reverts and amendments of commits take back no edit here.

    Args:
        seen: what was seen, by time.
    """
    undone = []
    by_root = defaultdict[SessionKey, dict[str, _FileEdits]](dict)
    for sighting in seen:
        taken: list[Sighting] = []
        files = by_root[sighting.file.root]
        if isinstance(sighting.event, Edit | UnseenEdit):
            files.setdefault(sighting.text, _FileEdits()).add(sighting)
        elif isinstance(sighting.event, LinesWritten):
            taken = files.setdefault(sighting.text, _FileEdits()).undone_by(sighting)
        elif isinstance(sighting.event, WorkReset):
            if sighting.event.kind in ("revert", "amend"):
                continue
            for path in list(taken_back(sighting.text, files)):
                taken += files.pop(path).edits
        if taken:
            by_git = isinstance(sighting.event, WorkReset)
            began = min(edit.time for edit in taken)
            undone.append(Undoing(taken, began, sighting.time, by_git))
    return undone
