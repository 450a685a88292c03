"""Brings logs up to date: scores what has no score, or one that does not follow from what is on disk."""

import datetime
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec.structs import replace as replace_struct

from rubric import Rubric
from scoring.errors import DaScoreError, InputError, LogError, silent
from scoring.evidence.facts import IterationFacts
from scoring.evidence.rules import Options, Sources, options_of, rules_of
from scoring.evidence.transcripts.reading import end_with
from scoring.files import holds, read_file, remove_stale
from scoring.log.model import Records
from scoring.log.settings import Settings
from scoring.score import ScoredIteration, score_iterations, write_session
from scoring.sessions import session_score
from scoring.sidecars.fingerprint import (
    Fingerprint,
    Fingerprints,
    digest_of,
    fingerprint,
    fingerprints,
)
from scoring.sidecars.provenance import (
    changed_between,
    evidence_path,
    read_provenance,
    sidecar_of,
    write_scores,
)
from scoring.sidecars.scores import PersistedScore, iteration_score_path, parse_iteration_score
from scoring.sidecars.states import in_words, lost_evidence


@dataclass(frozen=True, slots=True)
class BackfillPlan:
    """What a backfill does with every log."""

    rubric: Rubric
    force: bool = False
    dry_run: bool = False
    refresh_git: bool = False
    allow_evidence_loss: bool = False
    since: datetime.date | None = None
    only_absent: str | None = None
    cache_dir: Path | None = None
    processes: int | None = None
    keeps_cache: bool | None = None  # None keeps what was read unless this is a dry run
    observe: bool = (
        False  # gathers the evidence of optional signals also where the rubric has them not vote
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """One iteration of a log that was brought up to date, and the score that counts for it."""

    facts: IterationFacts
    computed: PersistedScore  # what the evidence gives now
    score: PersistedScore  # that, or what the sidecar holds, where it stays


Take = Callable[[Standing], None]  # takes each iteration that has a score, in order


@dataclass(frozen=True, slots=True)
class LogJob:
    """One log to bring up to date; under the plan's rubric unless its repository has one of its own."""

    iter_log_dir: Path
    settings: Settings
    rubric: Rubric | None = None


@dataclass(slots=True)
class LogReport:
    """What was done with one log, or with ``dry_run`` would be."""

    iter_log_dir: Path
    error: str | None = None
    scored: dict[int, str] = field(default_factory=dict)  # the reason, by iteration
    up_to_date: int = 0
    passed_over: int = 0
    kept: dict[int, list[str]] = field(
        default_factory=dict
    )  # signals of which a new score would lose evidence
    git_changed: list[int] = field(
        default_factory=list
    )  # their scores stay, though git answers otherwise now
    absent: Counter[tuple[str, str]] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)
    broken: list[str] = field(
        default_factory=list
    )  # entries that stopped the log, or that a lenient rubric left out
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as ``backfill --json`` prints it."""
        absent = sorted(self.absent.items())
        return {name: getattr(self, name) for name in self.__slots__} | {
            "iter_log_dir": str(self.iter_log_dir),
            "scored": [{"iteration": n, "reason": reason} for n, reason in self.scored.items()],
            "kept": [{"iteration": n, "lost": lost} for n, lost in self.kept.items()],
            "absent": [
                {"signal": signal, "reason": reason, "iterations": n}
                for (signal, reason), n in absent
            ],
            "seconds": round(self.seconds, 3),
        }


def backfill_log(job: LogJob, plan: BackfillPlan, take: Take = silent) -> LogReport:
    """Bring one log up to date; errors of the user go into the report, ``take`` gets every iteration with its score."""
    report = LogReport(job.iter_log_dir)
    plan = replace(plan, rubric=job.rubric or plan.rubric)
    began = time.monotonic()
    try:
        _bring_up_to_date(job, plan, report, take)
    except LogError as e:
        report.error, report.broken = str(e), list(e.faults)
    except DaScoreError as e:
        report.error = str(e)
    report.seconds = time.monotonic() - began
    return report


def _bring_up_to_date(job: LogJob, plan: BackfillPlan, report: LogReport, take: Take) -> None:
    log, rubric = job.iter_log_dir, plan.rubric
    how: Options = {
        **options_of(job.settings),
        "warn": report.warnings.append,
        "cache_dir": plan.cache_dir,
        "processes": plan.processes,
        "keep": not plan.dry_run if plan.keeps_cache is None else plan.keeps_cache,
    }
    sources = Sources.under(
        rules_of(rubric), job.settings.repo_dir, job.settings.transcript_dirs, how
    )
    broken: list[LogError] = []
    records = sources.entries([rubric], log, broken.append)
    report.broken = [str(error) for error in broken]
    if records and not plan.dry_run:
        remove_stale(log)
    left: dict[int, PersistedScore] = {}  # without their rows, which sessions do not need
    with fingerprints(plan.cache_dir, log, rubric, keeps=not plan.dry_run) as known:
        for (one,) in score_iterations(
            records, log, sources, rubric, observe=plan.observe, labels=plan.observe, compare=False
        ):
            if score := _judged(one, plan, known, report, take):
                left[score.iteration] = replace_struct(score, breakdown=())
    if not plan.dry_run:
        _write_sessions(log, rubric, records, left, report)


def _judged(
    one: ScoredIteration, plan: BackfillPlan, known: Fingerprints, report: LogReport, take: Take
) -> PersistedScore | None:
    log, facts, n, provenance = report.iter_log_dir, one.facts, one.record.iteration, one.provenance
    files = sidecar_of(one.persisted, provenance)
    new, data = files.score, files.data
    now, then = fingerprint(one.inputs, facts, data), known.get(n)
    was = None
    if provenance:
        was = (
            provenance if holds(evidence_path(log, n), files.evidence) else read_provenance(log, n)
        )
    old, old_data = _on_disk(log, new, data)
    reason = _reason(facts, plan, (now, then), (old, old_data), data, report)
    if reason == _UNKNOWN and was and provenance:  # what was kept beside the sidecar can tell
        changed = changed_between(was, provenance)
        reason = f"evidence changed ({'; '.join(changed)})" if changed else "inputs changed"
    if reason and old and old_data and not plan.allow_evidence_loss:
        same_facts = then and then.sidecar == digest_of(old_data) and then.same("facts", now)
        if not same_facts and (lost := lost_evidence(old, new, facts, was, provenance)):
            report.kept[n] = in_words(lost)
            reason = None
    if reason:
        report.scored[n] = reason
        if not plan.dry_run:
            write_scores(log, [files])
            known.put(n, now)
    elif old_data == data:
        if now != then:
            known.put(n, now)
        if provenance and was is None and not plan.dry_run:
            write_scores(log, [files])
    if score := new if reason else old:
        take(Standing(facts, new, score))
        for row in score.breakdown:
            if not row.present:
                report.absent[row.signal, one.signals.value(row.signal).reason or row.detail] += 1
    return score


_UNKNOWN = "result differs, and what it was computed from was not kept"


def _reason(
    facts: IterationFacts,
    plan: BackfillPlan,
    prints: tuple[Fingerprint, Fingerprint | None],
    on_disk: tuple[PersistedScore | None, bytes | None],
    data: bytes,
    report: LogReport,
) -> str | None:
    (now, then), (old, old_data) = prints, on_disk
    voted = (
        plan.only_absent
        and old
        and any(r.signal == plan.only_absent and r.present for r in old.breakdown)
    )
    if voted or (plan.since and not _is_since(facts, plan.since)):
        report.passed_over += 1
        return None
    if old_data is None:
        return "no sidecar"
    if old is None:
        return "unreadable sidecar"
    if old.rubric_version != plan.rubric.version:
        return f"rubric {old.rubric_version or 'unknown'}"
    if plan.force:
        return "forced"
    if old_data != data:
        if then is None or then.sidecar != digest_of(old_data):
            return _UNKNOWN
        if not now.same_inputs(then):
            return "inputs changed"
        if not now.same("git", then):
            if plan.refresh_git:
                return "git answers differently"
            report.git_changed.append(facts.record.iteration)
    report.up_to_date += 1
    return None


def _on_disk(
    log: Path, new: PersistedScore, written: bytes
) -> tuple[PersistedScore | None, bytes | None]:
    path, data = iteration_score_path(log, new.iteration), b""
    try:
        data = read_file(path, within=log)
        return new if data == written else parse_iteration_score(data, str(path)), data
    except FileNotFoundError:
        return None, None
    except InputError:
        return None, data


def _is_since(facts: IterationFacts, since: datetime.date) -> bool:
    try:
        return datetime.date.fromisoformat(facts.record.date[:10]) >= since
    except ValueError:
        start_of_day = datetime.datetime.combine(since, datetime.time(), datetime.UTC)
        return facts.window is None or facts.window.end >= start_of_day.timestamp() * 1e9


def _write_sessions(
    log: Path, rubric: Rubric, records: Records, left: dict[int, PersistedScore], report: LogReport
) -> None:
    members: dict[str, list[PersistedScore | None]] = {}
    for record in records:
        if session_id := record.agent.session_id:
            members.setdefault(session_id, []).append(left.get(record.iteration))
    for session_id, scores in members.items():
        found = [
            score
            for score in scores
            if score is not None and score.rubric_version == rubric.version
        ]
        if len(found) == len(scores):
            write_session(log, session_score(rubric, session_id, found), report.warnings.append)


def backfill_logs(
    jobs: Sequence[LogJob], plan: BackfillPlan, processes: int
) -> Iterator[LogReport]:
    """Yield a report for each log as it is done, at most ``processes`` at once; a caller that stops early ends them."""
    if processes <= 1:
        yield from (_report(job, plan) for job in jobs)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, context, _quiet_worker, (os.getpid(),)) as pool:
        try:
            submitted = {pool.submit(_report, job, plan): job for job in jobs}
            for done in as_completed(submitted):
                try:
                    yield done.result()
                except BrokenProcessPool:
                    lost = "a process was ended from outside before this log was done; start backfill again"
                    yield LogReport(submitted[done].iter_log_dir, error=lost)
        except BaseException:
            for worker in (
                multiprocessing.active_children()
            ):  # files are replaced whole, so none is left half written
                worker.terminate()
            raise  # the pool's own thread is waited for then: at exit it would meet a pipe that is closed


def _report(job: LogJob, plan: BackfillPlan) -> LogReport:
    try:
        return backfill_log(job, plan)
    except Exception as e:
        return LogReport(
            job.iter_log_dir, error=f"internal error, please report it: {type(e).__name__}: {e}"
        )


def _quiet_worker(parent: int) -> None:
    """Leave interruptions to the process that started this one, and end when that is gone, however it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with(parent)
