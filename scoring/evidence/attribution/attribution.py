"""Which lines of which sessions belong to which iteration, and which vote: docs/EVIDENCE.md."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scoring.evidence.attribution.cuts import cut_trees, reaches_commit, was_stored_for
from scoring.evidence.attribution.session_trees import (
    NO_ITERATION,
    Asked,
    ChangedFiles,
    Listed,
    SessionPart,
    Tree,
    listed_trees,
    trees_of,
)
from scoring.evidence.transcripts.facts import NS_MAX, Method
from scoring.evidence.transcripts.streams import File, Session, SessionCommit, SessionKey

NO_WINDOW = "commit time unresolvable; cannot window the transcript"
NOT_COVERED = "no transcript covers the iteration window"
OVERLAP = "sessions overlap"
EMPTY = "session found, no turns in its part"
OTHER_WORK = "the sessions that its checkpoint names did other work"
NOT_READ = "the transcript of its checkpoint is of {agent}, in a form that is not read"
PARTLY_HERE = "a session that its checkpoint names has no transcript of that time here"
STORED_BEFORE = "the checkpoint that its commit names is more than a day older than the commit"
NO_TRANSCRIPT = "the checkpoint that its commit names has no transcript here"
"""Why an iteration has no lines, or none of its own."""


@dataclass(slots=True)
class Share:
    """The lines of one iteration.

    Attributes:
        own: the numbers of the parts that are its own.
        voting: the numbers of the parts that vote on it.
        method: how its lines were found; None without lines.
        sessions: the sessions of its lines.
        also: the sessions of its checkpoints that did other work.
        problem: why it has no lines, or none of its own.
        counted_for: the index of the earlier iteration that has its commit.
        shared: the index of the iteration with which it shares a part.
        end: when it ended, in ns since 1970; None without lines.
        made: what the last line shows of its commit.
        stated: the ids of its checkpoints of which only the totals are known.
    """

    own: range = range(0)
    voting: tuple[int, ...] = ()
    method: Method | None = None
    sessions: tuple[SessionKey, ...] = ()
    also: tuple[SessionKey, ...] = ()
    problem: str = ""
    counted_for: int | None = None
    shared: int | None = None
    end: int | None = None
    made: SessionCommit | None = None
    stated: tuple[str, ...] = ()


class Attribution(NamedTuple):
    """Which lines belong to which iteration.

    Attributes:
        owners: for each line the index of its iteration, or below 0.
        parts: for each line the number of its part; -1: none.
        total: how many parts there are.
        shares: the lines of each iteration.
        trees: the sessions with their sub-agents.
    """

    owners: list[int]
    parts: list[int]
    total: int
    shares: list[Share]
    trees: Sequence[Tree]


@dataclass(slots=True)
class _Lines:
    """Which iterations lines belong to, while that is found out.

    Attributes:
        owners: for each line the index of its iteration, or below 0.
        votes: for lines of others the indices of the iterations on which they vote.
    """

    owners: list[int]
    votes: dict[int, list[int]]

    def take(self, index: int, lines: Iterable[int]) -> int:
        """Give lines that are still free to an iteration, and return how many they are."""
        count = 0
        for line in lines:
            if self.owners[line] == NO_ITERATION:
                self.owners[line] = index
                count += 1
        return count

    def count_vote(self, index: int, part: SessionPart, *, is_own: bool) -> None:
        """Note that a part votes on an iteration.

        Args:
            index: the index of the iteration.
            part: the part.
            is_own: whether its lines that are still free become the iteration's own.
        """
        for line in part.lines:
            if is_own and self.owners[line] == NO_ITERATION:
                self.owners[line] = index
            else:
                self.votes.setdefault(line, []).append(index)


def attribute(
    asked: Sequence[Asked],
    files: Sequence[File],
    sessions: Mapping[SessionKey, Session],
    lines: int,
    became: Mapping[str, str],
    listing: Mapping[str, Collection[str]],
    stated: Collection[str] = (),
    in_repository: Callable[[str], bool] = lambda _: False,
    entries: int | None = None,
) -> Attribution:
    """Give each line to its iteration.

    Args:
        asked: the iterations.
        files: the transcripts.
        sessions: the sessions, by their keys.
        lines: how many lines there are.
        became: what commits became, by the digits that sessions show.
        listing: the ids of the sessions of each checkpoint.
        stated: the ids of the checkpoints of which only the totals are known.
        in_repository: returns whether a folder is in the repository.
        entries: how many of the iterations have an entry, the first ones; None for all.
    """
    changed = ChangedFiles(asked)
    recorded = {session_id for session_ids in listing.values() for session_id in session_ids}
    tree_of = trees_of(files, sessions, recorded, changed, in_repository)
    trees = list(dict.fromkeys(tree_of.values()))

    twice = _named_twice(asked)
    listed_ids = [_listed_ids(question, listing) for question in asked]
    listed = list(listed_trees(listed_ids, tree_of))
    for index in twice:
        listed[index] = []
    complete = _complete(asked, listed_ids, listed)

    shown = cut_trees(asked, sessions, tree_of, listed, became, changed, complete)
    shares = [Share(made=shown.get(index)) for index in range(len(asked))]
    ownership = _Lines([NO_ITERATION] * lines, {})
    parts_of = _parts_by_iteration(trees, ownership)
    linker = _Linker(asked, changed, sessions, listed, complete)
    for index, share in enumerate(shares):
        for part in linker.link(index, share, parts_of.get(index, ())):
            is_own = part.edits_only(asked[index].files) or _is_by_agents(part, sessions)
            ownership.count_vote(index, part, is_own=is_own)

    logged = len(asked) if entries is None else entries
    _share_series(asked, changed, shares, trees, parts_of, logged)
    for index, first in twice.items():
        shares[index].counted_for = first
        shares[index].problem = f"commit already counted for iteration {asked[first].iteration}"
    _give_by_session(asked, shares, sessions, ownership)
    _note_totals(asked, shares, stated)
    _give_by_time(asked, shares, trees, ownership)
    return _numbered(shares, ownership, trees)


def _listed_ids(question: Asked, listing: Mapping[str, Collection[str]]) -> list[str]:
    """Return the ids of the sessions in an iteration's checkpoints, each once."""
    ids: dict[str, None] = {}
    for checkpoint in question.checkpoints:
        ids.update(dict.fromkeys(listing.get(checkpoint, ())))
    return list(ids)


