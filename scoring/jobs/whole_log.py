"""Scoring a whole log from its first iteration to its last, however long it is, in one pass.

Iterations are scored, compared with their sidecars and written some at a time, in several processes where there are
enough of them. Of those that are done nothing is held but a line for the tables and the sessions
(:class:`~scoring.score.ScoredLine`), so memory hardly grows with the log.
"""

import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

from rubric import Rubric
from scoring.errors import LogError, Warn, silent
from scoring.evidence.git.facts import Trunk
from scoring.evidence.rules import Sources
from scoring.log.selection import Selection
from scoring.processes import Workers, how_many, in_order
from scoring.score import (
    ScoredIteration,
    ScoredLine,
    Scorer,
    Unwritten,
    fingerprint_of,
    has_session_file,
    looked_at,
    unwritten_of,
    write_unwritten,
)
from scoring.sessions import SessionIterRef, SessionScore, sessions_of
from scoring.sidecars.fingerprint import Fingerprint, store_of
from scoring.sidecars.scores import write_session_scores

if TYPE_CHECKING:
    from scoring.evidence.transcripts.scan import Scan

WORTH_A_PROCESS = 500
"""How many iterations there must be to score for each process."""

WORTH_A_PROCESS_OF_SESSIONS = 100
"""How many sessions there must be for each process that shows them: each has an interval, which takes a while."""

_AT_ONCE = 1000
"""How many iterations are scored before they are written together and yielded."""
_TASK = 50
"""How many iterations one process scores at a time."""
_SOME_SESSIONS = 20
"""How many sessions one process shows at a time."""

T = TypeVar("T")


class _Done(NamedTuple, Generic[T]):
    """What is left of an iteration that was scored, in whichever process.

    ``shown`` is what the caller made of it, where it was chosen; ``present`` names the signals that are there;
    ``unwritten`` is to be written, and ``known`` is then what its score is of; ``warnings`` are those about it.
    """

    line: ScoredLine
    session: str
    ref: SessionIterRef
    present: list[str]
    shown: T | None
    unwritten: Unwritten | None
    known: Fingerprint | None
    warnings: list[str]


