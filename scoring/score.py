"""Scoring a log, or one iteration of it: entries → facts → signals → scores → sessions.

The whole way is :class:`Scorer`; the rest are the ways in, and :func:`write_scored_log`, which writes the
sidecars. The module is long because the ways in are many, and each says what it raises.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, Unpack

from msgspec.structs import replace

from rubric import Bounds, Coverage, Rubric, Score, default_rubric
from scoring.errors import LogError, Warn, WriteError, silent
from scoring.evidence.facts import Evidence, IterationFacts
from scoring.evidence.git.facts import Trunk
from scoring.evidence.rules import Options, Sources, rules_of
from scoring.files import remove_stale, remove_stale_directories
from scoring.frozen import Frozen
from scoring.log.kept import Records
from scoring.log.load import Broken, no_such_entry
from scoring.log.model import IterationRecord
from scoring.log.selection import Selection
from scoring.sessions import SessionScore, aggregate_sessions
from scoring.sidecars.emitter import emit
from scoring.sidecars.fingerprint import Fingerprint, fingerprint, inputs_beside, store_of
from scoring.sidecars.loss import loss_on_disk, loss_warning
from scoring.sidecars.provenance import Loss, Provenance, is_written, provenance_of, write_score, write_scores
from scoring.sidecars.scores import (
    PersistedScore,
    build_persisted_score,
    is_plain_session_id,
    iteration_score_path,
    write_session_score,
    write_session_scores,
)
from scoring.signals.table import as_read, labels_vote, meter_profile, optional_signals, signal_set
from scoring.signals.values import SignalSet

if TYPE_CHECKING:
    from scoring.evidence.transcripts.scan import Scan


class ScoredIteration(Frozen, frozen=True):
    """One iteration with everything that led to its score."""

    record: IterationRecord
    facts: IterationFacts
    signals: SignalSet
    score: Score
    provenance: Provenance | None = None
    """What the score was computed from, where the rubric's evidence rules keep that."""
    lost: tuple[Loss, ...] | None = None
    """The evidence that the sidecar on disk had and this score lacks; None where nobody looked."""
    on_disk: bool | None = None
    """Whether its sidecar, and what stands beside that, is on disk as it would be written; None where nobody looked."""
    sidecar: bytes | None = None
    """Its sidecar as it would be written; None where nobody looked."""

    @property
    def persisted(self) -> PersistedScore:
        """What its sidecar holds."""
        return build_persisted_score(self.score, self.record)

    @property
    def line(self) -> "ScoredLine":
        """What tables and sessions show of it."""
        score, record = self.score, self.record
        said = score.value, score.scored, score.band, score.coverage, score.bounds
        return ScoredLine(score.iteration, record.task_id, record.date, *said, tuple(self.lost or ()))


class ScoredLine(NamedTuple):
    """What tables and sessions show of an iteration, and all that a whole log needs to hold of it.

    ``lost`` is the evidence that its old sidecar had and its score lacks.
    """

    iteration: int
    task_id: str
    date: str
    value: float
    scored: bool
    band: str
    coverage: Coverage
    bounds: Bounds
    lost: tuple[Loss, ...] = ()

    def with_texts(self, texts: dict[str, str]) -> "ScoredLine":
        """Return the same with texts of which there is one each, in which those that are new are noted."""
        task_id, date, band = (texts.setdefault(text, text) for text in (self.task_id, self.date, self.band))
        return self._replace(task_id=task_id, date=date, band=band)


class ScoredLog(Frozen, frozen=True):
    """A log's iterations in order, and its sessions sorted by id, under one rubric.

    ``broken`` says which entries could not be read, and where and why, when the rubric leaves those out.
    """

    rubric: Rubric
    iterations: tuple[ScoredIteration, ...]
    sessions: tuple[SessionScore, ...]
    broken: tuple[str, ...] = ()

    def of(self, selection: Selection) -> "ScoredLog":
        """Return the same log with the iterations of a choice only, and with the sessions that have any of them."""
        if selection.takes_all:
            return self
        numbers = selection.numbers([one.record for one in self.iterations])
        iterations = tuple(one for one in self.iterations if one.record.iteration in numbers)
        sessions = tuple(session for session in self.sessions if numbers.intersection(session.iterations))
        return replace(self, iterations=iterations, sessions=sessions)

    @property
    def lines(self) -> list[ScoredLine]:
        """What tables and sessions show of its iterations."""
        return [one.line for one in self.iterations]

    @property
    def trunk(self) -> Trunk | None:
        """Where work lands, as evidence has it; None of an empty log."""
        return self.iterations[0].facts.trunk if self.iterations else None

    def presence(self) -> dict[str, float]:
        """Return the share of iterations, 0 to 1, in which each signal of the rubric is present."""
        count = len(self.iterations)
        return {
            spec.id: sum(i.signals.value(spec.id).present for i in self.iterations) / count if count else 0.0
            for spec in self.rubric.signals
        }