def _named_twice(asked: Sequence[Asked]) -> dict[int, int]:
    """Return the iterations that have a commit which an earlier entry names, with the first one."""
    first: dict[str, int] = {}
    twice: dict[int, int] = {}
    for index, question in enumerate(asked):
        earliest = min((first.setdefault(name, index) for name in question.commits), default=index)
        if earliest < index:
            twice[index] = earliest
    return twice


def _complete(
    asked: Sequence[Asked], listed_ids: Sequence[Collection[str]], listed: Listed
) -> set[int]:
    """Return the iterations of which all listed sessions are here, up to the commit."""
    complete = set()
    for index, question in enumerate(asked):
        here = {
            key[1]
            for tree in listed[index]
            if reaches_commit(tree, question)
            for key in tree.sessions
        }
        if here.issuperset(listed_ids[index]):
            complete.add(index)
    return complete


def _parts_by_iteration(trees: Iterable[Tree], ownership: _Lines) -> dict[int, list[SessionPart]]:
    """Give the lines of each part to its iteration, and return the parts."""
    parts_of: dict[int, list[SessionPart]] = {}
    for tree in trees:
        for part in tree.parts():
            if part.place != NO_ITERATION:
                parts_of.setdefault(part.place, []).append(part)
                for line in part.lines:
                    ownership.owners[line] = part.place
    return parts_of


def _is_by_agents(part: SessionPart, sessions: Mapping[SessionKey, Session]) -> bool:
    """Return whether all lines of a part are those of sub-agents."""
    return all(sessions[key].parent for key in part.sessions)


