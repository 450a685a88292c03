"""tests: did the iteration's focused and total tests pass, as the entry reports it.

See ``docs/OUTCOME_SCORING_RUBRIC.md``, "tests".
"""

from collections.abc import Iterator

from rubric import SignalID
from scoring.evidence.facts import IterationFacts
from scoring.log.load import EntryPlaces
from scoring.log.model import IterationRecord
from scoring.signals.signal import Signal, named_fields
from scoring.signals.values import ROLE_IMPL, IntegrityObservation, SignalValue, absent_signal, present_signal
from scoring.signals.verifier import verifier_value

TESTS = SignalID("tests")


class Tests(Signal):
    """The share of the reported test flags that are true."""

    id = TESTS
    better = "every test flag of the entry is true"
    supply = "set impl.focused_tests_pass and tests_total_pass in the entry"

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return what the entry reports."""
        return flags_claim(facts.record)

    def pair(self, facts: IterationFacts) -> IntegrityObservation:
        """Compare the flags with what the verifiers found."""
        observed = verifier_value(facts.record, facts.statuses)
        return IntegrityObservation(self.id, ROLE_IMPL, flags_claim(facts.record), observed)

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:
        """Yield the flags that the entry has."""
        flags = [f"verifiers.{n}.tests_total_pass" for n in range(len(facts.record.verifiers))]
        yield from named_fields(entry, "impl.focused_tests_pass", "tests_total_pass", *flags)


def flags_claim(record: IterationRecord) -> SignalValue:
    """Take the share of the reported test flags that are true."""
    flags = [
        record.impl.focused_tests_pass,
        record.impl.tests_total_pass,
        *(v.tests_total_pass for v in record.verifiers),
    ]
    reported = [flag for flag in flags if flag is not None]
    if not reported:
        return absent_signal("no test-pass flags set in iteration log")
    return present_signal(sum(reported) / len(reported), f"{sum(reported)}/{len(reported)} test-pass flags true")
