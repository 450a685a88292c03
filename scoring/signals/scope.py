"""scope: did the iteration stay within its declared write scope (contract section 2.2)."""

import posixpath
from collections.abc import Iterable, Mapping
from typing import Protocol

from scoring.evidence.git.reference import GitHistory
from scoring.log.model import IterationRecord
from scoring.signals.findings import Findings
from scoring.signals.values import SignalValue, absent_signal, present_signal
from scoring.text import lower, quote, short, trim

_NOTES = {"on-target": 1.0, "partial": 0.5, "scope-breach": 0.0}


def value(findings: Findings) -> SignalValue:
    """Return what git measured, or else what the agent said."""
    observed = findings.git.scope_observed
    return observed if observed.present else findings.iterlog.scope_claimed


def observe(record: IterationRecord, history: GitHistory, scopes: Mapping[str, tuple[str, ...]]) -> SignalValue:
    """Measure the share of the commit's changed files that lie inside the task's scope."""
    found = declared(record, history, scopes)
    if isinstance(found, SignalValue):
        return found
    sha, scope = found
    commit = history.commit(sha)
    if commit is None or commit.files is None:
        return absent_signal(f"cannot read changed files for {short(sha)}")
    if not commit.files:
        return present_signal(1, f"commit {short(sha)} changed no files")
    inside = _Scope(scope)
    count = sum(path in inside for path in commit.files)
    detail = f"{count}/{len(commit.files)} changed files within declared write_scope of task {quote(record.task_id)}"
    return present_signal(count / len(commit.files), detail)


class Names(Protocol):
    """Knows which commits the commit fields of a log stand for."""

    def resolve(self, name: str) -> str | None:
        """Return a SHA; None when a name stands for no commit."""


def declared(
    record: IterationRecord, history: Names, scopes: Mapping[str, tuple[str, ...]]
) -> tuple[str, tuple[str, ...]] | SignalValue:
    """Return an iteration's commit and its task's scope; the absent signal when one of them is not there."""
    raw = trim(record.commit)
    if not raw:
        return absent_signal("no commit SHA on iteration entry")
    sha = history.resolve(raw)
    if sha is None:
        return absent_signal(f"commit SHA {short(raw)} does not resolve")
    scope = scopes.get(record.task_id)
    if not scope:
        return absent_signal(f"no write_scope declared for task {quote(record.task_id)}")
    return sha, scope


class _Scope:
    """The paths a task may write: exact ones, and those under an entry that ends in a slash."""

    def __init__(self, entries: Iterable[str]) -> None:
        cleaned = [(_clean(entry), entry.endswith("/")) for entry in map(trim, entries) if entry]
        self._exact = {path for path, is_directory in cleaned if not is_directory}
        self._prefixes = tuple(path + "/" for path, is_directory in cleaned if is_directory)

    def __contains__(self, path: str) -> bool:
        return path in self._exact or path.startswith(self._prefixes)


def _clean(path: str) -> str:
    """Clean a path without looking at the disk; unlike Python, two leading slashes are one."""
    return posixpath.normpath("/" + path.lstrip("/") if path.startswith("/") else path)


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
