"""What the extractors found out about one iteration, before it becomes signals.

Each bundle is what one source of evidence says; a signal takes what it needs from them.
"""

from dataclasses import dataclass

from scoring.log.model import IterationRecord
from scoring.signals.values import IterationObjectives, SignalValue


@dataclass(frozen=True, slots=True)
class GitSignals:
    """What git topology says (contract sections 2.1 and 2.2)."""

    landed_observed: SignalValue
    scope_observed: SignalValue


@dataclass(frozen=True, slots=True)
class IterlogSignals:
    """What the entry and its verification artifacts say (contract sections 2.2 to 2.5 and 2.9).

    ``retries`` and ``user_corrections`` are counts; they may be negative, as the log may be. ``corrections_reported``
    is whether anybody spoke of them.
    """

    scope_claimed: SignalValue
    tests_claimed: SignalValue
    verifier: SignalValue
    verifier_claimed: SignalValue
    landed_claimed: SignalValue
    retries: int
    user_corrections: int
    corrections_reported: bool = True


@dataclass(frozen=True, slots=True)
class BackfillSignals:
    """What the transcripts say about tokens and tools (contract section 2.7).

    ``tool_error_rate`` is failed tool calls over tool calls, in [0, 1]; None when there were no tool calls.
    """

    iteration: int
    token_efficiency: SignalValue
    tool_error_rate: float | None


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything found out about one iteration; None is what nobody asked for."""

    record: IterationRecord
    iterlog: IterlogSignals
    git: GitSignals
    backfill: BackfillSignals
    objectives: IterationObjectives
    hook_outcomes: SignalValue
    diminishing_returns: SignalValue | None = None
