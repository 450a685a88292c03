"""correction_pressure: how little the iteration had to be corrected (contract section 2.5)."""

from typing import NamedTuple

from scoring.log.model import IterationRecord
from scoring.numbers import wrap64
from scoring.signals.findings import Findings
from scoring.signals.values import SignalValue, absent_signal, present_signal


class Corrections(NamedTuple):
    """What an entry and its review artifact say; see :class:`~scoring.policies.door.Pressure`."""

    retries: int
    corrections: int
    reported: bool


def value(findings: Findings) -> SignalValue:
    """Combine retries, user corrections and, when there were tool calls, their error rate.

    Absent when nobody spoke of any of them; the reference's evidence takes silence for none, so there it is always
    present.
    """
    retries, corrections = findings.iterlog.retries, findings.iterlog.user_corrections
    error_rate = findings.backfill.tool_error_rate
    if error_rate is None and not findings.iterlog.corrections_reported:
        return absent_signal("no retries field, no review artifact and no tool calls")
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
