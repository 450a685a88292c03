"""The signal of each round, which follows from its novelty and readiness."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from scoring.meters import below, rounded
from scoring.meters.dr.novelty import RoundNovelty
from scoring.meters.dr.profile import Profile
from scoring.meters.dr.readiness import RoundReadiness
from scoring.text import cut, quote

Signal: TypeAlias = Literal["CONTINUE", "SHIP", "ASK", "ESCALATE"]

Change: TypeAlias = Literal["human", "agent", "prompt", "scope"]
"""What an ESCALATE asks to change."""

HINTS: dict[Signal, str] = {
    "SHIP": "Converged. Ship the decision and verify.",
    "ESCALATE": (
        "Stop and change the loop: bring in a human or another agent, try another prompt, or "
        "narrow the scope."
    ),
    "CONTINUE": "Still producing useful novelty. Continue the loop.",
}

CHANGES: dict[Change, str] = {
    "human": "Bring in a human who can remove the blocker.",
    "agent": "Bring in another agent, which has not taken part so far.",
    "prompt": "Change the prompt: ask who does what next, to which thing.",
    "scope": "Narrow the scope until its open questions can be answered.",
}

NOT_CLAIMED = (
    "This is about convergence: it does not say that anything is correct or that an agreement is "
    "right, and it replaces no evidence gate."
)
_QUOTED_LENGTH = 120


class LoopSituation(NamedTuple):
    """All that the rules look at, as of one round.

    Attributes:
        has_claims: whether any round so far makes a claim.
        novelty: what the round adds.
        readiness: how ready it is.
        ready_in_run: whether readiness was HIGH in a round of the current run of low novelty.
        profile: what the meter goes by.
    """

    has_claims: bool
    novelty: RoundNovelty
    readiness: RoundReadiness
    ready_in_run: bool
    profile: Profile


class SignalRule(NamedTuple):
    """A rule: a signal, when it holds, and why in words."""

    name: str
    holds: Callable[[LoopSituation], bool]
    signal: Signal
    why: Callable[[LoopSituation], str]


@dataclass(frozen=True, slots=True)
class RoundSignal:
    """What to do as of one round, and why.

    Attributes:
        signal: what to do.
        reasons: a sentence or two each on novelty, on readiness, and on what follows from them.
        rule: the name of the rule that decided.
        hint: what to do next, in words.
        change: what an ESCALATE asks to change; None for another signal.
    """

    signal: Signal
    reasons: tuple[str, str, str]
    rule: str
    hint: str
    change: Change | None = None

    @property
    def rationale(self) -> str:
        """The reasons in one text."""
        return " ".join(self.reasons)


# The rules


def _blocker(situation: LoopSituation) -> str:
    return quote(cut(situation.readiness.blocker or "", _QUOTED_LENGTH))


def _why_no_claims(_: LoopSituation) -> str:
    return "No round makes a claim, so there is nothing to measure yet."


def _why_not_low(situation: LoopSituation) -> str:
    why = _still_moving(situation)
    if situation.readiness.blocker:
        return f"{why} It is blocked, by {_blocker(situation)}."
    return why


def _still_moving(situation: LoopSituation) -> str:
    """Return why a loop goes on: its novelty is not low, or not for long enough."""
    novelty = situation.novelty
    if novelty.raw == "LOW":
        missing = situation.profile.k - novelty.low_run
        until = "" if missing == 1 else f" ({missing} until it counts)"
        return f"Little new; one more round to be sure{until}."

    if situation.readiness.level != "HIGH":
        return "The loop is still finding something."
    if novelty.level == "MEDIUM":
        return "Ready to act, but let what is new settle: one more round."
    return "The actions may be premature while the loop still finds so much."


def _why_blocked(situation: LoopSituation) -> str:
    return f"Blocked, by {_blocker(situation)}: more rounds do not remove that."


def _why_not_ready(_: LoopSituation) -> str:
    return (
        "Nothing new is said and there is no way to act: more rounds of the same kind will not "
        "help."
    )


def _why_stuck(situation: LoopSituation) -> str:
    rounds = situation.novelty.low_run
    return f"In none of these {rounds} rounds was readiness high: the loop is stuck."


def _why_ask(_: LoopSituation) -> str:
    return "Converged, but a question is open: it is asked before anything ships."


def _why_converged(situation: LoopSituation) -> str:
    readiness = situation.readiness
    if readiness.level == "HIGH":
        return "Converged, and ready to act."

    caveats = [
        f"{name} at {rounded(part.score):g} ({part.found})"
        for name, part in readiness.parts().items()
        if below(part.score, 1)
    ]
    listed = " and ".join(caveats)
    return f"Converged, with a caveat that more rounds will hardly mend: {listed}."


def _has_no_claims(situation: LoopSituation) -> bool:
    return not situation.has_claims


def _is_not_low(situation: LoopSituation) -> bool:
    return situation.novelty.level != "LOW"


def _is_blocked(situation: LoopSituation) -> bool:
    return situation.readiness.blocker is not None


def _is_not_ready(situation: LoopSituation) -> bool:
    return situation.readiness.level == "LOW"


def _is_stuck(situation: LoopSituation) -> bool:
    has_repeated = situation.novelty.low_run >= situation.profile.stuck_after
    return has_repeated and not situation.ready_in_run


def _has_question(situation: LoopSituation) -> bool:
    return situation.profile.sentences and bool(situation.readiness.question)


def _always(_: LoopSituation) -> bool:
    return True


RULES: tuple[SignalRule, ...] = (
    SignalRule("no_claims", _has_no_claims, "CONTINUE", _why_no_claims),
    SignalRule("novelty_not_low", _is_not_low, "CONTINUE", _why_not_low),
    SignalRule("blocker", _is_blocked, "ESCALATE", _why_blocked),
    SignalRule("readiness_low", _is_not_ready, "ESCALATE", _why_not_ready),
    SignalRule("never_ready", _is_stuck, "ESCALATE", _why_stuck),
    SignalRule("open_question", _has_question, "ASK", _why_ask),
    SignalRule("converged", _always, "SHIP", _why_converged),
)
"""The rules, in order. The first one that holds decides."""


# The signal of each round


def recommend(
    novelty: Sequence[RoundNovelty], readiness: Sequence[RoundReadiness], profile: Profile
) -> tuple[RoundSignal, ...]:
    """Return what to do as of each round, which depends on that round and those before it."""
    signals = []
    has_claims = False
    ready_in_run = False
    for round_novelty, round_readiness in zip(novelty, readiness, strict=True):
        has_claims = has_claims or round_novelty.claims > 0

        if round_novelty.low_run <= 1:  # no run, or a run that begins with this round
            ready_in_run = False
        if round_novelty.low_run and round_readiness.level == "HIGH":
            ready_in_run = True

        signals.append(
            _signal_of(
                LoopSituation(
                    has_claims=has_claims,
                    novelty=round_novelty,
                    readiness=round_readiness,
                    ready_in_run=ready_in_run,
                    profile=profile,
                )
            )
        )
    return tuple(signals)


def _signal_of(situation: LoopSituation) -> RoundSignal:
    rule = next(rule for rule in RULES if rule.holds(situation))
    return RoundSignal(
        signal=rule.signal,
        reasons=(
            _describe_novelty(situation.novelty, situation.profile.k),
            _describe_readiness(situation.readiness),
            rule.why(situation),
        ),
        rule=rule.name,
        hint=_hint(rule.signal, situation),
        change=_change(rule.name, situation.readiness),
    )


def _describe_novelty(novelty: RoundNovelty, k: int) -> str:
    counts = (
        f"{novelty.new_claims} of {novelty.claims} claims of round {novelty.round} are new, "
        f"a rate of {rounded(novelty.rate):g}"
    )
    if novelty.level == "LOW":
        period = "this round" if novelty.low_run == 1 else f"{novelty.low_run} rounds in a row"
        return f"Novelty is low for {period}: {counts}."

    if novelty.raw == "LOW":
        period = "1 round" if novelty.low_run == 1 else f"{novelty.low_run} rounds in a row"
        return (
            f"Novelty is medium: {counts}; that is low, but has been so for {period} only and "
            f"counts from {k}."
        )
    return f"Novelty is {novelty.level.lower()}: {counts}."


def _describe_readiness(readiness: RoundReadiness) -> str:
    parts = "; ".join(part.found for part in readiness.parts().values())
    return f"Readiness is {readiness.level.lower()}, at {rounded(readiness.value):g}: {parts}."


def _hint(signal: Signal, situation: LoopSituation) -> str:
    """Return what to do next, in words."""
    blocker = situation.readiness.blocker
    if signal == "ASK":
        return f"ASK: {cut(situation.readiness.question or '', _QUOTED_LENGTH)}"

    if signal == "ESCALATE" and blocker:
        return f"Blocked by {_blocker(situation)}. {HINTS[signal]}"

    if signal == "CONTINUE" and situation.has_claims and situation.novelty.raw == "LOW":
        hint = _still_moving(situation)
        if blocker:
            hint += f" It is blocked by {_blocker(situation)}."
        return hint

    return HINTS[signal]


def _change(rule: str, readiness: RoundReadiness) -> Change | None:
    """Return what a rule that escalates asks to change."""
    if rule == "blocker":
        return "human"
    if rule == "never_ready":
        return "agent"
    if rule == "readiness_low":
        has_actions = readiness.next_actions.score > 0
        return "scope" if has_actions and readiness.question else "prompt"
    return None
