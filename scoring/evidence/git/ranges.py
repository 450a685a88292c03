"""What an iteration changed: its own commits since the iteration before it, and no work of the trunk (section 10).

The net change runs from the nearest earlier iteration's commit that the iteration's own commit contains, or, without
one, from its first parent. What came in from the trunk is left out: where the earlier commit has landed and the branch
has taken the trunk in since, the change runs from the trunk commit that was taken in; where it has not, only files that
the iteration's own commits changed count.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from typing import NamedTuple

from scoring.evidence.git.diffs import Change, Pair, changes
from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.repository import GitRepository


class Range(NamedTuple):
    """What one iteration's change is measured over.

    ``base`` is where it starts ("" for a first commit), ``earlier`` the number of the iteration before it (None: there
    is none, and the commit is compared with its first parent), ``own`` the commits whose files alone count (None: all
    files count), ``left_out`` whether trunk commits are left out.
    """

    commit: str
    base: str
    earlier: int | None
    own: tuple[str, ...] | None = None
    left_out: bool = False


class Changed(NamedTuple):
    """The files of a range, by their new names."""

    range: Range
    files: tuple[str, ...]


def range_of(graph: CommitGraph, commit: str, earlier: tuple[int, str] | None) -> Range:
    """Find the range of an iteration.

    Args:
        graph: its ancestry.
        commit: its commit.
        earlier: the number and the commit of the nearest earlier iteration that ``commit`` contains.
    """
    if earlier is None:
        return Range(commit, next(iter(graph.parents[commit]), ""), None)
    number, base = earlier
    taken = _taken_in(graph, commit, base)
    if taken is None or graph.newest_mainline.get(base, len(graph.mainline)) <= taken:
        return Range(commit, base, number)
    if graph.on_trunk(base) and graph.introduced(base) >= taken:
        return Range(commit, graph.mainline[taken], number, None, True)
    return Range(commit, base, number, tuple(_own(graph, commit, base, graph.mainline[taken])), True)


def _taken_in(graph: CommitGraph, commit: str, base: str) -> int | None:
    """Return the newest mainline commit that came in from the trunk, by its index; None for work on it itself."""
    if commit not in graph.mainline_index:
        index = graph.newest_mainline.get(commit)
    elif base in graph.mainline_index or not graph.on_trunk(base):
        return None
    else:  # the side of the earlier commit was merged in between: what the trunk had before that is not its work
        index = graph.introduced(base) + 1
    return None if index is None or index >= len(graph.mainline) else index


def _own(graph: CommitGraph, commit: str, base: str, taken: str) -> list[str]:
    """Return the commits of a range that are no trunk's: those not taken in, and the branch's own line."""
    own = dict.fromkeys(graph.between(commit, (base, taken)))
    line, stop = commit, graph.mainline_index
    inside = set(graph.between(commit, (base,)))
    while line in inside and line not in stop:
        own[line] = None
        line = next(iter(graph.parents[line]), "")
    return list(own)


def changed_files(
    repository: GitRepository,
    graph: CommitGraph,
    ranges: Sequence[Range],
    known: MutableMapping[Pair, tuple[Change, ...]] | None = None,
) -> dict[Range, Changed]:
    """Return what changed over each range; one that git cannot compare is left out. ``known`` is kept between runs."""
    own_pairs = {sha: _pairs(graph, sha) for found in ranges for sha in found.own or ()}
    wanted = [(found.commit, found.base) for found in ranges]
    wanted += [pair for pairs in own_pairs.values() for pair in pairs]
    told = changes(repository, wanted, renames=True, known=known)
    result = {}
    for found in ranges:
        if (net := told.get((found.commit, found.base))) is None:
            continue
        if found.own is not None:
            touched = {path for sha in found.own for path in _touched(told, own_pairs[sha])}
            net = tuple(change for change in net if change.path in touched or change.was in touched)
        result[found] = Changed(found, tuple(change.path for change in net))
    return result


def _pairs(graph: CommitGraph, sha: str) -> list[Pair]:
    return [(sha, parent) for parent in graph.parents[sha]] or [(sha, "")]


def _touched(told: Mapping[Pair, Sequence[Change]], pairs: Sequence[Pair]) -> set[str]:
    """Return the paths that a commit itself touched: of a merge, those that are as in none of its parents."""
    return set.intersection(
        *({c.path for c in told.get(pair, ())} | {c.was for c in told.get(pair, ())} for pair in pairs)
    )
