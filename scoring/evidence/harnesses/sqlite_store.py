"""Reads the SQLite databases in which some harnesses keep sessions, and changes nothing there."""

import contextlib
import errno
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

from scoring.evidence.harnesses.json_reader import DOCUMENT_LIMIT
from scoring.temporary import temporary_directory

Ask: TypeAlias = Callable[..., sqlite3.Cursor]
"""Asks a database: a statement and its values."""

_LOCK_TIMEOUT = 2.0
"""How many seconds to wait for a database that is locked."""

_TIME_LIMIT = 120.0
"""How many seconds all questions to one database may take."""

_STEPS = 100_000
"""After how many steps of SQLite the time is looked at."""


@contextlib.contextmanager
def opened_database(path: Path) -> Iterator[Ask]:
    """Open a database to ask it, while others may write. Nothing next to it is made or changed.

    SQLite would make a log where there is none now, and an index of a log to read it. Where it
    would, a copy is asked.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with contextlib.ExitStack() as stack:
            database = stack.enter_context(contextlib.closing(_connection(path, stack)))
            database.text_factory = lambda text: text.decode("utf-8", "replace")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, DOCUMENT_LIMIT)
            end = monotonic() + _TIME_LIMIT
            database.set_progress_handler(lambda: monotonic() > end, _STEPS)
            database.execute("BEGIN")
            yield database.execute
    except (sqlite3.Error, UnicodeError) as e:  # names in a damaged file may be of any bytes
        raise OSError(errno.EBADMSG, f"no database that can be read ({e})") from None


def _connection(path: Path, stack: contextlib.ExitStack) -> sqlite3.Connection:
    """Return a connection to a database, or to a copy that goes with the stack."""
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
        shutil.copyfile(log, folder / log.name)
        shutil.copyfile(path, folder / path.name)
        path = folder / path.name

    uri = f"{path.absolute().as_uri()}?mode=ro&{options}"
    return sqlite3.connect(uri, _LOCK_TIMEOUT, uri=True, isolation_level=None)


def tables_of(ask: Ask) -> set[str]:
    """Return the names of the tables of a database, without views."""
    return {name for (name,) in ask("SELECT name FROM sqlite_master WHERE type = 'table'")}


def rows_of(cursor: sqlite3.Cursor) -> Iterator[dict[str, Any]]:
    """Yield the rows of an answer, each by the names of its columns."""
    columns = [column for column, *_ in cursor.description]
    for row in cursor:
        yield dict(zip(columns, row, strict=True))
