"""Reading transcripts: copies as each alone, and pools that leave no process behind."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.harness_lines import (
    as_bytes,
    claude,
    item,
    meta,
    output,
    response,
    result,
    tokens,
    use,
)
from helpers.harness_lines import counts as counted
from helpers.waiting import becomes, is_running
from sessions import claude_cases, codex_cases
from sessions.world import Truth

from scoring.evidence.commands.testruns import TestTools as Tools
from scoring.evidence.harnesses import lines
from scoring.evidence.harnesses.lines import Copies, Lines, read_parts
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.harnesses.reading import Pool, Reading
from scoring.evidence.transcripts.transcript_events import EventsByHarness
from scoring.evidence.transcripts.transcript_files import FileRead, TranscriptFile

PROGRAM = """
import os, sys, time
from pathlib import Path
from scoring.evidence.harnesses.reading import Pool, Reading
from scoring.evidence.transcripts.transcript_files import FileRead, TranscriptFile

class Slow(Reading):
    def read(self, transcript):
        Path(sys.argv[1], str(os.getpid())).touch()
        time.sleep(600)
        return FileRead(None, [])

one = TranscriptFile("x", True)
pool = Pool(Slow(()), {n: (one, 1 if n > 2 else 1 << 20) for n in range(999)}, 2)
assert len(pool._tasks) == 4  # small ones are one task
while len(os.listdir(sys.argv[1])) < 2:
    time.sleep(0.01)
if sys.argv[2] == "close":
    pool.close()
else:
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="one processor reads alone"
)
@pytest.mark.parametrize("end", ["close", "kill"])
def test_workers_end_with_it(tmp_path: Path, end: str) -> None:
    subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path, end], check=False, timeout=300
    )
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert len(workers) == 2
    assert becomes(lambda: not any(map(is_running, workers)))


class Nothing(Reading):
    def read(self, transcript: TranscriptFile) -> FileRead:
        return FileRead(None, [transcript.name])


@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_to_be_read_at_the_end_is(processes: int) -> None:
    session = TranscriptFile("copy", True, session="s")
    transcripts = {
        0: (TranscriptFile("largest", True), 4 << 20),
        1: (session, 2 << 20),
        2: (session, 3 << 20),
    }
    pool = Pool(Nothing(()), transcripts, processes, at_end=[0, 1])
    assert [number for number, _ in pool.results()] == [2, 0, 1]


@pytest.mark.parametrize("size", [0, 1], ids=["empty", "not empty"])
def test_a_small_transcript_is_read_before_those_at_the_end(size: int) -> None:
    transcripts = {
        0: (TranscriptFile("small", True), size),
        1: (TranscriptFile("at the end", True), 4 << 20),
    }
    pool = Pool(Nothing(()), transcripts, processes=2, at_end=[1])
    assert [number for number, _ in pool.results()] == [0, 1]


def alone(text: bytes) -> EventsByHarness:
    return read_parts([iter([text])], Lines(HARNESSES, Tools()))


CLAUDE = [
    claude(1, {"type": "text", "text": "hello"}, kind="user"),
    response(
        2,
        "msg_1",
        "req_1",
        use("Bash", "toolu_1", command="pytest -q > out; git commit -m x"),
    ),
    response(
        3,
        "msg_1",
        "req_1",
        use("Write", "toolu_2", file_path="/work/app/a.py", content="a = 1\nb = 22\n"),
    ),
    claude(
        4,
        result("toolu_2", is_error=True, content="The user doesn't want to do this"),
        kind="user",
    ),
    claude(
        5, result("toolu_1", content="1 failed in 2 s\n[main abcdef0] x"), kind="user"
    ),
]
CODEX = [
    meta(1, "c1", forked_from_id="c0"),
    item(
        2,
        "function_call",
        name="shell",
        arguments=json.dumps({"command": ["go", "test", "./..."]}),
    ),
    tokens(3, counted(100, 50, 7)),
    output(4, "Exit code: 1\nOutput:\nFAIL"),
]
SCENARIOS = (
    claude_cases.checks,
    claude_cases.sidechain_replay,
    codex_cases.checks,
    codex_cases.exit_forms,
)


