"""The scores of a round, each from 0 to 1, and where the judge states others.

They follow from the evidence in the round's record.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scoring.meters import TOLERANCE, above
from scoring.meters.meeting.config import MeetingConfig, Weights
from scoring.meters.meeting.records import (
    CoverageLevel,
    ExpertPosition,
    Focus,
    JudgeRecord,
    Novelty,
    Status,
    count_annotations,
)
from scoring.meters.meeting.votes import name_of_option

CHECKLIST = (
    "problem_clarity",
    "objectives",
    "options_alternatives",
    "key_assumptions",
    "risks_failure_modes",
    "constraints",
    "stakeholders_impact",
    "dependencies_unknowns",
)
"""The aspects that every decision should be explored in.

One that a record does not list is at level none.
"""

LEVELS: Mapping[CoverageLevel, float] = {"none": 0.0, "shallow": 0.5, "deep": 1.0}
"""What a level of coverage counts in the exploration score."""

CONTEXT = 0.5
"""What a message about the background counts in the focus score, where a core one counts 1."""

MARGIN = 0.02
"""How far a stated number may be from the computed one, because judges round."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one round, each from 0 to 1.

    docs/DELIBERATION.md, "Scores", says what each is of.
    """

    exploration: float
    convergence: float
    focus: float
    novelty: float
    novelty_recent: float
    completeness: float
    disagreement: float


@dataclass(frozen=True, slots=True)
class Lead:
    """The leading option.

    Attributes:
        option: its name.
        supporters: how many experts prefer it.
        experts: how many experts there are.
        confidence: how sure its supporters are on average, 0 to 1.
    """

    option: str
    supporters: int
    experts: int
    confidence: float

    @property
    def support(self) -> float:
        """The share of experts that prefer it."""
        return self.supporters / self.experts


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that the judge states otherwise than computed.

    Attributes:
        field: the path of the field.
        stated: its value in the record; None where a weight is left out.
        computed: the computed value.
    """

    field: str
    stated: float | str | None
    computed: float | str


# Scores


def coverage(record: JudgeRecord) -> dict[str, CoverageLevel]:
    """Return the level of every aspect: of the checklist, then of what else the record lists."""
    levels: dict[str, CoverageLevel] = dict.fromkeys(CHECKLIST, "none")
    for aspect in record.exploration.aspects:
        levels[aspect.name] = aspect.coverage_level
    return levels


def leading(positions: Sequence[ExpertPosition]) -> Lead | None:
    """Return the option that most experts prefer, or None where none prefers any.

    Undecided experts count among the experts. Of several options it is the one with the highest
    mean confidence, then the one that is named first.
    """
    confidences: dict[str, list[float]] = {}
    for position in positions:
        if position.is_undecided:
            continue
        confidences.setdefault(position.preferred_option, []).append(position.confidence)

    best: Lead | None = None
    for option, values in confidences.items():
        lead = Lead(
            option=option,
            supporters=len(values),
            experts=len(positions),
            confidence=math.fsum(values) / len(values),
        )
        if best is None or _is_ahead(lead, best):
            best = lead
    return best


def _is_ahead(lead: Lead, best: Lead) -> bool:
    if lead.supporters != best.supporters:
        return lead.supporters > best.supporters
    return above(lead.confidence, best.confidence)


def supporters_by_option(positions: Sequence[ExpertPosition]) -> Counter[str]:
    """Return how many experts prefer each option."""
    return Counter(position.preferred_option for position in positions if not position.is_undecided)


def disagreement(positions: Sequence[ExpertPosition]) -> float:
    """Return the entropy of the experts' choices as a share of that of an even spread.

    It is 0 where they name at most one option, and 1 where each option has as many experts.
    """
    counts = supporters_by_option(positions)
    if len(counts) < 2:
        return 0.0

    shares = [count / counts.total() for count in counts.values()]
    entropy = -math.fsum(share * math.log(share) for share in shares)
    return min(1.0, entropy / math.log(len(counts)))


def focus_score(focus: Focus) -> float:
    """Return the share of messages about the decision, those about its background counted half.

    It is 1 without any message.
    """
    messages = focus.core_count + focus.context_count + focus.off_topic_count
    if not messages:
        return 1.0
    return (focus.core_count + CONTEXT * focus.context_count) / messages


def novelty_score(*rounds: Novelty) -> float:
    """Return the share of the points of some rounds that are new, or 0 without any point."""
    new = sum(novelty.novel_points_count for novelty in rounds)
    repeated = sum(novelty.repeated_points_count for novelty in rounds)
    if not new + repeated:
        return 0.0
    return new / (new + repeated)


def score_round(
    record: JudgeRecord,
    previous: JudgeRecord | None,
    is_first: bool,
    weights: Weights,
) -> Scores:
    """Return the scores of a round.

    Args:
        record: the record of the round.
        previous: the record of the round before, where there is one.
        is_first: whether it is the first record of the meeting.
        weights: what each score counts in the completeness.
    """
    levels = coverage(record)
    exploration = math.fsum(LEVELS[level] for level in levels.values()) / len(levels)

    lead = leading(record.convergence.expert_positions)
    convergence = lead.support * lead.confidence if lead else 0.0

    focus = focus_score(record.focus)
    novelty_recent = _recent_novelty(record, previous, is_first)

    completeness = math.fsum(
        [
            weights.exploration * exploration,
            weights.convergence * convergence,
            weights.focus * focus,
            weights.low_novelty * (1 - novelty_recent),
        ]
    )
    return Scores(
        exploration=exploration,
        convergence=convergence,
        focus=focus,
        novelty=novelty_score(record.novelty),
        novelty_recent=novelty_recent,
        completeness=completeness,
        disagreement=disagreement(record.convergence.expert_positions),
    )


