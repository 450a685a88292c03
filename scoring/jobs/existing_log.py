"""A log as it is before entries are added to it."""

import contextlib
import re
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from scoring.errors import InputError, LogError
from scoring.files import read_file
from scoring.log.find import ARCHIVE_NAME, is_entry_name, names_in_log, number_of
from scoring.log.load import load_archive, load_entries
from scoring.log.model import IterationRecord
from scoring.store import Store
from scoring.yamlread import TRUE_FLAGS

_LARGEST_NUMBER = 10**9
"""Iterations with this number or a higher one are taken for slips: the next entry ignores them."""

_NUMBERED_NAME = re.compile(r"iter-([0-9]{1,9})\.")
_COMMIT_LINE = re.compile(
    rb"^[ \t\r\f\v]*commit:\s*[\"']?([0-9a-fA-F]{7,64})\b", re.MULTILINE
)


class ExistingLog(Struct):
    """A log as it is before entries are added.

    Attributes:
        records: its entries, sorted by iteration.
        broken: a line for each entry that cannot be read.
        named_by_broken: by a commit in lower case, the unreadable file that names the commit.
        files: the file of each iteration that has one of its own. That of an entry that cannot be
            read counts for the number in its name.
        highest: the highest number below 10^9 in the names of files or in entries; 0 without any.
    """

    records: list[IterationRecord] = []
    broken: list[str] = []
    named_by_broken: dict[str, str] = {}
    files: dict[int, Path] = {}
    highest: int = 0


def read_existing_log(
    log_dir: Path,
    true_flags: Collection[str] = TRUE_FLAGS,
    cache_dir: Path | None = None,
    keep: bool = True,
) -> ExistingLog:
    """Read a log that entries are added to.

    A folder that is not there is a log without entries. What cannot be read is listed as broken.

    Args:
        log_dir: the log, which need not exist.
        true_flags: the spellings, such as ``True``, that a test flag takes for true.
        cache_dir: the folder of the store, which saves reading entries again; None reads all.
        keep: whether new entries go into the store.

    Raises:
        LogError: the log cannot be listed.
    """
    log = ExistingLog()
    errors: list[LogError] = []
    names = names_in_log(log_dir) if log_dir.exists() else []
    entry_names = list(filter(is_entry_name, names))
    store = Store(cache_dir, keep)
    read = dict(load_entries(log_dir, entry_names, true_flags, errors.append, store))
    log.records += read.values()
    for name in entry_names:
        path = log_dir / name
        if name in read:
            log.files[read[name].iteration] = path
            continue

        log.files[number_of(name)] = path
        with contextlib.suppress(InputError):
            for sha in _COMMIT_LINE.findall(read_file(path)):
                log.named_by_broken[sha.decode().lower()] = name

    if ARCHIVE_NAME in names:
        try:
            log.records += load_archive(log_dir / ARCHIVE_NAME, broken=errors.append)
        except LogError as e:
            errors.append(e)
    log.broken += map(str, errors)

    log.records.sort(key=lambda record: record.iteration)
    numbers = [
        record.iteration for record in log.records if record.iteration < _LARGEST_NUMBER
    ]
    # also labels or scores without an entry
    for match in map(_NUMBERED_NAME.match, names):
        if match:
            numbers.append(int(match[1]))
    log.highest = max(numbers, default=0)
    return log
