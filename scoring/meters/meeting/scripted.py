"""Scripted experts and a scripted judge, for an example that needs no model.

They hold four rounds, and then a decision is ready.
"""

import json
import re
from typing import NamedTuple

from scoring.frozen import PlainData
from scoring.meters.meeting.autopilot import Ask
from scoring.meters.meeting.round_scores import CHECKLIST
from scoring.meters.meeting.votes import StatedVote

TOPIC = "whether to put a cache or a queue before the database"
EXPERTS = ("expert_1", "expert_2", "expert_3")
_POINTS_OF_A_ROUND = 10
_SHALLOW_ASPECTS = 3


class _ScriptedRound(NamedTuple):
    """What happens in a round.

    Attributes:
        deep: how many aspects of the checklist are deep; some more are shallow.
        votes: what each expert prefers.
        new_points: how many of ten points are new.
    """

    deep: int
    votes: tuple[StatedVote, ...]
    new_points: int


_ROUNDS = (
    _ScriptedRound(
        1, (StatedVote("cache", 0.6), StatedVote("queue", 0.5), StatedVote("cache", 0.6)), 9
    ),
    # An early consensus.
    _ScriptedRound(
        2, (StatedVote("cache", 0.8), StatedVote("cache", 0.7), StatedVote("cache", 0.8)), 6
    ),
    _ScriptedRound(
        6, (StatedVote("cache", 0.8), StatedVote("queue", 0.6), StatedVote("cache", 0.7)), 4
    ),
    _ScriptedRound(
        8, (StatedVote("cache", 0.8), StatedVote("cache", 0.7), StatedVote("cache", 0.8)), 1
    ),
)


def _script_of(number: int) -> _ScriptedRound:
    """Return the script of a round. Later rounds are like the last one."""
    return _ROUNDS[min(number, len(_ROUNDS)) - 1]


def scripted_experts() -> dict[str, Ask]:
    """Return how each scripted expert is asked, by name."""
    return {name: _scripted_expert(index) for index, name in enumerate(EXPERTS)}


def _scripted_expert(index: int) -> Ask:
    def ask(prompt: str) -> str:
        match = re.search(r"(?m)^This is round (\d+) of", prompt)
        assert match is not None  # every prompt says so
        vote = _script_of(int(match[1])).votes[index]
        return (
            f"I prefer a {vote.option} now.\nOption: {vote.option}\nConfidence: {vote.confidence:g}"
        )

    return ask


def scripted_judge(question: str) -> str:
    """Answer a question to the judge with a record of the round."""
    number: int = json.loads(question)["next_round"]
    script = _script_of(number)
    record: PlainData = {
        "round_index": number,
        "exploration": {"aspects": _aspects(script.deep)},
        "convergence": {"expert_positions": _positions(script.votes)},
        "focus": {"core_count": 3, "context_count": 0, "off_topic_count": 0},
        "novelty": {
            "novel_points_count": script.new_points,
            "repeated_points_count": _POINTS_OF_A_ROUND - script.new_points,
        },
    }
    return json.dumps(record)


def _aspects(deep: int) -> list[dict[str, str]]:
    levels = ["deep"] * deep + ["shallow"] * _SHALLOW_ASPECTS + ["none"] * len(CHECKLIST)
    return [
        {"name": name, "coverage_level": level}
        for name, level in zip(CHECKLIST, levels, strict=False)
    ]


def _positions(votes: tuple[StatedVote, ...]) -> list[PlainData]:
    return [
        {"expert_id": name, "preferred_option": vote.option, "confidence": vote.confidence}
        for name, vote in zip(EXPERTS, votes, strict=True)
    ]
