"""Which sessions wrote no line of a commit that another one wrote: docs/EVIDENCE.md."""

import posixpath
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from scoring.evidence.git.patches import FileLine
from scoring.evidence.transcripts.edits import WrittenFile
from scoring.evidence.transcripts.events import LinesWritten
from scoring.evidence.transcripts.facts import NS_MAX
from scoring.grouping import lists_by_key
from scoring.text import composed

from .iteration_shares import Share
from .session_trees import A_SECOND, SessionPart, Tree
from .written import (
    LEAST_LINES,
    SAME_PATCH,
    LinesAdded,
    WrittenLines,
    least_share,
    lines_left_by_file,
)


class _Change(NamedTuple):
    """What a line of a tree, by its position, changed in a file: the hashes of lines."""

    position: int
    file: WrittenFile
    hashes: Sequence[int]


class CommitWriters:
    """Compares what listed sessions wrote with the commits whose checkpoints list several."""

    def __init__(self, shares: Sequence[Share], lines_added: LinesAdded) -> None:
        """Take the iterations, with the trees that are listed, and what returns added lines."""
        sha_of = {
            share.index: share.question.landed[0]
            for share in shares
            if len(share.listed) > 1 and share.question.landed
        }
        added = lines_added(set(sha_of.values()))
        self._added = {index: added.get(sha, {}) for index, sha in sha_of.items()}
        self._changes: dict[Tree, dict[str, list[_Change]]] = {}
        self._writers: dict[int, list[Tree]] = {}

    def wrote_other_lines(self, share: Share, part: SessionPart) -> bool:
        """Return whether a part wrote lines that are not in a commit, and another tree that has it.

        The part wrote lines into files of the commit and edited other files, and the commit adds
        none of them; one other listed tree wrote at least 0.9 of what the commit adds, which is at
        least three lines.
        """
        added = self._added.get(share.index, {})
        if sum(added.values()) < LEAST_LINES or part.edits_only(share.question.files):
            return False

        written = self._lines_left(part, added)
        if not any(written.values()) or least_share(added, [written]):
            return False
        return any(tree is not part.tree for tree in self._trees_with(share, added))

    def _trees_with(self, share: Share, added: Mapping[FileLine, int]) -> list[Tree]:
        """Return the listed trees that wrote at least 0.9 of what a commit adds."""
        if share.index not in self._writers:
            self._writers[share.index] = [
                tree
                for tree in share.listed
                if (least_share(added, [self._until(share, tree, added)]) or 0)
                >= SAME_PATCH
            ]
        return self._writers[share.index]

    def _until(
        self, share: Share, tree: Tree, added: Mapping[FileLine, int]
    ) -> WrittenLines:
        """Return the lines that a tree wrote into files of a commit until the commit was made."""
        authored = share.question.authored
        time = share.made.time if share.made else authored
        end = bisect_right(tree.times, NS_MAX if time is None else time + A_SECOND)
        return self._lines_left(SessionPart(tree, 0, end), added)

    def _lines_left(
        self, part: SessionPart, added: Mapping[FileLine, int]
    ) -> WrittenLines:
        """Return the lines in files of a commit that a part wrote and left there."""
        last_parts = {composed(posixpath.basename(name)) for name, _ in added}
        changes = self._changes_in(part.tree)
        return lines_left_by_file(
            (change.file, change.hashes)
            for last_part in last_parts
            for change in changes.get(last_part, ())
            if part.start <= change.position < part.end
        )

    def _changes_in(self, tree: Tree) -> dict[str, list[_Change]]:
        """Return what the lines of a tree changed in files, by the last part of their paths.

        The changes are in order of position. Copies count once.
        """
        if tree not in self._changes:
            changes: dict[tuple[int, str], _Change] = {}
            for file in tree.files:
                for index, event in file.located(LinesWritten):
                    position = tree.position(file.times[index], file.ids[index])
                    change = _Change(position, file.written_file(event), event.hashes)
                    changes[file.ids[index], change.file.path] = change
            by_position = sorted(changes.values(), key=attrgetter("position"))
            self._changes[tree] = lists_by_key(
                (composed(posixpath.basename(change.file.path)), change)
                for change in by_position
            )
        return self._changes[tree]