class Told(Protocol):
    """What is told of a log that was scored: a :class:`ScoredLog`, or one that was gone through."""

    @property
    def rubric(self) -> Rubric:
        """The rubric it was scored under."""

    @property
    def lines(self) -> Sequence[ScoredLine]:
        """What tables show of its iterations."""

    @property
    def sessions(self) -> Sequence[SessionScore]:
        """Its sessions, sorted by id."""

    @property
    def trunk(self) -> Trunk | None:
        """Where work lands; None of an empty log."""

    def presence(self) -> dict[str, float]:
        """Return the share of iterations, 0 to 1, in which each signal of the rubric is present."""


class Scorer:
    """Scores the iterations of a log, from facts to signals to scores, under rubrics that read evidence alike.

    Attributes:
        records: the entries.
    """

    def __init__(
        self,
        records: Sequence[IterationRecord],
        iter_log_dir: Path | str,
        sources: Sources,
        scan: "Scan",
        *rubrics: Rubric,
        only: Collection[int] | None = None,
        observe: bool = False,
        compare: bool = True,
    ) -> None:
        """Take a log; its sources are opened when they are first asked, which raises as :func:`score_log`.

        Only the iterations ``only`` are asked about, if it is given. DR transcripts are read where they vote, and with
        ``observe``. Without ``compare`` claims are not held against what was observed.
        """
        self.records = Records.of(records)
        self._wanted, profile = optional_signals(*rubrics), meter_profile(*rubrics, observe=observe)
        self._places = self.records, iter_log_dir, sources, scan, only, profile, labels_vote(*rubrics)
        self._judged = [(rubric, (rubric.claims_vote, rubric.test_flags)) for rubric in rubrics]
        self._only, self._compare, self._keeps_provenance = only, compare, sources.rules.keeps_provenance

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence(*self._places)

    @property
    def trunk(self) -> Trunk:
        """Where work lands."""
        return self._evidence.git.trunk

    def every(self) -> Iterator[tuple[ScoredIteration, ...]]:
        """Yield the iterations one at a time, once per rubric, and keep what was learnt."""
        if not self.records:
            return
        for place, number in enumerate(self.records.numbers):
            if self._only is None or number in self._only:
                yield self.score(place)
        self.keep()

    def score(self, place: int) -> tuple[ScoredIteration, ...]:
        """Score the iteration at a place, once per rubric."""
        record = self.records[place]
        facts = self._evidence.of(record)
        ways = {way: as_read(facts, rubric) for rubric, way in self._judged}
        sets = {way: signal_set(read, self._wanted, way[0], self._compare) for way, read in ways.items()}
        provenance = provenance_of(facts) if self._keeps_provenance else None
        return tuple(
            ScoredIteration(record, ways[way], sets[way], rubric.score(sets[way]), provenance)
            for rubric, way in self._judged
        )

    def is_there(self, name: str) -> bool:
        """Return whether a file of evidence may be beside the entries."""
        return self._evidence.is_there(name)

    def gather(self) -> None:
        """Ask the sources all that concerns more than one iteration, so that a fork of this process need not ask."""
        self._evidence.gather()

    def warnings_to(self, warn: Warn) -> None:
        """Let ``warn`` hear what :meth:`score` has to say of a source."""
        self._evidence.warn = warn

    def keep(self) -> None:
        """Keep what was learnt of git and will never change for the next run."""
        self._evidence.git.keep()


def score_log_under(
    rubrics: Sequence[Rubric], iter_log_dir: Path | str, sources: Mapping[str, Sources], observe: bool = False
) -> list[ScoredLog]:
    """Score a log under several rubrics, each under its own evidence rules; what they read alike is read once.

    Args:
        rubrics: the rubrics.
        iter_log_dir: the log.
        sources: where evidence comes from, by the rules that the rubrics name.
        observe: as for :func:`score_log`, which this raises as.
    """
    logs: dict[int, ScoredLog] = {}
    ways = [(rubric.evidence, meter_profile(rubric, observe=True)) for rubric in rubrics]
    for rules, profile in dict.fromkeys(ways):
        alike = {n: rubrics[n] for n, way in enumerate(ways) if way == (rules, profile)}
        left_out: list[LogError] = []
        source = sources[rules]
        records = source.entries(rubrics, iter_log_dir, left_out.append)
        with source.transcripts().start() as scan:
            found = _scored(records, left_out, iter_log_dir, source, scan, *alike.values(), observe=observe)
        logs |= zip(alike, found, strict=True)
    return [logs[n] for n in range(len(rubrics))]


