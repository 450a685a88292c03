"""Writes the sidecars of scored iterations and sessions, and says what evidence they lost."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from scoring.errors import InputError, Warn, WriteError, silent
from scoring.files import holds, read_file
from scoring.frozen import Frozen
from scoring.scored import ScoredIteration, ScoredLog
from scoring.sessions import SessionScore
from scoring.signals.landed import LANDED

from .emitter import emit
from .lost_evidence import in_words, lost_evidence
from .provenance import (
    Loss,
    Provenance,
    changed_between,
    evidence_path,
    lost_between,
    provenance_as_dict,
    read_provenance,
)
from .read_scores import parse_iteration_score
from .scores import (
    PersistedScore,
    is_plain_session_id,
    iteration_score_path,
    write_all,
    write_session_score,
    write_session_scores,
)
from .stamp import Stamp, Stamps, stamp_of_score


class Sidecar(NamedTuple):
    """The files of a score, as they are to be written.

    Attributes:
        score: the score.
        provenance: what it was computed from; None under rules that keep none.
        data: the content of the file of the score.
        evidence: the content of the file of the provenance; empty without provenance.
    """

    score: PersistedScore
    provenance: Provenance | None
    data: bytes
    evidence: bytes


def sidecar_of(score: PersistedScore, provenance: Provenance | None) -> Sidecar:
    """Return the files of a score. Without provenance ``evidence`` is empty."""
    evidence = b""
    if provenance:
        evidence = emit(provenance_as_dict(provenance, score.rubric_version))
    return Sidecar(score, provenance, emit(score.as_dict()), evidence)


def write_scores(iter_log_dir: Path | str, sidecars: Iterable[Sidecar]) -> None:
    """Write scores, and what they were computed from.

    A provenance is written before the scores, or after them if it lacks something that the old one
    has. So no score is on disk without what it was computed from.

    Raises:
        WriteError: a file could not be written; ``written`` of the error has the paths of the
            scores that are on disk.
    """
    score_files: list[tuple[Path, bytes]] = []
    evidence_before: list[tuple[Path, bytes]] = []
    evidence_after: list[tuple[Path, bytes]] = []

    for sidecar in sidecars:
        iteration = sidecar.score.iteration
        score_files.append(
            (iteration_score_path(iter_log_dir, iteration), sidecar.data)
        )

        path = evidence_path(iter_log_dir, iteration)
        if sidecar.provenance is None or holds(path, sidecar.evidence):
            continue
        old = read_provenance(iter_log_dir, iteration)
        if old and lost_between(old, sidecar.provenance):
            evidence_after.append((path, sidecar.evidence))
        else:
            evidence_before.append((path, sidecar.evidence))

    write_all(score_files, evidence_before, evidence_after)


class SidecarComparison(Frozen):
    """The sidecar of an iteration as it is scored now, and as it is on disk.

    Attributes:
        files: the sidecar that the evidence gives now.
        stamp: what its score is computed from.
        old_score: the score on disk; None for no sidecar, or one that cannot be read.
        old_data: the bytes of the sidecar on disk; None for no sidecar, empty if not readable.
        old_provenance: what the score on disk was computed from; None without a file that can be
            read, and under rules that keep none.
        is_on_disk: whether plain files hold the sidecar and its provenance, byte for byte.
        lost: the evidence that the sidecar on disk has and the new one lacks.
    """

    files: Sidecar
    stamp: Stamp
    old_score: PersistedScore | None
    old_data: bytes | None
    old_provenance: Provenance | None
    is_on_disk: bool = False
    lost: tuple[Loss, ...] = ()

    @property
    def iteration(self) -> int:
        """The number of the iteration."""
        return self.files.score.iteration

    @property
    def other_rubric(self) -> str:
        """The version of the rubric of the new score, or "" if the score on disk has the same."""
        version = self.files.score.rubric_version
        if self.old_score is None or self.old_score.rubric_version == version:
            return ""
        return version

    @property
    def same_bytes(self) -> bool:
        """Whether the sidecar on disk is the one that the evidence gives now."""
        return self.old_data == self.files.data

    @property
    def only_git_changed(self) -> bool:
        """Whether git says something else of trunk and landing, and all else is as it was.

        False without an old score that can be read, or without an old provenance.
        """
        old = self.old_provenance
        new = self.files.provenance
        if old is None or new is None or self.old_score is None:
            return False

        of_git = replace(old, trunk_ref=new.trunk_ref, landed=new.landed)
        if changed_between(of_git, new):
            return False
        old_votes = _votes(self.old_score)
        new_votes = _votes(self.files.score)
        old_landing = old_votes.pop(LANDED, None)
        new_landing = new_votes.pop(LANDED, None)
        # else somebody edited the score
        has_git_changed = old != of_git or old_landing != new_landing
        return has_git_changed and old_votes == new_votes


def _votes(score: PersistedScore) -> dict[str, tuple[object, ...]]:
    """Return by signal whether it votes, its sub-score and its detail."""
    return {
        row.signal: (row.present, row.sub_score, row.detail) for row in score.breakdown
    }


def compare_with_sidecar(
    iter_log_dir: Path | str, scored: ScoredIteration
) -> SidecarComparison:
    """Build the sidecar of an iteration, and compare it with the one on disk.

    A sidecar that is missing or cannot be read gives no old score.
    """
    iteration = scored.record.iteration
    new = scored.provenance
    files = sidecar_of(scored.persisted, new)
    stamp = stamp_of_score(scored.inputs, scored.facts, files.data)

    old = new  # where the file on disk says the same
    if new and not holds(evidence_path(iter_log_dir, iteration), files.evidence):
        old = read_provenance(iter_log_dir, iteration)

    path = iteration_score_path(iter_log_dir, iteration)
    if holds(path, files.data) and old is new:
        return SidecarComparison(
            files, stamp, files.score, files.data, old, is_on_disk=True
        )

    old_score: PersistedScore | None = None
    old_data: bytes | None = None
    lost = []
    try:
        old_data = read_file(path, within=iter_log_dir)
        if old_data == files.data:
            old_score = files.score
        else:
            old_score = parse_iteration_score(old_data, str(path))
        lost = lost_evidence(old_score, files.score, scored.facts, old, new)
    except FileNotFoundError:
        pass
    except InputError:
        old_data = old_data or b""
    return SidecarComparison(files, stamp, old_score, old_data, old, lost=tuple(lost))


def write_sidecars(
    iter_log_dir: Path | str,
    sidecars: list[SidecarComparison],
    warn: Warn,
    stamps: Stamps | None,
) -> None:
    """Write sidecars that differ from those on disk.

    Args:
        iter_log_dir: the log.
        sidecars: the sidecars of some iterations, compared with those on disk.
        warn: takes a line for each iteration that lost evidence.
        stamps: keeps the stamps, once the sidecars are written; None keeps none.

    Raises:
        WriteError: a file could not be written; ``written`` of the error has the paths of the
            scores that are on disk.
    """
    for sidecar in sidecars:
        if sidecar.lost:
            warn(loss_warning(sidecar.iteration, sidecar.lost, sidecar.other_rubric))

    write_scores(
        iter_log_dir, [sidecar.files for sidecar in sidecars if not sidecar.is_on_disk]
    )

    if stamps is None:
        return
    for sidecar in sidecars:
        if sidecar.stamp.inputs:  # else nothing is kept
            stamps.put(sidecar.iteration, sidecar.stamp)


def loss_warning(iteration: int, lost: Sequence[Loss], other_rubric: str = "") -> str:
    """Return the warning about the evidence that the new score of an iteration lost.

    Args:
        iteration: the number of the iteration.
        lost: what was lost; at least one.
        other_rubric: the version of the new rubric; "" where both scores have the same.
    """
    gone = cause_of_loss(lost, other_rubric, "its window")
    signals = " and ".join(in_words(lost))
    return f"iteration {iteration}: {gone}; {signals} lost evidence that the old sidecar had"


def cause_of_loss(lost: Sequence[Loss], other_rubric: str, window: str) -> str:
    """Return why the new score of an iteration lost evidence.

    Args:
        lost: what was lost; at least one.
        other_rubric: the version of the new rubric; "" where both scores have the same.
        window: what to call the time of the iteration.
    """
    if other_rubric:
        return f"rubric {other_rubric} reads other evidence than the one before"
    if any(loss.what for loss in lost):
        return "what its score was computed from is not all there any more"
    return f"the transcripts no longer cover {window}"


def write_iterations(
    iter_log_dir: Path | str,
    iterations: Iterable[ScoredIteration],
    warn: Warn,
    stamps: Stamps | None = None,
) -> None:
    """Compare the sidecars of some iterations with those on disk, and write those that differ.

    ``warn``, ``stamps`` and errors are those of :func:`write_sidecars`.
    """
    sidecars = [
        compare_with_sidecar(iter_log_dir, iteration) for iteration in iterations
    ]
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
        WriteError: a file could not be written; ``written`` of the error has the paths of the
            scores that are on disk.
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
    iter_log_dir: Path | str, session: SessionScore, warn: Warn
) -> Path | None:
    """Write the sidecar of one session, and return its path.

    None, with a warning, when the id of the session cannot name a file.

    Raises:
        WriteError: the file cannot be written; the old file is as it was.
    """
    if not sessions_with_files([session], warn):
        return None
    return write_session_score(iter_log_dir, session)


def sessions_with_files(
    sessions: Iterable[SessionScore], warn: Warn
) -> list[SessionScore]:
    """Return the sessions with an id that can name a file, in order, and warn of the others."""
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