class TestCopies:
    """Each line of a copy that ends a transcript is taken once. The twin is no such copy."""

    @pytest.fixture
    def taken(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        sizes: list[int] = []
        block = Lines.block

        def counted_block(self: Lines, lines: Sequence[bytes]) -> None:
            sizes.append(sum(map(len, lines)) + len(lines))
            block(self, lines)

        monkeypatch.setattr(Lines, "block", counted_block)
        return sizes

    def compared(self, *texts: bytes) -> None:
        copies = Copies(HARNESSES, Tools())
        for text in texts:
            assert copies.read(text, lambda _: None) == alone(text)

    @pytest.mark.parametrize(
        "break_behind", [True, False], ids=["with the last line break", "without it"]
    )
    @pytest.mark.parametrize("of", [CLAUDE, CODEX], ids=["Claude", "Codex"])
    def test_go_on_behind_any_line(
        self, of: list[dict[str, Any]], break_behind: bool, taken: list[int]
    ) -> None:
        texts = [
            as_bytes(of[:n])[: None if break_behind else -1]
            for n in range(1, len(of) + 1)
        ]
        copies = Copies(HARNESSES, Tools())
        found = [copies.read(text, lambda _: None) for text in texts]
        assert sum(taken) <= len(as_bytes(of)) + len(texts[0])
        assert found == [alone(text) for text in texts]

    @pytest.mark.parametrize(
        "scenario",
        SCENARIOS,
        ids=lambda scenario: f"{scenario.__module__}-{scenario.__name__}",
    )
    def test_are_what_each_is_alone(
        self, scenario: Callable[[Path, int], Truth], tmp_path: Path
    ) -> None:
        for path in scenario(tmp_path / "world", 1).home.rglob("*.jsonl"):
            whole = path.read_bytes()
            self.compared(
                *(whole[:at] for at in range(300, len(whole), 300 + len(whole) // 12)),
                whole,
            )

    @pytest.mark.parametrize(
        "first, second",
        [
            (as_bytes(CLAUDE)[:-9], as_bytes(CLAUDE)),
            (
                as_bytes(CLAUDE),
                as_bytes(CLAUDE).replace(b"hello", b"hallo") + as_bytes(CLAUDE),
            ),
            (as_bytes([*CLAUDE, *CODEX]), as_bytes([*CLAUDE, *CODEX, *CLAUDE])),
            (
                as_bytes([b"x" * 9000, *CLAUDE]),
                as_bytes([b"x" * 9000, *CLAUDE, *CLAUDE]),
            ),
            (b"{\n" + as_bytes(CLAUDE)[1:], b"{\n" + as_bytes([*CLAUDE, *CLAUDE])[1:]),
        ],
        ids=[
            "half a line",
            "another beginning",
            "two harnesses",
            "a line that is too long",
            "a document",
        ],
    )
    def test_that_do_not_go_on_are_read_whole(
        self,
        first: bytes,
        second: bytes,
        monkeypatch: pytest.MonkeyPatch,
        taken: list[int],
    ) -> None:
        monkeypatch.setattr(lines, "LINE_LIMIT", 8000)
        self.compared(first, second)
        whole = sum(taken)
        copies = Copies(HARNESSES, Tools())
        for text in (first, second):
            copies.read(text, lambda _: None)
        assert sum(taken) == whole + whole // 2


@pytest.mark.parametrize("text", [b"a\nbcd", b"a\n" + b"b" * 90, b"b" * 90 + b"\na"])
def test_a_part_ends_where_its_last_byte_is(
    text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LINE_LIMIT", 50)
    pieces = (text[at : at + 8] for at in range(0, len(text), 8))
    end = lines._read_lines(pieces, 1000, Lines(HARNESSES, Tools()))
    assert end == 1000 + len(text)
