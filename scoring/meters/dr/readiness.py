"""How ready a round is to act: 0.5 next actions + 0.3 open questions + 0.2 blockers (contract section 6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scoring.meters.dr.actions import is_owned, is_specific
from scoring.meters.dr.phrases import has_word_start, plain
from scoring.meters.dr.thresholds import DEFAULT, Level, Thresholds, readiness_level
from scoring.meters.dr.words import BLOCKERS, BUILT_IN, Words

ACTIONS_WEIGHT, QUESTIONS_WEIGHT, BLOCKERS_WEIGHT = 0.5, 0.3, 0.2


class Part(NamedTuple):
    """A sub-signal: its score from 0 to 1, and in words what was found."""

    score: float
    found: str


@dataclass(frozen=True, slots=True)
class RoundReadiness:
    """How ready one round is."""

    round: int
    next_actions: Part
    open_questions: Part
    blockers: Part
    blocker: str | None
    """The first question or action that tells of a blocker."""
    value: float
    """0 to 1, unrounded."""
    level: Level

    def parts(self) -> dict[str, Part]:
        """Return the sub-signals by name."""
        return {"next actions": self.next_actions, "open questions": self.open_questions, "blockers": self.blockers}


def measure_readiness(
    number: int,
    actions: Sequence[str],
    questions: Sequence[str],
    before: int | None,
    words: Words = BUILT_IN,
    thresholds: Thresholds = DEFAULT,
) -> RoundReadiness:
    """Return the readiness of a round; ``before`` is the number of questions in the round before, None without one."""
    acting, asking = rate_actions(actions, words), rate_questions(len(questions), before)
    blocker = find_blocker((*questions, *actions), words)
    blocked = Part(1.0, "no blocker") if blocker is None else Part(0.0, "a blocker")
    value = ACTIONS_WEIGHT * acting.score + QUESTIONS_WEIGHT * asking.score + BLOCKERS_WEIGHT * blocked.score
    return RoundReadiness(number, acting, asking, blocked, blocker, value, readiness_level(value, thresholds))


def rate_actions(actions: Sequence[str], words: Words = BUILT_IN) -> Part:
    """Rate next actions: none 0; none specific 0.3; one specific 0.7; several specific and somebody named 1."""
    if not actions:
        return Part(0.0, "no next action")
    specific = sum(is_specific(action, words) for action in actions)
    if not specific:
        return Part(0.3, "no next action is specific")
    owned = any(is_owned(action, words) for action in actions)
    if specific == 1:
        return Part(0.7, "one next action is specific")
    if not owned:
        return Part(0.7, f"{specific} next actions are specific, but none says who acts")
    return Part(1.0, f"{specific} next actions are specific, and it is said who acts")


def rate_questions(count: int, before: int | None) -> Part:
    """Rate open questions: none 1; fewer than the round before 0.7; as many 0.4; more 0.1; some at the start 0.3."""
    if not count:
        return Part(1.0, "no open question")
    named = "1 open question" if count == 1 else f"{count} open questions"
    if before is None:
        return Part(0.3, f"{named} in the first round")
    if count < before:
        return Part(0.7, f"{named}, fewer than the {before} of the round before")
    if count == before:
        return Part(0.4, f"{named}, as many as in the round before")
    return Part(0.1, f"{named}, more than the {before} of the round before")


def find_blocker(texts: Sequence[str], words: Words = BUILT_IN) -> str | None:
    """Return the first question or action that tells of a blocker."""
    return next((text for text in texts if has_word_start(BLOCKERS + words.blockers, plain(text))), None)
