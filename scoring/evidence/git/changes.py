"""What changed between two commits, and what an iteration changed (``docs/EVIDENCE.md``, "Scope"), by git's trees."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.repository import GitRepository, answered
from scoring.evidence.git.starter import as_lines, as_text

Pair = tuple[
    str, str
]  # a commit and the one it is compared with; "" is nothing, for a commit without a parent

_OPTIONS = (
    "-r",
    "-z",
    "--raw",
    "--root",
    "--always",
    "--ignore-submodules=none",
    "--no-ext-diff",
    "--no-textconv",
)


class Change(NamedTuple):
    """One path that differs: git's letter (A, M, D, T, R), the new ``path``, and what it ``was`` before a rename."""

    status: str
    path: str
    was: str


def net_changes(repository: GitRepository, pairs: Iterable[Pair]) -> dict[Pair, tuple[Change, ...]]:
    """Return what changed from the second to the first commit of each pair, renames followed as far as possible."""
    wanted = list(pairs)
    found = changes(repository, wanted, "--find-renames")
    return found | changes(
        repository, [pair for pair in wanted if pair not in found], "--find-renames=100%"
    )


def line_of(pair: Pair) -> str:
    """Return a pair as ``diff-tree --stdin`` takes it."""
    return " ".join(pair).rstrip()


def changes(
    repository: GitRepository, pairs: Iterable[Pair], renames: str = "--no-renames"
) -> dict[Pair, tuple[Change, ...]]:
    """Return what changed from the second commit of each pair to the first, where git can say."""

    def ask(batch: Sequence[Pair]) -> Mapping[Pair, tuple[Change, ...]] | None:
        answer = repository.ask(
            "diff-tree", "--stdin", *_OPTIONS, renames, given=as_lines(map(line_of, batch))
        )
        blocks = [] if answer.returncode else list(_blocks(answer.stdout))
        # Of what is no commit, git may say nothing at all and still exit with 0.
        return dict(zip(batch, blocks, strict=True)) if len(blocks) == len(batch) else None

    return answered(ask, pairs)


def _blocks(output: bytes) -> Iterator[tuple[Change, ...]]:
    """Split the output at its headers; an entry starts with a colon and says how many paths follow."""
    fields = iter(output.split(b"\0"))
    block: list[Change] | None = None
    for field in fields:
        if not field.startswith(b":"):
            if block is not None:
                yield tuple(block)
            block = [] if field else None
            continue
        status = chr(field.rsplit(b" ", 1)[1][0])
        was = as_text(next(fields))
        path = as_text(next(fields)) if status in "RC" else was
        assert block is not None
        block.append(Change(status, path, was))


class Range(NamedTuple):
    """What an iteration's change is measured over: from ``base`` ("" for a first commit), after iteration ``earlier``.

    Without an earlier one the first parent is taken; ``own`` are the commits that alone count, None for all.
    """

    commit: str
    base: str
    earlier: int | None
    own: tuple[str, ...] | None = None
    without_trunk: bool = False


def range_of(graph: CommitGraph, commit: str, earlier: tuple[int, str] | None) -> Range:
    """Find the range of an iteration; ``earlier`` is the nearest one before it that ``commit`` contains."""
    if earlier is None:
        return Range(commit, graph.first_parent(commit), None)
    number, base = earlier
    taken = _taken_in(graph, commit, base)
    if taken is None or graph.newest_mainline.get(base, len(graph.mainline)) <= taken:
        return Range(commit, base, number)
    if graph.on_trunk(base) and graph.introduced[base] >= taken:
        return Range(commit, graph.mainline[taken], number, None, True)
    return Range(
        commit, base, number, tuple(_own(graph, commit, base, graph.mainline[taken])), True
    )


def _taken_in(graph: CommitGraph, commit: str, base: str) -> int | None:
    """Return the newest mainline commit that came in from the trunk, by its index; None for work on it itself."""
    if commit not in graph.mainline_index:
        index = graph.newest_mainline.get(commit)
    elif base in graph.mainline_index or not graph.on_trunk(base):
        return None
    else:  # the side of the earlier commit was merged in between: what the trunk had before that is not its work
        index = graph.introduced[base] + 1
    return None if index is None or index >= len(graph.mainline) else index


def _own(graph: CommitGraph, commit: str, base: str, taken: str) -> list[str]:
    """Return the commits of a range that are no trunk's: those not taken in, and the branch's own line."""
    own, line = dict.fromkeys(graph.between(commit, (base, taken))), commit
    inside = set(graph.between(commit, (base,)))
    while line in inside and line not in graph.mainline_index:
        own[line] = None
        line = graph.first_parent(line)
    return list(own)


def changed_files(
    repository: GitRepository, graph: CommitGraph, ranges: Sequence[Range]
) -> dict[Range, tuple[str, ...]]:
    """Return the files that changed over each range, by new names; a range that git cannot compare is left out."""
    own = (sha for found in ranges for sha in found.own or ())
    own_pairs = {sha: [(sha, parent) for parent in graph.parents[sha] or ("",)] for sha in own}
    wanted = [(found.commit, found.base) for found in ranges]
    wanted += [pair for pairs in own_pairs.values() for pair in pairs]
    changed = net_changes(repository, wanted)
    result = {}
    for found in ranges:
        if (net := changed.get((found.commit, found.base))) is None:
            continue
        if found.own is not None:
            touched = {path for sha in found.own for path in _touched(changed, own_pairs[sha])}
            net = tuple(change for change in net if change.path in touched or change.was in touched)
        result[found] = tuple(change.path for change in net)
    return result


def _touched(changed: Mapping[Pair, Sequence[Change]], pairs: Sequence[Pair]) -> set[str]:
    """Return the paths that a commit itself touched: of a merge, those that are as in none of its parents."""
    return set.intersection(
        *({name for c in changed.get(pair, ()) for name in (c.path, c.was)} for pair in pairs)
    )
