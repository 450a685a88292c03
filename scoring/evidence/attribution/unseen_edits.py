"""Which parts of sessions may have edits that are not seen: docs/EVIDENCE.md, "Attribution"."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from scoring.evidence.transcripts.events import Call, ChatText

from .session_trees import SessionPart, Tree


class _Shown(NamedTuple):
    """The positions in a tree, ascending, at which lines show that an agent did something.

    The position of a line that is not work here, and so not in the tree, is -1.

    Attributes:
        own_calls: calls of a session itself.
        others: calls of sub-agents in its transcript, and what agents said.
    """

    own_calls: list[int]
    others: list[int]


def sole_editors(parts: Iterable[SessionPart]) -> list[SessionPart]:
    """Return the parts that may have edits, where no other part that ends at the same commit may.

    A part may where it shows a call of its session itself, or nothing that an agent did.

    Args:
        parts: parts in which no edit is seen. Each ends at the commit of an iteration.
    """
    shown: dict[Tree, _Shown] = {}
    editors = []
    for part in parts:
        if part.tree not in shown:
            shown[part.tree] = _shown(part.tree)
        of_tree = shown[part.tree]
        if part.inside(of_tree.own_calls) or not part.inside(of_tree.others):
            editors.append(part)

    counts = Counter(part.iteration_index for part in editors)
    return [part for part in editors if counts[part.iteration_index] == 1]


def _shown(tree: Tree) -> _Shown:
    """Return where the lines of a tree show that an agent did something."""
    position_of = {line: position for position, line in enumerate(tree.lines)}
    shown = _Shown([], [])
    for session in tree.sessions:
        for file, index, call in session.events(Call):
            positions = shown.others if file.agent(call.span) else shown.own_calls
            positions.append(position_of.get(file.ids[index], -1))
        for file, index, text in session.events(ChatText):
            if not text.by_user:
                shown.others.append(position_of.get(file.ids[index], -1))
    shown.own_calls.sort()
    shown.others.sort()
    return shown
