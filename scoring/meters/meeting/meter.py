"""The meter: a meeting's records and a config in, one verdict per round out."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from scoring.meters.meeting.config import DEFAULT_PRESET, MeetingConfig, meeting_config, preset
from scoring.meters.meeting.differences import stated_differences
from scoring.meters.meeting.records import JudgeRecord, check_records
from scoring.meters.meeting.rules import (
    Situation,
    decide,
    ending_allowed,
    missing_aspects,
    off_topic,
)
from scoring.meters.meeting.scores import Scores, coverage, leading, score_round
from scoring.meters.meeting.verdict import MeetingVerdict, Pressure


def score_meeting(
    records: Iterable[JudgeRecord | Mapping[str, Any]],
    config: MeetingConfig | Mapping[str, Any] | str = DEFAULT_PRESET,
) -> list[MeetingVerdict]:
    """Score every round of a deliberation and say whether it may end (contract section 7).

    Args:
        records: one judge's record per round, as models or plain data, in any order. Rounds may be missing.
        config: the name of a preset, a config, or plain data of a whole or partial one.

    Returns:
        One verdict per record, by round. Nothing depends on later rounds, so the verdict of a round stays the same when
        the next record arrives.

    Raises:
        MeetingError: the records or the config are not valid; ``faults`` lists everything that is wrong.
        InputError: there is no preset of that name.
    """
    settings = _config(config)
    return _verdicts(check_records(records), settings)


def _config(config: MeetingConfig | Mapping[str, Any] | str) -> MeetingConfig:
    if isinstance(config, MeetingConfig):
        return config
    return preset(config) if isinstance(config, str) else meeting_config(config)


def _verdicts(records: list[JudgeRecord], config: MeetingConfig) -> list[MeetingVerdict]:
    by_round = {record.round_index: record for record in records}
    scores: dict[int, Scores] = {}
    verdicts: dict[int, MeetingVerdict] = {}
    for record in records:
        number = record.round_index
        scores[number] = score_round(record, by_round.get(number - 1), record is records[0], config.weights)
        situation = _situation(record, by_round.get(number - 1), verdicts.get(number - 1), scores, config)
        verdicts[number] = _verdict(situation)
    return list(verdicts.values())


def _situation(
    record: JudgeRecord,
    before: JudgeRecord | None,
    verdict_before: MeetingVerdict | None,
    scores: Mapping[int, Scores],
    config: MeetingConfig,
) -> Situation:
    now, earlier = scores[record.round_index], scores.get(record.round_index - 2)
    was_ready = verdict_before is not None and verdict_before.status == "ready_to_decide"
    return Situation(
        record=record,
        config=config,
        scores=now,
        levels=coverage(record.exploration),
        lead=leading(record.convergence.expert_positions),
        convergence_gain=None if earlier is None else now.convergence - earlier.convergence,
        exploration_gain=None if earlier is None else now.exploration - earlier.exploration,
        unconfirmed=was_ready and before is not None and before.user_confirmed is False,
    )


def _verdict(s: Situation) -> MeetingVerdict:
    rule, decision = decide(s)
    drift = off_topic(s)
    missing = missing_aspects(s)
    refocus = (_refocus(s),) if drift else ()
    own = s.record.stop_continue_recommendation
    prompts = (*decision.focus, *missing, *refocus, *(own.next_round_focus_prompts if own else ()))
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
        stated_differences=stated_differences(s.record, s.scores, s.lead, decision.status, s.config),
    )


def _refocus(s: Situation) -> str:
    notes = (s.record.focus.focus_drift_notes or "").strip()
    return f"come back to the decision: {notes}" if notes else "come back to the decision"


def _pressure(s: Situation) -> Pressure:
    rounds = s.record.round_index / s.config.round_limits.max_rounds
    if (used := s.record.cost_time) is None:
        return Pressure(rounds, None, None)
    time = used.time_elapsed_minutes / used.time_budget_minutes if used.time_budget_minutes else math.inf
    return Pressure(rounds, used.estimated_cost_cumulative, time if math.isfinite(time) else None)
