"""The verdict on each round of a meeting: its scores, the status that a rule gives it, and what to ask next."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from scoring.meters import above, rounded
from scoring.meters.dr.novelty import new_by_words, normalize
from scoring.meters.dr.profile import DEFAULT
from scoring.meters.dr.semantic import Embed, Meanings
from scoring.meters.meeting import decision_rules, round_scores
from scoring.meters.meeting.config import DEFAULT_PRESET, MeetingConfig, meeting_config, preset
from scoring.meters.meeting.decision_rules import Situation, Strength, missing_aspects
from scoring.meters.meeting.records import JudgeRecord, Status, check_records
from scoring.meters.meeting.round_scores import Difference, Scores, score_round, stated_differences


def _share(novel: int, repeated: int) -> float:
    return novel / (novel + repeated) if novel + repeated else 0.0


@dataclass(frozen=True, slots=True)
class MessageNovelty:
    """How many messages of a round are new and how many were said before, by which level, and by the judge."""

    novel: int
    repeated: int
    matched_by: Literal["L1", "L2"]
    judge_novel: int | None
    judge_repeated: int | None

    @property
    def share(self) -> float:
        """The share of messages that are new, 0 to 1; 0 without messages."""
        return _share(self.novel, self.repeated)

    @property
    def judge_share(self) -> float | None:
        """The same of the judge's points; None where the judge has not counted."""
        return (
            None if self.judge_novel is None else _share(self.judge_novel, self.judge_repeated or 0)
        )


def message_novelty(
    records: Sequence[JudgeRecord], embed: Embed | None = None
) -> dict[int, MessageNovelty]:
    """Return the novelty of each round's messages to all before, by words (L1) and by meaning (L2)."""
    said = [(r.round_index, m.text) for r in records for m in r.messages or () if normalize(m.text)]
    alone = [[normalize(text)] for _, text in said]
    new = [answer for (answer,) in new_by_words(alone, DEFAULT.thresholds.paraphrase)]
    if embed is not None:
        raw = [[text] for _, text in said]
        by_meaning = Meanings([text for _, text in said], embed).new_claims(
            raw, DEFAULT.thresholds.semantic
        )
        new = [by_words and other for by_words, (other,) in zip(new, by_meaning, strict=True)]
    by_round: dict[int, list[bool]] = {}
    for (number, _), is_new in zip(said, new, strict=True):
        by_round.setdefault(number, []).append(is_new)
    found = {}
    for record in records:
        if answers := by_round.get(record.round_index):
            judge = record.novelty
            counted = (
                (judge.novel_points_count, judge.repeated_points_count)
                if judge.is_counted
                else (None, None)
            )
            level: Literal["L1", "L2"] = "L1" if embed is None else "L2"
            found[record.round_index] = MessageNovelty(
                sum(answers), len(answers) - sum(answers), level, *counted
            )
    return found


@dataclass(frozen=True, slots=True)
class Pressure:
    """Shares of rounds and time used, above 1 when overdrawn, and cost in the judge's unit; None where not recorded."""

    rounds_used: float
    cost_total: float | None
    time_used: float | None


