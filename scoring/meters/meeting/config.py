"""How a meeting is judged: weights, limits, thresholds and rules.

A file inherits from a preset, key by key.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from scoring.errors import InputError, MeetingError
from scoring.frozen import PlainData, Texts
from scoring.meters import TOLERANCE
from scoring.meters.plaindata import (
    CONFIG_SUFFIXES,
    checked,
    dotted,
    faults_of,
    json_schema,
    read_config,
)
from scoring.settings_table import own_table
from scoring.text import shown

from .records import Amount, Block, Name, RoundNumber, Share

PRESETS = ("default", "tactical", "strategic")
"""The names of the configs that come with da-score."""

DEFAULT_PRESET = PRESETS[0]


class Weights(Block):
    """What each score counts in the completeness index."""

    exploration: Share
    convergence: Share
    focus: Share
    low_novelty: Share

    @model_validator(mode="after")
    def _sum_to_one(self) -> "Weights":
        total = self.exploration + self.convergence + self.focus + self.low_novelty
        if abs(total - 1) > TOLERANCE:
            raise ValueError(f"the weights sum to {total:g}, not 1")
        return self


class RoundLimits(Block):
    """How many rounds a meeting has, at least and at most."""

    min_rounds: RoundNumber
    max_rounds: RoundNumber

    @model_validator(mode="after")
    def _in_order(self) -> "RoundLimits":
        if self.min_rounds > self.max_rounds:
            raise ValueError(
                f"min_rounds {self.min_rounds} is above max_rounds {self.max_rounds}"
            )
        return self


class ScoreThresholds(Block):
    """What a score must reach for an end, and what is good."""

    min_to_allow_end: Share
    target_good: Share


class FocusThresholds(Block):
    """What focus must reach, and what is good."""

    min_acceptable: Share
    target_good: Share


class NoveltyThresholds(Block):
    """The recent novelty at and below which a meeting repeats itself."""

    novelty_floor_recent: Share


class CompositeThresholds(Block):
    """The completeness index from which an end is recommended."""

    min_index_to_recommend_end: Share


class ProgressThresholds(Block):
    """What two rounds must gain to count as progress."""

    min_delta_convergence_over_2_rounds: Share
    min_delta_exploration_over_2_rounds: Share


class Thresholds(Block):
    """Every threshold, from 0 to 1."""

    exploration: ScoreThresholds
    convergence: ScoreThresholds
    focus: FocusThresholds
    novelty: NoveltyThresholds
    composite: CompositeThresholds
    progress: ProgressThresholds


class CoverageRule(Block):
    """No end before the required aspects, and a share of all, are deep."""

    enabled: bool
    required_aspects_deep: list[Name]
    min_fraction_deep_overall: Share


class EarlyConsensusRule(Block):
    """Agreement in an early round without exploration calls for another round on some topics."""

    enabled: bool
    early_round_cutoff: RoundNumber
    convergence_high: Share
    exploration_low: Share
    forced_next_round_focus: list[Name]


class StalledRule(Block):
    """From a round on, a debate that repeats itself and does not move is brought to an end."""

    enabled: bool
    rounds_before_check: RoundNumber
    low_novelty_recent: Share
    min_delta_convergence_over_2_rounds: Share
    action: Literal["prompt_resolution_or_park"]


class LateRoundsRule(Block):
    """From a round on, another one needs twice the progress."""

    enabled: bool
    from_round: RoundNumber


class Rules(Block):
    """The rules that can be switched off."""

    require_exploration_coverage: CoverageRule
    early_consensus_requires_extra_check: EarlyConsensusRule
    stalled_debate_detection: StalledRule
    late_rounds: LateRoundsRule


class MeetingConfig(Block):
    """How a meeting is judged. A file may leave out whatever it takes from its preset."""

    version: Annotated[int, Field(ge=1, le=1)]
    meeting_type: Name
    weights: Weights
    round_limits: RoundLimits
    thresholds: Thresholds
    rules: Rules

    # What a round costs where its record does not say, and what the meeting may cost: the round
    # that reaches the limit is the last one. Both are in the unit of the records.
    cost_per_step: Amount | None = None
    cost_limit: Amount | None = None

    # What the meeting may take, in minutes, in place of what its records say.
    time_budget_minutes: Amount | None = None


def find_meeting_config(name: str | Path) -> MeetingConfig:
    """Return the preset of this name, or else the config of this file (``.toml``, ``.json``, …).

    What a file leaves out comes from the preset that its ``meeting_type`` names, or ``default``.

    Raises:
        InputError: the preset does not exist, or the file cannot be read.
        MeetingError: the config is wrong. ``faults`` has every fault.
    """
    text = str(name)
    if text in PRESETS:
        return meeting_config({"meeting_type": text})
    if not text.lower().endswith(CONFIG_SUFFIXES):
        raise InputError(
            f"{text}: no such config; name one of {', '.join(PRESETS)}, "
            f"or a file ending with {', '.join(CONFIG_SUFFIXES)}"
        )

    data = read_config(text)
    with faults_of(text):
        return meeting_config(data)


def meeting_config(data: Mapping[str, Any]) -> MeetingConfig:
    """Return the config that plain data gives, with what that leaves out from a preset.

    The preset is the one that ``meeting_type`` names, or ``default`` where it names none.

    Raises:
        MeetingError: the data is wrong. ``faults`` has every fault.
    """
    if not isinstance(data, Mapping):
        raise MeetingError(f"config: {shown(data)} where an object belongs")

    preset_name = data.get("meeting_type")
    if preset_name not in PRESETS:
        preset_name = DEFAULT_PRESET

    return checked(MeetingConfig, _merged(_preset_data(preset_name), data), "config")


def unknown_keys(block: BaseModel, path: Texts = ()) -> Iterator[str]:
    """Yield the keys of a config that have no meaning, as paths: perhaps they are misspelled.

    Args:
        block: the config, or a block of it.
        path: the keys that lead to the block; empty for the whole config.
    """
    for key in block.model_extra or {}:
        yield dotted((*path, key))

    for name in type(block).model_fields:
        value = getattr(block, name)
        if isinstance(value, BaseModel):
            yield from unknown_keys(value, (*path, name))


def config_schema() -> PlainData:
    """Return the JSON schema of a config file, which may leave out any key."""
    return json_schema(_without_required(MeetingConfig.model_json_schema()))


def _without_required(value: Any) -> Any:
    """Return a JSON schema in which no key is required, at any depth."""
    if not isinstance(value, dict):  # lists have no objects with required keys
        return value
    return {
        key: _without_required(item) for key, item in value.items() if key != "required"
    }


def _preset_data(name: str) -> PlainData:
    """Return a preset as plain data, with what its file leaves out from the preset ``default``."""
    data = own_table(__file__, f"presets/{name}.toml")
    if name == DEFAULT_PRESET:
        return data
    return _merged(_preset_data(DEFAULT_PRESET), data)


def _merged(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> PlainData:
    """Return the base with the overrides, which win. Tables that both have are merged in turn."""
    merged = dict(base)
    for key, value in overrides.items():
        inherited = base.get(key)
        if isinstance(value, Mapping) and isinstance(inherited, Mapping):
            merged[key] = _merged(inherited, value)
        else:
            merged[key] = value
    return merged
