"""tests: did the iteration's focused and total tests pass, as the entry reports it (contract section 2.4)."""

from scoring.log.model import IterationRecord
from scoring.signals.findings import Findings
from scoring.signals.values import SignalValue, absent_signal, present_signal


def value(findings: Findings) -> SignalValue:
    """Return what the entry reports."""
    return findings.iterlog.tests_claimed


def claim(record: IterationRecord) -> SignalValue:
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
