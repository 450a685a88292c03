"""Where a judge states otherwise than computed."""

from collections.abc import Iterator

from scoring.frozen import Frozen
from scoring.meters import TOLERANCE, above, at_most

from .message_novelty import MessageNovelty
from .obstacles import Situation
from .records import (
    ExpertPosition,
    JudgeRecord,
    Status,
    count_annotations,
    in_words,
)
from .round_scores import leading

MARGIN = 0.02
"""How far a stated number may be from the computed one at most, because judges round."""


class Difference(Frozen):
    """Something that the judge states otherwise than computed.

    Attributes:
        field: the path of the field in the record.
        stated: the value of the field in the record; None where a weight is left out.
        computed: the computed value.
    """

    field: str
    stated: float | str | None
    computed: float | str


def stated_differences(
    situation: Situation, status: Status, messages: MessageNovelty | None
) -> tuple[Difference, ...]:
    """Return where a record states something else than is computed, or than its messages show.

    Args:
        situation: the round.
        status: the status that the rules give the round.
        messages: how many of the round's messages are new; None without messages.
    """
    record = situation.record
    differences = []
    unstated = unstated_positions(record)
    if unstated:
        field = "convergence.expert_positions"
        own = in_words(record.convergence.expert_positions)
        differences.append(Difference(field, in_words(unstated), own))

    differences += _different_scores(situation)
    differences += _contradictions(situation)
    differences += _different_weights(situation)
    differences += _different_facts(situation, status)
    if messages is not None and messages.judge_share is not None:
        if above(abs(messages.judge_share - messages.share), MARGIN):
            field = "novelty.share_of_new"
            differences.append(Difference(field, messages.judge_share, messages.share))
    return tuple(differences)


def _different_scores(situation: Situation) -> Iterator[Difference]:
    """Yield the judge's scores that are further than :data:`MARGIN` from the computed ones."""
    scores = situation.scores
    lead = situation.lead
    computed_by_field = {
        "exploration.exploration_score": scores.exploration,
        "convergence.leading_option_support_fraction": lead.support if lead else 0.0,
        "convergence.leading_option_avg_confidence": lead.confidence if lead else 0.0,
        "convergence.convergence_score": scores.convergence,
        "focus.focus_score": scores.focus,
        "novelty.novelty_score_overall": scores.novelty,
        "novelty.novelty_score_recent": scores.novelty_recent,
        "composite.exploration_score": scores.exploration,
        "composite.convergence_score": scores.convergence,
        "composite.focus_score": scores.focus,
        "composite.low_novelty_score": 1 - scores.novelty_recent,
        "composite.meeting_completeness_index": scores.completeness,
    }
    for field, computed in computed_by_field.items():
        block, _, name = field.partition(".")
        # a record may have no composite
        stated_block = getattr(situation.record, block)
        stated = getattr(stated_block, name, None)
        if stated is not None and above(abs(stated - computed), MARGIN):
            yield Difference(field, stated, computed)


def unstated_positions(record: JudgeRecord) -> list[ExpertPosition]:
    """Return the positions that the judge names for an expert that did not state that position.

    A stated confidence may differ by :data:`MARGIN`. Empty where the judge's positions are those
    that count, because no expert states one and the record does not say who was asked.
    """
    own = {
        position.expert_id: position for position in record.convergence.expert_positions
    }
    unstated = []
    for position in record.convergence.judge_positions or ():
        stated = own.get(position.expert_id)
        is_stated = False
        if stated is not None and stated.option_name == position.option_name:
            distance = abs(position.confidence - stated.confidence)
            is_stated = stated.is_undecided or at_most(distance, MARGIN)
        if not is_stated:
            unstated.append(position)
    return unstated


def _contradictions(situation: Situation) -> Iterator[Difference]:
    """Yield what a record contradicts itself in.

    That is a count below that of its annotations, a leading option that does not lead, and missing
    aspects that are not missing.
    """
    record = situation.record
    counts = count_annotations(record.focus.message_annotations)
    for name, count in counts.items():
        stated = getattr(record.focus, name)
        if count > stated:  # fewer are right: only some messages may have an annotation
            yield Difference(f"focus.{name}", stated, count)

    option = record.convergence.leading_option
    if option is not None and not _leads(option, situation):
        leader = situation.lead.option if situation.lead else "none"
        yield Difference("convergence.leading_option", option, leader)

    stated_missing = record.exploration.missing_critical_aspects or []
    missing = situation.missing_aspects
    covered = [name for name in stated_missing if name not in missing]
    if covered:
        field = "exploration.missing_critical_aspects"
        yield Difference(field, ", ".join(covered), ", ".join(missing) or "none")


def _leads(option: str, situation: Situation) -> bool:
    """Return whether an option leads, or is level with the leading one."""
    lead = situation.lead
    positions = situation.record.convergence.expert_positions
    support = leading([p for p in positions if p.preferred_option == option])
    if support is None or lead is None or support.supporters < lead.supporters:
        return False
    return lead.confidence - support.confidence <= TOLERANCE


def _different_weights(situation: Situation) -> Iterator[Difference]:
    """Yield the weights of the config that the judge's composite lacks or has otherwise, if any."""
    composite = situation.record.composite
    if composite is None:
        return
    weights = situation.config.weights
    # a config may hold others, which are ignored
    for name in type(weights).model_fields:
        weight = getattr(weights, name)
        stated = composite.weights_used.get(name)
        if stated is None or abs(stated - weight) > TOLERANCE:
            yield Difference(f"composite.weights_used.{name}", stated, weight)


def _different_facts(situation: Situation, status: Status) -> Iterator[Difference]:
    """Yield the round, limit and status that the judge states otherwise."""
    record = situation.record
    cost = record.cost_time
    if cost is not None:
        if cost.round_index != record.round_index:
            yield Difference(
                "cost_time.round_index", cost.round_index, record.round_index
            )
        max_rounds = situation.config.round_limits.max_rounds
        if cost.max_rounds != max_rounds:
            yield Difference("cost_time.max_rounds", cost.max_rounds, max_rounds)

    recommendation = record.stop_continue_recommendation
    if recommendation is not None and recommendation.status != status:
        field = "stop_continue_recommendation.status"
        yield Difference(field, recommendation.status, status)
