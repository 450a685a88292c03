"""Transcripts: time stamps, the exact reading of odd lines, the short way through plain ones, windows, and files."""

import errno
import json
import os
import socket
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Unpack

import pytest
from helpers.doors import ends, make_fifo, watched_doors
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from scoring.evidence.transcripts.facts import (
    BASH,
    COVERED,
    LOOP_STATE,
    TESTS,
    IterationWindow,
    ReadingOptions,
    TranscriptFacts,
    TranscriptPlaces,
    timestamp_ns,
)
from scoring.evidence.transcripts.lines import chunks
from scoring.evidence.transcripts.reference import PlainEvent, ReferenceLines, reference_scan
from scoring.evidence.transcripts.reference_exact import Event, read_exactly
from scoring.evidence.transcripts.scan import Scan

pytestmark = pytest.mark.sampled(3)

MIB = 1 << 20
NS = 1_000_000_000
STAMP = "2026-04-12T14:10:00Z"
TIME = 1_776_003_000 * NS
LARGEST = 2**63 - 1


def transcript_scan(*directories: Path, **reading: Unpack[ReadingOptions]) -> Scan:
    """The reading of the files directly inside some folders."""
    return reference_scan(TranscriptPlaces(Path("/nowhere"), directories), **reading)


Read = Callable[[bytes], PlainEvent | None]

_TAUGHT = ReferenceLines()


def read_short(given: bytes) -> PlainEvent | None:
    """Read a line the short way, by a reader that has met the keys before and so has no reason to hesitate."""
    other = '"x":1,"other":1,"toolUseResult":1'
    usages = f'"usage":{{{other}}},"info":{{"last_token_usage":{{{other}}},{other}}}'
    for known in (
        f'{{"timestamp":"{STAMP}",{other},"message":{{{other},{usages},"content":[{{"input":{{{other}}},{other}}}]}}}}',
        f'{{"timestamp":"{STAMP}","payload":{{"type":"token_count",{usages},{other}}}}}',
    ):
        assert _TAUGHT.read(known.encode()) is not None
    first = _TAUGHT.read(given)
    assert _TAUGHT.read(given) == first
    return first


both = pytest.mark.parametrize("read", [pytest.param(read_short, id="short"), pytest.param(read_exactly, id="exact")])
"""Every line is read both ways: the short way must say what the exact one says."""


class TestTimes:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param("1970-01-01T00:00:00Z", 0, id="start-of-the-epoch"),
            pytest.param("1969-12-31T23:59:59Z", -NS, id="before-the-epoch"),
            pytest.param("1969-12-31T23:59:59.999Z", -1_000_000, id="fraction-before-the-epoch"),
            pytest.param(STAMP, TIME, id="no-fraction"),
            pytest.param("2026-04-12T14:10:00.1Z", TIME + 100_000_000, id="tenth"),
            pytest.param("2026-04-12T14:10:00.123Z", TIME + 123_000_000, id="milliseconds"),
            pytest.param("2026-04-12T14:10:59.999Z", TIME + 59_999_000_000, id="last-millisecond-of-the-minute"),
            pytest.param("2026-04-12T14:10:00.123456789Z", TIME + 123_456_789, id="nanoseconds"),
            pytest.param("2026-04-12T14:10:00.1234567899Z", TIME + 123_456_789, id="digits-beyond-are-cut"),
            pytest.param("2026-04-12T14:10:00.0000000001Z", TIME, id="less-than-a-nanosecond"),
            pytest.param(f"2026-04-12T14:10:00.5{'0' * 500}Z", TIME + 500_000_000, id="many-digits"),
            pytest.param("2026-04-12T14:10:00,5Z", TIME + 500_000_000, id="comma"),
            pytest.param("2026-04-12T14:10:00,123Z", TIME + 123_000_000, id="comma-and-milliseconds"),
            pytest.param("2026-04-12T14:10:00+00:00", TIME, id="offset-of-nothing"),
            pytest.param("2026-04-12T14:10:00-00:00", TIME, id="negative-offset-of-nothing"),
            pytest.param("2026-04-12T16:10:00+02:00", TIME, id="east"),
            pytest.param("2026-04-12T08:40:00.25-05:30", TIME + 250_000_000, id="west-with-a-fraction"),
            pytest.param("2026-04-13T14:09:00+23:59", TIME, id="largest-real-offset"),
            pytest.param("2026-04-13T14:10:00+24:00", TIME, id="offset-of-a-day"),
            pytest.param("2026-04-12T15:10:00+00:60", TIME, id="offset-of-sixty-minutes"),
            pytest.param("2026-04-12T4:10:00Z", TIME - 36_000 * NS, id="hour-of-one-digit"),
            pytest.param(
                "2026-04-12T4:10:00.1234Z", TIME - 36_000 * NS + 123_400_000, id="hour-of-one-digit-same-length"
            ),
            pytest.param("2024-02-29T00:00:00Z", 1_709_164_800 * NS, id="leap-year"),
            pytest.param("2000-02-29T00:00:00Z", 951_782_400 * NS, id="leap-year-of-a-fourth-century"),
            pytest.param("2026-12-31T23:59:59Z", 1_798_761_599 * NS, id="last-second-of-a-year"),
            pytest.param("2262-04-11T23:47:16.854775807Z", LARGEST, id="largest"),
            pytest.param("2262-04-11T23:47:16.854775808Z", LARGEST, id="beyond-the-largest"),
            pytest.param("2262-04-11T23:47:16.999Z", LARGEST, id="beyond-the-largest-by-milliseconds"),
            pytest.param("9999-12-31T23:59:59Z", LARGEST, id="far-beyond-the-largest"),
            pytest.param("9999-12-31T23:59:59.999Z", LARGEST, id="far-beyond-the-largest-with-milliseconds"),
            pytest.param("0001-01-01T00:00:00.123Z", -LARGEST, id="far-below-the-smallest-with-milliseconds"),
            pytest.param("1677-09-21T00:12:43.145224193Z", -LARGEST, id="smallest"),
            pytest.param("0000-02-29T00:00:00Z", -LARGEST, id="year-zero-is-a-leap-year"),
        ],
    )
    def test_that_count(self, text: str, expected: int) -> None:
        assert timestamp_ns(text) == expected
        assert timestamp_ns(text) == expected  # now from what is kept

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="empty"),
            pytest.param("2026-04-12", id="date"),
            pytest.param("2026-04-12T14:10:00", id="no-zone"),
            pytest.param("2026-04-12T14:10:00.123", id="fraction-and-no-zone"),
            pytest.param("2026-04-12T14:10Z", id="no-seconds"),
            pytest.param("2026-04-12T14:10:00z", id="small-z"),
            pytest.param("2026-04-12t14:10:00Z", id="small-t"),
            pytest.param("2026-04-12 14:10:00Z", id="space-for-t"),
            pytest.param("2026-04-12T14:10:00 Z", id="space-before-z"),
            pytest.param(" 2026-04-12T14:10:00Z", id="space-before"),
            pytest.param("2026-04-12T14:10:00Z ", id="space-after"),
            pytest.param("2026-04-12T14:10:00Z\n", id="line-end-after"),
            pytest.param("2026-04-12T14:10:00.Z", id="point-without-digits"),
            pytest.param("2026-04-12T14:10:00.1.2Z", id="two-points"),
            pytest.param("2026-04-12T14:10:00+0000", id="offset-without-a-colon"),
            pytest.param("2026-04-12T14:10:00+00", id="offset-without-minutes"),
            pytest.param("2026-04-12T14:10:00+0:00", id="offset-of-one-digit"),
            pytest.param("2026-04-12T14:10:00+24:01Z", id="offset-and-z"),
            pytest.param("2026-04-12T14:10:00+25:00", id="offset-beyond-a-day"),
            pytest.param("2026-04-12T14:10:00-00:61", id="offset-beyond-an-hour-of-minutes"),
            pytest.param("2026-04-12T14:10:60Z", id="leap-second"),
            pytest.param("2026-04-12T14:60:00Z", id="minute-60"),
            pytest.param("2026-04-12T24:00:00Z", id="hour-24"),
            pytest.param("2026-04-12T14:1:00Z", id="minute-of-one-digit"),
            pytest.param("2026-4-12T14:10:00Z", id="month-of-one-digit"),
            pytest.param("2026-04-2T14:10:00Z", id="day-of-one-digit"),
            pytest.param("26-04-12T14:10:00Z", id="year-of-two-digits"),
            pytest.param("12026-04-12T14:10:00Z", id="year-of-five-digits"),
            pytest.param("-026-04-12T14:10:00Z", id="negative-year"),
            pytest.param("2026-00-12T14:10:00Z", id="month-0"),
            pytest.param("2026-13-12T14:10:00Z", id="month-13"),
            pytest.param("2026-04-00T14:10:00Z", id="day-0"),
            pytest.param("2026-04-31T14:10:00Z", id="day-31-of-april"),
            pytest.param("2026-02-29T00:00:00Z", id="no-leap-year"),
            pytest.param("1900-02-29T00:00:00Z", id="no-leap-year-of-a-century"),
            pytest.param("2026-04-12T14:10:0\u0663Z", id="digit-of-another-script"),
            pytest.param("2026-04-12T14:10:00.12\u0663Z", id="digit-of-another-script-in-milliseconds"),
            pytest.param("2026-04-12T14:10:\u0660\u0660.123Z", id="digits-of-another-script-in-seconds"),
            pytest.param("2026-04-12T14:10:00.12xZ", id="letter-in-milliseconds"),
            pytest.param("2026-04-12T14:10:+1.123Z", id="sign-in-seconds"),
            pytest.param("2026/04/12T14:10:00Z", id="slashes"),
            pytest.param("20260412T141000Z", id="basic-form"),
            pytest.param("1776003000", id="seconds"),
        ],
    )
    def test_that_do_not(self, text: str) -> None:
        for form in (text, text.replace("00Z", "00.123Z").replace("60Z", "60.123Z").replace("00z", "00.123z")):
            assert timestamp_ns(form) is None
            assert timestamp_ns(form) is None

    @settings(deadline=None)
    @given(
        st.datetimes(datetime(1700, 1, 1), datetime(2262, 1, 1)),
        st.sampled_from(["microseconds", "milliseconds", "seconds"]),
        st.integers(-24 * 60, 24 * 60),
    )
    def test_agree_with_the_calendar(self, moment: datetime, precision: str, offset: int) -> None:
        unit = {"microseconds": 1, "milliseconds": 1_000, "seconds": 1_000_000}[precision]
        microseconds = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) // unit * unit
        text = moment.isoformat(timespec=precision)
        assert timestamp_ns(f"{text}Z") == microseconds * 1_000
        zone = f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"
        assert timestamp_ns(text + zone) == (microseconds - offset * 60_000_000) * 1_000


