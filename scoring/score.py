"""Scoring a log: entries → facts → signals → scores → sessions, and the sidecars of them.

:func:`score_iterations` is the only loop that scores. The module is long because the ways in are many.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Unpack

from rubric import Bounds, Coverage, Rubric, Score, default_rubric, newest_version
from rubric.model import EVIDENCE_ATTRIBUTED, EVIDENCE_REFERENCE
from scoring.errors import LogError, Warn, WriteError, silent
from scoring.evidence.facts import Evidence, IterationFacts
from scoring.evidence.git.facts import Trunk
from scoring.evidence.rules import Options, Sources, rules_of
from scoring.frozen import Frozen
from scoring.log.load import Broken, claims_read_as_false, no_such_entry
from scoring.log.model import IterationRecord, Records
from scoring.log.selection import Selection
from scoring.sessions import SessionIterRef, SessionScore, aggregate_sessions, sessions_of
from scoring.sidecars import scores
from scoring.sidecars.fingerprint import (
    Fingerprint,
    Fingerprints,
    fingerprint,
    fingerprints,
    inputs_of,
    score_mark,
)
from scoring.sidecars.provenance import (
    Loss,
    Provenance,
    Sidecar,
    is_written,
    provenance_of,
    sidecar_of,
    write_scores,
)
from scoring.sidecars.states import loss_on_disk, loss_warning
from scoring.signals.table import as_read, labels_vote, meter_profile, optional_signals, signal_set
from scoring.signals.values import SignalSet
from scoring.text import spans

_AT_ONCE = 1000  # how many sidecars wait in memory before they are written together


class _Prepared(NamedTuple):
    """The files of a score, whether they are on disk so, the evidence that the old ones had, and what it is of."""

    files: Sidecar
    is_there: bool
    lost: tuple[Loss, ...]
    fingerprint: Fingerprint | None


class ScoredIteration(Frozen, frozen=True):
    """One iteration with everything that led to its score."""

    record: IterationRecord
    facts: IterationFacts
    signals: SignalSet
    score: Score
    provenance: Provenance | None = None
    """What the score was computed from, where the rubric's evidence rules keep that."""
    inputs: str = (
        ""  # the fingerprint of its inputs, taken before they were read; "" without a cache
    )

    @property
    def persisted(self) -> scores.PersistedScore:
        """What its sidecar holds."""
        return scores.build_persisted_score(self.score, self.record)

    def line(self, lost: tuple[Loss, ...] = ()) -> "ScoredLine":
        """Return what tables and sessions show of it."""
        score, record = self.score, self.record
        shown = score.value, score.scored, score.band, score.coverage, score.bounds
        commit, summary = self.facts.landing.sha or "", record.impl.summary
        return ScoredLine(
            score.iteration, record.task_id, record.date, *shown, lost, commit, summary
        )


class ScoredLine(NamedTuple):
    """What tables and sessions show of an iteration, with the evidence that its old sidecar had and it lacks."""

    iteration: int
    task_id: str
    date: str
    value: float
    scored: bool
    band: str
    coverage: Coverage
    bounds: Bounds
    lost: tuple[Loss, ...] = ()
    commit: str = ""
    summary: str = ""


class LogSummary(Frozen, frozen=True):
    """What tables show of a scored log; ``shares`` of iterations (0 to 1) in which each signal is present.

    ``written`` counts sidecars of iterations and sessions, None where none were to be; ``marks`` stand for all scores.
    """

    rubric: Rubric
    lines: Sequence[ScoredLine]
    sessions: Sequence[SessionScore]
    shares: Mapping[str, float]
    written: tuple[int, int] | None = None
    marks: Sequence[bytes] = ()


