"""Writes the sidecars of scored iterations and sessions, and says what evidence they lost."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from scoring.errors import Warn, WriteError, silent
from scoring.scored import ScoredIteration, ScoredLog
from scoring.sessions import SessionScore
from scoring.sidecars import scores
from scoring.sidecars.provenance import Loss, Sidecar, is_written, sidecar_of, write_scores
from scoring.sidecars.stamp import Stamp, Stamps, stamp_of_score
from scoring.sidecars.states import loss_on_disk, loss_warning


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
        scores.iteration_score_path(iter_log_dir, iteration.record.iteration)
        for iteration in scored.iterations
    ]

    sessions = sessions_with_files(scored.sessions, warn)
    try:
        return paths, scores.write_session_scores(iter_log_dir, sessions)
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
    return scores.write_session_score(iter_log_dir, session)


def sessions_with_files(sessions: Iterable[SessionScore], warn: Warn) -> list[SessionScore]:
    """Return the sessions with an id that can name a file.

    Warn of the others.
    """
    writable = []
    for session in sessions:
        if scores.is_plain_session_id(session.session_id):
            writable.append(session)
        else:
            warn(
                f"session id {session.session_id!r} cannot be a file name;"
                " this session gets no score file"
            )
    return writable
