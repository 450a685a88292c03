"""How a meeting is judged: weights, limits, thresholds and rules; a file inherits, key by key, from a preset."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_serializer, model_validator

from scoring.errors import InputError, MeetingError
from scoring.meters import TOLERANCE
from scoring.meters.meeting.records import Amount, Block, Name, RoundNumber, Share
from scoring.meters.plaindata import CONFIG_SUFFIXES, checked, dotted, json_schema, read_config
from scoring.text import shown

PRESETS = ("default", "tactical", "strategic")  # the configs that come with da-score, by name
DEFAULT_PRESET = PRESETS[0]
PRESETS_DIR = Path(__file__).parent / "presets"


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
            raise ValueError(f"min_rounds {self.min_rounds} is above max_rounds {self.max_rounds}")
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
    """From which recent novelty down a meeting repeats itself."""

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
    """No end before the required aspects, and a share of all, are deep. Switched off it requires nothing."""

    enabled: bool
    required_aspects_deep: list[Name]
    min_fraction_deep_overall: Share


class EarlyConsensusRule(Block):
    """Agreement up to a round, without exploration, calls for another round on what is named here."""

    enabled: bool
    early_round_cutoff: RoundNumber
    convergence_high: Share
    exploration_low: Share
    forced_next_round_focus: list[Name]


class StalledRule(Block):
    """A debate that repeats itself and does not move, from a round on, is brought to an end."""

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
    cost_per_step: Amount | None = None  # what a round costs, where its record does not say
    cost_limit: Amount | None = (
        None  # what the meeting may cost; a round that reaches it is the last one
    )

    @model_serializer(mode="wrap")
    def _without_what_is_not_set(
        self, plain: Callable[["MeetingConfig"], dict[str, Any]]
    ) -> dict[str, Any]:
        return {k: v for k, v in plain(self).items() if v is not None or not k.startswith("cost_")}


def find_meeting_config(name: str | Path) -> MeetingConfig:
    """Return a preset by name, or the config of a file, whole or partial; InputError, MeetingError with every fault."""
    text = str(name)
    if text in PRESETS:
        return preset(text)
    if not text.lower().endswith(CONFIG_SUFFIXES):
        known, endings = ", ".join(PRESETS), ", ".join(CONFIG_SUFFIXES)
        raise InputError(
            f"{text}: no such config; name one of {known}, or a file ending with {endings}"
        )
    data = read_config(text)
    try:
        return meeting_config(data)
    except MeetingError as e:
        raise MeetingError(*(f"{text}: {fault}" for fault in e.faults)) from e


def meeting_config(data: Mapping[str, Any]) -> MeetingConfig:
    """Return the config that some data gives, filled in from its preset; MeetingError lists every fault."""
    if not isinstance(data, Mapping):
        raise MeetingError(f"config: {shown(data)} where an object belongs")
    kind = data.get("meeting_type")
    base = (
        _preset_data(kind)
        if isinstance(kind, str) and kind in PRESETS
        else _preset_data(DEFAULT_PRESET)
    )
    config, faults = checked(MeetingConfig, _filled(base, data), "config")
    if config is None:
        raise MeetingError(*faults)
    return config


@cache
def preset(name: str) -> MeetingConfig:
    """Return a preset by name; InputError when there is none of that name."""
    if name not in PRESETS:
        raise InputError(f"{name}: no such preset; there are {', '.join(PRESETS)}")
    return meeting_config(_preset_data(name))


def unknown_keys(block: BaseModel, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the keys of a config that have no meaning, as paths: perhaps they are misspelled."""
    for key in block.model_extra or {}:
        yield dotted((*path, key))
    for name in type(block).model_fields:
        value = getattr(block, name)
        if isinstance(value, BaseModel):
            yield from unknown_keys(value, (*path, name))


def config_schema() -> dict[str, Any]:
    """Return the JSON schema of a config file, which may leave out anything: it is inherited."""
    return json_schema(_without_required(MeetingConfig.model_json_schema()))


def _without_required(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_required(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _without_required(item) for key, item in value.items() if key != "required"}


def _preset_data(name: str) -> dict[str, Any]:
    own = tomllib.loads((PRESETS_DIR / f"{name}.toml").read_text("utf-8"))
    return own if name == DEFAULT_PRESET else _filled(_preset_data(DEFAULT_PRESET), own)


def _filled(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key
        for key, value in own.items()
        if isinstance(value, Mapping) and isinstance(base.get(key), Mapping)
    }
    return {
        **base,
        **{key: _filled(base[key], value) if key in both else value for key, value in own.items()},
    }