@dataclass(frozen=True, slots=True)
class MeetingVerdict:
    """What the meter says of one round."""

    round_index: int
    scores: Scores
    status: Status
    rule: (
        str  # the rule that decided: a name of :data:`~scoring.meters.meeting.decision_rules.RULES`
    )
    strength: (
        Strength | None
    )  # of a recommended end: strong when exploration and convergence are both good
    ending_allowed: bool
    reasons: tuple[str, ...]
    facilitator_prompt: str
    next_round_focus_prompts: tuple[str, ...]
    missing_aspects: tuple[
        str, ...
    ]  # the required aspects that are not deep, and then any others at none
    obstacles: tuple[
        str, ...
    ]  # what keeps the meeting from ending, in words; none where ending is allowed
    pressure: Pressure
    stated_differences: tuple[Difference, ...]
    from_messages: MessageNovelty | None = (
        None  # what is new by the messages themselves, where the record has them
    )

    @property
    def ends(self) -> bool:
        """Whether the meeting is over after this round, with a decision or without."""
        return self.status in ("ready_to_decide", "park_or_abort")

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, numbers rounded to 4 places; without ``rule`` and ``obstacles``."""
        data: dict[str, Any] = _plain(asdict(self))
        del data["rule"], data["obstacles"]
        if data["from_messages"] is None:
            del data["from_messages"]
        return data


def score_meeting(
    records: Iterable[JudgeRecord | Mapping[str, Any]],
    config: MeetingConfig | Mapping[str, Any] | str = DEFAULT_PRESET,
    embed: Embed | None = None,
) -> list[MeetingVerdict]:
    """Score every round of a deliberation and say whether it may end: one verdict per record, by round.

    ``config`` is a preset or may be partial; ``embed`` compares by meaning. MeetingError, InputError.
    """
    if not isinstance(config, MeetingConfig):
        config = preset(config) if isinstance(config, str) else meeting_config(config)
    checked = check_records(records)
    by_messages = message_novelty(checked, embed)
    checked = [_counted(record, by_messages.get(record.round_index)) for record in checked]
    total_cost: float | None = None
    by_round = {record.round_index: record for record in checked}
    scores: dict[int, Scores] = {}
    verdicts = []
    for record in checked:
        number = record.round_index
        scores[number] = score_round(
            record, by_round.get(number - 1), record is checked[0], config.weights
        )
        now, earlier = scores[number], scores.get(number - 2)
        total_cost = _total_cost(record, total_cost, config)
        situation = Situation(
            record=record,
            config=config,
            scores=now,
            levels=round_scores.coverage(record),
            lead=round_scores.leading(record.convergence.expert_positions),
            convergence_gain=None if earlier is None else now.convergence - earlier.convergence,
            exploration_gain=None if earlier is None else now.exploration - earlier.exploration,
            total_cost=total_cost,
        )
        verdicts.append(_verdict(situation, by_messages.get(number)))
    return verdicts


def _counted(record: JudgeRecord, found: MessageNovelty | None) -> JudgeRecord:
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
    return (
        record.round_index * config.cost_per_step
        if before is None
        else before + config.cost_per_step
    )


def _verdict(s: Situation, by_messages: MessageNovelty | None) -> MeetingVerdict:
    rule, decision = decision_rules.decide(s)
    drift = decision_rules.off_topic(s)
    missing, obstacles = (
        missing_aspects(s),
        decision_rules.obstacles_in(decision_rules.OBSTACLES, s),
    )
    notes = (s.record.focus.focus_drift_notes or "").strip()
    refocus = (
        (f"come back to the decision: {notes}" if notes else "come back to the decision",)
        if drift
        else ()
    )
    own = s.record.stop_continue_recommendation
    prompts = (*decision.focus, *missing, *refocus, *(own.next_round_focus_prompts if own else ()))
    differences = stated_differences(s.record, s.scores, s.lead, decision.status, s.config, missing)
    stated = by_messages.judge_share if by_messages else None
    if (
        by_messages
        and stated is not None
        and above(abs(stated - by_messages.share), round_scores.MARGIN)
    ):
        differences += (Difference("novelty.share_of_new", stated, by_messages.share),)
    return MeetingVerdict(
        round_index=s.record.round_index,
        scores=s.scores,
        status=decision.status,
        rule=rule,
        strength=decision.strength,
        ending_allowed=not obstacles,
        reasons=tuple(dict.fromkeys((*decision.reasons, *((drift,) if drift else ())))),
        facilitator_prompt=decision.prompt,
        next_round_focus_prompts=tuple(dict.fromkeys(prompts)),
        missing_aspects=tuple(missing),
        obstacles=obstacles,
        pressure=_pressure(s),
        stated_differences=differences,
        from_messages=by_messages,
    )


def _pressure(s: Situation) -> Pressure:
    used = s.record.cost_time
    time = (
        used.time_elapsed_minutes / used.time_budget_minutes
        if used and used.time_budget_minutes
        else math.inf
    )
    rounds = s.record.round_index / s.config.round_limits.max_rounds
    return Pressure(rounds, s.total_cost, time if math.isfinite(time) else None)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return rounded(value) if isinstance(value, float) else value
