"""From evidence to signal sets, for one iteration or a whole log.

Evidence is gathered once for all iterations that are asked for: git in a few batches, every transcript in one pass.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Unpack

from rubric import EVIDENCE_REFERENCE
from scoring.evidence.git.facts import Landing
from scoring.evidence.scopes import declared_scopes
from scoring.evidence.transcripts.facts import (
    NS,
    IterationWindow,
    Reading,
    TranscriptFacts,
    TranscriptPlaces,
    clamp_ns,
    silent,
)
from scoring.log.load import load_iteration_log
from scoring.log.model import IterationRecord
from scoring.origin import Origin
from scoring.policies import POLICIES, REFERENCE
from scoring.policies.door import Pressure, Transcripts
from scoring.policies.sources import Options, Sources
from scoring.signals import diminishing_returns as dr
from scoring.signals import hook_outcomes as hooks
from scoring.signals import (
    landed,
    objectives,
    scope,
    tests,
    token_efficiency,
    verifier,
)
from scoring.signals.diminishing_returns import MeterUse
from scoring.signals.findings import BackfillSignals, Findings, GitSignals, IterlogSignals
from scoring.signals.integrity import observations
from scoring.signals.table import SIGNALS
from scoring.signals.values import Deliberation, IterationObjectives, SignalSet, SignalValue


class Evidence:
    """What the outside says about the iterations of one log. Sources are asked when first needed, and once."""

    def __init__(
        self,
        records: Sequence[IterationRecord],
        sources: Sources,
        scan: Transcripts,
        only: Collection[int] | None = None,
    ) -> None:
        """Open the repository.

        Args:
            records: all records of the log, sorted by iteration: neighbours bound each other's windows.
            sources: where evidence comes from, and by which rules.
            scan: the reading of the transcripts.
            only: the iterations that will be asked about; None for all.

        Raises:
            NotARepositoryError: the sources' ``repo_dir`` lies in no git work tree.
            GitError: the trunk that the sources name is not there.
        """
        self.repo_dir = sources.repo_dir
        self.policy, self.warn = sources.policy, sources.warn
        self._records = records
        self._only = only
        self._scan = scan
        self.git = self.policy.git(self.repo_dir, records, scan.cache_dir, sources.trunk)
        self._landings: dict[int, Landing] = {}

    def window(self, iteration: int) -> IterationWindow | None:
        """Return the window of an iteration; None when its commit does not resolve as written."""
        return self._windows.get(iteration)

    def facts(self, iteration: int) -> TranscriptFacts | None:
        """Return what the transcripts show in an iteration's window; None when it has no window."""
        return self._facts.get(iteration)

    def git_signals(self, record: IterationRecord) -> GitSignals:
        """Return what git says about one iteration."""
        return GitSignals(self.landing(record).value, self.git.scope(record, self.scopes))

    def landing(self, record: IterationRecord) -> Landing:
        """Return whether an iteration's work has landed, and how that was found out."""
        if record.iteration not in self._landings:
            self._landings[record.iteration] = self.git.landing(record)
        return self._landings[record.iteration]

    def origin(self, record: IterationRecord) -> Origin | None:
        """Return what an iteration's signals come from; None where the policy does not keep that."""
        if not self.policy.keeps_provenance:
            return None
        window, facts, trunk = self.window(record.iteration), self.facts(record.iteration), self.git.trunk
        return Origin(
            record.iteration,
            window.start if window else None,
            window.end if window else None,
            trunk.ref,
            trunk.commit,
            self.landing(record).method,
            facts.by_harness() if facts else (),
        )

    def iterlog_signals(self, record: IterationRecord) -> IterlogSignals:
        """Read what an entry and the artifacts it names say."""
        return iterlog_signals(record, self.repo_dir, self.policy.pressure(record, self.repo_dir, self.warn))

    @cached_property
    def scopes(self) -> dict[str, tuple[str, ...]]:
        """The declared write scope of each task."""
        return declared_scopes(self.repo_dir)

    @cached_property
    def _windows(self) -> dict[int, IterationWindow]:
        windows: dict[int, IterationWindow] = {}
        start: int | None = None
        for record in self._records:
            time = self.git.committed(record.commit)
            if time is not None:
                end = clamp_ns(time * NS)
                windows[record.iteration] = IterationWindow(record.iteration, start, end)
                start = end
        return windows

    @cached_property
    def _facts(self) -> dict[int, TranscriptFacts]:
        wanted = [w for w in self._windows.values() if self._only is None or w.iteration in self._only]
        found = self._scan.facts(wanted)
        return {window.iteration: facts for window, facts in zip(wanted, found, strict=True)}


