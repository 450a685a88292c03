"""The functions of the reference that its users call, in its bundles, as ``docs/PARITY.md`` lists them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, Unpack

from rubric import EVIDENCE_REFERENCE
from scoring.errors import silent
from scoring.evidence.beside import PROFILE, Corrections, artifact_status, hook_facts
from scoring.evidence.facts import Evidence
from scoring.evidence.rules import REFERENCE, RULES, Options, Sources
from scoring.evidence.scopes import declared_scopes
from scoring.evidence.transcripts.facts import IterationWindow, ReadingOptions, TranscriptPlaces
from scoring.log.load import load_iteration_log
from scoring.log.model import IterationRecord
from scoring.signals import values
from scoring.signals.correction_pressure import CORRECTION_PRESSURE, pressure_value
from scoring.signals.diminishing_returns import DIMINISHING_RETURNS
from scoring.signals.hook_outcomes import HOOK_OUTCOMES, hook_value
from scoring.signals.landed import LANDED, landed_claim, landed_value
from scoring.signals.scope import SCOPE, scope_claim, scope_value
from scoring.signals.signal import role_of
from scoring.signals.table import objective_checks, signal_set
from scoring.signals.tests import TESTS, flags_claim
from scoring.signals.token_efficiency import TOKEN_EFFICIENCY, efficiency_value
from scoring.signals.verifier import VERIFIER, verifier_claim, verifier_value

MeterUse: TypeAlias = Literal[
    "votes", "observed", "unread"
]  # DR transcripts vote, are only shown, are left alone


@dataclass(frozen=True, slots=True)
class GitSignals:
    """What git topology says."""

    landed_observed: values.SignalValue
    scope_observed: values.SignalValue


@dataclass(frozen=True, slots=True)
class IterlogSignals:
    """What the entry and its artifacts say; ``retries`` and ``user_corrections`` may be negative, as in the log."""

    scope_claimed: values.SignalValue
    tests_claimed: values.SignalValue
    verifier: values.SignalValue
    verifier_claimed: values.SignalValue
    landed_claimed: values.SignalValue
    retries: int
    user_corrections: int
    corrections_reported: bool = True


@dataclass(frozen=True, slots=True)
class BackfillSignals:
    """What transcripts say of tokens and tools; of tool calls the share that failed, 0 to 1, None without any."""

    iteration: int
    token_efficiency: values.SignalValue
    tool_error_rate: float | None


def build_signal_sets(
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    meter: MeterUse = "votes",
    evidence: str = EVIDENCE_REFERENCE,
    **options: Unpack[Options],
) -> list[values.SignalSet]:
    """Load an iteration log and return the signals of its iterations, in order; LogError, NotARepositoryError.

    Without ``transcript_dirs`` the rules (``evidence``) decide where to look; ``meter`` what becomes of DR transcripts.
    """
    sources = Sources.under(RULES[evidence], repo_dir, transcript_dirs, options)
    with sources.transcripts().start() as scan:
        records = load_iteration_log(iter_log_dir, sources.rules.true_flags)
        if not records:
            return []
        found = Evidence(
            records, iter_log_dir, sources, scan, profile=None if meter == "unread" else PROFILE
        )
        wanted = {DIMINISHING_RETURNS} if meter == "votes" else ()
        return [signal_set(found.of(record), wanted) for record in records]


def assemble_signal_set(
    record: IterationRecord,
    iterlog: IterlogSignals,
    git: GitSignals,
    backfill: BackfillSignals,
    objective: values.IterationObjectives,
    hook_outcomes: values.SignalValue,
    diminishing_returns: values.SignalValue | None = None,
    deliberation: values.Deliberation | None = None,
) -> values.SignalSet:
    """Join what was found out about one iteration into its signals; None was not asked for. Pure."""
    corrections = Corrections(
        iterlog.retries, iterlog.user_corrections, iterlog.corrections_reported
    )
    signals = {
        LANDED: git.landed_observed,
        VERIFIER: iterlog.verifier,
        TESTS: iterlog.tests_claimed,
        CORRECTION_PRESSURE: pressure_value(corrections, backfill.tool_error_rate),
        SCOPE: git.scope_observed if git.scope_observed.present else iterlog.scope_claimed,
        HOOK_OUTCOMES: hook_outcomes,
        TOKEN_EFFICIENCY: backfill.token_efficiency,
    }
    if diminishing_returns is not None:
        signals[DIMINISHING_RETURNS] = diminishing_returns
    pairs = (
        values.IntegrityObservation(
            LANDED, values.ROLE_IMPL, iterlog.landed_claimed, git.landed_observed
        ),
        values.IntegrityObservation(
            VERIFIER,
            role_of(record, values.ROLE_VERIFIER),
            iterlog.verifier_claimed,
            iterlog.verifier,
        ),
        values.IntegrityObservation(
            TESTS, values.ROLE_IMPL, iterlog.tests_claimed, iterlog.verifier
        ),
        values.IntegrityObservation(
            SCOPE, values.ROLE_IMPL, iterlog.scope_claimed, git.scope_observed
        ),
    )
    known = tuple(pair for pair in pairs if not pair.is_empty)
    return values.SignalSet(record.iteration, signals, objective, known, deliberation)


def extract_iterlog_signals(record: IterationRecord, repo_root: Path | str) -> IterlogSignals:
    """Read what an entry and the artifacts it names say. Never raises; an empty root means no artifacts."""
    statuses = tuple(
        artifact_status(repo_root, verifier.result_artifact) for verifier in record.verifiers
    )
    return IterlogSignals(
        scope_claim(record),
        flags_claim(record),
        verifier_value(record, statuses),
        verifier_claim(record),
        landed_claim(record),
        *REFERENCE.corrections(record, repo_root, silent),
    )


def extract_git_signals(record: IterationRecord, repo_dir: Path | str) -> GitSignals:
    """Ask git about one iteration alone; NotARepositoryError when ``repo_dir`` is in no git work tree."""
    git = REFERENCE.git(repo_dir, [record])
    scope = declared_scopes(repo_dir).get(record.task_id)
    changed = git.changed(record, files=scope is not None)
    return GitSignals(
        landed_value(git.landing(record)),
        scope_value(changed, scope.entries if scope else (), record.task_id),
    )


def extract_hook_outcomes_signal(iter_log_dir: Path | str, iteration: int) -> values.SignalValue:
    """Read what the hook gates did in one iteration. Never raises."""
    return hook_value(hook_facts(iter_log_dir, iteration), iteration)


def backfill_iterations(
    records: Sequence[IterationRecord],
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    **reading: Unpack[ReadingOptions],
) -> list[BackfillSignals]:
    """Read tokens and tool errors off the transcripts, for records in order; NotARepositoryError."""
    options = Options(transcripts=None)
    options.update(reading)  # type: ignore[typeddict-item]
    sources = Sources.under(REFERENCE, repo_dir, transcript_dirs, options)
    with sources.transcripts().start() as scan:
        evidence = Evidence(records, "", sources, scan)
        found = [(record, evidence.transcripts(record.iteration)) for record in records]
    return [
        BackfillSignals(
            record.iteration,
            efficiency_value(record.session_tokens, facts),
            facts.tool_error_rate if facts else None,
        )
        for record, facts in found
    ]


def extract_iteration_objectives(
    record: IterationRecord,  # noqa: ARG001 - kept for checks that will need the entry, as in the reference
    window: IterationWindow | None,
    *transcript_dirs: Path | str,
    **reading: Unpack[ReadingOptions],
) -> values.IterationObjectives:
    """Check what the transcripts show in one window; None is no window, and no coverage."""
    if window is None:
        return objective_checks(None)
    places = TranscriptPlaces(Path(), tuple(map(Path, transcript_dirs)))
    with REFERENCE.transcripts(places, **reading) as scan:
        return objective_checks(scan.facts([window])[0])
