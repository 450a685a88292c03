"""What to say where there is no iteration log: whether this is a repository at all, and how to get a log."""

import os
from pathlib import Path

from scoring.log.settings import DEFAULT_LOG_DIR, SETTINGS_FILE

NAME_THE_LOG = "name the iteration log with --iter-log-dir, or make one with"
"""What to do where there is no log; :func:`how_to_make_one` goes on."""


def no_log(directory: Path, said: str) -> str:
    """Return the message of an error: what is ``said`` of a directory that is no log, and what to do about it.

    A usual place that is in no work tree is the wrong place, and making a log there would be refused.
    """
    repository = repository_of_log(directory)
    if repository is not None and not any(os.path.lexists(folder / ".git") for folder in _upwards(repository)):
        return f"{repository}: not a git work tree; run da-score in a repository, or name it with --repo-dir; {said}"
    return f"{said}; {NAME_THE_LOG} {how_to_make_one(directory)}"


def how_to_make_one(directory: Path) -> str:
    """Return the commands that make a log: the first step, or what comes after it where it was taken already."""
    for folder in _upwards(directory):
        if (folder / SETTINGS_FILE).is_file():
            return "'da-score derive' (from git) or 'da-score entry new' (by hand)"
        if os.path.lexists(folder / ".git"):
            break
    return "'da-score init'"


def repository_of_log(log: Path) -> Path | None:
    """Return the repository of a log directory that is in its usual place; None elsewhere."""
    parts = DEFAULT_LOG_DIR.parts
    absolute = log.absolute()
    return absolute.parents[len(parts) - 1] if absolute.parts[-len(parts) :] == parts else None


def _upwards(folder: Path) -> tuple[Path, ...]:
    here = Path(os.path.abspath(folder))
    return here, *here.parents
