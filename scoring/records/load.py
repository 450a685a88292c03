"""An iteration log on disk: which files are entries, and the records they hold (contract section 1.1)."""

import re
from pathlib import Path

from scoring.errors import InputError, LogError, YamlError
from scoring.evidence.files import list_names, read_file
from scoring.records.model import IterationRecord
from scoring.records.parse import parse_archive, parse_iteration_record

ARCHIVE_NAME = "historical.yaml"

_ENTRY = re.compile(r"iter-[0-9]+\.yaml")


def is_entry_name(name: str) -> bool:
    """Tell whether a file name is that of an entry."""
    return _ENTRY.fullmatch(name) is not None


def load_iteration_log(directory: Path | str) -> list[IterationRecord]:
    """Read every entry of a log, sorted by iteration.

    Of two files with one iteration number the later one (in byte order of names) wins; the archive fills in only
    iterations that no file gives.

    Raises:
        LogError: the directory does not exist, or an entry cannot be read; the text names the file.
    """
    directory = Path(directory)
    try:
        names = list_names(directory)
    except InputError as e:
        raise LogError(f"{e}; name the iteration log with --iter-log-dir") from e
    records: dict[int, IterationRecord] = {}
    for name in names:
        if is_entry_name(name):
            record = load_entry(directory / name)
            records[record.iteration] = record
    if ARCHIVE_NAME in names:
        for record in load_archive(directory / ARCHIVE_NAME):
            records.setdefault(record.iteration, record)
    return [records[n] for n in sorted(records)]


def load_entry(path: Path) -> IterationRecord:
    """Read one entry file.

    Raises:
        LogError: the file cannot be read or is no entry.
    """
    try:
        return parse_iteration_record(read_file(path))
    except YamlError as e:
        raise LogError(f"{path}: {e}") from e
    except FileNotFoundError as e:
        raise LogError(f"{path}: disappeared while the log was read; run again") from e
    except InputError as e:
        raise LogError(f"{e}; an entry must be a readable file of YAML") from e


def load_archive(path: Path) -> list[IterationRecord]:
    """Read the archive's entries; none when there is no such file.

    Raises:
        LogError: the file cannot be read or is no archive.
    """
    try:
        return parse_archive(read_file(path))
    except FileNotFoundError:
        return []
    except YamlError as e:
        raise LogError(f"{path}: {e}") from e
    except InputError as e:
        raise LogError(f"{e}; the archive must be a readable file of YAML") from e
