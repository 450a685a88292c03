"""What follows from novelty and readiness: the signal of each round, the composite rule, and flags of odd rounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from scoring.meters import at_least, below, rounded
from scoring.meters.dr.novelty import Claim, RoundNovelty
from scoring.meters.dr.profile import Profile
from scoring.meters.dr.readiness import RoundReadiness
from scoring.meters.dr.semantic import Meanings
from scoring.meters.dr.transcript import Round
from scoring.text import cut, quote

Signal: TypeAlias = Literal["CONTINUE", "SHIP", "ASK", "ESCALATE"]

HINTS: dict[Signal, str] = {
    "SHIP": "Converged. Ship the decision and verify.",
    "ESCALATE": "Stop and change the loop: bring in a human or another agent, try another prompt, or narrow the scope.",
    "CONTINUE": "Still producing useful novelty. Continue the loop.",
}

NOT_CLAIMED = (
    "This is about convergence: it does not say that anything is correct or that an agreement is right, "
    "and it replaces no evidence gate."
)
Change: TypeAlias = Literal["human", "agent", "prompt", "scope"]
CHANGES: dict[Change, str] = {  # what each of the changes that ESCALATE may mean asks for
    "human": "Bring in a human who can remove the blocker.",
    "agent": "Bring in another agent, which has not taken part so far.",
    "prompt": "Change the prompt: ask who does what next, to which thing.",
    "scope": "Narrow the scope until its open questions can be answered.",
}
MAY_BE_CONVERGED = (
    "claim_inflation may be only that: a loop that has converged repeats as many claims as before"
)

INFLATED_SHARE = 0.1  # a round of many claims of which fewer than this share are new is inflated
INFLATED_GROWTH = 2.0  # a round of this many times the claims of the rounds before, and of low novelty, is inflated
_QUOTED = 120


class SoFar(NamedTuple):
    """All that the rules look at, as of one round."""

    has_claims: bool  # whether any round so far makes a claim
    novelty: RoundNovelty
    readiness: RoundReadiness
    ready_in_run: bool  # whether readiness was HIGH in a round of the current run of low novelty
    profile: Profile


class SignalRule(NamedTuple):
    """A signal, when it holds, and why in words."""

    name: str
    holds: Callable[[SoFar], bool]
    signal: Signal
    why: Callable[[SoFar], str]


@dataclass(frozen=True, slots=True)
class RoundSignal:
    """What to do, as of one round, and why."""

    signal: Signal
    reasons: tuple[
        str, str, str
    ]  # a sentence or two each: on novelty, on readiness, and on what follows
    rule: str  # the name of the rule that decided
    hint: str  # what to do next
    change: Change | None = None  # which change an ESCALATE means

    @property
    def rationale(self) -> str:
        """The reasons in one text."""
        return " ".join(self.reasons)


def _still(s: SoFar, blocked: str) -> str:
    said = "The loop is still finding something."
    if s.novelty.raw == "LOW":
        left = s.profile.k - s.novelty.low_run
        said = f"Little new; one more round to be sure{'' if left == 1 else f' ({left} until it counts)'}."
    elif s.readiness.level == "HIGH":
        said = "The actions may be premature while the loop still finds so much."
        if s.novelty.level == "MEDIUM":
            said = "Ready to act, but let what is new settle: one more round."
    return f"{said} It is {blocked} {_blocker(s)}." if s.readiness.blocker else said


def _blocker(s: SoFar) -> str:
    return quote(cut(s.readiness.blocker or "", _QUOTED))


def _hint(signal: Signal, s: SoFar) -> str:
    if signal == "ASK":
        return f"ASK: {cut(s.readiness.question or '', _QUOTED)}"
    if signal == "ESCALATE" and s.readiness.blocker:
        return f"Blocked by {_blocker(s)}. {HINTS[signal]}"
    if signal == "CONTINUE" and s.has_claims and s.novelty.raw == "LOW":
        return _still(s, "blocked by")
    return HINTS[signal]


def _converged(s: SoFar) -> str:
    if s.readiness.level == "HIGH":
        return "Converged, and ready to act."
    caveats = [
        f"{name} at {rounded(part.score):g} ({part.found})"
        for name, part in s.readiness.parts().items()
        if below(part.score, 1)
    ]
    return f"Converged, with a caveat that more rounds will hardly mend: {' and '.join(caveats)}."


_BLOCKED = "Blocked, by {}: more rounds do not remove that."
_STUCK = "In none of these {} rounds was readiness high: the loop is stuck."
_QUESTION_OPEN = "Converged, but a question is open: it is asked before anything ships."
_NO_CLAIMS = "No round makes a claim, so there is nothing to measure yet."
_NOT_READY = (
    "Nothing new is said and there is no way to act: more rounds of the same kind will not help."
)

RULES: tuple[SignalRule, ...] = (  # the rules; the first that holds decides
    SignalRule("no_claims", lambda s: not s.has_claims, "CONTINUE", lambda _: _NO_CLAIMS),
    SignalRule(
        "novelty_not_low",
        lambda s: s.novelty.level != "LOW",
        "CONTINUE",
        lambda s: _still(s, "blocked, by"),
    ),
    SignalRule(
        "blocker",
        lambda s: s.readiness.blocker is not None,
        "ESCALATE",
        lambda s: _BLOCKED.format(_blocker(s)),
    ),
    SignalRule(
        "readiness_low", lambda s: s.readiness.level == "LOW", "ESCALATE", lambda _: _NOT_READY
    ),
    SignalRule(
        "never_ready",
        lambda s: s.novelty.low_run >= s.profile.stuck_after and not s.ready_in_run,
        "ESCALATE",
        lambda s: _STUCK.format(s.novelty.low_run),
    ),
    SignalRule(
        "open_question",
        lambda s: s.profile.sentences and bool(s.readiness.question),
        "ASK",
        lambda _: _QUESTION_OPEN,
    ),
    SignalRule("converged", lambda _: True, "SHIP", _converged),
)


def recommend(
    novelty: Sequence[RoundNovelty], readiness: Sequence[RoundReadiness], profile: Profile
) -> tuple[RoundSignal, ...]:
    """Return what to do as of each round, which depends on that round and those before it."""
    found = []
    has_claims = ready_in_run = False
    for new, ready in zip(novelty, readiness, strict=True):
        has_claims = has_claims or new.claims > 0
        ready_in_run = new.low_run > 0 and (
            ready.level == "HIGH" or (ready_in_run and new.low_run > 1)
        )
        situation = SoFar(has_claims, new, ready, ready_in_run, profile)
        rule = next(rule for rule in RULES if rule.holds(situation))
        parts = "; ".join(part.found for part in ready.parts().values())
        readiness_said = (
            f"Readiness is {ready.level.lower()}, at {rounded(ready.value):g}: {parts}."
        )
        reasons = (_novelty_in_words(new, profile.k), readiness_said, rule.why(situation))
        unclear: Change = "scope" if ready.next_actions.score and ready.question else "prompt"
        changes: dict[str, Change] = {
            "blocker": "human",
            "readiness_low": unclear,
            "never_ready": "agent",
        }
        hint = _hint(rule.signal, situation)
        found.append(RoundSignal(rule.signal, reasons, rule.name, hint, changes.get(rule.name)))
    return tuple(found)


def _novelty_in_words(new: RoundNovelty, k: int) -> str:
    counted = f"{new.new_claims} of {new.claims} claims of round {new.round} are new, a rate of {rounded(new.rate):g}"
    held = (
        f"{new.low_run} rounds in a row"
        if new.low_run != 1
        else "this round"
        if new.level == "LOW"
        else "1 round"
    )
    if new.level == "LOW":
        return f"Novelty is low for {held}: {counted}."
    if new.raw == "LOW":
        return f"Novelty is medium: {counted}; that is low, but has been so for {held} only and counts from {k}."
    return f"Novelty is {new.level.lower()}: {counted}."


class RoundSimilarity(NamedTuple):
    """How alike two rounds are in meaning."""

    value: float  # cosine, -1 to 1
    of: Literal[
        "summaries", "claims"
    ]  # what was compared: the summaries, or the mean vectors of the claims


@dataclass(frozen=True, slots=True)
class CompositeRule:
    """Whether the composite rule says stop. It does not change the signal."""

    novelty_low: bool
    stability_high: (
        bool | None
    )  # None without level L2, or when the last two rounds cannot be compared
    not_blocked: bool
    rounds_held: (
        int | None
    )  # how many rounds in a row, up to the last, the three hold; None without level L2
    stop: bool | None


def similarities(
    rounds: Sequence[Round], claims: Sequence[Sequence[Claim]], meanings: Meanings
) -> list[RoundSimilarity | None]:
    """Compare each round with the one before, by summaries or else claims; None where there is nothing to compare."""
    found: list[RoundSimilarity | None] = [None]
    for i in range(1, len(rounds)):
        one, other = summary_of(rounds[i - 1]), summary_of(rounds[i])
        said = (
            [[one], [other]]
            if one and other
            else [[claim.raw for claim in claims[j]] for j in (i - 1, i)]
        )
        value = meanings.alike(*said)
        found.append(
            None
            if value is None
            else RoundSimilarity(value, "summaries" if one and other else "claims")
        )
    return found


def summary_of(given: Round) -> str:
    """Return the summary of a round, empty when it has none."""
    return (given.outputs.summary or "").strip()


def compose(
    novelty: Sequence[RoundNovelty],
    readiness: Sequence[RoundReadiness],
    stability: Sequence[RoundSimilarity | None] | None,
    profile: Profile,
) -> CompositeRule:
    """Apply the composite rule; ``stability`` is None without level L2."""
    low, free = novelty[-1].raw == "LOW", readiness[-1].blocker is None
    if stability is None:
        return CompositeRule(low, None, free, None, None)
    stable = [
        None if s is None else at_least(s.value, profile.thresholds.stability) for s in stability
    ]
    held = 0
    for new, ready, is_stable in zip(
        reversed(novelty), reversed(readiness), reversed(stable), strict=True
    ):
        if not (new.raw == "LOW" and ready.blocker is None and is_stable):
            break
        held += 1
    return CompositeRule(low, stable[-1], free, held, held >= profile.k)


@dataclass(frozen=True, slots=True)
class Flag:
    """Something odd in a round."""

    flag: str
    round: int
    reason: str


def find_flags(
    novelty: Sequence[RoundNovelty], readiness: Sequence[RoundReadiness], questions: Sequence[int]
) -> tuple[Flag, ...]:
    """Return the flags of every round, in order; ``questions`` counts the open ones of each round."""
    flags = []
    claims_before = most_before = 0
    for i, (new, ready) in enumerate(zip(novelty, readiness, strict=True)):
        before = questions[i - 1] if i else 0
        dropped, premature = (
            before and not questions[i] and new.new_claims,
            new.level == "HIGH" == ready.level,
        )
        fell = (
            f"open questions fell from {before} to none in a round with {new.new_claims} new claims"
        )
        reasons = {
            "claim_inflation": _inflation(i, claims_before, most_before, new),
            "questions_dropped": fell if dropped else "",
            "premature_readiness": "ready to act while novelty is still high" if premature else "",
            "no_claims": "the round makes no claim" if not new.claims else "",
        }
        claims_before += new.claims
        most_before = max(most_before, new.claims)
        flags += [Flag(name, new.round, reason) for name, reason in reasons.items() if reason]
    return tuple(flags)


def _inflation(rounds_before: int, claims_before: int, most_before: int, new: RoundNovelty) -> str:
    if not new.claims:
        return ""
    mean = (claims_before + new.claims) / (rounds_before + 1)
    if below(new.new_claims / new.claims, INFLATED_SHARE) and at_least(new.claims, mean):
        counts = f"{new.new_claims} of {new.claims} claims are new"
        found = f"{counts}, in a round of no fewer claims than the mean of {mean:.4g} so far"
        return found if new.claims > most_before else f"{found}; {MAY_BE_CONVERGED}"
    if (
        rounds_before
        and new.raw == "LOW"
        and at_least(new.claims * rounds_before, INFLATED_GROWTH * claims_before)
    ):
        mean = claims_before / rounds_before
        return f"{new.claims} claims, at least twice the mean of {mean:.4g} before, and few new"
    return ""
