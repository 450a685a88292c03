"""What keeps a meeting from ending, each obstacle with its reason in words. Comparisons are within 1e-9."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from scoring.meters import below, rounded
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.records import CoverageLevel, JudgeRecord
from scoring.meters.meeting.round_scores import Lead, Scores
from scoring.text import printable

Strength: TypeAlias = Literal["strong", "normal"]

_BEYOND_WORDS = 1e15


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
    unconfirmed: bool  # whether the round before was ready to decide and its user said no
    total_cost: float | None = None  # what the meeting has cost


Obstacle: TypeAlias = Callable[[Situation], str | None]


def too_few_rounds(s: Situation) -> str | None:
    """Refuse an end before the least number of rounds."""
    least = s.config.round_limits.min_rounds
    return f"round {s.record.round_index} of at least {least}" if s.record.round_index < least else None


def too_little_explored(s: Situation) -> str | None:
    """Refuse an end with exploration below its minimum."""
    return _too_low("exploration", s.scores.exploration, s.config.thresholds.exploration.min_to_allow_end)


def coverage_unmet(s: Situation) -> str | None:
    """Refuse an end while a required aspect is not deep or too few of all are, unless that is switched off."""
    rule = s.config.rules.require_exploration_coverage
    if not rule.enabled:
        return None
    shallow = [name for name in required_aspects(s) if s.levels.get(name) != "deep"]
    share = sum(level == "deep" for level in s.levels.values()) / len(s.levels)
    parts = [f"{names(shallow)} must be deep"] if shallow else []
    if below(share, rule.min_fraction_deep_overall):
        least = words(rule.min_fraction_deep_overall)
        parts.append(f"{words(share)} of all aspects are deep, at least {least} must be")
    return "; ".join(parts) or None


def too_little_agreed(s: Situation) -> str | None:
    """Refuse an end with convergence below its minimum."""
    return _too_low("convergence", s.scores.convergence, s.config.thresholds.convergence.min_to_allow_end)


def off_topic(s: Situation) -> str | None:
    """Refuse an end with focus below its minimum."""
    return _too_low("focus", s.scores.focus, s.config.thresholds.focus.min_acceptable)


MUST_GO_ON: tuple[Obstacle, ...] = (too_few_rounds, too_little_explored, coverage_unmet)
OBSTACLES: tuple[Obstacle, ...] = (*MUST_GO_ON, too_little_agreed, off_topic)  # it may end without any


def obstacles_in(obstacles: Iterable[Obstacle], s: Situation) -> tuple[str, ...]:
    """Return which obstacles are in the way, in words."""
    return tuple(reason for obstacle in obstacles if (reason := obstacle(s)))


def ending_allowed(s: Situation) -> bool:
    """Return whether the meeting may end with this round."""
    return not obstacles_in(OBSTACLES, s)


def required_aspects(s: Situation) -> list[str]:
    """Return the aspects that must be deep; none where the coverage rule is switched off."""
    rule = s.config.rules.require_exploration_coverage
    return list(dict.fromkeys(rule.required_aspects_deep)) if rule.enabled else []


def missing_aspects(s: Situation) -> list[str]:
    """Return the aspects that are required and not deep, and then any others at none."""
    required = [name for name in required_aspects(s) if s.levels.get(name) != "deep"]
    return [*required, *(name for name, level in s.levels.items() if level == "none" and name not in required)]


def words(number: float) -> str:
    """Return a number as reasons say it: with up to 4 places, and briefly when it is beyond all measure."""
    if abs(number) >= _BEYOND_WORDS:
        return f"{number:g}"
    return f"{rounded(number):.4f}".rstrip("0").rstrip(".")


def names(parts: Iterable[str]) -> str:
    """Return names in a row, control characters escaped."""
    return ", ".join(map(printable, parts))


def _too_low(name: str, score: float, least: float) -> str | None:
    return f"{name} {words(score)} is below its minimum of {words(least)}" if below(score, least) else None
