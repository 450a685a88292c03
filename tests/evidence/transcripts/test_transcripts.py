"""Transcripts: time stamps, the reading of odd lines, windows, and files."""

import errno
import json
import os
import socket
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Unpack

import pytest
from helpers import tables
from helpers.doors import ends, make_fifo, watched_doors
from helpers.harness_lines import cases
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scoring.evidence.commands.objective_flags import CallFlag
from scoring.evidence.harnesses.scan import Scan
from scoring.evidence.reference.exact_lines import LineContent, read_exactly
from scoring.evidence.reference.transcripts import ReferenceScan
from scoring.evidence.transcripts.events import Response, TokensStated, TokensUsed
from scoring.evidence.transcripts.facts import (
    IterationWindow,
    ReadingOptions,
    TranscriptFacts,
    TranscriptPlaces,
    timestamp_ns,
)
from scoring.evidence.transcripts.opening import chunks

MIB = 1 << 20
NS = 1_000_000_000
STAMP = "2026-04-12T14:10:00Z"
TIME = 1_776_003_000 * NS
LARGEST = 2**63 - 1


def transcript_scan(*directories: Path, **reading: Unpack[ReadingOptions]) -> Scan:
    """The reading of the files directly inside some folders."""
    return ReferenceScan(TranscriptPlaces(Path("/nowhere"), directories), **reading)


class TestTimes:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param("1970-01-01T00:00:00Z", 0, id="start-of-the-epoch"),
            pytest.param("1969-12-31T23:59:59Z", -NS, id="before-the-epoch"),
            pytest.param(
                "2026-04-12T14:10:00.123Z", TIME + 123_000_000, id="milliseconds"
            ),
            pytest.param(
                f"2026-04-12T14:10:00.5{'0' * 500}Z",
                TIME + 500_000_000,
                id="many-digits",
            ),
            pytest.param(
                "2026-04-12T14:10:00,123Z",
                TIME + 123_000_000,
                id="comma-and-milliseconds",
            ),
            pytest.param("2026-04-12T16:10:00+02:00", TIME, id="east"),
            pytest.param(
                "2026-04-12T08:40:00.25-05:30",
                TIME + 250_000_000,
                id="west-with-a-fraction",
            ),
            pytest.param(
                "2026-04-12T15:10:00+00:60", TIME, id="offset-of-sixty-minutes"
            ),
            pytest.param(
                "2026-04-12T4:10:00Z", TIME - 36_000 * NS, id="hour-of-one-digit"
            ),
            pytest.param("2262-04-11T23:47:16.854775807Z", LARGEST, id="largest"),
            pytest.param(
                "2262-04-11T23:47:16.854775808Z", LARGEST, id="beyond-the-largest"
            ),
            pytest.param(
                "9999-12-31T23:59:59.999Z",
                LARGEST,
                id="far-beyond-the-largest-with-milliseconds",
            ),
            pytest.param("1677-09-21T00:12:43.145224193Z", -LARGEST, id="smallest"),
            pytest.param(
                "0000-02-29T00:00:00Z", -LARGEST, id="year-zero-is-a-leap-year"
            ),
        ],
    )
    def test_that_count(self, text: str, expected: int) -> None:
        assert timestamp_ns(text) == expected
        assert timestamp_ns(text) == expected  # now from what is kept

    @pytest.mark.parametrize("text", tables.cases("transcripts", "no times"))
    def test_that_do_not(self, text: str) -> None:
        for form in (
            text,
            text.replace("00Z", "00.123Z")
            .replace("60Z", "60.123Z")
            .replace("00z", "00.123z"),
        ):
            assert timestamp_ns(form) is None
            assert timestamp_ns(form) is None

    @given(
        st.datetimes(datetime(1700, 1, 1), datetime(2262, 1, 1)),
        st.sampled_from(["microseconds", "milliseconds", "seconds"]),
        st.integers(-24 * 60, 24 * 60),
    )
    def test_agree_with_the_calendar(
        self, moment: datetime, precision: str, offset: int
    ) -> None:
        unit = {"microseconds": 1, "milliseconds": 1_000, "seconds": 1_000_000}[
            precision
        ]
        microseconds = (
            (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) // unit * unit
        )
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
    """A line whose rest is written by hand, as no JSON writer would."""
    return f'{{"type":"{kind}","timestamp":"{STAMP}",{rest}}}'.encode()