def compact(value: Any) -> bytes:
    """Write JSON as transcripts are written: without a space, and letters as they are."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def line(**fields: Any) -> bytes:
    return compact({"timestamp": STAMP, **fields})


def claude(**message: Any) -> bytes:
    return line(type="assistant", message=message)


def codex(**payload: Any) -> bytes:
    return line(type="event_msg", payload=payload)


def raw(rest: str, kind: str = "assistant") -> bytes:
    """Return a line whose rest is written by hand, as no JSON writer would."""
    return f'{{"type":"{kind}","timestamp":"{STAMP}",{rest}}}'.encode()


USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_read_input_tokens": 80,
    "cache_creation_input_tokens": 20,
}


def said(
    turns: int = 0,
    input_tokens: int = 0,
    output_tokens: int = 0,
    cache_reads: int = 0,
    cache_creations: int = 0,
    tool_calls: int = 0,
    tool_errors: int = 0,
    covered: int = 1,
    bash: int = 0,
    tests: int = 0,
    loop_state: int = 0,
) -> Event:
    """Return what a line at :data:`TIME` contributes."""
    flags = covered * COVERED | bash * BASH | tests * TESTS | loop_state * LOOP_STATE
    tokens = (input_tokens, output_tokens, cache_reads, cache_creations)
    return Event(TIME, flags, tool_calls, tool_errors, tokens if turns else None)


TURN = said(1, 10, 5, 80, 20)
SEEN = said()
"""A line that says nothing but that a transcript covers its time."""

LAST = {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 9}
CODEX_TURN = said(1, 100, 9, 60, 40)


def codex_usage(**usage: Any) -> bytes:
    return codex(type="token_count", info={"last_token_usage": usage})


class TestLines:
    @both
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            pytest.param(claude(usage=USAGE), TURN, id="turn"),
            pytest.param(line(type="user", message={"usage": USAGE}), TURN, id="turn-of-a-user-line"),
            pytest.param(line(type="system", message={"usage": USAGE}), SEEN, id="other-type"),
            pytest.param(line(message={"usage": USAGE}), SEEN, id="no-type"),
            pytest.param(line(type="Assistant", message={"usage": USAGE}), SEEN, id="type-keeps-its-case"),
            pytest.param(line(type="assistant"), SEEN, id="no-message"),
            pytest.param(line(type="assistant", message=None), SEEN, id="null-message"),
            pytest.param(claude(usage={}), said(1), id="empty-usage-is-a-turn"),
            pytest.param(claude(usage=None), SEEN, id="null-usage-is-no-turn"),
            pytest.param(claude(), SEEN, id="no-usage"),
            pytest.param(claude(usage={"input_tokens": None, "output_tokens": 3}), said(1, 0, 3), id="null"),
            pytest.param(claude(usage={"input_tokens": -4}), said(1, -4), id="negative-count"),
            pytest.param(claude(usage={"input_tokens": LARGEST}), said(1, LARGEST), id="largest-count"),
            pytest.param(
                claude(usage={"input_tokens": -LARGEST - 1}),
                said(1, -LARGEST - 1),
                id="smallest-count",
            ),
            pytest.param(raw('"message":{"usage":{"input_tokens":-0}}'), said(1), id="minus-zero"),
            pytest.param(claude(usage={**USAGE, "service_tier": 5, "x": {"y": [1.5]}}), TURN, id="other-keys-of-usage"),
            pytest.param(claude(usage=USAGE, id=5, model=[], role=None), TURN, id="other-keys-of-a-message"),
            pytest.param(claude(usage=USAGE, role="anyone"), TURN, id="any-role"),
            pytest.param(
                line(type="assistant", message={"usage": USAGE}, uuid=7, requestId={}, isSidechain="x"),
                TURN,
                id="other-keys-of-a-line",
            ),
        ],
    )
    def test_of_claude_count_turns(self, read: Read, given: bytes, expected: Event) -> None:
        assert read(given) == expected

    @both
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            pytest.param(claude(content=[{"type": "tool_result"}]), said(tool_calls=1), id="call"),
            pytest.param(
                claude(content=[{"type": "tool_result", "is_error": True}]),
                said(tool_calls=1, tool_errors=1),
                id="error",
            ),
            pytest.param(
                claude(content=[{"type": "tool_result", "is_error": False}]),
                said(tool_calls=1),
                id="no-error",
            ),
            pytest.param(
                claude(content=[{"type": "tool_result", "is_error": None}]),
                said(tool_calls=1),
                id="null-error",
            ),
            pytest.param(claude(content=[{"type": "text", "is_error": True}]), SEEN, id="other-item"),
            pytest.param(claude(content=[{"is_error": True}]), SEEN, id="item-without-a-type"),
            pytest.param(claude(content=[{"type": "Tool_Result"}]), SEEN, id="type-keeps-its-case"),
            pytest.param(claude(content=[{"type": "tool_use", "name": "Bash"}]), said(bash=1), id="use"),
            pytest.param(
                claude(content=[{"type": "tool_result", "is_error": True}, {"type": "text"}, {"type": "tool_result"}]),
                said(tool_calls=2, tool_errors=1),
                id="several",
            ),
            pytest.param(claude(content=[]), SEEN, id="no-items"),
            pytest.param(claude(content=None), SEEN, id="null-content"),
            pytest.param(claude(content=[None, {"type": "tool_result"}]), said(tool_calls=1), id="null-item"),
            pytest.param(
                claude(content=[{"type": "tool_result", "tool_use_id": 5, "content": {"a": 1}}]),
                said(tool_calls=1),
                id="other-keys-of-an-item",
            ),
        ],
    )
    def test_of_claude_count_tool_calls(self, read: Read, given: bytes, expected: Event) -> None:
        assert read(given) == expected

    @both
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            pytest.param(codex(type="token_count", info={"last_token_usage": LAST}), CODEX_TURN, id="turn"),
            pytest.param(codex_usage(input_tokens=50, cached_input_tokens=80), said(1, 50, 0, 80, 0), id="more"),
            pytest.param(codex_usage(), said(1), id="empty-usage-is-a-turn"),
            pytest.param(codex_usage(cached_input_tokens=None, input_tokens=7), said(1, 7, 0, 0, 7), id="null"),
            pytest.param(codex(type="token_count", info={"last_token_usage": None}), SEEN, id="null-usage"),
            pytest.param(codex(type="token_count", info={}), SEEN, id="no-usage"),
            pytest.param(codex(type="token_count", info=None), SEEN, id="null-info"),
            pytest.param(codex(type="token_count"), SEEN, id="no-info"),
            pytest.param(codex(type="agent_message", info={"last_token_usage": LAST}), SEEN, id="other-payload"),
            pytest.param(codex(info={"last_token_usage": LAST}), SEEN, id="payload-without-a-type"),
            pytest.param(
                codex(type="token_count", info={"last_token_usage": LAST, "total_token_usage": "x"}, rate_limits=5),
                CODEX_TURN,
                id="other-keys",
            ),
            pytest.param(codex_usage(**LAST, reasoning_output_tokens="x"), CODEX_TURN, id="other-keys-of-usage"),
            pytest.param(line(payload=None), SEEN, id="null-payload"),
            pytest.param(
                line(type="assistant", payload=None, message={"usage": USAGE}), SEEN, id="null-payload-beside-a-message"
            ),
            pytest.param(
                line(type="assistant", payload={"type": "x"}, message={"usage": USAGE}),
                SEEN,
                id="payload-beside-a-message",
            ),
            pytest.param(
                line(payload={"type": "token_count", "info": {"last_token_usage": LAST}}, message={"content": []}),
                CODEX_TURN,
                id="codex-turn-beside-a-message",
            ),
            pytest.param(
                line(payload={"type": "token_count", "info": {"last_token_usage": LAST}}, message={"content": "x"}),
                CODEX_TURN._replace(flags=0),
                id="codex-turn-beside-a-message-of-text",
            ),
        ],
    )
    def test_of_codex_count_turns(self, read: Read, given: bytes, expected: Event) -> None:
        assert read(given) == expected

    @both
    @pytest.mark.parametrize(
        "given",
        [
            pytest.param(claude(usage=[]), id="usage-is-a-list"),
            pytest.param(claude(usage="x"), id="usage-is-text"),
            pytest.param(claude(usage={**USAGE, "input_tokens": "5"}), id="count-is-text"),
            pytest.param(claude(usage={**USAGE, "input_tokens": 1.0}), id="count-has-a-fraction"),
            pytest.param(raw('"message":{"usage":{"output_tokens":1e2}}'), id="count-has-an-exponent"),
            pytest.param(claude(usage={**USAGE, "input_tokens": LARGEST + 1}), id="count-beyond-63-bits"),
            pytest.param(claude(usage={**USAGE, "input_tokens": 2**64}), id="count-beyond-64-bits"),
            pytest.param(claude(usage={**USAGE, "input_tokens": -LARGEST - 2}), id="count-below-63-bits"),
            pytest.param(claude(usage={**USAGE, "input_tokens": 10**200}), id="count-of-200-digits"),
            pytest.param(claude(usage={**USAGE, "input_tokens": True}), id="count-is-true"),
            pytest.param(claude(usage={**USAGE, "input_tokens": {}}), id="count-is-an-object"),
            pytest.param(claude(usage=USAGE, role=7), id="role-is-a-number"),
            pytest.param(line(type=5, message={"usage": USAGE}), id="type-is-a-number"),
            pytest.param(line(type="x", payload="token_count"), id="payload-is-text"),
            pytest.param(line(type="x", payload=[]), id="payload-is-a-list"),
            pytest.param(codex(type=5, info={"last_token_usage": LAST}), id="payload-type-is-a-number"),
            pytest.param(codex(type="token_count", info=[]), id="info-is-a-list"),
            pytest.param(codex(type="token_count", info={"last_token_usage": [1]}), id="last-usage-is-a-list"),
            pytest.param(codex_usage(**LAST | {"output_tokens": "1"}), id="codex-count-is-text"),
            pytest.param(codex_usage(**LAST | {"cached_input_tokens": 1.5}), id="codex-count-has-a-fraction"),
        ],
    )
    def test_with_a_wrong_type_among_the_tokens_are_seen_but_not_counted(self, read: Read, given: bytes) -> None:
        assert read(given) == SEEN

    @both
    @pytest.mark.parametrize(
        "given",
        [
            pytest.param(line(type="assistant", message=5), id="message-is-a-number"),
            pytest.param(line(type="assistant", message=[]), id="message-is-a-list"),
            pytest.param(claude(usage=USAGE, content="text"), id="content-is-text"),
            pytest.param(claude(usage=USAGE, content={"a": 1}), id="content-is-an-object"),
            pytest.param(claude(usage=USAGE, content=[1]), id="item-is-a-number"),
            pytest.param(claude(usage=USAGE, content=[{"type": "text"}, "x"]), id="item-is-text"),
            pytest.param(claude(usage=USAGE, content=[[]]), id="item-is-a-list"),
            pytest.param(claude(usage=USAGE, content=[{"type": 5}]), id="item-type-is-a-number"),
            pytest.param(line(type="assistant", timestamp=5, message={"usage": USAGE}), id="timestamp-is-a-number"),
            pytest.param(line(type="assistant", timestamp=None, message={"usage": USAGE}), id="timestamp-is-null"),
            pytest.param(line(type="assistant", timestamp="yesterday", message={"usage": USAGE}), id="no-time"),
            pytest.param(compact({"type": "assistant", "message": {"usage": USAGE}}), id="no-timestamp"),
        ],
    )
    def test_with_a_wrong_type_in_both_views_contribute_nothing(self, read: Read, given: bytes) -> None:
        assert read(given) is None

    @both
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            pytest.param(
                claude(usage=USAGE, content=[{"type": "tool_use", "name": 5}]), TURN._replace(flags=0), id="name"
            ),
            pytest.param(
                claude(content=[{"type": "tool_result", "is_error": 0}, {"type": "tool_use", "name": "Bash"}]),
                said(bash=1),
                id="is-error-is-a-number",
            ),
            pytest.param(
                line(message={"usage": {"input_tokens": "x"}, "content": [{"type": "tool_use", "name": "Bash"}]}),
                said(bash=1),
                id="usage-of-a-line-that-is-no-turn",
            ),
            pytest.param(
                line(payload={"type": "token_count", "info": {"last_token_usage": LAST}}, message=5),
                CODEX_TURN._replace(flags=0),
                id="message-of-a-codex-line",
            ),
            pytest.param(
                line(payload={"type": "token_count", "info": {"last_token_usage": LAST}}, message={"usage": 5}),
                CODEX_TURN,
                id="usage-of-a-codex-line",
            ),
        ],
    )
    def test_are_typed_by_each_view_for_itself(self, read: Read, given: bytes, expected: Event) -> None:
        assert read(given) == expected


def tool(name: str | None, **given: Any) -> bytes:
    return claude(content=[{"type": "tool_use", "name": name, **given}])


class TestChecks:
    @both
    @pytest.mark.parametrize(
        "command",
        [
            "pytest",
            "cd x && go test ./...",
            "npm test",
            "yarn test --watch",
            "make test-unit",
            "cargo test",
            "bundle exec rspec",
            "vendor/bin/phpunit",
            "echo pytest-like",
        ],
    )
    def test_know_a_test_command(self, read: Read, command: str) -> None:
        assert read(tool("Bash", input={"command": command})) == said(bash=1, tests=1)

    @both
    @pytest.mark.parametrize(
        "given",
        [
            pytest.param({"command": "go  test"}, id="two-spaces"),
            pytest.param({"command": "PYTEST"}, id="capitals"),
            pytest.param({"command": "npm run test"}, id="other-command"),
            pytest.param({"command": ""}, id="empty"),
            pytest.param({"command": 5}, id="number"),
            pytest.param({"command": ["pytest"]}, id="list"),
            pytest.param({"command": None}, id="null"),
            pytest.param({"description": "pytest"}, id="other-key"),
            pytest.param({"file_path": "pytest"}, id="path"),
            pytest.param("pytest", id="input-is-text"),
            pytest.param(["pytest"], id="input-is-a-list"),
            pytest.param(None, id="input-is-null"),
        ],
    )
    def test_know_no_test_command_but_the_tool(self, read: Read, given: Any) -> None:
        assert read(tool("Bash", input=given)) == said(bash=1)

    @both
    def test_know_the_tool_without_an_input(self, read: Read) -> None:
        assert read(tool("Bash")) == said(bash=1)

    @both
    @pytest.mark.parametrize("path", ["loop-state.md", "/repo/.agents/loop-state.md", "not-loop-state.md"])
    def test_know_the_loop_state(self, read: Read, path: str) -> None:
        assert read(tool("Read", input={"file_path": path})) == said(loop_state=1)

    @both
    @pytest.mark.parametrize(
        "given",
        [
            pytest.param(tool("Read", input={"file_path": "loop-state.md.bak"}), id="other-end"),
            pytest.param(tool("Read", input={"file_path": "Loop-State.md"}), id="capitals"),
            pytest.param(tool("Read", input={"file_path": 5}), id="number"),
            pytest.param(tool("Read", input={"path": "loop-state.md"}), id="other-key"),
            pytest.param(tool("Read"), id="no-input"),
            pytest.param(tool("Write", input={"file_path": "loop-state.md"}), id="other-tool"),
            pytest.param(tool("bash", input={"command": "pytest"}), id="tool-keeps-its-case"),
            pytest.param(tool("BashOutput", input={"command": "pytest"}), id="longer-name"),
            pytest.param(tool(None, input={"command": "pytest"}), id="null-name"),
            pytest.param(claude(content=[{"name": "Bash", "input": {"command": "pytest"}}]), id="no-type"),
            pytest.param(claude(content=[{"type": "text", "name": "Bash"}]), id="other-type"),
        ],
    )
    def test_know_nothing_else(self, read: Read, given: bytes) -> None:
        assert read(given) == SEEN

    @both
    @pytest.mark.parametrize("kind", ["assistant", "user", "system", "", "x"])
    def test_do_not_mind_the_type_of_the_line(self, read: Read, kind: str) -> None:
        given = line(
            type=kind, message={"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "pytest"}}]}
        )
        assert read(given) == said(bash=1, tests=1)

    @both
    def test_take_any_of_several_tools(self, read: Read) -> None:
        items = [
            {"type": "tool_use", "name": "Bash", "input": {"command": "pytest"}},
            {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
            {"type": "tool_use", "name": "Read", "input": {"file_path": "loop-state.md"}},
            {"type": "tool_use", "name": "Read", "input": {"file_path": "other.md"}},
        ]
        assert read(claude(content=items)) == said(bash=1, tests=1, loop_state=1)

    @both
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            pytest.param('{"command":"ls","COMMAND":"pytest"}', 1, id="other-case-later"),
            pytest.param('{"COMMAND":"pytest"}', 1, id="other-case"),
            pytest.param('{"command":"pytest","command":"ls"}', 0, id="later-wins"),
            pytest.param('{"command":"pytest","command":null}', 1, id="null-leaves-it"),
            pytest.param('{"command":"pytest","command":5}', 0, id="wrong-type-spoils-it"),
            pytest.param('{"command":"pytest","file_path":5}', 1, id="path-of-no-matter"),
            pytest.param('{"\\u0063ommand":"pytest"}', 1, id="escape-in-the-key"),
            pytest.param('{"command":"\\u0070ytest"}', 1, id="escape-in-the-value"),
        ],
    )
    def test_read_an_odd_input_exactly(self, read: Read, given: str, expected: int) -> None:
        odd = raw(f'"message":{{"content":[{{"type":"tool_use","name":"Bash","input":{given}}}]}}')
        assert read(odd) == said(bash=1, tests=expected)

    @both
    def test_take_the_later_of_two_inputs_whole(self, read: Read) -> None:
        twice = '"input":{"command":"pytest"},"input":{}'
        odd = raw(f'"message":{{"content":[{{"type":"tool_use","name":"Bash",{twice}}}]}}')
        assert read(odd) == said(bash=1)


def usage(reads: int, creations: int) -> str:
    return f'"usage":{{"cache_read_input_tokens":{reads},"cache_creation_input_tokens":{creations}}}'


class TestOddKeys:
    """The habits of the reference's decoder, as ``golden/backfill-duplicate-keys`` shows them, and their neighbours."""

    @both
    @pytest.mark.parametrize(
        ("rest", "expected"),
        [
            pytest.param(
                f'"message":{{{usage(1, 1)}}},"message":{{"usage":{{"cache_read_input_tokens":20}}}}',
                said(1, cache_reads=20, cache_creations=1),
                id="objects-merge",
            ),
            pytest.param(f'"message":{{{usage(40, 1)}}},"message":null', SEEN, id="null-takes-an-object-away"),
            pytest.param(
                f'"message":null,"message":{{{usage(80, 1)}}}',
                said(1, cache_reads=80, cache_creations=1),
                id="object-after-null",
            ),
            pytest.param(f'"message":{{{usage(160, 1)},"usage":null}}', SEEN, id="null-takes-usage-away"),
            pytest.param(
                f'"message":{{{usage(1, 1)},"usage":null,"usage":{{"cache_read_input_tokens":7}}}}',
                said(1, cache_reads=7),
                id="usage-after-null-starts-anew",
            ),
            pytest.param(
                f'"message":{{{usage(320, 1)},"usage":{{"cache_creation_input_tokens":7}}}}',
                said(1, cache_reads=320, cache_creations=7),
                id="usages-merge",
            ),
            pytest.param(
                f'"message":{{{usage(640, 1)},"Usage":{{"cache_read_input_tokens":null}}}}',
                said(1, cache_reads=640, cache_creations=1),
                id="null-leaves-a-count-and-case-does-not-matter",
            ),
            pytest.param(
                '"message":{"usage":{"input_tokens":3,"input_tokens":4}}',
                said(1, 4),
                id="later-count-wins",
            ),
            pytest.param(
                '"message":{"usage":{"input_tokens":"x","input_tokens":4}}', SEEN, id="earlier-wrong-type-spoils"
            ),
            pytest.param('"message":{"usage":[],"usage":{}}', SEEN, id="earlier-usage-of-a-wrong-type-spoils"),
            pytest.param(
                '"message":{"content":[{"type":"tool_result","is_error":true,"is_error":null}]}',
                said(tool_calls=1),
                id="null-takes-an-error-back",
            ),
            pytest.param(
                '"message":{"content":[{"type":"tool_result","is_error":null,"is_error":true}]}',
                said(tool_calls=1, tool_errors=1),
                id="error-after-null",
            ),
            pytest.param(
                '"message":{"content":[{"type":"tool_result"}],"content":[{"is_error":true}]}',
                said(tool_calls=1, tool_errors=1),
                id="items-merge",
            ),
            pytest.param(
                '"message":{"content":[{"type":"tool_result"}],"content":null}', SEEN, id="null-takes-content-away"
            ),
            pytest.param('"message":{"content":[{"type":"tool_result"}],"content":[]}', SEEN, id="shorter-list-wins"),
            pytest.param(
                '"message":{"content":[{"type":"tool_result"}],"content":[{"type":"text"},{"type":"tool_result"}]}',
                said(tool_calls=1),
                id="longer-list-wins",
            ),
            pytest.param(
                '"message":{"content":[{"type":"tool_result"},{"type":"tool_result"}],"content":[{}],"content":[{},{}]}',
                said(tool_calls=2),
                id="items-past-the-end-of-a-shorter-list-come-back",
            ),
            pytest.param(
                '"message":{"content":[{"type":"tool_result"}],"content":[],"content":[{}]}',
                SEEN,
                id="but-not-after-an-empty-one",
            ),
            pytest.param(
                '"message":{"content":[{"type":"tool_result"}],"content":null,"content":[{}]}',
                SEEN,
                id="nor-after-null",
            ),
            pytest.param('"message":{"content":"x","content":[]}', None, id="earlier-content-of-a-wrong-type-spoils"),
        ],
    )
    def test_given_twice(self, read: Read, rest: str, expected: Event | None) -> None:
        assert read(raw(rest)) == expected

    @both
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            pytest.param(
                f'{{"type":"x","type":"assistant","timestamp":"{STAMP}","message":{{"usage":{{}}}}}}',
                said(1),
                id="later-type-wins",
            ),
            pytest.param(
                f'{{"type":"assistant","type":null,"timestamp":"{STAMP}","message":{{"usage":{{}}}}}}',
                said(1),
                id="null-leaves-a-type",
            ),
            pytest.param(
                f'{{"timestamp":"yesterday","timestamp":"{STAMP}"}}',
                SEEN,
                id="later-timestamp-wins",
            ),
            pytest.param(f'{{"timestamp":"{STAMP}","timestamp":"yesterday"}}', None, id="even-when-it-is-no-time"),
            pytest.param(f'{{"timestamp":"{STAMP}","timestamp":null}}', SEEN, id="null-leaves-a-timestamp"),
            pytest.param(
                f'{{"type":"assistant","timestamp":"{STAMP}","message":{{"usage":{{}}}},"payload":{{}},"payload":null}}',
                SEEN,
                id="payload-that-was-taken-away-is-a-payload",
            ),
            pytest.param(
                f'{{"timestamp":"{STAMP}","payload":{{"type":"token_count"}},"payload":{{"info":{{"last_token_usage":{{}}}}}}}}',
                said(1),
                id="payloads-merge",
            ),
            pytest.param(
                f'{{"timestamp":"{STAMP}","payload":{{"type":"token_count","info":{{"last_token_usage":{{"input_tokens":5}}}},'
                '"info":{"last_token_usage":{"cached_input_tokens":2}}}}',
                said(1, 5, 0, 2, 3),
                id="infos-merge",
            ),
        ],
    )
    def test_of_a_line_given_twice(self, read: Read, given: str, expected: Event | None) -> None:
        assert read(given.encode()) == expected

    @both
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            pytest.param(
                f'{{"TYPE":"assistant","TimeStamp":"{STAMP}","Message":{{"USAGE":{{"Cache_Read_Input_Tokens":100}}}}}}',
                said(1, cache_reads=100),
                id="any-case",
            ),
            pytest.param(f'{{"time\u017ftamp":"{STAMP}"}}', SEEN, id="long-s"),
            pytest.param(
                f'{{"type":"user","timestamp":"{STAMP}","message":{{"usage":{{"input_to\u212aens":3}}}}}}',
                said(1, 3),
                id="kelvin",
            ),
            pytest.param(
                f'{{"timestamp":"{STAMP}","PAYLOAD":null,"type":"user","message":{{"usage":{{}}}}}}', SEEN, id="codex"
            ),
            pytest.param(
                f'{{"timestamp":"{STAMP}","payload":{{"TYPE":"token_count","Info":{{"Last_Token_Usage":{{"INPUT_TOKENS":4}}}}}}}}',
                said(1, 4, 0, 0, 4),
                id="any-case-of-codex",
            ),
            pytest.param(
                f'{{"\\u0074ype":"user","timestamp":"{STAMP}","m\\u0065ssage":{{"usage":{{"input_tokens":3}}}}}}',
                said(1, 3),
                id="escapes",
            ),
            pytest.param(f'{{"timestamp ":"{STAMP}"}}', None, id="not-with-a-space"),
            pytest.param(f'{{"t\u0131mestamp":"{STAMP}"}}', None, id="not-with-a-dotless-i"),
            pytest.param(f'{{"time-stamp":"{STAMP}"}}', None, id="not-with-a-dash"),
        ],
    )
    def test_match_without_regard_to_case(self, read: Read, given: str, expected: Event | None) -> None:
        assert read(given.encode()) == expected


