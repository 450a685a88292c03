"""The scores of a round, each from 0 to 1, from the evidence in its record, and where the judge states others."""

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
    annotated,
)

CHECKLIST = (  # the aspects that every decision should be explored in; one that a record does not list is at none
    "problem_clarity",
    "objectives",
    "options_alternatives",
    "key_assumptions",
    "risks_failure_modes",
    "constraints",
    "stakeholders_impact",
    "dependencies_unknowns",
)
LEVELS: Mapping[CoverageLevel, float] = {
    "none": 0.0,
    "shallow": 0.5,
    "deep": 1.0,
}  # in the exploration score
CONTEXT = 0.5  # what a message about the background counts in the focus score; one about the decision counts 1
MARGIN = 0.02  # a stated number may differ from the computed one by this much: judges round


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one round, each from 0 to 1: docs/DELIBERATION.md, "Scores", says of what."""

    exploration: float
    convergence: float
    focus: float
    novelty: float
    novelty_recent: float
    completeness: float
    disagreement: float


@dataclass(frozen=True, slots=True)
class Lead:
    """The leading option, how many of how many experts prefer it, and how surely they do on average (0 to 1)."""

    option: str
    supporters: int
    experts: int
    confidence: float

    @property
    def support(self) -> float:
        """The share of experts behind it."""
        return self.supporters / self.experts


@dataclass(frozen=True, slots=True)
class Difference:
    """A field, the value that is stated of it, and the computed one; None as stated where a weight was left out."""

    field: str
    stated: float | str | None
    computed: float | str


def coverage(record: JudgeRecord) -> dict[str, CoverageLevel]:
    """Return the level of every aspect: the checklist, then what else the record lists, in its order."""
    levels: dict[str, CoverageLevel] = dict.fromkeys(CHECKLIST, "none")
    return levels | {aspect.name: aspect.coverage_level for aspect in record.exploration.aspects}


def leading(positions: Sequence[ExpertPosition]) -> Lead | None:
    """Return the option with most experts, then the highest mean confidence, then named first; None without any."""
    confidences: dict[str, list[float]] = {}
    for position in positions:
        confidences.setdefault(position.preferred_option, []).append(position.confidence)
    best: Lead | None = None
    for option, given in confidences.items():
        lead = Lead(option, len(given), len(positions), math.fsum(given) / len(given))
        more = lead.supporters - best.supporters if best else 1
        if more > 0 or (best and not more and above(lead.confidence, best.confidence)):
            best = lead
    return best


def disagreement(positions: Sequence[ExpertPosition]) -> float:
    """Return the entropy of the experts' choices over that of an even spread; 0 when they name one option or none."""
    counts = Counter(position.preferred_option for position in positions)
    if len(counts) < 2:
        return 0.0
    shares = [count / len(positions) for count in counts.values()]
    return min(1.0, -math.fsum(share * math.log(share) for share in shares) / math.log(len(counts)))


def focus_score(focus: Focus) -> float:
    """Return the share of messages about the decision, those about its background counted half; 1 without messages."""
    messages = focus.core_count + focus.context_count + focus.off_topic_count
    return (focus.core_count + CONTEXT * focus.context_count) / messages if messages else 1.0


def novelty_score(*rounds: Novelty) -> float:
    """Return the share of the points of some rounds that are new; 0 without points."""
    novel = sum(part.novel_points_count for part in rounds)
    points = novel + sum(part.repeated_points_count for part in rounds)
    return novel / points if points else 0.0


def score_round(
    record: JudgeRecord, before: JudgeRecord | None, first: bool, weights: Weights
) -> Scores:
    """Return the scores of a round; recent novelty is with the one ``before``, else as the ``first`` states."""
    levels, lead = coverage(record), leading(record.convergence.expert_positions)
    e = math.fsum(LEVELS[level] for level in levels.values()) / len(levels)
    c = lead.support * lead.confidence if lead else 0.0
    f = focus_score(record.focus)
    stated = record.novelty.novelty_score_recent if first and before is None else None
    recent = (
        stated
        if stated is not None
        else novelty_score(record.novelty, *([before.novelty] if before else []))
    )
    parts = (
        weights.exploration * e,
        weights.convergence * c,
        weights.focus * f,
        weights.low_novelty * (1 - recent),
    )
    spread = disagreement(record.convergence.expert_positions)
    return Scores(e, c, f, novelty_score(record.novelty), recent, math.fsum(parts), spread)


def stated_differences(
    record: JudgeRecord,
    scores: Scores,
    lead: Lead | None,
    status: Status,
    config: MeetingConfig,
    missing: Sequence[str] = (),
) -> tuple[Difference, ...]:
    """Return where a record states otherwise: scores, counts, options, weights, round, limit, status, ``missing``."""
    numbers = {
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
    found, exact = list[Difference](), list[Difference]()
    for field, computed in numbers.items():
        block, _, name = field.partition(".")
        stated = getattr(getattr(record, block), name, None)  # a record may have no composite
        if stated is not None and above(abs(stated - computed), MARGIN):
            found.append(Difference(field, stated, computed))
    found += _contradictions(record, lead, missing)
    if record.composite is not None:
        used = record.composite.weights_used
        for name in type(
            config.weights
        ).model_fields:  # a weight that is not stated is 0 to the judge
            stated, weight = used.get(name), getattr(config.weights, name)
            if stated is None or abs(stated - weight) > TOLERANCE:
                found.append(Difference(f"composite.weights_used.{name}", stated, weight))
    if cost := record.cost_time:
        exact.append(Difference("cost_time.round_index", cost.round_index, record.round_index))
        exact.append(
            Difference("cost_time.max_rounds", cost.max_rounds, config.round_limits.max_rounds)
        )
    if own := record.stop_continue_recommendation:
        exact.append(Difference("stop_continue_recommendation.status", own.status, status))
    return (
        *found,
        *(difference for difference in exact if difference.stated != difference.computed),
    )


def _contradictions(
    record: JudgeRecord, lead: Lead | None, missing: Sequence[str]
) -> Iterator[Difference]:
    """Yield what a record says in two ways; its annotations may be of some messages only."""
    for name, count in (annotated(record.focus.message_annotations) or {}).items():
        if count > (stated := getattr(record.focus, name)):
            yield Difference(f"focus.{name}", stated, count)
    if (option := record.convergence.leading_option) is not None:
        mine = leading(
            [p for p in record.convergence.expert_positions if p.preferred_option == option]
        )
        if (
            not (mine and lead)
            or mine.supporters < lead.supporters
            or lead.confidence - mine.confidence > TOLERANCE
        ):
            yield Difference("convergence.leading_option", option, lead.option if lead else "none")
    still = record.exploration.missing_critical_aspects or []
    if stale := [name for name in still if name not in missing]:
        yield Difference(
            "exploration.missing_critical_aspects", ", ".join(stale), ", ".join(missing) or "none"
        )
