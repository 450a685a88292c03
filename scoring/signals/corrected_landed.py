"""landed, as the corrected evidence has it (contract sections 2.1 and 10)."""

from scoring.evidence.git.facts import Landing
from scoring.evidence.git.history import CorrectedHistory
from scoring.evidence.git.landing import NOT_LANDED
from scoring.log.model import IterationRecord
from scoring.signals.values import absent_signal, present_signal
from scoring.text import short, trim

MESSAGE, REVERTED = "message", "reverted"


def observe(record: IterationRecord, history: CorrectedHistory) -> Landing:
    """Tell whether an iteration's work has landed: 1 landed, 0 reverted or not there, absent when it cannot be told."""
    raw = trim(record.commit)
    if not raw:
        return Landing(absent_signal("no commit SHA on iteration entry"))
    if history.trunk.commit is None:
        return Landing(absent_signal(f"no trunk: {history.trunk.how}"))
    sha = history.resolve(raw)
    if sha is None:
        return _by_message(record, history, raw)
    found = history.landing(sha)
    if not found.method:
        return Landing(absent_signal(found.how))
    if found.method == NOT_LANDED:
        return Landing(present_signal(0, found.how), found.method)
    if found.reverted_by:
        return Landing(present_signal(0, f"{found.how}, but reverted by {short(found.reverted_by)}"), REVERTED)
    return Landing(present_signal(1, f"{found.how}, not reverted"), found.method)


def _by_message(record: IterationRecord, history: CorrectedHistory, raw: str) -> Landing:
    """Look for a trunk commit whose subject is the iteration's summary: history may have been rewritten."""
    sha = history.match_subject(trim(record.impl.summary))
    if sha is None:
        why = "; history is shallow" if history.trunk.shallow else ""
        return Landing(absent_signal(f"commit SHA {short(raw)} does not resolve and no message match{why}"))
    found = f"unresolved SHA {short(raw)}; {history.trunk.name} has {short(sha)} with the summary as its subject"
    if who := history.reverted_by(sha):
        return Landing(present_signal(0, f"{found}, but reverted by {short(who)}"), REVERTED)
    return Landing(present_signal(1, f"{found}, not reverted"), MESSAGE)
