"""The signals, one file each, and the one table that lists them.

A signal is a function from :class:`~scoring.signals.findings.Findings` to a
:class:`~scoring.signals.values.SignalValue`, or to None when its evidence was not asked for. To add one, write its file
and add its line to :data:`SIGNALS`.
"""

from collections.abc import Callable
from typing import TypeAlias

from rubric import SignalID
from scoring.signals import (
    correction_pressure,
    diminishing_returns,
    hook_outcomes,
    landed,
    scope,
    tests,
    token_efficiency,
    verifier,
)
from scoring.signals.findings import Findings
from scoring.signals.values import (
    CORRECTION_PRESSURE,
    DIMINISHING_RETURNS,
    HOOK_OUTCOMES,
    LANDED,
    SCOPE,
    TESTS,
    TOKEN_EFFICIENCY,
    VERIFIER,
    SignalValue,
)

Signal: TypeAlias = Callable[[Findings], SignalValue | None]

SIGNALS: dict[SignalID, Signal] = {
    LANDED: landed.value,
    VERIFIER: verifier.value,
    TESTS: tests.value,
    CORRECTION_PRESSURE: correction_pressure.value,
    SCOPE: scope.value,
    HOOK_OUTCOMES: hook_outcomes.value,
    TOKEN_EFFICIENCY: token_efficiency.value,
    DIMINISHING_RETURNS: diminishing_returns.value,
}
