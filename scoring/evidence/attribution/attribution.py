"""Which lines of which sessions belong to which iteration, and which vote: ``docs/EVIDENCE.md``."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scoring.evidence.attribution import session_trees
from scoring.evidence.attribution.makers import LandedAs, cut_trees, reaches_commit, was_stored_for
from scoring.evidence.attribution.session_trees import Asked, ChangedFiles, SessionPart, Tree
from scoring.evidence.transcripts.facts import NS_MAX, Method
from scoring.evidence.transcripts.streams import File, Session, SessionCommit, SessionKey

# Why an iteration has no lines, or none of its own.
NO_WINDOW = "commit time unresolvable; cannot window the transcript"
NOT_COVERED = "no transcript covers the iteration window"
OVERLAP = "sessions overlap"
EMPTY = "session found, no turns in its part"
OTHER_WORK = "the sessions that its checkpoint names did other work"
NOT_READ = "the transcript of its checkpoint is of {agent}, in a form that is not read"
PARTLY_HERE = "a session that its checkpoint names has no transcript of that time here"
STORED_BEFORE = "the checkpoint that its commit names is more than a day older than the commit"
NO_TRANSCRIPT = "the checkpoint that its commit names has no transcript here"


@dataclass(slots=True)
class Share:
    """The parts of one iteration, by number: those that are its ``own``, and those ``voting``.

    ``also`` are sessions of its checkpoint with other work, ``shared`` the place of the iteration
    that it shares a part with, ``end`` when it ended (None without lines), ``stated`` checkpoints
    with totals alone.
    """

    own: range = range(0)
    voting: tuple[int, ...] = ()
    method: Method | None = None
    sessions: tuple[SessionKey, ...] = ()
    also: tuple[SessionKey, ...] = ()
    problem: str = ""
    shared: int | None = None
    end: int | None = None
    made: SessionCommit | None = None
    stated: tuple[str, ...] = ()


class Attribution(NamedTuple):
    """The owner and the part of each line, below 0 for none, and all ``trees``."""

    owners: list[int]
    parts: list[int]
    total: int
    shares: list[Share]
    trees: Sequence[Tree]


def attribute(
    asked: Sequence[Asked],
    files: Sequence[File],
    sessions: Mapping[SessionKey, Session],
    lines: int,
    landed_as: LandedAs,
    listing: Mapping[str, Collection[str]],
    stated: Collection[str] = (),
) -> Attribution:
    """Give each line to its iteration.

    ``listing`` has the sessions of checkpoints, ``stated`` those with totals alone.
    """
    changed, twice = ChangedFiles(asked), _named_twice(asked)
    tree_of = session_trees.trees_of(
        files, sessions, {name for names in listing.values() for name in names}, changed
    )
    trees = list({id(tree): tree for tree in tree_of.values()}.values())
    names = [
        dict.fromkeys(name for one in each.checkpoints for name in listing.get(one, ()))
        for each in asked
    ]
    listed = [
        [] if place in twice else found
        for place, found in enumerate(session_trees.listed_trees(names, tree_of))
    ]
    whole = {
        place
        for place, (one, of, found) in enumerate(zip(asked, names, listed, strict=True))
        if of.keys()
        <= {key[1] for tree in found for key in tree.sessions if reaches_commit(tree, one)}
    }
    shown = cut_trees(asked, sessions, tree_of, trees, listed, landed_as, changed, whole)
    shares = [Share(made=shown.get(place)) for place in range(len(asked))]
    owners = [session_trees.NO_ITERATION] * lines
    parts_of: dict[int, list[SessionPart]] = {}
    for part in (
        part for tree in trees for part in tree.parts() if part.place != session_trees.NO_ITERATION
    ):
        parts_of.setdefault(part.place, []).append(part)
        for line in part.lines:
            owners[line] = part.place
    votes: dict[int, list[int]] = {}
    for place, share in enumerate(shares):
        parts = parts_of.get(place, ())
        voting = _link(place, asked, changed, sessions, share, parts, listed[place], place in whole)
        for part in voting:
            by_agents = all(sessions[key].parent for key in part.sessions)
            for line in part.lines:
                if by_agents and owners[line] == session_trees.NO_ITERATION:
                    owners[line] = place
                else:
                    votes.setdefault(line, []).append(place)
    _series(asked, changed, shares, trees, parts_of)
    for place, first in twice.items():
        shares[place].problem = f"commit already counted for iteration {asked[first].iteration}"
    _by_session(asked, shares, sessions, owners)
    _by_totals(asked, shares, stated)
    _by_time(asked, shares, trees, owners)
    return _result(shares, owners, votes, trees)


def _named_twice(asked: Sequence[Asked]) -> dict[int, int]:
    """Return the iterations whose commit an earlier entry names too, each with the first one."""
    first, found = dict[str, int](), dict[int, int]()
    for place, one in enumerate(asked):
        if (
            earliest := min((first.setdefault(name, place) for name in one.commits), default=place)
        ) < place:
            found[place] = earliest
    return found


def _result(
    shares: list[Share],
    owners: list[int],
    votes: Mapping[int, Sequence[int]],
    trees: Sequence[Tree],
) -> Attribution:
    """Return the parts with numbers, those of each iteration one after the other."""
    kinds = [
        (owner if owner >= 0 else len(shares), tuple(votes.get(line, ())))
        for line, owner in enumerate(owners)
    ]
    order = sorted({kind for kind in kinds if kind != (len(shares), ())})
    numbers = {kind: number for number, kind in enumerate(order)}
    for place, share in enumerate(shares):
        first = bisect_left(order, (place, ()))
        share.own = range(first, bisect_left(order, (place + 1, ())))
        share.voting = tuple(share.own)
    for (_, places), number in numbers.items():
        for place in places:
            shares[place].voting += (number,)
    for share in shares:
        if share.shared is not None:
            share.voting = tuple(dict.fromkeys((*shares[share.shared].voting, *share.voting)))
    return Attribution(owners, [numbers.get(kind, -1) for kind in kinds], len(order), shares, trees)


def _link(
    place: int,
    asked: Sequence[Asked],
    changed: ChangedFiles,
    sessions: Mapping[SessionKey, Session],
    share: Share,
    parts: Sequence[SessionPart],
    listed: Sequence[Tree],
    whole: bool,
) -> list[SessionPart]:
    """Say which sessions an iteration has; return the parts of others that vote on it."""
    one = asked[place]
    found = {key for part in parts for key in part.sessions}
    kin = found | {(key[0], sessions[key].parent) for key in found}
    since = min((part.tree.times[part.start - 1] if part.start else 0 for part in parts), default=0)
    began = min(
        (part.tree.times[part.start] for part in parts if part.end > part.start), default=NS_MAX
    )
    voting, other, also = [], set(), set()
    for tree in listed:
        if not reaches_commit(tree, one) or any(tree is mine.tree for mine in parts):
            continue
        if (part := _part_at(tree, share.made.time if share.made else one.authored)) is None:
            continue
        pending = changed.pending(place, part)
        related = any(
            key in kin or (key[0], sessions[key].parent) in found for key in tree.sessions
        )
        if not pending.isdisjoint(one.files):
            voting.append(changed.untaken(place, part))
        elif (
            related and not pending
        ):  # with its lines since the commit before in the session that made this one
            start = max(changed.untaken(place, part).start, bisect_right(tree.times, since))
            voting.append(part._replace(start=min(start, part.end)))
        else:
            other |= set(part.sessions)
            also |= set(
                part._replace(start=max(part.start, bisect_left(tree.times, began))).sessions
            )
    share.also = tuple(sorted(also - found))
    are_old = bool(listed) and not any(was_stored_for(tree, one) for tree in listed)
    if parts and (found or not are_old):
        share.method = (
            "checkpoint"
            if any(part.tree is tree for part in parts for tree in listed)
            else "commit"
        )
        last = max(
            (part.tree.times[part.end - 1] for part in parts if part.end > part.start), default=0
        )
        share.end = share.made.time if share.made else max(last, one.authored or last)
        share.problem = "" if found else EMPTY
        share.sessions = tuple(sorted(found.union(*(part.sessions for part in voting))))
        share.sessions = share.sessions or tuple(sorted({part.tree.sessions[0] for part in parts}))
        return voting
    if listed and not whole:
        share.problem = PARTLY_HERE
    elif are_old:
        share.problem = STORED_BEFORE
    elif other:
        share.problem = OTHER_WORK
    elif one.authored is not None and (
        known := [tree for tree in listed if reaches_commit(tree, one)]
    ):
        share.method, share.end, share.problem = "checkpoint", one.authored, EMPTY
        share.sessions = tuple(sorted({tree.sessions[0] for tree in known}))
    return []


def _part_at(tree: Tree, time: int | None) -> SessionPart | None:
    """Return the part of a tree at a time, up to that; None where it has no lines then."""
    at = -1 if time is None else bisect_right(tree.times, time)
    next_cut = bisect_left(tree.cuts, at, key=lambda cut: cut.at)
    start = tree.cuts[next_cut - 1].at if next_cut else 0
    cut = tree.cuts[next_cut] if next_cut < len(tree.cuts) else None
    return SessionPart(tree, start, at, cut) if start < at else None


def _series(
    asked: Sequence[Asked],
    changed: ChangedFiles,
    shares: Sequence[Share],
    trees: Iterable[Tree],
    parts_of: Mapping[int, Sequence[SessionPart]],
) -> None:
    """Let commits without edits share the part before, where it edited their files."""
    for tree in trees:
        before: SessionPart | None = None
        for part in tree.parts():
            place = part.place
            if place < 0 or not part.edits_nothing:
                before = part if place >= 0 else None
            elif before and place != before.place:
                edits_nothing = all(mine.edits_nothing for mine in parts_of[place])
                if not (
                    edits_nothing
                    and changed.of(place, before)
                    and was_stored_for(tree, asked[place])
                ):
                    before = None
                elif shares[place].shared is None:
                    shares[place].method, shares[place].shared, shares[place].problem = (
                        "shared",
                        before.place,
                        "",
                    )
                    shares[place].sessions = tuple(
                        sorted({*shares[place].sessions, *before.sessions})
                    )


def _by_session(
    asked: Sequence[Asked],
    shares: Sequence[Share],
    sessions: Mapping[SessionKey, Session],
    owners: list[int],
) -> None:
    """Give an iteration without lines the free ones of the session that its entry names.

    They reach up to its author time.
    """
    by_name: dict[str, list[Session]] = {}
    for key, session in sessions.items():
        if session.lines:
            by_name.setdefault(key[1], []).append(session)
    ends: dict[str, list[tuple[int, int]]] = {}

    def note_end(place: int) -> None:
        if (end := shares[place].end) is not None:
            for name in {asked[place].session, *(name for _, name in shares[place].sessions)}:
                ends.setdefault(name, []).append((place, end))

    for place in range(len(shares)):
        note_end(place)
    for place, share in enumerate(shares):
        one = asked[place]
        named = by_name.get(one.session, ()) if one.session else ()
        if share.method or share.problem or not named or one.authored is None:
            continue
        before = [end for n, end in ends.get(one.session, ()) if n < place and end < one.authored]
        count = 0
        for session in named:
            first = bisect_right(session.times, max(before)) if before else 0
            count += _take(
                owners, place, session.lines[first : bisect_right(session.times, one.authored)]
            )
        share.method, share.end = "session", one.authored
        share.sessions = tuple(sorted(session.key for session in named))
        share.problem = "" if count else EMPTY
        note_end(place)


def _take(owners: list[int], place: int, lines: Iterable[int]) -> int:
    """Give lines that are still free to an iteration, and return how many they are."""
    free = [line for line in lines if owners[line] == session_trees.NO_ITERATION]
    for line in free:
        owners[line] = place
    return len(free)


def _by_totals(asked: Sequence[Asked], shares: Sequence[Share], stated: Collection[str]) -> None:
    """Note the iterations with only a checkpoint's totals. It must be of one iteration alone."""
    naming = Counter(name for one in asked for name in one.checkpoints)
    for one, share in zip(asked, shares, strict=True):
        if share.method is None:
            share.stated = tuple(
                name for name in one.checkpoints if name in stated and naming[name] == 1
            )
            share.method = "checkpoint" if share.stated else None