def raw_usage(rest: str) -> bytes:
    return raw(f'"message":{{"usage":{{{rest}}}}}')


def raw_message(rest: str) -> bytes:
    return raw(f'"message":{{{rest}}}')


def items(*content: Any, **message: Any) -> bytes:
    return claude(content=list(content), **message)


def tool(name: Any, **given: Any) -> bytes:
    return items({"type": "tool_use", "name": name, **given})


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
    bash: int = 0,
    tests: int = 0,
    loop_state: int = 0,
) -> LineContent:
    """What a line at :data:`TIME` contributes."""
    shows = CallFlag.NOTHING
    if bash:
        shows |= CallFlag.SHELL
    if tests:
        shows |= CallFlag.TESTS
    if loop_state:
        shows |= CallFlag.LOOP_STATE
    turn = Response(
        0,
        TIME,
        stated=TokensStated.ALL,
        tokens=TokensUsed(output_tokens, input_tokens, cache_reads, cache_creations),
    )
    return LineContent(0, TIME, shows, tool_calls, tool_errors, turn if turns else None)


TURN = said(1, 10, 5, 80, 20)
SEEN = said()
"""A line that says nothing but that a transcript covers its time."""

LAST = {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 9}
COUNTED = {"type": "token_count", "info": {"last_token_usage": LAST}}
CODEX_TURN = said(1, 100, 9, 60, 40)
CALL = {"type": "tool_result"}
TEST_RUN = {"type": "tool_use", "name": "Bash", "input": {"command": "pytest"}}


def codex_usage(**usage: Any) -> bytes:
    return codex(type="token_count", info={"last_token_usage": usage})


def of_usage(**counts: Any) -> bytes:
    return claude(usage=USAGE | counts)


LINES: dict[str, tuple[bytes, LineContent | None]] = {
    "turn of a user line": (line(type="user", message={"usage": USAGE}), TURN),
    "other type": (line(type="system", message={"usage": USAGE}), SEEN),
    "no type": (line(message={"usage": USAGE}), SEEN),
    "type keeps its case": (line(type="Assistant", message={"usage": USAGE}), SEEN),
    "no message": (line(type="assistant"), SEEN),
    "no usage": (claude(), SEEN),
    "largest count": (claude(usage={"input_tokens": LARGEST}), said(1, LARGEST)),
    "smallest count": (
        claude(usage={"input_tokens": -LARGEST - 1}),
        said(1, -LARGEST - 1),
    ),
    "minus zero": (raw_usage('"input_tokens":-0'), said(1)),
    "no error": (items(CALL | {"is_error": False}), said(tool_calls=1)),
    "null error": (items(CALL | {"is_error": None}), said(tool_calls=1)),
    "other item": (items({"type": "text", "is_error": True}), SEEN),
    "item without a type": (items({"is_error": True}), SEEN),
    "item type keeps its case": (items({"type": "Tool_Result"}), SEEN),
    "several": (
        items(CALL | {"is_error": True}, {"type": "text"}, CALL),
        said(tool_calls=2, tool_errors=1),
    ),
    "no items": (items(), SEEN),
    "codex, empty usage is a turn": (codex_usage(), said(1)),
    "codex, null count": (
        codex_usage(cached_input_tokens=None, input_tokens=7),
        said(1, 7, 0, 0, 7),
    ),
    "codex, no info": (codex(type="token_count"), SEEN),
    "codex, payload without a type": (codex(info={"last_token_usage": LAST}), SEEN),
    "payload beside a message": (
        line(type="assistant", payload={"type": "x"}, message={"usage": USAGE}),
        SEEN,
    ),
    "codex turn beside a message": (
        line(payload=COUNTED, message={"content": []}),
        CODEX_TURN,
    ),
}
"""What lines contribute in which every field has its type."""

