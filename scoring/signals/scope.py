"""scope: did the iteration stay within its declared write scope (``docs/EVIDENCE.md``, "Scope")."""

from collections.abc import Sequence

from scoring.evidence.git.facts import Changed, Unknown
from scoring.evidence.scopes import SCOPES
from scoring.log.model import IterationRecord
from scoring.signals.findings import Findings
from scoring.signals.values import SignalValue, absent_signal, present_signal
from scoring.text import lower, quote, short, trim

_NOTES = {"on-target": 1.0, "partial": 0.5, "scope-breach": 0.0}

_UNKNOWN = {
    Unknown.NO_COMMIT: "no commit SHA on iteration entry",
    Unknown.UNRESOLVED: "commit SHA {field} does not resolve",
    Unknown.SHALLOW: "history is shallow: it begins with commit {sha}",
    Unknown.HISTORY: "cannot read the history of commit {sha}",
    Unknown.FILES: "cannot read changed files for {sha}",
}


def value(findings: Findings) -> SignalValue:
    """Return what git measured, or else what the agent said."""
    observed = findings.git.scope_observed
    return observed if observed.present else findings.iterlog.scope_claimed


def scope_value(changed: Changed, entries: Sequence[str], task_id: str) -> SignalValue:
    """Measure the share of the changed files that are inside a task's declared scope, whose ``entries`` may be none.

    Without a declared scope nobody needs the files: ``changed`` need not have them then.
    """
    sha = short(changed.sha or "")
    if changed.sha is not None and not entries:
        return absent_signal(f"no write_scope declared for task {quote(task_id)}")
    if changed.unknown:
        return absent_signal(_UNKNOWN[changed.unknown].format(field=short(changed.field), sha=sha))
    where = _range_words(changed)
    if not changed.files:
        return present_signal(1, f"{where} changed no files")
    inside = SCOPES[changed.rules](entries)
    count = sum(path in inside for path in changed.files)
    share = f"{count}/{len(changed.files)} changed files"
    if changed.rules == "corrected":
        share += f" of {where}"
    return present_signal(count / len(changed.files), f"{share} within declared write_scope of task {quote(task_id)}")


def _range_words(changed: Changed) -> str:
    sha = short(changed.sha or "")
    if changed.since is not None:
        without = ", without the trunk's" if changed.without_trunk else ""
        return f"{short(changed.base)}..{sha} (since iteration {changed.since}{without})"
    return f"merge {sha} against its first parent" if changed.merge else f"commit {sha}"


def claim(record: IterationRecord) -> SignalValue:
    """Read the agent's scope note."""
    note = lower(trim(record.impl.scope_note))
    if not note:
        return absent_signal("no scope_note in iteration log")
    if note in _NOTES:
        return present_signal(_NOTES[note], f"scope_note: {note}")
    if note.startswith("on-target"):
        return present_signal(1, "scope_note: free-text with on-target prefix")
    return absent_signal("unrecognized free-text scope_note")
