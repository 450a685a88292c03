"""Reads the SQLite databases in which some harnesses keep sessions, and changes nothing there."""

import contextlib
import errno
import math
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path

from scoring.files import refuse_special
from scoring.temporary import temporary_directory

Ask = Callable[..., sqlite3.Cursor]
"""Asks a database: takes a statement and its values. ``dict`` makes a dictionary of a row."""

LOCK_TIMEOUT = 2.0
"""How many seconds to wait for databases that are locked: for the first one that stays so."""

lock_timeout: ContextVar[float] = ContextVar("lock_timeout", default=LOCK_TIMEOUT)
"""How many seconds to wait for the next locked database."""

_FREE_STEPS = 50_000_000
"""How many steps SQLite may take for all questions to one database: about a second's."""

_STEPS_PER_BYTE = 4
"""How many more steps it may take for each byte of the database: enough to read all rows."""

_MOST_STEPS = 1_000_000_000
"""How many steps it may take whatever the size, as of a file that is mostly empty."""

_STEPS_COUNTED = 100_000
"""How many of SQLite's steps are counted at a time."""

_VALUE_LIMIT = 32 << 20
"""The most bytes that a value, or a row, may have."""

_MOST_OF_SCHEMA = 16 << 10
"""The most bytes of the statement that made a table or an index. SQLite takes 30 times as many."""

_STEPS_OF_SCHEMA = 5_000
"""How many steps SQLite may take to read all tables and indexes: enough for 500 of them."""

_MOST_COLUMNS = 200
"""How many columns a table may have, as a row looks each name up among all of them."""

_FREE_BYTES = 64 << 20
"""How many bytes all rows may have that are asked for, whatever the size of the database."""

_BYTES_PER_BYTE = 4
"""How many more bytes all rows may have for each byte of the database.

Where its pages lead to the same page, or a row lacks a column that has a default, a small file
gives more than it holds.
"""

_BYTES_OF_A_VALUE = 64
"""As how many bytes of memory a value counts, without its text."""

_COPY_LIMIT = 4 << 30
"""The largest file, in bytes, that is copied to be asked."""

_COPY_BLOCK = 1 << 20

_NUMBERS = {
    sqlite3.SQLITE_BUSY: errno.EBUSY,
    sqlite3.SQLITE_INTERRUPT: errno.EFBIG,
    sqlite3.SQLITE_TOOBIG: errno.EFBIG,
}
"""The numbers of errors for what SQLite says of a database that is locked, or exceeds a bound."""

# A virtual table has no root page, and cannot be asked where its module is missing. Of a condition
# SQLite may evaluate any part first, but not of CASE.
_STORED_TABLES = """
SELECT name FROM sqlite_master WHERE type = 'table' AND CASE WHEN rootpage > 0 THEN NOT EXISTS
(SELECT * FROM pragma_table_xinfo(sqlite_master.name) WHERE hidden > 0) ELSE 0 END
"""