NO_COUNT = {
    "count beyond 63 bits": of_usage(input_tokens=LARGEST + 1),
    "count below 63 bits": of_usage(input_tokens=-LARGEST - 2),
    "count of 200 digits": of_usage(input_tokens=10**200),
    "count is true": of_usage(input_tokens=True),
    "count is an object": of_usage(input_tokens={}),
    "last usage is a list": codex(type="token_count", info={"last_token_usage": [1]}),
}
"""Lines with a wrong type among the tokens: they are there, but do not count."""

NO_LINE = {
    "message is a number": line(type="assistant", message=5),
    "item is text": items({"type": "text"}, "x", usage=USAGE),
    "timestamp is null": line(
        type="assistant", timestamp=None, message={"usage": USAGE}
    ),
    "no time": line(type="assistant", timestamp="yesterday", message={"usage": USAGE}),
    "no timestamp": compact({"type": "assistant", "message": {"usage": USAGE}}),
}
"""Lines with a wrong type where tokens and checks need it: they contribute nothing."""

ONE_VIEW: dict[str, tuple[bytes, LineContent | None]] = {
    "is_error": (items(CALL | {"is_error": 0}, TEST_RUN), said(bash=1, tests=1)),
    "usage of no turn": (
        line(message={"usage": {"input_tokens": "x"}, "content": [TEST_RUN]}),
        said(bash=1, tests=1),
    ),
    "content of a codex line": (
        line(payload=COUNTED, message={"content": "x"}),
        replace(CODEX_TURN, shows=None),
    ),
}
"""A wrong type spoils tokens or checks, and leaves the other."""


@cases(
    "given, expected",
    LINES
    | ONE_VIEW
    | {name: (given, SEEN) for name, given in NO_COUNT.items()}
    | {name: (given, None) for name, given in NO_LINE.items()},
)
def test_a_line_contributes_what_its_fields_say(
    given: bytes, expected: LineContent | None
) -> None:
    assert read_exactly(given) == expected


def tool_input(given: str) -> bytes:
    return raw_message(
        f'"content":[{{"type":"tool_use","name":"Bash","input":{given}}}]'
    )


class TestChecks:
    @pytest.mark.parametrize("command", tables.cases("transcripts", "test commands"))
    def test_know_a_test_command(self, command: str) -> None:
        assert read_exactly(tool("Bash", input={"command": command})) == said(
            bash=1, tests=1
        )

    @pytest.mark.parametrize(
        "given",
        [
            *(
                {"command": command}
                for command in (
                    "go  test",
                    "PYTEST",
                    "npm run test",
                    "",
                    5,
                    ["pytest"],
                    None,
                )
            ),
            {"description": "pytest"},
            {"file_path": "pytest"},
            "pytest",
            ["pytest"],
            None,
        ],
        ids=str,
    )
    def test_know_no_test_command_but_the_tool(self, given: Any) -> None:
        assert (
            read_exactly(tool("Bash", input=given))
            == read_exactly(tool("Bash"))
            == said(bash=1)
        )

    @cases(
        "given",
        {
            "other end": tool("Read", input={"file_path": "loop-state.md.bak"}),
            "capitals": tool("Read", input={"file_path": "Loop-State.md"}),
            "number": tool("Read", input={"file_path": 5}),
            "other key": tool("Read", input={"path": "loop-state.md"}),
            "no input": tool("Read"),
            "other tool": tool("Write", input={"file_path": "loop-state.md"}),
            "tool keeps its case": tool("bash", input={"command": "pytest"}),
            "longer name": tool("BashOutput", input={"command": "pytest"}),
            "null name": tool(None, input={"command": "pytest"}),
            "no type": items({"name": "Bash", "input": {"command": "pytest"}}),
            "other type": items({"type": "text", "name": "Bash"}),
        },
    )
    def test_know_nothing_else(self, given: bytes) -> None:
        assert read_exactly(given) == SEEN

    @pytest.mark.parametrize(
        ("given", "expected"), tables.cases("transcripts", "odd inputs")
    )
    def test_read_an_odd_input_exactly(self, given: str, expected: int) -> None:
        assert read_exactly(tool_input(given)) == said(bash=1, tests=expected)


def usage(reads: int, creations: int) -> str:
    counts = (
        f'"cache_read_input_tokens":{reads},"cache_creation_input_tokens":{creations}'
    )
    return f'"usage":{{{counts}}}'


