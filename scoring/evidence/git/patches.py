"""Which trunk commits make the same change as a pair of commits does.

Patches are compared only where the same paths changed in the same way (their *shape*), which is told without reading a
file: a trunk of tens of thousands of commits costs seconds once, and little when its shapes are kept.
"""

from collections.abc import Iterable, Mapping, Sequence

from scoring.evidence.git.diffs import Change, Pair, changes
from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.isolated import IsolatedRepository
from scoring.evidence.git.landcache import LandingCache
from scoring.evidence.git.repository import GitRepository

MOST_COMPARED = 200_000
"""How many commits of the trunk, newest first, are compared with what lies beside it."""


class PatchSearch:
    """The changes of one trunk. A merge has no patch of its own."""

    def __init__(self, repository: GitRepository, graph: CommitGraph, cache: LandingCache) -> None:
        """Prepare to search; ``graph`` holds the trunk, ``cache`` what was learnt before."""
        self._repository, self._graph, self._cache = repository, graph, cache

    def same(
        self,
        wanted: Mapping[str, Sequence[Pair]],
        changed: Mapping[Pair, Sequence[Change]],
        isolated: IsolatedRepository,
    ) -> tuple[dict[Pair, list[str]], set[str]]:
        """Return the trunk commits, newest first, that make the same change as a pair does.

        The second part are the commits of which that cannot be told, because an object of a likely one is missing.

        Args:
            wanted: the pairs, by the commit that they are about.
            changed: what changed over the pairs, renames not followed; one without a change is like nothing.
            isolated: where patches are made.
        """
        pairs = [pair for some in wanted.values() for pair in some if changed.get(pair)]
        shapes = {pair: _shape(changed[pair]) for pair in pairs}
        if not pairs:
            return {}, set()
        alike: dict[str, list[str]] = {}
        looked_for = set(shapes.values())
        for sha, shape in self._trunk_shapes(wanted).items():
            if shape in looked_for:
                alike.setdefault(shape, []).append(sha)
        known = self._cache.patches
        new = [sha for some in alike.values() for sha in some if sha not in known]
        of_trunk = {sha: (sha, self._first_parent(sha)) for sha in new}
        patches = isolated.patch_ids((*of_trunk.values(), *(pair for pair in pairs if shapes[pair] in alike)))
        if new:
            known |= {sha: patches[pair] for sha, pair in of_trunk.items() if pair in patches}
            self._cache.changed = True
        likely = {pair: alike[shapes[pair]] for pair in pairs if shapes[pair] in alike}
        unread = {p[0] for p, some in likely.items() if p not in patches or not known.keys() >= set(some)}
        return {p: [sha for sha in some if known.get(sha) == patches.get(p, "")] for p, some in likely.items()}, unread

    def _trunk_shapes(self, shas: Iterable[str]) -> dict[str, str]:
        """Return the shape of each trunk commit, no merge, that not all of some commits contain; newest first."""
        oldest = max(self._graph.contained(sha).newest for sha in shas)
        after = [
            sha
            for sha in self._graph.trunk[:MOST_COMPARED]
            if len(self._parents(sha)) < 2 and self._graph.introduced(sha) < oldest
        ]
        known = self._cache.shapes
        new = [sha for sha in after if sha not in known]
        if new:
            told = changes(self._repository, [(sha, self._first_parent(sha)) for sha in new], renames=False)
            known |= {sha: _shape(changed) for (sha, _), changed in told.items()}
            self._cache.changed = True
        return {sha: known[sha] for sha in after if sha in known}

    def _parents(self, sha: str) -> tuple[str, ...]:
        return self._graph.parents[sha]

    def _first_parent(self, sha: str) -> str:
        return next(iter(self._parents(sha)), "")


def _shape(changed: Iterable[Change]) -> str:
    """Return a digest of which paths changed in which way; equal for equal patches."""
    from hashlib import blake2b

    text = "\0".join(part for change in changed for part in (change.status, change.path))
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
