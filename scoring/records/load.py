"""An iteration log on disk: which files are entries, and the records they hold (contract section 1.1)."""

import re
from collections.abc import Callable, Collection
from pathlib import Path

from scoring.errors import InputError, LogError, YamlError
from scoring.evidence.files import list_names, read_file
from scoring.records.model import IterationRecord
from scoring.records.parse import parse_archive, parse_iteration_record
from scoring.yamlread import TRUE_FLAGS

ARCHIVE_NAME = "historical.yaml"

_ENTRY = re.compile(r"iter-[0-9]+\.yaml")


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
    for name in names:
        if _ENTRY.fullmatch(name):
            try:
                record = load_entry(directory / name, true_flags)
            except LogError as e:
                if broken is None:
                    raise
                broken(e)
            else:
                records[record.iteration] = record
    if ARCHIVE_NAME in names:
        try:
            archived = _archived(directory / ARCHIVE_NAME, true_flags)
        except LogError as e:
            if broken is None:
                raise
            broken(e)
            archived = []
        for record in archived:
            records.setdefault(record.iteration, record)
    return [records[n] for n in sorted(records)]


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


def _archived(path: Path, true_flags: Collection[str]) -> list[IterationRecord]:
    try:
        return parse_archive(read_file(path), true_flags)
    except FileNotFoundError:
        return []
    except YamlError as e:
        raise LogError(f"{path}: {e}") from e
    except InputError as e:
        raise LogError(f"{e}; the archive must be a readable file of YAML") from e