def content(*lists: str) -> bytes:
    """A message with one content after the other; R is a result of a tool."""
    return raw_message(
        ",".join(f'"content":{one.replace("R", json.dumps(CALL))}' for one in lists)
    )


def payload(rest: str) -> bytes:
    return f'{{"timestamp":"{STAMP}",{rest}}}'.encode()


TWICE: dict[str, tuple[bytes, LineContent | None]] = {
    "usage after null starts anew": (
        raw_message(
            f'{usage(1, 1)},"usage":null,"usage":{{"cache_read_input_tokens":7}}'
        ),
        said(1, cache_reads=7),
    ),
    "earlier wrong type spoils": (
        raw_usage('"input_tokens":"x","input_tokens":4'),
        SEEN,
    ),
    "earlier usage of a wrong type spoils": (
        raw_message('"usage":[],"usage":{}'),
        SEEN,
    ),
    "error after null": (
        content('[{"type":"tool_result","is_error":null,"is_error":true}]'),
        said(tool_calls=1, tool_errors=1),
    ),
    "shorter list wins": (content("[R]", "[]"), SEEN),
    "longer list wins": (content("[R]", '[{"type":"text"},R]'), said(tool_calls=1)),
    "items past the end of a shorter list come back": (
        content("[R,R]", "[{}]", "[{},{}]"),
        said(tool_calls=2),
    ),
    "but not after an empty one": (content("[R]", "[]", "[{}]"), SEEN),
    "nor after null": (content("[R]", "null", "[{}]"), SEEN),
    "earlier content of a wrong type spoils": (content('"x"', "[]"), None),
    "null leaves a type": (raw('"type":null,"message":{"usage":{}}'), said(1)),
    "later timestamp wins": (
        f'{{"timestamp":"yesterday","timestamp":"{STAMP}"}}'.encode(),
        SEEN,
    ),
    "even when it is no time": (raw('"timestamp":"yesterday"'), None),
    "null leaves a timestamp": (raw('"timestamp":null'), SEEN),
    "payload that was taken away is a payload": (
        raw('"message":{"usage":{}},"payload":{},"payload":null'),
        SEEN,
    ),
    "payloads merge": (
        payload(
            '"payload":{"type":"token_count"},"payload":{"info":{"last_token_usage":{}}}'
        ),
        said(1),
    ),
    "infos merge": (
        payload(
            '"payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":5}},'
            '"info":{"last_token_usage":{"cached_input_tokens":2}}}'
        ),
        said(1, 5, 0, 2, 3),
    ),
}
"""The habits of the reference's decoder, as ``golden/backfill-duplicate-keys`` shows them."""

SPELLED: dict[str, tuple[str, LineContent | None]] = {
    "long s": (f'{{"time\u017ftamp":"{STAMP}"}}', SEEN),
    "kelvin": (raw_usage('"input_to\u212aens":3').decode(), said(1, 3)),
    "codex": (raw('"PAYLOAD":null,"message":{"usage":{}}').decode(), SEEN),
    "escapes": (
        f'{{"\\u0074ype":"user","timestamp":"{STAMP}",'
        '"m\\u0065ssage":{"usage":{"input_tokens":3}}}',
        said(1, 3),
    ),
    "not with a space": (f'{{"timestamp ":"{STAMP}"}}', None),
    "not with a dotless i": (f'{{"t\u0131mestamp":"{STAMP}"}}', None),
    "not with a dash": (f'{{"time-stamp":"{STAMP}"}}', None),
}
"""Keys match without regard to case."""


@cases(
    "given, expected",
    TWICE | {name: (given.encode(), event) for name, (given, event) in SPELLED.items()},
)
def test_odd_keys_are_read_as_the_reference_reads_them(
    given: bytes, expected: LineContent | None
) -> None:
    assert read_exactly(given) == expected


def turn_with(rest: str | bytes) -> bytes:
    """A turn with something more in the line."""
    return (
        of_usage()[:-1]
        + b","
        + (rest if isinstance(rest, bytes) else rest.encode())
        + b"}"
    )