def _recent_novelty(record: JudgeRecord, previous: JudgeRecord | None, is_first: bool) -> float:
    """Return the novelty of a round and the one before it.

    The first record of a meeting may state it, because its rounds before have no record.
    """
    if previous is not None:
        return novelty_score(record.novelty, previous.novelty)
    if is_first and record.novelty.novelty_score_recent is not None:
        return record.novelty.novelty_score_recent
    return novelty_score(record.novelty)


# Differences


def stated_differences(
    record: JudgeRecord,
    scores: Scores,
    lead: Lead | None,
    status: Status,
    config: MeetingConfig,
    missing: Sequence[str] = (),
) -> tuple[Difference, ...]:
    """Return where a record states otherwise than computed.

    Args:
        record: the record of the round.
        scores: the computed scores.
        lead: the leading option.
        status: the status that the rules give the round.
        config: the config of the meeting.
        missing: the aspects that are not covered.
    """
    return (
        *_different_positions(record),
        *_different_scores(record, scores, lead),
        *_contradictions(record, lead, missing),
        *_different_weights(record, config),
        *_different_facts(record, status, config),
    )


def _different_scores(
    record: JudgeRecord, scores: Scores, lead: Lead | None
) -> Iterator[Difference]:
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
        stated = getattr(getattr(record, block), name, None)  # a record may have no composite
        if stated is not None and above(abs(stated - computed), MARGIN):
            yield Difference(field, stated, computed)


def unstated_positions(record: JudgeRecord) -> list[ExpertPosition]:
    """Return the positions that the judge names and no expert stated."""
    own = {position.expert_id: position for position in record.convergence.expert_positions}
    unstated = []
    for position in record.convergence.judge_positions or ():
        stated = own.get(position.expert_id)
        if stated is None or not _agree(position, stated):
            unstated.append(position)
    return unstated


def _agree(position: ExpertPosition, stated: ExpertPosition) -> bool:
    if name_of_option(position.preferred_option) != name_of_option(stated.preferred_option):
        return False
    return stated.is_undecided or abs(position.confidence - stated.confidence) <= MARGIN


def _different_positions(record: JudgeRecord) -> Iterator[Difference]:
    unstated = unstated_positions(record)
    if unstated:
        yield Difference(
            "convergence.expert_positions",
            "; ".join(position.in_words() for position in unstated),
            "; ".join(position.in_words() for position in record.convergence.expert_positions),
        )


def _contradictions(
    record: JudgeRecord, lead: Lead | None, missing: Sequence[str]
) -> Iterator[Difference]:
    """Yield what a record says in two ways."""
    counts = count_annotations(record.focus.message_annotations) or {}
    for name, count in counts.items():
        stated = getattr(record.focus, name)
        if count > stated:  # fewer are right: only some messages may have an annotation
            yield Difference(f"focus.{name}", stated, count)

    option = record.convergence.leading_option
    if option is not None and not _leads(option, record, lead):
        yield Difference("convergence.leading_option", option, lead.option if lead else "none")

    stated_missing = record.exploration.missing_critical_aspects or []
    covered = [name for name in stated_missing if name not in missing]
    if covered:
        yield Difference(
            "exploration.missing_critical_aspects",
            ", ".join(covered),
            ", ".join(missing) or "none",
        )


def _leads(option: str, record: JudgeRecord, lead: Lead | None) -> bool:
    """Return whether an option leads, or is level with the leading one."""
    positions = record.convergence.expert_positions
    support = leading([p for p in positions if p.preferred_option == option])
    if support is None or lead is None or support.supporters < lead.supporters:
        return False
    return lead.confidence - support.confidence <= TOLERANCE


def _different_weights(record: JudgeRecord, config: MeetingConfig) -> Iterator[Difference]:
    """Yield the weights that the judge used otherwise, or left out."""
    if record.composite is None:
        return
    for name in type(config.weights).model_fields:
        stated = record.composite.weights_used.get(name)
        weight = getattr(config.weights, name)
        if stated is None or abs(stated - weight) > TOLERANCE:
            yield Difference(f"composite.weights_used.{name}", stated, weight)


def _different_facts(
    record: JudgeRecord, status: Status, config: MeetingConfig
) -> Iterator[Difference]:
    """Yield the round, limit and status that the judge states otherwise."""
    facts = []
    cost = record.cost_time
    if cost is not None:
        max_rounds = config.round_limits.max_rounds
        facts.append(Difference("cost_time.round_index", cost.round_index, record.round_index))
        facts.append(Difference("cost_time.max_rounds", cost.max_rounds, max_rounds))

    recommendation = record.stop_continue_recommendation
    if recommendation is not None:
        field = "stop_continue_recommendation.status"
        facts.append(Difference(field, recommendation.status, status))

    for fact in facts:
        if fact.stated != fact.computed:
            yield fact
