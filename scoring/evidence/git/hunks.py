"""Which lines a commit changed, as ``git blame -w`` sees it.

Changes of white space alone do not count, and renames are followed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from scoring.errors import GitError
from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import as_lines, as_text

_OPTIONS = (
    "-r",
    "--root",
    "--always",
    "--raw",
    "--no-abbrev",
    "--ignore-submodules=all",
    "--no-color",
    "--text",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-all-space",
    "-M",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
_PATCH_OPTIONS = ("--patch", "--unified=0")
_HEADER = re.compile(rb"[0-9a-f]{40}|[0-9a-f]{64}")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

_ESCAPE = re.compile(rb'\\([abfnrtv"\\]|[0-7]{3})')
_ESCAPED = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}
_OCTAL_DIGITS = 3

PathFilter = Callable[[str], bool]
"""Whether lines of the file with this path count. Lines of other files are taken for blank."""

LineKey = Callable[[bytes], int]
"""Makes a number of the text of a line."""


class Hunk(NamedTuple):
    """Lines that others replaced.

    Attributes:
        start: the index of the first removed line, or where the new lines come in.
        removed: how many lines were removed.
        added: a byte for each new line: 1 when it counts, 0 when it is blank.
        keys: a number for each new line, where a :data:`LineKey` was passed.
    """

    start: int
    removed: int
    added: bytes
    keys: tuple[int, ...] = ()


@dataclass(slots=True)
class PatchedFile:
    """What happened to one file between two commits.

    Attributes:
        status: git's letter: A, M, D, T or R.
        old_path: the path before.
        path: the path after.
        has_same_content: whether its bytes are the same.
        hunks: the changed lines, in order.
    """

    status: str
    old_path: str
    path: str
    has_same_content: bool = False
    hunks: list[Hunk] = field(default_factory=list)


def read_patches(
    repository: GitRepository,
    pairs: Sequence[CommitPair],
    counts: PathFilter,
    line_key: LineKey | None = None,
    *,
    with_hunks: bool = True,
) -> Iterator[list[PatchedFile]]:
    """Yield, for each pair, the files that changed from its base to its commit.

    Args:
        repository: an open repository.
        pairs: what to compare.
        counts: whether lines of a path count.
        line_key: makes the ``keys`` of hunks; None leaves them empty.
        with_hunks: whether to read lines, and not just the files.

    Raises:
        GitError: git fails, or leaves out a pair.
    """
    if not pairs:
        return

    options = [*_OPTIONS]
    if with_hunks:
        options += _PATCH_OPTIONS
    questions = as_lines(pair.as_line for pair in pairs)
    lines = repository.lines("diff-tree", "--stdin", *options, stdin=questions)

    missing = len(pairs)
    for files in _parse_patches(lines, counts, line_key):
        yield files
        missing -= 1

    if missing:
        # Git may print nothing about an id that is not a commit, and still exit with 0.
        raise GitError(
            f"{repository.directory}: git diff-tree left out {missing} of {len(pairs)} commits"
        )


def read_split(
    repository: GitRepository,
    pair: CommitPair,
    sources: Sequence[str],
    path: str,
    counts: PathFilter,
) -> PatchedFile | None:
    """Return a new file as a rename of one of some removed files.

    Args:
        repository: an open repository.
        pair: what to compare.
        sources: the paths of files that were removed.
        path: the path of the new file.
        counts: whether lines of a path count.

    Returns:
        The file with its changed lines; None when git sees no rename.
    """
    paths = [*sources, path]
    pathspecs = [f":(top,literal){name}" for name in paths]
    options = [*_OPTIONS, *_PATCH_OPTIONS]
    output = repository.run("diff-tree", *options, pair.base, pair.commit, "--", *pathspecs)

    lines = [pair.commit.encode(), *output.split(b"\n")]
    for file in next(_parse_patches(lines, counts), []):
        if file.path == path and file.status == "R":
            return file
    return None


def _parse_patches(
    lines: Iterable[bytes],
    counts: PathFilter,
    line_key: LineKey | None = None,
) -> Iterator[list[PatchedFile]]:
    """Yield the files under each header.

    The header of a hunk says how many lines it has, so that none of them can pass for a header.
    """
    files: dict[str, PatchedFile] | None = None
    file: PatchedFile | None = None  # the one that has the next hunks
    remaining = iter(lines)

    for line in remaining:
        start = line[:4]
        if start[:3] == b"@@ ":
            is_counted = file is not None and counts(file.path)
            hunk = _parse_hunk(line, remaining, is_counted, line_key)
            if file is not None:
                file.hunks.append(hunk)

        elif start == b"--- ":
            file = None

        elif start == b"+++ ":
            file = (files or {}).get(_path_in_header(line))

        elif start[:1] == b":" and files is not None:
            changed = _parse_raw_line(line)
            files[changed.path] = changed

        elif _HEADER.fullmatch(line):
            if files is not None:
                yield list(files.values())
            files = {}
            file = None

    if files is not None:
        yield list(files.values())


def _parse_hunk(
    header: bytes,
    remaining: Iterator[bytes],
    is_counted: bool,
    line_key: LineKey | None,
) -> Hunk:
    match = _HUNK.match(header)
    assert match
    first = int(match[1])
    removed = int(match[2] or 1)
    added = int(match[4] or 1)

    # Without context, all removed lines come before the new ones.
    next(islice(remaining, removed, removed), None)
    lines = list(islice(remaining, added))
    if lines and lines[0].startswith(b"\\"):
        # The last removed line ends without a line break, and git says so on a line of its own.
        lines = [*lines[1:], next(remaining)]

    marks = bytes(added)
    if is_counted:
        marks = bytes(len(line) > 1 and not line[1:].isspace() for line in lines)
    keys: tuple[int, ...] = ()
    if line_key is not None:
        keys = tuple(line_key(line[1:]) for line in lines)

    # Git counts lines from 1. Where none is removed, it names the line before the new ones.
    start = first - 1 if removed else first
    return Hunk(start, removed, marks, keys)


def _parse_raw_line(line: bytes) -> PatchedFile:
    about, *paths = line.split(b"\t")
    _, _, old_oid, new_oid, status = about.split()
    return PatchedFile(
        status=chr(status[0]),
        old_path=_unquoted(paths[0]),
        path=_unquoted(paths[-1]),
        has_same_content=old_oid == new_oid,
    )


def _path_in_header(line: bytes) -> str:
    """Return the path in a line before the hunks, or "" for a deleted file."""
    name = line[4:].rstrip(b"\t")  # git adds a tab where the path has blanks
    if name == b"/dev/null":
        return ""
    return _unquoted(name).removeprefix("b/")


def _unquoted(name: bytes) -> str:
    if not name.startswith(b'"'):
        return as_text(name)
    return as_text(_ESCAPE.sub(_unescaped, name[1:-1]))


def _unescaped(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    if len(escape) == _OCTAL_DIGITS:
        return bytes([int(escape, 8)])
    return _ESCAPED.get(escape, escape)
