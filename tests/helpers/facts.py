"""Facts of an iteration with nothing in them but what a test gives."""

from pathlib import Path
from typing import Any

from scoring.evidence.artifacts import Corrections
from scoring.evidence.entry_files import HookFacts
from scoring.evidence.facts import IterationFacts
from scoring.evidence.git.facts import Changed, Landing, Trunk, Unknown
from scoring.log.model import IterationRecord

TRUNK = Trunk("refs/heads/master", "master", "0" * 40, "made up")


def facts_of(record: IterationRecord, **known: Any) -> IterationFacts:
    """Return facts that are empty except for the record and the ``known`` fields, by name."""
    empty: dict[str, Any] = {
        "trunk": TRUNK,
        "landing": Landing("reference", TRUNK, unknown=Unknown.NO_COMMIT),
        "scope": None,
        "changed": Changed("reference", "", unknown=Unknown.NO_COMMIT),
        "window": None,
        "transcripts": None,
        "statuses": ("",) * len(record.verifiers),
        "corrections": Corrections(record.impl.retries, 0, True),
        "hooks": HookFacts(Path(f"iter-{record.iteration}.hook-outcomes.yaml"), None),
    }
    return IterationFacts(record=record, **empty | known)
