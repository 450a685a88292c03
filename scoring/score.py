"""Scores a log: entries become facts, facts signals, signals scores, and scores sessions.

:func:`score_iterations` is the only loop that scores; every other function here calls it.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from msgspec.structs import replace

from rubric import Rubric, Score, default_rubric, newest_version
from rubric.model import EVIDENCE_ATTRIBUTED, EVIDENCE_REFERENCE

from .errors import LogError, silent
from .evidence.facts import EntryEvidence, Evidence, IterationFacts
from .evidence.kept_answers import Answers, AnswerStore
from .evidence.rules import Options, Sources, rules_of
from .log.load import Broken, claims_read_as_false, no_such_entry
from .log.model import IterationRecord, Records
from .log.selection import Selection
from .scored import (
    LogSummary,
    ScoredIteration,
    ScoredLine,
    ScoredLog,
    WrittenSidecars,
)
from .sessions import SessionIterRef, aggregate_sessions, sessions_of
from .sidecars.provenance import Loss, provenance_of
from .sidecars.scores import iteration_score_path, write_session_scores
from .sidecars.stamp import inputs_of, stamps_of_log
from .sidecars.writing import (
    SidecarComparison,
    compare_with_sidecar,
    sessions_with_files,
    write_sidecars,
)
from .signals.table import (
    as_read,
    labels_vote,
    meter_profile,
    optional_signals,
    signal_set,
)
from .signals.values import SignalSet
from .text import spans, trim

_SIDECARS_AT_ONCE = 1000
"""How many sidecars wait in memory before they are written together."""


def score_log(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    observe: bool = False,
    **options: Unpack[Options],
) -> ScoredLog:
    """Score every iteration of a log, without writing anything.

    Args:
        iter_log_dir: the folder of the entries.
        repo_dir: a folder in the repository that the log is about.
        transcript_dirs: folders of transcripts; without any, the rubric's evidence rules decide.
        rubric: the default rubric, if it is None.
        observe: whether DR transcripts are read even where they have no vote.
        options: how evidence is read.

    Raises:
        LogError: an entry is broken, and the rubric does not leave such entries out.
        NotARepositoryError: ``repo_dir`` is not in a work tree.
        GitError: the trunk that ``options`` names is not there.
    """
    rubric = rubric or default_rubric()
    sources = Sources.under(rules_of(rubric), repo_dir, transcript_dirs, options)
    (scored,) = score_log_under(
        [rubric], iter_log_dir, {rubric.evidence: sources}, observe
    )
    return scored


def score_log_under(
    rubrics: Sequence[Rubric],
    iter_log_dir: Path | str,
    sources: Mapping[str, Sources],
    observe: bool = False,
) -> list[ScoredLog]:
    """Score a log under several rubrics, and read what they share only once.

    Args:
        rubrics: whatever evidence rules they have.
        iter_log_dir: the folder of the entries.
        sources: where evidence comes from, by the name of the rules.
        observe: as in :func:`score_log`.

    Returns:
        A log for each rubric, in order. Raises as :func:`score_log`.
    """
    # Rubrics of one way share a reading of the evidence.
    rubrics_by_way: dict[tuple[str, str | None], list[Rubric]] = {}
    for rubric in rubrics:
        way = (rubric.evidence, meter_profile(rubric, observe=True))
        rubrics_by_way.setdefault(way, []).append(rubric)

    logs: dict[Rubric, ScoredLog] = {}
    for (rules, _), sharing in rubrics_by_way.items():
        broken: list[LogError] = []
        evidence = sources[rules]
        records = evidence.entries(rubrics, iter_log_dir, broken.append)
        rows = list(
            score_iterations(records, iter_log_dir, evidence, *sharing, observe=observe)
        )

        for column, rubric in enumerate(sharing):
            iterations = tuple(row[column] for row in rows)
            scores = [iteration.score for iteration in iterations]
            logs[rubric] = ScoredLog(
                rubric=rubric,
                iterations=iterations,
                sessions=tuple(aggregate_sessions(rubric, records, scores)),
                broken=tuple(map(str, broken)),
            )

    return [logs[rubric] for rubric in rubrics]


def score_iteration(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    iteration: int,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    **options: Unpack[Options],
) -> tuple[Score, IterationRecord]:
    """Score one iteration, and return its score and its record.

    Arguments and errors are those of :func:`examine_iteration`.
    """
    scored = examine_iteration(
        iter_log_dir,
        repo_dir,
        iteration,
        *transcript_dirs,
        rubric=rubric,
        **options,
    )
    return scored.score, scored.record


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
    """Score one iteration of a log, and return all that led to its score.

    Writes nothing.

    Arguments and errors are those of :func:`score_log`, and these: ``iteration`` is the number of
    the entry, ``broken`` takes the error of every entry that is left out, and a NotFoundError says
    that the log has no such entry.
    """
    rubric = rubric or default_rubric()
    sources = Sources.under(rules_of(rubric), repo_dir, transcript_dirs, options)
    records = sources.entries([rubric], iter_log_dir, broken)
    if records.index_of(iteration) is None:
        raise no_such_entry(iter_log_dir, iteration)

    ((scored,),) = score_iterations(
        records,
        iter_log_dir,
        sources,
        rubric,
        only={iteration},
        observe=observe,
    )
    return scored


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
    from_store: bool = False,
    needs_share: bool = True,
) -> Iterator[tuple[ScoredIteration, ...]]:
    """Yield the iterations of a log in order, each scored once per rubric.

    Only one iteration at a time is in memory.

    Args:
        records: all entries of the log, sorted.
        iter_log_dir: the folder of the entries.
        sources: where evidence comes from.
        rubrics: those that read evidence under the rules of ``sources``.
        only: the numbers of the iterations that are wanted; None for all.
        observe: whether DR transcripts are read even where they have no vote.
        labels: whether labels are read even where they have no vote.
        compare: whether claims are compared with observations.
        opened: takes the evidence, before the first iteration is scored.
        from_store: whether what git and transcripts said is taken from the store, where nothing
            has changed since; ``opened`` is then not called. Nothing is kept that comes with a
            warning.
        needs_share: whether what is taken from there must have the share of agents' lines.

    Raises:
        NotARepositoryError: the sources' folder is not in a work tree.
        GitError: the trunk that the sources name is not there.
    """
    log_dir = Path(iter_log_dir)
    records = Records(records)
    wanted = optional_signals(*rubrics)

    profile = meter_profile(*rubrics, observe=observe)
    reads_labels = labels or labels_vote(*rubrics)

    def scored(
        record: IterationRecord, evidence: EntryEvidence, answers: Answers
    ) -> tuple[ScoredIteration, ...]:
        inputs = ""
        if sources.cache_dir:
            # taken before the files are read, so that a change after it shows
            inputs = inputs_of(record, evidence, log_dir, wanted)

        facts = evidence.of(record, answers)
        provenance = provenance_of(facts) if sources.rules.as_observed else None
        iterations = _scores_of(facts, rubrics, wanted, compare)
        return tuple(
            replace(iteration, provenance=provenance, inputs=inputs)
            for iteration in iterations
        )

    with AnswerStore(sources, log_dir) as store:
        indices = records.indices_of(only)
        numbers = [records.numbers[index] for index in indices]
        kept = None
        if from_store:
            names = [_name_of_answers(number, only) for number in numbers]
            kept = store.get_all(names, Answers)
            if kept is None and not needs_share:
                kept = store.get_all(numbers, Answers)
        if kept is not None:
            of_entries = EntryEvidence(log_dir, sources, profile, reads_labels)
            for index, answers in zip(indices, kept, strict=True):
                yield scored(records[index], of_entries, answers)
            return

        with store.sources.reading_begun() as scan:
            if not records:
                return

            evidence = Evidence(
                records,
                log_dir,
                store.sources,
                scan,
                only=only,
                profile=profile,
                labels=reads_labels,
                store=store,
            )
            opened(evidence)
            _warn_of_what_is_not_seen(
                evidence, rubrics[0], log_dir, is_whole_log=only is None
            )

            for index in indices:
                record = records[index]
                answers = evidence.answers(record)
                if index == indices[0]:
                    store.watch(evidence.watched())
                # What sessions wrote to an artifact depends on links anywhere in the repository.
                depends_on_links = sources.rules.as_observed and any(
                    map(trim, record.artifacts)
                )
                if not depends_on_links and not evidence.git.repository.time.has_failed:
                    store.put(_name_of_answers(record.iteration, only), answers)
                yield scored(record, evidence, answers)


def _name_of_answers(iteration: int, only: Collection[int] | None) -> str:
    """Return under which name the store has what is known of an iteration.

    Only where some iterations are asked about is the share of agents' lines known.
    """
    if only is None:
        return str(iteration)
    return f"{iteration} alone"


def _scores_of(
    facts: IterationFacts,
    rubrics: Sequence[Rubric],
    wanted: Collection[str],
    compare: bool,
) -> Iterator[ScoredIteration]:
    """Yield what each rubric makes of some facts. Rubrics that judge them alike share signals."""
    judged: dict[tuple[bool, str], SignalSet] = {}
    for rubric in rubrics:
        read = as_read(facts, rubric)
        way = (rubric.claims_vote, rubric.test_flags)
        if way not in judged:
            judged[way] = signal_set(read, wanted, rubric.claims_vote, compare)
        yield ScoredIteration(
            facts.record, read, judged[way], rubric.score(judged[way])
        )


def _warn_of_what_is_not_seen(
    evidence: Evidence,
    rubric: Rubric,
    log_dir: Path,
    is_whole_log: bool,
) -> None:
    """Warn of a missing trunk, and where the reference's rules read a claim as false."""
    warn = evidence.sources.warn
    trunk = evidence.git.trunk
    if rubric.evidence != EVIDENCE_REFERENCE:
        if trunk.commit is None:
            warn(f"no trunk is here, so it is not known what landed: {trunk.how}")
        return

    if trunk.commit is None:
        missing = f"no branch {trunk.name}, where rubric {rubric.version} looks for what landed"
        warn(
            f"{missing}: --rubric {newest_version(EVIDENCE_ATTRIBUTED)}, or da-score init"
        )

    numbers = claims_read_as_false(log_dir) if is_whole_log else []
    if numbers:
        noun = "iteration" if len(numbers) == 1 else "iterations"
        claim = f"rubric {rubric.version} reads the claim True as false; write true"
        warn(f"{noun} {spans(numbers)}: {claim}")


