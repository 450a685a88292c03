"""verifier: did the iteration's verification gates pass (contract sections 2.3 and 2.9)."""

from pathlib import Path

from scoring.evidence.artifacts import artifact_status
from scoring.log.model import IterationRecord, SelfAssessment, VerifierRecord
from scoring.signals.findings import Findings
from scoring.signals.values import SignalValue, absent_signal, present_signal
from scoring.text import lower, trim

_STATUSES = {"pass": 1.0, "partial": 0.5, "fail": 0.0}


def value(findings: Findings) -> SignalValue:
    """Return what the verifiers and their artifacts say."""
    return findings.iterlog.verifier


def observe(record: IterationRecord, repo_root: Path | str) -> SignalValue:
    """Take the mean status of the verifiers; without verifiers, the entry's total test flag stands in."""
    if not record.verifiers:
        passed = record.impl.tests_total_pass
        if passed is None:
            return absent_signal("no verifier records and no tests_total_pass proxy")
        return present_signal(float(passed), f"no verifiers; tests_total_pass proxy: {'pass' if passed else 'fail'}")
    votes = [_STATUSES[s] for v in record.verifiers if (s := _status(v, repo_root)) in _STATUSES]
    if not votes:
        return absent_signal("verifier records carry no pass/fail/partial status")
    detail = f"{len(votes)}/{len(record.verifiers)} verifiers scored, mean status"
    return present_signal(sum(votes) / len(votes), detail)


def _status(verifier: VerifierRecord, repo_root: Path | str) -> str:
    """Return a verifier's status; what its artifact says overrides what the entry says."""
    recorded = trim(artifact_status(repo_root, verifier.result_artifact))
    return lower(recorded or trim(verifier.status))


def claim(record: IterationRecord) -> SignalValue:
    """Read whether the agent says that traces were linked to outcomes."""
    verifiers = record.verifiers
    if (
        record.impl.self_assessment.linked_traces_to_outcomes
        or any(v.self_assessment.linked_traces_to_outcomes for v in verifiers)
        or any(v.linked_traces for v in verifiers)
    ):
        return present_signal(1, "linked traces recorded")
    if record.impl.self_assessment == SelfAssessment() and not any(v.tests_added_by_kind for v in verifiers):
        return absent_signal("no verification self-report")
    return present_signal(0, "no linked traces recorded")
