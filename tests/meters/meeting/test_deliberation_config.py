"""Configs: the presets against the contract's table, what a partial one inherits, and what is nonsense."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from helpers.doors import ends, make_fifo

import scoring.meters.meeting.config as module
from scoring.errors import InputError, MeetingError
from scoring.meters.meeting.config import (
    PRESETS,
    config_schema,
    find_meeting_config,
    meeting_config,
    preset,
    unknown_keys,
)

TABLE = {
    "weights.exploration": (0.35, 0.3, 0.4),
    "weights.convergence": (0.35, 0.4, 0.3),
    "weights.focus": (0.2, 0.2, 0.2),
    "weights.low_novelty": (0.1, 0.1, 0.1),
    "round_limits.min_rounds": (3, 2, 3),
    "round_limits.max_rounds": (10, 7, 10),
    "thresholds.exploration.min_to_allow_end": (0.6, 0.5, 0.65),
    "thresholds.exploration.target_good": (0.75, 0.65, 0.8),
    "thresholds.convergence.min_to_allow_end": (0.6, 0.65, 0.55),
    "thresholds.convergence.target_good": (0.75, 0.8, 0.7),
    "thresholds.focus.min_acceptable": (0.6, 0.7, 0.6),
    "thresholds.focus.target_good": (0.8, 0.85, 0.8),
    "thresholds.novelty.novelty_floor_recent": (0.25, 0.2, 0.3),
    "thresholds.composite.min_index_to_recommend_end": (0.7, 0.65, 0.72),
    "thresholds.progress.min_delta_convergence_over_2_rounds": (0.05, 0.05, 0.04),
    "thresholds.progress.min_delta_exploration_over_2_rounds": (0.05, 0.03, 0.04),
}
RULES = {
    "require_exploration_coverage": {
        "enabled": True,
        "required_aspects_deep": ["problem_clarity", "objectives", "risks_failure_modes"],
        "min_fraction_deep_overall": 0.6,
    },
    "early_consensus_requires_extra_check": {
        "enabled": True,
        "early_round_cutoff": 5,
        "convergence_high": 0.7,
        "exploration_low": 0.55,
        "forced_next_round_focus": ["risks_failure_modes", "options_alternatives"],
    },
    "stalled_debate_detection": {
        "enabled": True,
        "rounds_before_check": 5,
        "low_novelty_recent": 0.3,
        "min_delta_convergence_over_2_rounds": 0.05,
        "action": "prompt_resolution_or_park",
    },
    "late_rounds": {"enabled": True, "from_round": 8},
}


def flat(data: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in data.items():
        found |= flat(value, f"{path}{key}.") if isinstance(value, dict) else {f"{path}{key}": value}
    return found


def faults(data: Any) -> tuple[str, ...]:
    with pytest.raises(MeetingError) as e:
        meeting_config(data)
    return tuple(fault.removeprefix("config: ") for fault in e.value.faults)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_that_of_the_contract(name: str) -> None:
    column = PRESETS.index(name)
    assert preset(name).model_dump() == {
        "version": 1,
        "meeting_type": name,
        "rules": RULES,
        **{
            block: preset(name).model_dump()[block] for block in ("weights", "round_limits", "thresholds")
        },  # compared below, number by number
    }
    data = flat(preset(name).model_dump())
    assert {path: data[path] for path in TABLE} == {path: values[column] for path, values in TABLE.items()}
    assert len([path for path in data if not path.startswith("rules")]) == len(TABLE) + 2


def test_presets_are_files_and_the_only_ones() -> None:
    assert {path.name for path in module.PRESETS_DIR.iterdir()} == {f"{name}.toml" for name in PRESETS}


def test_there_is_no_other_preset() -> None:
    with pytest.raises(InputError, match=r"^urgent: no such preset; there are default, tactical, strategic$"):
        preset("urgent")


# Inheritance


@pytest.mark.parametrize("kind", [*PRESETS, "retrospective", None])
def test_a_partial_config_inherits_from_the_preset_it_names_else_from_default(kind: str | None) -> None:
    own: dict[str, Any] = {"thresholds": {"focus": {"target_good": 0.9}}}
    if kind:
        own["meeting_type"] = kind
    base = flat(preset(kind if kind in PRESETS else "default").model_dump())
    found = flat(meeting_config(own).model_dump())
    assert {path: value for path, value in found.items() if value != base[path]} == {
        "thresholds.focus.target_good": 0.9,
        **({"meeting_type": kind} if kind == "retrospective" else {}),
    }


def test_an_empty_config_is_the_default_one() -> None:
    assert meeting_config({}) == preset("default")


def test_lists_are_taken_whole() -> None:
    rule = {"required_aspects_deep": ["objectives"]}
    found = meeting_config({"rules": {"require_exploration_coverage": rule}}).rules.require_exploration_coverage
    assert (found.required_aspects_deep, found.min_fraction_deep_overall) == (["objectives"], 0.6)
    assert meeting_config({"rules": {"require_exploration_coverage": {"required_aspects_deep": []}}})


def test_weights_are_added_up_after_inheriting() -> None:
    assert meeting_config({"weights": {"exploration": 0.25, "convergence": 0.45}}).weights.focus == 0.2
    assert faults({"weights": {"exploration": 0.25}}) == ("weights: the weights sum to 0.9, not 1",)
    assert meeting_config({"weights": {"exploration": 0.35 + 5e-10}})
    assert faults({"weights": {"exploration": 0.35 + 1e-6}})


def test_unknown_keys_are_kept_and_can_be_told() -> None:
    own = {"note": "x", "round_limits": {"min_round": 2}, "rules": {"late_rounds": {"from": 3}}}
    found = meeting_config(own)
    assert found.round_limits.min_rounds == 3
    assert found.model_dump()["round_limits"]["min_round"] == 2
    assert sorted(unknown_keys(found)) == ["note", "round_limits.min_round", "rules.late_rounds.from"]
    assert list(unknown_keys(preset("tactical"))) == []


def test_a_minimum_may_be_above_what_it_inherits_as_good() -> None:
    found = meeting_config({"thresholds": {"exploration": {"min_to_allow_end": 0.9}, "focus": {"min_acceptable": 0.9}}})
    assert (found.thresholds.exploration.min_to_allow_end, found.thresholds.exploration.target_good) == (0.9, 0.75)
    assert found.thresholds.focus.min_acceptable == 0.9


# Nonsense


@pytest.mark.parametrize(
    ("own", "fault"),
    [
        (
            {"round_limits": {"min_rounds": 11}},
            "round_limits: min_rounds 11 is above max_rounds 10",
        ),
        ({"round_limits": {"min_rounds": 0}}, "round_limits.min_rounds: 0 is below 1"),
        ({"round_limits": {"max_rounds": 7.0}}, "round_limits.max_rounds: 7.0 where a whole number belongs"),
        (
            {"thresholds": {"novelty": {"novelty_floor_recent": 1.1}}},
            "thresholds.novelty.novelty_floor_recent: 1.1 is above 1",
        ),
        (
            {"thresholds": {"composite": {"min_index_to_recommend_end": -0.1}}},
            "thresholds.composite.min_index_to_recommend_end: -0.1 is below 0",
        ),
        ({"weights": {"focus": "0.2"}}, 'weights.focus: "0.2" where a number belongs'),
        ({"weights": {"focus": True}}, "weights.focus: true where a number belongs"),
        ({"weights": {"focus": float("nan")}}, "weights.focus: is not a finite number"),
        ({"weights": None}, "weights: null where an object belongs"),
        ({"weights": []}, "weights: a list where an object belongs"),
        ({"version": 2}, "version: 2 is above 1"),
        ({"meeting_type": 3}, "meeting_type: 3 where text belongs"),
        (
            {"rules": {"late_rounds": {"enabled": "yes"}}},
            'rules.late_rounds.enabled: "yes" where true or false belongs',
        ),
        (
            {"rules": {"stalled_debate_detection": {"action": "shout"}}},
            'rules.stalled_debate_detection.action: "shout" is not one of: prompt_resolution_or_park',
        ),
        ([], "a list where an object belongs"),
        ("x", '"x" where an object belongs'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_nonsense_names_the_field(own: Any, fault: str) -> None:
    assert faults(own) == (fault,)


def test_limits_that_are_equal_are_none() -> None:
    assert meeting_config({"round_limits": {"min_rounds": 10}})
    assert meeting_config({"thresholds": {"exploration": {"min_to_allow_end": 0.75}}})


def test_every_fault_is_listed() -> None:
    assert len(faults({"version": 0, "weights": {"focus": 2}, "round_limits": {"min_rounds": 99}})) == 3


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


@pytest.mark.parametrize("name", PRESETS)
def test_a_config_is_found_by_name(name: str) -> None:
    assert find_meeting_config(name) == preset(name)


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.json", "{", "line 1, column 2: the text ends within the JSON"),
        ("a.json", '{"version": 1,}', "line 1, column 14: a comma before the closing }"),
        ("a.json", "{} {}", "line 1, column 4: a second value"),
        ("a.json", '{"weights": {"focus": 0.2, "focus": 0.2}}', "weights.focus: is given twice"),
        ("a.json", '{"weights": {"focus": NaN}}', "weights.focus: is not a finite number"),
        ("a.json", "[]", "not a table of settings"),
        ("a.toml", "version = ", "not TOML: "),
        ("a.toml", "version = 1\nversion = 1", "not TOML: "),
        ("a.toml", "[weights]\nfocus = nan", "weights.focus: is not a finite number"),
        ("a.yaml", "a: [", "line 2: did not find"),
        ("a.yaml", "weights:\n  focus: 0.2\n  focus: 0.2", "line 3: focus is given twice"),
        ("a.yaml", "a: &x 1\nb: *x", "line 2: an alias; write the value out"),
        ("a.yaml", "version: !!str 1", "line 1: a tag (!!str); write the value without it"),
        ("a.yaml", "? [1]\n: 2", "line 1: a key that is no text"),
        ("a.yaml", "weights: {focus: .nan}", "weights.focus: is not a finite number"),
        (
            "a.yaml",
            "rules: {late_rounds: {enabled: yes}}",
            'config: rules.late_rounds.enabled: "yes" where true',
        ),
        ("a.yaml", "version: '1'", 'config: version: "1" where a whole number belongs'),
        ("a.yaml", "", "not a table of settings"),
        ("a.yaml", "x: " + "[" * 200, "line 1: nested more than 100 deep"),
    ],
)
def test_a_file_that_is_no_config_is_refused_with_its_place(name: str, text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(InputError, match=re.escape(f"{tmp_path / name}: {fault}")):
        find_meeting_config(tmp_path / name)


def test_a_file_that_is_not_there_or_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.toml: no such file$"):
        find_meeting_config(tmp_path / "a.toml")
    with pytest.raises(InputError, match=r"^tactcal: no such config; name one of default, tactical, strategic, or"):
        find_meeting_config("tactcal")
    with pytest.raises(InputError, match="is not a plain file"):
        ends(lambda: find_meeting_config(make_fifo(tmp_path / "fifo.yaml")))
    (tmp_path / "d.json").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        find_meeting_config(tmp_path / "d.json")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="line 1: not UTF-8"):
        find_meeting_config(tmp_path / "bytes.toml")


# The schema


def test_the_schema_is_one_and_takes_whole_and_partial_configs() -> None:
    schema = config_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert '"required":' not in json.dumps(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for good in (*(preset(name).model_dump() for name in PRESETS), {}, {"weights": {"focus": 0.2}}, {"more": 1}):
        validator.validate(good)
    wrong: list[Any] = [
        {"weights": {"focus": 2}},
        {"rules": []},
        {"version": 2},
        {"rules": {"late_rounds": {"enabled": 1}}},
    ]
    for bad in wrong:
        assert not validator.is_valid(bad)