class _Linker(NamedTuple):
    """Says which sessions an iteration has.

    Attributes:
        asked: the iterations.
        changed: the files that commits changed.
        sessions: the sessions, by their keys.
        listed: the trees in the checkpoints of each iteration.
        complete: the indices of the iterations of which all listed sessions are here.
    """

    asked: Sequence[Asked]
    changed: ChangedFiles
    sessions: Mapping[SessionKey, Session]
    listed: Listed
    complete: Collection[int]

    def link(self, index: int, share: Share, parts: Sequence[SessionPart]) -> list[SessionPart]:
        """Fill in the share of an iteration.

        Args:
            index: the index of the iteration.
            share: its share, which gets a method and sessions, or a problem.
            parts: the parts that end at its commit.

        Returns:
            The parts of others that vote on it.
        """
        voting, others = self._listed_parts(index, share, parts)
        own_sessions = _sessions_in(parts)
        began = min((_began(part) for part in parts), default=NS_MAX)
        share.also = tuple(
            sorted(_sessions_in(_since(part, began) for part in others) - own_sessions)
        )

        question = self.asked[index]
        trees = self.listed[index]
        are_old = bool(trees) and not any(was_stored_for(tree, question) for tree in trees)
        if parts and (own_sessions or not are_old):
            self._link_parts(index, share, parts)
            sessions = own_sessions | _sessions_in(voting)
            share.sessions = tuple(sorted(sessions or {part.tree.sessions[0] for part in parts}))
            return voting

        if trees and index not in self.complete:
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
        self, index: int, share: Share, parts: Sequence[SessionPart]
    ) -> tuple[list[SessionPart], list[SessionPart]]:
        """Return the parts of listed sessions that vote on an iteration, and those that do not."""
        question = self.asked[index]
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
            elif not pending and self._are_related(tree, own_sessions):
                untaken = self.changed.untaken(index, part)
                start = max(untaken.start, bisect_right(tree.times, last_commit_at))
                voting.append(part._replace(start=min(start, part.end)))
            else:
                others.append(part)
        return voting, others

    def _are_related(self, tree: Tree, own_sessions: Collection[SessionKey]) -> bool:
        """Return whether a tree has a parent or a sub-agent of some sessions, or one of them."""
        parents = {self._parent(key) for key in own_sessions}
        for key in tree.sessions:
            if key in own_sessions or key in parents or self._parent(key) in own_sessions:
                return True
        return False

    def _parent(self, key: SessionKey) -> SessionKey:
        return (key[0], self.sessions[key].parent)

    def _link_parts(self, index: int, share: Share, parts: Sequence[SessionPart]) -> None:
        """Note how the parts of an iteration were found, and when it ended."""
        trees = set(self.listed[index])
        is_listed = any(part.tree in trees for part in parts)
        share.method = "checkpoint" if is_listed else "commit"

        ends = [part.tree.times[part.end - 1] for part in parts if part.end > part.start]
        last = max(ends, default=0)
        share.end = max(last, self.asked[index].authored or last)
        if share.made:
            share.end = share.made.time
        share.problem = "" if ends else EMPTY


def _sessions_in(parts: Iterable[SessionPart]) -> set[SessionKey]:
    sessions: set[SessionKey] = set()
    for part in parts:
        sessions.update(part.sessions)
    return sessions


def _began(part: SessionPart) -> int:
    """Return when the first line of a part was written, or the latest time without lines."""
    return part.tree.times[part.start] if part.end > part.start else NS_MAX


def _commit_before(part: SessionPart) -> int:
    """Return when the line before a part was written, or 0 without one.

    It is the line of a commit.
    """
    return part.tree.times[part.start - 1] if part.start else 0


def _since(part: SessionPart, time: int) -> SessionPart:
    """Return the lines of a part since a time."""
    return part._replace(start=max(part.start, bisect_left(part.tree.times, time)))


def _part_at(tree: Tree, time: int | None) -> SessionPart | None:
    """Return the part of a tree at a time, up to that time, or None where it has no lines then."""
    if time is None:
        return None

    at = bisect_right(tree.times, time)
    next_cut = bisect_left(tree.cuts, at, key=lambda cut: cut.at)
    start = tree.cuts[next_cut - 1].at if next_cut else 0
    cut = tree.cuts[next_cut] if next_cut < len(tree.cuts) else None
    return SessionPart(tree, start, at, cut) if start < at else None


def _share_series(
    asked: Sequence[Asked],
    changed: ChangedFiles,
    shares: Sequence[Share],
    trees: Iterable[Tree],
    parts_of: Mapping[int, Sequence[SessionPart]],
    logged: int,
) -> None:
    """Let commits without edits share the part before, where it edited their files.

    An iteration shares no part of a commit that has no entry, which are those from ``logged`` on.
    """
    for tree in trees:
        previous: SessionPart | None = None
        for part in tree.parts():
            index = part.place
            if index < 0 or not part.edits_nothing:
                previous = part if index >= 0 else None
                continue
            if previous is None or index == previous.place:
                continue
            if index < logged <= previous.place:
                previous = None
                continue

            edits_nothing = all(other.edits_nothing for other in parts_of[index])
            took_edits = edits_nothing and changed.took_from(index, previous)
            if not took_edits or not was_stored_for(tree, asked[index]):
                previous = None
                continue

            share = shares[index]
            if share.shared is None:
                share.method = "shared"
                share.shared = previous.place
                share.problem = ""
                share.sessions = tuple(sorted({*share.sessions, *previous.sessions}))


