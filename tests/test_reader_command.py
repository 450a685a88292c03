"""What ``python -m benchmarks reader`` prints of a transcript, for the author of a reader."""

from pathlib import Path

import pytest
from helpers.harness_lines import stamp
from helpers.sessions import put

from benchmarks.reader import main

HEAD = {"type": "session", "version": 3, "id": "p1", "timestamp": stamp(0), "cwd": "/work/app"}


def test_what_is_understood_is_said_and_what_is_not_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "pytest"}}
    usage = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}
    said = {"role": "assistant", "content": [call], "usage": usage, "timestamp": 1}
    end = {
        "role": "toolResult",
        "toolCallId": "c",
        "isError": True,
        "content": "1 failed in 1s",
        "timestamp": 2,
    }
    lines = [
        {"type": "message", "id": name, "timestamp": stamp(1), "message": one}
        for name, one in enumerate((said, end))
    ]
    path = put(tmp_path / "s.jsonl", HEAD, *lines, {"type": "dream"})
    assert main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert f"{path}: pi\n" in printed
    assert "  tokens: output 2, input 1, read from the cache 3, written to it 4\n" in printed
    assert "  calls: 1, 1 ended, 1 failed\n" in printed
    assert "  test runs: failed\n" in printed
    assert "  not understood, 1 times: of a kind that is not known: dream, version 3\n" in printed


def test_a_file_of_no_harness_is_said_to_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(tmp_path / "notes.txt", b"x")
    assert main([str(path)]) == 1
    assert str(path) in capsys.readouterr().out