class TestText:
    @both
    @pytest.mark.parametrize(
        "given",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b" \t\r", id="blank"),
            pytest.param(b"null", id="null"),
            pytest.param(b"5", id="number"),
            pytest.param(b'"x"', id="text"),
            pytest.param(b"[]", id="list"),
            pytest.param(b"[" + claude(usage=USAGE) + b"]", id="line-in-a-list"),
            pytest.param(b"{}", id="empty-object"),
            pytest.param(b"not json", id="words"),
            pytest.param(claude(usage=USAGE) + b" trailing", id="trailing-words"),
            pytest.param(claude(usage=USAGE) + b"{}", id="two-objects"),
            pytest.param(claude(usage=USAGE) + b",", id="trailing-comma"),
            pytest.param(claude(usage=USAGE)[:-1], id="cut-short"),
            pytest.param(b"\xef\xbb\xbf" + claude(usage=USAGE), id="byte-order-mark"),
            pytest.param(b"\x00" + claude(usage=USAGE), id="nul-before"),
            pytest.param(claude(usage=USAGE) + b"\x00", id="nul-after"),
            pytest.param(b"\xc2\xa0" + claude(usage=USAGE), id="space-that-json-does-not-know"),
            pytest.param(b"\x0c" + claude(usage=USAGE), id="form-feed-before"),
            pytest.param(raw('"message":{"usage":{}},'), id="comma-at-the-end"),
            pytest.param(raw('"message":{"usage":{}},"x":NaN'), id="not-a-number"),
            pytest.param(raw('"message":{"usage":{}},"x":-Infinity'), id="infinity"),
            pytest.param(raw('"message":{"usage":{}},"x":01'), id="leading-zero"),
            pytest.param(raw('"message":{"usage":{}},"x":+1'), id="plus"),
            pytest.param(raw('"message":{"usage":{}},"x":.5'), id="no-digit-before-the-point"),
            pytest.param(raw('"message":{"usage":{}},"x":1.'), id="no-digit-after-the-point"),
            pytest.param(raw('"message":{"usage":{}},"x":True'), id="capital-true"),
            pytest.param(raw('"message":{"usage":{}},\'x\':1'), id="single-quotes"),
            pytest.param(raw('"message":{"usage":{}},"x":"a\tb"'), id="tab-in-text"),
            pytest.param(raw('"message":{"usage":{}},"x":"a\x01b"'), id="control-in-text"),
            pytest.param(raw('"message":{"usage":{}},"x":"\\x41"'), id="unknown-escape"),
            pytest.param(raw('"message":{"usage":{}},"x":"\\u12"'), id="short-escape"),
            pytest.param(raw('"message":{"usage":{}},"x":"\\u 123"'), id="escape-with-a-space"),
            pytest.param(raw('"message":{"usage":{}},"x":"\\u1_23"'), id="escape-with-an-underscore"),
            pytest.param(raw('"message":{"usage":{}},"x":1//comment'), id="comment"),
            pytest.param(raw('"message":{"usage":{}},"x":\u0661'), id="digit-of-another-script"),
        ],
    )
    def test_that_is_not_one_json_object_contributes_nothing(self, read: Read, given: bytes) -> None:
        assert read(given) is None

    @both
    @pytest.mark.parametrize(
        "given",
        [
            pytest.param(b"  " + claude(usage=USAGE) + b" \t\r", id="white-space-around"),
            pytest.param(claude(usage=USAGE).replace(b",", b" ,\t\n"), id="white-space-inside"),
            pytest.param(claude(usage=USAGE, x="\x7f\u2028"), id="delete-and-line-separator"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":"a\xffb"}', id="byte-that-is-no-text"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x\xff":1}', id="byte-that-is-no-text-in-a-key"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":"\xed\xa0\x80"}', id="half-a-character-in-bytes"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":"\xc0\xaf"}', id="overlong-byte-sequence"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":"\xf4\x90\x80\x80"}', id="bytes-beyond-unicode"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":"\xe2\x82"}', id="character-cut-short"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":"\\ud800"}', id="half-a-character"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":"\\udc00\\ud800"}', id="halves-in-the-wrong-order"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"\\ud800":"\\ud83c\\udf89"}', id="half-a-character-in-a-key"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":"\\u0000"}', id="escaped-nul"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":1e999}', id="number-beyond-range-of-no-matter"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":' + b"9" * 5_000 + b"}", id="number-of-5000-digits"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":-18446744073709551616}', id="number-beyond-64-bits"),
            pytest.param(claude(usage=USAGE)[:-1] + b',"x":1,"x":2,"":3,"":4}', id="other-keys-given-twice"),
        ],
    )
    def test_that_is_odd_but_json_counts(self, read: Read, given: bytes) -> None:
        assert read(given) == TURN

    @both
    @pytest.mark.parametrize("depth", [500, 1_010, 9_000])
    @pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
    def test_that_is_nested_deep_where_nobody_looks_counts(
        self, read: Read, depth: int, opening: str, closing: str
    ) -> None:
        nested = opening * depth + "1" + closing * depth
        assert read(claude(usage=USAGE)[:-1] + f',"toolUseResult":{nested}}}'.encode()) == TURN

    @both
    def test_that_is_nested_without_an_end_contributes_nothing(self, read: Read) -> None:
        assert read(claude(usage=USAGE)[:-1] + b',"x":' + b"[" * 1_000_000) is None

    @both
    @pytest.mark.parametrize("core", ["tru", "01", '"open', '"\\x"', "[}", "]", "1]", '{"a" 1}', "1,"])
    def test_that_is_broken_deep_down_contributes_nothing(self, read: Read, core: str) -> None:
        nested = "[" * 1_500 + core + "]" * 1_500
        assert read(claude(usage=USAGE)[:-1] + f',"x":{nested}}}'.encode()) is None

    @both
    @pytest.mark.parametrize("core", ['"]]}}\\"[[{{"', '"\\\\"', "", "1,[2],{}", '{"]":"["}'])
    def test_that_is_whole_deep_down_counts(self, read: Read, core: str) -> None:
        nested = "[" * 1_500 + core + "]" * 1_500
        assert read(claude(usage=USAGE)[:-1] + f',"x":{nested}}}'.encode()) == TURN

    def test_a_reader_is_not_spoilt_by_what_it_read(self) -> None:
        reader = ReferenceLines()
        odd = [b"", b"{", b"[1", claude(usage=USAGE)[:50], raw('"x":"\\ud800"'), b"\xff\xfe", b"[" * 5_000]
        for text in odd:
            reader.read(text)
            assert reader.read(claude(usage=USAGE)) == TURN

    @pytest.mark.sampled(100)
    @pytest.mark.parametrize("count", [1, 300, 1_000, 20_000])
    def test_a_reader_copes_with_any_number_of_other_keys(self, count: int) -> None:
        reader, template = ReferenceLines(), claude(usage=USAGE)[:-1].decode()
        for first in (0, count, 0):  # keys that are new, further ones, and the first ones again
            keys = ",".join(f'"key{n}":{n}' for n in range(first, first + count))
            assert reader.read(f"{template},{keys}}}".encode()) == TURN

    @both
    @pytest.mark.parametrize(
        "key",
        [
            pytest.param('\\"', id="quote"),
            pytest.param("\\\\", id="backslash"),
            pytest.param("\\t", id="tab"),
            pytest.param("\\u0001", id="control"),
            pytest.param("\\u0000", id="nul"),
            pytest.param("\\ud800", id="half-a-character"),
            pytest.param("", id="empty"),
            pytest.param(" ", id="space"),
            pytest.param("\u2028", id="line-separator"),
            pytest.param("class", id="keyword"),
            pytest.param("__init__", id="method"),
            pytest.param("other_0", id="name-that-a-reader-may-use-itself"),
            pytest.param("1", id="digit"),
        ],
    )
    def test_any_other_key_is_of_no_matter(self, read: Read, key: str) -> None:
        assert read(claude(usage=USAGE)[:-1] + f',"{key}":1}}'.encode()) == TURN