def _give_by_session(
    asked: Sequence[Asked],
    shares: Sequence[Share],
    sessions: Mapping[SessionKey, Session],
    ownership: _Lines,
) -> None:
    """Give iterations without lines the free ones of the session that their entry names.

    These are the lines from the end of the iteration before in the session up to the author time.
    """
    sessions_by_id: dict[str, list[Session]] = {}
    for key, session in sessions.items():
        if session.lines:
            sessions_by_id.setdefault(key[1], []).append(session)

    ends: dict[str, list[tuple[int, int]]] = {}  # by session the indices and ends of iterations

    def note_end(index: int) -> None:
        end = shares[index].end
        if end is not None:
            for name in {asked[index].session, *(name for _, name in shares[index].sessions)}:
                ends.setdefault(name, []).append((index, end))

    for index in range(len(shares)):
        note_end(index)

    for index, share in enumerate(shares):
        session_id = asked[index].session
        authored = asked[index].authored
        named_sessions = sessions_by_id.get(session_id, ()) if session_id else ()
        if share.method or share.problem or not named_sessions or authored is None:
            continue

        earlier = [
            end for other, end in ends.get(session_id, ()) if other < index and end < authored
        ]
        count = 0
        for session in named_sessions:
            first = bisect_right(session.times, max(earlier)) if earlier else 0
            count += ownership.take(
                index, session.lines[first : bisect_right(session.times, authored)]
            )
        share.method = "session"
        share.end = authored
        share.sessions = tuple(sorted(session.key for session in named_sessions))
        share.problem = "" if count else EMPTY
        note_end(index)


def _note_totals(asked: Sequence[Asked], shares: Sequence[Share], stated: Collection[str]) -> None:
    """Note the iterations that only have the totals of checkpoints, which no other one names."""
    counts = Counter(name for question in asked for name in question.checkpoints)
    for question, share in zip(asked, shares, strict=True):
        if share.method is None:
            share.stated = tuple(
                name for name in question.checkpoints if name in stated and counts[name] == 1
            )
            if share.stated:
                share.method = "checkpoint"


class _FreeLine(NamedTuple):
    """A line that belongs to no iteration: when it was written, its number, its tree's root."""

    time: int
    line: int
    session: SessionKey


def _give_by_time(
    asked: Sequence[Asked], shares: Sequence[Share], trees: Iterable[Tree], ownership: _Lines
) -> None:
    """Give iterations without lines the free ones in their windows, if they are one session's.

    Where a commit names a checkpoint, that says which sessions did it, and no other one counts.
    """
    waiting = []
    for index, share in enumerate(shares):
        if share.method is None and not share.problem:
            if asked[index].checkpoints:
                share.problem = NO_TRANSCRIPT
            elif asked[index].window is None:
                share.problem = NO_WINDOW
            else:
                waiting.append(index)
    if not waiting:
        return

    free = sorted(
        _FreeLine(time, line, tree.sessions[0])
        for tree in trees
        for time, line in zip(tree.times, tree.lines, strict=True)
        if ownership.owners[line] == NO_ITERATION
    )
    times = [free_line.time for free_line in free]
    for index in waiting:
        share = shares[index]
        window = asked[index].window
        assert window is not None
        first = 0 if window.start is None else bisect_right(times, window.start)
        inside = [
            free_line
            for free_line in free[first : bisect_right(times, window.end)]
            if ownership.owners[free_line.line] == NO_ITERATION
        ]
        keys = {free_line.session for free_line in inside}
        if len(keys) == 1:
            ownership.take(index, [free_line.line for free_line in inside])
            authored = asked[index].authored
            share.method = "time"
            share.sessions = tuple(keys)
            share.end = inside[-1].time if authored is None else authored
        else:
            share.problem = f"{len(keys)} {OVERLAP}" if keys else NOT_COVERED


def _numbered(shares: list[Share], ownership: _Lines, trees: Sequence[Tree]) -> Attribution:
    """Return all parts with numbers, those of each iteration one after the other.

    A part has the lines with the same owner that vote on the same iterations.
    """
    no_owner = len(shares)
    kinds = []
    for line, owner in enumerate(ownership.owners):
        kinds.append((owner if owner >= 0 else no_owner, tuple(ownership.votes.get(line, ()))))

    order = sorted({kind for kind in kinds if kind != (no_owner, ())})
    numbers = {kind: number for number, kind in enumerate(order)}
    for index, share in enumerate(shares):
        first = bisect_left(order, (index, ()))
        share.own = range(first, bisect_left(order, (index + 1, ())))
        share.voting = tuple(share.own)
    for (_, indices), number in numbers.items():
        for index in indices:
            shares[index].voting += (number,)
    for share in shares:
        if share.shared is not None:
            voting = (*shares[share.shared].voting, *share.voting)
            share.voting = tuple(dict.fromkeys(voting))

    parts = [numbers.get(kind, -1) for kind in kinds]
    return Attribution(ownership.owners, parts, len(order), shares, trees)
