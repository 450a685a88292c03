"""Which lines a commit changed, as ``git blame -w`` would ask: without changes of white space, renames followed."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple
from zlib import crc32

from scoring.errors import GitError
from scoring.evidence.git.changes import Pair, line_of
from scoring.evidence.git.repository import GitRepository, answered
from scoring.evidence.git.starter import as_lines, as_text

_OPTIONS = (
    *(
        "-r",
        "--root",
        "--always",
        "--raw",
        "--no-abbrev",
        "--ignore-submodules=all",
        "--no-color",
        "--text",
    ),
    *(
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-all-space",
        "-M",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ),
)
_WITH_LINES = "--patch", "--unified=0"
_HEADER = re.compile(rb"[0-9a-f]{40}|[0-9a-f]{64}")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb'\\([abfnrtv"\\]|[0-7]{3})')
_PLAIN = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class Hunk(NamedTuple):
    """Lines that were replaced: ``removed`` ones from ``at`` on, counted from 0, by others."""

    at: int
    removed: int
    added: bytes  # a 1 for each new line that counts and a 0 for a blank one
    kept: tuple[int, ...] = ()  # what the caller keeps of each new line


@dataclass(slots=True)
class PatchedFile:
    """What happened to one file: git's letter, its path before and now, whether its bytes are the same, its hunks."""

    status: str
    was: str
    path: str
    same: bool = False
    hunks: list[Hunk] = field(default_factory=list)


Counts = Callable[
    [str], bool
]  # says of a path whether its lines count; those of other files are taken for blank
Keep = Callable[[bytes], int]  # makes a number of a new line
FileLine = tuple[str, int]  # a path, and what is kept of a line in it
_LONG, _SHORT = (
    100,
    2,
)  # bytes of a line that is known by its digest; characters of one that says nothing


def patches(
    repository: GitRepository,
    pairs: Sequence[Pair],
    counts: Counts,
    keep: Keep | None = None,
    hunks: bool = True,
) -> Iterator[list[PatchedFile]]:
    """Yield what changed from the second commit of each pair to the first (GitError); ``hunks`` or files alone."""
    if not pairs:
        return
    left = len(pairs)
    options = (*_OPTIONS, *(_WITH_LINES if hunks else ()))
    lines = repository.lines("diff-tree", "--stdin", *options, given=as_lines(map(line_of, pairs)))
    for files in _blocks(lines, counts, keep):
        yield files
        left -= 1
    if left:  # of what is no commit, git may say nothing at all and still be content
        raise GitError(
            f"{repository.directory}: git diff-tree left out {left} of {len(pairs)} commits"
        )


def patch_from(
    repository: GitRepository, pair: Pair, sources: Sequence[str], path: str, counts: Counts
) -> PatchedFile | None:
    """Return what one new file was made of, when only some files that went are looked at; None when of none of them."""
    paths = (
        b":(top,literal)" + name.encode("utf-8", "surrogateescape") for name in (*sources, path)
    )
    options = [*_OPTIONS, *_WITH_LINES, pair[1], pair[0], "--", *(as_text(name) for name in paths)]
    lines = repository.run("diff-tree", *options).split(b"\n")
    files = next(_blocks([pair[0].encode(), *lines], counts), [])
    return next((file for file in files if file.path == path and file.status == "R"), None)


def _blocks(
    lines: Iterable[bytes], counts: Counts, keep: Keep | None = None
) -> Iterator[list[PatchedFile]]:
    """Split the output at its headers; what is in a hunk is read by its counts, so that it cannot pass for one."""
    files: dict[str, PatchedFile] | None = None
    into: PatchedFile | None = None
    rest = iter(lines)
    for line in rest:
        start = line[:4]
        if start[:3] == b"@@ ":
            hunk = _hunk(line, rest, into is not None and counts(into.path), keep)
            if into is not None:
                into.hunks.append(hunk)
        elif start == b"--- ":
            into = None
        elif start == b"+++ ":
            into = (files or {}).get(_named(line))
        elif start[:1] == b":" and files is not None:
            file = _raw(line)
            files[file.path] = file
        elif _HEADER.fullmatch(line):
            if files is not None:
                yield list(files.values())
            files, into = {}, None
    if files is not None:
        yield list(files.values())


