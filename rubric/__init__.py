"""The outcome-scoring rubric: which signals vote, with which weight, and what a value is called.

This package is data (``versions/*.yaml``) and the model that reads it. It knows nothing of logs, git or transcripts.

A name is loaded when it is first asked for: a command that only wants the version loads no model.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from rubric.names import RUBRIC_VERSION, is_rubric_file
    from rubric.registry import (
        default_rubric,
        evidence_of,
        find_rubric,
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

_MODULES = "names", "datafiles", "scorer", "model", "registry"
"""Where the names are; each of these imports some of those before it."""


def __getattr__(name: str) -> Any:
    for module in _MODULES if name in __all__ else ():
        if found := vars(import_module(f"rubric.{module}")).get(name):
            return globals().setdefault(name, found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
