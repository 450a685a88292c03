"""Writing labels, all of them or none, by one process at a time (``docs/LOG.md``, "Labels")."""

import contextlib
import datetime
from collections.abc import Callable, Sequence
from pathlib import Path

from scoring.errors import InputError, WriteError
from scoring.evidence.beside import label_file_name
from scoring.files import alone_in, read_file, reason, remove_stale, write_together
from scoring.jobs.label_file import FILE_LIMIT, NewLabel, with_labels

Clock = Callable[[], datetime.datetime]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def add_labels(log_dir: Path, labels: Sequence[NewLabel], now: Clock = _now) -> list[Path]:
    """Write labels, all of them or none, and return the files that were written, each once.

    Raises:
        InputError: a label cannot be written as it is, or a file of labels cannot be added to; nothing was written.
        WriteError: the log cannot be written to; the files are as they were.
    """
    by_iteration: dict[int, list[NewLabel]] = {}
    for label in labels:
        if problem := label.problem():
            raise InputError(f"iteration {label.iteration}: {problem}")
        by_iteration.setdefault(label.iteration, []).append(label)
    try:
        alone = alone_in(log_dir)
    except OSError as e:
        raise WriteError(f"{log_dir}: cannot write labels here: {reason(e)}") from e
    with alone:
        paths = {iteration: log_dir / label_file_name(iteration) for iteration in by_iteration}
        before = {path: _content(path) for path in paths.values()}
        after = [(path, with_labels(path, before[path], by_iteration[n], now())) for n, path in paths.items()]
        remove_stale(log_dir)
        try:
            write_together(after)
        except WriteError:
            for path, content in before.items():  # as well as the disk lets us
                with contextlib.suppress(OSError):
                    if content is None:
                        path.unlink(missing_ok=True)
                    else:
                        write_together([(path, content)])
            raise
    return list(before)


def _content(path: Path) -> bytes | None:
    try:
        return read_file(path, FILE_LIMIT)
    except FileNotFoundError:
        return None
