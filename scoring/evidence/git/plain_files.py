"""Refuses a repository in which a pipe or device is in place of a file that git reads.

Git opens these files without asking what they are, and would wait for a pipe forever.
"""

import os
from pathlib import Path

from scoring.errors import GitError, InputError
from scoring.evidence.git.starter import Git
from scoring.files import read_file, reason, refuse_special

PLAIN_FILES = (
    "HEAD",
    "config",
    "config.worktree",
    "index",
    "packed-refs",
    "shallow",
    "objects/info/alternates",
    "info/attributes",
    "info/grafts",
    "objects/info/commit-graph",
    "objects/info/commit-graphs/commit-graph-chain",
    "objects/pack/multi-pack-index",
)
"""Files in a repository's directory that git reads."""

_SETTINGS_FILES = ("config", "config.worktree")
_INCLUDES = r"^include(if\..*)?\.path$"
_MOST_INCLUDES = 10  # levels of included settings that git follows
_TIMEOUT = 30  # seconds


def refuse_pipes_around(directory: Path) -> None:
    """Check the repository of the work tree that a directory is in, before git opens it.

    Raises:
        GitError: a pipe or device is in place of a file that git reads.
    """
    start = Path(os.path.abspath(directory))
    for folder in (start, *start.parents):
        if os.path.lexists(folder / ".git"):
            refuse_pipes_in(folder / ".git")
            refuse_pipe(folder / ".gitattributes")
            return


def refuse_pipes_in(repository: Path) -> None:
    """Check the files of a repository, given its ``.git``.

    Raises:
        GitError: a pipe or device is in place of one.
    """
    refuse_pipe(repository)
    for name in PLAIN_FILES:
        refuse_pipe(repository / name)
    for path in (repository / "refs/replace").rglob("*"):
        refuse_pipe(path)
    for name in _SETTINGS_FILES:
        _refuse_pipes_included(repository / name, _MOST_INCLUDES)


def refuse_pipes_below(folder: Path) -> None:
    """Check that no file below a folder is a pipe.

    Raises:
        GitError: a pipe or device is in place of one.
    """
    for parent, _, names in os.walk(folder):
        for name in names:
            refuse_pipe(Path(parent, name))


def refuse_pipe(path: Path) -> None:
    """Check one file, which need not be there.

    Raises:
        GitError: it is a pipe or device.
    """
    try:
        refuse_special(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as e:
        raise GitError(f"{path}: {reason(e)}; git would wait for it forever") from e


def _refuse_pipes_included(settings: Path, levels: int) -> None:
    """Check the files that a file of settings includes, and those that they include."""
    try:
        if not levels or b"include" not in read_file(settings).lower():
            return
    except InputError:
        return

    answer = Git(Path("/")).ask(
        "config",
        f"--file={os.path.abspath(settings)}",
        "--no-includes",
        "-z",
        "--get-regexp",
        _INCLUDES,
        timeout=_TIMEOUT,
    )
    for row in answer.stdout.split(b"\0"):
        _, _, value = row.partition(b"\n")
        if value:
            path = settings.parent / os.path.expanduser(os.fsdecode(value))
            refuse_pipe(path)
            _refuse_pipes_included(path, levels - 1)
