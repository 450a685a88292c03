"""Whether to continue, to ship or to escalate: the rules in their order, each with its reason (contract section 6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from scoring.meters.dr.novelty import RoundNovelty
from scoring.meters.dr.readiness import RoundReadiness
from scoring.meters.dr.thresholds import below, rounded
from scoring.text import cut, quote

Signal: TypeAlias = Literal["CONTINUE", "SHIP", "ESCALATE"]

LONG_RUN = 3
"""So many rounds of low novelty in a row, none of them ready, and the loop is stuck."""

HINTS: dict[Signal, str] = {
    "SHIP": "Converged. Ship the decision and verify.",
    "ESCALATE": "Stop and change the loop: bring in a human or another agent, try another prompt, or narrow the scope.",
    "CONTINUE": "Still producing useful novelty. Continue the loop.",
}

NOT_CLAIMED = (
    "This is about convergence: it does not say that anything is correct or that an agreement is right, "
    "and it replaces no evidence gate."
)
"""What the meter does not claim."""

_QUOTED = 120


class Situation(NamedTuple):
    """All that the rules look at, as of one round."""

    has_claims: bool
    """Whether any round so far makes a claim."""
    novelty: RoundNovelty
    readiness: RoundReadiness
    ready_in_run: bool
    """Whether readiness was HIGH in a round of the current run of low novelty."""
    k: int


class Rule(NamedTuple):
    """A signal, when it holds, and why in words."""

    name: str
    holds: Callable[[Situation], bool]
    signal: Signal
    why: Callable[[Situation], str]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What to do, as of one round."""

    signal: Signal
    reasons: tuple[str, str, str]
    """A sentence or two each: on novelty, on readiness, and on what follows."""
    rule: str
    """The name of the rule that decided."""

    @property
    def rationale(self) -> str:
        """The reasons in one text."""
        return " ".join(self.reasons)

    @property
    def hint(self) -> str:
        """What to do next."""
        return HINTS[self.signal]


def _no_claims(_: Situation) -> str:
    return "No round makes a claim, so there is nothing to measure yet."


def _more_to_come(s: Situation) -> str:
    if s.novelty.level == "MEDIUM" and s.readiness.level == "HIGH":
        return "Ready to act, but let what is new settle: one more round."
    if s.readiness.level == "HIGH":
        return "The actions may be premature while the loop still finds so much."
    return "The loop is still finding something."


def _blocked(s: Situation) -> str:
    return f"Blocked, by {quote(cut(s.readiness.blocker or '', _QUOTED))}: more rounds do not remove that."


def _not_ready(_: Situation) -> str:
    return "Nothing new is said and there is no way to act: more rounds of the same kind will not help."


def _stuck(s: Situation) -> str:
    return f"In none of these {s.novelty.low_run} rounds was readiness high: the loop is stuck."


def _converged(s: Situation) -> str:
    if s.readiness.level == "HIGH":
        return "Converged, and ready to act."
    caveats = [
        f"{name} at {rounded(part.score):g} ({part.found})"
        for name, part in s.readiness.parts().items()
        if below(part.score, 1)
    ]
    return f"Converged, with a caveat that more rounds will hardly mend: {' and '.join(caveats)}."


RULES: tuple[Rule, ...] = (
    Rule("no_claims", lambda s: not s.has_claims, "CONTINUE", _no_claims),
    Rule("novelty_not_low", lambda s: s.novelty.level != "LOW", "CONTINUE", _more_to_come),
    Rule("blocker", lambda s: s.readiness.blocker is not None, "ESCALATE", _blocked),
    Rule("readiness_low", lambda s: s.readiness.level == "LOW", "ESCALATE", _not_ready),
    Rule("never_ready", lambda s: s.novelty.low_run >= LONG_RUN and not s.ready_in_run, "ESCALATE", _stuck),
    Rule("converged", lambda _: True, "SHIP", _converged),
)
"""The rules; the first that holds decides."""


def recommend(
    novelty: Sequence[RoundNovelty], readiness: Sequence[RoundReadiness], k: int
) -> tuple[Recommendation, ...]:
    """Return what to do as of each round, which depends on that round and those before it."""
    found = []
    has_claims = ready_in_run = False
    for new, ready in zip(novelty, readiness, strict=True):
        has_claims = has_claims or new.claims > 0
        ready_in_run = new.low_run > 0 and (ready.level == "HIGH" or (ready_in_run and new.low_run > 1))
        situation = Situation(has_claims, new, ready, ready_in_run, k)
        rule = next(rule for rule in RULES if rule.holds(situation))
        reasons = (novelty_in_words(new, k), readiness_in_words(ready), rule.why(situation))
        found.append(Recommendation(rule.signal, reasons, rule.name))
    return tuple(found)


def novelty_in_words(new: RoundNovelty, k: int) -> str:
    """Say how much of a round is new."""
    counted = f"{new.new_claims} of {new.claims} claims of round {new.round} are new, a rate of {rounded(new.rate):g}"
    if new.level == "LOW":
        rounds = "this round" if new.low_run == 1 else f"{new.low_run} rounds in a row"
        return f"Novelty is low for {rounds}: {counted}."
    if new.raw == "LOW":
        held = "1 round" if new.low_run == 1 else f"{new.low_run} rounds in a row"
        return f"Novelty is medium: {counted}; that is low, but has been so for {held} only and counts from {k}."
    return f"Novelty is {new.level.lower()}: {counted}."


def readiness_in_words(ready: RoundReadiness) -> str:
    """Say how ready a round is, and what of it."""
    found = "; ".join(part.found for part in ready.parts().values())
    return f"Readiness is {ready.level.lower()}, at {rounded(ready.value):g}: {found}."
