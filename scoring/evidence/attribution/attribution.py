"""Which lines of which sessions belong to which iteration, and which vote: docs/EVIDENCE.md."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from scoring.evidence.attribution.cuts import cut_trees, reaches_commit, was_stored_for
from scoring.evidence.attribution.iteration_shares import (
    OwnedLines,
    Share,
    give_by_session,
    give_by_time,
    note_totals,
)
from scoring.evidence.attribution.linking import Linker
from scoring.evidence.attribution.session_trees import (
    NO_ITERATION,
    Asked,
    ChangedFiles,
    Listed,
    SessionPart,
    Tree,
    trees_of,
)
from scoring.evidence.transcripts.streams import File, Session, SessionKey, line_count


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


def attribute(
    asked: Sequence[Asked],
    files: Sequence[File],
    sessions: Mapping[SessionKey, Session],
    became: Mapping[str, str],
    listing: Mapping[str, Collection[str]],
    stated: Collection[str],
    in_repository: Callable[[str], bool],
    entries: int,
    reviewers: Collection[str],
) -> Attribution:
    """Give each line to its iteration.

    Args:
        asked: the iterations.
        files: the transcripts.
        sessions: the sessions, by their keys.
        became: what commits became, by the digits that sessions show.
        listing: the ids of the sessions of each checkpoint.
        stated: the ids of the checkpoints of which only the totals are known.
        in_repository: returns whether a folder is in the repository.
        entries: how many of the iterations have an entry, the first ones.
        reviewers: the ids of the sessions that were started to review others.
    """
    changed = ChangedFiles(asked)
    recorded = {session_id for session_ids in listing.values() for session_id in session_ids}
    tree_of = trees_of(files, sessions, recorded, changed.name_of, in_repository)
    trees = list(dict.fromkeys(tree_of.values()))

    twice = _named_twice(asked)
    listed, complete = _listed_trees(asked, listing, tree_of, twice)

    shown = cut_trees(changed, sessions, tree_of, listed, became, complete)
    shares = [Share(index, question, made=shown.get(index)) for index, question in enumerate(asked)]
    ownership = OwnedLines([NO_ITERATION] * line_count(files), {})
    parts_of = _parts_by_iteration(trees, ownership)
    linker = Linker(changed, sessions, listed, complete, reviewers)
    for share in shares:
        for part in linker.link(share, parts_of.get(share.index, ())):
            is_own = part.edits_only(share.asked.files) or linker.is_by_helpers(part)
            ownership.count_vote(share.index, part, is_own=is_own)

    _share_series(changed, shares, trees, parts_of, entries)
    for index, first in twice.items():
        shares[index].counted_for = first
        shares[index].problem = f"commit already counted for iteration {asked[first].iteration}"
    give_by_session(shares, sessions, ownership)
    note_totals(shares, stated)
    give_by_time(shares, trees, ownership)
    return _numbered(shares, ownership, trees)


def _named_twice(asked: Sequence[Asked]) -> dict[int, int]:
    """Return the iterations that have a commit which an earlier entry names, with the first one."""
    first: dict[str, int] = {}
    twice: dict[int, int] = {}
    for index, question in enumerate(asked):
        earliest = min((first.setdefault(name, index) for name in question.commits), default=index)
        if earliest < index:
            twice[index] = earliest
    return twice


def _listed_trees(
    asked: Sequence[Asked],
    listing: Mapping[str, Collection[str]],
    tree_of: Mapping[SessionKey, Tree],
    twice: Collection[int],
) -> tuple[Listed, set[int]]:
    """Return the trees in the checkpoints of each iteration.

    Args:
        asked: the iterations.
        listing: the ids of the sessions of each checkpoint.
        tree_of: the trees, by the keys of their sessions.
        twice: the indices of the iterations that have no trees.

    Returns:
        The trees; and the iterations of which all listed sessions are here, up to the commit.
    """
    trees_by_id: dict[str, list[Tree]] = {}
    for key in sorted(tree_of):
        trees_by_id.setdefault(key[1], []).append(tree_of[key])

    listed = []
    complete = set()
    for index, question in enumerate(asked):
        trees: dict[Tree, None] = {}
        is_complete = True
        listed_ids = (listing.get(name, ()) for name in question.checkpoints)
        for session_id in chain.from_iterable(listed_ids):
            trees_of_session = [] if index in twice else trees_by_id.get(session_id, [])
            trees.update(dict.fromkeys(trees_of_session))
            is_here = any(reaches_commit(tree, question) for tree in trees_of_session)
            is_complete = is_complete and is_here
        listed.append(list(trees))
        if is_complete:
            complete.add(index)
    return listed, complete


def _parts_by_iteration(
    trees: Iterable[Tree], ownership: OwnedLines
) -> dict[int, list[SessionPart]]:
    """Give the lines of each part to its iteration, and return the parts."""
    parts_of: dict[int, list[SessionPart]] = {}
    for tree in trees:
        for part in tree.parts():
            if part.place != NO_ITERATION:
                parts_of.setdefault(part.place, []).append(part)
                for line in part.lines:
                    ownership.owners[line] = part.place
    return parts_of


def _share_series(
    changed: ChangedFiles,
    shares: Sequence[Share],
    trees: Iterable[Tree],
    parts_of: Mapping[int, Sequence[SessionPart]],
    entries: int,
) -> None:
    """Let commits without edits share the part before, where it edited their files.

    An iteration shares no part of a commit that has no entry, which are those from ``entries`` on.
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
            if index < entries <= previous.place:
                previous = None
                continue

            edits_nothing = all(other.edits_nothing for other in parts_of[index])
            took_edits = edits_nothing and (
                _are_of_one_call(previous, part) or changed.took_from(index, previous)
            )
            if not took_edits or not was_stored_for(tree, shares[index].asked):
                previous = None
                continue

            share = shares[index]
            if share.shared is None:
                share.method = "shared"
                share.shared = previous.place
                share.problem = ""
                share.sessions = tuple(sorted({*share.sessions, *previous.sessions}))


def _are_of_one_call(previous: SessionPart, part: SessionPart) -> bool:
    """Return whether two parts end at commits that one call made."""
    if previous.made is None or part.made is None:
        return False
    return previous.made.line == part.made.line


def _numbered(shares: list[Share], ownership: OwnedLines, trees: Sequence[Tree]) -> Attribution:
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
