"""Git as the reference asks it, with what its signals make of that."""

from collections.abc import Mapping

from scoring.evidence.git.reference import ReferenceHistory
from scoring.evidence.scopes import DeclaredScope
from scoring.log.model import IterationRecord
from scoring.signals.scope import scope_value
from scoring.signals.values import SignalValue


class ReferenceGit(ReferenceHistory):
    """See :class:`~scoring.policies.door.GitEvidence`."""

    def scope(self, record: IterationRecord, scopes: Mapping[str, DeclaredScope]) -> SignalValue:
        """Measure the files that git names for the commit."""
        entries = scopes[record.task_id].entries if record.task_id in scopes else ()
        return scope_value(self.changed(record, files=bool(entries)), entries, record.task_id)
