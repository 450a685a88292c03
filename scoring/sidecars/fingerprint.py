"""What a score was computed from, as digests in the store, so that a later run sees what changed.

Digests of the bytes of the entry and its files are taken before they are read. Whatever the store
loses costs only a comparison of sidecars byte by byte.
"""

import contextlib
import os
from collections.abc import Collection, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from rubric import Rubric
from scoring.errors import InputError
from scoring.evidence.artifacts import artifact_path
from scoring.evidence.facts import Evidence, IterationFacts
from scoring.files import read_file
from scoring.frozen import Frozen
from scoring.log.model import IterationRecord
from scoring.signals.table import entry_file_names
from scoring.store import Store

_NO_STAMP = b""  # a fingerprint says itself what it is of
_DIGEST_BYTES = 12


class Fingerprint(Frozen, frozen=True):
    """What one score was computed from, a digest each.

    Attributes:
        inputs: the entry, its files, its artifacts, and the declared scope.
        window: the iteration's time.
        facts: what transcripts show in that time, or in the iteration's own lines.
        git: what git answers; a new tip of the trunk alone changes nothing.
        sidecar: the bytes of the sidecar.
    """

    inputs: str
    window: str
    facts: str
    git: str
    sidecar: str

    def same_inputs(self, other: "Fingerprint") -> bool:
        """Return whether the score was computed from the same files and transcripts.

        What transcripts show is compared in one window only: another window comes from git.
        """
        if self.inputs != other.inputs:
            return False
        return self.window != other.window or self.facts == other.facts

    def same(self, part: Literal["facts", "git"], other: "Fingerprint") -> bool:
        """Return whether transcripts show, or git answers, the same in the same window."""
        return getattr(self, part) == getattr(other, part) and self.window == other.window


def inputs_of(
    record: IterationRecord,
    evidence: Evidence,
    log_dir: Path,
    wanted: Collection[str],
) -> str:
    """Return the digest of the inputs of one iteration; call it before the files are read.

    Args:
        record: the entry.
        evidence: knows the repository and the declared scopes.
        log_dir: the folder of the entry.
        wanted: the ids of the optional signals of the rubric.
    """
    files = [
        (name, _bytes_of(log_dir / name)) for name in entry_file_names(record.iteration, wanted)
    ]

    artifacts: list[bytes | None] = []
    for artifact in record.artifacts:
        path = artifact_path(evidence.sources.repo_dir, artifact)
        artifacts.append(_bytes_of(path) if path else None)

    declared = None
    scope = evidence.scopes.get(record.task_id)
    if scope:
        # the name of the folder is the same whatever way leads to the repository
        declared = (scope.entries, scope.plan.parent.name)

    return _digest(record, files, artifacts, declared)


def fingerprint(inputs: str, facts: IterationFacts, sidecar: bytes) -> Fingerprint:
    """Take the fingerprint of one score.

    Args:
        inputs: what :func:`inputs_of` returned.
        facts: those that the score was computed from.
        sidecar: the bytes of the sidecar.
    """
    transcripts: list[object] = [facts.transcripts]
    if facts.observed:
        transcripts.append(facts.observed)

    # that the trunk moves on is no answer
    landing = replace(facts.landing, trunk=replace(facts.trunk, commit=None))
    git: list[object] = [landing, facts.changed]
    if facts.counted_for is not None:
        git.append(facts.counted_for)

    return Fingerprint(
        inputs=inputs,
        window=_digest(facts.window),
        facts=_digest(*transcripts),
        git=_digest(*git),
        sidecar=digest_of(sidecar),
    )


def _digest(*parts: object) -> str:
    return digest_of(repr(parts).encode("utf-8", "backslashreplace"))


def digest_of(data: bytes) -> str:
    """Return a short digest of some bytes."""
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def _bytes_of(path: Path) -> bytes | None:
    try:
        return read_file(path)
    except InputError:
        return None


class Fingerprints:
    """The fingerprints of one log under one rubric.

    :func:`fingerprints` opens them.
    """

    def __init__(self, store: Store, log_dir: Path, rubric: Rubric) -> None:
        self._store = store
        self._prefix = f"{os.path.realpath(log_dir)}\0{digest_of(repr(rubric).encode())}\0"

    def get(self, iteration: int) -> Fingerprint | None:
        """Return what the score of an iteration was computed from, if that is known."""
        row = self._store.get("fingerprint", f"{self._prefix}{iteration}", _NO_STAMP)
        if row is None:
            return None

        parts = row.decode("ascii", "replace").split(" ")
        if len(parts) == len(Fingerprint.__struct_fields__):
            return Fingerprint(*parts)
        return None

    def put(self, iteration: int, taken: Fingerprint) -> None:
        """Keep what the score of an iteration was computed from."""
        if self.get(iteration) == taken:
            return
        row = " ".join(getattr(taken, name) for name in Fingerprint.__struct_fields__)
        self._store.put("fingerprint", f"{self._prefix}{iteration}", _NO_STAMP, row.encode())

    def is_edited(self, iteration: int, inputs: str, sidecar: bytes) -> bool:
        """Return whether an entry or its files changed since its sidecar was written.

        False also where the fingerprint of that sidecar is not known.

        Args:
            iteration: the number of the entry.
            inputs: the digest of the entry and its files as they are now.
            sidecar: the bytes of the sidecar on disk.
        """
        known = self.get(iteration)
        if known is None or known.sidecar != digest_of(sidecar):
            return False
        return known.inputs != inputs


@contextlib.contextmanager
def fingerprints(
    cache_dir: Path | None,
    log_dir: Path,
    rubric: Rubric,
    keeps: bool = True,
) -> Iterator[Fingerprints]:
    """Open the fingerprints of a log under a rubric.

    Args:
        cache_dir: the folder of the store; None knows and keeps nothing.
        log_dir: the log.
        rubric: the rubric.
        keeps: whether new fingerprints are kept; without, they are only read.
    """
    with Store(cache_dir, keeps) as store:
        yield Fingerprints(store, log_dir, rubric)
