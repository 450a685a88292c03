"""Which parts of sessions may have edits that are not seen: docs/EVIDENCE.md, "Attribution"."""

from collections import Counter
from collections.abc import Iterable

from scoring.evidence.transcripts.events import Call, ChatText

from .session_trees import SessionPart


def sole_editors(parts: Iterable[SessionPart]) -> list[SessionPart]:
    """Return the parts that may have edits, of those before one commit only where one part may.

    No edit is seen in any of the parts.
    """
    editors = [part for part in parts if _may_have_edited(part)]
    counts = Counter(part.place for part in editors)
    return [part for part in editors if counts[part.place] == 1]


def _may_have_edited(part: SessionPart) -> bool:
    """Return whether not all that is seen in a part are texts, and calls of sub-agents."""
    lines = set(part.lines)
    seen = set()
    for session in part.tree.sessions:
        for kind in (Call, ChatText):
            for file, index, event in session.events(kind):
                if file.ids[index] in lines:
                    seen.add(kind is Call and not file.agent(event.span))
    return seen != {False}
