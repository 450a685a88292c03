"""Evidence policies: by which rules evidence is found and read, and the one table that lists them.

A rubric's data names its policy (``evidence: reference | corrected``; none is ``reference``), and everything that
depends on it goes through the door in :mod:`scoring.policies.door`. ``reference`` reads what the reference reads, to
the last byte; ``corrected`` reads evidence as it really lies on disk (contract section 10). To add a policy, write its
file and add its line.
"""

from rubric import Rubric
from scoring.policies.corrected import CorrectedEvidence
from scoring.policies.door import EvidencePolicy
from scoring.policies.reference import ReferenceEvidence

REFERENCE: EvidencePolicy = ReferenceEvidence()
CORRECTED: EvidencePolicy = CorrectedEvidence()

POLICIES: dict[str, EvidencePolicy] = {
    "reference": REFERENCE,
    "corrected": CORRECTED,
}


def policy_of(rubric: Rubric) -> EvidencePolicy:
    """Return the policy under which a rubric's evidence is read; the rubric is valid."""
    return POLICIES[rubric.evidence]