def score_log_with(
    scan: "Scan",
    iter_log_dir: Path | str,
    sources: Sources,
    *rubrics: Rubric,
    observe: bool = False,
    compare: bool = True,
) -> list[ScoredLog]:
    """Score a log, from transcripts whose reading has begun, under rubrics of the same evidence rules.

    ``observe`` and ``compare`` are as for :class:`Scorer`.
    """
    left_out: list[LogError] = []
    records = sources.entries(rubrics, iter_log_dir, left_out.append)
    return _scored(records, left_out, iter_log_dir, sources, scan, *rubrics, observe=observe, compare=compare)


def _scored(
    records: Sequence[IterationRecord],
    left_out: Sequence[LogError],
    iter_log_dir: Path | str,
    sources: Sources,
    scan: "Scan",
    *rubrics: Rubric,
    observe: bool,
    compare: bool = True,
) -> list[ScoredLog]:
    scorer = Scorer(records, iter_log_dir, sources, scan, *rubrics, observe=observe, compare=compare)
    found = list(scorer.every())
    logs = []
    for n, rubric in enumerate(rubrics):
        iterations = tuple(scored[n] for scored in found)
        sessions = aggregate_sessions(rubric, records, [scored.score for scored in iterations])
        logs.append(ScoredLog(rubric, iterations, tuple(sessions), tuple(map(str, left_out))))
    return logs


def score_log(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    observe: bool = False,
    **options: Unpack[Options],
) -> ScoredLog:
    """Score every iteration of a log. Writes nothing.

    With ``observe`` DR transcripts are read also where the rubric does not have them vote. A rubric that is lenient
    with broken entries leaves them out, and the result lists them as ``broken``.

    Raises:
        LogError: the log cannot be loaded.
        NotARepositoryError: ``repo_dir`` is in no git work tree.
        GitError: the trunk that the options name is not there.
    """
    rubric = rubric or default_rubric()
    sources = Sources.under(rules_of(rubric), repo_dir, transcript_dirs, options)
    with sources.transcripts().start() as scan:
        return score_log_with(scan, iter_log_dir, sources, rubric, observe=observe)[0]


