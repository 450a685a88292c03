"""What signals make of facts: a value each, what was claimed beside it, and all of it for one iteration."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NewType

from rubric import SignalID, Source
from scoring.frozen import Frozen, PartlyCompared

AgentRole = NewType("AgentRole", str)  # who made a claim: ``impl``, ``verifier`` or ``review``

ROLE_IMPL, ROLE_VERIFIER, ROLE_REVIEW = map(AgentRole, ("impl", "verifier", "review"))


class SignalValue(PartlyCompared, frozen=True):
    """One signal of one iteration: present with a sub-score in [0, 1], or absent. Absent is not zero: it has no vote.

    One that is not ``applicable`` is absent because the signal has nothing to say of such an iteration.
    """

    present: bool
    sub_score: float = 0.0
    detail: str = ""  # what produced the value, or why it is absent; persisted
    reason: str = ""  # why it is absent without what is particular to one iteration, to be counted
    source: Source | None = None  # whether a present value was observed or claimed
    applicable: bool = True
    cap: str = ""  # the best band that the value allows, "" when it allows any
    fact: str = ""  # the key fact in a few words (``unit: fail``), "" where the detail says it

    _ignored = frozenset({"reason", "source", "fact"})

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"present": self.present, "sub_score": self.sub_score, "detail": self.detail}


def present_signal(
    sub_score: float, detail: str, source: Source = "observed", cap: str = "", fact: str = ""
) -> SignalValue:
    """Build a present value, the sub-score clamped to [0, 1]. What is not a number cannot vote: it is absent."""
    if math.isnan(sub_score):
        return absent_signal(detail)
    return SignalValue(
        True,
        min(sub_score, 1.0) if sub_score > 0 else 0.0,
        detail,
        source=source,
        cap=cap,
        fact=fact,
    )


def claim_signal(sub_score: float, detail: str, fact: str = "") -> SignalValue:
    """Build a present value that an agent claims of its own work; otherwise as :func:`present_signal`."""
    return present_signal(sub_score, detail, "claimed", fact=fact)


def absent_signal(detail: str, reason: str = "") -> SignalValue:
    """Build an absent value: ``detail`` says why, and ``reason`` too, if it differs, without the particulars."""
    return SignalValue(False, 0.0, detail, reason or detail)


class IterationObjectives(Frozen, frozen=True):
    """Facts read off the transcripts that never vote: 1 seen, 0 not seen, absent where no transcript covers them."""

    ran_cli_command: SignalValue
    committed_after_tests: SignalValue
    read_loop_state: (
        SignalValue  # those after it are None where an iteration has no lines of its own
    )
    ran_tests: SignalValue | None = None
    tests_passed_last: SignalValue | None = None
    edited_after_tests: SignalValue | None = None
    user_interrupted: SignalValue | None = None
    reverted_own_work: SignalValue | None = None

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return plain data."""
        checks = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: check.as_dict() for name, check in checks if check is not None}


class IntegrityObservation(Frozen, frozen=True):
    """A claim beside what was seen, for one signal, with the role that claimed it."""

    signal: SignalID
    role: AgentRole
    claimed: SignalValue
    observed: SignalValue

    @property
    def comparable(self) -> bool:
        """Whether both sides are present."""
        return self.claimed.present and self.observed.present

    @property
    def is_empty(self) -> bool:
        """Whether neither side is present: such a pair says nothing."""
        return not (self.claimed.present or self.observed.present)

    @property
    def delta(self) -> float:
        """Observed minus claimed, in [-1, 1]; below 0 is an over-claim. 0 when not comparable."""
        return self.observed.sub_score - self.claimed.sub_score if self.comparable else 0.0

    def as_dict(self) -> dict[str, object]:
        """Return plain data."""
        return {
            "signal": self.signal,
            "role": self.role,
            "claimed": self.claimed.as_dict(),
            "observed": self.observed.as_dict(),
            "comparable": self.comparable,
            "delta": self.delta,
        }


class Deliberation(Frozen, frozen=True):
    """What the diminishing-returns meter says of an iteration that has a DR transcript, and by which profile."""

    source: Path
    value: SignalValue  # what the signal is where it votes
    meter: Mapping[str, Any] | None = None  # all output, None when the transcript cannot be read
    profile: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return plain data."""
        return {
            "source": str(self.source),
            "profile": self.profile,
            **self.value.as_dict(),
            "meter": self.meter,
        }


class SignalSet(Frozen, frozen=True):
    """Everything that was found out about one iteration: what votes, and beside it what was claimed and observed."""

    iteration: int
    signals: Mapping[SignalID, SignalValue]
    objective: IterationObjectives
    integrity: tuple[IntegrityObservation, ...] = ()
    deliberation: Deliberation | None = None  # None also where it was not asked for
    tool_calls: int | None = (
        None  # those seen in its own lines, None where iterations have no lines of their own
    )

    def value(self, signal_id: str) -> SignalValue:
        """Return the value of a signal; absent when the id is unknown."""
        return self.signals.get(SignalID(signal_id)) or absent_signal(f"unknown signal {signal_id}")

    def as_dict(self) -> dict[str, object]:
        """Return plain data, as ``da-score log signals`` prints it."""
        return {
            "iteration": self.iteration,
            "signals": {
                name: value.as_dict()
                | {
                    "source": value.source,
                    "applicable": value.applicable,
                    "fact": value.fact or None,
                }
                for name, value in self.signals.items()
            },
            "integrity": [observation.as_dict() for observation in self.integrity],
            "objective": self.objective.as_dict(),
            **deliberation_dict(self.deliberation),
        }


def deliberation_dict(deliberation: Deliberation | None) -> dict[str, object]:
    """Return the key that a DR transcript adds to an iteration's data; nothing where there is none."""
    return {} if deliberation is None else {"diminishing_returns": deliberation.as_dict()}
