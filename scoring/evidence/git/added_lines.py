"""Which lines commits add, by file and text, without changes of white space."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

from scoring.errors import GitError
from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.hunks import LineKey, PatchedFile, read_patches
from scoring.evidence.git.repository import GitRepository, ask_in_batches

_LONGEST_TEXT = 100  # bytes of a line that is kept as it is
_SHORTEST_TEXT = 3  # characters of a significant line
_MOST_BYTES_OF_CHARACTER = 4

FileLine = tuple[str, int]
"""The path of a file, and the number of a line in it."""


class AddedLines(NamedTuple):
    """What a commit adds.

    Attributes:
        lines: how often it adds each significant line.
        moves: the old and the new path of each renamed file.
        is_cut: whether some lines were left out because there are too many.
    """

    lines: Mapping[FileLine, int]
    moves: tuple[tuple[str, str], ...]
    is_cut: bool


def added_lines(
    repository: GitRepository,
    pairs: Sequence[CommitPair],
    line_key: LineKey,
    *,
    removed: bool = False,
) -> dict[str, AddedLines]:
    """Return which lines commits add, without the commits that git cannot read.

    Args:
        repository: an open repository.
        pairs: the commits, each with its base.
        line_key: makes the number of a line: 0 leaves it out, a negative one means that there are
            too many lines.
        removed: whether to return what commits remove instead.
    """

    def ask(batch: Sequence[CommitPair]) -> Mapping[CommitPair, AddedLines] | None:
        compared = batch
        if removed:
            # What the way back from a commit to its base adds is what the commit removed.
            compared = [CommitPair(pair.base, pair.commit) for pair in batch]

        patches = read_patches(repository, compared, _no_path, line_key)
        try:
            return {pair: _added(files) for pair, files in zip(batch, patches, strict=True)}
        except GitError:
            return None

    by_pair = ask_in_batches(ask, pairs)
    return {pair.commit: added for pair, added in by_pair.items()}


def _no_path(_: str) -> bool:
    return False


def _added(files: Sequence[PatchedFile]) -> AddedLines:
    lines: Counter[FileLine] = Counter()
    moves: list[tuple[str, str]] = []
    for file in files:
        for hunk in file.hunks:
            lines.update((file.path, key) for key in hunk.keys if key)
        if file.status == "R":
            moves.append((file.old_path, file.path))

    is_cut = any(key < 0 for _, key in lines)
    return AddedLines(lines, tuple(moves), is_cut)


def bare_text(line: bytes) -> bytes:
    """Return the text of a line without white space.

    A long text becomes its digest. A text of one or two characters, which says nothing, becomes
    b"".
    """
    text = line.translate(None, b" \t\r\f\v")
    if len(text) > _LONGEST_TEXT:
        return blake2b(text, digest_size=16).digest()

    if len(text) > (_SHORTEST_TEXT - 1) * _MOST_BYTES_OF_CHARACTER:
        return text
    if len(text.decode("utf-8", "replace")) >= _SHORTEST_TEXT:
        return text
    return b""


@lru_cache(1 << 15)  # agents write many lines again and again
def line_hash(line: bytes) -> int:
    """Return a number of 32 bits for a significant line, and 0 for any other.

    White space does not matter.
    """
    text = bare_text(line)
    if not text:
        return 0
    return crc32(text) or 1
