"""Scoring a log, or one iteration of it: evidence in, scores out, sidecars written when asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from rubric import Rubric, Score, default_rubric
from scoring.assemble import Gathered, gathered
from scoring.errors import WriteError
from scoring.evidence.transcripts.facts import Warn, silent
from scoring.files import remove_stale
from scoring.log.load import load_iteration_log, no_such_entry
from scoring.log.model import IterationRecord
from scoring.origin import Origin
from scoring.policies import policy_of
from scoring.policies.door import Transcripts
from scoring.policies.sources import Options, Sources
from scoring.sessions import SessionScore, aggregate_sessions
from scoring.sidecars.origins import write_scores
from scoring.sidecars.scores import (
    PersistedScore,
    build_persisted_score,
    is_plain_session_id,
    write_each,
    write_session_score,
)
from scoring.signals.diminishing_returns import use_under
from scoring.signals.values import SignalSet


@dataclass(frozen=True, slots=True)
class ScoredIteration:
    """One iteration with everything that led to its score; ``origin`` where the rubric's rules keep it."""

    record: IterationRecord
    signals: SignalSet
    score: Score
    origin: Origin | None = None

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
    **options: Unpack[Options],
) -> ScoredLog:
    """Score every iteration of a log. Writes nothing.

    With ``observe`` DR transcripts are read also where the rubric does not have them vote.

    Raises:
        LogError: the log cannot be loaded.
        NotARepositoryError: ``repo_dir`` lies in no git work tree.
        GitError: the trunk that the options name is not there.
    """
    rubric = rubric or default_rubric()
    sources = Sources.under(policy_of(rubric), repo_dir, transcript_dirs, options)
    with sources.transcripts().start() as scan:
        return score_log_with(scan, iter_log_dir, sources, rubric, observe)


def score_log_with(
    scan: Transcripts, iter_log_dir: Path | str, sources: Sources, rubric: Rubric, observe: bool = False
) -> ScoredLog:
    """Score every iteration of a log from transcripts whose reading has begun; see :func:`score_log`."""
    return _score_alike([rubric], scan, iter_log_dir, sources, observe)[0]


def score_log_under(
    rubrics: Sequence[Rubric], iter_log_dir: Path | str, sources: Mapping[str, Sources], observe: bool = False
) -> list[ScoredLog]:
    """Score a log under several rubrics, each by its own evidence rules; what they read alike is read once.

    Args:
        rubrics: the rubrics.
        iter_log_dir: the log.
        sources: where evidence comes from, by the rules that the rubrics name.
        observe: as for :func:`score_log`, which this raises as.
    """
    logs: dict[int, ScoredLog] = {}
    for rules in dict.fromkeys(rubric.evidence for rubric in rubrics):
        alike = [n for n, rubric in enumerate(rubrics) if rubric.evidence == rules]
        with sources[rules].transcripts().start() as scan:
            found = _score_alike([rubrics[n] for n in alike], scan, iter_log_dir, sources[rules], observe)
        logs |= zip(alike, found, strict=True)
    return [logs[n] for n in range(len(rubrics))]


def _score_alike(
    rubrics: Sequence[Rubric], scan: Transcripts, iter_log_dir: Path | str, sources: Sources, observe: bool
) -> list[ScoredLog]:
    """Score a log under rubrics of the same evidence rules."""
    records = load_iteration_log(iter_log_dir, sources.policy.true_flags)
    found = gathered(records, iter_log_dir, sources, scan, meter=use_under(*rubrics, observe=observe))
    return [_scored_log(rubric, records, found) for rubric in rubrics]


def _scored_log(rubric: Rubric, records: Sequence[IterationRecord], found: Gathered) -> ScoredLog:
    scores = rubric.score_all(found.sets)
    parts = zip(records, found.sets, scores, found.origins, strict=True)
    iterations = tuple(ScoredIteration(*part) for part in parts)
    return ScoredLog(rubric, iterations, tuple(aggregate_sessions(rubric, records, scores)))


def examine_iteration(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    iteration: int,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    observe: bool = False,
    **options: Unpack[Options],
) -> ScoredIteration:
    """Score one iteration of a log, and return what led to its score. Writes nothing.

    With ``observe`` its DR transcript is read also where the rubric does not have it vote.

    Raises:
        NotFoundError: the log has no such iteration; the text names the path where it was looked for.
        LogError, NotARepositoryError: as :func:`score_log`.
    """
    rubric = rubric or default_rubric()
    sources = Sources.under(policy_of(rubric), repo_dir, transcript_dirs, options)
    records = load_iteration_log(iter_log_dir, sources.policy.true_flags)
    record = next((r for r in records if r.iteration == iteration), None)
    if record is None:
        raise no_such_entry(iter_log_dir, iteration)
    meter = use_under(rubric, observe=observe)
    with sources.transcripts().start() as scan:
        found = gathered(records, iter_log_dir, sources, scan, {iteration}, meter)
    return ScoredIteration(record, found.sets[0], rubric.score(found.sets[0]), found.origins[0])


def score_iteration(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    iteration: int,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    **options: Unpack[Options],
) -> tuple[Score, IterationRecord]:
    """Score one iteration, and return its score and record; raises as :func:`examine_iteration`."""
    found = examine_iteration(iter_log_dir, repo_dir, iteration, *transcript_dirs, rubric=rubric, **options)
    return found.score, found.record


def write_scored_log(iter_log_dir: Path | str, scored: ScoredLog, warn: Warn = silent) -> tuple[list[Path], list[Path]]:
    """Write the sidecar of every iteration and of every session, and return their paths.

    Beside a sidecar goes where the score comes from, when the rubric's rules keep that. A session whose id is no plain
    file name gets no sidecar; a warning says so.

    Raises:
        WriteError: at the first that could not be written; its ``written`` holds the paths written before.
    """
    remove_stale(Path(iter_log_dir))
    iterations = write_scores(iter_log_dir, [(i.persisted, i.origin) for i in scored.iterations])
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
