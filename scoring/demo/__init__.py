"""A small made-up project to try da-score on without an iteration log.

A team builds a URL shortener with a coding agent. Its nine iterations show what a score can rest
on: both schemas, little evidence and all of it, an over-claim, an unfinished task, a revert, a
rebase, and work on a branch.

Commits, dates and ids are fixed: every build has the same bytes and the same SHAs. The entries in
``data/`` name commits of ``data/history.fast-import``. An edit of the history has to update them
(``tests/jobs/test_demo.py`` checks this).
"""

import shutil
from pathlib import Path

from scoring.errors import InputError, WriteError
from scoring.evidence.git.checkout import fill_repository
from scoring.files import list_names
from scoring.frozen import Frozen
from scoring.log.settings import DEFAULT_LOG_DIR
from scoring.own_repository import make_repository

_DATA = Path(__file__).parent / "data"
_HISTORY = _DATA / "history.fast-import"
_HARNESSES = ("claude", "codex")


class Demo(Frozen):
    """Where a built demo is.

    Attributes:
        root: the directory that holds everything.
        repo_dir: a git work tree.
        iter_log_dir: the log, inside of the work tree.
        transcript_dirs: a directory of transcripts for each harness.
    """

    root: Path
    repo_dir: Path
    iter_log_dir: Path
    transcript_dirs: tuple[Path, ...]


def build_demo(target: Path | str) -> Demo:
    """Write the demo into a directory.

    When that fails, whatever was written into it is removed.

    Args:
        target: an empty directory, or the name of a new one.

    Raises:
        InputError: the target is not an empty directory.
        GitError: git fails.
        WriteError: a file cannot be written.
    """
    target = Path(target)
    _make_empty_directory(target)

    repo_dir = target / "repo"
    transcripts = target / "transcripts"
    try:
        repo_dir.mkdir()
        make_repository(repo_dir)
        fill_repository(repo_dir, _HISTORY.read_bytes())
        _copy_files(_DATA / "agents", repo_dir / ".agents")
        _copy_files(_DATA / "transcripts", transcripts)
    except BaseException as e:
        shutil.rmtree(repo_dir, ignore_errors=True)
        shutil.rmtree(transcripts, ignore_errors=True)
        if isinstance(e, OSError):
            raise WriteError(
                f"{target}: the demo could not be written: {_reason(e)}"
            ) from e
        raise

    return Demo(
        root=target,
        repo_dir=repo_dir,
        iter_log_dir=repo_dir / DEFAULT_LOG_DIR,
        transcript_dirs=tuple(transcripts / name for name in _HARNESSES),
    )


def _make_empty_directory(target: Path) -> None:
    """Make a directory, with those above it, or check that it is empty.

    Raises:
        InputError: the directory is not empty, or cannot be made.
    """
    advice = "name a directory that is empty or does not exist yet"
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InputError(f"{target}: {_reason(e)}; {advice}") from e
    if list_names(target):
        raise InputError(f"{target}: not empty; {advice}")


def _copy_files(source: Path, target: Path) -> None:
    """Copy the files below a directory.

    The copies have the modes and times of new files, however the package is installed.
    """
    for path in sorted(source.rglob("*")):
        if not path.is_file():
            continue
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
