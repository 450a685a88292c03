"""The objective checks: facts about discipline that are observed and never scored.

See ``docs/OUTCOME_SCORING_RUBRIC.md``, "Objective checks".
"""

from scoring.evidence.transcripts.facts import BASH, COVERED, LOOP_STATE, TESTS, Observed, TranscriptFacts
from scoring.signals.signal import attribution, unattributed
from scoring.signals.values import IterationObjectives, SignalValue, absent_signal, present_signal
from scoring.text import counted

_MANY = "interruptions by the user"
_BASH = "Bash tool invoked", "no Bash tool invocation in window"


def objective_checks(facts: TranscriptFacts | None, observed: Observed | None = None) -> IterationObjectives:
    """Check what the transcripts of an iteration show; details name the harnesses where they are known.

    ``facts`` are of its window or its lines, ``observed`` is what was seen in lines of its own; None without such.
    """
    flags, harnesses = (facts.flags, facts.harnesses) if facts else (0, ())
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
        **(_own_lines(observed) if observed else {}),
    )


def _own_lines(observed: Observed) -> dict[str, SignalValue]:
    tests, corrections = observed.tests, observed.corrections
    missing = unattributed(observed)
    no_verdict = missing or ("" if tests.last_passed is not None else "no last test run with a verdict")

    def check(absent: str, seen: bool, detail: str) -> SignalValue:
        return absent_signal(absent) if absent else present_signal(float(seen), detail + attribution(observed))

    last = "passed" if tests.last_passed else "failed"
    edited = "" if tests.edited_after else "no "
    return {
        "ran_tests": check(missing, tests.runs > 0, f"{counted(tests.runs, 'test run')}"),
        "tests_passed_last": check(no_verdict, bool(tests.last_passed), f"the last test run {last}"),
        "edited_after_tests": check(no_verdict, tests.edited_after, f"{edited}code edited after the last test run"),
        "user_interrupted": check(
            missing, corrections.interrupts > 0, counted(corrections.interrupts, "interruption by the user", _MANY)
        ),
        "reverted_own_work": check(missing, corrections.resets > 0, f"own work taken back {corrections.resets} times"),
    }
