"""What ``python -m benchmarks reader`` prints of a transcript, for the author of a reader."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.harness_lines import stamp
from helpers.sessions import put

from benchmarks.reader import main

HEAD = {
    "type": "session",
    "version": 3,
    "id": "p1",
    "timestamp": stamp(0),
    "cwd": "/work/app",
}


def test_what_is_understood_is_said_and_what_is_not_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = {
        "type": "toolCall",
        "id": "c",
        "name": "bash",
        "arguments": {"command": "pytest"},
    }
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
    assert (
        "  tokens: output 2, input 1, read from the cache 3, written to it 4\n"
        in printed
    )
    assert "  calls: 1, 1 ended, 1 failed\n" in printed
    assert "  test runs: failed\n" in printed
    assert (
        "  not understood, 1 times: of a kind that is not known: dream, version 3\n"
        in printed
    )


def test_the_running_totals_of_codex_are_summed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def line(
        kind: str, payload: Mapping[str, object], second: int
    ) -> dict[str, object]:
        return {"timestamp": stamp(second), "type": kind, "payload": payload}

    def totals(
        new_input: int, cached: int, output: int, second: int
    ) -> dict[str, object]:
        usage = {
            "input_tokens": new_input + cached,
            "cached_input_tokens": cached,
            "cache_write_input_tokens": 0,
            "output_tokens": output,
            "reasoning_output_tokens": 0,
            "total_tokens": new_input + cached + output,
        }
        info = {"total_token_usage": usage, "last_token_usage": usage}
        return line("event_msg", {"type": "token_count", "info": info}, second)

    session = "0198c0de-0000-7000-8000-000000000001"
    head = {
        "id": session,
        "timestamp": stamp(0),
        "cwd": "/work/app",
        "cli_version": "0.145.0",
    }
    path = put(
        tmp_path / f"rollout-2026-09-01T09-00-00-{session}.jsonl",
        line("session_meta", head, 0),
        line("turn_context", {"cwd": "/work/app", "model": "gpt-5.4"}, 0),
        totals(new_input=1000, cached=0, output=100, second=1),
        totals(new_input=3000, cached=2000, output=300, second=2),
        totals(new_input=3000, cached=2000, output=300, second=3),
    )

    assert main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert "  responses: 2, 2 with tokens; totals stated 0 times\n" in printed
    tokens = "output 300, input 3000, read from the cache 2000, written to it 0"
    assert f"  tokens: {tokens}\n" in printed


def test_a_file_of_no_harness_is_said_to_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = put(tmp_path / "notes.txt", b"x")
    assert main([str(path)]) == 1
    assert str(path) in capsys.readouterr().out
