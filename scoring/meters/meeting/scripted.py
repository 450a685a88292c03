"""Scripted experts and a scripted judge, for an example that needs no model.

They hold four rounds, and then a decision is ready.
"""

import json
import re
from functools import partial
from typing import NamedTuple

from scoring.frozen import PlainData, Texts

from .autopilot import Ask
from .round_scores import CHECKLIST

TOPIC = "whether to put a cache or a queue before the database"
EXPERTS = ("expert_1", "expert_2", "expert_3")
_POINTS_OF_A_ROUND = 10
_SHALLOW_ASPECTS = 3


class _ScriptedRound(NamedTuple):
    """What happens in a round.

    Attributes:
        deep: how many aspects of the checklist are deep; the next few are shallow.
        options: which option each expert prefers, in the order of ``EXPERTS``.
        confidences: how sure each expert is, from 0 to 1, in the same order.
        new_points: how many of ten points are new.
    """

    deep: int
    options: Texts
    confidences: tuple[float, ...]
    new_points: int


_ROUNDS = (
    _ScriptedRound(1, ("cache", "queue", "cache"), (0.6, 0.5, 0.6), 9),
    # an early consensus
    _ScriptedRound(2, ("cache", "cache", "cache"), (0.8, 0.7, 0.8), 6),
    _ScriptedRound(6, ("cache", "queue", "cache"), (0.8, 0.6, 0.7), 4),
    _ScriptedRound(8, ("cache", "cache", "cache"), (0.8, 0.7, 0.8), 1),
)


def _script_of(number: int) -> _ScriptedRound:
    """Return the script of a round. Later rounds are like the last one."""
    return _ROUNDS[min(number, len(_ROUNDS)) - 1]


def scripted_experts() -> dict[str, Ask]:
    """Return the function that answers the prompts of each scripted expert, by its name."""
    return {
        name: partial(_scripted_expert, index) for index, name in enumerate(EXPERTS)
    }


def _scripted_expert(index: int, prompt: str) -> str:
    match = re.search(r"(?m)^This is round (\d+) of", prompt)
    assert match is not None  # every prompt says so
    script = _script_of(int(match[1]))
    option = script.options[index]
    return f"I prefer a {option} now.\nOption: {option}\nConfidence: {script.confidences[index]:g}"


def scripted_judge(question: str) -> str:
    """Return the record of a round, as JSON, that answers a question to the judge."""
    number: int = json.loads(question)["next_round"]
    script = _script_of(number)
    positions = [
        {"expert_id": name, "preferred_option": option, "confidence": confidence}
        for name, option, confidence in zip(
            EXPERTS, script.options, script.confidences, strict=True
        )
    ]

    aspects = []
    for index, name in enumerate(CHECKLIST):
        level = "none"
        if index < script.deep:
            level = "deep"
        elif index < script.deep + _SHALLOW_ASPECTS:
            level = "shallow"
        aspects.append({"name": name, "coverage_level": level})

    record: PlainData = {
        "round_index": number,
        "exploration": {"aspects": aspects},
        "convergence": {"expert_positions": positions},
        "focus": {"core_count": 3, "context_count": 0, "off_topic_count": 0},
        "novelty": {
            "novel_points_count": script.new_points,
            "repeated_points_count": _POINTS_OF_A_ROUND - script.new_points,
        },
    }
    return json.dumps(record)
