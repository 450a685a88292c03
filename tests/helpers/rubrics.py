"""Made-up rubrics, and readings that they score."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rubric import (
    COMBINE_WEIGHTED_MEAN_RENORMALIZED,
    Rubric,
    ScoreBand,
    SignalID,
    SignalSpec,
)


@dataclass(frozen=True)
class Vote:
    """A signal's value, with all that the scorer may ask of it."""

    present: bool
    sub_score: float = 0.0
    detail: str = ""
    source: Literal["observed", "claimed"] | None = None
    applicable: bool = True
    cap: str = ""


@dataclass(frozen=True)
class Votes:
    """One iteration's signals; those that are not given are absent."""

    given: Mapping[str, Vote] = field(default_factory=dict)
    iteration: int = 1
    tool_calls: int | None = 1

    def value(self, signal_id: str) -> Vote:
        return self.given.get(signal_id, Vote(False, detail="nothing known"))


def voting(tool_calls: Any = 1, **given: Any) -> Votes:
    """Return votes, or present ones with a sub-score, of some signals."""
    votes = {
        name: vote if isinstance(vote, Vote) else Vote(True, vote)
        for name, vote in given.items()
    }
    return Votes(votes, tool_calls=tool_calls)


Changes = dict[str, Any]
"""Fields of a rubric to replace."""


def signal(name: str, weight: float, *, two_way: bool = False) -> SignalSpec:
    return SignalSpec(SignalID(name), name.title(), weight, f"About {name}.", two_way)


VALID = Rubric(
    version="1.0.0",
    combination=COMBINE_WEIGHTED_MEAN_RENORMALIZED,
    signals=(
        signal("a", 0.5, two_way=True),
        signal("b", 0.25),
        signal("c", 0.25, two_way=True),
    ),
    bands=(ScoreBand("good", 0.5), ScoreBand("bad", 0.0)),
)


def weights(*given: float) -> Changes:
    return {
        "signals": tuple(
            signal(name, weight) for name, weight in zip("abcdef", given, strict=False)
        )
    }


def bands(**minima: float) -> Changes:
    return {"bands": tuple(ScoreBand(name, low) for name, low in minima.items())}


def first(**changes: Any) -> Changes:
    """Return the signals of the valid rubric with changes to the first one."""
    return {"signals": (replace(VALID.signals[0], **changes), *VALID.signals[1:])}
