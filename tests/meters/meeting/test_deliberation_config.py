"""Configs: the presets, what a partial one inherits, and what is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from helpers import tables

import scoring.meters.meeting.config as module
from scoring.errors import InputError, MeetingError
from scoring.meters.meeting.config import (
    PRESETS,
    config_schema,
    find_meeting_config,
    meeting_config,
    unknown_keys,
)
from scoring.meters.plaindata import read_config


def flat(data: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in data.items():
        found |= (
            flat(value, f"{path}{key}.")
            if isinstance(value, dict)
            else {f"{path}{key}": value}
        )
    return found


def faults(data: Any) -> tuple[str, ...]:
    with pytest.raises(MeetingError) as e:
        meeting_config(data)
    return tuple(fault.removeprefix("config: ") for fault in e.value.faults)


def test_presets_are_files_and_the_only_ones() -> None:
    assert {
        path.name for path in Path(module.__file__).with_name("presets").iterdir()
    } == {f"{name}.toml" for name in PRESETS}
    with pytest.raises(
        InputError,
        match=r"^urgent: no such config; name one of default, tactical, strategic, or a file",
    ):
        find_meeting_config("urgent")


# Inheritance


@pytest.mark.parametrize("kind", [*PRESETS, "retrospective", None])
def test_a_partial_config_inherits_from_the_preset_it_names_else_from_default(
    kind: str | None,
) -> None:
    own: dict[str, Any] = {"thresholds": {"focus": {"target_good": 0.9}}}
    if kind:
        own["meeting_type"] = kind
    base = flat(
        find_meeting_config(kind if kind in PRESETS else "default").model_dump()
    )
    found = flat(meeting_config(own).model_dump())
    assert {path: value for path, value in found.items() if value != base[path]} == {
        "thresholds.focus.target_good": 0.9,
        **({"meeting_type": kind} if kind == "retrospective" else {}),
    }


def test_weights_are_added_up_after_inheriting() -> None:
    assert (
        meeting_config(
            {"weights": {"exploration": 0.25, "convergence": 0.45}}
        ).weights.focus
        == 0.2
    )
    assert faults({"weights": {"exploration": 0.25}}) == (
        "weights: the weights sum to 0.9, not 1",
    )
    assert meeting_config({"weights": {"exploration": 0.35 + 5e-10}})
    assert faults({"weights": {"exploration": 0.35 + 1e-6}})


def test_unknown_keys_are_kept_and_can_be_listed() -> None:
    own = {
        "note": "x",
        "round_limits": {"min_round": 2},
        "rules": {"late_rounds": {"from": 3}},
    }
    found = meeting_config(own)
    assert found.round_limits.min_rounds == 3
    assert found.model_dump()["round_limits"]["min_round"] == 2
    assert sorted(unknown_keys(found)) == [
        "note",
        "round_limits.min_round",
        "rules.late_rounds.from",
    ]
    assert list(unknown_keys(find_meeting_config("tactical"))) == []


# Nonsense


@pytest.mark.parametrize(
    ("own", "fault"),
    [
        (
            {"round_limits": {"min_rounds": 11}},
            "round_limits: min_rounds 11 is above max_rounds 10",
        ),
        ({"round_limits": {"min_rounds": 0}}, "round_limits.min_rounds: 0: "),
        ({"round_limits": {"max_rounds": 7.0}}, "round_limits.max_rounds: 7.0: "),
        (
            {"thresholds": {"novelty": {"novelty_floor_recent": 1.1}}},
            "thresholds.novelty.novelty_floor_recent: 1.1: ",
        ),
        ({"weights": {"focus": "0.2"}}, 'weights.focus: "0.2": '),
        ({"weights": {"focus": float("nan")}}, "weights.focus: is not a finite number"),
        ({"version": 2}, "version: 2: "),
        ({"meeting_type": 3}, "meeting_type: 3: "),
        (
            {"rules": {"late_rounds": {"enabled": "yes"}}},
            'rules.late_rounds.enabled: "yes": ',
        ),
        (
            {"rules": {"stalled_debate_detection": {"action": "shout"}}},
            'rules.stalled_debate_detection.action: "shout": ',
        ),
        ([], "a list where an object belongs"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_nonsense_names_the_field(own: Any, fault: str) -> None:
    (found,) = faults(own)
    assert found.startswith(fault)


# Files

FILES = {
    "own.json": '{"meeting_type": "tactical", "round_limits": {"max_rounds": 5}}',
    "own.toml": 'meeting_type = "tactical"\n[round_limits]\nmax_rounds = 5\n',
    "own.yaml": "# short\nmeeting_type: tactical\nround_limits:\n  max_rounds: 5\n",
    "own.yml": "{meeting_type: tactical, round_limits: {max_rounds: 5}}",
    "OWN.JSON": '\ufeff{"meeting_type": "tactical", "round_limits": {"max_rounds": 5}}',
}


@pytest.mark.parametrize("name", FILES)
def test_a_config_is_read_from_a_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name], "utf-8")
    found = find_meeting_config(tmp_path / name)
    assert (found.round_limits.min_rounds, found.round_limits.max_rounds) == (2, 5)


@pytest.mark.parametrize(
    ("name", "text", "fault"), tables.cases("meeting_config", "no config")
)
def test_a_file_that_is_no_config_is_refused_with_its_place(
    name: str, text: str | None, fault: str, tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as raised:
        read_config(tmp_path / name)
    assert str(raised.value).startswith(f"{tmp_path / name}: {fault}")
    assert "\n" not in str(raised.value)


# The schema


def test_the_schema_is_one_and_takes_whole_and_partial_configs() -> None:
    schema = config_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert '"required":' not in json.dumps(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for good in (
        *(find_meeting_config(name).model_dump() for name in PRESETS),
        {},
        {"weights": {"focus": 0.2}},
        {"more": 1},
    ):
        validator.validate(good)
    wrong: list[Any] = [
        {"weights": {"focus": 2}},
        {"rules": []},
        {"version": 2},
        {"rules": {"late_rounds": {"enabled": 1}}},
    ]
    for bad in wrong:
        assert not validator.is_valid(bad)
