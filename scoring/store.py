"""What is kept between two runs: one SQLite file, ``store.sqlite`` in the cache directory.

A row is an answer of a ``kind`` (:data:`KINDS`) about a ``key``, given only for the same ``stamp``. A store that cannot
be used costs time and nothing else: it never raises. What is kept of transcripts is mixed with :attr:`Store.secret`.
"""

import contextlib
import os
import sqlite3
import time
from pathlib import Path
from typing import Final, Literal, Self
from zlib import crc32

FORMAT = 11  # goes up when the bytes of any kind mean something else. Two versions of da-score share a file, and no row

NAME: Final = "store.sqlite"

Kind = Literal["transcript", "entry", "git", "price", "fingerprint", "embedding"]
KINDS: Final[tuple[Kind, ...]] = ("transcript", "entry", "git", "price", "fingerprint", "embedding")

SETTLED = 2_000_000_000  # for how many nanoseconds a file must have been left alone to be known by its stamp

KEPT_DAYS = 90  # after how many days a row is removed; what is still needed is then computed again

_WAIT = 0.2  # how many seconds a command waits for another one that is writing to the store
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""What SQLite says of wrong bytes, and of tables that are not ours."""
_ERRORS = (
    sqlite3.Error,
    UnicodeError,
)  # of wrong bytes sqlite3 may make a message that it cannot read itself
_BATCH = 8 << 20  # how many bytes wait in memory before they are written

_TABLES = """
CREATE TABLE IF NOT EXISTS kept (
    format INTEGER, kind TEXT, key BLOB, stamp BLOB, day INTEGER, checksum INTEGER, value BLOB,
    PRIMARY KEY (format, kind, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS secrets (secret BLOB);
"""


def stamp_of(found: os.stat_result) -> bytes | None:
    """Return what a file is known by: size, both times and inode; None where it was changed too recently to trust.

    Take the ``stat`` before the file is read: an answer is then never newer than its stamp.
    """
    changed = max(found.st_mtime_ns, found.st_ctime_ns)
    if time.time_ns() - changed < SETTLED:
        return None
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}".encode()


class Store:
    """The store of one cache directory, a context manager; without a directory nothing is kept.

    It is opened when first asked, by the process that uses it. Without ``keeps`` it is only read, and never made.
    """

    def __init__(self, cache_dir: Path | None, keeps: bool = True) -> None:
        self.keeps = keeps and cache_dir is not None
        self._place = None if cache_dir is None else cache_dir / NAME
        self._connection: sqlite3.Connection | None = None
        self._opened = False
        self._secret: bytes | None = None
        self._waiting: list[tuple[Kind, bytes, bytes, bytes]] = []
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, kind: Kind, key: str | bytes, stamp: bytes | None) -> bytes | None:
        """Return what is kept about a key, where it was computed for this stamp; None otherwise."""
        name = _bytes(key)
        return None if stamp is None else self._kept(kind, "key = ?", name).get((name, stamp))

    def get_all(self, kind: Kind, prefix: bytes) -> dict[tuple[bytes, bytes], bytes]:
        """Return what is kept about all keys that begin so, by key and stamp; quicker than one at a time."""
        return self._kept(
            kind, "key >= ? AND key < ?", prefix, prefix[:-1] + bytes([prefix[-1] + 1])
        )

    def _kept(self, kind: Kind, which: str, *keys: bytes) -> dict[tuple[bytes, bytes], bytes]:
        if (connection := self._open()) is None:
            return {}
        asked = f"SELECT key, stamp, checksum, value FROM kept WHERE format = ? AND kind = ? AND {which}"  # noqa: S608
        try:
            rows = connection.execute(asked, (FORMAT, kind, *keys)).fetchall()
        except _ERRORS as e:
            self._give_up(e)
            return {}
        return {
            (key, stamp): value
            for key, stamp, checksum, value in rows
            if isinstance(stamp, bytes)
            and isinstance(value, bytes)
            and checksum == _checksum(kind, key, stamp, value)
        }

    def put(self, kind: Kind, key: str | bytes, stamp: bytes | None, value: bytes) -> None:
        """Keep a value about a key for a stamp, in place of the last one; without a stamp nothing. Written later."""
        if stamp is None or not self.keeps:
            return
        self._waiting.append((kind, _bytes(key), stamp, value))
        self._size += len(value)
        if self._size > _BATCH:
            self._write()

    @property
    def secret(self) -> bytes:
        """The store's own random key, 16 bytes, made once; without a store, made anew for each run."""
        if self._secret is None:
            self._secret = os.urandom(16)
            if connection := self._open():
                try:
                    found = connection.execute("SELECT secret FROM secrets").fetchone()
                    if found is None:
                        with connection:
                            connection.execute(
                                "INSERT INTO secrets SELECT ? WHERE NOT EXISTS (SELECT 1 FROM secrets)",
                                (self._secret,),
                            )
                        found = connection.execute("SELECT secret FROM secrets").fetchone()
                    if isinstance(found[0], bytes):
                        self._secret = found[0]
                except _ERRORS as e:
                    self._give_up(e)
        return self._secret

    def close(self) -> None:
        """Write what waits, and let go of the file."""
        if self._waiting:
            self._write()
        if self._connection is not None:
            with contextlib.suppress(*_ERRORS):
                self._connection.close()
        self._connection, self._opened = None, False

    def _write(self) -> None:
        waiting, self._waiting, self._size = self._waiting, [], 0
        if (connection := self._open()) is None:
            return
        today = _today()
        rows = [
            (FORMAT, kind, key, stamp, today, _checksum(kind, key, stamp, value), value)
            for kind, key, stamp, value in waiting
        ]
        try:
            with connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?, ?)", rows
                )
                if connection.execute("PRAGMA user_version").fetchone() != (
                    today,
                ):  # the day of the last removal
                    connection.execute(
                        "DELETE FROM kept WHERE day < ? AND kind != 'fingerprint'",
                        (today - KEPT_DAYS,),
                    )
                    connection.execute(f"PRAGMA user_version = {today}")
        except _ERRORS as e:
            self._give_up(e)

    def _open(self) -> sqlite3.Connection | None:
        if not self._opened and self._place is not None:
            self._opened = True
            try:
                place, uri = self._place, f"{self._place.absolute().as_uri()}?mode=ro&immutable=1"
                self._connection = (
                    _connected(place)
                    if self.keeps
                    else sqlite3.connect(uri, timeout=_WAIT, uri=True)
                )
            except OSError:
                pass
            except _ERRORS as e:
                self._give_up(e)
        return self._connection

    def _give_up(self, error: Exception) -> None:
        """Use the store no further; one with wrong bytes is removed, so that the next command begins anew."""
        if self._connection is not None:
            with contextlib.suppress(*_ERRORS):
                self._connection.close()
            self._connection = None
        damaged = (
            isinstance(error, UnicodeError)
            or getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED
        )
        if self._place is not None and self.keeps and damaged:
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    self._place.with_name(self._place.name + suffix).unlink()


def _connected(place: Path) -> sqlite3.Connection:
    """Open a store, or make it; raise OSError, sqlite3.Error or UnicodeError where that cannot be done."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(
        os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    )
    connection = sqlite3.connect(place, timeout=_WAIT)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(
            "PRAGMA synchronous = NORMAL"
        )  # a power cut may lose the last rows, and nothing else
        connection.executescript(_TABLES)
    except _ERRORS:
        connection.close()
        raise
    return connection


def _checksum(kind: str, key: bytes, stamp: bytes, value: bytes) -> int:
    return crc32(value, crc32(b"\0".join((kind.encode(), key, stamp))))


def _bytes(key: str | bytes) -> bytes:
    return key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key


def _today() -> int:
    return int(time.time() // 86400)