def _by_time(
    asked: Sequence[Asked], shares: Sequence[Share], trees: Iterable[Tree], owners: list[int]
) -> None:
    """Give an iteration without lines the free ones in its window, where they are one session's."""
    waiting = [
        place for place, share in enumerate(shares) if share.method is None and not share.problem
    ]
    if not waiting:
        return
    pairs = ((tree.sessions[0], zip(tree.times, tree.lines, strict=True)) for tree in trees)
    free = sorted(
        (time, n, key)
        for key, lines in pairs
        for time, n in lines
        if owners[n] == session_trees.NO_ITERATION
    )
    times = [time for time, _, _ in free]
    for place in waiting:
        share, window = shares[place], asked[place].window
        if (
            asked[place].checkpoints or window is None
        ):  # a checkpoint says which sessions did it: not any other one
            share.problem = NO_TRANSCRIPT if asked[place].checkpoints else NO_WINDOW
            continue
        first = 0 if window.start is None else bisect_right(times, window.start)
        inside = [
            one
            for one in free[first : bisect_right(times, window.end)]
            if owners[one[1]] == session_trees.NO_ITERATION
        ]
        keys = {key for _, _, key in inside}
        if len(keys) == 1:
            _take(owners, place, (line for _, line, _ in inside))
            share.method, share.sessions = "time", tuple(keys)
            share.end = inside[-1][0] if asked[place].authored is None else asked[place].authored
        else:
            share.problem = f"{len(keys)} {OVERLAP}" if keys else NOT_COVERED
