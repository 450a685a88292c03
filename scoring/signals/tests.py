"""tests: did the iteration's tests pass, as seen or as reported (``docs/OUTCOME_SCORING_RUBRIC.md``, "tests")."""

from collections.abc import Iterator

from rubric import SignalID
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import Observed, TestsSeen
from scoring.log.load import EntryPlaces
from scoring.log.model import SCHEMA_FLAT, IterationRecord
from scoring.signals import values
from scoring.signals.signal import (
    Pair,
    Signal,
    attribution,
    named_fields,
    seen_source,
    unattributed,
)
from scoring.signals.verifier import verifier_value
from scoring.text import counted, cut, some_of

TESTS = SignalID("tests")

_MOST_NAMED, _LONGEST_NAME = 4, 40

_RUN = "run the tests before the commit; the setting test-commands names a tool that da-score does not know"

NO_VERDICT = "last run has no verdict"

FAILED_CAP = "fair"  # the best band of an iteration in which the last test run failed


class Tests(Signal):
    """The verdict of the last test run that was seen; where claims vote, the share of the reported flags."""

    id = TESTS
    better = "every test flag of the entry is true"
    supply = "set impl.focused_tests_pass and impl.tests_total_pass in the entry"
    read_from_lines = True

    def value(self, facts: IterationFacts) -> values.SignalValue:
        """Return what the entry reports."""
        return flags_claim(facts.record, facts.all_flags)

    def seen(self, facts: IterationFacts) -> values.SignalValue:
        """Return the verdict of the last test run."""
        if facts.observed is None:
            return super().seen(facts)
        if facts.observed.documents:
            why = "not applicable: the commit changed nothing but documents"
            return values.SignalValue(False, 0.0, why, why, applicable=False)
        return tests_value(facts.observed)

    def pairs(self, facts: IterationFacts) -> Iterator[Pair]:
        """Compare the flags with the test runs that were seen, each role's own; else with what the verifiers found."""
        record, observed = facts.record, facts.observed
        if observed is None:
            found = verifier_value(record, facts.statuses, facts.all_flags)
            yield values.ROLE_IMPL, flags_claim(record, facts.all_flags), found
            return
        run = self.seen(facts)
        yield values.ROLE_IMPL, _share_of(_impl_flags(record, facts.all_flags)), run
        if record.verifiers:
            yield values.ROLE_VERIFIER, _share_of(_verifier_flags(record)), run

    def advice(self, present: bool, facts: IterationFacts) -> str:
        """Return what would raise the score; where lines are attributed, only a test run does."""
        if present and facts.observed is not None:
            return "the last test run before the commit passes, and no code is edited after it"
        if present:
            return self.better
        if facts.observed is not None:
            return _RUN if facts.observed.method else super().advice(present, facts)
        if facts.record.schema_version == SCHEMA_FLAT:
            return "set tests_total_pass in the entry"
        return self.supply if facts.all_flags else "set impl.focused_tests_pass in the entry"

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:
        """Yield the last test run that was seen, or else the flags that the entry has."""
        if facts.observed is not None and facts.observed.tests.runs:
            yield from seen_source(facts, "tests")
            return
        flags = [f"verifiers.{n}.tests_total_pass" for n in range(len(facts.record.verifiers))]
        total = ["impl.tests_total_pass"] if facts.all_flags else []
        yield from named_fields(
            entry, "impl.focused_tests_pass", "tests_total_pass", *total, *flags
        )


def tests_value(observed: Observed) -> values.SignalValue:
    """Judge the last test run: 0 failed, with a cap, 0.5 passed before code was edited, 1 passed after all edits."""
    tests = observed.tests
    if missing := unattributed(observed):
        return values.absent_signal(missing)
    if not tests.runs:
        calls = counted(observed.tool_calls, "tool call")
        calls += (
            f" but {tests.reviewing} of sub-agents that edited no code" if tests.reviewing else ""
        )
        return values.absent_signal(
            f"no test run in {calls}{attribution(observed)}", "no test run in N tool calls"
        )
    if tests.last_passed is None:
        return values.absent_signal(
            f"{NO_VERDICT} ({_runs_in_words(tests)}){attribution(observed)}", NO_VERDICT
        )
    said = _in_words(tests)
    fact = f"{tests.command or 'last test run'}: {'pass' if tests.last_passed else 'fail'}"
    if not tests.last_passed:
        detail = f"{said}; caps the band at {FAILED_CAP}{attribution(observed)}"
        return values.present_signal(0, detail, cap=FAILED_CAP, fact=fact)
    return values.present_signal(
        0.5 if tests.edited_after else 1, said + attribution(observed), fact=fact
    )


def _in_words(tests: TestsSeen) -> str:
    counts = [
        f"{n} {what}"
        for n, what in ((tests.failed_tests, "failed"), (tests.passed_tests, "passed"))
        if n
    ]
    last = f"last {'passed' if tests.last_passed else 'failed'}"
    last += f": {tests.command}" if tests.command else ""
    last += f" ({', '.join(counts)})" if counts else ""
    last += ", code edited after it" if tests.edited_after else ""
    return f"{_runs_in_words(tests)}; {last}"


def _runs_in_words(tests: TestsSeen) -> str:
    known = f", {tests.failed} failed" if tests.no_verdict < tests.runs else ""
    unknown = f", {tests.no_verdict} without a verdict" if tests.no_verdict else ""
    return f"{counted(tests.runs, 'test run')}{known}{unknown}"


def flags_claim(record: IterationRecord, all_flags: bool = False) -> values.SignalValue:
    """Take the share of the reported test flags that are true; ``all_flags`` as in the facts."""
    return _share_of(_impl_flags(record, all_flags) + _verifier_flags(record))


def _impl_flags(record: IterationRecord, all_flags: bool) -> list[tuple[str, bool | None]]:
    impl = record.impl
    total = impl.total_flag if all_flags else impl.tests_total_pass
    return [("focused tests", impl.focused_tests_pass), ("all tests", total)]


def _verifier_flags(record: IterationRecord) -> list[tuple[str, bool | None]]:
    return [
        (cut(v.type, _LONGEST_NAME) or "verifier", v.tests_total_pass) for v in record.verifiers
    ]


def _share_of(flags: list[tuple[str, bool | None]]) -> values.SignalValue:
    """Return the share of test flags, each with what it is of, that are true; those that are None do not count."""
    reported = [flag for _, flag in flags if flag is not None]
    if not reported:
        return values.absent_signal("no test-pass flags set in iteration log")
    detail = f"{sum(reported)}/{len(reported)} test-pass flags true"
    false = [name for name, flag in flags if flag is False]
    said = (
        f"{some_of(false, _MOST_NAMED)}: fail"
        if false
        else f"{counted(len(reported), 'flag')}: pass"
    )
    return values.claim_signal(sum(reported) / len(reported), detail, said)