def build_signal_sets(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    meter: MeterUse = "votes",
    evidence: str = EVIDENCE_REFERENCE,
    **options: Unpack[Options],
) -> list[SignalSet]:
    """Load an iteration log and return the signals of its iterations, in iteration order.

    Args:
        iter_log_dir: the directory with ``iter-N.yaml``.
        repo_dir: the repository, for git and for artifacts.
        transcript_dirs: folders of transcript files; without any the rules decide where to look, if at all.
        meter: what becomes of DR transcripts.
        evidence: the rules by which evidence is found and read, as a rubric's data names them.
        options: how it is found and read beyond that.

    Raises:
        LogError: the log cannot be loaded.
        NotARepositoryError: ``repo_dir`` lies in no git work tree (an empty log is reported first, as no sets).
    """
    policy = POLICIES[evidence]
    sources = Sources.under(policy, repo_dir, transcript_dirs, options)
    with sources.transcripts().start() as scan:
        records = load_iteration_log(iter_log_dir, policy.true_flags)
        return gathered(records, iter_log_dir, sources, scan, meter=meter).sets


class Gathered(NamedTuple):
    """What was found out about some iterations: their signals, and where they come from when the policy keeps that."""

    sets: list[SignalSet]
    origins: list[Origin | None]


def gathered(
    records: Sequence[IterationRecord],
    iter_log_dir: Path | str,
    sources: Sources,
    scan: Transcripts,
    only: Collection[int] | None = None,
    meter: MeterUse = "votes",
) -> Gathered:
    """Gather the evidence of loaded records, or of ``only`` some of them; see :func:`build_signal_sets`."""
    if not records:
        return Gathered([], [])
    evidence = Evidence(records, sources, scan, only)
    wanted = [r for r in records if only is None or r.iteration in only]
    sets = assembled(wanted, iter_log_dir, evidence, meter)
    evidence.git.keep()
    return Gathered(sets, [evidence.origin(record) for record in wanted])


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
                evidence.iterlog_signals(record),
                evidence.git_signals(record),
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
    return iterlog_signals(record, repo_root, REFERENCE.pressure(record, repo_root, silent))


def iterlog_signals(record: IterationRecord, repo_root: Path | str, pressure: Pressure) -> IterlogSignals:
    """Read what an entry and the artifacts it names say, beside what a policy made of its corrections."""
    return IterlogSignals(
        scope_claimed=scope.claim(record),
        tests_claimed=tests.claim(record),
        verifier=verifier.observe(record, repo_root),
        verifier_claimed=verifier.claim(record),
        landed_claimed=landed.claim(record),
        retries=pressure.retries,
        user_corrections=pressure.corrections,
        corrections_reported=pressure.reported,
    )


def extract_git_signals(record: IterationRecord, repo_dir: Path | str) -> GitSignals:
    """Ask git about one iteration alone, as the reference does.

    Raises:
        NotARepositoryError: ``repo_dir`` lies in no git work tree.
    """
    git = REFERENCE.git(repo_dir, [record])
    return GitSignals(git.landing(record).value, git.scope(record, declared_scopes(repo_dir)))


def extract_hook_outcomes_signal(iter_log_dir: Path | str, iteration: int) -> SignalValue:
    """Read what the hook gates did in one iteration. Never raises."""
    return hooks.observe(iter_log_dir, iteration)


def backfill_iterations(
    records: Sequence[IterationRecord],
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    **reading: Unpack[Reading],
) -> list[BackfillSignals]:
    """Read tokens and tool errors off the transcripts as the reference does, for records sorted by iteration.

    Raises:
        NotARepositoryError: ``repo_dir`` lies in no git work tree.
    """
    sources = Sources.of(REFERENCE, repo_dir, transcript_dirs, **reading)
    with sources.transcripts().start() as scan:
        evidence = Evidence(records, sources, scan)
        return [token_efficiency.observe(record, evidence.facts(record.iteration)) for record in records]


def extract_iteration_objectives(
    record: IterationRecord,  # noqa: ARG001 - kept for checks that will need the entry, as in the reference
    window: IterationWindow | None,
    *transcript_dirs: Path | str,
    **reading: Unpack[Reading],
) -> IterationObjectives:
    """Check what the transcripts show in one window as the reference does; None is no window, and no coverage."""
    if window is None:
        return objectives.observe(None)
    places = TranscriptPlaces(Path(), tuple(map(Path, transcript_dirs)))
    with REFERENCE.transcripts(places, **reading) as scan:
        return objectives.observe(scan.facts([window])[0])
