"""What is kept between runs: an answer comes back for its stamp, and damage costs only time."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scoring import store as store_module
from scoring.file_stamps import SETTLED, stamp_of
from scoring.store import KEPT_DAYS, NAME, Store


def kept(cache_dir: Path, key: str = "key", stamp: bytes = b"1") -> bytes | None:
    with Store(cache_dir) as store:
        return store.get("entry", key, stamp)


@pytest.fixture
def cache_dir(tmp_path: Path) -> Path:
    with Store(tmp_path) as store:
        store.put("entry", "key", b"1", b"value")
    return tmp_path


def test_it_comes_back_for_its_stamp_kind_and_key_alone(cache_dir: Path) -> None:
    assert (cache_dir / NAME).stat().st_mode & 0o777 == 0o600
    assert kept(cache_dir) == b"value"
    assert kept(cache_dir, stamp=b"2") is None
    assert kept(cache_dir, key="other") is None
    with Store(cache_dir) as store:
        assert store.get("git", "key", b"1") is None
        assert store.get("entry", "key", None) is None
        store.put("entry", "key", b"2", b"new")
    assert kept(cache_dir) is None
    assert kept(cache_dir, stamp=b"2") == b"new"


def test_without_a_stamp_or_a_place_nothing_is_kept(tmp_path: Path) -> None:
    with Store(None) as store:
        store.put("entry", "key", b"1", b"value")
        assert (store.keeps, store.get("entry", "key", b"1")) == (False, None)
    with Store(tmp_path) as store:
        store.put("entry", "key", None, b"value")
    assert not (tmp_path / NAME).exists()


def test_another_format_is_as_if_nothing_were_kept_and_is_left_alone(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "FORMAT", 1000)
        assert kept(cache_dir) is None
        with Store(cache_dir) as store:
            store.put("entry", "key", b"1", b"of another version")
    assert kept(cache_dir) == b"value"


def _other_tables(place: Path) -> None:
    place.unlink()
    with sqlite3.connect(place) as connection:
        connection.executescript(
            "CREATE TABLE kept (other); CREATE TABLE secrets (other)"
        )
    connection.close()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut off": lambda place: place.write_bytes(place.read_bytes()[:700]),
    "overwritten": lambda place: place.write_bytes(b"no database at all" * 100),
    "wrong pages": lambda place: place.write_bytes(
        place.read_bytes()[:4096] + os.urandom(8192)
    ),
    "other tables": _other_tables,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_store_is_removed_and_begun_anew(
    cache_dir: Path, damage: Callable[[Path], object]
) -> None:
    damage(cache_dir / NAME)
    assert kept(cache_dir) is None
    for _ in range(2):
        with Store(cache_dir) as store:
            store.put("entry", "key", b"1", b"anew")
    assert kept(cache_dir) == b"anew"


TABLE = f"CREATE TABLE {store_module._TABLES['kept']}"
ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r"
OTHERS = {
    "a view": f"CREATE VIEW kept AS {ENDLESS}",
    "a trigger": f"{TABLE}; CREATE TRIGGER a BEFORE INSERT ON kept BEGIN {ENDLESS}; END",
    "a column": TABLE.replace("value BLOB", "value AS (hex(zeroblob(400000000)))"),
    "an index": f"{TABLE}; CREATE INDEX a ON kept (hex(zeroblob(format)))",
}


@pytest.mark.parametrize("sql", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("keeps", [True, False], ids=["to write", "to read"])
def test_a_store_with_other_tables_is_not_asked(
    cache_dir: Path, sql: str, keeps: bool
) -> None:
    path = cache_dir / NAME
    path.unlink()
    connection = sqlite3.connect(path)
    connection.executescript(sql)
    connection.close()

    for _ in range(2):
        with Store(cache_dir, keeps) as store:
            store.put("entry", "key", b"1", b"value")
            store.get("entry", "key", b"1")

    assert kept(cache_dir) == (b"value" if keeps else None)


@pytest.mark.parametrize("column", ["value", "stamp", "checksum"])
def test_a_wrong_byte_in_a_row_is_seen(cache_dir: Path, column: str) -> None:
    with sqlite3.connect(cache_dir / NAME) as connection:
        connection.execute(
            f"UPDATE kept SET {column} = ?", (7 if column == "checksum" else b"9",)
        )
    connection.close()
    assert kept(cache_dir) is None
    assert kept(cache_dir, stamp=b"9") is None


def test_a_locked_store_costs_a_moment_and_raises_nothing(cache_dir: Path) -> None:
    connection = sqlite3.connect(cache_dir / NAME, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    with Store(cache_dir) as store:
        # a writer keeps no reader out
        assert store.get("entry", "key", b"1") == b"value"
        store.put("entry", "key", b"2", b"lost")
    connection.execute("ROLLBACK")
    connection.close()
    assert kept(cache_dir) == b"value"


def test_a_store_is_none_where_something_else_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder" / NAME).mkdir(parents=True)
    (tmp_path / "fifo").mkdir()
    os.mkfifo(tmp_path / "fifo" / NAME)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / NAME).symlink_to(tmp_path / "elsewhere")
    for place in ("file", "folder", "fifo", "link"):
        with Store(tmp_path / place) as store:
            store.put("entry", "key", b"1", b"value")
        assert kept(tmp_path / place) is None
    assert not (tmp_path / "elsewhere").exists()


def test_what_is_old_is_removed_once_a_day(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put_on(day: int, key: str) -> None:
        monkeypatch.setattr(store_module, "_today", lambda: day)
        with Store(cache_dir) as store:
            store.put("entry", key, b"1", b"value")

    put_on(100_000, "later")
    assert kept(cache_dir, "key") is None
    put_on(100_000 + KEPT_DAYS, "much later")
    assert kept(cache_dir, "later") == b"value"
    with sqlite3.connect(cache_dir / NAME) as connection:
        connection.execute("UPDATE kept SET day = 7 WHERE key = ?", (b"later",))
    connection.close()
    put_on(100_000 + KEPT_DAYS, "the same day")
    assert kept(cache_dir, "later") == b"value"
    put_on(100_001 + KEPT_DAYS, "the next day")
    assert kept(cache_dir, "later") is None


def test_all_that_begins_so_comes_back_at_once(cache_dir: Path) -> None:
    with Store(cache_dir) as store:
        for key in (b"log/a", b"log/\xff", b"log0", b"lo"):
            store.put("entry", key, b"1", key)
        store.put("git", b"log/b", b"1", b"of another kind")
    with Store(cache_dir) as store:
        assert store.get_all("entry", b"log/") == {
            (key, b"1"): key for key in (b"log/a", b"log/\xff")
        }
    with Store(None) as store:
        assert store.get_all("entry", b"log/") == {}


def _in_another_process(cache_dir: Path, code: str) -> "subprocess.Popen[str]":
    text = (
        "from pathlib import Path\nfrom scoring.store import *\n"
        f"cache_dir = Path({str(cache_dir)!r})\n" + code
    )
    return subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("prefix", [b"a\xff", b"a\xff\xff", b"\xff", b"\xff\xff"])
def test_a_beginning_may_end_in_the_last_byte(cache_dir: Path, prefix: bytes) -> None:
    with Store(cache_dir) as store:
        for key in (b"a", b"b", prefix + b"\x00", prefix + b"\xff\xff"):
            store.put("entry", key, b"1", b"value")
    with Store(cache_dir) as store:
        found = store.get_all("entry", prefix)
    assert {key for key, _ in found} == {prefix + b"\x00", prefix + b"\xff\xff"}


def test_a_full_disk_loses_what_does_not_fit_and_nothing_else(cache_dir: Path) -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
with Store(cache_dir) as store:
    store.put("entry", "large", b"1", bytes(1_000_000))
with Store(cache_dir) as store:
    print(store.get("entry", "large", b"1"), store.get("entry", "key", b"1"))
"""
    found, _ = _in_another_process(cache_dir, code).communicate(timeout=300)
    assert found == "None b'value'\n"
    assert kept(cache_dir) == b"value"
    with Store(cache_dir) as store:
        store.put("entry", "large", b"1", bytes(1_000_000))
    assert kept(cache_dir, "large") == bytes(1_000_000)