class TestText:
    @cases(
        "given",
        {
            **{
                text: text.encode()
                for text in ("", " \t\r", "null", "5", '"x"', "[]", "{}", "not json")
            },
            "line in a list": b"[" + of_usage() + b"]",
            "two objects": of_usage() + b"{}",
            "trailing comma": of_usage() + b",",
            "cut short": of_usage()[:-1],
            "nul before": b"\x00" + of_usage(),
            "nul after": of_usage() + b"\x00",
            "space that JSON does not know": b"\xc2\xa0" + of_usage(),
            "comma at the end": raw('"message":{"usage":{}},'),
            "single quotes": turn_with("'x':1"),
            "nested without an end": of_usage()[:-1] + b',"x":' + b"[" * 1_000_000,
        }
        | {
            f"value {value!r}": turn_with(f'"x":{value}')
            for value in (
                "NaN",
                "-Infinity",
                "01",
                "+1",
                ".5",
                "1.",
                "True",
                '"a\tb"',
                '"\x01"',
                '"\\x41"',
                '"\\u12"',
            )
        }
        | {
            f"value {value!r}": turn_with(f'"x":{value}')
            for value in ('"\\u 123"', "1//comment", "\u0661")
        },
    )
    def test_that_is_not_one_json_object_contributes_nothing(
        self, given: bytes
    ) -> None:
        assert read_exactly(given) is None

    @cases(
        "given",
        {
            "white space inside": of_usage().replace(b",", b" ,\t\n"),
            "delete and line separator": claude(usage=USAGE, x="\x7f\u2028"),
            "byte that is no text": turn_with(b'"x":"a\xffb"'),
            "half a character in bytes": turn_with(b'"x":"\xed\xa0\x80"'),
            "overlong byte sequence": turn_with(b'"x":"\xc0\xaf"'),
            "bytes beyond unicode": turn_with(b'"x":"\xf4\x90\x80\x80"'),
            "half a character": turn_with('"x":"\\ud800"'),
            "half a character in a key": turn_with('"\\ud800":"\\ud83c\\udf89"'),
            "escaped nul": turn_with('"x":"\\u0000"'),
            "number beyond range of no matter": turn_with('"x":1e999'),
            "number of 5000 digits": turn_with('"x":' + "9" * 5_000),
            "number beyond 64 bits": turn_with('"x":-18446744073709551616'),
            "other keys given twice": turn_with('"x":1,"x":2,"":3,"":4'),
        }
        | {
            f"key {key!r}": turn_with(f'"{key}":1')
            for key in (
                '\\"',
                "\\\\",
                "\\t",
                "\\u0000",
                "",
                " ",
                "\u2028",
                "class",
                "__init__",
                "other_0",
                "1",
            )
        },
    )
    def test_that_is_odd_but_json_counts(self, given: bytes) -> None:
        assert read_exactly(given) == TURN

    @pytest.mark.parametrize("depth", [500, 1_010, 9_000])
    @pytest.mark.parametrize(
        ("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"]
    )
    def test_that_is_nested_deep_in_another_key_counts(
        self, depth: int, opening: str, closing: str
    ) -> None:
        assert (
            read_exactly(
                turn_with(f'"toolUseResult":{opening * depth}1{closing * depth}')
            )
            == TURN
        )

    @pytest.mark.parametrize("core", ["tru", "01", '"open', "[}", "]", '{"a" 1}', "1,"])
    def test_that_is_broken_deep_down_contributes_nothing(self, core: str) -> None:
        assert (
            read_exactly(turn_with('"x":' + "[" * 1_500 + core + "]" * 1_500)) is None
        )

    @pytest.mark.parametrize("core", ['"]]}}\\"[[{{"', '"\\\\"', "", "1,[2],{}"])
    def test_that_is_whole_deep_down_counts(self, core: str) -> None:
        assert (
            read_exactly(turn_with('"x":' + "[" * 1_500 + core + "]" * 1_500)) == TURN
        )


@given(st.binary(max_size=60))
def test_any_bytes_contribute_something_or_nothing(given: bytes) -> None:
    assert read_exactly(given) is None or isinstance(read_exactly(given), LineContent)


