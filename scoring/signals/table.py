"""The one table of signals, what it makes of the facts of an iteration, and the objective checks beside them.

To add a signal, write its file, a subclass of ``Signal``, add its line here, and give it a weight in a rubric.
"""

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from rubric import Rubric, SignalContribution
from rubric.model import REFERENCE_FLAGS
from scoring.evidence.beside import PROFILE
from scoring.evidence.commands.objective_flags import BASH, LOOP_STATE, TESTS
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import COVERED, Observed, TranscriptFacts
from scoring.signals import values as signal_values
from scoring.signals.correction_pressure import CorrectionPressure
from scoring.signals.diminishing_returns import (
    DIMINISHING_RETURNS,
    DiminishingReturns,
    deliberation_shown,
)
from scoring.signals.hook_outcomes import HookOutcomes
from scoring.signals.human_label import HUMAN_LABEL, HumanLabel
from scoring.signals.landed import Landed
from scoring.signals.scope import Scope
from scoring.signals.signal import Signal, attribution, unattributed
from scoring.signals.tests import Tests
from scoring.signals.token_efficiency import TokenEfficiency
from scoring.signals.values import (
    IterationObjectives,
    SignalSet,
    SignalValue,
    absent_signal,
    present_signal,
)
from scoring.signals.verifier import Verifier
from scoring.text import counted

SIGNALS: tuple[Signal, ...] = (
    Landed(),
    Verifier(),
    Tests(),
    CorrectionPressure(),
    Scope(),
    HookOutcomes(),
    TokenEfficiency(),
    DiminishingReturns(),
    HumanLabel(),
)


def signal_of(signal_id: str) -> Signal | None:
    """Return the signal of an id; None when there is none, as for one that only an old sidecar has."""
    return next((signal for signal in SIGNALS if signal.id == signal_id), None)


def is_chosen(signal_id: str) -> bool:
    """Return whether a project decides to have a signal, so that its absence is no gap."""
    signal = signal_of(signal_id)
    return signal is not None and (signal.by_choice or signal.optional)


def signal_set(
    facts: IterationFacts,
    wanted: Collection[str] = (),
    claims_vote: bool = True,
    compare: bool = True,
) -> SignalSet:
    """Judge the facts of one iteration, with the optional signals ``wanted``. Pure."""
    record, observed = facts.record, facts.observed
    asked = [s for s in SIGNALS if not s.optional or s.id in wanted]
    values = {s.id: s.value(facts) if claims_vote else s.seen(facts) for s in asked}
    pairs = (
        signal_values.IntegrityObservation(s.id, *pair) for s in SIGNALS for pair in s.pairs(facts)
    )
    return SignalSet(
        record.iteration,
        values,
        objective_checks(facts.transcripts, observed),
        tuple(pair for pair in pairs if not pair.is_empty) if compare else (),
        deliberation_shown(facts.deliberation, record.iteration),
        observed.tool_calls if observed else None,
    )


def as_read(facts: IterationFacts, rubric: Rubric) -> IterationFacts:
    """Return facts with what a rubric reads of an entry."""
    return facts if rubric.test_flags == REFERENCE_FLAGS else replace(facts, all_flags=True)


def fact_of(row: SignalContribution, signals: SignalSet) -> str:
    """Return what the vote of a row, computed or read back, goes by in a few words; "" where the evidence changed."""
    value = signals.value(row.signal)
    same = (row.present, row.sub_score, row.detail) == (
        value.present,
        value.sub_score,
        value.detail,
    )
    return row.fact or (value.fact if same else "")


def optional_signals(*rubrics: Rubric) -> frozenset[str]:
    """Return the ids of the optional signals that any of some rubrics has."""
    return frozenset(
        s.id for s in SIGNALS if s.optional and any(rubric.signal(s.id) for rubric in rubrics)
    )


def meter_profile(*rubrics: Rubric, observe: bool = False) -> str | None:
    """Return the profile under which DR transcripts are measured; None where none votes, unless to ``observe``."""
    specs = [spec for rubric in rubrics if (spec := rubric.signal(DIMINISHING_RETURNS))]
    named = next((spec.profile for spec in specs if spec.profile), PROFILE)
    return named if specs or observe else None


def labels_vote(*rubrics: Rubric) -> bool:
    """Return whether what people said of the iterations is read: under a rubric in which that votes."""
    return HUMAN_LABEL in optional_signals(*rubrics)


def files_beside(iteration: int, wanted: Collection[str]) -> Iterator[str]:
    """Yield the names of the files beside an entry, there or not, for its signals and the ``wanted`` optional ones."""
    for signal in SIGNALS:
        if not signal.optional or signal.id in wanted:
            yield from signal.files(iteration)


_BASH = "Bash tool invoked", "no Bash tool invocation in window"


def objective_checks(
    facts: TranscriptFacts | None, observed: Observed | None = None
) -> IterationObjectives:
    """Check what the transcripts of an iteration show; ``observed`` is of lines of its own, None without."""
    flags, harnesses = (facts.flags, facts.harnesses) if facts else (0, ())
    names = ", ".join(h.name for h in harnesses if h.flags & COVERED)

    def check(bit: int, seen: str, not_seen: str) -> SignalValue:
        if not flags & COVERED:
            return absent_signal("no transcript coverage in window")
        if not flags & bit:
            return present_signal(0, not_seen + (f" ({names})" if names else ""))
        by = ", ".join(h.name for h in harnesses if h.flags & bit)
        return present_signal(1, seen + (f" ({by})" if by else ""))

    tool = ("command tool invoked", "no command run in window") if harnesses else _BASH
    return IterationObjectives(
        ran_cli_command=check(BASH, *tool),
        committed_after_tests=check(
            TESTS, "test command invoked before commit", "no test command in window"
        ),
        read_loop_state=check(
            LOOP_STATE, "loop-state.md was read", "loop-state.md not read in window"
        ),
        **(_own_lines(observed) if observed else {}),
    )


def _own_lines(observed: Observed) -> dict[str, SignalValue]:
    tests, corrections = observed.tests, observed.corrections
    missing = unattributed(observed)
    no_verdict = missing or (
        "" if tests.last_passed is not None else "no last test run with a verdict"
    )

    def check(absent: str, seen: bool, detail: str) -> SignalValue:
        return (
            absent_signal(absent)
            if absent
            else present_signal(float(seen), detail + attribution(observed))
        )

    last = "passed" if tests.last_passed else "failed"
    edit = "an" if tests.edited_after else "no"
    interruptions = counted(corrections.interrupts, "interruption")
    return {
        "ran_tests": check(missing, tests.runs > 0, counted(tests.runs, "test run")),
        "tests_passed_last": check(
            no_verdict, bool(tests.last_passed), f"the last test run {last}"
        ),
        "edited_after_tests": check(
            no_verdict, tests.edited_after, f"{edit} edit of code seen after the last test run"
        ),
        "user_interrupted": check(
            missing, corrections.interrupts > 0, f"{interruptions} by the user"
        ),
        "reverted_own_work": check(
            missing, corrections.resets > 0, f"own work taken back {corrections.resets} times"
        ),
    }
