"""The deliberation meter: whether a meeting of several experts may end, must go on, or should be parked.

A judge writes one record per round. The way through: :mod:`records` and :mod:`config` say what is read,
:mod:`round_scores` scores each round from the record's own evidence, :mod:`decision_rules` holds the rules in order,
and :func:`score_meeting` puts them together into one verdict per round. docs/DELIBERATION.md explains it.

:func:`simulate_meeting` makes up a deliberation from a seed and a few knobs, to see how a config behaves before it is
trusted: some of the experts who disagree come over to the leading option in every round, the others grow surer, aspects
are explored one level at a time, and what is new gets less. The same knobs give the same records on any machine: only
``random.Random.random`` is drawn from, and only sums, products and quotients are taken. The module is long because made
meetings are a third of it.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from scoring.errors import MeetingError
from scoring.meters import above, rounded
from scoring.meters.dr.meanings import Embed
from scoring.meters.meeting.config import DEFAULT_PRESET, MeetingConfig, meeting_config, preset
from scoring.meters.meeting.decision_rules import (
    DOUBTS,
    Situation,
    Strength,
    decide,
    ending_allowed,
    missing_aspects,
    off_topic,
    refused,
)
from scoring.meters.meeting.message_novelty import MessageNovelty, message_novelty
from scoring.meters.meeting.records import JudgeRecord, Status, check_records
from scoring.meters.meeting.round_scores import (
    CHECKLIST,
    LEVELS,
    MARGIN,
    Difference,
    Scores,
    coverage,
    leading,
    score_round,
    stated_differences,
)

OPTIONS = ("option_a", "option_b", "option_c")
POINTS, MESSAGES = 24, 16
"""What a made meeting says in each round: points, new ones and repeated ones, and messages."""

MOST = 100
"""The most rounds, and the most experts, that a made meeting has."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """Shares of rounds and time used, above 1 when overdrawn, and cost in the judge's unit; None where not recorded."""

    rounds_used: float
    cost_total: float | None
    time_used: float | None


