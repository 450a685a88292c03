"""Which files changed between two commits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scoring.evidence.git.repository import GitRepository, ask_in_batches
from scoring.evidence.git.starter import as_lines, as_text

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


class CommitPair(NamedTuple):
    """A commit and the one that it is compared with.

    Attributes:
        commit: the newer commit.
        base: the older commit; "" is an empty tree, for a commit without a parent.
    """

    commit: str
    base: str

    @property
    def as_line(self) -> str:
        """The pair as ``diff-tree --stdin`` takes it."""
        return f"{self.commit} {self.base}".rstrip()


class Change(NamedTuple):
    """One path that differs between two commits.

    Attributes:
        status: git's letter: A, M, D, T or R.
        path: the path in the newer commit.
        old_path: the path in the older commit; another one only where a file was renamed.
    """

    status: str
    path: str
    old_path: str


def net_changes(
    repository: GitRepository, pairs: Iterable[CommitPair]
) -> dict[CommitPair, tuple[Change, ...]]:
    """Return what changed over each pair, with renames.

    Where git cannot look for renames of changed files, only unchanged files count as renamed.
    """
    wanted = list(pairs)
    compared = changes(repository, wanted, "--find-renames")

    missing = [pair for pair in wanted if pair not in compared]
    return compared | changes(repository, missing, "--find-renames=100%")


def changes(
    repository: GitRepository,
    pairs: Iterable[CommitPair],
    renames: str = "--no-renames",
) -> dict[CommitPair, tuple[Change, ...]]:
    """Return what changed over each pair, without the pairs that git cannot compare.

    Args:
        repository: an open repository.
        pairs: what to compare.
        renames: git's option about renames.
    """

    def ask(batch: Sequence[CommitPair]) -> Mapping[CommitPair, tuple[Change, ...]] | None:
        questions = as_lines(pair.as_line for pair in batch)
        answer = repository.ask("diff-tree", "--stdin", *_OPTIONS, renames, stdin=questions)
        if answer.returncode:
            return None

        blocks = list(_parse_raw_diffs(answer.stdout))
        if len(blocks) != len(batch):
            # Git may print nothing about an id that is not a commit, and still exit with 0.
            return None
        return dict(zip(batch, blocks, strict=True))

    return ask_in_batches(ask, pairs)


def _parse_raw_diffs(output: bytes) -> Iterator[tuple[Change, ...]]:
    """Yield the changes under each header.

    An entry starts with a colon. Its status says whether one or two paths follow.
    """
    fields = iter(output.split(b"\0"))
    block: list[Change] | None = None
    for field in fields:
        if not field.startswith(b":"):
            if block is not None:
                yield tuple(block)
            block = [] if field else None
            continue

        status = chr(field.rsplit(b" ", 1)[1][0])
        old_path = as_text(next(fields))
        path = old_path
        if status in "RC":
            path = as_text(next(fields))
        assert block is not None
        block.append(Change(status, path, old_path))
