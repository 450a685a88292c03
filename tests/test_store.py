"""What is kept between runs: an answer comes back for its stamp alone, and damage costs time and nothing else."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from scoring import store as store_module
from scoring.store import NAME, SETTLED, Store, stamp_of


def kept(cache_dir: Path, key: str = "key", stamp: bytes = b"1") -> bytes | None:
    with Store(cache_dir) as store:
        return store.get("entry", key, stamp)


@pytest.fixture
def cache_dir(tmp_path: Path) -> Path:
    with Store(tmp_path) as store:
        store.put("entry", "key", b"1", b"value")
    return tmp_path


def test_it_comes_back_for_its_stamp_kind_and_key_alone(cache_dir: Path) -> None:
    assert kept(cache_dir) == b"value"
    assert kept(cache_dir, stamp=b"2") is None
    assert kept(cache_dir, key="other") is None
    with Store(cache_dir) as store:
        assert store.get("git", "key", b"1") is None
        assert store.get("entry", "key", None) is None


def test_without_a_stamp_or_a_place_nothing_is_kept(tmp_path: Path) -> None:
    with Store(None) as store:
        store.put("entry", "key", b"1", b"value")
        assert store.get("entry", "key", b"1") is None
    with Store(tmp_path) as store:
        store.put("entry", "key", None, b"value")
    assert not (tmp_path / NAME).exists()


def test_what_is_put_later_replaces_what_was_there(cache_dir: Path) -> None:
    with Store(cache_dir) as store:
        store.put("entry", "key", b"2", b"new")
    assert kept(cache_dir) is None
    assert kept(cache_dir, stamp=b"2") == b"new"


def test_another_format_is_as_if_nothing_were_kept_and_is_left_alone(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "FORMAT", 1000)
        assert kept(cache_dir) is None
        with Store(cache_dir) as store:
            store.put("entry", "key", b"1", b"of another version")
    assert kept(cache_dir) == b"value"


def _cut(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:700])


def _overwritten(place: Path) -> None:
    place.write_bytes(b"no database at all" * 100)


def _wrong_pages(place: Path) -> None:
    data = bytearray(place.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    place.write_bytes(data)


@pytest.mark.parametrize("damage", [_cut, _overwritten, _wrong_pages])
def test_a_damaged_store_is_taken_away_and_begun_anew(cache_dir: Path, damage: Callable[[Path], None]) -> None:
    damage(cache_dir / NAME)
    assert kept(cache_dir) is None
    with Store(cache_dir) as store:
        store.put("entry", "key", b"1", b"anew")
    with Store(cache_dir) as store:
        store.put("entry", "key", b"1", b"anew")
    assert kept(cache_dir) == b"anew"


@pytest.mark.parametrize("column", ["value", "stamp", "checksum"])
def test_a_wrong_byte_in_a_row_is_seen(cache_dir: Path, column: str) -> None:
    with sqlite3.connect(cache_dir / NAME) as connection:
        connection.execute(f"UPDATE kept SET {column} = ?", (7 if column == "checksum" else b"9",))
    connection.close()
    assert kept(cache_dir) is None
    assert kept(cache_dir, stamp=b"9") is None


def test_a_locked_store_costs_a_moment_and_raises_nothing(cache_dir: Path) -> None:
    connection = sqlite3.connect(cache_dir / NAME, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    with Store(cache_dir) as store:
        assert store.get("entry", "key", b"1") == b"value"  # a writer keeps no reader out
        store.put("entry", "key", b"2", b"lost")
    connection.execute("ROLLBACK")
    connection.close()
    assert kept(cache_dir) == b"value"


def test_a_store_in_the_way_of_which_something_lies_is_none(tmp_path: Path) -> None:
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


def test_what_is_old_is_removed(cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "KEPT_DAYS", 90)
    with Store(cache_dir) as store:
        store.prune(0)
        assert store.get("entry", "key", b"1") == b"value"
        store.prune(-1)
        assert store.get("entry", "key", b"1") is None


def test_its_secret_is_its_own_and_stays(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as one, Store(tmp_path / "a") as same, Store(tmp_path / "b") as other:
        assert one.secret == same.secret != other.secret
        assert len(one.secret) == 16
    with Store(tmp_path / "a") as again, Store(None) as none:
        assert again.secret == one.secret != none.secret


def test_only_its_owner_can_read_it(cache_dir: Path) -> None:
    assert (cache_dir / NAME).stat().st_mode & 0o777 == 0o600


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
        self.st_mtime_ns, self.st_ctime_ns = found.st_mtime_ns - SETTLED, found.st_ctime_ns - SETTLED


def test_a_store_that_is_only_read_leaves_no_trace(tmp_path: Path) -> None:
    with Store(tmp_path / "cache", keeps=False) as store:
        assert store.get("git", "key", b"1") is None
        store.put("git", "key", b"1", b"value")
    assert list(tmp_path.iterdir()) == []
    with Store(tmp_path) as store:
        store.put("git", "key", b"1", b"value")
    before = {path: path.stat() for path in [tmp_path, *tmp_path.iterdir()]}
    with Store(tmp_path, keeps=False) as store:
        assert store.get("git", "key", b"1") == b"value"
        store.put("git", "key", b"1", b"other")
    assert {path: path.stat() for path in [tmp_path, *tmp_path.iterdir()]} == before
