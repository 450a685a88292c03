"""Writes the sidecars of scored iterations and sessions, and says what evidence they lost."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from scoring.errors import Warn, WriteError, silent
from scoring.files import holds, write_together
from scoring.scored import ScoredIteration, ScoredLog
from scoring.sessions import SessionScore
from scoring.sidecars.emitter import emit
from scoring.sidecars.losses import loss_on_disk, loss_warning
from scoring.sidecars.provenance import (
    Loss,
    Provenance,
    evidence_path,
    lost_between,
    provenance_as_dict,
    read_provenance,
)
from scoring.sidecars.scores import (
    PersistedScore,
    is_plain_session_id,
    iteration_score_path,
    write_session_score,
    write_session_scores,
)
from scoring.sidecars.stamp import Stamp, Stamps, stamp_of_score


class Sidecar(NamedTuple):
    """The files of a score.

    Attributes:
        data: the content of the file of the score.
        evidence: the content of the file of the provenance; empty without provenance.
    """

    score: PersistedScore
    provenance: Provenance | None
    data: bytes
    evidence: bytes


def sidecar_of(score: PersistedScore, provenance: Provenance | None) -> Sidecar:
    """Return the files of a score."""
    evidence = b""
    if provenance:
        evidence = emit(provenance_as_dict(provenance, score.rubric_version))
    return Sidecar(score, provenance, emit(score.as_dict()), evidence)


def is_written(iter_log_dir: Path | str, sidecar: Sidecar) -> bool:
    """Return whether the files of a score are on disk, byte for byte."""
    iteration = sidecar.score.iteration
    if not holds(iteration_score_path(iter_log_dir, iteration), sidecar.data):
        return False
    if not sidecar.evidence:
        return True
    return holds(evidence_path(iter_log_dir, iteration), sidecar.evidence)


def write_scores(iter_log_dir: Path | str, sidecars: Iterable[Sidecar]) -> None:
    """Write scores, and what they were computed from.

    Provenance is written before the score, but after it where it lacks something of the old one:
    no score outlives what it was computed from.

    Raises:
        WriteError: some could not be written; its ``written`` holds the paths of the scores that
            are.
    """
    score_files: list[tuple[Path, bytes]] = []
    evidence_before: list[tuple[Path, bytes]] = []
    evidence_after: list[tuple[Path, bytes]] = []

    for sidecar in sidecars:
        iteration = sidecar.score.iteration
        score_files.append((iteration_score_path(iter_log_dir, iteration), sidecar.data))

        path = evidence_path(iter_log_dir, iteration)
        if sidecar.provenance is None or holds(path, sidecar.evidence):
            continue
        old = read_provenance(iter_log_dir, iteration)
        if old and lost_between(old, sidecar.provenance):
            evidence_after.append((path, sidecar.evidence))
        else:
            evidence_before.append((path, sidecar.evidence))

    try:
        for files in (evidence_before, score_files, evidence_after):
            write_together(files)
    except WriteError as e:
        written_paths = tuple(path for path, data in score_files if holds(path, data))
        raise WriteError(str(e), written_paths) from e


class PreparedSidecar(NamedTuple):
    """The sidecar of an iteration, before it is written.

    Attributes:
        files: the content of its files.
        is_on_disk: whether the files hold this already, byte for byte.
        lost: the evidence that the sidecar on disk has and this one lacks.
        stamp: what the score was computed from; None without a cache.
    """

    files: Sidecar
    is_on_disk: bool
    lost: tuple[Loss, ...]
    stamp: Stamp | None


def prepare_sidecar(iter_log_dir: Path | str, scored: ScoredIteration) -> PreparedSidecar:
    """Build the sidecar of an iteration, and compare it with the one on disk."""
    files = sidecar_of(scored.persisted, scored.provenance)
    is_on_disk = is_written(iter_log_dir, files)

    lost: tuple[Loss, ...] = ()
    if not is_on_disk:
        lost = tuple(loss_on_disk(iter_log_dir, files.score, scored.facts, scored.provenance))

    stamp = None
    if scored.inputs:
        stamp = stamp_of_score(scored.inputs, scored.facts, files.data)

    return PreparedSidecar(files, is_on_disk, lost, stamp)


def write_sidecars(
    iter_log_dir: Path | str,
    sidecars: Sequence[PreparedSidecar],
    warn: Warn,
    stamps: Stamps | None,
) -> None:
    """Write sidecars that differ from those on disk.

    Args:
        iter_log_dir: the log.
        sidecars: of some iterations.
        warn: takes a line for each iteration that lost evidence.
        stamps: keeps the stamps, once the sidecars are written.

    Raises:
        WriteError: some could not be written.
    """
    for sidecar in sidecars:
        if sidecar.lost:
            warn(loss_warning(sidecar.files.score.iteration, sidecar.lost))

    write_scores(iter_log_dir, [sidecar.files for sidecar in sidecars if not sidecar.is_on_disk])

    if stamps is None:
        return
    for sidecar in sidecars:
        if sidecar.stamp is not None:
            stamps.put(sidecar.files.score.iteration, sidecar.stamp)


def write_iterations(
    iter_log_dir: Path | str,
    iterations: Iterable[ScoredIteration],
    warn: Warn = silent,
    stamps: Stamps | None = None,
) -> None:
    """Write the sidecars of some iterations.

    Arguments and errors as :func:`write_sidecars`.
    """
    sidecars = [prepare_sidecar(iter_log_dir, iteration) for iteration in iterations]
    write_sidecars(iter_log_dir, sidecars, warn, stamps)


def write_scored_log(
    iter_log_dir: Path | str, scored: ScoredLog, warn: Warn = silent
) -> tuple[list[Path], list[Path]]:
    """Write the sidecars of all iterations and sessions of a log.

    Files that hold the right bytes already are left as they are.

    Args:
        iter_log_dir: the log.
        scored: its iterations and sessions.
        warn: takes a line for lost evidence, and for a session with an id that cannot name a file.

    Returns:
        The paths of the sidecars of iterations, and those of sessions.

    Raises:
        WriteError: some could not be written; its ``written`` holds the paths before.
    """
    write_iterations(iter_log_dir, scored.iterations, warn)
    paths = [
        iteration_score_path(iter_log_dir, iteration.record.iteration)
        for iteration in scored.iterations
    ]

    sessions = sessions_with_files(scored.sessions, warn)
    try:
        return paths, write_session_scores(iter_log_dir, sessions)
    except WriteError as e:
        raise WriteError(str(e), (*paths, *e.written)) from e


def write_session(
    iter_log_dir: Path | str, session: SessionScore, warn: Warn = silent
) -> Path | None:
    """Write the sidecar of one session, and return its path.

    Returns None, and warns, when the id of the session cannot name a file.
    """
    if not sessions_with_files([session], warn):
        return None
    return write_session_score(iter_log_dir, session)


def sessions_with_files(sessions: Iterable[SessionScore], warn: Warn) -> list[SessionScore]:
    """Return the sessions with an id that can name a file.

    Warn of the others.
    """
    writable = []
    for session in sessions:
        if is_plain_session_id(session.session_id):
            writable.append(session)
        else:
            warn(
                f"session id {session.session_id!r} cannot be a file name;"
                " this session gets no score file"
            )
    return writable
