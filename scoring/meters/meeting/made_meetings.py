"""Makes up a deliberation from a seed and a few knobs, the same on any machine, to see how a config behaves."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scoring.errors import MeetingError
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.records import JudgeRecord, check_records
from scoring.meters.meeting.round_scores import CHECKLIST, LEVELS
from scoring.meters.meeting.verdicts import MeetingVerdict, score_meeting

OPTIONS = ("option_a", "option_b", "option_c")
POINTS, MESSAGES = 24, 16  # what a made meeting says in each round: points, new ones and repeated ones, and messages
MOST = 100  # the most rounds, and the most experts, that a made meeting has


@dataclass(frozen=True, slots=True)
class MeetingKnobs:
    """What a made deliberation is like; all but the first three are shares from 0 to 1, else MeetingError."""

    seed: int = 0  # 0 or more
    rounds: int = 10  # 1 to 100
    experts: int = 5  # 1 to 100
    agreement: float = 0.3  # how likely an expert who disagrees comes over in a round, and how far doubts shrink
    exploration: float = 0.5  # how likely an aspect goes a level deeper in a round
    novelty_decay: float = 0.3  # the part of what is new that each round lacks of the one before
    drift: float = 0.1  # the part of the messages that are off topic

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise MeetingError(f"seed is {self.seed}, below 0")
        for name, value in list(asdict(self).items())[1:]:
            least, most = (1, MOST) if name in ("rounds", "experts") else (0, 1)
            if not least <= value <= most:
                raise MeetingError(f"{name} is {value:g}, not {least} to {most}")


@dataclass(frozen=True, slots=True)
class Ending:
    """When a config would end a meeting: its verdicts up to there, or all of them when it would not."""

    config: str
    verdicts: tuple[MeetingVerdict, ...]

    @property
    def last(self) -> MeetingVerdict | None:
        """The verdict that ends the meeting, None when none does."""
        return self.verdicts[-1] if self.verdicts[-1].ends else None


def simulate_meeting(knobs: MeetingKnobs | None = None) -> list[JudgeRecord]:
    """Make up the records of a deliberation, one for each round; MeetingError for a knob out of its range."""
    knobs = knobs or MeetingKnobs()
    draw = random.Random(knobs.seed).random  # noqa: S311 - nothing to guess
    levels = dict.fromkeys(CHECKLIST, 0)
    choices = [OPTIONS[int(draw() * len(OPTIONS))] for _ in range(knobs.experts)]
    doubts = [0.3 + 0.4 * draw() for _ in range(knobs.experts)]
    new = 1.0
    records: list[dict[str, Any]] = []
    for number in range(1, knobs.rounds + 1):
        leader = max(OPTIONS, key=choices.count)
        for expert in range(knobs.experts):
            converted, shrunk = draw() < knobs.agreement, 1 - knobs.agreement * draw()
            if number > 1:
                choices[expert] = leader if converted else choices[expert]
                doubts[expert] *= shrunk
        for name in CHECKLIST:
            if draw() < knobs.exploration:
                levels[name] = min(2, levels[name] + 1)
        novel = _whole(POINTS * new * (0.8 + 0.2 * draw()))
        off_topic = min(MESSAGES, _whole(MESSAGES * knobs.drift * (0.5 + draw())))
        core = _whole((MESSAGES - off_topic) * (0.6 + 0.4 * draw()))
        aspects = [{"name": name, "coverage_level": tuple(LEVELS)[level]} for name, level in levels.items()]
        positions = [
            {"expert_id": f"expert_{n}", "preferred_option": choice, "confidence": _whole(100 * (1 - doubt)) / 100}
            for n, (choice, doubt) in enumerate(zip(choices, doubts, strict=True), start=1)
        ]
        messages = {"core_count": core, "context_count": MESSAGES - core - off_topic, "off_topic_count": off_topic}
        records.append(
            {
                "meeting_id": f"simulated-{knobs.seed}",
                "round_index": number,
                "exploration": {"aspects": aspects},
                "convergence": {"options_considered": list(OPTIONS), "expert_positions": positions},
                "focus": messages,
                "novelty": {"novel_points_count": novel, "repeated_points_count": POINTS - novel},
            }
        )
        new *= 1 - knobs.novelty_decay
    return check_records(records)


def endings(records: Sequence[JudgeRecord], configs: Mapping[str, MeetingConfig]) -> list[Ending]:
    """Return when each config, by its name, would end a meeting."""
    found = []
    for name, config in configs.items():
        verdicts = score_meeting(records, config)
        end = next((n for n, verdict in enumerate(verdicts, start=1) if verdict.ends), len(verdicts))
        found.append(Ending(name, tuple(verdicts[:end])))
    return found


def _whole(number: float) -> int:
    return int(number + 0.5)


def simulation_payload(knobs: MeetingKnobs, records: list[dict[str, Any]], found: Sequence[Ending]) -> dict[str, Any]:
    """Return a made meeting as data: its knobs, when each config ends it, and its records."""
    rows = [
        {
            "config": ending.config,
            "ends_in_round": ending.last.round_index if ending.last else None,
            **{name: getattr(ending.verdicts[-1], name) for name in ("status", "strength", "rule", "reasons")},
            "statuses": [verdict.status for verdict in ending.verdicts],
        }
        for ending in found
    ]
    return {"knobs": asdict(knobs), "endings": rows, "records": records}