def test_a_store_that_another_process_has_for_itself_is_none(cache_dir: Path) -> None:
    code = """
import sqlite3
connection = sqlite3.connect(cache_dir / NAME, isolation_level=None)
connection.executescript("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; DELETE FROM kept;")
print("locked", flush=True)
input()
"""
    with _in_another_process(cache_dir, code) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        began = time.monotonic()
        with Store(cache_dir) as store:
            assert store.get("entry", "key", b"1") is None
            store.put("entry", "key", b"2", b"lost")
        assert time.monotonic() - began < 60
        other.kill()
    assert kept(cache_dir) == b"value"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("name", ["", NAME])
def test_a_store_that_may_not_be_written_costs_nothing_but_time(
    cache_dir: Path, name: str
) -> None:
    place = cache_dir / name
    mode = place.stat().st_mode
    place.chmod(mode & ~0o222)
    try:
        with Store(cache_dir) as store:
            assert store.get("entry", "key", b"1") in (None, b"value")
            store.put("entry", "key", b"2", b"lost")
    finally:
        place.chmod(mode)
    assert kept(cache_dir) == b"value"


def test_a_killed_process_loses_rows_but_never_makes_wrong_ones(
    cache_dir: Path,
) -> None:
    code = """
n = 0
print("begun", flush=True)
while True:
    n += 1
    with Store(cache_dir) as store:
        for key in range(20):
            store.put("entry", str(key), b"1", str(n).encode() * 1000)
"""
    for wait in (0.0, 0.01, 0.02, 0.05, 0.1, 0.2):
        with _in_another_process(cache_dir, code) as other:
            assert other.stdout is not None
            other.stdout.readline()
            time.sleep(wait)
            other.kill()
        with Store(cache_dir) as store:
            found = {store.get("entry", str(key), b"1") for key in range(20)}
        assert len(found) == 1  # all of one transaction
        assert kept(cache_dir) == b"value"