# Lines as nobody writes them: names that matter in odd spellings, values that do not fit, and pieces of no JSON at all.

_NAMES = {
    "line": ("timestamp", "type", "message", "payload"),
    "message": ("role", "usage", "content"),
    "usage": ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "item": ("type", "is_error", "name", "input"),
    "input": ("command", "file_path"),
    "payload": ("type", "info"),
    "info": ("last_token_usage",),
    "last_token_usage": ("input_tokens", "cached_input_tokens", "output_tokens"),
}
_LITERALS = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "7",
    "-3",
    "1.0",
    "1e2",
    "1e999",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "-9223372036854775809",
    "9" * 30,
    '""',
    '"x"',
    '"\\u00e9"',
    '"\\ud800"',
    '"a\\tb"',
    "[]",
    "{}",
    "[1,{}]",
    '{"a":[null]}',
    "[" * 300 + "]" * 300,
]
_BROKEN = ["NaN", "01", "+1", "'x'", '"a\tb"', '"\\x"', "", "tru", '"\x01"', "[1,]", "{,}", '"open', "[" * 2_000]
_TEXTS = {
    "timestamp": [STAMP, STAMP, STAMP, "2026-04-12T14:10:00.123Z", "2026-04-12T14:10:00+02:00", "yesterday", ""],
    "line.type": ["assistant", "assistant", "user", "system", ""],
    "item.type": ["tool_use", "tool_use", "tool_result", "tool_result", "text"],
    "payload.type": ["token_count", "token_count", "message"],
    "name": ["Bash", "Read", "Read", "bash"],
    "role": ["assistant"],
    "command": ["pytest -q", "ls"],
    "file_path": ["a/loop-state.md", "b.md"],
}
_PIECES = [b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x00", b"\x01", b"\n", b"\r", b" ", b",", b'"', b"\\"]


class _Writer:
    """Writes lines by chance; the smaller ``oddity``, the plainer. One seed always writes the same lines."""

    def __init__(self, seed: int, oddity: float) -> None:
        self.random = Random(seed)
        self.oddity = oddity

    def odd(self, share: float = 1) -> bool:
        return self.random.random() < self.oddity * share

    def key(self, name: str) -> str:
        if not self.odd():
            return f'"{name}"'
        letters = {"s": "\u017f", "k": "\u212a", "i": "\u0131"}
        spellings = [
            name,
            name.upper(),
            name.title(),
            f"{name} ",
            f"\u00e9{name}",
            f'{name}"',
            f"{name}\\",
            f"\t{name}",
        ]
        spellings += [name.replace(plain, like) for plain, like in letters.items()]
        spelling = self.random.choice(spellings)
        if self.random.random() < 0.3:
            return '"' + "".join(f"\\u{ord(c):04x}" for c in spelling) + '"'
        return json.dumps(spelling, ensure_ascii=self.random.random() < 0.5)

    def value(self, kind: str, name: str) -> str:
        if self.odd():
            return self.random.choice(_LITERALS)
        if self.odd(0.05):
            return self.random.choice(_BROKEN)
        if name == "content":
            return "[" + ",".join(self.object("item") for _ in range(self.random.randrange(4))) + "]"
        if name in _NAMES:
            return self.object(name)
        if texts := _TEXTS.get(name) or _TEXTS.get(f"{kind}.{name}"):
            return json.dumps(self.random.choice(texts))
        if name == "is_error":
            return self.random.choice(["true", "false"])
        return str(self.random.randrange(1_000))

    def object(self, kind: str) -> str:
        names = [name for name in _NAMES[kind] if self.random.random() < 0.7]
        if kind == "line":
            names = ["timestamp", "type", self.random.choice(["message", "message", "payload"])]
        if self.odd():
            names += self.random.choices(_NAMES[kind], k=self.random.randrange(1, 4))
        if self.odd(0.3):
            names = names[1:]
        self.random.shuffle(names)
        pairs = [f"{self.key(name)}:{self.value(kind, name)}" for name in names]
        if self.random.random() < 0.2:
            pairs.insert(self.random.randrange(len(pairs) + 1), f'"other":{self.random.choice(_LITERALS)}')
        return "{" + (self.random.choice([" , ", ",\t"]) if self.odd(0.5) else ",").join(pairs) + "}"

    def line(self) -> bytes:
        return self.object("line").encode("utf-8", "surrogatepass")

    def spoilt(self) -> bytes:
        line = self.line()
        at, piece = self.random.randrange(len(line) + 1), self.random.choice(_PIECES)
        spoilt = [line[:at], line[at:], line[:at] + piece + line[at:], line + b"x", b" " + line + b"\r", line * 2]
        return self.random.choice(spoilt)


_seeds = st.integers(0, 2**64)


def _agree(given: bytes) -> None:
    exact = read_exactly(given)
    assert read_short(given) == exact, given
    assert ReferenceLines().read(given) == exact, given


class TestBothReadings:
    @pytest.mark.sampled(4)
    @pytest.mark.parametrize("oddity", [0, 0.02, 0.1, 0.3])
    @settings(deadline=None)
    @given(seed=_seeds)
    def test_agree(self, oddity: float, seed: int) -> None:
        _agree(_Writer(seed, oddity).line())

    @settings(deadline=None)
    @given(seed=_seeds)
    def test_of_a_spoilt_line_agree(self, seed: int) -> None:
        _agree(_Writer(seed, 0.02).spoilt())

    @settings(deadline=None)
    @given(st.binary(max_size=60))
    def test_of_any_bytes_agree(self, given: bytes) -> None:
        _agree(given)

    @pytest.mark.slow
    def test_are_tried_on_lines_that_count(self) -> None:
        # Twin of the tests above: what they write is no heap of lines that contribute nothing anyway.
        events = [event for seed in range(1_000) if (event := read_exactly(_Writer(seed, 0.02).line()))]
        flags = {flag for event in events for flag in (COVERED, BASH, TESTS, LOOP_STATE) if event.flags & flag}
        assert flags == {COVERED, BASH, TESTS, LOOP_STATE}
        assert sum(event.turn is not None for event in events) > 50
        assert sum(event.tool_errors > 0 for event in events) > 10


def at(seconds: float, **fields: Any) -> bytes:
    """Return a Claude turn some seconds after the time of the other lines, with one cache read."""
    stamp = f"2026-04-12T14:{10 + int(seconds) // 60:02d}:{int(seconds) % 60:02d}.{round(seconds % 1 * NS):09d}Z"
    message = {"usage": {"cache_read_input_tokens": 1}}
    return compact({"type": "assistant", "timestamp": stamp, "message": message, **fields})


def transcript(directory: Path, name: str, *lines: bytes, end: bytes = b"\n") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_bytes(b"\n".join(lines) + end)
    return path


def window(start: float | None, end: float, iteration: int = 1) -> IterationWindow:
    return IterationWindow(iteration, None if start is None else TIME + round(start * NS), TIME + round(end * NS))


ALWAYS = IterationWindow(1, None, LARGEST)


def facts(directories: Sequence[Path], *windows: IterationWindow) -> tuple[list[TranscriptFacts], list[str]]:
    """Return what lies in each window, and the warnings."""
    warnings: list[str] = []
    with transcript_scan(*directories, warn=warnings.append) as scan:
        return scan.facts(windows or [ALWAYS]), warnings


def turns(directory: Path, *windows: IterationWindow) -> list[int]:
    found, warnings = facts([directory], *windows)
    assert warnings == []
    return [window.turns for window in found]


class TestWindows:
    @pytest.mark.parametrize(
        ("seconds", "expected"),
        [
            pytest.param(10.0, [0], id="at-the-start"),
            pytest.param(10.000000001, [1], id="just-after-the-start"),
            pytest.param(15.0, [1], id="inside"),
            pytest.param(20.0, [1], id="at-the-end"),
            pytest.param(20.000000001, [0], id="just-after-the-end"),
            pytest.param(0.0, [0], id="before"),
            pytest.param(30.0, [0], id="after"),
        ],
    )
    def test_are_open_at_the_start_and_closed_at_the_end(
        self, tmp_path: Path, seconds: float, expected: list[int]
    ) -> None:
        transcript(tmp_path, "a.jsonl", at(seconds))
        assert turns(tmp_path, window(10, 20)) == expected

    def test_without_a_start_reach_back_to_the_beginning(self, tmp_path: Path) -> None:
        transcript(tmp_path, "a.jsonl", at(0, timestamp="1800-01-01T00:00:00Z"), at(20), at(21))
        assert turns(tmp_path, window(None, 20)) == [2]

    @pytest.mark.parametrize(("start", "end"), [(20, 10), (15, 15)], ids=["backwards", "of-no-length"])
    def test_that_are_empty_hold_nothing(self, tmp_path: Path, start: int, end: int) -> None:
        transcript(tmp_path, "a.jsonl", *(at(seconds) for seconds in range(5, 25)))
        assert turns(tmp_path, window(start, end)) == [0]

    def test_that_overlap_both_hold_a_line(self, tmp_path: Path) -> None:
        transcript(tmp_path, "a.jsonl", at(5), at(15), at(25))
        assert turns(tmp_path, window(None, 20, 1), window(10, 30, 2), window(0, 30, 3)) == [2, 2, 3]

    def test_that_follow_each_other_share_no_line(self, tmp_path: Path) -> None:
        transcript(tmp_path, "a.jsonl", *(at(seconds) for seconds in range(31)))
        assert turns(tmp_path, window(None, 10), window(10, 20), window(20, 30)) == [11, 10, 10]

    def test_come_out_in_the_order_they_went_in(self, tmp_path: Path) -> None:
        transcript(tmp_path, "a.jsonl", at(5), at(15), at(16))
        assert turns(tmp_path, window(10, 20), window(None, 10)) == [2, 1]

    def test_do_not_mind_the_order_of_lines(self, tmp_path: Path) -> None:
        transcript(tmp_path, "a.jsonl", at(25), at(5), at(15), at(12))
        assert turns(tmp_path, window(10, 20)) == [2]

    def test_none_at_all_read_nothing(self, tmp_path: Path) -> None:
        transcript(tmp_path, "a.jsonl", at(5))
        with transcript_scan(tmp_path) as scan:
            assert scan.facts([]) == []

    def test_add_up_every_count(self, tmp_path: Path) -> None:
        results = [{"type": "tool_result", "is_error": True}, {"type": "tool_result"}]
        uses = [
            {"type": "tool_use", "name": "Bash", "input": {"command": "pytest"}},
            {"type": "tool_use", "name": "Read", "input": {"file_path": "loop-state.md"}},
        ]
        transcript(
            tmp_path,
            "a.jsonl",
            claude(usage=USAGE, content=results),
            claude(usage=USAGE, content=uses),
            codex_usage(**LAST),
            line(type="other"),
        )
        found, _ = facts([tmp_path])
        assert [replace(one, spent=(), began=None, ended=None) for one in found] == [
            TranscriptFacts(
                turns=3,
                input_tokens=120,
                output_tokens=19,
                cache_reads=220,
                cache_creations=80,
                tool_calls=2,
                tool_errors=1,
                flags=COVERED | BASH | TESTS | LOOP_STATE,
            )
        ]

    def test_wrap_at_64_bits_like_the_reference(self, tmp_path: Path) -> None:
        transcript(tmp_path, "a.jsonl", claude(usage={"input_tokens": LARGEST}), claude(usage={"input_tokens": 1}))
        found, _ = facts([tmp_path])
        assert (found[0].turns, found[0].input_tokens) == (2, -LARGEST - 1)


class TestRates:
    @pytest.mark.parametrize(
        ("reads", "creations", "rate"),
        [
            pytest.param(0, 0, 0.0, id="nothing"),
            pytest.param(3, 1, 0.75, id="some"),
            pytest.param(5, 0, 1.0, id="all-read"),
            pytest.param(0, 5, 0.0, id="none-read"),
            pytest.param(-4, 1, 4 / 3, id="negative-reads"),
            pytest.param(1, -1, 0.0, id="sum-of-nothing"),
            pytest.param(LARGEST, 1, -1.0, id="sum-that-wraps"),
        ],
    )
    def test_of_cache_hits(self, reads: int, creations: int, rate: float) -> None:
        assert TranscriptFacts(cache_reads=reads, cache_creations=creations).cache_hit_rate == rate

    @pytest.mark.parametrize(("calls", "errors", "rate"), [(0, 0, None), (4, 0, 0.0), (4, 1, 0.25), (2, 2, 1.0)])
    def test_of_tool_errors(self, calls: int, errors: int, rate: float | None) -> None:
        assert TranscriptFacts(tool_calls=calls, tool_errors=errors).tool_error_rate == rate


class TestFiles:
    def test_directly_inside_are_read_and_no_others(self, tmp_path: Path) -> None:
        for name in ("a.jsonl", ".jsonl", "with [x] space.jsonl", "\udcff.jsonl"):
            transcript(tmp_path, name, at(1))
        for name in ("UPPER.JSONL", "a.json", "a.jsonl.bak", "a.jsonl.zst", "jsonl", "sub/b.jsonl"):
            transcript((tmp_path / name).parent, Path(name).name, at(1))
        assert turns(tmp_path) == [4]

    def test_of_several_directories_add_up(self, tmp_path: Path) -> None:
        transcript(tmp_path / "one", "a.jsonl", at(1))
        transcript(tmp_path / "two", "a.jsonl", at(1), at(2))
        found, warnings = facts([tmp_path / "one", tmp_path / "two"])
        assert ([window.turns for window in found], warnings) == ([3], [])

    def test_of_no_directories_are_none(self) -> None:
        found, warnings = facts([])
        assert (found, warnings) == ([TranscriptFacts()], [])

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            pytest.param(b"", 0, id="empty"),
            pytest.param(b"\n\n\n", 0, id="blank-lines"),
            pytest.param(at(1) + b"\n\n\n" + at(2) + b"\n", 2, id="blank-lines-between"),
            pytest.param(at(1) + b"\n" + at(2), 2, id="no-line-end-at-the-end"),
            pytest.param(at(1) + b"\r\n" + at(2) + b"\r\n", 2, id="carriage-returns"),
            pytest.param(at(1) + b"\r" + at(2) + b"\r", 0, id="carriage-returns-alone-end-no-line"),
            pytest.param(b"\xef\xbb\xbf" + at(1) + b"\n" + at(2) + b"\n", 1, id="byte-order-mark-costs-the-first-line"),
            pytest.param(at(1) + b"\nnot json\n" + at(2) + b"\n", 2, id="broken-line-between"),
            pytest.param(at(1) + b"\n\x00\x00\x00\n" + at(2) + b"\n", 2, id="nul-bytes-between"),
            pytest.param(at(1) + b"\n" + at(2)[:20], 1, id="cut-short"),
            pytest.param(at(1) + b"\xe2\x80\xa8" + at(2), 0, id="line-separator-ends-no-line"),
            pytest.param(at(1, x="\u0085\u2028") + b"\n", 1, id="line-separators-in-text"),
        ],
    )
    def test_are_read_line_by_line(self, tmp_path: Path, content: bytes, expected: int) -> None:
        (tmp_path / "a.jsonl").write_bytes(content)
        assert turns(tmp_path) == [expected]

    def test_of_many_blocks_lose_no_line(self, tmp_path: Path) -> None:
        filler = at(1, x="y" * 99_000)  # about 40 lines to a block of 4 MiB, whose end falls inside a line
        transcript(tmp_path, "a.jsonl", *([filler] * 100))
        assert turns(tmp_path) == [100]

    def test_behind_a_link_are_read(self, tmp_path: Path) -> None:
        transcript(tmp_path / "real", "a.txt", at(1))
        (tmp_path / "t").mkdir()
        (tmp_path / "t/a.jsonl").symlink_to("../real/a.txt")
        assert turns(tmp_path / "t") == [1]