def at(seconds: float, **fields: Any) -> bytes:
    """A Claude turn some seconds after the time of the other lines, with one cache read."""
    minute = 10 + int(seconds) // 60
    second = int(seconds) % 60
    stamp = f"2026-04-12T14:{minute:02d}:{second:02d}.{round(seconds % 1 * NS):09d}Z"
    message = {"usage": {"cache_read_input_tokens": 1}}
    return compact(
        {"type": "assistant", "timestamp": stamp, "message": message, **fields}
    )


def transcript(directory: Path, name: str, *lines: bytes, end: bytes = b"\n") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_bytes(b"\n".join(lines) + end)
    return path


def window(start: float | None, end: float, iteration: int = 1) -> IterationWindow:
    return IterationWindow(
        iteration,
        None if start is None else TIME + round(start * NS),
        TIME + round(end * NS),
    )


ALWAYS = IterationWindow(1, None, LARGEST)


def facts(
    directories: Sequence[Path], *windows: IterationWindow
) -> tuple[list[TranscriptFacts], list[str]]:
    """What is in each window, and the warnings."""
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
        [(0, 0), (10, 0), (10.000000001, 1), (20, 1), (20.000000001, 0), (30, 0)],
    )
    def test_are_open_at_the_start_and_closed_at_the_end(
        self, tmp_path: Path, seconds: float, expected: int
    ) -> None:
        transcript(tmp_path, "a.jsonl", at(seconds))
        assert turns(tmp_path, window(10, 20)) == [expected]

    @cases(
        "windows, expected",
        {
            "one after the other share no line": (
                [(None, 10), (10, 20), (20, 30)],
                [12, 10, 10],
            ),
            "overlapping ones both hold a line": (
                [(None, 20), (10, 30), (0, 30)],
                [22, 20, 30],
            ),
            "they come out in their order": ([(10, 20), (None, 10)], [10, 12]),
            "an empty one holds nothing": ([(20, 10), (15, 15)], [0, 0]),
        },
    )
    def test_hold_lines_in_any_order(
        self,
        tmp_path: Path,
        windows: list[tuple[float | None, float]],
        expected: list[int],
    ) -> None:
        lines = [at(seconds) for seconds in range(31)]
        transcript(
            tmp_path,
            "a.jsonl",
            *reversed(lines),
            at(0, timestamp="1800-01-01T00:00:00Z"),
        )
        assert turns(tmp_path, *(window(*bounds) for bounds in windows)) == expected

    def test_add_up_every_count(self, tmp_path: Path) -> None:
        uses = [
            TEST_RUN,
            {
                "type": "tool_use",
                "name": "Read",
                "input": {"file_path": "loop-state.md"},
            },
        ]
        lines = (
            items(CALL | {"is_error": True}, CALL, usage=USAGE),
            items(*uses, usage=USAGE),
            codex_usage(**LAST),
        )
        transcript(tmp_path, "a.jsonl", *lines, line(type="other"))
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
                covered=True,
                shows=CallFlag.SHELL | CallFlag.TESTS | CallFlag.LOOP_STATE,
            )
        ]


class TestRates:
    @cases(
        "reads, creations, rate",
        {
            "nothing": (0, 0, 0.0),
            "some": (3, 1, 0.75),
            "all read": (5, 0, 1.0),
            "none read": (0, 5, 0.0),
            "negative reads": (-4, 1, 4 / 3),
            "sum of nothing": (1, -1, 0.0),
            "sum that wraps": (LARGEST, 1, -1.0),
        },
    )
    def test_of_cache_hits(self, reads: int, creations: int, rate: float) -> None:
        assert (
            TranscriptFacts(cache_reads=reads, cache_creations=creations).cache_hit_rate
            == rate
        )

    @pytest.mark.parametrize(
        ("calls", "errors", "rate"),
        [(0, 0, None), (4, 0, 0.0), (4, 1, 0.25), (2, 2, 1.0)],
    )
    def test_of_tool_errors(self, calls: int, errors: int, rate: float | None) -> None:
        assert (
            TranscriptFacts(tool_calls=calls, tool_errors=errors).tool_error_rate
            == rate
        )


