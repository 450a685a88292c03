"""Scoring a log, or one iteration of it: evidence in, scores out, sidecars written when asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from rubric import Rubric, Score, default_rubric
from scoring.assemble import signal_sets
from scoring.atomic import remove_litter
from scoring.errors import NotFoundError, WriteError
from scoring.evidence.transcripts.reader import Warn, silent
from scoring.evidence.transcripts.scan import Reading, TranscriptScan, transcript_scan
from scoring.records.load import load_iteration_log
from scoring.records.model import IterationRecord
from scoring.sessions import SessionScore, aggregate_sessions
from scoring.sidecars.scores import (
    PersistedScore,
    build_persisted_score,
    is_plain_session_id,
    write_each,
    write_persisted_score,
    write_session_score,
)
from scoring.signals.diminishing_returns import use_under
from scoring.values import SignalSet


@dataclass(frozen=True, slots=True)
class ScoredIteration:
    """One iteration with everything that led to its score."""

    record: IterationRecord
    signals: SignalSet
    score: Score

    @property
    def persisted(self) -> PersistedScore:
        """What its sidecar holds."""
        return build_persisted_score(self.score, self.record)


@dataclass(frozen=True, slots=True)
class ScoredLog:
    """A log's iterations in order, and its sessions sorted by id, under one rubric."""

    rubric: Rubric
    iterations: tuple[ScoredIteration, ...]
    sessions: tuple[SessionScore, ...]

    def presence(self) -> dict[str, float]:
        """Return the share of iterations, 0 to 1, in which each signal of the rubric is present."""
        count = len(self.iterations)
        return {
            spec.id: sum(i.signals.value(spec.id).present for i in self.iterations) / count if count else 0.0
            for spec in self.rubric.signals
        }


def score_log(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    observe: bool = False,
    **reading: Unpack[Reading],
) -> ScoredLog:
    """Score every iteration of a log. Writes nothing.

    With ``observe`` DR transcripts are read also where the rubric does not have them vote.

    Raises:
        LogError: the log cannot be loaded.
        NotARepositoryError: ``repo_dir`` lies in no git work tree.
    """
    with transcript_scan(*transcript_dirs, **reading).start() as scan:
        return score_log_with(scan, iter_log_dir, repo_dir, rubric or default_rubric(), observe)


def score_log_with(
    scan: TranscriptScan, iter_log_dir: Path | str, repo_dir: Path | str, rubric: Rubric, observe: bool = False
) -> ScoredLog:
    """Score every iteration of a log from transcripts whose reading has begun; see :func:`score_log`."""
    return score_log_under([rubric], scan, iter_log_dir, repo_dir, observe)[0]


def score_log_under(
    rubrics: Sequence[Rubric],
    scan: TranscriptScan,
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    observe: bool = False,
) -> list[ScoredLog]:
    """Score a log under several rubrics; what they read alike is read once. Raises as :func:`score_log`."""
    records = load_iteration_log(iter_log_dir)
    # Every rubric so far reads evidence by the same rules, so one set of signals serves them all.
    shared = signal_sets(records, iter_log_dir, repo_dir, scan, meter=use_under(*rubrics, observe=observe))
    return [_scored_log(rubric, records, shared) for rubric in rubrics]


def _scored_log(rubric: Rubric, records: Sequence[IterationRecord], sets: Sequence[SignalSet]) -> ScoredLog:
    scores = rubric.score_all(sets)
    iterations = tuple(ScoredIteration(*parts) for parts in zip(records, sets, scores, strict=True))
    return ScoredLog(rubric, iterations, tuple(aggregate_sessions(rubric, records, scores)))


def examine_iteration(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    iteration: int,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    observe: bool = False,
    **reading: Unpack[Reading],
) -> ScoredIteration:
    """Score one iteration of a log, and return what led to its score. Writes nothing.

    With ``observe`` its DR transcript is read also where the rubric does not have it vote.

    Raises:
        NotFoundError: the log has no such iteration; the text names the path where it was looked for.
        LogError, NotARepositoryError: as :func:`score_log`.
    """
    records = load_iteration_log(iter_log_dir)
    record = next((r for r in records if r.iteration == iteration), None)
    if record is None:
        path = Path(iter_log_dir) / f"iter-{iteration}.yaml"
        raise NotFoundError(f"{path}: no entry for iteration {iteration} in this log")
    rubric = rubric or default_rubric()
    meter = use_under(rubric, observe=observe)
    with transcript_scan(*transcript_dirs, **reading).start() as scan:
        (signals,) = signal_sets(records, iter_log_dir, repo_dir, scan, {iteration}, meter)
    return ScoredIteration(record, signals, rubric.score(signals))


def score_iteration(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    iteration: int,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    **reading: Unpack[Reading],
) -> tuple[Score, IterationRecord]:
    """Score one iteration, and return its score and record; raises as :func:`examine_iteration`."""
    found = examine_iteration(iter_log_dir, repo_dir, iteration, *transcript_dirs, rubric=rubric, **reading)
    return found.score, found.record


def write_scored_log(iter_log_dir: Path | str, scored: ScoredLog, warn: Warn = silent) -> tuple[list[Path], list[Path]]:
    """Write the sidecar of every iteration and of every session, and return their paths.

    A session whose id is no plain file name gets no sidecar; a warning says so.

    Raises:
        WriteError: at the first that could not be written; its ``written`` holds the paths written before.
    """
    remove_litter(Path(iter_log_dir))
    persisted = [iteration.persisted for iteration in scored.iterations]
    iterations = write_each(persisted, lambda score: write_persisted_score(iter_log_dir, score))
    sessions = addressable_sessions(scored.sessions, warn)
    try:
        return iterations, write_each(sessions, lambda session: write_session_score(iter_log_dir, session))
    except WriteError as e:
        raise WriteError(str(e), (*iterations, *e.written)) from e


def addressable_sessions(sessions: Sequence[SessionScore], warn: Warn) -> list[SessionScore]:
    """Return the sessions whose id can name a file; warn of the others."""
    for session in sessions:
        if not is_plain_session_id(session.session_id):
            warn(f"session id {session.session_id!r} is no plain file name; this session gets no score file")
    return [session for session in sessions if is_plain_session_id(session.session_id)]