@dataclass(frozen=True, slots=True)
class MeetingVerdict:
    """What the meter says of one round. ``as_dict`` rounds its numbers to 4 places."""

    round_index: int
    scores: Scores
    status: Status
    rule: str
    """The rule that decided: a name of :data:`~scoring.meters.meeting.decision_rules.RULES`."""
    strength: Strength | None
    """Of a recommended end: strong when exploration and convergence are both good. None with every other status."""
    ending_allowed: bool
    reasons: tuple[str, ...]
    facilitator_prompt: str
    next_round_focus_prompts: tuple[str, ...]
    missing_aspects: tuple[str, ...]
    """The required aspects that are not deep, and then any others at none."""
    pressure: Pressure
    stated_differences: tuple[Difference, ...]
    from_messages: MessageNovelty | None = None
    """What is new by the messages themselves, where the record has them."""

    @property
    def ends(self) -> bool:
        """Whether the meeting is over after this round, with a decision or without."""
        return self.status in ("ready_to_decide", "park_or_abort")

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, numbers rounded to 4 places; without ``rule``."""
        data: dict[str, Any] = _plain(asdict(self))
        del data["rule"]
        if data["from_messages"] is None:
            del data["from_messages"]
        return data


def score_meeting(
    records: Iterable[JudgeRecord | Mapping[str, Any]],
    config: MeetingConfig | Mapping[str, Any] | str = DEFAULT_PRESET,
    embed: Embed | None = None,
) -> list[MeetingVerdict]:
    """Score every round of a deliberation and say whether it may end.

    Args:
        records: one judge's record per round, as models or plain data, in any order. Rounds may be missing.
        config: the name of a preset, a config, or plain data of a whole or partial one.
        embed: compares messages by their meaning as well; without it by their words.

    Returns:
        One verdict per record, by round. Nothing depends on later rounds, so the verdict of a round stays the same when
        the next record arrives.

    Raises:
        MeetingError: the records or the config are not valid; ``faults`` lists everything that is wrong.
        InputError: there is no preset of that name.
    """
    if not isinstance(config, MeetingConfig):
        config = preset(config) if isinstance(config, str) else meeting_config(config)
    checked = check_records(records)
    by_messages = message_novelty(checked, embed)
    checked = [_counted(record, by_messages.get(record.round_index)) for record in checked]
    total_cost: float | None = None
    by_round = {record.round_index: record for record in checked}
    scores: dict[int, Scores] = {}
    verdicts: dict[int, MeetingVerdict] = {}
    for record in checked:
        number = record.round_index
        scores[number] = score_round(record, by_round.get(number - 1), record is checked[0], config.weights)
        now, earlier = scores[number], scores.get(number - 2)
        total_cost = _total_cost(record, total_cost, config)
        was_ready = number - 1 in verdicts and verdicts[number - 1].status == "ready_to_decide"
        situation = Situation(
            record=record,
            config=config,
            scores=now,
            levels=coverage(record),
            lead=leading(record.convergence.expert_positions),
            convergence_gain=None if earlier is None else now.convergence - earlier.convergence,
            exploration_gain=None if earlier is None else now.exploration - earlier.exploration,
            unconfirmed=was_ready and by_round[number - 1].user_confirmed is False,
            total_cost=total_cost,
        )
        verdicts[number] = _verdict(situation, by_messages.get(number))
    return list(verdicts.values())


def _counted(record: JudgeRecord, found: MessageNovelty | None) -> JudgeRecord:
    """Return a record whose points are those of its messages, where the judge has not counted."""
    if found is None or record.novelty.is_counted:
        return record
    counts = {"novel_points_count": found.novel, "repeated_points_count": found.repeated}
    return record.model_copy(update={"novelty": record.novelty.model_copy(update=counts)})


def _total_cost(record: JudgeRecord, before: float | None, config: MeetingConfig) -> float | None:
    """Return what a meeting has cost with a round: what its record says, else the cost of a step on top of before."""
    if record.cost_time is not None:
        return record.cost_time.estimated_cost_cumulative
    if config.cost_per_step is None:
        return before
    return record.round_index * config.cost_per_step if before is None else before + config.cost_per_step


def _verdict(s: Situation, by_messages: MessageNovelty | None) -> MeetingVerdict:
    rule, decision = decide(s)
    drift = off_topic(s)
    missing = missing_aspects(s)
    notes = (s.record.focus.focus_drift_notes or "").strip()
    refocus = (f"come back to the decision: {notes}" if notes else "come back to the decision",) if drift else ()
    own = s.record.stop_continue_recommendation
    doubts = (DOUBTS,) if refused(s, decision) else ()
    prompts = (*doubts, *decision.focus, *missing, *refocus, *(own.next_round_focus_prompts if own else ()))
    return MeetingVerdict(
        round_index=s.record.round_index,
        scores=s.scores,
        status=decision.status,
        rule=rule,
        strength=decision.strength,
        ending_allowed=ending_allowed(s),
        reasons=tuple(dict.fromkeys((*decision.reasons, *((drift,) if drift else ())))),
        facilitator_prompt=decision.prompt,
        next_round_focus_prompts=tuple(dict.fromkeys(prompts)),
        missing_aspects=tuple(missing),
        pressure=_pressure(s),
        stated_differences=(
            *stated_differences(s.record, s.scores, s.lead, decision.status, s.config, missing),
            *_miscounted(by_messages),
        ),
        from_messages=by_messages,
    )


def _miscounted(found: MessageNovelty | None) -> tuple[Difference, ...]:
    """Return the difference between what the judge calls new and what is, where it is larger than judges round."""
    if found is None or found.judge_share is None or not above(abs(found.judge_share - found.share), MARGIN):
        return ()
    return (Difference("novelty.share_of_new", found.judge_share, found.share),)


def _pressure(s: Situation) -> Pressure:
    rounds = s.record.round_index / s.config.round_limits.max_rounds
    if (used := s.record.cost_time) is None:
        return Pressure(rounds, s.total_cost, None)
    time = used.time_elapsed_minutes / used.time_budget_minutes if used.time_budget_minutes else math.inf
    return Pressure(rounds, used.estimated_cost_cumulative, time if math.isfinite(time) else None)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return rounded(value) if isinstance(value, float) else value


# Made meetings


@dataclass(frozen=True, slots=True)
class MeetingKnobs:
    """What a made deliberation is like.

    ``seed`` is 0 or more; ``rounds`` and ``experts`` are counts from 1 to 100. The others are shares from 0 to 1:
    ``agreement``, how likely somebody who disagrees comes over in a round, and how far doubts shrink; ``exploration``,
    how likely an aspect goes a level deeper in a round; ``novelty_decay``, the part of what is new that each round
    lacks of the one before; ``drift``, the part of the messages that are off topic.
    """

    seed: int = 0
    rounds: int = 10
    experts: int = 5
    agreement: float = 0.3
    exploration: float = 0.5
    novelty_decay: float = 0.3
    drift: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what no meeting is like."""
        if self.seed < 0:
            raise MeetingError(f"seed is {self.seed}, below 0")
        for name in ("rounds", "experts"):
            if not 1 <= getattr(self, name) <= MOST:
                raise MeetingError(f"{name} is {getattr(self, name)}, not 1 to {MOST}")
        for field in fields(self)[3:]:
            if not 0 <= getattr(self, field.name) <= 1:
                raise MeetingError(f"{field.name} is {getattr(self, field.name):g}, not 0 to 1")


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
