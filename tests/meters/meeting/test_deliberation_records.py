"""A judge's record as it is read: what it may leave out, what is refused, and where."""

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from helpers.meetings import record

from scoring.errors import InputError, MeetingError
from scoring.meters.meeting import score_meeting
from scoring.meters.meeting.record_reading import (
    check_records,
    parse_meeting_records,
    read_meeting_records,
)
from scoring.meters.meeting.records import JudgeRecord, record_schema

GOOD = json.dumps(record(3))


def faults(*records: Any) -> tuple[str, ...]:
    with pytest.raises(MeetingError) as e:
        check_records(records)
    assert str(e.value) == "; ".join(e.value.faults)
    return e.value.faults


def read(tmp_path: Path, text: str | bytes) -> list[JudgeRecord]:
    path = tmp_path / "rounds.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_meeting_records(path)


def refused(tmp_path: Path, text: str | bytes) -> tuple[str, ...]:
    with pytest.raises(MeetingError) as e:
        read(tmp_path, text)
    return tuple(
        fault.replace(f"{tmp_path}/rounds.json: ", "") for fault in e.value.faults
    )


# What is taken


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(GOOD, id="an object"),
        pytest.param(
            json.dumps(json.loads(GOOD), indent=2), id="an object over several lines"
        ),
        pytest.param(f"[{GOOD}]", id="a list"),
        pytest.param(f"\n{GOOD}\n\n", id="an object among blank lines"),
        pytest.param(f"\ufeff{GOOD}", id="a byte-order mark"),
        pytest.param(GOOD.replace(": ", ":\r\n"), id="carriage returns"),
    ],
)
def test_a_record_is_read_from_an_object_or_a_list(text: str, tmp_path: Path) -> None:
    assert read(tmp_path, text) == [JudgeRecord.model_validate(record(3))]


def test_standard_input_that_is_closed_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match=r"^standard input: is closed$"):
        read_meeting_records("-")


OPTIONAL: dict[str, Any] = dict.fromkeys(
    (
        *(
            "meeting_id",
            "summary",
            "cost_time",
            "composite",
            "stop_continue_recommendation",
            "user_confirmed",
        ),
        *("exploration__exploration_score", "exploration__missing_critical_aspects"),
        *("convergence__options_considered", "convergence__leading_option"),
        *(
            "convergence__leading_option_support_fraction",
            "convergence__leading_option_avg_confidence",
        ),
        *(
            "convergence__convergence_score",
            "convergence__disagreement_notes",
            "focus__message_annotations",
        ),
        *(
            "focus__focus_score",
            "focus__focus_drift_notes",
            "novelty__novelty_score_overall",
        ),
        *(
            "novelty__novelty_score_recent",
            "novelty__examples_novel_points",
            "novelty__examples_repeated_points",
        ),
    )
)


def test_unknown_keys_are_kept_and_ignored() -> None:
    data = record(3, judge={"model": "x", "n": [1, None]}, focus__mood="good")
    (found,) = check_records([data])
    assert found.model_dump(exclude_unset=True) == data
    assert score_meeting([found]) == score_meeting([record(3)])


# What is refused, by field


def with_aspect(**fields: Any) -> dict[str, Any]:
    data = record(3, levels={})
    data["exploration"]["aspects"] = [
        {"name": "objectives", "coverage_level": "deep", **fields}
    ]
    return data


