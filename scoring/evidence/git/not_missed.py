"""Why nothing was lost with some work that a commit undid: a copy, or a removal for a while."""

import posixpath
import re
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

from scoring.errors import GitError
from scoring.evidence.scopes import is_product

from .patches import line_hashes
from .repository import GitRepository
from .starter import as_text
from .undoing import Candidate

_FEW = 0.1  # of its lines, the most that a removal adds, or an addition removes
_NEARLY_ALL = 0.9  # of the distinct lines
_PROBES = 5  # the longest lines, of which a file has to have one to be compared
_MOST_COMPARED = 20  # files
_LARGEST_COMPARED = 1 << 20  # bytes of a file
_FILES_WITH_LINES = ("grep", "-I", "-F", "-l", "-z", "--full-name", "-f", "-")
_SUFFIX = re.compile(r"\.\w+", re.ASCII)
_TEMPORARY = re.compile(r"\btemporar(?:y|ily)\b", re.IGNORECASE)


def why_not_missed(taker: Candidate) -> str:
    """Return in words why nothing was lost with work that was undone, or "" if it may have been.

    Work that does next to nothing but remove lines may call itself temporary. What a commit
    removes, without saying that it undoes something, may be a copy: another file that the commit
    keeps has nearly all of its lines.
    """
    work = taker.work
    product = work.product
    if product.added <= _FEW * product.lines:
        is_temporary = _TEMPORARY.search(taker.trunk.commits[work.commit].message)
        return "a removal that calls itself temporary" if is_temporary else ""
    if taker.says_so or product.removed > _FEW * product.lines:
        return ""

    history = taker.trunk.history
    path = ""
    with suppress(GitError):
        text = history.text_added(taker.trunk.graph.pair(work.commit))
        files = {path: lines for path, lines in text.items() if is_product(path)}
        largest = max(files, key=lambda path: len(files[path]), default="")
        lines = list(chain.from_iterable(files.values()))
        path = file_with_lines(history.repository, taker.commit, largest, lines)
    return f"a copy of {path}" if path else ""


def file_with_lines(
    repository: GitRepository, commit: str, path: str, lines: Sequence[bytes]
) -> str:
    """Return the path of a file of a commit that has nearly all of some lines, or "" without one.

    Only significant lines count, each once. Files of more than 1 MiB are not looked at.

    Args:
        repository: an open repository.
        commit: the SHA of the commit.
        path: where the lines were; only files with the suffix of this path are looked at.
        lines: the lines.

    Raises:
        GitError: git cannot search the commit, or read a file of it.
    """
    suffix = posixpath.splitext(path)[1]
    wanted = set(line_hashes(lines)) - {0}
    if not wanted or not _SUFFIX.fullmatch(suffix):
        return ""

    probes = sorted({line.strip() for line in lines}, key=len)[-_PROBES:]
    answer = repository.ask(
        *_FILES_WITH_LINES,
        commit,
        "--",
        f":(top,glob)**/*{suffix}",
        stdin=b"".join(b"%b\n" % probe for probe in probes if probe),
    )
    names = as_text(answer.stdout).split("\0")[:-1][:_MOST_COMPARED]
    ids = repository.blob_ids(names)
    sizes = repository.sizes(ids.values()) or {}
    small = [oid for oid, size in sizes.items() if size <= _LARGEST_COMPARED]
    contents = repository.contents(small)
    for name, oid in ids.items():
        if oid not in contents:
            continue
        there = wanted.intersection(line_hashes(contents[oid].split(b"\n")))
        if len(there) >= _NEARLY_ALL * len(wanted):
            return name.removeprefix(f"{commit}:")
    return ""
