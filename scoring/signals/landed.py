"""landed: did the iteration's work survive to the trunk (contract sections 2.1 and 2.9)."""

from scoring.evidence.git.reference import GitHistory
from scoring.log.model import IterationRecord
from scoring.signals.findings import Findings
from scoring.signals.values import SignalValue, absent_signal, present_signal
from scoring.text import lower, short, trim

_DECISIONS = {"accept": 1.0, "reject": 0.0, "escalate": 0.5}


def value(findings: Findings) -> SignalValue:
    """Return what git observed."""
    return findings.git.landed_observed


def observe(record: IterationRecord, history: GitHistory) -> SignalValue:
    """Find the commit on the trunk: 1 landed, 0 reverted or not there, absent when it cannot be told."""
    raw = trim(record.commit)
    if not raw:
        return absent_signal("no commit SHA on iteration entry")
    sha = history.resolve(raw)
    if sha is None:
        return _by_message(record, history, raw)
    if not history.on_trunk(sha):
        return present_signal(0, f"commit {short(sha)} not reachable from {history.trunk}")
    if who := history.reverted_by(sha):
        return present_signal(0, f"commit {short(sha)} reachable but reverted by {short(who)}")
    return present_signal(1, f"commit {short(sha)} reachable from {history.trunk}, not reverted")


def _by_message(record: IterationRecord, history: GitHistory, raw: str) -> SignalValue:
    """Look for a trunk commit whose subject is the iteration's summary: history may have been rewritten."""
    sha = history.match_subject(trim(record.impl.summary))
    if sha is None:
        return absent_signal(f"commit SHA {short(raw)} does not resolve and no message match")
    found = f"unresolved SHA {short(raw)}; message-matched {short(sha)}"
    if who := history.reverted_by(sha):
        return present_signal(0, f"{found}, later reverted by {short(who)}")
    return present_signal(1, f"{found} reachable from {history.trunk}")


def claim(record: IterationRecord) -> SignalValue:
    """Read what the agent and the reviewer said of the landing: the mean of what there is."""
    said: list[tuple[float, str]] = []
    persisted = lower(trim(record.impl.self_assessment.persisted_via_workflow_commands))
    if persisted:
        yes = "yes" in persisted
        said.append((float(yes), f"persisted_via_workflow_commands: {'yes' if yes else 'no'}"))
    decision = lower(trim(record.review.overall_decision))
    if decision in _DECISIONS:
        said.append((_DECISIONS[decision], f"review: {decision}"))
    if not said:
        return absent_signal("no persisted-via-workflow note and no review decision")
    return present_signal(sum(vote for vote, _ in said) / len(said), "; ".join(text for _, text in said))
