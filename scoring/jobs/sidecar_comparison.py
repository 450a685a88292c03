"""Compares a sidecar on disk with the score that the evidence gives now."""

import contextlib
from pathlib import Path
from typing import NamedTuple

from scoring.errors import InputError
from scoring.files import holds, read_file
from scoring.scored import ScoredIteration
from scoring.sidecars.losses import in_words, lost_evidence
from scoring.sidecars.provenance import Provenance, changed_between, evidence_path, read_provenance
from scoring.sidecars.read_scores import parse_iteration_score
from scoring.sidecars.scores import PersistedScore, iteration_score_path
from scoring.sidecars.stamp import Stamp, Stamps, digest_of, stamp_of_score
from scoring.sidecars.writing import Sidecar, sidecar_of

_UNKNOWN_CHANGE = "result differs, and what it was computed from was not kept"


class SidecarComparison(NamedTuple):
    """An iteration as it is scored now, and its sidecar as it is on disk.

    Attributes:
        scored: the iteration, with the evidence.
        files: the sidecar that the evidence gives now.
        stamp: what that is computed from.
        old_score: the score on disk; None for no sidecar, or one that cannot be read.
        old_data: the bytes of the sidecar on disk; None for no sidecar.
        old_stamp: what the last score was computed from; None where that was not kept.
        old_provenance: the same in numbers.
    """

    scored: ScoredIteration
    files: Sidecar
    stamp: Stamp
    old_score: PersistedScore | None
    old_data: bytes | None
    old_stamp: Stamp | None
    old_provenance: Provenance | None

    @property
    def same_bytes(self) -> bool:
        """Whether the sidecar on disk is the one that the evidence gives now."""
        return self.old_data == self.files.data

    @property
    def stamp_of_sidecar(self) -> Stamp | None:
        """What the bytes on disk were computed from, or None if unknown."""
        if self.old_stamp is None or self.old_data is None:
            return None
        if self.old_stamp.sidecar != digest_of(self.old_data):
            return None
        return self.old_stamp


def compare_with_sidecar(scored: ScoredIteration, log: Path, stamps: Stamps) -> SidecarComparison:
    """Compare an iteration as it is scored now with its sidecar in a log.

    Args:
        scored: the iteration.
        log: the log.
        stamps: what the last scores of the log were computed from.
    """
    iteration = scored.record.iteration
    provenance = scored.provenance
    files = sidecar_of(scored.persisted, provenance)

    old_provenance = None
    if provenance:
        if holds(evidence_path(log, iteration), files.evidence):
            old_provenance = provenance
        else:
            old_provenance = read_provenance(log, iteration)

    path = iteration_score_path(log, iteration)
    old_data: bytes | None = None
    old_score = None
    try:
        old_data = read_file(path, within=log)
    except FileNotFoundError:
        pass
    except InputError:
        old_data = b""

    if old_data == files.data:
        old_score = files.score
    elif old_data is not None:
        with contextlib.suppress(InputError):
            old_score = parse_iteration_score(old_data, str(path))

    return SidecarComparison(
        scored=scored,
        files=files,
        stamp=stamp_of_score(scored.inputs, scored.facts, files.data),
        old_score=old_score,
        old_data=old_data,
        old_stamp=stamps.get(iteration),
        old_provenance=old_provenance,
    )


def cause_of_change(comparison: SidecarComparison) -> str | None:
    """Return why a sidecar differs, or None where only git answers otherwise now."""
    old_stamp = comparison.stamp_of_sidecar
    if old_stamp is not None:
        return None if comparison.stamp.same_inputs(old_stamp) else "inputs changed"

    # The store does not tell, but the provenance in the log may.
    provenance = comparison.scored.provenance
    if comparison.old_provenance and provenance:
        changed = changed_between(comparison.old_provenance, provenance)
        return f"evidence changed ({'; '.join(changed)})" if changed else "inputs changed"
    return _UNKNOWN_CHANGE


def lost_signals(comparison: SidecarComparison) -> list[str]:
    """Return the signals, in words, that had evidence in the old score and lack it now."""
    if not comparison.old_score or not comparison.old_data:
        return []

    old_stamp = comparison.stamp_of_sidecar
    if old_stamp is not None and old_stamp.same_facts(comparison.stamp):
        return []

    lost = lost_evidence(
        comparison.old_score,
        comparison.files.score,
        comparison.scored.facts,
        comparison.old_provenance,
        comparison.scored.provenance,
    )
    return in_words(lost)
