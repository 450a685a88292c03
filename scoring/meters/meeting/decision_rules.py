"""What keeps a meeting from ending, and the rules that give a round its status; long, for each says why in words."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from scoring.meters import at_least, at_most, below, novelty_level, rounded
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.records import CoverageLevel, JudgeRecord, Status
from scoring.meters.meeting.round_scores import Lead, Scores
from scoring.text import printable, quote

Strength: TypeAlias = Literal["strong", "normal"]


@dataclass(frozen=True, slots=True)
class Situation:
    """A round as the rules see it."""

    record: JudgeRecord
    config: MeetingConfig
    scores: Scores
    levels: Mapping[str, CoverageLevel]
    lead: Lead | None
    convergence_gain: float | None  # since two rounds before, None without that round
    exploration_gain: float | None  # likewise
    total_cost: float | None = None  # what the meeting has cost


Obstacle: TypeAlias = Callable[[Situation], str | None]


def too_few_rounds(s: Situation) -> str | None:
    """Refuse an end before the least number of rounds."""
    least = s.config.round_limits.min_rounds
    return (
        f"round {s.record.round_index} of at least {least}"
        if s.record.round_index < least
        else None
    )


def too_little_explored(s: Situation) -> str | None:
    """Refuse an end with exploration below its minimum."""
    return _too_low(
        "exploration", s.scores.exploration, s.config.thresholds.exploration.min_to_allow_end
    )


def coverage_unmet(s: Situation) -> str | None:
    """Refuse an end while a required aspect is not deep or too few of all are, unless that is switched off."""
    rule = s.config.rules.require_exploration_coverage
    if not rule.enabled:
        return None
    share = sum(level == "deep" for level in s.levels.values()) / len(s.levels)
    parts = [f"{names(shallow)} must be deep"] if (shallow := not_deep(s)) else []
    if below(share, rule.min_fraction_deep_overall):
        least = words(rule.min_fraction_deep_overall)
        parts.append(f"{words(share)} of all aspects are deep, at least {least} must be")
    return "; ".join(parts) or None


def too_little_agreed(s: Situation) -> str | None:
    """Refuse an end with convergence below its minimum."""
    return _too_low(
        "convergence", s.scores.convergence, s.config.thresholds.convergence.min_to_allow_end
    )


def off_topic(s: Situation) -> str | None:
    """Refuse an end with focus below its minimum."""
    return _too_low("focus", s.scores.focus, s.config.thresholds.focus.min_acceptable)


MUST_GO_ON: tuple[Obstacle, ...] = (too_few_rounds, too_little_explored, coverage_unmet)
OBSTACLES: tuple[Obstacle, ...] = (
    *MUST_GO_ON,
    too_little_agreed,
    off_topic,
)  # it may end without any


def obstacles_in(obstacles: Iterable[Obstacle], s: Situation) -> tuple[str, ...]:
    """Return which obstacles are in the way, in words."""
    return tuple(reason for obstacle in obstacles if (reason := obstacle(s)))


def not_deep(s: Situation) -> list[str]:
    """Return the aspects that must be deep and are not; none where the coverage rule is switched off."""
    rule = s.config.rules.require_exploration_coverage
    required = dict.fromkeys(rule.required_aspects_deep if rule.enabled else ())
    return [name for name in required if s.levels.get(name) != "deep"]


def missing_aspects(s: Situation) -> list[str]:
    """Return the aspects that are required and not deep, and then any others at none."""
    required = not_deep(s)
    return [
        *required,
        *(name for name, level in s.levels.items() if level == "none" and name not in required),
    ]


def words(number: float) -> str:
    """Return a number as reasons say it: with up to 4 places, and briefly when it is beyond all measure."""
    return (
        f"{number:g}" if abs(number) >= 1e15 else f"{rounded(number):.4f}".rstrip("0").rstrip(".")
    )


def names(parts: Iterable[str]) -> str:
    """Return names in a row, control characters escaped."""
    return ", ".join(map(printable, parts))


def _too_low(name: str, score: float, least: float) -> str | None:
    return (
        f"{name} {words(score)} is below its minimum of {words(least)}"
        if below(score, least)
        else None
    )


DOUBTS = "any remaining doubts or risks?"  # what is asked when the user did not confirm a decision that was ready
DOUBTS_ASKED = "doubts_asked"  # the key of a record that was judged again after that question
REFUSED = "the user did not confirm"
DO_NOTHING = "let us look at what happens if we do nothing"  # with which agreement that comes early is compared
LATE_FACTOR = 2  # how many times its progress minimum a late round must have gained


@dataclass(frozen=True, slots=True)
class Decision:
    """What a rule says of a round: its status, why, one sentence for the facilitator, and a focus that it forces."""

    status: Status
    reasons: tuple[str, ...]
    prompt: str
    focus: tuple[str, ...] = ()
    strength: Strength | None = None


Rule: TypeAlias = Callable[[Situation], Decision | None]


def round_limit(s: Situation) -> Decision | None:
    """Close the last round, by number or by cost: decide if that is allowed, else record that there is no decision."""
    most, limit = s.config.round_limits.max_rounds, s.config.cost_limit
    if s.record.round_index >= most:
        last = f"round {s.record.round_index} of at most {most}"
        return _decide_or_park(s, (last,), "This was the last round", "The rounds are used up")
    if limit is None or s.total_cost is None or below(s.total_cost, limit):
        return None
    spent = f"cost {words(s.total_cost)} of at most {words(limit)}"
    return _decide_or_park(s, (spent,), "The budget is used up")


def early_consensus(s: Situation) -> Decision | None:
    """Answer early agreement without exploration with another round, on what is commonly forgotten."""
    rule = s.config.rules.early_consensus_requires_extra_check
    if not rule.enabled or s.record.round_index > rule.early_round_cutoff:
        return None
    if below(s.scores.convergence, rule.convergence_high):
        return None
    gaps = []
    if below(s.scores.exploration, rule.exploration_low):
        gaps.append(
            f"exploration {words(s.scores.exploration)} is below {words(rule.exploration_low)}"
        )
    if untouched := [name for name in not_deep(s) if s.levels.get(name, "none") == "none"]:
        gaps.append(f"nothing has been said about {names(untouched)}")
    if not gaps:
        return None
    agreed = f"early consensus: convergence {words(s.scores.convergence)} in round {s.record.round_index}"
    focus = tuple(dict.fromkeys((*missing_aspects(s), *rule.forced_next_round_focus)))
    favoured = quote(s.lead.option) if s.lead else "this"
    about = (
        f"let us look at {names(focus)}, and at what happens if we do nothing"
        if focus
        else DO_NOTHING
    )
    said = f"Most of us like {favoured}. Before we agree this early, {about}."
    return Decision("continue_targeted", (agreed, *gaps), said, focus)


def must_go_on(s: Situation) -> Decision | None:
    """Go on after too few rounds, with too little explored, or with aspects that are not covered."""
    reasons = obstacles_in(MUST_GO_ON, s)
    if not reasons:
        return None
    open_aspects = missing_aspects(s) or [
        name for name, level in s.levels.items() if level != "deep"
    ]
    about = (
        f": let us go into {names(open_aspects)}" if open_aspects else ": let us use another round"
    )
    return Decision("must_continue", reasons, f"It is too early to end{about}.")


def doubted(s: Situation) -> Decision | None:
    """Ask for doubts, once and in the round in which the user did not confirm a decision; go on where it was asked."""
    if s.record.user_confirmed is not False or round_limit(s):
        return None
    proposed = next((found for rule in (ready, stalled, late_round) if (found := rule(s))), None)
    if proposed is None or proposed.status != "ready_to_decide":
        return None
    reasons = (*proposed.reasons, REFUSED)
    if (s.record.model_extra or {}).get(DOUBTS_ASKED):
        return replace(go_on(s), reasons=reasons)
    return Decision("continue_targeted", reasons, f"Before we decide: {DOUBTS}", (DOUBTS,))


def ready(s: Situation) -> Decision | None:
    """Decide when an end is allowed, little is new, and the index or both exploration and convergence are good."""
    is_recommended, why = _recommended(s)
    strength: Strength = "strong" if _both_good(s) else "normal"
    prompt = _deciding(s, "We seem to be done")
    return Decision("ready_to_decide", why, prompt, strength=strength) if is_recommended else None


def stalled(s: Situation) -> Decision | None:
    """End a debate that repeats itself and does not converge."""
    rule = s.config.rules.stalled_debate_detection
    least = rule.min_delta_convergence_over_2_rounds
    if (
        not rule.enabled
        or s.record.round_index < rule.rounds_before_check
        or s.convergence_gain is None
    ):
        return None
    if not (
        at_most(s.scores.novelty_recent, rule.low_novelty_recent)
        and below(s.convergence_gain, least)
    ):
        return None
    reasons = (
        f"stalled: {_novelty(s)}, at most {words(rule.low_novelty_recent)}",
        f"convergence moved by {words(s.convergence_gain)} over two rounds, below {words(least)}",
    )
    found = _decide_or_park(s, reasons, "We are repeating ourselves")
    if found.status == "park_or_abort":
        return found
    blockers = (s.record.convergence.disagreement_notes or "").strip() or "; ".join(reasons)
    return replace(found, prompt=_resolve_or_park(s, "We are repeating ourselves", blockers))


def late_round(s: Situation) -> Decision | None:
    """End with a late round that gained too little to be worth another."""
    rule, least = s.config.rules.late_rounds, s.config.thresholds.progress
    if not rule.enabled or s.record.round_index < rule.from_round:
        return None
    if s.exploration_gain is None or s.convergence_gain is None:
        return None
    exploration = LATE_FACTOR * least.min_delta_exploration_over_2_rounds
    convergence = LATE_FACTOR * least.min_delta_convergence_over_2_rounds
    if at_least(s.exploration_gain, exploration) or at_least(s.convergence_gain, convergence):
        return None
    reason = (
        f"late: from round {rule.from_round} on, another round needs a gain over two rounds of {words(exploration)} in "
        f"exploration or {words(convergence)} in convergence; there were {words(s.exploration_gain)} and "
        f"{words(s.convergence_gain)}"
    )
    return _decide_or_park(s, (reason,), "Another round would gain too little")


def go_on(s: Situation) -> Decision:
    """Go on, on what is missing: no other rule applies."""
    missing = obstacles_in(OBSTACLES, s)
    reasons = missing or ("ending is allowed", *_recommended(s)[1])
    if open_aspects := missing_aspects(s):
        about = f"let us go into {names(open_aspects)}"
    elif too_little_agreed(s):
        about = f"let us work out what divides us{_about_lead(s)}"
    elif off_topic(s):
        about = "let us come back to the decision"
    else:
        about = "let us follow up what is still new"
    return Decision("continue_targeted", reasons, f"Another round is worth it: {about}.")


RULES: Mapping[
    str, Rule
] = {  # in order: the first one that says something decides, and the last one always does
    "round_limit": round_limit,
    "early_consensus": early_consensus,
    "must_go_on": must_go_on,
    "doubted": doubted,
    "ready": ready,
    "stalled": stalled,
    "late_round": late_round,
    "go_on": go_on,
}


def decide(s: Situation) -> tuple[str, Decision]:
    """Return the rule that decides a round, and what it says."""
    return next((name, decision) for name, rule in RULES.items() if (decision := rule(s)))


def _novelty(s: Situation) -> str:
    recent = s.scores.novelty_recent
    return f"recent novelty is {words(recent)} ({novelty_level(recent)})"


def _both_good(s: Situation) -> bool:
    t = s.config.thresholds
    good = at_least(s.scores.exploration, t.exploration.target_good)
    return good and at_least(s.scores.convergence, t.convergence.target_good)


def _recommended(s: Situation) -> tuple[bool, tuple[str, ...]]:
    """Return whether the scores of a round recommend an end, and why or why not."""
    floor = s.config.thresholds.novelty.novelty_floor_recent
    mark = s.config.thresholds.composite.min_index_to_recommend_end
    repeats = at_most(s.scores.novelty_recent, floor)
    complete, both_good = at_least(s.scores.completeness, mark), _both_good(s)
    completeness = f"completeness {words(s.scores.completeness)}"
    if not obstacles_in(OBSTACLES, s) and repeats and (complete or both_good):
        why = [f"ending is allowed and {_novelty(s)}, at most {words(floor)}"]
        why += [f"{completeness} reaches {words(mark)}"] if complete else []
        return True, (
            *why,
            *(["exploration and convergence both reach their targets"] if both_good else []),
        )
    why = [] if repeats else [f"{_novelty(s)}, above {words(floor)}"]
    if not (complete or both_good):
        why.append(f"{completeness} is below {words(mark)}, and not both targets are met")
    return False, tuple(why)


def _decide_or_park(
    s: Situation, reasons: tuple[str, ...], deciding: str, parking: str = ""
) -> Decision:
    missing = obstacles_in(OBSTACLES, s)
    if not missing:
        return Decision("ready_to_decide", (*reasons, "ending is allowed"), _deciding(s, deciding))
    return Decision(
        "park_or_abort",
        (*reasons, *missing),
        _resolve_or_park(s, parking or deciding, "; ".join(missing)),
    )


def _deciding(s: Situation, why: str) -> str:
    return f"{why}: shall we decide{_about_lead(s)}, or does anybody object."


def _resolve_or_park(s: Situation, why: str, blockers: str) -> str:
    """Return what to ask, by the options that experts prefer, most of them first; else by those considered."""
    preferred = Counter(
        position.preferred_option for position in s.record.convergence.expert_positions
    )
    considered = dict.fromkeys(s.record.convergence.options_considered or ())
    decide = "decide"
    match [option for option, _ in preferred.most_common()] or list(considered):
        case [only]:
            decide = f"decide on {printable(only)}"
        case [*some, last_one]:
            decide = f"decide between {names(some)} and {printable(last_one)}"
    return (
        f'{why}: {decide} now, or record "no decision" with these blockers: {printable(blockers)}?'
    )


def _about_lead(s: Situation) -> str:
    if s.lead is None:
        return ""
    count = f"{s.lead.supporters} of {s.lead.experts} experts"
    return f" on {quote(s.lead.option)} ({count}, mean confidence {words(s.lead.confidence)})"
