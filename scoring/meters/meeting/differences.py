"""Where a record states something else than its own evidence gives, or than the config says (contract section 7)."""

from collections.abc import Iterator

from scoring.meters.dr.thresholds import TOLERANCE, above
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.records import JudgeRecord, Status
from scoring.meters.meeting.scores import Lead, Scores
from scoring.meters.meeting.verdict import Difference

MARGIN = 0.02
"""A stated number may differ from the computed one by this much: judges round."""


def stated_differences(
    record: JudgeRecord, scores: Scores, lead: Lead | None, status: Status, config: MeetingConfig
) -> tuple[Difference, ...]:
    """List what a record states and what is otherwise: scores, weights, round, limit and status."""
    return (
        *(
            Difference(field, stated, computed)
            for field, stated, computed in _numbers(record, scores, lead)
            if stated is not None and above(abs(stated - computed), MARGIN)
        ),
        *_weights(record, config),
        *_limits(record, config),
        *_status(record, status),
    )


def _numbers(record: JudgeRecord, scores: Scores, lead: Lead | None) -> Iterator[tuple[str, float | None, float]]:
    """Yield every number that a record may state beside its evidence, with the computed one."""
    convergence, novelty = record.convergence, record.novelty
    yield "exploration.exploration_score", record.exploration.exploration_score, scores.exploration
    support, confidence = (lead.support, lead.confidence) if lead else (0.0, 0.0)
    yield "convergence.leading_option_support_fraction", convergence.leading_option_support_fraction, support
    yield "convergence.leading_option_avg_confidence", convergence.leading_option_avg_confidence, confidence
    yield "convergence.convergence_score", convergence.convergence_score, scores.convergence
    yield "focus.focus_score", record.focus.focus_score, scores.focus
    yield "novelty.novelty_score_overall", novelty.novelty_score_overall, scores.novelty
    yield "novelty.novelty_score_recent", novelty.novelty_score_recent, scores.novelty_recent
    if composite := record.composite:
        yield "composite.exploration_score", composite.exploration_score, scores.exploration
        yield "composite.convergence_score", composite.convergence_score, scores.convergence
        yield "composite.focus_score", composite.focus_score, scores.focus
        yield "composite.low_novelty_score", composite.low_novelty_score, 1 - scores.novelty_recent
        yield "composite.meeting_completeness_index", composite.meeting_completeness_index, scores.completeness


def _weights(record: JudgeRecord, config: MeetingConfig) -> Iterator[Difference]:
    """Yield the weights that are not the config's; one that is not stated is 0 to the judge."""
    if record.composite is None:
        return
    used = record.composite.weights_used
    for name in type(config.weights).model_fields:
        stated, weight = used.get(name), getattr(config.weights, name)
        if stated is None or abs(stated - weight) > TOLERANCE:
            yield Difference(f"composite.weights_used.{name}", stated, weight)


def _limits(record: JudgeRecord, config: MeetingConfig) -> Iterator[Difference]:
    if (stated := record.cost_time) is None:
        return
    if stated.round_index != record.round_index:
        yield Difference("cost_time.round_index", stated.round_index, record.round_index)
    if stated.max_rounds != config.round_limits.max_rounds:
        yield Difference("cost_time.max_rounds", stated.max_rounds, config.round_limits.max_rounds)


def _status(record: JudgeRecord, status: Status) -> Iterator[Difference]:
    recommended = record.stop_continue_recommendation
    if recommended is not None and recommended.status != status:
        yield Difference("stop_continue_recommendation.status", recommended.status, status)
