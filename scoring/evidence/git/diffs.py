"""What changed between commits, from git's own trees: paths as they are, in one process for any number of pairs.

Answers depend on the two commits alone. Nothing here needs the content of a file, but for telling renames.
"""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import NamedTuple

from scoring.evidence.git.batches import answered
from scoring.evidence.git.repository import GitRepository

Pair = tuple[str, str]
"""A commit and the one it is compared with; "" is nothing, for a commit without a parent."""

_OPTIONS = ("-r", "-z", "--raw", "--root", "--always", "--ignore-submodules=none", "--no-ext-diff", "--no-textconv")


class Change(NamedTuple):
    """One path that differs.

    ``status`` is git's letter (A, M, D, T, R), ``path`` the new name, ``was`` the old one of a rename and else the
    same. Paths are as the tree has them; bytes that are not UTF-8 are surrogate escapes.
    """

    status: str
    path: str
    was: str


def changes(
    repository: GitRepository,
    pairs: Iterable[Pair],
    *,
    renames: bool,
    known: MutableMapping[Pair, tuple[Change, ...]] | None = None,
) -> dict[Pair, tuple[Change, ...]]:
    """Return what changed from the second commit of each pair to the first.

    ``known`` holds answers with renames from before, and takes those that will always be the same.

    A pair that git cannot compare, because an object is missing, is left out. Where only the content of files is
    missing, as in a partial clone, renames are told for files that moved unchanged.
    """
    wanted = list(dict.fromkeys(pairs))
    if not renames:
        return _asked(repository, wanted, "--no-renames")
    kept = {pair: known[pair] for pair in wanted if pair in known} if known else {}
    found = _asked(repository, [pair for pair in wanted if pair not in kept], "--find-renames")
    if known is not None:
        known.update(found)
    rest = [pair for pair in wanted if pair not in found and pair not in kept]
    return kept | found | _asked(repository, rest, "--find-renames=100%")


def _asked(repository: GitRepository, pairs: Sequence[Pair], how: str) -> dict[Pair, tuple[Change, ...]]:
    def ask(batch: Sequence[Pair]) -> Mapping[Pair, tuple[Change, ...]] | None:
        answer = repository.ask("diff-tree", "--stdin", *_OPTIONS, how, given=as_lines(batch))
        blocks = [] if answer.returncode else list(_blocks(answer.stdout))
        # Of what is no commit, git may say nothing at all and still be content.
        return dict(zip(batch, blocks, strict=True)) if len(blocks) == len(batch) else None

    return answered(ask, pairs)


def as_lines(pairs: Iterable[Pair]) -> bytes:
    """Return pairs as ``diff-tree --stdin`` takes them."""
    return "".join(f"{new} {old}".rstrip() + "\n" for new, old in pairs).encode()


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
        was = _text(next(fields))
        path = _text(next(fields)) if status in "RC" else was
        assert block is not None
        block.append(Change(status, path, was))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
