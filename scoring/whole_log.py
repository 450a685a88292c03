"""Scores a log of any length, one iteration after the other, and writes its sidecars."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rubric import Rubric

from .errors import Warn, silent
from .evidence.facts import Evidence
from .evidence.rules import Sources
from .log.load import Broken
from .log.model import Records
from .log.selection import Selection
from .score import score_iterations
from .scored import LogSummary, ScoredIteration, WrittenSidecars
from .sessions import SessionIterRef, sessions_of
from .sidecars.provenance import Loss
from .sidecars.scores import iteration_score_path, write_session_scores
from .sidecars.stamp import Stamps, stamps_of_log
from .sidecars.writing import (
    compare_with_sidecar,
    sessions_with_files,
    write_sidecars,
)

_SIDECARS_AT_ONCE = 1000
"""How many sidecars wait in memory before they are written together."""


def score_whole_log(
    iter_log_dir: Path,
    sources: Sources,
    rubric: Rubric,
    selection: Selection,
    show: Callable[[ScoredIteration, tuple[Loss, ...]], object],
    write: bool = False,
    observe: bool = False,
    broken: Broken = silent,
    finished: Callable[[Records, Evidence | None], object] | None = None,
) -> LogSummary:
    """Score a log of any length, write its sidecars if asked to, and return what tables show.

    Only one iteration at a time is in memory.

    Args:
        iter_log_dir: the folder of the entries.
        sources: where evidence comes from.
        rubric: the rubric to score under.
        selection: the iterations to show; all are scored.
        show: takes each iteration that is shown, in order, with the evidence that it lost.
        write: whether sidecars are written.
        observe: whether DR transcripts are read even where they have no vote.
        broken: takes the error of every entry that is left out.
        finished: takes the entries and the evidence, when all iterations are scored and sidecars
            are written. There is no evidence where all answers came from the store.

    Raises:
        LogError, NotARepositoryError, GitError: as in :func:`~scoring.score.score_log`.
        WriteError: a sidecar could not be written.
    """
    records = sources.entries([rubric], iter_log_dir, broken)
    chosen = selection.numbers(records)
    opened: list[Evidence] = []
    lines = []
    members: list[tuple[str, SessionIterRef]] = []
    marks = []
    present = Counter[str]()

    cache_dir = sources.cache_dir if write else None
    with stamps_of_log(cache_dir, iter_log_dir, rubric) as stamps:
        iterations = score_iterations(
            records,
            iter_log_dir,
            sources,
            rubric,
            observe=observe,
            compare=False,
            opened=opened.append,
            from_store=True,
        )
        for scored, lost in _with_losses(
            iterations, iter_log_dir, write, sources.warn, stamps
        ):
            marks.append(scored.mark)
            members.append(
                (scored.record.agent.session_id, SessionIterRef.of(scored.score))
            )
            if scored.record.iteration in chosen:
                lines.append(scored.line(lost))
                present.update(
                    row.signal for row in scored.score.breakdown if row.present
                )
                show(scored, lost)

    sessions = sessions_of(rubric, members)
    written = None
    if write:
        with_files = sessions_with_files(sessions, sources.warn)
        files = write_session_scores(iter_log_dir, with_files)
        if members:
            written = WrittenSidecars(len(members), len(files))

    if finished:
        finished(records, opened[0] if opened else None)

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


def _with_losses(
    iterations: Iterable[tuple[ScoredIteration, ...]],
    iter_log_dir: Path,
    write: bool,
    warn: Warn,
    stamps: Stamps,
) -> Iterator[tuple[ScoredIteration, tuple[Loss, ...]]]:
    """Yield each iteration with the evidence that its sidecar on disk had and that is gone.

    With ``write`` the new sidecars are written too, many together, with a stamp for each.

    Raises:
        WriteError: a sidecar could not be written.
    """
    waiting = []
    for (scored,) in iterations:
        lost: tuple[Loss, ...] = ()
        path = iteration_score_path(iter_log_dir, scored.record.iteration)
        if write or os.path.lexists(path):
            sidecar = compare_with_sidecar(iter_log_dir, scored)
            lost = sidecar.lost
            if write:
                waiting.append(sidecar)
        if len(waiting) == _SIDECARS_AT_ONCE:
            write_sidecars(iter_log_dir, waiting, warn, stamps)
            waiting.clear()
        yield scored, lost

    if waiting:
        write_sidecars(iter_log_dir, waiting, warn, stamps)
