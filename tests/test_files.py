"""Reading files: plain files of a sane size are read, and nothing else is even opened."""

import contextlib
import os
import socket
from pathlib import Path

import pytest
from helpers.doors import ends, make_fifo, watched_doors

from scoring.errors import InputError
from scoring.files import SIZE_LIMIT, list_names, read_file


def refusal(path: Path | str, limit: int = SIZE_LIMIT) -> str:
    with pytest.raises(InputError) as caught:
        ends(lambda: read_file(path, limit))
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestReadFile:
    @pytest.mark.parametrize("data", [b"", b"text\n", b"\x00\xff\r\n", b"x" * 100_000])
    def test_returns_the_bytes_of_a_file_or_of_what_a_link_leads_to(
        self, tmp_path: Path, data: bytes
    ) -> None:
        (tmp_path / "f").write_bytes(data)
        (tmp_path / "link").symlink_to("f")
        assert read_file(tmp_path / "f") == read_file(str(tmp_path / "link")) == data

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            pytest.param("", "is a directory", id="a directory"),
            pytest.param("fifo", "is not a plain file", id="a FIFO"),
            pytest.param("to a fifo", "is not a plain file", id="a link to a FIFO"),
            pytest.param("socket", "is not a plain file", id="a socket"),
            pytest.param("/dev/zero", "is not a plain file", id="an endless device"),
            pytest.param("/dev/null", "is not a plain file", id="a device"),
            pytest.param(
                "circle", "too many levels of symbolic links", id="a link to itself"
            ),
            pytest.param("a\0b", "", id="NUL in the name"),
            pytest.param("x" * 300, "", id="a long name"),
            pytest.param("\ud800", "", id="half a character"),
        ],
    )
    def test_refuses_what_is_no_plain_file_and_does_not_open_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, reason: str
    ) -> None:
        """Opening alone has effects: a tape rewinds, and a waiting writer's pipe breaks."""
        make_fifo(tmp_path / "fifo")
        (tmp_path / "to a fifo").symlink_to("fifo")
        (tmp_path / "circle").symlink_to("circle")
        monkeypatch.chdir(tmp_path)  # the path of a socket must be short
        with socket.socket(socket.AF_UNIX) as listener, watched_doors() as doors:
            listener.bind("socket")
            assert refusal(tmp_path / name).startswith(f"{tmp_path / name}: {reason}")
        assert str(tmp_path / name) not in doors.opened or not reason.endswith(
            "plain file"
        )

    @pytest.mark.parametrize("name", ["missing", "missing/f", "f/g", "link"])
    def test_tells_a_missing_file_from_an_unusable_one(
        self, tmp_path: Path, name: str
    ) -> None:
        (tmp_path / "f").write_bytes(b"x")
        (tmp_path / "link").symlink_to("missing")
        with pytest.raises(FileNotFoundError):
            read_file(tmp_path / name)

    def test_reads_up_to_the_limit_and_refuses_one_byte_more(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "f"
        path.write_bytes(b"x" * (1 << 20))
        assert len(read_file(path, 1 << 20)) == 1 << 20
        path.write_bytes(b"x" * ((1 << 20) + 1))
        assert refusal(path, 1 << 20) == f"{path}: larger than 1 MiB"

    def test_takes_what_has_nothing_to_read_yet_for_empty(self) -> None:
        with contextlib.suppress(InputError):  # where there is none, or no right to it
            assert all(isinstance(read_file("/proc/kmsg"), bytes) for _ in range(2))

    @pytest.mark.skipif(
        not Path("/proc/kallsyms").exists(),
        reason="needs a file whose size is not what stat says",
    )
    def test_refuses_a_file_that_grows_while_it_is_read(self) -> None:
        path = Path("/proc/kallsyms")
        assert path.stat().st_size == 0
        assert refusal(path, 1 << 10) == f"{path}: larger than 1 KiB"

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_refuses_what_may_not_be_read(self, tmp_path: Path) -> None:
        path = tmp_path / "f"
        path.touch(mode=0)
        assert refusal(path) == f"{path}: permission denied"

    @pytest.mark.skipif(
        not Path("/proc/self/mem").exists(),
        reason="needs a plain file whose first byte cannot be read",
    )
    def test_refuses_what_fails_while_it_is_read(self) -> None:
        assert refusal("/proc/self/mem") == "/proc/self/mem: input/output error"

    def test_leaves_no_file_open(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"x" * 100)
        before = sorted(os.listdir("/proc/self/fd"))
        read_file(tmp_path / "f")
        for path, limit in ((tmp_path, SIZE_LIMIT), (tmp_path / "f", 10)):
            with pytest.raises(InputError):
                read_file(path, limit)
        assert sorted(os.listdir("/proc/self/fd")) == before


class TestListNames:
    def test_lists_in_byte_order(self, tmp_path: Path) -> None:
        for name in (b"b", b"B", b"a10", b"a2", b"\xff", "\u00e9".encode(), b".hidden"):
            (tmp_path / os.fsdecode(name)).touch()
        assert list_names(tmp_path) == [
            ".hidden",
            "B",
            "a10",
            "a2",
            "b",
            "\u00e9",
            "\udcff",
        ]

    def test_lists_what_is_no_file_too(self, tmp_path: Path) -> None:
        (tmp_path / "d").mkdir()
        make_fifo(tmp_path / "f")
        (tmp_path / "l").symlink_to("nowhere")
        assert list_names(str(tmp_path)) == ["d", "f", "l"]

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            pytest.param("missing", "no such file or directory", id="missing"),
            pytest.param("f", "not a directory", id="file"),
            pytest.param("a\0b", "embedded null byte", id="NUL in the name"),
        ],
    )
    def test_says_why_it_cannot(self, tmp_path: Path, name: str, reason: str) -> None:
        (tmp_path / "f").touch()
        with pytest.raises(InputError) as caught:
            list_names(tmp_path / name)
        assert str(caught.value) == f"{tmp_path / name}: {reason}"
