"""The objective checks: facts about discipline that are observed and never scored.

See ``docs/OUTCOME_SCORING_RUBRIC.md``, "Objective checks".
"""

from scoring.evidence.transcripts.facts import BASH, COVERED, LOOP_STATE, TESTS, TranscriptFacts
from scoring.signals.values import IterationObjectives, SignalValue, absent_signal, present_signal

_BASH = "Bash tool invoked", "no Bash tool invocation in window"


def objective_checks(facts: TranscriptFacts | None) -> IterationObjectives:
    """Check what the transcripts of a window show; ``facts`` is None when the iteration has no window.

    Details name the harnesses where they are known.
    """
    flags = 0 if facts is None else facts.flags

    harnesses = facts.harnesses if facts else ()
    names = ", ".join(h.name for h in harnesses if h.flags & COVERED)

    def check(bit: int, seen: str, not_seen: str) -> SignalValue:
        if not flags & COVERED:
            return absent_signal("no transcript coverage in window")
        if not flags & bit:
            return present_signal(0, not_seen + (f" ({names})" if names else ""))
        by = ", ".join(h.name for h in harnesses if h.flags & bit)
        return present_signal(1, seen + (f" ({by})" if by else ""))

    # Where harnesses are known, the tool that runs commands has a name in each.
    tool = ("command tool invoked", "no command run in window") if harnesses else _BASH
    return IterationObjectives(
        ran_cli_command=check(BASH, *tool),
        committed_after_tests=check(TESTS, "test command invoked before commit", "no test command in window"),
        read_loop_state=check(LOOP_STATE, "loop-state.md was read", "loop-state.md not read in window"),
    )
