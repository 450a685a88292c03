"""The outcome-scoring rubric: which signals vote, with which weight, and what a value is called.

This package is data (``versions/*.yaml``) and the model that reads it. It knows nothing of logs, git or transcripts.
"""

from rubric.datafiles import DaScoreError, RubricError, profile_names, released_profile
from rubric.model import (
    COMBINE_WEIGHTED_MEAN_RENORMALIZED,
    EVIDENCE,
    EVIDENCE_ATTRIBUTED,
    EVIDENCE_CORRECTED,
    EVIDENCE_REFERENCE,
    CombinationMethod,
    Rubric,
    ScoreBand,
    SignalID,
    SignalSpec,
)
from rubric.registry import (
    RUBRIC_VERSION,
    default_rubric,
    evidence_of,
    find_rubric,
    is_rubric_file,
    load_rubric,
    newest_version,
    parse_rubric,
    released_rubric,
    rubric_versions,
)
from rubric.scorer import (
    BAND_INSUFFICIENT,
    BAND_LABELS,
    BAND_UNSCORED,
    Bounds,
    Coverage,
    Score,
    SignalContribution,
    Source,
    bounds_of,
    coverage_of,
)

__all__ = [
    "BAND_INSUFFICIENT",
    "BAND_LABELS",
    "BAND_UNSCORED",
    "COMBINE_WEIGHTED_MEAN_RENORMALIZED",
    "EVIDENCE",
    "EVIDENCE_ATTRIBUTED",
    "EVIDENCE_CORRECTED",
    "EVIDENCE_REFERENCE",
    "RUBRIC_VERSION",
    "Bounds",
    "CombinationMethod",
    "Coverage",
    "DaScoreError",
    "Rubric",
    "RubricError",
    "Score",
    "ScoreBand",
    "SignalContribution",
    "SignalID",
    "SignalSpec",
    "Source",
    "bounds_of",
    "coverage_of",
    "default_rubric",
    "evidence_of",
    "find_rubric",
    "is_rubric_file",
    "load_rubric",
    "newest_version",
    "parse_rubric",
    "profile_names",
    "released_profile",
    "released_rubric",
    "rubric_versions",
]
