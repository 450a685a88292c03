"""The rules that give a round its status, each with its reasons in words, in the order of :data:`RULES`."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from scoring.meters import at_least, at_most, below, novelty_level
from scoring.meters.meeting.obstacles import (
    MUST_GO_ON,
    OBSTACLES,
    Situation,
    Strength,
    ending_allowed,
    missing_aspects,
    names,
    obstacles_in,
    off_topic,
    required_aspects,
    too_little_agreed,
    words,
)
from scoring.meters.meeting.records import Status
from scoring.text import printable, quote

DOUBTS = "any remaining doubts or risks?"  # what is asked when the user did not confirm a decision that was ready
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
        gaps.append(f"exploration {words(s.scores.exploration)} is below {words(rule.exploration_low)}")
    if untouched := [name for name in required_aspects(s) if s.levels.get(name, "none") == "none"]:
        gaps.append(f"nothing has been said about {names(untouched)}")
    if not gaps:
        return None
    agreed = f"early consensus: convergence {words(s.scores.convergence)} in round {s.record.round_index}"
    focus = tuple(dict.fromkeys((*missing_aspects(s), *rule.forced_next_round_focus)))
    about = f" let us look at {names(focus)}" if focus else " let us test it once more"
    return Decision("continue_targeted", (agreed, *gaps), f"Before we agree this early,{about}.", focus)


def must_go_on(s: Situation) -> Decision | None:
    """Go on after too few rounds, with too little explored, or with aspects that are not covered."""
    reasons = obstacles_in(MUST_GO_ON, s)
    if not reasons:
        return None
    open_aspects = missing_aspects(s) or [name for name, level in s.levels.items() if level != "deep"]
    about = f": let us go into {names(open_aspects)}" if open_aspects else ": let us use another round"
    return Decision("must_continue", reasons, f"It is too early to end{about}.")


def doubted(s: Situation) -> Decision | None:
    """Ask for doubts when a meeting is ready again after the user did not confirm its decision."""
    if not (s.unconfirmed and _recommended(s)[0]):
        return None
    reason = "the round before was ready to decide and the user did not confirm"
    return Decision("continue_targeted", (reason,), f"Before we decide: {DOUBTS}", (DOUBTS,))


def refused(s: Situation, decision: Decision) -> bool:
    """Return whether the user said no to a decision of this round, and another round may follow."""
    return decision.status == "ready_to_decide" and s.record.user_confirmed is False and not round_limit(s)


def ready(s: Situation) -> Decision | None:
    """Decide when an end is allowed, little is new, and the index or both exploration and convergence are good."""
    is_recommended, why = _recommended(s)
    strength: Strength = "strong" if _both_good(s) else "normal"
    prompt = f"We seem to be done: {_choice(s)}."
    return Decision("ready_to_decide", why, prompt, strength=strength) if is_recommended else None


def stalled(s: Situation) -> Decision | None:
    """End a debate that repeats itself and does not converge."""
    rule = s.config.rules.stalled_debate_detection
    least = rule.min_delta_convergence_over_2_rounds
    if not rule.enabled or s.record.round_index < rule.rounds_before_check or s.convergence_gain is None:
        return None
    if not (at_most(s.scores.novelty_recent, rule.low_novelty_recent) and below(s.convergence_gain, least)):
        return None
    reasons = (
        f"stalled: {_novelty(s)}, at most {words(rule.low_novelty_recent)}",
        f"convergence moved by {words(s.convergence_gain)} over two rounds, below {words(least)}",
    )
    return _decide_or_park(s, reasons, "We are repeating ourselves")


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
    open_aspects = missing_aspects(s)
    if open_aspects:
        about = f"let us go into {names(open_aspects)}"
    elif too_little_agreed(s):
        about = f"let us work out what divides us{_about_lead(s)}"
    elif off_topic(s):
        about = "let us come back to the decision"
    else:
        about = "let us follow up what is still new"
    return Decision("continue_targeted", reasons, f"Another round is worth it: {about}.")


RULES: Mapping[str, Rule] = {  # in order: the first one that says something decides, and the last one always does
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
    for name, rule in RULES.items():
        if decision := rule(s):
            return name, decision
    raise AssertionError("the last rule always decides")


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
    if ending_allowed(s) and repeats and (complete or both_good):
        why = [f"ending is allowed and {_novelty(s)}, at most {words(floor)}"]
        why += [f"{completeness} reaches {words(mark)}"] if complete else []
        return True, (*why, *(["exploration and convergence both reach their targets"] if both_good else []))
    why = [] if repeats else [f"{_novelty(s)}, above {words(floor)}"]
    if not (complete or both_good):
        why.append(f"{completeness} is below {words(mark)}, and not both targets are met")
    return False, tuple(why)


def _decide_or_park(s: Situation, reasons: tuple[str, ...], deciding: str, parking: str = "") -> Decision:
    missing = obstacles_in(OBSTACLES, s)
    if not missing:
        return Decision("ready_to_decide", (*reasons, "ending is allowed"), f"{deciding}: {_choice(s)}.")
    blockers = "; ".join(missing)
    prompt = f'{parking or deciding}: {_either(s)} now, or record "no decision" with these blockers: {blockers}?'
    return Decision("park_or_abort", (*reasons, *missing), prompt)


def _either(s: Situation) -> str:
    """Return in words the options that experts prefer, most of them first; else those considered."""
    preferred = Counter(position.preferred_option for position in s.record.convergence.expert_positions)
    considered = dict.fromkeys(s.record.convergence.options_considered or ())
    match [option for option, _ in preferred.most_common()] or list(considered):
        case [only]:
            return f"decide on {printable(only)}"
        case [*some, last_one]:
            return f"decide between {names(some)} and {printable(last_one)}"
    return "decide"


def _choice(s: Situation) -> str:
    return f"shall we decide{_about_lead(s)}, or does anybody object"


def _about_lead(s: Situation) -> str:
    if s.lead is None:
        return ""
    count = f"{s.lead.supporters} of {s.lead.experts} experts"
    return f" on {quote(s.lead.option)} ({count}, mean confidence {words(s.lead.confidence)})"
