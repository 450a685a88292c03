"""correction_pressure: how little the iteration had to be corrected (contract section 2.5)."""

from scoring.numbers import wrap64
from scoring.records.model import IterationRecord
from scoring.signals.findings import Findings
from scoring.values import SignalValue, present_signal


def value(findings: Findings) -> SignalValue:
    """Combine retries, user corrections and, when there were tool calls, their error rate. Always present."""
    retries, corrections = findings.iterlog.retries, findings.iterlog.user_corrections
    error_rate = findings.backfill.tool_error_rate
    detail = f"{retries} retries, {corrections} user corrections"
    pressure = float(wrap64(retries + corrections))
    if error_rate is not None:
        detail += f", {error_rate * 100:.0f}% tool-error rate"
        pressure += 2 * error_rate
    divisor = 1 + pressure
    return present_signal(1 / divisor if divisor else float("inf"), detail)


def retries(record: IterationRecord) -> int:
    """Count the retries of the implementation and of every verifier."""
    return wrap64(record.impl.retries + sum(v.retries for v in record.verifiers))
