"""Objective checks: facts of the transcripts of an iteration that never vote."""

from scoring.evidence.commands.objective_flags import CallFlag
from scoring.evidence.transcripts.facts import TranscriptFacts
from scoring.evidence.transcripts.observed_facts import Observed
from scoring.text import counted

from .signal import attribution, unattributed
from .values import (
    IterationObjectives,
    SignalValue,
    absent_signal,
    present_signal,
)


def objective_checks(
    facts: TranscriptFacts | None, observed: Observed | None = None
) -> IterationObjectives:
    """Check what the transcripts of an iteration show.

    The checks of its window are absent where no transcript covers that.

    Args:
        facts: what transcripts show in its window; None where it has no window of time.
        observed: what was seen in the iteration's own lines; None where iterations have no lines
            of their own.
    """
    transcripts = facts or TranscriptFacts()
    own_checks = _checks_of_own_lines(observed) if observed else {}

    def check(flag: CallFlag, seen: str, not_seen: str) -> SignalValue:
        if not transcripts.covered:
            return absent_signal("no transcript coverage in window")

        is_seen = flag in transcripts.shows
        harnesses = transcripts.harnesses
        if is_seen:
            detail = seen
            names = [each.name for each in harnesses if flag in each.shows]
        else:
            detail = f"{not_seen} in window"
            names = [each.name for each in harnesses if each.files]

        if names:
            detail += f" ({', '.join(names)})"
        return present_signal(int(is_seen), detail)

    tests = check(
        CallFlag.TESTS, "test command invoked before commit", "no test command"
    )
    loop_state = check(
        CallFlag.LOOP_STATE, "loop-state.md was read", "loop-state.md not read"
    )
    if transcripts.harnesses:
        command = check(CallFlag.SHELL, "command tool invoked", "no command run")
    else:  # the reference's rules know no harnesses, and word this as the reference does
        command = check(CallFlag.SHELL, "Bash tool invoked", "no Bash tool invocation")

    return IterationObjectives(
        ran_cli_command=command,
        committed_after_tests=tests,
        read_loop_state=loop_state,
        **own_checks,
    )


def _checks_of_own_lines(observed: Observed) -> dict[str, SignalValue]:
    """Return the checks of the transcript lines of an iteration, by the names of their fields.

    All are absent where no lines belong to the iteration. Those about the last test run are also
    absent where no test ran, or that run has no verdict.
    """
    tests = observed.tests
    corrections = observed.corrections
    how = attribution(observed)
    missing = unattributed(observed)

    no_verdict = missing
    if not missing and tests.last_passed is None:
        no_verdict = "no last test run with a verdict"

    def check(absent_because: str, seen: int, detail: str) -> SignalValue:
        if absent_because:
            return absent_signal(absent_because)
        return present_signal(float(seen > 0), detail + how)

    passed = bool(tests.last_passed)
    last_run = f"the last test run {'passed' if passed else 'failed'}"
    edit = "an edit" if tests.edited_after else "no edit"
    edited = f"{edit} of code seen after the last test run"
    interrupts = f"{counted(corrections.interrupts, 'interruption')} by the user"
    resets = f"own work taken back {corrections.resets} times"
    return {
        "ran_tests": check(missing, tests.runs, counted(tests.runs, "test run")),
        "tests_passed_last": check(no_verdict, passed, last_run),
        "edited_after_tests": check(no_verdict, tests.edited_after, edited),
        "user_interrupted": check(missing, corrections.interrupts, interrupts),
        "reverted_own_work": check(missing, corrections.resets, resets),
    }