class TestLongLines:
    def padded(self, size: int) -> bytes:
        bare = at(1, pad="")
        return at(1, pad="x" * (size - len(bare)))

    @pytest.mark.slow
    @pytest.mark.sampled(2)
    @pytest.mark.parametrize("end", [b"\n", b""], ids=["ended", "not-ended"])
    def test_of_16_mib_are_read(self, tmp_path: Path, end: bytes) -> None:
        long = self.padded(16 * MIB)
        assert len(long) == 16 * MIB
        transcript(tmp_path, "a.jsonl", at(1), long, end=end)
        assert turns(tmp_path) == [2]

    @pytest.mark.slow
    @pytest.mark.parametrize("end", [b"\n", b""], ids=["ended", "not-ended"])
    def test_of_one_byte_more_are_skipped_with_a_warning(self, tmp_path: Path, end: bytes) -> None:
        path = transcript(tmp_path, "a.jsonl", at(1), self.padded(16 * MIB + 1), end=end)
        found, warnings = facts([tmp_path])
        assert found[0].turns == 1
        assert warnings == [f"transcript {path}: the line at byte {len(at(1)) + 1} is over 16 MiB; skipped"]

    @pytest.mark.slow
    def test_of_many_blocks_are_skipped_and_the_lines_around_are_read(self, tmp_path: Path) -> None:
        path = transcript(tmp_path, "a.jsonl", at(1), at(2))
        before = path.stat().st_size
        os.truncate(path, 100 * MIB)  # a third line of nothing but NUL bytes, which takes no room
        with path.open("ab") as file:
            file.write(b"\n" + at(3) + b"\n")
        between = path.stat().st_size
        os.truncate(path, 150 * MIB)
        found, warnings = facts([tmp_path])
        assert found[0].turns == 3
        assert warnings == [
            f"transcript {path}: the line at byte {before} is over 16 MiB; skipped",
            f"transcript {path}: the line at byte {between} is over 16 MiB; skipped",
        ]

    @pytest.mark.sampled(10)
    @pytest.mark.parametrize("size", [17 * MIB, 20 * MIB, 24 * MIB - 1, 24 * MIB, 40 * MIB])
    @pytest.mark.parametrize("first", [b"", at(1) + b"\n"], ids=["alone", "second"])
    def test_that_end_the_file_are_told_of_once(self, tmp_path: Path, size: int, first: bytes) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(first)
        os.truncate(path, size - 1)
        with path.open("ab") as file:
            file.write(b"\n")
        found, warnings = facts([tmp_path])
        assert found[0].turns == len(first.splitlines())
        assert warnings == [f"transcript {path}: the line at byte {len(first)} is over 16 MiB; skipped"]


