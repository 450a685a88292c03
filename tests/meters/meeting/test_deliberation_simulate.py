"""Made deliberations: the same for the same seed on any machine, and turned by their knobs; and plots of meetings."""

import hashlib
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from scoring.errors import MeetingError
from scoring.meters.meeting import MeetingKnobs, endings, score_meeting, simulate_meeting
from scoring.meters.meeting.config import PRESETS, preset


def dumped(knobs: MeetingKnobs) -> str:
    return json.dumps([r.model_dump(exclude_unset=True) for r in simulate_meeting(knobs)], sort_keys=True)


def ends_in(knobs: MeetingKnobs) -> dict[str, int | None]:
    found = endings(simulate_meeting(knobs), {name: preset(name) for name in PRESETS})
    return {ending.config: ending.last.round_index if ending.last else None for ending in found}


def test_a_seed_gives_the_same_meeting_everywhere() -> None:
    assert hashlib.sha256(dumped(MeetingKnobs(seed=7)).encode()).hexdigest() == (
        "39922cb3d42aadbd7ed48b84a2b0694ef60ea6764947811457291f37940008a8"
    )
    assert dumped(MeetingKnobs()) == dumped(MeetingKnobs(seed=0))


@pytest.mark.parametrize("seed", range(10))
def test_a_made_meeting_is_one_and_ends(seed: int) -> None:
    records = simulate_meeting(MeetingKnobs(seed=seed, rounds=12, experts=4))
    assert [r.round_index for r in records] == list(range(1, 13))
    assert {len(r.convergence.expert_positions) for r in records} == {4}
    assert {r.meeting_id for r in records} == {f"simulated-{seed}"}
    for name in PRESETS:
        (ending,) = endings(records, {name: preset(name)})
        assert ending.last is not None
        assert all(not verdict.ends for verdict in ending.verdicts[:-1])
        assert ending.verdicts == tuple(score_meeting(records, name)[: len(ending.verdicts)])


def test_a_meeting_that_is_too_short_does_not_end() -> None:
    assert ends_in(MeetingKnobs(rounds=1)) == dict.fromkeys(PRESETS)


def mean(knobs: MeetingKnobs, score: str) -> float:
    """Return a score over rounds and a few seeds."""
    verdicts = [v for seed in range(8) for v in score_meeting(simulate_meeting(replace(knobs, seed=seed)))]
    total: float = sum(getattr(v.scores, score) for v in verdicts)
    return total / len(verdicts)


@pytest.mark.sampled(100)
@pytest.mark.parametrize(
    ("knob", "score", "sign"),
    [
        ("agreement", "convergence", 1),
        ("agreement", "disagreement", -1),
        ("exploration", "exploration", 1),
        ("novelty_decay", "novelty", -1),
        ("drift", "focus", -1),
    ],
)
def test_a_knob_turns_its_score(knob: str, score: str, sign: int) -> None:
    settings: list[dict[str, Any]] = [{knob: value} for value in (0.0, 0.3, 0.9)]
    low, middle, high = [sign * mean(MeetingKnobs(**setting), score) for setting in settings]
    assert low < middle < high


@pytest.mark.parametrize(
    ("setting", "fault"),
    [
        ({"rounds": 0}, "rounds is 0, not 1 to 100"),
        ({"experts": 101}, "experts is 101, not 1 to 100"),
        ({"agreement": 1.1}, "agreement is 1.1, not 0 to 1"),
        ({"drift": float("nan")}, "drift is nan, not 0 to 1"),
        ({"seed": -1}, "seed is -1, below 0"),
    ],
)
def test_a_knob_out_of_range_is_an_error(setting: dict[str, Any], fault: str) -> None:
    with pytest.raises(MeetingError, match=f"^{re.escape(fault)}$"):
        MeetingKnobs(**setting)


# Plots