class WholeLog:
    """A log that is scored as its ``iterations`` are gone through, once; what is told of it is known after that.

    Attributes:
        rubric: the rubric it is scored under.
        records: its entries.
        broken: which entries could not be read, and where and why, where the rubric leaves those out.
        lines: what tables show of the iterations that were chosen.
        sessions: the sessions that have any of these, sorted by id.
        trunk: where work lands; None of an empty log.
        written: how many sidecars of iterations and of sessions are as the scores are; None when none were to be.
    """

    def __init__(
        self,
        scan: "Scan",
        iter_log_dir: Path,
        sources: Sources,
        rubric: Rubric,
        selection: Selection,
        observe: bool = False,
    ) -> None:
        """Load the entries.

        Args:
            scan: the reading of the transcripts, which has begun.
            iter_log_dir: the log.
            sources: where evidence comes from.
            rubric: the rubric to score under.
            selection: the iterations that are yielded and told of; the whole log is scored all the same.
            observe: whether DR transcripts are read also where the rubric does not have them vote.

        Raises:
            LogError: the log cannot be loaded.
        """
        left_out: list[LogError] = []
        self.records = sources.entries([rubric], iter_log_dir, left_out.append)
        self._log_dir, self._sources, self._scan, self._observe = iter_log_dir, sources, scan, observe
        self._chosen = None if selection.takes_all else selection.numbers(self.records)
        self.rubric, self.broken = rubric, tuple(map(str, left_out))
        self.lines: list[ScoredLine] = []
        self.sessions: list[SessionScore] = []
        self.trunk: Trunk | None = None
        self.written: tuple[int, int] | None = None
        self._present: Counter[str] = Counter()

    def iterations(self, write: bool, shown: Callable[[ScoredIteration], T], warn: Warn = silent) -> Iterator[T]:
        """Score the log, and yield what is ``shown`` of the iterations that were chosen, in order.

        Where several processes score, ``shown`` is called there, and what it returns is pickled. With ``write`` the
        sidecars of iterations are written before these are yielded, and those of sessions at the end, as
        :func:`~scoring.score.write_scored_log` does; ``warn`` hears the same.

        Raises:
            NotARepositoryError, GitError: as :func:`~scoring.score.score_log`.
            WriteError: a sidecar could not be written.
        """
        refs: list[tuple[str, SessionIterRef]] = []
        texts: dict[str, str] = {}  # of which many lines have the same
        store = store_of(self._sources.cache_dir, self._log_dir, self.rubric) if write else None
        for some in self._scored(write, shown):
            for text in (text for one in some for text in one.warnings):
                warn(text)
            if write:
                write_unwritten(self._log_dir, [one.unwritten for one in some if one.unwritten], warn)
            if store and (known := {one.ref.iteration: one.known for one in some if one.known}):
                store.keep(known)
            for one in some:
                refs.append((texts.setdefault(one.session, one.session), one.ref))
                if self._is_chosen(one.ref.iteration):
                    self.lines.append(one.line.with_texts(texts))
                    self._present.update(one.present)
                    yield cast(T, one.shown)  # it was shown, because it is chosen
            some.clear()  # nobody holds these while the next are scored
        sessions = sessions_of(self.rubric, refs)
        if write and refs:
            files = write_session_scores(self._log_dir, [s for s in sessions if has_session_file(s.session_id, warn)])
            self.written = len(refs), len(files)
        chosen = self._chosen
        self.sessions = [s for s in sessions if chosen is None or chosen.intersection(s.iterations)]

    def of_sessions(self, shown: Callable[[SessionScore, Mapping[int, ScoredLine]], T]) -> Iterator[T]:
        """Yield what is ``shown`` of each session and the lines of its members, once all iterations were gone through.

        Where there are many sessions, several processes do so, as for :meth:`iterations`.
        """
        members = {line.iteration: line for line in self.lines}
        some = [self.sessions[n : n + _SOME_SESSIONS] for n in range(0, len(self.sessions), _SOME_SESSIONS)]
        processes = how_many(self._sources.processes, len(self.sessions) // WORTH_A_PROCESS_OF_SESSIONS)

        def show(task: int) -> list[T]:
            return [shown(session, members) for session in some[task]]

        for found in in_order(len(some), processes, show, pickle.dumps, pickle.loads):
            yield from found

    def _scored(self, write: bool, shown: Callable[[ScoredIteration], T]) -> Iterator[list[_Done[T]]]:
        """Score the log, and return what is left of its iterations, some at a time."""
        count = len(self.records)
        if not count:
            return
        places = self.records, self._log_dir, self._sources, self._scan
        scorer = Scorer(*places, self.rubric, observe=self._observe, compare=False)
        if any(map(self._is_chosen, self.records.numbers)):
            self.trunk = scorer.trunk
        processes = how_many(self._sources.processes, count // WORTH_A_PROCESS)
        if processes > 1:
            scorer.gather()
        done: list[_Done[T]] = []
        for start in range(0, count, _AT_ONCE):
            end = min(start + _AT_ONCE, count)
            tasks = [range(n, min(n + _TASK, end)) for n in range(start, end, _TASK)]

            def score(task: int, tasks: list[range] = tasks) -> list[_Done[T]]:
                return [self._done(scorer, place, write, shown) for place in tasks[task]]

            with Workers(score, pickle.dumps, pickle.loads) as workers:
                workers.start(len(tasks), processes)
                if done:
                    yield done  # and while these are written, the next are scored
                done = [one for some in workers.in_order() for one in some]
        yield done
        scorer.keep()

    def _done(
        self,
        scorer: Scorer,
        place: int,
        write: bool,
        shown: Callable[[ScoredIteration], T],
    ) -> _Done[T]:
        """Score one iteration; nothing is written."""
        warnings: list[str] = []
        scorer.warnings_to(warnings.append)
        (found,) = scorer.score(place)
        one = looked_at(self._log_dir, found, write)
        known = None
        if write and self._sources.cache_dir:
            where = self._sources.repo_dir, self._log_dir
            known = fingerprint_of(one, *where, self.rubric, scorer.is_there)
        return _Done(
            one.line,
            one.record.agent.session_id,
            SessionIterRef.of(one.score),
            [spec.id for spec in self.rubric.signals if one.signals.value(spec.id).present],
            shown(one) if self._is_chosen(one.record.iteration) else None,
            unwritten_of(self._log_dir, one) if write else None,
            known,
            warnings,
        )

    def _is_chosen(self, iteration: int) -> bool:
        return self._chosen is None or iteration in self._chosen

    def presence(self) -> dict[str, float]:
        """Return the share of the chosen iterations, 0 to 1, in which each signal of the rubric is present."""
        count = len(self.lines)
        return {spec.id: self._present[spec.id] / count if count else 0.0 for spec in self.rubric.signals}
