"""Follows a log while it grows, and the trunk: what appeared, changed or went away, and what it scores."""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rubric import Rubric
from scoring.errors import LogError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.reference.git import TRUNK
from scoring.evidence.rules import Sources
from scoring.files import state_of
from scoring.log.find import ARCHIVE_NAME, is_entry_name, names_in_log
from scoring.log.load import load_records
from scoring.log.model import IterationRecord
from scoring.score import score_iterations
from scoring.sidecars.provenance import Provenance
from scoring.sidecars.scores import PersistedScore
from scoring.signals.table import files_beside, optional_signals

PATIENCE = 3  # after how many looks at an unchanged file that is no entry it is called broken
Change: TypeAlias = Literal["now", "new", "changed", "removed", "broken"]
_Stamp: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that happened in a log."""

    change: Change
    iteration: int | None
    task_id: str = ""
    score: PersistedScore | None = None
    before: float | None = None  # the last score that was seen
    reason: str = ""
    provenance: Provenance | None = (
        None  # what the score was computed from, where the rubric's rules keep that
    )

    @property
    def value(self) -> float | None:
        """The value of the score, where there is one."""
        return self.score.value if self.score and self.score.scored else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        entry = {"change": self.change, "iteration": self.iteration, "task_id": self.task_id}
        score = {
            name: getattr(self.score, name, None)
            for name in ("rubric_version", "scored", "value", "band")
        }
        return (
            entry
            | score
            | {"value": self.value, "before": self.before, "reason": self.reason or None}
        )


@dataclass(slots=True)
class _File:
    stamp: _Stamp
    records: list[IterationRecord] = field(default_factory=list)
    in_vain: int = 0


class LogWatch:
    """One log, looked at with :meth:`look` as often as one likes."""

    def __init__(self, iter_log_dir: Path, rubric: Rubric, sources: Sources) -> None:
        self._log, self._folder, self._sources = (
            iter_log_dir,
            os.path.join(iter_log_dir, ""),
            sources,
        )
        self._rubric, self._wanted = rubric, optional_signals(rubric)
        self._files: dict[str, _File] = {}
        self._beside: dict[int, list[_Stamp | None]] = {}
        self._records: dict[int, IterationRecord] = {}
        self._values: dict[int, float | None] = {}
        self._due: dict[int, Change] = {}
        self._refs: Path | None = None
        self._trunk_ref = f"refs/heads/{TRUNK}"
        self._names: frozenset[str] = frozenset()
        self._unreported: list[Seen] = []
        self._trunk: tuple[_Stamp | None, ...] | None = None

    def begin(self, last: int) -> list[Seen]:
        """Return the scores of the ``last`` newest iterations; LogError, NotARepositoryError without git."""
        self._trunk = self._stamps_of_trunk()
        broken = [seen for seen in self.look(settle=True) if seen.change == "broken"]
        self._due = dict.fromkeys(sorted(self._records)[-last:] if last else [], "now")
        return [*broken, *self._scored()]

    def look(self, settle: bool = False) -> list[Seen]:
        """Return what happened since the last look; with ``settle`` score nothing. Raises as :meth:`begin`."""
        self._unreported += self._read_changed()
        records = self._current()
        beside = {
            n: [
                state_of(self._folder + s) if s in self._names else None
                for s in files_beside(n, self._wanted)
            ]
            for n in records
        }
        for n, record in records.items():
            if n not in self._records:
                self._due[n] = "new"
            elif (record is not self._records[n] and record != self._records[n]) or beside[
                n
            ] != self._beside.get(n):
                self._due.setdefault(n, "changed")
        for n in sorted(self._records.keys() - records.keys()):
            self._due.pop(n, None)
            self._unreported.append(
                Seen("removed", n, self._records[n].task_id, before=self._values.pop(n, None))
            )
        self._records, self._beside = records, beside
        if not settle:
            self._unreported += self._scored()
            if (trunk := self._stamps_of_trunk()) != self._trunk:
                again = self._score(dict.fromkeys(sorted(self._values), "changed"))
                self._trunk = trunk
                self._unreported += [seen for seen in again if seen.value != seen.before]
        found, self._unreported = self._unreported, []
        return found

    def _read_changed(self) -> Iterator[Seen]:
        self._names = frozenset(names_in_log(self._log))
        names = [n for n in self._names if is_entry_name(n) or n == ARCHIVE_NAME]
        for gone in self._files.keys() - set(names):
            del self._files[gone]
        for name in names:
            stamp = state_of(self._folder + name)
            if stamp is None:
                continue
            known = self._files.get(name) or self._files.setdefault(name, _File((-1, -1, -1)))
            if known.stamp == stamp and not 0 < known.in_vain < PATIENCE:
                continue
            if known.stamp != stamp:
                known.stamp, known.in_vain = stamp, 0
            try:
                known.records = load_records(self._log / name, self._sources.rules.true_flags)
                known.in_vain = 0
            except LogError as e:
                known.in_vain += 1
                if known.in_vain == PATIENCE:
                    yield Seen("broken", None, reason=str(e))

    def _current(self) -> dict[int, IterationRecord]:
        records: dict[int, IterationRecord] = {}
        for name in sorted(self._files.keys() - {ARCHIVE_NAME}, key=os.fsencode):
            records |= {record.iteration: record for record in self._files[name].records}
        for record in self._files[ARCHIVE_NAME].records if ARCHIVE_NAME in self._files else []:
            records.setdefault(record.iteration, record)
        return {n: records[n] for n in sorted(records)}

    def _scored(self) -> list[Seen]:
        found = self._score(dict(sorted(self._due.items())))
        self._due = {}  # when that fails, it stays due, so that a later look makes up for it
        return found

    def _stamps_of_trunk(self) -> tuple[_Stamp | None, ...]:
        if self._refs is None:
            self._refs = GitRepository(self._sources.repo_dir).common_dir
        return tuple(
            state_of(self._refs / name)
            for name in (self._trunk_ref, "packed-refs", "reftable/tables.list")
        )

    def _score(self, due: Mapping[int, Change]) -> list[Seen]:
        if not due:
            return []
        records, found = list(self._records.values()), []
        for (one,) in score_iterations(records, self._log, self._sources, self._rubric, only=due):
            n = one.record.iteration
            self._trunk_ref = one.facts.trunk.ref or self._trunk_ref
            score, before = one.persisted, self._values.get(n)
            found.append(
                Seen(due[n], n, one.record.task_id, score, before, provenance=one.provenance)
            )
        self._values |= {seen.iteration: seen.value for seen in found if seen.iteration is not None}
        return found


_REST = 20  # the least pause after a look, as a multiple of the time that it took: it keeps no processor busy


def times_to_look(interval: float) -> Iterator[None]:
    """Yield, without end, ``interval`` seconds after the caller was done, or later where a look takes long."""
    while True:
        began = time.monotonic()
        yield
        time.sleep(max(interval, _REST * (time.monotonic() - began)))
