"""Reads a log that entries are added to: also entries that are broken, and numbers in use."""

import contextlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from scoring.errors import InputError, LogError
from scoring.files import list_names, read_file
from scoring.log.find import ARCHIVE_NAME, is_entry_name
from scoring.log.load import load_archive, load_entry
from scoring.log.model import IterationRecord

PATIENCE = 600
"""For how many seconds another process may write entries before this one gives up."""

_LARGEST_NUMBER = 10**9
"""An iteration from this number on is taken for a slip, and the next entry does not follow it."""

_NUMBERED_NAME = re.compile(r"iter-([0-9]{1,9})\.")
_COMMIT_LINE = re.compile(rb"^[ \t\r\f\v]*commit:\s*[\"']?([0-9a-fA-F]{7,64})\b", re.MULTILINE)


@dataclass(slots=True)
class ExistingLog:
    """A log as it is before entries are added.

    Attributes:
        records: its entries, sorted by iteration.
        broken: a line for each entry that cannot be read.
        named_by_broken: the commits that such entries name, in lower case, and their files.
        highest: the highest number in use.
    """

    records: list[IterationRecord] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    named_by_broken: dict[str, str] = field(default_factory=dict)
    highest: int = 0


def read_existing_log(log_dir: Path) -> ExistingLog:
    """Read a log that entries are added to.

    Raises:
        LogError: the log cannot be listed.
    """
    log = ExistingLog()
    try:
        names = list_names(log_dir) if log_dir.exists() else []
    except InputError as e:
        raise LogError(str(e)) from e

    for name in filter(is_entry_name, names):
        try:
            log.records.append(load_entry(log_dir / name))
        except LogError as e:
            log.broken.append(str(e))
            with contextlib.suppress(InputError):
                for sha in _COMMIT_LINE.findall(read_file(log_dir / name)):
                    log.named_by_broken[sha.decode().lower()] = name

    if ARCHIVE_NAME in names:
        errors: list[LogError] = []
        try:
            log.records += load_archive(log_dir / ARCHIVE_NAME, broken=errors.append)
        except LogError as e:
            errors.append(e)
        log.broken += map(str, errors)

    log.records.sort(key=lambda record: record.iteration)
    numbers = [record.iteration for record in log.records if record.iteration < _LARGEST_NUMBER]
    for match in map(_NUMBERED_NAME.match, names):  # also labels or scores without an entry
        if match:
            numbers.append(int(match[1]))
    log.highest = max(numbers, default=0)
    return log
