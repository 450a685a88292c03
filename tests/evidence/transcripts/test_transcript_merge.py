"""Sums over all files are the same however lines are spread, read and kept."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from helpers.harness_lines import (
    ALWAYS,
    Line,
    as_bytes,
    claude,
    counts,
    item,
    meta,
    output,
    read,
    response,
    result,
    summary,
    tokens,
    turn,
    use,
    uuid7,
    window,
    write,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring.evidence.harnesses.lines import read_whole
from scoring.evidence.reference.transcripts import ReferenceScan
from scoring.evidence.transcripts.events import Response, key_of
from scoring.evidence.transcripts.facts import (
    IterationWindow,
    TranscriptFacts,
    TranscriptPlaces,
)
from scoring.evidence.transcripts.transcript_events import (
    decode_events,
    encode_events,
    mixed,
)
from scoring.file_stamps import SETTLED, stamp_of
from scoring.store import NAME, Store

WINDOWS = [
    window(None, 20),
    window(20, 40),
    window(10, 30),
    window(40, 35),
    window(40, 41),
    ALWAYS,
]

small = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

seconds = st.integers(0, 60)
responses = st.builds(
    response,
    seconds,
    st.sampled_from([None, "msg_1", "msg_2", "msg_3"]),
    st.sampled_from([None, "req_1", "req_2"]),
    output=st.integers(0, 3),
    reads=st.integers(0, 3),
    isSidechain=st.booleans(),
    sessionId=st.sampled_from(["s1", "s2"]),
)
uses = st.builds(
    lambda second, name, command: claude(second, use("Bash", name, command=command)),
    seconds,
    st.sampled_from(["toolu_1", "toolu_2"]),
    st.sampled_from(["ls", "pytest"]),
)
results = st.builds(
    lambda second, name, failed: claude(
        second, result(name, is_error=failed), kind="user"
    ),
    seconds,
    st.sampled_from([None, "toolu_1", "toolu_2", "toolu_3"]),
    st.booleans(),
)
claude_lines = st.lists(st.one_of(responses, uses, results), max_size=25)

events = st.one_of(
    st.builds(
        lambda n, kind: (kind, n),
        st.integers(0, 4),
        st.sampled_from(["more", "again", "alone", "anew", "part"]),
    ),
    st.builds(lambda n, failed: ("call", n, failed), st.integers(0, 3), st.booleans()),
    st.builds(lambda n: ("turn", n), st.integers(0, 1)),
)


def rollout(happened: list[tuple[Any, ...]], name: str = "1") -> list[Line]:
    """A rollout in which such things happened."""
    lines, given, second = [meta(0, name), turn(0.5)], 0, 1.0
    for what, n, *more in happened:
        second += 1
        if what == "call":
            lines.append(
                output(second, f"Exit code: {int(more[0])}\nOutput:\n", f"call_{n}")
            )
        elif what == "turn":
            lines.append(turn(second, cwd=f"/work/{n}"))
        elif what == "alone":
            lines.append(tokens(second, None, counts(n, n // 2, n)))
        elif what == "part":
            given += n
            lines.append(
                tokens(second, {"input_tokens": given, "output_tokens": given})
            )
        else:
            given = n if what == "anew" else given + n * (what == "more")
            lines.append(tokens(second, counts(given, given // 2, given)))
    return lines


def found(
    root: Path, windows: list[IterationWindow] = WINDOWS, **reading: Any
) -> list[TranscriptFacts]:
    return read(root, windows, **reading)[0]


def totals(facts: list[TranscriptFacts]) -> list[Any]:
    """What does not depend on how many files there are."""
    return [
        (
            summary(f),
            f.covered,
            f.shows,
            [msgspec.structs.replace(h, files=0) for h in f.harnesses],
        )
        for f in facts
    ]


class TestSums:
    @small
    @given(claude_lines, st.data())
    def test_are_the_same_however_lines_are_spread(
        self, lines: list[Line], data: st.DataObject
    ) -> None:
        shuffled = data.draw(st.permutations(lines))
        names = data.draw(
            st.lists(st.sampled_from("abc"), min_size=len(lines), max_size=len(lines))
        )
        with TemporaryDirectory() as temporary:
            root = Path(temporary)
            write(root / "one" / "a.jsonl", *lines)
            (root / "many").mkdir()
            for name in set(names):
                chosen = [
                    line
                    for line, where in zip(shuffled, names, strict=True)
                    if where == name
                ]
                write(root / "many" / f"{name}.jsonl", *chosen)
            # A response counts in its last line, so windows would depend on the files.
            many = found(root / "many", [ALWAYS])
            assert totals(many) == totals(found(root / "one", [ALWAYS]))

    @pytest.mark.slow
    @small
    @given(
        st.lists(events, max_size=20),
        claude_lines,
        st.lists(st.integers(0, 4_000), max_size=4),
    )
    def test_are_the_same_however_files_grow(
        self, happened: list[tuple[Any, ...]], lines: list[Line], cuts: list[int]
    ) -> None:
        whole = {"r.jsonl": as_bytes(rollout(happened)), "c.jsonl": as_bytes(lines)}
        with TemporaryDirectory() as temporary, pytest.MonkeyPatch.context() as patched:
            root, cache = Path(temporary) / "t", Path(temporary) / "cache"
            for name, data in whole.items():
                write(root / name).write_bytes(data)
            expected = found(root)
            patched.setattr("scoring.file_stamps.SETTLED", 0)
            for end in [*sorted(cuts), None]:
                for name, data in whole.items():
                    (root / name).write_bytes(data[:end])
                grown = found(root, cache_dir=cache)
            assert grown == expected
            assert found(root, cache_dir=cache) == expected
            assert found(root, cache_dir=cache, keep=False) == expected

    @small
    @given(st.lists(events, max_size=12), st.integers(0, 12))
    def test_of_a_fork_are_what_it_added(
        self, happened: list[tuple[Any, ...]], place: int
    ) -> None:
        lines = rollout(happened, uuid7(0))
        own = [
            turn(200, uuid7(200)),
            output(201, "Exit code: 1\nOutput:\n", "call_own"),
        ]
        own = [
            meta(100, uuid7(100), forked_from_id=uuid7(0)),
            *lines[: place + 2],
            *own,
        ]
        with TemporaryDirectory() as temporary:
            root = Path(temporary)
            write(root / "t" / "a.jsonl", *lines)
            alone = summary(found(root / "t")[-1])
            write(root / "t" / "b.jsonl", *own)
            assert summary(found(root / "t")[-1]) == (
                *alone[:5],
                alone[5] + 1,
                alone[6] + 1,
            )

    @pytest.mark.parametrize("is_given_history", [True, False])
    def test_of_a_sub_agent_that_are_like_those_of_its_parent_count_too(
        self, tmp_path: Path, is_given_history: bool
    ) -> None:
        """Only a sub-agent that was given its parent's history has its introduction."""
        parent = [meta(0, "s0"), tokens(1, counts(100, 60, 7))]
        source = {"subagent": {"thread_spawn": {"parent_thread_id": "s0"}}}
        agent = [
            meta(100, "s1", source=source),
            *parent[0 if is_given_history else 1 :],
        ]
        write(tmp_path / "t" / "a.jsonl", *parent)
        write(tmp_path / "t" / "b.jsonl", *agent)
        assert found(tmp_path / "t")[0].output_tokens == (7 if is_given_history else 14)


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are known by their stamps as soon as they are written."""
    monkeypatch.setattr("scoring.file_stamps.SETTLED", 0)


@pytest.mark.usefixtures("settled")
class TestWhatIsKept:
    def once(self, root: Path, **reading: Any) -> TranscriptFacts:
        return found(root / "t", [ALWAYS], cache_dir=root / "cache", **reading)[0]

    def kept(self, root: Path) -> list[tuple[bytes, bytes]]:
        with contextlib.closing(sqlite3.connect(root / "cache" / NAME)) as connection:
            return connection.execute(
                "SELECT key, value FROM kept WHERE kind = 'transcript'"
            ).fetchall()

    def test_saves_the_reading_of_what_has_not_changed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(
            tmp_path / "t" / "a.jsonl",
            response(1),
            claude(2, use("Bash", command="pytest")),
        )
        write(
            tmp_path / "t" / "b.jsonl",
            meta(1, "1"),
            tokens(2, counts(10, 5, 1)),
            output(3, "Exit code: 1\nOutput:\n"),
        )
        places = TranscriptPlaces(tmp_path, (tmp_path / "t",))

        def as_the_reference(keep: bool) -> TranscriptFacts:
            with ReferenceScan(places, cache_dir=tmp_path / "cache", keep=keep) as scan:
                return scan.facts([ALWAYS])[0]

        first, by_the_reference = self.once(tmp_path), as_the_reference(True)
        monkeypatch.setattr("scoring.evidence.harnesses.reading.read_whole", None)
        for keep in (True, False):
            assert self.once(tmp_path, keep=keep) == first
            assert as_the_reference(keep) == by_the_reference
        assert found(tmp_path / "t", [window(5, 6)], cache_dir=tmp_path / "cache") == [
            TranscriptFacts()
        ]

    def test_has_no_word_of_a_conversation_and_no_hash_that_can_be_compared(
        self, tmp_path: Path
    ) -> None:
        said = {"type": "text", "text": "SECRET words"}
        path = write(
            tmp_path / "t" / "a.jsonl",
            response(1, "msg_1", "req_1", said, use("Bash", command="echo SECRET")),
            claude(2, result(content="SECRET"), kind="user", toolUseResult="SECRET"),
            meta(3, "1", instructions="SECRET"),
            item(4, "function_call", name="shell", arguments='{"command": ["SECRET"]}'),
            output(5, "Exit code: 1\nOutput:\nSECRET"),
            b"SECRET, not JSON",
        )
        self.once(tmp_path)
        with Store(tmp_path / "cache") as store:
            stamp = stamp_of(path.stat())
            assert stamp
            events = decode_events(
                mixed(self.kept(tmp_path)[0][1], store.secret, stamp)
            )
        assert events["claude"].of(Response)[0].id == key_of("msg_1")
        assert b"SECRET" not in encode_events(events)
        number = key_of("msg_1").to_bytes(8, "little", signed=True)
        for file in (tmp_path / "cache").iterdir():
            data = file.read_bytes()
            assert b"SECRET" not in data
            assert number not in data
            assert file.stat().st_mode & 0o077 == 0

    @pytest.mark.parametrize("value", [b"", b"x", bytes(500)])
    def test_that_is_not_whole_is_as_if_it_were_not_there(
        self, tmp_path: Path, value: bytes
    ) -> None:
        path = write(
            tmp_path / "t" / "a.jsonl",
            response(1),
            meta(2, "1"),
            tokens(3, counts(10, 5, 1)),
        )
        first = self.once(tmp_path)
        ((key, before),) = self.kept(tmp_path)
        with Store(tmp_path / "cache") as store:
            store.put("transcript", key, stamp_of(path.stat()), value)
        assert self.once(tmp_path) == first
        assert self.kept(tmp_path) == [(key, before)]

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param(lambda path, data: path.write_bytes(data), id="shorter"),
            pytest.param(
                lambda path, data: path.write_bytes(data + b"x" * 300 + b"\n"),
                id="longer-and-different",
            ),
            pytest.param(
                lambda path, data: (
                    path.rename(path.with_name("old")) and path.write_bytes(data)
                ),
                id="replaced",
            ),
        ],
    )
    def test_of_a_file_that_was_written_anew_is_dropped(
        self, tmp_path: Path, change: Callable[[Path, bytes], object]
    ) -> None:
        path = write(tmp_path / "t" / "a.jsonl", response(1), response(2, "msg_2"))
        assert self.once(tmp_path).turns == 2
        change(path, as_bytes([response(1, output=7)]))
        assert (self.once(tmp_path).turns, self.once(tmp_path).output_tokens) == (1, 7)

    def test_is_nothing_of_a_file_that_was_just_written(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("scoring.file_stamps.SETTLED", SETTLED)
        write(tmp_path / "t" / "a.jsonl", response(1))
        assert self.once(tmp_path).turns == 1
        assert not (tmp_path / "cache" / NAME).exists() or self.kept(tmp_path) == []


class TestWorkers:
    def test_that_are_killed_are_made_up_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here = os.getpid()

        def dies(fd: int, *how: Any) -> Any:
            if os.getpid() != here:
                os._exit(1)
            return read_whole(fd, *how)

        monkeypatch.setattr("scoring.evidence.harnesses.reading.read_whole", dies)
        for n in range(3):
            write(tmp_path / "t" / f"{n}.jsonl", response(n, f"msg_{n}"))
        assert found(tmp_path / "t", [ALWAYS], processes=2)[0].turns == 3
