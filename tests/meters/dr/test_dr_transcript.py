"""The transcript: what is read from JSON and JSONL, and the one-line error for what cannot be."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import tables
from helpers.deliberations import document, outputs, round_line, write_json
from helpers.doors import ends, make_fifo
from pydantic import ValidationError

from scoring.errors import InputError, TranscriptError
from scoring.meters.dr import (
    Outputs,
    Round,
    Transcript,
    parse_transcript,
    read_transcript,
)
from scoring.meters.dr.transcript import transcript_schema

HEADER = (
    json.dumps(
        {
            "type": "transcript_header",
            "conversation_id": "c1",
            "topic": "pools",
            "version": "0.1",
        }
    )
    + "\n"
)


def error_of(text: str, source: str = "t.json") -> str:
    """Return what is said of a text that is no transcript; it is one line, and names the source."""
    with pytest.raises(TranscriptError) as raised:
        parse_transcript(text, source, texts=True)
    message = str(raised.value)
    assert message.startswith(f"{source}: ")
    assert "\n" not in message
    assert message.isprintable()
    return message.removeprefix(f"{source}: ")


class TestReading:
    def test_takes_json(self, tmp_path: Path) -> None:
        given = {
            "version": "0.1",
            "conversation_id": "c1",
            "topic": "pools",
            **document(
                {
                    **outputs(["a"], ["b"], ["c"], "d"),
                    "decisions": ["e"],
                    "citations": [{"url": "f"}],
                }
            ),
            "_expected": {"signal": "SHIP"},
        }
        found = read_transcript(write_json(tmp_path / "t.json", given))
        assert (found.version, found.conversation_id, found.topic) == (
            "0.1",
            "c1",
            "pools",
        )
        (only,) = found.rounds
        assert (only.round, only.outputs.claims, only.outputs.summary) == (
            1,
            ("a",),
            "d",
        )
        assert (only.outputs.next_actions, only.outputs.open_questions) == (
            ("b",),
            ("c",),
        )
        assert only.outputs.decisions == ("e",)

    def test_takes_jsonl(self, tmp_path: Path) -> None:
        path = tmp_path / "t.jsonl"
        others = '{"type": "note", "round": "x"}\n{"else": 1}\r\n'
        path.write_text(
            HEADER + "\n   \n" + round_line(2, "b") + others + round_line(1, "a")
        )
        found = read_transcript(path)
        assert (found.conversation_id, found.topic) == ("c1", "pools")
        assert [(r.round, r.outputs.claims) for r in found.rounds] == [
            (1, ("a",)),
            (2, ("b",)),
        ]

    def test_breaks_lines_only_where_json_does(self) -> None:
        text = (
            '{"type":"round","round":1,"outputs":{"claims":["a\u2028b\x85c"]}}\n'
            + round_line(2, "d")
        )
        assert parse_transcript(text, "t.jsonl").rounds[0].outputs.claims == (
            "a\u2028b\x85c",
        )

    def test_drops_blank_items(self) -> None:
        given = document(outputs(["a", "", " \t\n"], ["", "b"], ["  "]))
        found = parse_transcript(json.dumps(given), "t").rounds[0].outputs
        assert (found.claims, found.next_actions, found.open_questions) == (
            ("a",),
            ("b",),
            (),
        )

    @pytest.mark.parametrize("numbers", [[3, 1, 2], [10, -1, 0], [2**70, 5, 7]])
    def test_orders_rounds_by_number(self, numbers: list[int]) -> None:
        rounds = [{"round": n, "outputs": {"claims": [str(n)]}} for n in numbers]
        lines = "".join(json.dumps({"type": "round", **r}) + "\n" for r in rounds)
        for text in (json.dumps({"rounds": rounds}), lines):
            assert [r.round for r in parse_transcript(text, "t").rounds] == sorted(
                numbers
            )


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "said"), tables.cases("dr_transcript", "broken JSON")
    )
    def test_of_json(self, text: str, said: str) -> None:
        assert error_of(text).startswith(said)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (HEADER, "no rounds; a transcript has at least one"),
            (
                round_line(1) + "{oops\n" + round_line(2),
                "line 2, column 2: not JSON: expecting property name",
            ),
            (round_line(1) + round_line(2)[:20], "line 2, column "),
            (round_line(1) + "[1]\n", "line 2: a list where an object belongs"),
            (round_line(1) + "[" * 100_000 + "\n", "line 2: nested too deep"),
            (
                round_line(1) + '{"round": 2, "outputs": {}}',
                'line 2: type: is missing; a line of a round has "type": "round"',
            ),
            (
                '{"type": "transcript_header", "topic": []}\n' + round_line(1),
                "line 1: topic: a list: ",
            ),
            (
                round_line(3) + HEADER + round_line(3),
                "line 3: round 3 is given already by line 1; number each once",
            ),
        ],
    )
    def test_of_jsonl(self, text: str, said: str) -> None:
        assert error_of(text, "t.jsonl").startswith(said)

    def test_of_a_round_that_is_given_twice(self) -> None:
        text = json.dumps(
            {"rounds": [{"round": n, "outputs": {"claims": []}} for n in (2, 1, 2)]}
        )
        assert (
            error_of(text)
            == "rounds[2]: round 2 is given already by rounds[0]; number each once"
        )

    @pytest.mark.parametrize(
        ("prepare", "said"),
        [
            (lambda _: None, "no such file"),
            (Path.mkdir, "is a directory"),
            (make_fifo, "is not a plain file"),
            (lambda path: path.write_bytes(b'{"a":\n"\xff"}'), "line 2: not UTF-8"),
            (
                lambda path: path.write_bytes(b" " * ((16 << 20) + 1)),
                "larger than 16 MiB",
            ),
        ],
        ids=["nothing", "directory", "fifo", "bytes", "size"],
    )
    def test_of_a_file(
        self, tmp_path: Path, prepare: Callable[[Path], Any], said: str
    ) -> None:
        path = tmp_path / "t.json"
        prepare(path)
        with pytest.raises(TranscriptError) as raised:
            ends(lambda: read_transcript(path))
        assert str(raised.value).startswith(f"{path}: {said}")
        assert isinstance(raised.value, InputError)


class TestModel:
    def test_orders_rounds_and_refuses_a_number_that_is_given_twice(self) -> None:
        one = Round(round=1, outputs=Outputs(claims=("a",)))
        two = Round(round=2, outputs=Outputs(claims=("a",)))
        assert Transcript(rounds=(two, one)).rounds == (one, two)
        with pytest.raises(ValidationError, match="round 1 is given twice"):
            Transcript(rounds=(one, two, one))
        with pytest.raises(ValidationError, match="at least 1 item"):
            Transcript(rounds=())

    def test_has_a_schema(self) -> None:
        schema = transcript_schema()
        assert (schema["required"], schema["properties"]["rounds"]["minItems"]) == (
            ["rounds"],
            1,
        )
        assert schema["$defs"]["Outputs"]["required"] == ["claims"]
        assert schema["$defs"]["Outputs"]["properties"]["claims"]["items"] == {
            "type": "string"
        }
        assert schema["$defs"]["Round"]["required"] == ["round", "outputs"]
        assert "additionalProperties" not in json.dumps(schema)