def with_expert(**fields: Any) -> dict[str, Any]:
    data = record(3, experts=(("A", 0.5),))
    data["convergence"]["expert_positions"][0].update(fields)
    return data


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (record(0), "round 0: round_index: 0: "),
        *(
            (record(number), "record 1: round_index: ")
            for number in ("3", True, 3.0, None)
        ),
        *((record(number), "round_index: ") for number in (10**9 + 1, 10**5000)),
        (record(3, meeting_id=7), "round 3: meeting_id: 7: "),
        (
            record(3, summary={"key_new_points": []}),
            "round 3: summary.round_brief: is missing",
        ),
        *(
            (record(3, focus__core_count=count), "round 3: focus.core_count: ")
            for count in (True, -1, 10**400)
        ),
        (
            record(3, focus__focus_score=float("nan")),
            "round 3: focus.focus_score: is not a finite number",
        ),
        (record(3, focus=[]), "round 3: focus: a list: "),
        (
            record(3, novelty__novelty_score_recent=1.2),
            "round 3: novelty.novelty_score_recent: 1.2: ",
        ),
        (with_aspect(name=" "), "round 3: exploration.aspects[0].name: is blank"),
        (
            with_aspect(coverage_level="Deep"),
            'round 3: exploration.aspects[0].coverage_level: "Deep": ',
        ),
        *(
            (
                with_expert(confidence=c),
                "round 3: convergence.expert_positions[0].confidence: ",
            )
            for c in (1.01, -0.1)
        ),
        (
            with_expert(preferred_option=""),
            "round 3: convergence.expert_positions[0].preferred_option: is blank",
        ),
        (
            record(3, focus__focus_drift_notes="\ud800"),
            "round 3: focus.focus_drift_notes: is not text",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_names_round_field_and_value(data: dict[str, Any], place: str) -> None:
    found = faults(data)[0]
    assert place in found
    assert found.isprintable()


def test_every_fault_is_listed() -> None:
    broken = record(2, meeting_id="a", focus__core_count="x", summary={})
    del broken["novelty"]
    assert faults(broken, 5, record(4, meeting_id="b"), record(4, meeting_id="a")) == (
        "round 2: summary.round_brief: is missing",
        "round 2: summary.key_new_points: is missing",
        'round 2: focus.core_count: "x": input should be a valid integer',
        "round 2: novelty: is missing",
        "record 2: 5 where an object belongs",
        "round 4: round_index: given 2 times, in records 3, 4",
        'round 4: meeting_id: "b" is another meeting than "a"',
    )


@pytest.mark.parametrize(
    "block",
    ["exploration", "convergence", "focus", "novelty", "round_index"],
    ids=lambda block: f"without {block}",
)
def test_what_is_required_must_be_there(block: str) -> None:
    data = record(3)
    del data[block]
    where = "record 1" if block == "round_index" else "round 3"
    assert faults(data) == (f"{where}: {block}: is missing",)


def test_an_aspect_or_an_expert_is_named_once() -> None:
    data = record(3, experts=(("A", 0.5), ("B", 0.5)))
    data["exploration"]["aspects"] *= 2
    data["convergence"]["expert_positions"][1]["expert_id"] = "e0"
    found = faults(data)
    assert (
        found[0] == 'round 3: exploration.aspects: "problem_clarity" is named 2 times'
    )
    assert found[1] == 'round 3: convergence.expert_positions: "e0" is named 2 times'


# What is not JSON


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        *((text, "is empty; give JSON") for text in ("", " \n ")),
        ("[]", "no record; a meeting has one for each round"),
        ("7", "record 1: 7 where an object belongs"),
        ("```json\n{,}\n```", "line 2, column 2: not JSON"),
        (
            f"```json\n{GOOD}\n```\nor\n```json\n{GOOD}\n```",
            "line 1, column 1: not JSON: expecting value at '```json'; give the JSON alone",
        ),
        (
            "Here is the record:\n{}",
            "line 1, column 1: not JSON: expecting value at 'Here is the record:'",
        ),
        (
            f"{GOOD} I hope it helps.",
            f"line 1, column {len(GOOD) + 2}: not JSON: extra data at 'I hope it helps.'",
        ),
        ('{"round_index": 1,\n "x": [1, 2,\n ]}', "line "),
        (b"\xff\xfe{}", "line 1: not UTF-8; save the file as UTF-8"),
        (
            "[" * 200_000,
            "line 1: nested too deep; nothing that is read here goes so deep",
        ),
        ('{"a": [{"b": -Infinity}]}', "record 1: a[0].b: is not a finite number"),
        ('{"a": %s}' % ("9" * 5000), "record 1: a: is not a finite number"),
        (
            '{"round_index": 1, "round_index": 2}',
            "round 2: round_index: is given twice",
        ),
        ('{"x": {"y": 1, "y": 1}}', "record 1: x.y: is given twice"),
        ("[\x1b[31m]", "line 1, column 2: not JSON: expecting value at '\\x1b[31m]'"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_what_is_no_record_is_shown_with_its_place(
    text: str | bytes, fault: str, tmp_path: Path
) -> None:
    (found, *_) = refused(tmp_path, text)
    assert found.startswith(fault)
    assert found.isprintable()


# The schema


def test_the_schema_is_one_and_takes_what_the_model_takes() -> None:
    schema = record_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for good in (
        record(3),
        record(3, **OPTIONAL),
        record(3, more=1),
        with_aspect(notes="x"),
    ):
        validator.validate(good)
    for bad in (
        record(0),
        record("3"),
        record(True),
        with_aspect(coverage_level="x"),
        with_expert(confidence=2),
        {},
    ):
        assert not validator.is_valid(bad)


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{GOOD}\n```",
        f"Here is the record of the round:\n\n```\n{GOOD}\n```\n\nTell me if you need more.\n",
        f"\r\n```JSON\r\n{GOOD}\r\n```\r\n",
    ],
)
def test_a_record_may_be_in_a_code_fence(text: str) -> None:
    assert parse_meeting_records(text) == parse_meeting_records(GOOD)