def score_whole_log(
    iter_log_dir: Path,
    sources: Sources,
    rubric: Rubric,
    selection: Selection,
    show: Callable[[ScoredIteration, tuple[Loss, ...]], object] | None = None,
    write: bool = False,
    observe: bool = False,
    broken: Broken = silent,
    finished: Callable[[Evidence], object] = silent,
) -> LogSummary:
    """Score a log of any length, write its sidecars if asked to, and return what tables show.

    Args:
        iter_log_dir: the folder of the entries.
        sources: where evidence comes from.
        rubric: the rubric to score under.
        selection: the iterations to show; all are scored.
        show: takes each iteration that is shown, in order, with the evidence that it lost.
        write: whether sidecars are written.
        observe: as in :func:`score_log`.
        broken: takes the error of every entry that is left out.
        finished: takes the evidence, when all iterations are scored.

    Raises:
        LogError, NotARepositoryError, GitError: as in :func:`score_log`.
        WriteError: a sidecar could not be written.
    """
    records = sources.entries([rubric], iter_log_dir, broken)
    chosen = selection.numbers(records)
    opened: list[Evidence] = []
    lines: list[ScoredLine] = []
    members: list[tuple[str, SessionIterRef]] = []
    marks: list[bytes] = []
    present: Counter[str] = Counter()

    with stamps_of_log(
        sources.cache_dir if write else None, iter_log_dir, rubric
    ) as stamps:
        waiting: list[SidecarComparison] = []

        for (scored,) in score_iterations(
            records,
            iter_log_dir,
            sources,
            rubric,
            observe=observe,
            compare=False,
            opened=opened.append,
            from_store=True,
        ):
            sidecar = None
            path = iteration_score_path(iter_log_dir, scored.record.iteration)
            if write or os.path.lexists(path):
                sidecar = compare_with_sidecar(iter_log_dir, scored)
            lost = sidecar.lost if sidecar else ()
            if write and sidecar:
                waiting.append(sidecar)
            if len(waiting) == _SIDECARS_AT_ONCE:
                write_sidecars(iter_log_dir, waiting, sources.warn, stamps)
                waiting.clear()

            marks.append(scored.mark)
            members.append(
                (scored.record.agent.session_id, SessionIterRef.of(scored.score))
            )

            if scored.record.iteration in chosen:
                lines.append(scored.line(lost))
                present.update(scored.present_signals(rubric))
                if show:
                    show(scored, lost)

        sessions = sessions_of(rubric, members)
        written = None
        if write:
            write_sidecars(iter_log_dir, waiting, sources.warn, stamps)
            files = write_session_scores(
                iter_log_dir, sessions_with_files(sessions, sources.warn)
            )
            if members:
                written = WrittenSidecars(len(members), len(files))

    if opened:
        finished(opened[0])

    return LogSummary(
        rubric=rubric,
        lines=lines,
        sessions=[
            session for session in sessions if chosen.intersection(session.iterations)
        ],
        shares={
            spec.id: present[spec.id] / max(len(lines), 1) for spec in rubric.signals
        },
        written=written,
        marks=marks,
    )
