"""One pass over a log: every iteration with its entry, its signals and the score that counts for it.

The score that counts is that of the sidecar, because it may rest on evidence that is gone by now. An iteration that has
none is scored in memory, and so is every one when asked to.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, Unpack

from rubric import Rubric, default_rubric
from scoring.errors import GitError, InputError, NotARepositoryError, NotFoundError, silent
from scoring.evidence.facts import IterationFacts
from scoring.evidence.rules import Options, Sources, rules_of
from scoring.log.load import Broken, load_log_for
from scoring.log.model import IterationRecord
from scoring.score import score_records
from scoring.sidecars.scores import PersistedScore, check_numbers, iteration_score_path, read_iteration_score
from scoring.signals.values import SignalSet

if TYPE_CHECKING:
    from scoring.outcomes.outcome import Outcome, OutcomeRules  # a view without outcomes does not pay for them

ScoreOrigin: TypeAlias = Literal["sidecar", "computed"]
"""Where a score comes from: the file on disk, or this very pass."""


@dataclass(frozen=True, slots=True)
class Examined:
    """One iteration as a pass over its log finds it.

    ``score`` is the one that counts, from ``origin``. ``computed`` is what the evidence gives now, under the rubric
    that was asked for, from ``facts`` and ``signals``. ``outcome`` is what became of the work, where that was asked
    for; it has no part in any score.
    """

    facts: IterationFacts
    signals: SignalSet
    computed: PersistedScore
    score: PersistedScore
    origin: ScoreOrigin
    outcome: "Outcome | None" = None

    @property
    def record(self) -> IterationRecord:
        """The entry."""
        return self.facts.record

    @property
    def differs(self) -> bool:
        """Whether the evidence would give another value today than the sidecar of the same rubric holds."""
        old, new = self.score, self.computed
        return old.rubric_version == new.rubric_version and (old.scored, old.value) != (new.scored, new.value)


@dataclass(frozen=True, slots=True)
class LogView:
    """A log that can be gone through, under a rubric.

    ``recompute`` takes no score from a sidecar; ``last`` takes only that many of the newest iterations, ``only`` one.
    ``observe`` reads DR transcripts also where the rubric does not have them vote; ``options`` say how evidence is
    found and read, and those of :meth:`examine` come before them. ``broken`` takes every entry that a lenient rubric
    leaves out because it cannot be read. ``outcomes`` says how outcomes are measured; without it nobody looks at them.
    """

    iter_log_dir: Path
    repo_dir: Path
    transcript_dirs: tuple[Path, ...] = ()
    rubric: Rubric = field(default_factory=default_rubric)
    recompute: bool = False
    last: int | None = None
    only: int | None = None
    observe: bool = False
    options: Options = field(default_factory=Options)
    broken: Broken = silent
    outcomes: "OutcomeRules | None" = None

    def examine(self, **options: Unpack[Options]) -> Iterator[Examined]:
        """Yield the iterations in order.

        Raises:
            LogError: the log cannot be loaded.
            NotARepositoryError: ``repo_dir`` is in no git work tree.
            GitError: the trunk that the options name is not there.
        """
        rubric = self.rubric
        sources = Sources.under(rules_of(rubric), self.repo_dir, self.transcript_dirs, self.options | options)
        records = load_log_for([rubric], self.iter_log_dir, sources.rules.true_flags, self.broken)
        wanted = {record.iteration for record in (records if self.last is None else records[-self.last :])}
        if self.only is not None:
            wanted &= {self.only}
        if not wanted:
            return
        became = self._outcomes(records, wanted, sources)
        with sources.transcripts().start() as scan:
            log_dir, observe = self.iter_log_dir, self.observe
            for (one,) in score_records(records, log_dir, sources, scan, rubric, only=wanted, observe=observe):
                on_disk = None if self.recompute else self._sidecar(one.persisted.iteration, sources.warn)
                origin: ScoreOrigin = "sidecar" if on_disk else "computed"
                outcome = became.get(one.record.iteration)
                yield Examined(one.facts, one.signals, one.persisted, on_disk or one.persisted, origin, outcome)

    def _outcomes(self, records: list[IterationRecord], wanted: set[int], sources: Sources) -> "dict[int, Outcome]":
        if self.outcomes is None:
            return {}
        from scoring.outcomes.outcome import log_outcomes

        cache, trunk = sources.reading.get("cache_dir"), sources.trunk
        try:
            found = log_outcomes(records, sources.repo_dir, self.outcomes, cache, trunk, wanted)
        except NotARepositoryError:
            raise
        except GitError as e:
            sources.warn(f"outcomes are not known: {e}")
            return {}
        return {outcome.iteration: outcome for outcome in found}

    def _sidecar(self, iteration: int, warn: Callable[[str], None]) -> PersistedScore | None:
        path = iteration_score_path(self.iter_log_dir, iteration)
        try:
            score = read_iteration_score(self.iter_log_dir, iteration)
            check_numbers(score, str(path))
            if score.iteration != iteration:
                raise InputError(f"{path}: is the score of iteration {score.iteration}")
        except NotFoundError:
            return None
        except InputError as e:
            warn(f"{e}; this iteration is scored anew instead")
            return None
        return score
