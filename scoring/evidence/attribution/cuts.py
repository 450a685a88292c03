"""Where commits cut the sessions that made them: docs/EVIDENCE.md, "Attribution"."""

from bisect import bisect_right, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from scoring.evidence.attribution.makers import DAY, known_commits
from scoring.evidence.attribution.session_trees import (
    A_SECOND,
    OTHER_COMMIT,
    Asked,
    ChangedFiles,
    Cut,
    Listed,
    SessionPart,
    Tree,
)
from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.streams import Session, SessionCommit, SessionKey

_A_MINUTE = 60 * NS


def cut_trees(
    changed: ChangedFiles,
    sessions: Mapping[SessionKey, Session],
    tree_of: Mapping[SessionKey, Tree],
    listed: Listed,
    became: Mapping[str, str],
    complete: Collection[int],
) -> dict[int, SessionCommit]:
    """Cut trees at the commits of their sessions.

    Args:
        changed: the iterations, and the files that their commits changed.
        sessions: the sessions, by their keys.
        tree_of: the trees, by the keys of their sessions.
        listed: the trees in the checkpoints of each iteration.
        became: what commits became, by the digits that sessions show.
        complete: the indices of the iterations of which all listed sessions are here.

    Returns:
        What the last line shows of the commit of an iteration, by its index.
    """
    shown: dict[int, SessionCommit] = {}
    for _, made, key, index in known_commits(changed.asked, sessions, became):
        tree = tree_of[key]
        tree.cuts.append(Cut(tree.position(made.time, made.line) + 1, index, made))
        if index >= 0:
            shown[index] = made

    for key, tree in tree_of.items():
        for time in sessions[key].away:
            tree.cuts.append(Cut(bisect_right(tree.times, time), OTHER_COMMIT))

    trees_to_cut = list(dict.fromkeys(tree_of.values()))
    _TreeCutter(changed, complete, shown).cut_all(trees_to_cut, listed)
    return shown


class _TreeCutter(NamedTuple):
    """Cuts trees also at commits that name them and that no line shows.

    Attributes:
        changed: the iterations, and the files that their commits changed.
        complete: the indices of the iterations of which all listed sessions are here.
        shown: the indices of the iterations with commits that lines show.
    """

    changed: ChangedFiles
    complete: Collection[int]
    shown: Collection[int]

    def cut_all(self, trees: Iterable[Tree], listed: Listed) -> None:
        """Cut trees at all of their commits.

        A session that edited nothing is cut where no other one is, as what wrote the files of
        the commit is then an edit that is not seen.
        """
        naming: dict[Tree, list[int]] = {}
        for index, trees_of_iteration in enumerate(listed):
            if index not in self.shown:
                for tree in trees_of_iteration:
                    naming.setdefault(tree, []).append(index)

        idle: list[SessionPart] = []
        cut_at: set[int] = set()
        for tree in trees:
            indices = [*naming.get(tree, ()), *self._made_again(tree)]
            idle += self._cut(tree, self._candidates(tree, indices))
            cut_at.update(cut.place for cut in tree.cuts)

        for part in idle:
            if part.cut and part.place not in cut_at and part.place in self.complete:
                insort(part.tree.cuts, part.cut, key=attrgetter("at"))

    def _made_again(self, tree: Tree) -> list[int]:
        """Return the iterations with a commit that was made again later, as by a rebase.

        The author time is that at which it was made first.
        """
        indices = []
        for cut in tree.cuts:
            authored = self.changed.asked[cut.place].authored if cut.place >= 0 else None
            if cut.made and authored is not None and cut.made.time - authored > _A_MINUTE:
                indices.append(cut.place)
        return indices

    def _candidates(self, tree: Tree, indices: Iterable[int]) -> list[Cut]:
        """Return the cuts that lines show, and those by times, in order."""
        candidates = [(cut.at, 0, cut.place, cut) for cut in dict.fromkeys(tree.cuts)]
        for index in indices:
            question = self.changed.asked[index]
            at = _lines_before(question, tree, is_shown=index in self.shown)
            if at is not None:
                candidates.append((at, 1, question.authored or 0, Cut(at, index)))
        return [cut for *_, cut in sorted(candidates, key=lambda candidate: candidate[:3])]

    def _cut(self, tree: Tree, candidates: Iterable[Cut]) -> list[SessionPart]:
        """Cut a tree, and return parts with cuts that only count where no other tree has them."""
        tree.cuts = []
        idle: list[SessionPart] = []
        last_edited = SessionPart(tree, 0, 0)  # the last part in which something was edited
        for cut in candidates:
            start = 0 if idle and not tree.cuts else _start(self.changed.asked, tree, cut)
            if start is None:
                continue

            end = max(start, cut.at)
            part = SessionPart(tree, start, end, cut)
            if not part.edits_nothing:
                last_edited = part
            if cut.place == OTHER_COMMIT and not cut.made:
                # What edits nothing before work for another repository leads to no commit here.
                if part.edits_nothing and end > start:
                    tree.cuts.append(cut._replace(at=end))
            elif cut.made or self._takes(part, last_edited):
                tree.cuts.append(cut._replace(at=end))
            elif end > start and self._may_be_idle(part):
                idle.append(part)
        return idle

    def _takes(self, part: SessionPart, last_edited: SessionPart) -> bool:
        """Return whether a commit that no line shows took edits before it."""
        question = self.changed.asked[part.place]
        if reaches_commit(part.tree, question):
            return self.changed.took_from(part.place, last_edited)
        return not self.changed.pending(part.place, part).isdisjoint(question.files)

    def _may_be_idle(self, part: SessionPart) -> bool:
        question = self.changed.asked[part.place]
        if self.changed.pending(part.place, part):
            return False
        return reaches_commit(part.tree, question) and was_stored_for(part.tree, question)


