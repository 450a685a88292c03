"""The objective checks: facts about discipline that are observed and never scored (contract section 2.8)."""

from scoring.evidence.transcripts.events import WindowFacts
from scoring.values import IterationObjectives, SignalValue, absent_signal, present_signal


def observe(facts: WindowFacts | None) -> IterationObjectives:
    """Check what the transcripts of a window show; ``facts`` is None when the iteration has no window."""

    def check(count: int, seen: str, not_seen: str) -> SignalValue:
        if facts is None or not facts.covered:
            return absent_signal("no transcript coverage in window")
        return present_signal(1, seen) if count else present_signal(0, not_seen)

    bash, tests, loop_state = (0, 0, 0) if facts is None else (facts.bash, facts.tests, facts.loop_state)
    return IterationObjectives(
        ran_cli_command=check(bash, "Bash tool invoked", "no Bash tool invocation in window"),
        committed_after_tests=check(tests, "test command invoked before commit", "no test command in window"),
        read_loop_state=check(loop_state, "loop-state.md was read", "loop-state.md not read in window"),
    )