@contextlib.contextmanager
def opened_database(
    path: Path, follow_links: bool = True
) -> Iterator[tuple[Ask, set[str]]]:
    """Open a database to ask it, while others may write. Nothing next to it is made or changed.

    Gives what asks it, and the names of its tables that hold all their values. Only these can be
    read: a view or a computed column of a small file could give values of any size.

    SQLite would make a log where none exists, so the database is then read as one that cannot
    change. SQLite would also make the index of a log: then a copy is asked.

    Args:
        path: the database.
        follow_links: whether the database, its folder and the files that SQLite keeps next to it
            may be links.

    Raises:
        OSError: the database cannot be read, or one of its files is not a plain one; or in the
            ``with`` block a question fails, or all questions together take too many steps (as a
            search without an index for each of many sessions does) or give too many bytes. Its
            number is EBUSY where the database is locked for longer than :data:`lock_timeout`, and
            EFBIG for what is too much.
    """
    size = _size_of_plain_files(path, follow_links)
    try:
        with contextlib.ExitStack() as stack:
            database = stack.enter_context(contextlib.closing(_connection(path, stack)))
            database.text_factory = lambda text: text.decode("utf-8", "replace")
            database.row_factory = _counted_rows(_FREE_BYTES + _BYTES_PER_BYTE * size)
            _read_schema(database)
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _VALUE_LIMIT)
            most_steps = min(_FREE_STEPS + _STEPS_PER_BYTE * size, _MOST_STEPS)
            counts = iter(range(most_steps // _STEPS_COUNTED))
            database.set_progress_handler(
                lambda: next(counts, None) is None, _STEPS_COUNTED
            )
            database.execute("BEGIN")
            tables = {name for (name,) in database.execute(_STORED_TABLES)}
            database.set_authorizer(_authorizer(tables))
            yield database.execute, tables
    # names in a damaged file may be of any bytes
    except (sqlite3.Error, UnicodeError) as e:
        code = getattr(e, "sqlite_errorcode", 0) & 0xFF  # the rest says more of it
        number = _NUMBERS.get(code, errno.EBADMSG)
        raise OSError(number, f"no database that can be read ({e})") from None


def in_order(rows: Iterable[sqlite3.Row]) -> list[sqlite3.Row]:
    """Return rows of NULL, numbers and texts in the order in which SQLite sorts them.

    Sort ids with it, and then ask for their rows one by one, by ``rowid``, which needs no index.
    Where no index has the order, SQLite would write whole rows to the disk to sort them, however
    large they are.
    """
    return sorted(rows, key=_place_in_order)


def _place_in_order(row: sqlite3.Row) -> list[tuple[float, str]]:
    places: list[tuple[float, str]] = []
    for value in row:
        if value is None:
            places.append((-math.inf, ""))
        elif isinstance(value, int | float):
            places.append((value, ""))
        else:
            places.append((math.inf, str(value)))
    return places


def _size_of_plain_files(path: Path, follow_links: bool) -> int:
    """Return how many bytes a database and the files have that SQLite reads with it.

    Raises:
        OSError: a file is a device, a socket or the like, or a link that must not be followed; or
            the database does not exist.
    """
    if not follow_links and path.parent.is_symlink():
        raise OSError(errno.ELOOP, "is in a folder that is a link")

    size = 0
    for file in (path, *(Path(f"{path}-{name}") for name in ("wal", "shm", "journal"))):
        if not follow_links and file.is_symlink():
            raise OSError(errno.ELOOP, f"{file.name} is a link")
        if file == path or os.path.lexists(file):
            size += refuse_special(file).st_size
    return size


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
    return sqlite3.connect(uri, lock_timeout.get(), uri=True, isolation_level=None)


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


def _read_schema(database: sqlite3.Connection) -> None:
    """Have the tables and indexes read, within limits. SQLite holds all of them in memory.

    Raises:
        sqlite3.Error: there are too many, they are too large, or they cannot be read.
    """
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_OF_SCHEMA)
    database.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, _MOST_COLUMNS)
    database.set_progress_handler(lambda: True, _STEPS_OF_SCHEMA)
    database.execute("SELECT 1 FROM sqlite_master LIMIT 0").close()


def _counted_rows(
    most_bytes: int,
) -> Callable[[sqlite3.Cursor, tuple[object, ...]], sqlite3.Row]:
    """Return a row factory for SQLite, which limits the memory of all rows together.

    It raises an OSError, with EFBIG, when the rows take more than so many bytes.
    """
    left = most_bytes

    def row_of(cursor: sqlite3.Cursor, values: tuple[object, ...]) -> sqlite3.Row:
        nonlocal left
        left -= _BYTES_OF_A_VALUE * len(values)
        left -= sum(len(value) for value in values if isinstance(value, str | bytes))
        if left < 0:
            raise OSError(errno.EFBIG, "its rows are many times as large as the file")
        return sqlite3.Row(cursor, values)

    return row_of


def _authorizer(
    tables: Collection[str],
) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    """Return what allows a statement to read and count the rows of some tables, and nothing else.

    Reading a table for a view is not allowed.
    """

    def authorize(
        action: int,
        first: str | None,
        second: str | None,
        _database: str | None,
        view: str | None,
    ) -> int:
        allowed = (
            action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION)
            or (action == sqlite3.SQLITE_READ and first in tables and view is None)
            or (action == sqlite3.SQLITE_FUNCTION and second == "count")
        )
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return authorize
