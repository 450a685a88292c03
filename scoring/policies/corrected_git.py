"""Git under the corrected rules: the trunk that is really there, and work that landed otherwise (section 10)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from scoring.evidence.git.facts import Landing, Trunk
from scoring.evidence.git.history import CorrectedHistory
from scoring.log.model import IterationRecord
from scoring.signals import corrected_landed, corrected_scope
from scoring.signals.values import SignalValue


class CorrectedGit:
    """See :class:`~scoring.policies.door.GitEvidence`."""

    def __init__(
        self,
        repo_dir: Path | str,
        records: Sequence[IterationRecord],
        cache_dir: Path | None = None,
        trunk: str | None = None,
    ) -> None:
        fields = [(record.iteration, record.commit) for record in records]
        self.history = CorrectedHistory(repo_dir, fields, cache_dir, trunk)
        self.resolve = self.history.resolve
        self.keep = self.history.keep

    @property
    def trunk(self) -> Trunk:
        """The trunk that was named or found."""
        return self.history.trunk

    def committed(self, name: str) -> int | None:
        """Return the committer time of a commit, in seconds since 1970."""
        sha = self.history.resolve(name)
        return self.history.time(sha) if sha else None

    def landing(self, record: IterationRecord) -> Landing:
        """Look for the commit, for its change, for its side's, and for what else says that the work is there."""
        return corrected_landed.observe(record, self.history)

    def scope(self, record: IterationRecord, scopes: Mapping[str, tuple[str, ...]]) -> SignalValue:
        """Measure the files that changed, net, since the iteration before."""
        return corrected_scope.observe(record, self.history, scopes)
