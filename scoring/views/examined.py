"""One pass over a log: every iteration with its entry, its signals and the score that counts for it.

The score that counts is that of the sidecar, because it may rest on evidence that is gone by now. An iteration that has
none is scored in memory, and so is every one when asked to. Iterations are yielded as they come, a few hundred held at
a time, so that a log of any length can be gone through.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias, Unpack

from rubric import Rubric, default_rubric
from scoring.assemble import Evidence, assembled
from scoring.errors import InputError, NotFoundError
from scoring.evidence.transcripts.facts import IterationWindow
from scoring.log.load import load_iteration_log
from scoring.log.model import IterationRecord
from scoring.policies import policy_of
from scoring.policies.sources import Options, Sources
from scoring.sidecars.scores import (
    PersistedScore,
    build_persisted_score,
    check_numbers,
    iteration_score_path,
    read_iteration_score,
)
from scoring.signals.diminishing_returns import use_under
from scoring.signals.values import SignalSet
from scoring.text import trim

ScoreOrigin: TypeAlias = Literal["sidecar", "computed"]
"""Where a score comes from: the file on disk, or this very pass."""

_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Examined:
    """One iteration as a pass over its log finds it.

    ``score`` is the one that counts, from ``origin``. ``computed`` is what the evidence gives now, under the rubric
    that was asked for. ``sha`` and ``window`` are the commit that the entry's commit field stands for and the time
    that belongs to the iteration; None when it stands for none.
    """

    record: IterationRecord
    signals: SignalSet
    computed: PersistedScore
    score: PersistedScore
    origin: ScoreOrigin
    sha: str | None
    window: IterationWindow | None

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
    found and read, and those of :meth:`examine` come before them.
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

    def examine(self, **options: Unpack[Options]) -> Iterator[Examined]:
        """Yield the iterations in order.

        Raises:
            LogError: the log cannot be loaded.
            NotARepositoryError: ``repo_dir`` lies in no git work tree.
            GitError: the trunk that the options name is not there.
        """
        rubric = self.rubric
        meter = use_under(rubric, observe=self.observe)
        sources = Sources.under(policy_of(rubric), self.repo_dir, self.transcript_dirs, self.options | options)
        records = load_iteration_log(self.iter_log_dir, sources.policy.true_flags)
        wanted = records[-self.last :] if self.last is not None else records
        if self.only is not None:
            wanted = [record for record in wanted if record.iteration == self.only]
        if not wanted:
            return
        with sources.transcripts().start() as scan:
            evidence = Evidence(records, sources, scan, {record.iteration for record in wanted})
            for some in _batches(wanted):
                for record, signals in zip(some, assembled(some, self.iter_log_dir, evidence, meter), strict=True):
                    computed = build_persisted_score(rubric.score(signals), record)
                    on_disk = None if self.recompute else self._sidecar(record.iteration, sources.warn)
                    yield Examined(
                        record,
                        signals,
                        computed,
                        on_disk or computed,
                        "sidecar" if on_disk else "computed",
                        evidence.git.resolve(trim(record.commit)),
                        evidence.window(record.iteration),
                    )
            evidence.git.keep()

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


def _batches(records: Sequence[IterationRecord]) -> Iterator[list[IterationRecord]]:
    rest = iter(records)
    while some := list(islice(rest, _AT_ONCE)):
        yield some