class TestUnreadable:
    def test_missing_directory_is_skipped_with_a_warning(self, tmp_path: Path) -> None:
        transcript(tmp_path / "there", "a.jsonl", at(1))
        found, warnings = facts([tmp_path / "missing", tmp_path / "there"])
        assert found[0].turns == 1
        assert warnings == [f"transcript directory {tmp_path / 'missing'}: no such file or directory; skipped"]

    def test_file_in_place_of_a_directory_is_skipped_with_a_warning(self, tmp_path: Path) -> None:
        path = transcript(tmp_path, "a.jsonl", at(1))
        found, warnings = facts([path])
        assert (found, warnings) == ([TranscriptFacts()], [f"transcript directory {path}: not a directory; skipped"])

    def test_impossible_name_is_skipped_with_a_warning(self, tmp_path: Path) -> None:
        transcript(tmp_path, "a.jsonl", at(1))
        found, warnings = facts([Path("a\0b"), tmp_path])
        assert found[0].turns == 1
        assert len(warnings) == 1

    def test_directory_in_place_of_a_file_is_skipped(self, tmp_path: Path) -> None:
        transcript(tmp_path / "x.jsonl", "b.jsonl", at(1))
        transcript(tmp_path, "a.jsonl", at(1))
        assert turns(tmp_path) == [1]

    def test_fifo_is_skipped_with_one_warning_and_not_waited_for(self, tmp_path: Path) -> None:
        path = make_fifo(tmp_path / "b.jsonl")
        transcript(tmp_path, "a.jsonl", at(1))
        transcript(tmp_path, "c.jsonl", at(1))
        found, warnings = ends(lambda: facts([tmp_path]))
        assert found[0].turns == 2
        assert warnings == [f"transcript {path}: is not a plain file; skipped"]

    def test_fifo_is_not_opened(self, tmp_path: Path) -> None:
        path = make_fifo(tmp_path / "b.jsonl")
        with watched_doors() as doors:
            ends(lambda: facts([tmp_path]))
        assert str(path) not in doors.opened

    def test_socket_is_skipped_with_one_warning(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)  # the path of a socket must be short
        transcript(tmp_path, "a.jsonl", at(1))
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("b.jsonl")
            found, warnings = facts([tmp_path])
        assert found[0].turns == 1
        assert len(warnings) == 1
        assert warnings[0].startswith(f"transcript {tmp_path / 'b.jsonl'}: ")

    @pytest.mark.parametrize(
        ("target", "reason"),
        [
            pytest.param("nowhere", "no such file or directory", id="nowhere"),
            pytest.param("b.jsonl", "too many levels of symbolic links", id="itself"),
        ],
    )
    def test_broken_link_is_skipped_with_one_warning(self, tmp_path: Path, target: str, reason: str) -> None:
        (tmp_path / "b.jsonl").symlink_to(target)
        transcript(tmp_path, "a.jsonl", at(1))
        found, warnings = facts([tmp_path])
        assert found[0].turns == 1
        assert warnings == [f"transcript {tmp_path / 'b.jsonl'}: {reason}; skipped"]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_file_that_may_not_be_read_is_skipped_with_one_warning(self, tmp_path: Path) -> None:
        path = transcript(tmp_path, "b.jsonl", at(1))
        path.chmod(0)
        found, warnings = facts([tmp_path])
        assert (found, warnings) == ([TranscriptFacts()], [f"transcript {path}: permission denied; skipped"])

    def test_file_that_fails_while_it_is_read_is_skipped_with_one_warning(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken = transcript(tmp_path, "b.jsonl", at(1))
        transcript(tmp_path, "a.jsonl", at(1))

        def failing(fd: int, *arguments: Any) -> Any:
            if os.readlink(f"/proc/self/fd/{fd}") == str(broken):
                raise OSError(errno.EIO, "Input/output error")
            return chunks(fd, *arguments)

        monkeypatch.setattr("scoring.evidence.transcripts.lines.chunks", failing)
        found, warnings = facts([tmp_path])
        assert found[0].turns == 1
        assert warnings == [f"transcript {broken}: input/output error; skipped"]

    def test_nobody_has_to_take_the_warnings(self, tmp_path: Path) -> None:
        with transcript_scan(tmp_path / "missing") as scan:
            assert scan.facts([ALWAYS]) == [TranscriptFacts()]


class TestProcesses:
    @pytest.mark.parametrize("processes", [1, 2, 3])
    def test_add_up_to_the_same(self, tmp_path: Path, processes: int) -> None:
        for number in range(5):
            transcript(tmp_path, f"{number}.jsonl", *(at(second) for second in range(number, 20)), b"not json", at(20))
        make_fifo(tmp_path / "5.jsonl")
        (tmp_path / "6.jsonl").symlink_to("nowhere")
        warnings: list[str] = []
        windows = [window(None, 10, 1), window(10, 20, 2)]
        with transcript_scan(tmp_path, warn=warnings.append, processes=processes) as scan:
            found = scan.start().facts(windows)
        assert [window.turns for window in found] == [11 + 10 + 9 + 8 + 7, 5 * 10]
        assert sorted(warnings) == [
            f"transcript {tmp_path}/5.jsonl: is not a plain file; skipped",
            f"transcript {tmp_path}/6.jsonl: no such file or directory; skipped",
        ]

    @pytest.mark.slow
    def test_warn_of_long_lines_too(self, tmp_path: Path) -> None:
        path = transcript(tmp_path, "a.jsonl", at(1), b"x" * (16 * MIB + 1), at(2))
        warnings: list[str] = []
        with transcript_scan(tmp_path, warn=warnings.append, processes=2) as scan:
            assert scan.start().facts([ALWAYS])[0].turns == 2
        assert warnings == [f"transcript {path}: the line at byte {len(at(1)) + 1} is over 16 MiB; skipped"]

    def test_that_are_given_up_leave_nothing_behind(self, tmp_path: Path) -> None:
        transcript(tmp_path, "a.jsonl", at(1))
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        before = sorted(os.listdir("/proc/self/fd")), children.read_text("ascii")
        with transcript_scan(tmp_path, processes=3) as scan:
            scan.start()
        assert (sorted(os.listdir("/proc/self/fd")), children.read_text("ascii")) == before
