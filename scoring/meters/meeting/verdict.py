"""What the meter says of one round."""

from dataclasses import asdict, dataclass
from typing import Any

from scoring.meters.dr.thresholds import rounded
from scoring.meters.meeting.records import Status
from scoring.meters.meeting.rules import Strength
from scoring.meters.meeting.scores import Scores


@dataclass(frozen=True, slots=True)
class Pressure:
    """What the meeting has used up.

    ``rounds_used`` and ``time_used`` are shares of what there is, above 1 when that is overdrawn; ``cost_total`` is in
    the judge's unit. What the record does not say is None.
    """

    rounds_used: float
    cost_total: float | None
    time_used: float | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A field whose stated value is not the computed one; None as stated where it should have been and was not."""

    field: str
    stated: float | str | None
    computed: float | str


@dataclass(frozen=True, slots=True)
class MeetingVerdict:
    """What the meter says of one round (contract section 7). ``as_dict`` rounds its numbers to 4 places."""

    round_index: int
    scores: Scores
    status: Status
    rule: str
    """The rule that decided: a name of :data:`~scoring.meters.meeting.rules.RULES`."""
    strength: Strength | None
    """Of a recommended end: strong when exploration and convergence are both good. None with every other status."""
    ending_allowed: bool
    reasons: tuple[str, ...]
    facilitator_prompt: str
    """One sentence that the facilitator may say."""
    next_round_focus_prompts: tuple[str, ...]
    missing_aspects: tuple[str, ...]
    """The required aspects that are not deep, and then any others at none."""
    pressure: Pressure
    stated_differences: tuple[Difference, ...]

    @property
    def ends(self) -> bool:
        """Whether the meeting is over after this round, with a decision or without."""
        return self.status in ("ready_to_decide", "park_or_abort")

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON in the shape of the contract, numbers rounded to 4 places; without ``rule``."""
        data: dict[str, Any] = _plain(asdict(self))
        del data["rule"]
        return data


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return rounded(value) if isinstance(value, float) else value