class ScoredLog(Frozen, frozen=True):
    """A log under one rubric: iterations in order, sessions by id, and why ``broken`` entries were left out."""

    rubric: Rubric
    iterations: tuple[ScoredIteration, ...]
    sessions: tuple[SessionScore, ...]
    broken: tuple[str, ...] = ()

    @property
    def marks(self) -> list[bytes]:
        """What stands for each of its scores."""
        return [score_mark(one.score, one.facts) for one in self.iterations]

    @property
    def summary(self) -> LogSummary:
        """What tables show of it."""
        return LogSummary(
            self.rubric, [one.line() for one in self.iterations], self.sessions, self.presence()
        )

    def presence(self) -> dict[str, float]:
        """Return the share of iterations, 0 to 1, in which each signal of the rubric is present."""
        counts = Counter(signal for one in self.iterations for signal in _present(one, self.rubric))
        return _shares(self.rubric, counts, len(self.iterations))


def _present(one: ScoredIteration, rubric: Rubric) -> list[str]:
    return [spec.id for spec in rubric.signals if one.signals.value(spec.id).present]


def _shares(rubric: Rubric, present: Mapping[str, int], count: int) -> dict[str, float]:
    return {spec.id: present[spec.id] / count if count else 0.0 for spec in rubric.signals}


def score_iterations(
    records: Sequence[IterationRecord],
    iter_log_dir: Path | str,
    sources: Sources,
    *rubrics: Rubric,
    only: Collection[int] | None = None,
    observe: bool = False,
    labels: bool = False,
    compare: bool = True,
    opened: Callable[[Evidence], object] = silent,
) -> Iterator[tuple[ScoredIteration, ...]]:
    """Yield the iterations of a log in order, each scored once per rubric; one at a time is in memory.

    ``records`` are all of the log, sorted; with ``observe`` DR transcripts, with ``labels`` labels are read even
    without a vote; ``compare`` compares claims; ``opened`` gets the evidence. Raises as :func:`score_log`.
    """
    wanted, profile = optional_signals(*rubrics), meter_profile(*rubrics, observe=observe)
    log_dir, records = Path(iter_log_dir), Records.of(records)
    with sources.reading_begun() as scan:
        if not records:
            return
        evidence = Evidence(
            records, log_dir, sources, scan, only, profile, labels or labels_vote(*rubrics)
        )
        opened(evidence)
        if (trunk := evidence.git.trunk).commit is None:
            sources.warn(_no_trunk(trunk, rubrics[0]))
        misread = only is None and rubrics[0].evidence == EVIDENCE_REFERENCE
        if misread and (numbers := claims_read_as_false(log_dir)):
            where = f"iteration{'s' if numbers[1:] else ''} {spans(numbers)}"
            sources.warn(
                f"{where}: rubric {rubrics[0].version} reads the claim True as false; write true"
            )
        for place, number in enumerate(records.numbers):
            if only is not None and number not in only:
                continue
            record = records[place]
            inputs = inputs_of(record, evidence, log_dir, wanted) if sources.cache_dir else ""
            facts = evidence.of(record)
            provenance = provenance_of(facts) if sources.rules.as_observed else None
            signals: dict[
                tuple[bool, str], SignalSet
            ] = {}  # rubrics that read the facts alike share them
            scored = []
            for rubric in rubrics:
                read = as_read(facts, rubric)
                way = rubric.claims_vote, rubric.test_flags
                if way not in signals:
                    signals[way] = signal_set(read, wanted, rubric.claims_vote, compare)
                score = rubric.score(signals[way])
                scored.append(
                    ScoredIteration(record, read, signals[way], score, provenance, inputs)
                )
            yield tuple(scored)


def _no_trunk(trunk: Trunk, rubric: Rubric) -> str:
    if rubric.evidence != EVIDENCE_REFERENCE:
        return f"no trunk is here, so it is not known what landed: {trunk.how}"
    advice = f"--rubric {newest_version(EVIDENCE_ATTRIBUTED)}, or da-score init"
    return f"no branch {trunk.name}, where rubric {rubric.version} looks for what landed: {advice}"


