"""From evidence to signal sets, for one iteration or a whole log.

Evidence is gathered once for all iterations that are asked for: git in a few batches, every transcript in one pass.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Unpack

from scoring.evidence.artifacts import artifact_corrections
from scoring.evidence.git import GitRepository
from scoring.evidence.history import GitHistory
from scoring.evidence.scopes import declared_scopes
from scoring.evidence.transcripts.events import IterationWindow, WindowFacts
from scoring.evidence.transcripts.scan import Reading, TranscriptScan, transcript_scan
from scoring.evidence.transcripts.times import NS, clamp_ns
from scoring.records.load import load_iteration_log
from scoring.records.model import IterationRecord
from scoring.signals import (
    SIGNALS,
    correction_pressure,
    landed,
    objectives,
    scope,
    tests,
    token_efficiency,
    verifier,
)
from scoring.signals import diminishing_returns as dr
from scoring.signals import hook_outcomes as hooks
from scoring.signals.diminishing_returns import MeterUse
from scoring.signals.findings import BackfillSignals, Findings, GitSignals, IterlogSignals
from scoring.signals.integrity import observations
from scoring.text import trim
from scoring.values import Deliberation, IterationObjectives, SignalSet, SignalValue


class Evidence:
    """What the outside says about the iterations of one log. Sources are asked when first needed, and once."""

    def __init__(
        self,
        records: Sequence[IterationRecord],
        repo_dir: Path | str,
        scan: TranscriptScan,
        only: Collection[int] | None = None,
    ) -> None:
        """Open the repository.

        Args:
            records: all records of the log, sorted by iteration: neighbours bound each other's windows.
            repo_dir: a directory in a git work tree.
            scan: the reading of the transcripts.
            only: the iterations that will be asked about; None for all.

        Raises:
            NotARepositoryError: ``repo_dir`` lies in no git work tree.
        """
        self.repo_dir = repo_dir
        self._records = records
        self._only = only
        self._scan = scan
        names = dict.fromkeys(name for r in records for name in (r.commit, trim(r.commit)))
        self.history = GitHistory(GitRepository(repo_dir), names, cache_dir=scan.cache_dir)

    def window(self, iteration: int) -> IterationWindow | None:
        """Return the window of an iteration; None when its commit does not resolve as written."""
        return self._windows.get(iteration)

    def facts(self, iteration: int) -> WindowFacts | None:
        """Return what the transcripts show in an iteration's window; None when it has no window."""
        return self._facts.get(iteration)

    @cached_property
    def scopes(self) -> dict[str, tuple[str, ...]]:
        """The declared write scope of each task."""
        return declared_scopes(self.repo_dir)

    @cached_property
    def _windows(self) -> dict[int, IterationWindow]:
        windows: dict[int, IterationWindow] = {}
        start: int | None = None
        for record in self._records:
            sha = self.history.resolve(record.commit)
            commit = self.history.commit(sha) if sha else None
            if commit is not None and commit.time is not None:
                end = clamp_ns(commit.time * NS)
                windows[record.iteration] = IterationWindow(record.iteration, start, end)
                start = end
        return windows

    @cached_property
    def _facts(self) -> dict[int, WindowFacts]:
        wanted = [w for w in self._windows.values() if self._only is None or w.iteration in self._only]
        found = self._scan.facts(wanted)
        return {window.iteration: facts for window, facts in zip(wanted, found, strict=True)}


def build_signal_sets(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    meter: MeterUse = "votes",
    **reading: Unpack[Reading],
) -> list[SignalSet]:
    """Load an iteration log and return the signals of its iterations, in iteration order.

    Args:
        iter_log_dir: the directory with ``iter-N.yaml``.
        repo_dir: the repository, for git and for artifacts.
        transcript_dirs: folders of transcript files; without any, only natively captured tokens count.
        meter: what becomes of DR transcripts.
        reading: how transcripts are read.

    Raises:
        LogError: the log cannot be loaded.
        NotARepositoryError: ``repo_dir`` lies in no git work tree (an empty log is reported first, as no sets).
    """
    with transcript_scan(*transcript_dirs, **reading).start() as scan:
        return signal_sets(load_iteration_log(iter_log_dir), iter_log_dir, repo_dir, scan, meter=meter)


