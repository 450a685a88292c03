"""scope, as the corrected evidence has it (contract sections 2.2 and 10)."""

from collections.abc import Mapping

from scoring.evidence.git.history import CorrectedHistory
from scoring.evidence.globs import WriteScope
from scoring.log.model import IterationRecord
from scoring.signals.scope import declared
from scoring.signals.values import SignalValue, absent_signal, present_signal
from scoring.text import quote, short


def observe(record: IterationRecord, history: CorrectedHistory, scopes: Mapping[str, tuple[str, ...]]) -> SignalValue:
    """Measure the share of the files that an iteration changed, net, that lie inside the task's scope."""
    found = declared(record, history, scopes)
    if isinstance(found, SignalValue):
        return found
    sha, scope = found
    changed = history.changed(record.iteration, sha)
    if isinstance(changed, str):
        return absent_signal(changed)
    over = changed.range
    where = f"commit {short(sha)}"
    if over.earlier is not None:
        without = ", without the trunk's" if over.left_out else ""
        where = f"{short(over.base)}..{short(sha)} (since iteration {over.earlier}{without})"
    elif history.is_merge(sha):
        where = f"merge {short(sha)} against its first parent"
    if not changed.files:
        return present_signal(1, f"{where} changed no files")
    inside = WriteScope(scope)
    count = sum(path in inside for path in changed.files)
    share = f"{count}/{len(changed.files)} changed files of {where}"
    return present_signal(
        count / len(changed.files), f"{share} within declared write_scope of task {quote(record.task_id)}"
    )
