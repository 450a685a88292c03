"""A small made project to try da-score on, for those who have no iteration log yet.

A team builds a URL shortener with a coding agent. Its nine iterations show what a score can rest on: both schemas,
little evidence and all of it, an over-claim, a task left and a revert, a rebase, work on a branch.

Commits, dates and ids are fixed: every build has the same bytes and the same SHAs. The entries in ``data/`` name
commits of ``data/history.fast-import``; an edit of the history has to fix them (``tests/jobs/test_demo.py`` checks).
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from scoring.errors import InputError, WriteError
from scoring.evidence.git.checkout import import_repository
from scoring.files import list_names
from scoring.log.settings import DEFAULT_LOG_DIR

_DATA = Path(__file__).parent / "data"
_HISTORY = _DATA / "history.fast-import"
_HARNESSES = ("claude", "codex")


@dataclass(frozen=True, slots=True)
class Demo:
    """Where a built demo is: a git work tree, the log inside it, and ``transcript_dirs`` beside, one per harness."""

    root: Path
    repo_dir: Path
    iter_log_dir: Path
    transcript_dirs: tuple[Path, ...]


def build_demo(target: Path | str) -> Demo:
    """Write the demo into a directory, made where missing; when that fails, what was written goes again.

    InputError where ``target`` is no empty directory; GitError; WriteError.
    """
    target = Path(target)
    _make_ready(target)
    repo_dir, transcripts = target / "repo", target / "transcripts"
    try:
        repo_dir.mkdir()
        import_repository(repo_dir, _HISTORY.read_bytes())
        _copy(_DATA / "agents", repo_dir / ".agents")
        _copy(_DATA / "transcripts", transcripts)
    except BaseException as e:
        for made in (repo_dir, transcripts):
            shutil.rmtree(made, ignore_errors=True)
        if isinstance(e, OSError):
            raise WriteError(
                f"{target}: the demo could not be written: {(e.strerror or str(e)).lower()}"
            ) from e
        raise
    return Demo(
        target,
        repo_dir,
        repo_dir / DEFAULT_LOG_DIR,
        tuple(transcripts / name for name in _HARNESSES),
    )


def _make_ready(target: Path) -> None:
    """See to it that ``target`` is a directory and empty."""
    advice = "name a directory that is empty or does not exist yet"
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InputError(f"{target}: {(e.strerror or str(e)).lower()}; {advice}") from e
    if list_names(target):
        raise InputError(f"{target}: not empty; {advice}")


def _copy(source: Path, to: Path) -> None:
    """Copy the files below a directory; they get the modes and times of new files, however the package is installed."""
    for path in sorted(source.rglob("*")):
        if path.is_file():
            copied = to / path.relative_to(source)
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(path.read_bytes())
