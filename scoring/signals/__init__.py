"""The signals, one file each, and the one table that lists them.

A signal is a function from :class:`~scoring.signals.findings.Findings` to a
:class:`~scoring.values.SignalValue`. To add one, write its file and add its line to :data:`SIGNALS`.
"""

from collections.abc import Callable
from typing import TypeAlias

from rubric import SignalID
from scoring.signals import (
    correction_pressure,
    hook_outcomes,
    landed,
    scope,
    tests,
    token_efficiency,
    verifier,
)
from scoring.signals.findings import Findings
from scoring.values import (
    CORRECTION_PRESSURE,
    HOOK_OUTCOMES,
    LANDED,
    SCOPE,
    TESTS,
    TOKEN_EFFICIENCY,
    VERIFIER,
    SignalValue,
)

Signal: TypeAlias = Callable[[Findings], SignalValue]

SIGNALS: dict[SignalID, Signal] = {
    LANDED: landed.value,
    VERIFIER: verifier.value,
    TESTS: tests.value,
    CORRECTION_PRESSURE: correction_pressure.value,
    SCOPE: scope.value,
    HOOK_OUTCOMES: hook_outcomes.value,
    TOKEN_EFFICIENCY: token_efficiency.value,
}
