"""Which trunk commits make the same change as others do."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

from scoring.evidence.git.changes import Change, CommitPair, changes
from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.limits import ask_in_batches
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import Git, as_lines

MOST_COMPARED = 200_000
"""Commits of the trunk, newest first, that are compared with others."""

_DIFF_TREE = (
    "diff-tree",
    "--stdin",
    "-r",
    "-p",
    "--root",
    "--always",
    "--full-index",
    "--no-renames",
    "--no-color",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--no-ext-diff",
    "--no-textconv",
    "--submodule=short",
    "--ignore-submodules=none",
)
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_HEADER = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class SameChanges(NamedTuple):
    """Which trunk commits make the same changes.

    Attributes:
        commits: the trunk commits with the same patch as each pair, newest first.
        unknown: the commits of pairs that git cannot compare.
    """

    commits: dict[CommitPair, list[str]]
    unknown: set[str]


def same_changes(
    repository: GitRepository,
    graph: CommitGraph,
    isolated: Git,
    wanted: Mapping[str, Sequence[CommitPair]],
    changed: Mapping[CommitPair, Sequence[Change]],
) -> SameChanges:
    """Return which trunk commits make the same change as each pair.

    Args:
        repository: an open repository.
        graph: the trunk and what is off it.
        isolated: a temporary repository with the same objects.
        wanted: the pairs to look for, by commits off the trunk.
        changed: which files changed over each pair.
    """
    pairs = [pair for pair in chain.from_iterable(wanted.values()) if changed.get(pair)]
    if not pairs:
        return SameChanges({}, set())

    # Patches are read only where the same paths changed in the same way.
    trunk_pairs = _trunk_by_shape(repository, graph, wanted)
    candidates = {}
    for pair in pairs:
        same_shape = trunk_pairs.get(_shape(changed[pair]))
        if same_shape:
            candidates[pair] = same_shape
    ids = patch_ids(isolated, [*chain.from_iterable(candidates.values()), *candidates])

    same = SameChanges({}, set())
    for pair, of_trunk in candidates.items():
        own_id = ids.get(pair, "")
        same.commits[pair] = [each.commit for each in of_trunk if ids.get(each) == own_id]
        if not ids.keys() >= {pair, *of_trunk}:
            same.unknown.add(pair.commit)
    return same


def _trunk_by_shape(
    repository: GitRepository,
    graph: CommitGraph,
    shas: Iterable[str],
) -> Mapping[str, list[CommitPair]]:
    """Return the trunk commits that not all of some commits contain, by shape, newest first.

    Merges are left out.
    """
    no_mainline = len(graph.mainline)
    oldest = max(graph.newest_mainline.get(sha, no_mainline) for sha in shas)
    recent = [sha for sha in graph.trunk[:MOST_COMPARED] if graph.introduced[sha] < oldest]

    by_shape = defaultdict(list)
    for pair, changed in changes(repository, graph.pairs(recent)).items():
        by_shape[_shape(changed)].append(pair)
    return by_shape


def _shape(changed: Iterable[Change]) -> str:
    """Return a digest of which paths changed in which way, equal for equal patches."""
    text = "\0".join(f"{change.status}{change.path}" for change in changed)
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def patch_ids(isolated: Git, pairs: Iterable[CommitPair]) -> dict[CommitPair, str]:
    """Return the digest of the patch of each pair, equal where ``git patch-id`` is.

    Pairs that git cannot compare are left out.
    """

    def ask(batch: Sequence[CommitPair]) -> Mapping[CommitPair, str]:
        questions = as_lines(pair.as_line for pair in batch)
        lines = isolated.lines(*_DIFF_TREE, stdin=questions)
        return dict(zip(batch, _digests_of_patches(lines), strict=True))

    return ask_in_batches(ask, pairs, isolated.time)


def _digests_of_patches(lines: Iterable[bytes]) -> Iterator[str]:
    """Yield a digest of the patch under each header.

    The header of a hunk says how many lines it has, so that none of them can pass for a header.
    """
    digest = blake2b(digest_size=16)
    has_header = False
    index_line = b""
    old_left = 0  # lines of this hunk that are still to come, of the old file and of the new one
    new_left = 0

    for line in lines:
        if old_left > 0 or new_left > 0:
            mark = line[:1]
            if mark == b"\\":
                continue
            old_left -= mark != b"+"
            new_left -= mark != b"-"
            digest.update(line.translate(None, b" \t\r") + b"\n")
            continue

        if _HEADER.fullmatch(line):
            if has_header:
                yield digest.hexdigest()
            digest = blake2b(digest_size=16)
            has_header = True
            continue

        hunk = _HUNK.match(line)
        if hunk:
            old_left = int(hunk[1] or 1)
            new_left = int(hunk[2] or 1)
        elif line.startswith(b"index "):
            index_line = line + b"\n"
        elif not line.startswith(b"\\"):
            if line.startswith(b"Binary files "):
                digest.update(index_line)  # the ids of the contents stand for what is not printed
            digest.update(line + b"\n")

    if has_header:
        yield digest.hexdigest()
