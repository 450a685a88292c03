"""Which files an iteration changed, and over which commits (``docs/EVIDENCE.md``, "Scope")."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scoring.evidence.git.changes import Change, CommitPair, net_changes
from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.repository import GitRepository


class ScopeRange(NamedTuple):
    """The commits over which the change of an iteration is measured.

    Attributes:
        commit: the commit of the iteration.
        base: the commit that it is compared with; "" for a first commit.
        earlier: the number of the iteration that has the base; None when the base is the first
            parent.
        own_commits: the commits that alone count with their files; None when all count.
        without_trunk: whether changes that came in from the trunk are left out.
    """

    commit: str
    base: str
    earlier: int | None
    own_commits: tuple[str, ...] | None = None
    without_trunk: bool = False

    @property
    def pair(self) -> CommitPair:
        """The commit and its base."""
        return CommitPair(self.commit, self.base)


def scope_range(
    graph: CommitGraph,
    commit: str,
    earlier: tuple[int, str] | None,
) -> ScopeRange:
    """Find the range of an iteration.

    Args:
        graph: the trunk and what is off it.
        commit: the commit of the iteration.
        earlier: the nearest iteration before it with a commit that this commit contains: its
            number and its commit.
    """
    if not earlier:
        return ScopeRange(commit, base=graph.first_parent(commit), earlier=None)

    number, base = earlier
    from_trunk = _newest_from_trunk(graph, commit, base)
    no_mainline = len(graph.mainline)
    if from_trunk is None or graph.newest_mainline.get(base, no_mainline) <= from_trunk:
        return ScopeRange(commit, base, number)

    trunk_commit = graph.mainline[from_trunk]
    if graph.on_trunk(base) and graph.introduced[base] >= from_trunk:
        return ScopeRange(commit, trunk_commit, number, without_trunk=True)

    own_commits = _commits_of_branch(graph, commit, base, trunk_commit)
    return ScopeRange(commit, base, number, own_commits, without_trunk=True)


def _newest_from_trunk(
    graph: CommitGraph,
    commit: str,
    base: str,
) -> int | None:
    """Return the newest mainline commit that came in from the trunk, as its index.

    None means that the work was done on the trunk itself.
    """
    if commit not in graph.mainline_index:
        index = graph.newest_mainline.get(commit)
    elif base in graph.mainline_index or not graph.on_trunk(base):
        return None
    else:
        # The side of the earlier commit was merged in between. What the trunk had before that
        # merge is not the work of this iteration.
        index = graph.introduced[base] + 1

    if index is None or index >= len(graph.mainline):
        return None
    return index


def _commits_of_branch(
    graph: CommitGraph,
    commit: str,
    base: str,
    trunk_commit: str,
) -> tuple[str, ...]:
    """Return the commits of a range that did not come in from the trunk.

    These are the commits that the trunk commit does not contain, and the branch's own line of
    first parents.
    """
    commits = dict.fromkeys(graph.between(commit, (base, trunk_commit)))
    in_range = set(graph.between(commit, (base,)))

    sha = commit
    while sha in in_range and sha not in graph.mainline_index:
        commits[sha] = None
        sha = graph.first_parent(sha)
    return tuple(commits)


def changed_files(
    repository: GitRepository,
    graph: CommitGraph,
    ranges: Sequence[ScopeRange],
) -> dict[ScopeRange, tuple[str, ...]]:
    """Return the files that changed over each range, by their new paths.

    Ranges that git cannot compare are left out.
    """
    wanted = [measured.pair for measured in ranges]
    pairs_of_own = {}
    for measured in ranges:
        for sha in measured.own_commits or ():
            parents = graph.parents[sha] or ("",)
            pairs_of_own[sha] = [CommitPair(sha, parent) for parent in parents]
            wanted += pairs_of_own[sha]
    changes = net_changes(repository, wanted)

    files = {}
    for measured in ranges:
        net = changes.get(measured.pair)
        if net is None:
            continue

        if measured.own_commits is not None:
            touched = set()
            for sha in measured.own_commits:
                touched |= _touched_paths(changes, pairs_of_own[sha])
            net = tuple(change for change in net if touched & change.paths)
        files[measured] = tuple(change.path for change in net)
    return files


def _touched_paths(
    changes: Mapping[CommitPair, Sequence[Change]],
    pairs: Sequence[CommitPair],
) -> set[str]:
    """Return the paths that a commit touched itself.

    A merge touched a path when the file is as in none of its parents.

    Args:
        changes: what changed over each pair.
        pairs: the commit with each of its parents.
    """
    touched_against = []
    for pair in pairs:
        paths = set()
        for change in changes.get(pair, ()):
            paths |= change.paths
        touched_against.append(paths)
    return set.intersection(*touched_against)
