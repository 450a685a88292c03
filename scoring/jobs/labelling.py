"""Writing labels, all of them or none (``docs/LOG.md``, "Labels").

Who writes holds the lock of the log from reading to writing, so that two people at once lose nothing.
"""

import contextlib
import datetime
import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from scoring.errors import InputError, WriteError
from scoring.files import remove_stale, write_together
from scoring.jobs.label_file import LabelFile, NewLabel

LOCK_NAME = ".da-score-labels.lock"
PATIENCE = 30.0
"""Seconds to wait for others who are writing labels of the same log."""

Clock = Callable[[], datetime.datetime]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def add_labels(log_dir: Path, labels: Sequence[NewLabel], now: Clock = _now) -> list[Path]:
    """Write labels, all of them or none, and return the files that were written, each once.

    Raises:
        InputError: a label cannot be written as it is, or a file of labels cannot be added to; nothing was written.
        WriteError: the log cannot be written to; the files are as they were.
    """
    for label in labels:
        if problem := label.problem():
            raise InputError(f"iteration {label.iteration}: {problem}")
    with _locked(log_dir):
        files: dict[int, LabelFile] = {}
        for label in labels:
            if label.iteration not in files:
                files[label.iteration] = LabelFile(log_dir, label.iteration)
            files[label.iteration].add(label, now())
        contents = [(file.path, file.content()) for file in files.values()]
        remove_stale(log_dir)
        try:
            write_together(contents)
        except WriteError:
            _put_back(files.values())
            raise
        return [path for path, _ in contents]


def _put_back(files: Iterable[LabelFile]) -> None:
    """Make the files of a write that failed in its middle what they were, as well as the disk lets us."""
    for file in files:
        with contextlib.suppress(OSError):
            if file.before is None:
                file.path.unlink(missing_ok=True)
            else:
                write_together([(file.path, file.before)])


@contextlib.contextmanager
def _locked(log_dir: Path) -> Iterator[None]:
    """Hold the labels of a log. The system lets go of them when the process ends, however it ends.

    Raises:
        WriteError: the log cannot be written to, or somebody else holds its labels for too long.
    """
    path = log_dir / LOCK_NAME
    until = time.monotonic() + PATIENCE
    while True:
        fd = _opened(path)
        try:
            _wait_for(fd, path, until)
            with contextlib.suppress(OSError):
                if os.path.samestat(os.fstat(fd), os.stat(path)):  # else its holder has just taken it away
                    break
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
        os.close(fd)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as e:
        raise WriteError(f"{path.parent}: cannot write labels here: {(e.strerror or str(e)).lower()}") from e


def _wait_for(fd: int, path: Path, until: float) -> None:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            if time.monotonic() > until:
                raise WriteError(
                    f"{path}: another process has been writing labels for {PATIENCE:.0f} seconds; "
                    "end it or wait, then try again"
                ) from e
            time.sleep(0.01)
        except OSError as e:
            raise WriteError(f"{path}: this file system has no locks; label in a copy of the log elsewhere") from e
        else:
            return
