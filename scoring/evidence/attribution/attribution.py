"""Which lines of which sessions belong to which iteration, and which vote: docs/EVIDENCE.md."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from scoring.evidence.attribution.changed_files import ChangedFiles
from scoring.evidence.attribution.cuts import cut_trees, reaches_commit, was_stored_for
from scoring.evidence.attribution.free_lines import give_by_session, give_by_time, note_totals
from scoring.evidence.attribution.iteration_shares import OwnedLines, Share
from scoring.evidence.attribution.linking import Linker
from scoring.evidence.attribution.session_trees import (
    NO_ITERATION,
    Asked,
    Listed,
    SessionPart,
    Tree,
    listed_trees,
    trees_of,
)
from scoring.evidence.transcripts.streams import File, Session, SessionKey


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
    lines: int,
    became: Mapping[str, str],
    listing: Mapping[str, Collection[str]],
    stated: Collection[str] = (),
    in_repository: Callable[[str], bool] = lambda _: False,
    entries: int | None = None,
    reviewers: Collection[str] = (),
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
        reviewers: the ids of the sessions that were started to review others.
    """
    changed = ChangedFiles(asked)
    recorded = {session_id for session_ids in listing.values() for session_id in session_ids}
    tree_of = trees_of(files, sessions, recorded, changed.name_of, in_repository)
    trees = list(dict.fromkeys(tree_of.values()))

    twice = _named_twice(asked)
    listed_ids = [_listed_ids(question, listing) for question in asked]
    listed = list(listed_trees(listed_ids, tree_of))
    for index in twice:
        listed[index] = []
    complete = _complete(asked, listed_ids, listed)

    shown = cut_trees(asked, sessions, tree_of, listed, became, changed, complete)
    shares = [Share(made=shown.get(index)) for index in range(len(asked))]
    ownership = OwnedLines([NO_ITERATION] * lines, {})
    parts_of = _parts_by_iteration(trees, ownership)
    linker = Linker(asked, changed, sessions, listed, complete, reviewers)
    for index, share in enumerate(shares):
        for part in linker.link(index, share, parts_of.get(index, ())):
            is_own = part.edits_only(asked[index].files) or linker.is_by_helpers(part)
            ownership.count_vote(index, part, is_own=is_own)

    logged = len(asked) if entries is None else entries
    _share_series(asked, changed, shares, trees, parts_of, logged)
    for index, first in twice.items():
        shares[index].counted_for = first
        shares[index].problem = f"commit already counted for iteration {asked[first].iteration}"
    give_by_session(asked, shares, sessions, ownership)
    note_totals(asked, shares, stated)
    give_by_time(asked, shares, trees, ownership)
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
            took_edits = edits_nothing and (
                _are_of_one_call(previous, part) or changed.took_from(index, previous)
            )
            if not took_edits or not was_stored_for(tree, asked[index]):
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
    if previous.cut is None or part.cut is None:
        return False
    first = previous.cut.made
    second = part.cut.made
    return first is not None and second is not None and first.line == second.line


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
