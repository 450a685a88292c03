"""The objective checks: facts about discipline that are observed and never scored (contract section 2.8)."""

from scoring.evidence.transcripts.events import BASH, COVERED, LOOP_STATE, TESTS, WindowFacts
from scoring.values import IterationObjectives, SignalValue, absent_signal, present_signal


def observe(facts: WindowFacts | None) -> IterationObjectives:
    """Check what the transcripts of a window show; ``facts`` is None when the iteration has no window."""
    flags = 0 if facts is None else facts.flags

    def check(bit: int, seen: str, not_seen: str) -> SignalValue:
        if not flags & COVERED:
            return absent_signal("no transcript coverage in window")
        return present_signal(1, seen) if flags & bit else present_signal(0, not_seen)

    return IterationObjectives(
        ran_cli_command=check(BASH, "Bash tool invoked", "no Bash tool invocation in window"),
        committed_after_tests=check(TESTS, "test command invoked before commit", "no test command in window"),
        read_loop_state=check(LOOP_STATE, "loop-state.md was read", "loop-state.md not read in window"),
    )
