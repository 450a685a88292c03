"""What keeps a meeting from ending, in words, and a round as the rules see it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from scoring.meters import below, rounded
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.records import CoverageLevel, JudgeRecord
from scoring.meters.meeting.round_scores import Lead, Scores
from scoring.text import printable


@dataclass(frozen=True, slots=True)
class Situation:
    """A round as the rules see it.

    Attributes:
        record: the judge's record.
        config: the config of the meeting.
        scores: the computed scores.
        levels: the level of every aspect.
        lead: the leading option.
        convergence_gain: the gain in convergence since two rounds before; None without that round.
        exploration_gain: the gain in exploration, likewise.
        total_cost: what the meeting has cost so far; None where nothing says so.
    """

    record: JudgeRecord
    config: MeetingConfig
    scores: Scores
    levels: Mapping[str, CoverageLevel]
    lead: Lead | None
    convergence_gain: float | None
    exploration_gain: float | None
    total_cost: float | None = None

    @property
    def round_index(self) -> int:
        """The number of the round."""
        return self.record.round_index


Obstacle: TypeAlias = Callable[[Situation], str | None]
"""Returns why the meeting may not end, in words, or None."""


def too_few_rounds(situation: Situation) -> str | None:
    """Refuse an end before the least number of rounds."""
    least = situation.config.round_limits.min_rounds
    if situation.round_index >= least:
        return None
    return f"round {situation.round_index} of at least {least}"


def too_little_explored(situation: Situation) -> str | None:
    """Refuse an end with exploration below its minimum."""
    least = situation.config.thresholds.exploration.min_to_allow_end
    return _too_low("exploration", situation.scores.exploration, least)


def coverage_unmet(situation: Situation) -> str | None:
    """Refuse an end while a required aspect is not deep, or too few of all are.

    The config may switch this off.
    """
    rule = situation.config.rules.require_exploration_coverage
    if not rule.enabled:
        return None

    reasons = []
    shallow = not_deep(situation)
    if shallow:
        reasons.append(f"{names(shallow)} must be deep")

    levels = list(situation.levels.values())
    share = levels.count("deep") / len(levels)
    least = rule.min_fraction_deep_overall
    if below(share, least):
        reasons.append(f"{words(share)} of all aspects are deep, at least {words(least)} must be")
    return "; ".join(reasons) or None


def too_little_agreed(situation: Situation) -> str | None:
    """Refuse an end with convergence below its minimum."""
    least = situation.config.thresholds.convergence.min_to_allow_end
    return _too_low("convergence", situation.scores.convergence, least)


def off_topic(situation: Situation) -> str | None:
    """Refuse an end with focus below its minimum."""
    least = situation.config.thresholds.focus.min_acceptable
    return _too_low("focus", situation.scores.focus, least)


def _too_low(name: str, score: float, least: float) -> str | None:
    if not below(score, least):
        return None
    return f"{name} {words(score)} is below its minimum of {words(least)}"


MUST_GO_ON: tuple[Obstacle, ...] = (too_few_rounds, too_little_explored, coverage_unmet)
"""The obstacles that alone make a meeting go on."""

OBSTACLES: tuple[Obstacle, ...] = (*MUST_GO_ON, too_little_agreed, off_topic)
"""All obstacles. A meeting may end when none is in the way."""


def obstacles_in(obstacles: Iterable[Obstacle], situation: Situation) -> tuple[str, ...]:
    """Return which obstacles are in the way, in words."""
    reasons = [obstacle(situation) for obstacle in obstacles]
    return tuple(reason for reason in reasons if reason)


def not_deep(situation: Situation) -> list[str]:
    """Return the aspects that must be deep and are not, unless the rule is switched off."""
    rule = situation.config.rules.require_exploration_coverage
    if not rule.enabled:
        return []
    required = dict.fromkeys(rule.required_aspects_deep)
    return [name for name in required if situation.levels.get(name) != "deep"]


def missing_aspects(situation: Situation) -> list[str]:
    """Return the required aspects that are not deep, and then any others at level none."""
    missing = not_deep(situation)
    for name, level in situation.levels.items():
        if level == "none" and name not in missing:
            missing.append(name)
    return missing


def words(number: float) -> str:
    """Return a number as reasons say it: to 4 places, and with an exponent from 1e15 on."""
    if abs(number) >= 1e15:
        return f"{number:g}"
    return f"{rounded(number):.4f}".rstrip("0").rstrip(".")


def names(parts: Iterable[str]) -> str:
    """Return names in a row, control characters escaped."""
    return ", ".join(printable(part) for part in parts)
