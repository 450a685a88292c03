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
    """Return whether a part shows a call of its session itself, or nothing that an agent did."""
    lines = set(part.lines)
    seen = set()
    for session in part.tree.sessions:
        for file, index, call in session.events(Call):
            if file.ids[index] in lines:
                seen.add(not file.agent(call.span))
        for file, index, text in session.events(ChatText):
            if file.ids[index] in lines and not text.by_user:
                seen.add(False)
    return seen != {False}
