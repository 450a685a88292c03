"""What the reference reads in an entry and its review: a count that is missing counts as 0."""

from pathlib import Path

from scoring.errors import Warn
from scoring.evidence.artifacts import Corrections, counts_in_review
from scoring.log.model import IterationRecord
from scoring.text import wrap64


def reference_corrections(
    record: IterationRecord,
    repo_root: Path | str,
    warn: Warn,  # noqa: ARG001 - the reference warns of nothing
) -> Corrections:
    """Add up the corrections that an entry and its review report, below 0 as they are written."""
    retries = record.impl.retries
    for verifier in record.verifiers:
        retries += verifier.retries

    review = counts_in_review(repo_root, record.review.decision_artifact) or {}
    return Corrections(wrap64(retries), sum(review.values()), reported=True)