class TestFiles:
    def test_directly_inside_are_read_and_no_others(self, tmp_path: Path) -> None:
        for name in ("a.jsonl", ".jsonl", "with [x] space.jsonl", "\udcff.jsonl"):
            transcript(tmp_path, name, at(1))
        for name in (
            "UPPER.JSONL",
            "a.json",
            "a.jsonl.bak",
            "a.jsonl.zst",
            "jsonl",
            "sub/b.jsonl",
            "x.jsonl/b.jsonl",
        ):
            transcript((tmp_path / name).parent, Path(name).name, at(1))
        (tmp_path / "link.jsonl").symlink_to("jsonl")
        assert turns(tmp_path) == [5]

    @cases(
        "content, expected",
        {
            "empty": (b"", 0),
            "blank lines": (b"\n\n" + at(1) + b"\n\n\n" + at(2) + b"\n", 2),
            "no line end at the end": (at(1) + b"\n" + at(2), 2),
            "carriage returns": (at(1) + b"\r\n" + at(2) + b"\r\n", 2),
            "carriage returns alone end no line": (at(1) + b"\r" + at(2) + b"\r", 0),
            "byte order mark costs the first line": (
                b"\xef\xbb\xbf" + at(1) + b"\n" + at(2) + b"\n",
                1,
            ),
            "broken line between": (
                at(1) + b"\nnot json\n\x00\x00\n" + at(2) + b"\n",
                2,
            ),
            "cut short": (at(1) + b"\n" + at(2)[:20], 1),
            "line separator ends no line": (at(1) + b"\xe2\x80\xa8" + at(2), 0),
            "line separators in text": (at(1, x="\u0085\u2028") + b"\n", 1),
        },
    )
    def test_are_read_line_by_line(
        self, tmp_path: Path, content: bytes, expected: int
    ) -> None:
        (tmp_path / "a.jsonl").write_bytes(content)
        assert turns(tmp_path) == [expected]


class TestLongLines:
    @pytest.mark.parametrize("end", [b"\n", b""], ids=["ended", "not-ended"])
    @pytest.mark.parametrize("more", [0, 1])
    def test_of_one_byte_more_than_16_mib_are_skipped_with_a_warning(
        self, tmp_path: Path, end: bytes, more: int
    ) -> None:
        long = at(1, pad="x" * (16 * MIB + more - len(at(1, pad=""))))
        assert len(long) == 16 * MIB + more
        path = transcript(tmp_path, "a.jsonl", at(1), long, end=end)
        found, warnings = facts([tmp_path])
        assert found[0].turns == 2 - more
        assert (
            warnings
            == [
                f"transcript {path}: the line at byte {len(at(1)) + 1} is over 16 MiB; skipped"
            ]
            * more
        )

    def test_of_many_blocks_are_skipped_and_the_lines_around_are_read(
        self, tmp_path: Path
    ) -> None:
        path = transcript(tmp_path, "a.jsonl", at(1), at(2))
        before = path.stat().st_size
        # a third line of nothing but NUL bytes, which takes no room
        os.truncate(path, 100 * MIB)
        with path.open("ab") as file:
            file.write(b"\n" + at(3) + b"\n")
        between = path.stat().st_size
        os.truncate(path, 150 * MIB)
        found, warnings = facts([tmp_path])
        assert found[0].turns == 3
        assert warnings == [
            f"transcript {path}: the line at byte {start} is over 16 MiB; skipped"
            for start in (before, between)
        ]

    @pytest.mark.sampled(9)
    @pytest.mark.parametrize(
        "size", [17 * MIB, 20 * MIB, 24 * MIB - 1, 24 * MIB, 40 * MIB]
    )
    @pytest.mark.parametrize("first", [b"", at(1) + b"\n"], ids=["alone", "second"])
    def test_that_end_the_file_are_warned_of_once(
        self, tmp_path: Path, size: int, first: bytes
    ) -> None:
        path = tmp_path / "a.jsonl"
        path.write_bytes(first)
        os.truncate(path, size - 1)
        with path.open("ab") as file:
            file.write(b"\n")
        found, warnings = facts([tmp_path])
        assert found[0].turns == len(first.splitlines())
        assert warnings == [
            f"transcript {path}: the line at byte {len(first)} is over 16 MiB; skipped"
        ]


