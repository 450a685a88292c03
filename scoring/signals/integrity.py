"""Integrity: what was claimed beside what was observed, per two-way signal. Never scored (contract section 2.9)."""

from scoring.log.parse import SCHEMA_FLAT
from scoring.signals.findings import Findings
from scoring.signals.values import (
    LANDED,
    ROLE_IMPL,
    ROLE_VERIFIER,
    SCOPE,
    TESTS,
    VERIFIER,
    IntegrityObservation,
)


def observations(findings: Findings) -> tuple[IntegrityObservation, ...]:
    """Pair every claim with its observation; pairs with neither side are dropped."""
    log, git = findings.iterlog, findings.git
    verifier_role = ROLE_IMPL if findings.record.schema_version == SCHEMA_FLAT else ROLE_VERIFIER
    pairs = (
        IntegrityObservation(LANDED, ROLE_IMPL, log.landed_claimed, git.landed_observed),
        IntegrityObservation(VERIFIER, verifier_role, log.verifier_claimed, log.verifier),
        IntegrityObservation(TESTS, ROLE_IMPL, log.tests_claimed, log.verifier),
        IntegrityObservation(SCOPE, ROLE_IMPL, log.scope_claimed, git.scope_observed),
    )
    return tuple(pair for pair in pairs if pair.claimed.present or pair.observed.present)