def _hunk(head: bytes, rest: Iterator[bytes], counts: bool, keep: Keep | None) -> Hunk:
    m = _HUNK.match(head)
    assert m
    removed, added = int(m[2] or 1), int(m[4] or 1)
    next(islice(rest, removed, removed), None)  # without lines around them they come first
    lines = list(islice(rest, added))
    if lines and lines[0][:1] == b"\\":  # the last one of them ends without a line break
        lines = [*lines[1:], next(rest)]
    marks = bytes([not line[1:].isspace() and len(line) > 1 for line in lines] if counts else added)
    kept = () if keep is None else tuple(keep(line[1:]) for line in lines)
    return Hunk(int(m[1]) - (removed > 0), removed, marks, kept)


def _raw(line: bytes) -> PatchedFile:
    about, was, *now = line.split(b"\t")
    _, _, before, after, status = about.split()
    name = _unquoted(was)
    path = _unquoted(now[0]) if now else name
    return PatchedFile(chr(status[0]), name, path, before == after)


def _named(line: bytes) -> str:
    """Return the path in a line before the hunks, which a tab ends where it holds blanks; "" for a deleted file."""
    name = line[4:].rstrip(b"\t")
    return "" if name == b"/dev/null" else _unquoted(name)[2:]


def _unquoted(name: bytes) -> str:
    if name[:1] != b'"':
        return as_text(name)
    return as_text(
        _ESCAPE.sub(
            lambda m: _PLAIN.get(m[1], bytes([int(m[1], 8)]) if len(m[1]) == 3 else m[1]),
            name[1:-1],
        )
    )


class AddedLines(NamedTuple):
    """How often a commit adds each line that says something, the files that it moved, and whether some are left out."""

    lines: Mapping[FileLine, int]
    moves: tuple[tuple[str, str], ...]
    cut: bool


def added_lines(
    repository: GitRepository, pairs: Sequence[Pair], keep: Keep, removed: bool = False
) -> dict[str, AddedLines]:
    """Return which lines commits add, or remove, but those for which ``keep`` gives 0, as far as git can read them."""

    def ask(batch: Sequence[Pair]) -> Mapping[Pair, AddedLines] | None:
        try:  # the way back from a commit to its parent adds what the commit removed
            read = patches(
                repository, [p[::-1] for p in batch] if removed else batch, lambda _: False, keep
            )
            return {pair: _added(files) for pair, files in zip(batch, read, strict=True)}
        except GitError:
            return None

    return {sha: added for (sha, _), added in answered(ask, pairs).items()}


def bare(line: bytes) -> bytes:
    """Return a line without its blanks, a long one as its digest; b"" for one of two characters at most."""
    text = line.translate(None, b" \t\r\f\v")
    if len(text) > _LONG:
        return blake2b(text, digest_size=16).digest()
    return text if len(text) > 4 * _SHORT or len(text.decode("utf-8", "replace")) > _SHORT else b""


@lru_cache(1 << 15)  # of the lines that agents write, many are written again
def line_hash(line: bytes) -> int:
    """Return a number of 32 bits for a line that says something, and 0 for any other; white space does not matter."""
    return crc32(text) or 1 if (text := bare(line)) else 0


def _added(files: Sequence[PatchedFile]) -> AddedLines:
    lines = Counter(
        (file.path, text) for file in files for hunk in file.hunks for text in hunk.kept if text
    )
    moves = tuple((file.was, file.path) for file in files if file.status == "R")
    return AddedLines(lines, moves, any(text < 0 for _, text in lines))
