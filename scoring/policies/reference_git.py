"""Git as the reference asks it: one walk of the local branch ``master`` (contract sections 2.1 and 2.2)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from scoring.evidence.git.facts import Landing, Trunk
from scoring.evidence.git.reference import GitHistory
from scoring.evidence.git.repository import TRUNK, GitRepository
from scoring.log.model import IterationRecord
from scoring.signals import landed, scope
from scoring.signals.values import SignalValue
from scoring.text import trim


class ReferenceGit:
    """See :class:`~scoring.policies.door.GitEvidence`."""

    def __init__(self, repo_dir: Path | str, records: Sequence[IterationRecord], cache_dir: Path | None = None) -> None:
        names = dict.fromkeys(name for r in records for name in (r.commit, trim(r.commit)))
        self._repository = GitRepository(repo_dir)
        self.history = GitHistory(self._repository, names, cache_dir=cache_dir)
        self.resolve = self.history.resolve
        self.keep = self.history.keep

    @property
    def trunk(self) -> Trunk:
        """The local branch ``master``, which need not be there."""
        shallow = (self._repository.common_dir / "shallow").exists()
        return Trunk(f"refs/heads/{TRUNK}", TRUNK, self.history.tip, "the trunk of the reference's rules", shallow)

    def committed(self, name: str) -> int | None:
        """Return the committer time of a commit, in seconds since 1970."""
        sha = self.history.resolve(name)
        commit = self.history.commit(sha) if sha else None
        return commit.time if commit else None

    def landing(self, record: IterationRecord) -> Landing:
        """Look for the commit among the trunk's, or for one whose subject is the summary."""
        return Landing(landed.observe(record, self.history))

    def scope(self, record: IterationRecord, scopes: Mapping[str, tuple[str, ...]]) -> SignalValue:
        """Measure the files that git names for the commit."""
        return scope.observe(record, self.history, scopes)
