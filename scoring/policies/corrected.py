"""The policy ``corrected``: evidence as it really lies on disk (contract section 10)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from scoring.numbers import wrap64
from scoring.policies.door import GitEvidence, Transcripts

if TYPE_CHECKING:  # a command starts to read transcripts before it has loaded the rest
    from scoring.evidence.transcripts.facts import Reading, TranscriptPlaces, Warn
    from scoring.log.model import IterationRecord
    from scoring.signals.correction_pressure import Corrections


class CorrectedEvidence:
    """See :class:`~scoring.policies.door.EvidencePolicy`."""

    name = "corrected"
    true_flags = frozenset({"true", "True", "TRUE"})
    keeps_provenance = True
    looks_around = True

    def transcripts(self, places: "TranscriptPlaces", **reading: "Unpack[Reading]") -> Transcripts:
        """Read the harnesses' real layouts, count every response once, and only work done in this repository."""
        from scoring.evidence.transcripts.readers import harness_scan

        return harness_scan(places, **reading)

    def git(
        self,
        repo_dir: Path | str,
        records: "Sequence[IterationRecord]",
        cache_dir: Path | None = None,
        trunk: str | None = None,
    ) -> GitEvidence:
        """Open a repository, find its trunk, and look for work that landed under another SHA."""
        from scoring.policies.corrected_git import CorrectedGit

        return CorrectedGit(repo_dir, records, cache_dir, trunk)

    def pressure(self, record: "IterationRecord", repo_root: Path | str, warn: "Warn") -> "Corrections":
        """Count what is reported; a count below 0 reads as 0, with a warning."""
        from scoring.evidence.artifacts import reported_corrections
        from scoring.signals.correction_pressure import Corrections

        found = reported_corrections(repo_root, record.review.decision_artifact)
        counts = {"retries": record.impl.retries}
        counts |= {f"retries of verifier {n}": v.retries for n, v in enumerate(record.verifiers, 1)}
        counts |= found or {}
        for name, count in counts.items():
            if count < 0:
                warn(f"iteration {record.iteration}: {name} is {count}; a count below 0 is read as 0")
        corrections = sum(max(count, 0) for count in (found or {}).values())
        retries = sum(max(count, 0) for count in counts.values()) - corrections
        return Corrections(wrap64(retries), wrap64(corrections), record.retries_reported or found is not None)