def score_log_under(
    rubrics: Sequence[Rubric],
    iter_log_dir: Path | str,
    sources: Mapping[str, Sources],
    observe: bool = False,
) -> list[ScoredLog]:
    """Score a log under several rubrics, ``sources`` by their rules; what they share is read once."""
    logs: dict[int, ScoredLog] = {}
    ways = [(rubric.evidence, meter_profile(rubric, observe=True)) for rubric in rubrics]
    for rules, profile in dict.fromkeys(ways):
        alike = {n: rubrics[n] for n, way in enumerate(ways) if way == (rules, profile)}
        broken: list[LogError] = []
        records = sources[rules].entries(rubrics, iter_log_dir, broken.append)
        where = records, iter_log_dir, sources[rules]
        found = list(score_iterations(*where, *alike.values(), observe=observe))
        for place, (n, rubric) in enumerate(alike.items()):
            iterations = tuple(scored[place] for scored in found)
            sessions = aggregate_sessions(rubric, records, [one.score for one in iterations])
            logs[n] = ScoredLog(rubric, iterations, tuple(sessions), tuple(map(str, broken)))
    return [logs[n] for n in range(len(rubrics))]


def score_log(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    observe: bool = False,
    **options: Unpack[Options],
) -> ScoredLog:
    """Score every iteration of a log; writes nothing.

    With ``observe`` DR transcripts are read even without a vote; ``broken`` entries are left out where the rubric
    is lenient. LogError, NotARepositoryError, GitError without the trunk that is named.
    """
    rubric = rubric or default_rubric()
    sources = Sources.under(rules_of(rubric), repo_dir, transcript_dirs, options)
    return score_log_under([rubric], iter_log_dir, {rubric.evidence: sources}, observe)[0]


def examine_iteration(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    iteration: int,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    observe: bool = False,
    broken: Broken = silent,
    **options: Unpack[Options],
) -> ScoredIteration:
    """Score one iteration of a log, and return what led to its score; writes nothing.

    ``observe`` as in :func:`score_log`; ``broken`` takes every entry left out. NotFoundError, else as there.
    """
    rubric = rubric or default_rubric()
    sources = Sources.under(rules_of(rubric), repo_dir, transcript_dirs, options)
    records = sources.entries([rubric], iter_log_dir, broken)
    if records.index_of(iteration) is None:
        raise no_such_entry(iter_log_dir, iteration)
    ((one,),) = score_iterations(
        records, iter_log_dir, sources, rubric, only={iteration}, observe=observe
    )
    return one


def score_iteration(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    iteration: int,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    **options: Unpack[Options],
) -> tuple[Score, IterationRecord]:
    """Score one iteration, and return its score and record; raises as :func:`examine_iteration`."""
    found = examine_iteration(
        iter_log_dir, repo_dir, iteration, *transcript_dirs, rubric=rubric, **options
    )
    return found.score, found.record


def score_whole_log(
    iter_log_dir: Path,
    sources: Sources,
    rubric: Rubric,
    selection: Selection,
    show: Callable[[ScoredIteration, tuple[Loss, ...]], object] | None = None,
    write: bool = False,
    observe: bool = False,
    broken: Broken = silent,
    beside: Callable[[Evidence], object] = silent,
) -> LogSummary:
    """Score a log of any length, write its sidecars if asked to, and return what tables show of it.

    ``show`` takes the iterations of the ``selection``, in order, with the evidence they lost; ``broken`` every
    entry left out, ``beside`` the evidence of all at the end. Raises as both.
    """
    records = sources.entries([rubric], iter_log_dir, broken)
    chosen = selection.numbers(records)
    lines: list[ScoredLine] = []
    refs: list[tuple[str, SessionIterRef]] = []
    present: Counter[str] = Counter()
    waiting: list[_Prepared] = []
    evidence: list[Evidence] = []
    marks: list[bytes] = []
    with fingerprints(sources.cache_dir if write else None, iter_log_dir, rubric) as known:
        how = partial(score_iterations, observe=observe, compare=False, opened=evidence.append)
        for (one,) in how(records, iter_log_dir, sources, rubric):
            marks.append(score_mark(one.score, one.facts))
            lost: tuple[Loss, ...] = ()
            if write:
                waiting.append(_prepared(iter_log_dir, one))
                lost = waiting[-1].lost
                if len(waiting) == _AT_ONCE:
                    _write(iter_log_dir, waiting, sources.warn, known)
                    waiting.clear()
            elif os.path.lexists(scores.iteration_score_path(iter_log_dir, one.record.iteration)):
                lost = _prepared(iter_log_dir, one).lost
            refs.append((one.record.agent.session_id, SessionIterRef.of(one.score)))
            if one.record.iteration in chosen:
                lines.append(one.line(lost))
                present.update(_present(one, rubric))
                if show is not None:
                    show(one, lost)
        sessions = sessions_of(rubric, refs)
        if write:
            _write(iter_log_dir, waiting, sources.warn, known)
            session_files = scores.write_session_scores(
                iter_log_dir, with_files(sessions, sources.warn)
            )
    if evidence:
        beside(evidence[0])
    shown = [session for session in sessions if chosen.intersection(session.iterations)]
    written = (len(refs), len(session_files)) if write and refs else None
    return LogSummary(rubric, lines, shown, _shares(rubric, present, len(lines)), written, marks)


