"""A temporary repository in which git compares and merges the user's commits."""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from scoring.errors import GitError
from scoring.evidence.git.limits import ask_in_batches
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import Git, as_lines
from scoring.temporary import temporary_directory

_MERGE_TREE = ("merge-tree", "--write-tree", "--no-messages", "--name-only")
_VERSION = re.compile(rb"git version (\d+)\.(\d+)")
_FIRST_GIT_WITH_MERGE_BATCHES = (2, 39)
_CONFIG = """[core]
    repositoryFormatVersion = 1
    bare = true
[extensions]
    objectFormat = {}
[merge]
    renameLimit = 1000
"""
_CLEAN = b"1"
_CONFLICT = 1  # exit status


@contextlib.contextmanager
def isolated_repository(repository: GitRepository, *, sha256: bool) -> Iterator[Git]:
    """Give a temporary bare repository that has the objects of another one.

    The user's configuration and hooks do not apply in it.

    Args:
        repository: the one with the objects.
        sha256: whether objects are named by SHA-256.

    Raises:
        GitError: the temporary folder cannot be made.
    """
    with contextlib.ExitStack() as stack:
        try:
            path = stack.enter_context(temporary_directory("git"))
            (path / "objects/info").mkdir(parents=True)
            (path / "refs").mkdir()
            (path / "HEAD").write_text("ref: refs/heads/none\n")
            object_format = "sha256" if sha256 else "sha1"
            (path / "config").write_text(_CONFIG.format(object_format))
            # Quoted, a path may have any characters in a list of alternates.
            objects = os.fsencode(repository.common_dir / "objects")
            escaped = objects.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
            (path / "objects/info/alternates").write_bytes(b'"%b"\n' % escaped)
        except OSError as e:
            raise GitError(
                f"cannot make a temporary folder for git: {e};"
                " set TMPDIR to one that can be written to"
            ) from e
        isolated = Git(path, ("safe.bareRepository=all",))
        isolated.time = repository.time
        yield isolated


def git_version(git: Git) -> tuple[int, int]:
    """Return the version of git, as ``(2, 39)``."""
    match = _VERSION.match(git.ask("version").stdout)
    if not match:
        return (0, 0)
    return int(match[1]), int(match[2])


def merged_trees(
    isolated: Git,
    version: tuple[int, int],
    tip: str,
    shas: Sequence[str],
) -> dict[str, str]:
    """Return the tree that merging each commit into another one would make.

    Args:
        isolated: a repository with the commits.
        version: of git, at least 2.38.
        tip: the commit to merge into.
        shas: the commits to merge, each on its own.

    Returns:
        The id of the tree by commit; "" for a conflict. Commits that git cannot merge are left out.
    """

    def ask(batch: Sequence[str]) -> Mapping[str, str] | None:
        if version < _FIRST_GIT_WITH_MERGE_BATCHES:
            return _merged_one_by_one(isolated, tip, batch)

        questions = as_lines(f"{tip} {sha}" for sha in batch)
        answer = isolated.ask(*_MERGE_TREE, "--stdin", stdin=questions)
        if answer.returncode:
            return None
        return dict(zip(batch, _parse_merges(answer.stdout), strict=True))

    return ask_in_batches(ask, shas, isolated.time)


def _merged_one_by_one(
    isolated: Git,
    tip: str,
    shas: Sequence[str],
) -> dict[str, str] | None:
    trees = {}
    for sha in shas:
        answer = isolated.ask(*_MERGE_TREE, "-z", tip, sha)
        if answer.returncode == 0:
            tree, _, _ = answer.stdout.partition(b"\0")
            trees[sha] = tree.decode().strip()
        elif answer.returncode == _CONFLICT:
            trees[sha] = ""
        else:
            return None
    return trees


def _parse_merges(output: bytes) -> Iterator[str]:
    """Yield the tree of each merge, or "" for a conflict.

    A merge has a status, a tree, and names in conflict up to an empty one.
    """
    fields = iter(output.split(b"\0"))
    for status in fields:
        if not status:
            continue

        tree = next(fields).decode()
        yield tree if status == _CLEAN else ""

        while next(fields, b""):
            pass
