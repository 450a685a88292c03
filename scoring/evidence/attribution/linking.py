"""Which sessions led to the commit of an iteration: docs/EVIDENCE.md, "Attribution"."""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from scoring.evidence.attribution.cuts import reaches_commit, was_stored_for
from scoring.evidence.attribution.iteration_shares import (
    EMPTY,
    OTHER_WORK,
    PARTLY_HERE,
    STORED_BEFORE,
    Share,
)
from scoring.evidence.attribution.session_trees import (
    ChangedFiles,
    Listed,
    SessionPart,
    Tree,
)
from scoring.evidence.transcripts.facts import NS_MAX
from scoring.evidence.transcripts.streams import Session, SessionKey


class Linker(NamedTuple):
    """Says which sessions an iteration has.

    Attributes:
        changed: the iterations, and the files that their commits changed.
        sessions: the sessions, by their keys.
        listed: the trees in the checkpoints of each iteration.
        complete: the indices of the iterations of which all listed sessions are here.
        reviewers: the ids of the sessions that were started to review others.
    """

    changed: ChangedFiles
    sessions: Mapping[SessionKey, Session]
    listed: Listed
    complete: Collection[int]
    reviewers: Collection[str]

    def is_by_helpers(self, part: SessionPart) -> bool:
        """Return whether all lines of a part are those of sub-agents, or of reviewers."""
        return all(self.sessions[key].parent or key[1] in self.reviewers for key in part.sessions)

    def link(self, share: Share, parts: Sequence[SessionPart]) -> list[SessionPart]:
        """Fill in the share of an iteration.

        Args:
            share: the share, which gets a method and sessions, or a problem.
            parts: the parts that end at its commit.

        Returns:
            The parts of others that vote on it.
        """
        voting, others = self._listed_parts(share, parts)
        own_sessions = _sessions_in(parts)
        began = min((min(part.times, default=NS_MAX) for part in parts), default=NS_MAX)
        since = [
            part._replace(start=max(part.start, bisect_left(part.tree.times, began)))
            for part in others
        ]
        share.also = tuple(sorted(_sessions_in(since) - own_sessions))

        question = share.asked
        trees = self.listed[share.index]
        are_old = bool(trees) and not any(was_stored_for(tree, question) for tree in trees)
        if parts and (own_sessions or not are_old):
            self._link_parts(share, parts)
            sessions = own_sessions | _sessions_in(voting)
            share.sessions = tuple(sorted(sessions or {part.tree.sessions[0] for part in parts}))
            return voting

        if trees and share.index not in self.complete:
            share.problem = PARTLY_HERE
        elif are_old:
            share.problem = STORED_BEFORE
        elif others:
            share.problem = OTHER_WORK
        elif question.authored is not None:
            reaching = [tree for tree in trees if reaches_commit(tree, question)]
            if reaching:
                share.method = "checkpoint"
                share.end = question.authored
                share.problem = EMPTY
                share.sessions = tuple(sorted({tree.sessions[0] for tree in reaching}))
        return []

    def _listed_parts(
        self, share: Share, parts: Sequence[SessionPart]
    ) -> tuple[list[SessionPart], list[SessionPart]]:
        """Return the parts of listed sessions that vote on an iteration, and those that do not."""
        index = share.index
        question = share.asked
        time = share.made.time if share.made else question.authored
        own_trees = {part.tree for part in parts}
        last_commit_at = min((_commit_before(part) for part in parts), default=0)
        own_sessions = _sessions_in(parts)

        voting = []
        others = []
        for tree in self.listed[index]:
            if tree in own_trees or not reaches_commit(tree, question):
                continue
            part = _part_at(tree, time)
            if part is None:
                continue

            pending = self.changed.pending(index, part)
            if not pending.isdisjoint(question.files):
                voting.append(self.changed.untaken(index, part))
            elif not pending and self._helps(part, own_sessions):
                untaken = self.changed.untaken(index, part)
                start = max(untaken.start, bisect_right(tree.times, last_commit_at))
                voting.append(part._replace(start=min(start, part.end)))
            else:
                others.append(part)
        return voting, others

    def _helps(self, part: SessionPart, own_sessions: Collection[SessionKey]) -> bool:
        """Return whether a part without edits led to a commit of some sessions.

        It is that of a reviewer, of a parent or a sub-agent of theirs, or of one of them.
        """
        relatives = {*own_sessions} | {self._parent(key) for key in own_sessions}
        for key in part.tree.sessions:
            if key in relatives or self._parent(key) in own_sessions:
                return True
        return bool(own_sessions) and all(key[1] in self.reviewers for key in part.sessions)

    def _parent(self, key: SessionKey) -> SessionKey:
        return (key[0], self.sessions[key].parent)

    def _link_parts(self, share: Share, parts: Sequence[SessionPart]) -> None:
        """Note how the parts of an iteration were found, and when it ended."""
        trees = set(self.listed[share.index])
        is_listed = any(part.tree in trees for part in parts)
        share.method = "checkpoint" if is_listed else "commit"

        last = max((max(part.times, default=0) for part in parts), default=0)
        share.end = max(last, share.asked.authored or last)
        if share.made:
            share.end = share.made.time
        share.problem = "" if _sessions_in(parts) else EMPTY


def _sessions_in(parts: Iterable[SessionPart]) -> set[SessionKey]:
    sessions: set[SessionKey] = set()
    for part in parts:
        sessions.update(part.sessions)
    return sessions


def _commit_before(part: SessionPart) -> int:
    """Return when the line before a part was written, or 0 without one.

    It is the line of a commit.
    """
    return part.tree.times[part.start - 1] if part.start else 0


def _part_at(tree: Tree, time: int | None) -> SessionPart | None:
    """Return the part of a tree at a time, up to that time, or None where it has no lines then."""
    if time is None:
        return None

    at = bisect_right(tree.times, time)
    next_cut = bisect_left(tree.cuts, at, key=lambda cut: cut.at)
    start = tree.cuts[next_cut - 1].at if next_cut else 0
    cut = tree.cuts[next_cut] if next_cut < len(tree.cuts) else None
    return SessionPart(tree, start, at, cut) if start < at else None