def reaches_commit(tree: Tree, question: Asked) -> bool:
    """Return whether lines are known up to a commit: by its checkpoint or by a later line."""
    if not tree.checkpoints.isdisjoint(question.checkpoints):
        return True
    authored = question.authored
    return authored is not None and tree.times[-1] > authored


def was_stored_for(tree: Tree, question: Asked) -> bool:
    """Return whether a tree's checkpoint may be that of a commit: it is at most a day older."""
    stored = [file.stored for file in tree.files if file.checkpoint in question.checkpoints]
    authored = question.authored
    if not stored or authored is None:
        return True
    return any(time is None or time > authored - DAY for time in stored)


def _lines_before(question: Asked, tree: Tree, *, is_shown: bool) -> int | None:
    """Return how many lines of a tree are before a commit, or None where its time is unknown.

    Where a commit was amended later, as by hand, its checkpoint may have more lines.
    """
    end = question.authored
    if end is None:
        return None

    committed = question.committed
    if not is_shown and committed is not None and abs(committed - end) > _A_MINUTE:
        for file in tree.files:
            last_time = file.order[0]
            if file.checkpoint in question.checkpoints and last_time <= committed:
                end = max(end, last_time)
    return bisect_right(tree.times, end + A_SECOND)


def _start(asked: Sequence[Asked], tree: Tree, cut: Cut) -> int | None:
    """Return where the part of a cut begins, which a checkpoint may state.

    None where that is after the cut.
    """
    if tree.cuts:
        return tree.cuts[-1].at
    if cut.place < 0:
        return 0

    start = 0
    checkpoints = asked[cut.place].checkpoints
    files = [file for file in tree.files if file.checkpoint]
    for file in files:
        if file.checkpoint not in checkpoints or not file.start or not file.events.begins_session:
            continue
        is_continued = any(
            other.order < file.order and other.checkpoint not in checkpoints for other in files
        )
        if not is_continued:
            continue

        at = -1
        for number, time, line in zip(file.numbers, file.times, file.ids, strict=True):
            if number >= file.start:
                at = tree.position(time, line)
            if at >= 0:
                break
        if at < 0:
            return start if cut.made else None
        start = max(start, at)

    if start and start >= cut.at:
        return 0 if cut.made else None  # a line that shows the commit was begun before
    if start:
        tree.cuts.append(Cut(start, OTHER_COMMIT))
    return start