def signal_sets(
    records: Sequence[IterationRecord],
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    scan: TranscriptScan,
    only: Collection[int] | None = None,
    meter: MeterUse = "votes",
) -> list[SignalSet]:
    """Return the signals of loaded records, or of ``only`` some of them; see :func:`build_signal_sets`."""
    if not records:
        return []
    evidence = Evidence(records, repo_dir, scan, only)
    sets = assembled([r for r in records if only is None or r.iteration in only], iter_log_dir, evidence, meter)
    evidence.history.keep()
    return sets


def assembled(
    records: Iterable[IterationRecord], iter_log_dir: Path | str, evidence: Evidence, meter: MeterUse = "votes"
) -> list[SignalSet]:
    """Return the signals of some records from evidence that was opened for their log."""
    sets = []
    for record in records:
        deliberation = None if meter == "unread" else dr.observe(iter_log_dir, record.iteration)
        sets.append(
            assemble_signal_set(
                record,
                extract_iterlog_signals(record, evidence.repo_dir),
                git_signals(record, evidence.history, evidence.scopes),
                token_efficiency.observe(record, evidence.facts(record.iteration)),
                objectives.observe(evidence.facts(record.iteration)),
                hooks.observe(iter_log_dir, record.iteration),
                dr.vote(record.iteration, deliberation) if meter == "votes" else None,
                deliberation,
            )
        )
    return sets


def assemble_signal_set(
    record: IterationRecord,
    iterlog: IterlogSignals,
    git: GitSignals,
    backfill: BackfillSignals,
    objective: IterationObjectives,
    hook_outcomes: SignalValue,
    diminishing_returns: SignalValue | None = None,
    deliberation: Deliberation | None = None,
) -> SignalSet:
    """Join what was found out about one iteration into its signals. Pure.

    What was not asked for (None) is no signal of the set; ``deliberation`` stands beside the signals and has no vote.
    """
    findings = Findings(record, iterlog, git, backfill, objective, hook_outcomes, diminishing_returns)
    found = {signal_id: value(findings) for signal_id, value in SIGNALS.items()}
    signals = {signal_id: value for signal_id, value in found.items() if value is not None}
    return SignalSet(record.iteration, signals, objective, observations(findings), deliberation)


def extract_iterlog_signals(record: IterationRecord, repo_root: Path | str) -> IterlogSignals:
    """Read what an entry and the artifacts it names say. Never raises; an empty root means no artifacts."""
    return IterlogSignals(
        scope_claimed=scope.claim(record),
        tests_claimed=tests.claim(record),
        verifier=verifier.observe(record, repo_root),
        verifier_claimed=verifier.claim(record),
        landed_claimed=landed.claim(record),
        retries=correction_pressure.retries(record),
        user_corrections=artifact_corrections(repo_root, record.review.decision_artifact),
    )


def git_signals(record: IterationRecord, history: GitHistory, scopes: dict[str, tuple[str, ...]]) -> GitSignals:
    """Read what git says about one iteration, from history that was asked already."""
    return GitSignals(landed.observe(record, history), scope.observe(record, history, scopes))


def extract_git_signals(record: IterationRecord, repo_dir: Path | str) -> GitSignals:
    """Ask git about one iteration alone.

    Raises:
        NotARepositoryError: ``repo_dir`` lies in no git work tree.
    """
    evidence = Evidence([record], repo_dir, transcript_scan())
    return git_signals(record, evidence.history, evidence.scopes)


def extract_hook_outcomes_signal(iter_log_dir: Path | str, iteration: int) -> SignalValue:
    """Read what the hook gates did in one iteration. Never raises."""
    return hooks.observe(iter_log_dir, iteration)


def backfill_iterations(
    records: Sequence[IterationRecord],
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    **reading: Unpack[Reading],
) -> list[BackfillSignals]:
    """Read tokens and tool errors off the transcripts, for records sorted by iteration.

    Raises:
        NotARepositoryError: ``repo_dir`` lies in no git work tree.
    """
    with transcript_scan(*transcript_dirs, **reading).start() as scan:
        evidence = Evidence(records, repo_dir, scan)
        return [token_efficiency.observe(record, evidence.facts(record.iteration)) for record in records]


def extract_iteration_objectives(
    record: IterationRecord,  # noqa: ARG001 - kept for checks that will need the entry, as in the reference
    window: IterationWindow | None,
    *transcript_dirs: Path | str,
    **reading: Unpack[Reading],
) -> IterationObjectives:
    """Check what the transcripts show in one window; None is no window, and no coverage."""
    if window is None:
        return objectives.observe(None)
    with transcript_scan(*transcript_dirs, **reading) as scan:
        return objectives.observe(scan.facts([window])[0])