def examine_iteration(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    iteration: int,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    observe: bool = False,
    broken: Broken = silent,
    records: Records | None = None,
    **options: Unpack[Options],
) -> ScoredIteration:
    """Score one iteration of a log, and return what led to its score. Writes nothing.

    With ``observe`` its DR transcript is read also where the rubric does not have it vote. ``broken`` takes every
    entry that a lenient rubric leaves out because it cannot be read. ``records`` are those of the log, where they are
    loaded.

    Raises:
        NotFoundError: the log has no such iteration; the text names the path where it was looked for.
        LogError, NotARepositoryError: as :func:`score_log`.
    """
    rubric = rubric or default_rubric()
    sources = Sources.under(rules_of(rubric), repo_dir, transcript_dirs, options)
    if records is None:
        records = sources.entries([rubric], iter_log_dir, broken)
    if records.place(iteration) is None:
        raise no_such_entry(iter_log_dir, iteration)
    with sources.transcripts().start() as scan:
        scorer = Scorer(records, iter_log_dir, sources, scan, rubric, only={iteration}, observe=observe)
        ((found,),) = scorer.every()
    return found


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

    What is on disk already, byte for byte, is not written again. Beside a sidecar goes what the score was computed
    from, when the rubric's rules keep that. ``warn`` hears of every score that lost evidence which its old sidecar had,
    and of a session whose id is no plain file name: it gets no sidecar.

    Raises:
        WriteError: at the first that could not be written; its ``written`` holds the paths written before.
    """
    paths = [iteration_score_path(iter_log_dir, found.record.iteration) for found in scored.iterations]
    write_some(iter_log_dir, scored.iterations, warn)
    sessions = [session for session in scored.sessions if has_session_file(session.session_id, warn)]
    try:
        return paths, write_session_scores(iter_log_dir, sessions)
    except WriteError as e:
        raise WriteError(str(e), (*paths, *e.written)) from e


def write_some(iter_log_dir: Path | str, iterations: Iterable[ScoredIteration], warn: Warn = silent) -> None:
    """Write the sidecars of some iterations of a log as :func:`write_scored_log` does.

    Raises:
        WriteError: as there.
    """
    unwritten = (unwritten_of(iter_log_dir, found) for found in iterations)
    write_unwritten(iter_log_dir, [one for one in unwritten if one], warn)


class Unwritten(NamedTuple):
    """A score that is not on disk as it is now, its sidecar, and the evidence that the old one had and it lacks."""

    score: PersistedScore
    provenance: Provenance | None
    sidecar: bytes
    lost: tuple[Loss, ...]


def unwritten_of(iter_log_dir: Path | str, found: ScoredIteration) -> Unwritten | None:
    """Return what is to be written of an iteration; None when all of it is on disk."""
    seen = found if found.on_disk is not None else looked_at(iter_log_dir, found)
    if seen.on_disk:
        return None
    persisted = seen.persisted
    return Unwritten(persisted, seen.provenance, seen.sidecar or emit(persisted.as_dict()), seen.lost or ())


def write_unwritten(iter_log_dir: Path | str, some: Sequence[Unwritten], warn: Warn = silent) -> None:
    """Write scores of a log as :func:`write_scored_log` does, and raise as that does."""
    for one in some:
        if one.lost:
            warn(loss_warning(one.score.iteration, one.lost))
    remove_stale(Path(iter_log_dir))
    remove_stale_directories()
    write_scores(iter_log_dir, [(one.score, one.provenance, one.sidecar) for one in some])


def remember(
    cache_dir: Path | None, iter_log_dir: Path, repo_dir: Path, rubric: Rubric, *scored: ScoredIteration
) -> None:
    """Note in the cache what scores that were just written are of, so that an edit shows that moves no number."""
    if cache_dir is None or not scored:
        return
    known = {one.record.iteration: fingerprint_of(one, repo_dir, iter_log_dir, rubric) for one in scored}
    store_of(cache_dir, iter_log_dir, rubric).keep(known)


def fingerprint_of(
    one: ScoredIteration,
    repo_dir: Path | str,
    iter_log_dir: Path,
    rubric: Rubric,
    is_there: Callable[[str], bool] | None = None,
) -> Fingerprint:
    """Return what a score that was just computed is of; ``is_there`` says which files the log has, if known."""
    places = repo_dir, iter_log_dir
    inputs = inputs_beside(one.record, one.facts.scope, *places, optional_signals(rubric), is_there)
    return fingerprint(inputs, one.facts, one.sidecar or emit(one.persisted.as_dict()))


def write_scored_iteration(iter_log_dir: Path | str, scored: ScoredIteration, warn: Warn = silent) -> Path:
    """Write the sidecar of one iteration as :func:`write_scored_log` does, and return its path."""
    if lost := looked_at(iter_log_dir, scored).lost:
        warn(loss_warning(scored.record.iteration, lost))
    return write_score(iter_log_dir, scored.persisted, scored.provenance)


def write_session(iter_log_dir: Path | str, session: SessionScore, warn: Warn = silent) -> Path | None:
    """Write the sidecar of one session, and return its path; None, and a warning, when its id names no file."""
    return write_session_score(iter_log_dir, session) if has_session_file(session.session_id, warn) else None


def looked_at(iter_log_dir: Path | str, one: ScoredIteration, make: bool = False) -> ScoredIteration:
    """Return the same with what its score lacks of the evidence of its sidecar, before that is written anew.

    To ``make`` is to have its sidecar ready even where there is none to compare with.
    """
    persisted = one.persisted
    there = os.path.lexists(iteration_score_path(iter_log_dir, persisted.iteration))
    data = emit(persisted.as_dict()) if there or make else None
    if data is None or not there:
        return replace(one, on_disk=False, lost=(), sidecar=data)
    same = is_written(iter_log_dir, persisted, one.provenance, data)
    lost = () if same else tuple(loss_on_disk(iter_log_dir, persisted, one.facts, one.provenance))
    return replace(one, on_disk=same, lost=lost, sidecar=data)


def has_session_file(session_id: str, warn: Warn) -> bool:
    """Tell whether a session's id can name a file; warn when it cannot."""
    if is_plain_session_id(session_id):
        return True
    warn(f"session id {session_id!r} is no plain file name; this session gets no score file")
    return False