def _prepared(iter_log_dir: Path | str, one: ScoredIteration) -> _Prepared:
    files = sidecar_of(one.persisted, one.provenance)
    is_there = is_written(iter_log_dir, files)
    lost = (
        ()
        if is_there
        else tuple(loss_on_disk(iter_log_dir, files.score, one.facts, one.provenance))
    )
    return _Prepared(
        files,
        is_there,
        lost,
        fingerprint(one.inputs, one.facts, files.data) if one.inputs else None,
    )


def write_scored_log(
    iter_log_dir: Path | str, scored: ScoredLog, warn: Warn = silent
) -> tuple[list[Path], list[Path]]:
    """Write the sidecars of all iterations and sessions that differ from those on disk, and return their paths.

    Beside one goes what it was computed from, where the rules keep that. ``warn`` gets lost evidence, and sessions
    with an id that is no file name. The ``written`` of a WriteError holds the paths before.
    """
    paths = [
        scores.iteration_score_path(iter_log_dir, one.record.iteration) for one in scored.iterations
    ]
    write_iterations(iter_log_dir, scored.iterations, warn)
    try:
        return paths, scores.write_session_scores(iter_log_dir, with_files(scored.sessions, warn))
    except WriteError as e:
        raise WriteError(str(e), (*paths, *e.written)) from e


def write_iterations(
    iter_log_dir: Path | str,
    scored: Iterable[ScoredIteration],
    warn: Warn = silent,
    known: Fingerprints | None = None,
) -> None:
    """Write the sidecars of some iterations as :func:`write_scored_log` does; ``known`` keeps what they are of."""
    _write(iter_log_dir, [_prepared(iter_log_dir, one) for one in scored], warn, known)


def _write(
    iter_log_dir: Path | str, prepared: Sequence[_Prepared], warn: Warn, known: Fingerprints | None
) -> None:
    for one in prepared:
        if one.lost:
            warn(loss_warning(one.files.score.iteration, one.lost))
    write_scores(iter_log_dir, [one.files for one in prepared if not one.is_there])
    for one in prepared:
        if (
            known is not None and one.fingerprint is not None
        ):  # kept once the files that it is of are written
            known.put(one.files.score.iteration, one.fingerprint)


def write_session(
    iter_log_dir: Path | str, session: SessionScore, warn: Warn = silent
) -> Path | None:
    """Write the sidecar of one session, and return its path; None, and a warning, when its id names no file."""
    return (
        scores.write_session_score(iter_log_dir, session) if with_files([session], warn) else None
    )


def with_files(sessions: Iterable[SessionScore], warn: Warn) -> list[SessionScore]:
    """Return the sessions with an id that can name a file; warn of the others."""
    found = []
    for session in sessions:
        if scores.is_plain_session_id(session.session_id):
            found.append(session)
        else:
            warn(
                f"session id {session.session_id!r} is no plain file name; this session gets no score file"
            )
    return found
