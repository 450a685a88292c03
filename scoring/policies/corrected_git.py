"""Git under the corrected rules, with what its signals make of that."""

from collections.abc import Mapping

from scoring.evidence.git.history import CorrectedHistory
from scoring.evidence.scopes import DeclaredScope
from scoring.log.model import IterationRecord
from scoring.signals.scope import scope_value
from scoring.signals.values import SignalValue


class CorrectedGit(CorrectedHistory):
    """See :class:`~scoring.policies.door.GitEvidence`."""

    def scope(self, record: IterationRecord, scopes: Mapping[str, DeclaredScope]) -> SignalValue:
        """Measure the files that changed, net, since the iteration before."""
        entries = scopes[record.task_id].entries if record.task_id in scopes else ()
        return scope_value(self.changed(record, files=bool(entries)), entries, record.task_id)