class TestUnreadable:
    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("missing", "no such directory; skipped"),
            ("t/a.jsonl", "not a directory; skipped"),
            ("a\0b", ""),
        ],
    )
    def test_directory_is_skipped_with_a_warning(
        self, tmp_path: Path, name: str, reason: str
    ) -> None:
        transcript(tmp_path / "t", "a.jsonl", at(1))
        found, warnings = facts([tmp_path / name, tmp_path / "t"])
        assert found[0].turns == 1
        assert len(warnings) == 1
        assert warnings[0].startswith(
            f"transcript directory {tmp_path / name}: {reason}"
        )

    def test_file_is_skipped_with_one_warning_and_not_waited_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)  # the path of a socket must be short
        fifo = make_fifo(tmp_path / "b.jsonl")
        (tmp_path / "c.jsonl").symlink_to("nowhere")
        (tmp_path / "d.jsonl").symlink_to("d.jsonl")
        for name in ("a.jsonl", "f.jsonl"):
            transcript(tmp_path, name, at(1))
        with socket.socket(socket.AF_UNIX) as listener, watched_doors() as doors:
            listener.bind("e.jsonl")
            found, warnings = ends(lambda: facts([tmp_path]))
        assert found[0].turns == 2
        assert str(fifo) not in doors.opened
        assert warnings[:3] == [
            f"transcript {fifo}: is not a plain file; skipped",
            f"transcript {tmp_path / 'c.jsonl'}: no such file or directory; skipped",
            f"transcript {tmp_path / 'd.jsonl'}: too many levels of symbolic links; skipped",
        ]
        assert [
            warning.startswith(f"transcript {tmp_path / 'e.jsonl'}: ")
            for warning in warnings[3:]
        ] == [True]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_file_that_may_not_be_read_is_skipped_with_one_warning(
        self, tmp_path: Path
    ) -> None:
        path = transcript(tmp_path, "b.jsonl", at(1))
        path.chmod(0)
        assert facts([tmp_path]) == (
            [TranscriptFacts()],
            [f"transcript {path}: permission denied; skipped"],
        )

    def test_file_that_fails_while_it_is_read_is_skipped_with_one_warning(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken = transcript(tmp_path, "b.jsonl", at(1))
        transcript(tmp_path, "a.jsonl", at(1))

        def failing(fd: int, *arguments: Any) -> Any:
            if os.readlink(f"/proc/self/fd/{fd}") == str(broken):
                raise OSError(errno.EIO, "Input/output error")
            return chunks(fd, *arguments)

        monkeypatch.setattr("scoring.evidence.harnesses.lines.chunks", failing)
        found, warnings = facts([tmp_path])
        assert found[0].turns == 1
        assert warnings == [f"transcript {broken}: input/output error; skipped"]


class TestProcesses:
    @pytest.mark.parametrize("processes", [1, 2, 3])
    def test_add_up_to_the_same(self, tmp_path: Path, processes: int) -> None:
        for number in range(5):
            transcript(
                tmp_path,
                f"{number}.jsonl",
                *(at(second) for second in range(number, 20)),
                b"not json",
                at(20),
            )
        make_fifo(tmp_path / "5.jsonl")
        long = transcript(tmp_path, "6.jsonl", at(1), b"x" * (16 * MIB + 1), at(2))
        warnings: list[str] = []
        windows = [window(None, 10, 1), window(10, 20, 2)]
        with transcript_scan(
            tmp_path, warn=warnings.append, processes=processes
        ) as scan:
            found = scan.start().facts(windows)
        assert [window.turns for window in found] == [11 + 10 + 9 + 8 + 7 + 2, 5 * 10]
        assert sorted(warnings) == [
            f"transcript {tmp_path}/5.jsonl: is not a plain file; skipped",
            f"transcript {long}: the line at byte {len(at(1)) + 1} is over 16 MiB; skipped",
        ]

    def test_that_are_given_up_leave_nothing_behind(self, tmp_path: Path) -> None:
        transcript(tmp_path, "a.jsonl", at(1))
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        before = sorted(os.listdir("/proc/self/fd")), children.read_text("ascii")
        with transcript_scan(tmp_path, processes=3) as scan:
            scan.start()
        assert (
            sorted(os.listdir("/proc/self/fd")),
            children.read_text("ascii"),
        ) == before
