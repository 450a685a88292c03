"""Reads the SQLite databases in which some harnesses keep sessions, and changes nothing there."""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import TypeAlias

from scoring.files import refuse_special
from scoring.temporary import temporary_directory

from .json_reader import DOCUMENT_LIMIT

Ask: TypeAlias = Callable[..., sqlite3.Cursor]
"""Asks a database: takes a statement and its values. ``dict`` makes a dictionary of a row."""

_LOCK_TIMEOUT = 2.0
"""How many seconds to wait for a database that is locked."""

_TIME_LIMIT = 120.0
"""How many seconds a database may be open while it is asked."""

_STEPS = 100_000
"""After how many steps of SQLite the time is looked at."""

_COPY_LIMIT = 4 << 30
"""The largest file, in bytes, that is copied to be asked."""

_COPY_BLOCK = 1 << 20


@contextlib.contextmanager
def opened_database(path: Path, follow_links: bool = True) -> Iterator[Ask]:
    """Open a database to ask it, while others may write. Nothing next to it is made or changed.

    SQLite would make a log where none exists, so the database is then read as one that cannot
    change. SQLite would also make the index of a log: then a copy is asked.

    Args:
        path: the database.
        follow_links: whether the database, its folder and the files that SQLite keeps next to it
            may be links.

    Raises:
        OSError: the database cannot be read, one of its files is not a plain one, or a question
            in the ``with`` block fails or takes too long.
    """
    _refuse_special_files(path, follow_links)
    try:
        with contextlib.ExitStack() as stack:
            database = stack.enter_context(contextlib.closing(_connection(path, stack)))
            database.text_factory = lambda text: text.decode("utf-8", "replace")
            database.row_factory = sqlite3.Row
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, DOCUMENT_LIMIT)
            end = monotonic() + _TIME_LIMIT
            database.set_progress_handler(lambda: monotonic() > end, _STEPS)
            database.execute("BEGIN")
            yield database.execute
    # names in a damaged file may be of any bytes
    except (sqlite3.Error, UnicodeError) as e:
        raise OSError(errno.EBADMSG, f"no database that can be read ({e})") from None


def _refuse_special_files(path: Path, follow_links: bool) -> None:
    """Refuse a database that is not a plain file, or with which SQLite reads such a file.

    Raises:
        OSError: a file is a device, a socket or the like, or a link that must not be followed; or
            the database does not exist.
    """
    if not follow_links and path.parent.is_symlink():
        raise OSError(errno.ELOOP, "is in a folder that is a link")

    for file in (path, *(Path(f"{path}-{name}") for name in ("wal", "shm", "journal"))):
        if not follow_links and file.is_symlink():
            raise OSError(errno.ELOOP, f"{file.name} is a link")
        if file == path or os.path.lexists(file):
            refuse_special(file)


def _connection(path: Path, stack: contextlib.ExitStack) -> sqlite3.Connection:
    """Return a connection to a database, or to a copy that is removed when the stack closes.

    Raises:
        OSError: the database cannot be opened or copied.
    """
    log = Path(f"{path}-wal")
    with path.open("rb") as file:
        keeps_a_log = file.read(20)[18:] == b"\2\2"

    options = "readonly_shm=1"
    if keeps_a_log and not log.exists():
        options = "immutable=1"
    elif keeps_a_log and not Path(f"{path}-shm").exists():
        options = ""
        folder = stack.enter_context(temporary_directory("query"))
        # The log comes first: what moves from it into the database meanwhile is in both.
        _copy(log, folder / log.name)
        _copy(path, folder / path.name)
        path = folder / path.name

    uri = f"{path.absolute().as_uri()}?mode=ro&{options}"
    return sqlite3.connect(uri, _LOCK_TIMEOUT, uri=True, isolation_level=None)


def _copy(source: Path, target: Path) -> None:
    """Copy a file.

    Raises:
        OSError: the file is larger than :data:`_COPY_LIMIT`, or cannot be copied.
    """
    with source.open("rb") as file, target.open("wb") as copy:
        size = refuse_special(file.fileno()).st_size
        while block := file.read(_COPY_BLOCK):
            size = max(size, copy.tell() + len(block))
            if size > _COPY_LIMIT:
                raise OSError(errno.EFBIG, f"larger than {_COPY_LIMIT >> 30} GiB")
            copy.write(block)


def tables_of(ask: Ask) -> set[str]:
    """Return the names of the tables of a database, without views."""
    return {
        name for (name,) in ask("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
