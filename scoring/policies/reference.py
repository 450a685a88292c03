"""The policy ``reference``: evidence as the reference reads it (contract sections 1 and 2).

Plain ``*.jsonl`` files directly inside folders that are named by hand, every line as it stands, and a local branch
``master`` as the trunk. Scores under it stay comparable with the reference's, so nothing here may ever change.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:  # a command starts to read transcripts before it has loaded the rest
    from scoring.evidence.transcripts.facts import Reading, TranscriptPlaces, Warn
    from scoring.evidence.transcripts.scan import Scan
    from scoring.log.model import IterationRecord
    from scoring.policies.reference_git import ReferenceGit
    from scoring.signals.correction_pressure import Corrections


class ReferenceEvidence:
    """See :class:`~scoring.policies.door.EvidencePolicy`."""

    name = "reference"
    true_flags = frozenset({"true"})
    keeps_provenance = False
    looks_around = False

    def transcripts(self, places: "TranscriptPlaces", **reading: "Unpack[Reading]") -> "Scan":
        """Read the files directly inside the named folders; those that a hook names count like any other."""
        from scoring.evidence.transcripts.reference import reference_scan

        return reference_scan(places, **reading)

    def git(
        self,
        repo_dir: Path | str,
        records: "Sequence[IterationRecord]",
        cache_dir: Path | None = None,
        trunk: str | None = None,  # noqa: ARG002 - the trunk of the reference is master, whatever is named
    ) -> "ReferenceGit":
        """Open a repository whose trunk is the local branch ``master``."""
        from scoring.policies.reference_git import ReferenceGit

        return ReferenceGit(repo_dir, records, cache_dir)

    def pressure(
        self,
        record: "IterationRecord",
        repo_root: Path | str,
        warn: "Warn",  # noqa: ARG002 - the reference takes what it reads
    ) -> "Corrections":
        """Count what is there; an entry that says nothing says that there was nothing."""
        from scoring.evidence.artifacts import artifact_corrections
        from scoring.signals.correction_pressure import Corrections, retries

        return Corrections(retries(record), artifact_corrections(repo_root, record.review.decision_artifact), True)
