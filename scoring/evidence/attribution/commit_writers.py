"""Which sessions wrote no line of a commit that another one wrote: docs/EVIDENCE.md."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from scoring.evidence.git.patches import FileLine
from scoring.evidence.transcripts.facts import NS_MAX

from .iteration_shares import Share
from .session_trees import A_SECOND, SessionPart, Tree
from .written import (
    LEAST_LINES,
    SAME_PATCH,
    LineChange,
    LinesAdded,
    WrittenLines,
    changes_by_name,
    changes_of,
    least_share,
    lines_left_by_file,
)


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
        self._changes: dict[Tree, dict[str, list[LineChange]]] = {}
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
        tree = part.tree
        if tree not in self._changes:
            self._changes[tree] = changes_by_name(tree.sessions)
        changes = changes_of(self._changes[tree], (name for name, _ in added))
        return lines_left_by_file(
            (change.file, change.hashes)
            for change in changes
            if part.start <= tree.position(change.time, change.line) < part.end
        )
