"""Records of meetings for tests: one that may end by every threshold, and what differs from it."""

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.meters.meeting import MeetingVerdict, score_meeting
from scoring.meters.meeting.config import MeetingConfig, meeting_config
from scoring.meters.meeting.round_scores import CHECKLIST

ALL_DEEP = dict.fromkeys(CHECKLIST, "deep")
ALL_SHALLOW = dict.fromkeys(CHECKLIST, "shallow")
ALL_NONE = dict.fromkeys(CHECKLIST, "none")


def used(
    number: int = 3, cost: float = 0, minutes: float = 0, of_minutes: float = 0
) -> dict[str, float]:
    """Return what a round of at most ten has used of money and time, as a record says it."""
    found = {"round_index": number, "max_rounds": 10, "estimated_cost_this_round": cost}
    return found | {
        "estimated_cost_cumulative": cost,
        "time_elapsed_minutes": minutes,
        "time_budget_minutes": of_minutes,
    }


def record(
    number: Any = 3,
    levels: Mapping[str, str] = ALL_DEEP,
    experts: Sequence[tuple[str, float]] = (("A", 0.8),) * 5,
    messages: tuple[int, int, int] = (8, 0, 2),
    points: tuple[int, int] = (1, 9),
    **fields: Any,
) -> dict[str, Any]:
    """Return a record in which E is 1, C 0.8, F 0.8 and N 0.1, unless fields say otherwise.

    ``focus__x`` sets the field ``x`` of ``focus``.
    """
    found: dict[str, Any] = {
        "round_index": number,
        "exploration": {
            "aspects": [
                {"name": name, "coverage_level": level}
                for name, level in levels.items()
            ]
        },
        "convergence": {
            "expert_positions": [
                {
                    "expert_id": f"e{n}",
                    "preferred_option": option,
                    "confidence": confidence,
                }
                for n, (option, confidence) in enumerate(experts)
            ]
        },
        "focus": dict(
            zip(
                ("core_count", "context_count", "off_topic_count"),
                messages,
                strict=True,
            )
        ),
        "novelty": dict(
            zip(("novel_points_count", "repeated_points_count"), points, strict=True)
        ),
    }
    for name, value in fields.items():
        block, _, field = name.partition("__")
        if field:
            found[block][field] = value
        else:
            found[name] = value
    return found


def config(*settings: tuple[str, Any], kind: str = "default") -> MeetingConfig:
    """Return a preset with some settings by path: ``("thresholds.focus.target_good", 0.9)``."""
    data: dict[str, Any] = {"meeting_type": kind}
    for path, value in settings:
        *parents, last = path.split(".")
        block = data
        for parent in parents:
            block = block.setdefault(parent, {})
        block[last] = value
    return meeting_config(data)


def last(
    records: Sequence[Mapping[str, Any]],
    *settings: tuple[str, Any],
    kind: str = "default",
) -> MeetingVerdict:
    """Return the verdict of the last round of a meeting."""
    return score_meeting(records, config(*settings, kind=kind))[-1]
