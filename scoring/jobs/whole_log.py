"""Scoring a whole log from its first iteration to its last, however long it is, in one pass.

Iterations are scored, compared with their sidecars and written some at a time. Of those that are done nothing is held
but a line for the tables and the sessions (:class:`~scoring.score.ScoredLine`), so memory hardly grows with the log.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rubric import Rubric
from scoring.errors import LogError, Warn, silent
from scoring.evidence.git.facts import Trunk
from scoring.evidence.rules import Sources
from scoring.files import list_names
from scoring.log.load import load_log_for
from scoring.log.selection import Selection
from scoring.score import (
    ScoredIteration,
    ScoredLine,
    fingerprint_of,
    has_session_file,
    looked_at,
    score_records,
    write_some,
)
from scoring.sessions import SessionIterRef, SessionScore, sessions_of
from scoring.sidecars.fingerprint import Fingerprint, store_of
from scoring.sidecars.scores import write_session_scores

if TYPE_CHECKING:
    from scoring.evidence.transcripts.scan import Scan

_AT_ONCE = 1000
"""How many iterations are held whole, and written together."""


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
        flags, cache_dir = sources.rules.true_flags, sources.cache_dir
        self.records = load_log_for([rubric], iter_log_dir, flags, left_out.append, cache_dir)
        self._log_dir, self._sources, self._scan, self._observe = iter_log_dir, sources, scan, observe
        self._chosen = None if selection.takes_all else selection.numbers(self.records)
        self.rubric, self.broken = rubric, tuple(map(str, left_out))
        self.lines: list[ScoredLine] = []
        self.sessions: list[SessionScore] = []
        self.trunk: Trunk | None = None
        self.written: tuple[int, int] | None = None
        self._present: Counter[str] = Counter()

    def iterations(self, write: bool, warn: Warn = silent) -> Iterator[ScoredIteration]:
        """Score the log, and yield the iterations that were chosen, in order.

        With ``write`` the sidecars of iterations are written before these are yielded, and those of sessions at the
        end, as :func:`~scoring.score.write_scored_log` does; ``warn`` hears the same.

        Raises:
            NotARepositoryError, GitError: as :func:`~scoring.score.score_log`.
            WriteError: a sidecar could not be written.
        """
        refs: list[tuple[str, SessionIterRef]] = []
        known: dict[int, Fingerprint] = {}
        names = frozenset(list_names(self._log_dir))
        for some in self._scored(write):
            if write:
                write_some(self._log_dir, some, warn)
            for one in some:
                refs.append((one.record.agent.session_id, SessionIterRef.of(one.score)))
                if write and self._sources.cache_dir:
                    there = self._sources.repo_dir, self._log_dir
                    known[one.record.iteration] = fingerprint_of(one, *there, self.rubric, names.__contains__)
                if self._chosen is None or one.record.iteration in self._chosen:
                    self._take(one)
                    yield one
        sessions = sessions_of(self.rubric, refs)
        if write and refs:
            files = write_session_scores(self._log_dir, [s for s in sessions if has_session_file(s.session_id, warn)])
            self.written = len(refs), len(files)
            if known:
                store_of(self._sources.cache_dir, self._log_dir, self.rubric).keep(known)
        chosen = self._chosen
        self.sessions = [s for s in sessions if chosen is None or chosen.intersection(s.iterations)]

    def _scored(self, write: bool) -> Iterator[list[ScoredIteration]]:
        records, sources, rubric = self.records, self._sources, self.rubric
        places = records, self._log_dir, sources, self._scan
        found = (one for (one,) in score_records(*places, rubric, observe=self._observe, compare=False))
        while some := [looked_at(self._log_dir, one, write) for one in islice(found, _AT_ONCE)]:
            yield some

    def _take(self, one: ScoredIteration) -> None:
        self.trunk = self.trunk or one.facts.trunk
        self.lines.append(one.line)
        self._present.update(spec.id for spec in self.rubric.signals if one.signals.value(spec.id).present)

    def presence(self) -> dict[str, float]:
        """Return the share of the chosen iterations, 0 to 1, in which each signal of the rubric is present."""
        count = len(self.lines)
        return {spec.id: self._present[spec.id] / count if count else 0.0 for spec in self.rubric.signals}
