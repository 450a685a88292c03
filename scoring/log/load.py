"""An iteration log on disk: which files are entries, and the records they hold (contract section 1.1)."""

import re
from collections.abc import Callable, Collection
from pathlib import Path

from scoring.errors import InputError, LogError, NotFoundError, YamlError
from scoring.files import list_names, read_file
from scoring.log.model import IterationRecord
from scoring.log.parse import parse_archive, parse_iteration_record
from scoring.yamlread import TRUE_FLAGS

ARCHIVE_NAME = "historical.yaml"

_ENTRY = re.compile(r"iter-[0-9]+\.yaml")


def no_such_entry(directory: Path | str, iteration: int) -> NotFoundError:
    """Return the error that tells that a log has no such iteration, and where it was looked for."""
    path = Path(directory) / f"iter-{iteration}.yaml"
    return NotFoundError(f"{path}: no entry for iteration {iteration} in this log")


def is_entry_name(name: str) -> bool:
    """Tell whether a file name is that of an entry."""
    return _ENTRY.fullmatch(name) is not None


def load_iteration_log(
    directory: Path | str,
    true_flags: Collection[str] = TRUE_FLAGS,
    broken: Callable[[LogError], None] | None = None,
) -> list[IterationRecord]:
    """Read every entry of a log, sorted by iteration.

    Of two files with one iteration number the later one (in byte order of names) wins; the archive fills in only
    iterations that no file gives. ``true_flags`` are the plain booleans that a tri-state flag takes for true. With
    ``broken`` an entry that cannot be read is told to it, and left out.

    Raises:
        LogError: the directory does not exist, or an entry cannot be read; the text names the file.
    """
    directory = Path(directory)
    try:
        names = list_names(directory)
    except InputError as e:
        raise LogError(f"{e}; name the iteration log with --iter-log-dir") from e
    records: dict[int, IterationRecord] = {}
    for name in filter(is_entry_name, names):
        for record in _records_in(directory / name, true_flags, broken):
            records[record.iteration] = record
    if ARCHIVE_NAME in names:
        for record in _records_in(directory / ARCHIVE_NAME, true_flags, broken):
            records.setdefault(record.iteration, record)
    return [records[n] for n in sorted(records)]


def _records_in(
    path: Path, true_flags: Collection[str], broken: Callable[[LogError], None] | None
) -> list[IterationRecord]:
    try:
        return load_records(path, true_flags)
    except LogError as e:
        if broken is None:
            raise
        broken(e)
        return []


def load_records(path: Path, true_flags: Collection[str] = TRUE_FLAGS) -> list[IterationRecord]:
    """Read the entries of one file, which is an entry or the archive; raises as :func:`load_entry`."""
    return load_archive(path, true_flags) if path.name == ARCHIVE_NAME else [load_entry(path, true_flags)]


def load_entry(path: Path, true_flags: Collection[str] = TRUE_FLAGS) -> IterationRecord:
    """Read one entry file.

    Raises:
        LogError: the file cannot be read or is no entry.
    """
    try:
        return parse_iteration_record(read_file(path), true_flags)
    except YamlError as e:
        raise LogError(f"{path}: {e}") from e
    except FileNotFoundError as e:
        raise LogError(f"{path}: disappeared while the log was read; run again") from e
    except InputError as e:
        raise LogError(f"{e}; an entry must be a readable file of YAML") from e


def load_archive(path: Path, true_flags: Collection[str] = TRUE_FLAGS) -> list[IterationRecord]:
    """Read the archive's entries; none when there is no such file.

    Raises:
        LogError: the file cannot be read or is no archive.
    """
    try:
        return parse_archive(read_file(path), true_flags)
    except FileNotFoundError:
        return []
    except YamlError as e:
        raise LogError(f"{path}: {e}") from e
    except InputError as e:
        raise LogError(f"{e}; the archive must be a readable file of YAML") from e