def test_its_secret_is_its_own_and_stays(tmp_path: Path) -> None:
    with (
        Store(tmp_path / "a") as one,
        Store(tmp_path / "a") as same,
        Store(tmp_path / "b") as other,
    ):
        assert one.secret == same.secret != other.secret
        assert len(one.secret) == 16
    with Store(tmp_path / "a") as again, Store(None) as none:
        assert again.secret == one.secret != none.secret


def test_a_file_that_was_just_changed_has_no_stamp(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    found = file.stat()
    assert stamp_of(found) is None
    assert stamp_of(_Later(found)) is not None  # type: ignore[arg-type]


class _Later:
    """A stat result whose times are further back than they were."""

    def __init__(self, found: os.stat_result) -> None:
        self.st_size, self.st_ino = found.st_size, found.st_ino
        self.st_mtime_ns, self.st_ctime_ns = (
            found.st_mtime_ns - SETTLED,
            found.st_ctime_ns - SETTLED,
        )


def looked_at(folder: Path) -> dict[Path, tuple[int, int, int]]:
    """Return size, time and mode of a folder and of what is in it."""
    found = {path: path.stat() for path in [folder, *folder.iterdir()]}
    return {
        path: (stat.st_size, stat.st_mtime_ns, stat.st_mode)
        for path, stat in found.items()
    }


def test_a_store_that_is_only_read_leaves_no_trace(tmp_path: Path) -> None:
    with Store(tmp_path / "cache", keeps=False) as store:
        assert store.get("git", "key", b"1") is None
        store.put("git", "key", b"1", b"value")
    assert list(tmp_path.iterdir()) == []
    with Store(tmp_path) as store:
        store.put("git", "key", b"1", b"value")
    before = looked_at(tmp_path)
    with Store(tmp_path, keeps=False) as store:
        assert store.get("git", "key", b"1") == b"value"
        store.put("git", "key", b"1", b"other")
    assert looked_at(tmp_path) == before


def test_a_store_that_is_only_read_is_never_taken_away(cache_dir: Path) -> None:
    with Store(cache_dir) as writer:
        writer.put("entry", "other", b"1", b"waits in the log of writes")
        writer._write()
        with sqlite3.connect(cache_dir / NAME) as connection:
            connection.execute("DROP TABLE secrets")
        connection.close()
        with Store(cache_dir, keeps=False) as reader:
            assert len(reader.secret) == 16
        assert (cache_dir / NAME).exists()


def test_stamps_stay_however_old_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path) as store:
        store.put("stamp", "key", b"1", b"value")
    later = store_module._today() + 1000
    monkeypatch.setattr(store_module, "_today", lambda: later)
    with Store(tmp_path) as store:
        store.put("entry", "key", b"1", b"value")
    with Store(tmp_path) as store:
        assert store.get("stamp", "key", b"1") == b"value"
