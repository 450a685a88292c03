"""``da-score backfill``: bring one or many logs up to date."""

import datetime
import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rubric import find_rubric
from scoring.cli.app import SCORING_OPTIONS, shared_options
from scoring.cli.output import warn, write, write_json
from scoring.cli.reading import cache_dir, settings_of, without_effect
from scoring.cli.reports import backfill_line, backfill_payload, backfill_text
from scoring.errors import DaScoreError, SettingsError
from scoring.evidence.rules import rules_of
from scoring.jobs.backfill import BackfillPlan, LogJob, LogReport, backfill_log
from scoring.log.find import FoundLog, find_logs, roots_from_file
from scoring.log.settings import resolve_settings


@click.command(epilog="Example:  da-score backfill ~/src --dry-run")
@click.argument("roots", nargs=-1, type=click.Path(path_type=Path), metavar="[ROOT]...")
@shared_options(*(name for name in SCORING_OPTIONS if name != "iter-log-dir"))
@click.option(
    "--from-file", type=click.Path(path_type=Path), metavar="LIST", help="Read roots from a file, one a line."
)
@click.option("--dry-run", is_flag=True, help="Say what would be scored and why, and write nothing.")
@click.option("--force", is_flag=True, help="Score what is up to date too.")
@click.option("--refresh-git", is_flag=True, help="Score what only git answers differently now.")
@click.option("--allow-evidence-loss", is_flag=True, help="Replace sidecars whose transcripts are gone.")
@click.option("--since", metavar="DATE", help="Only iterations of this day (YYYY-MM-DD) or later.")
@click.option(
    "--only", metavar="SIGNAL", help="Only iterations whose sidecar shows this signal absent, or that have none."
)
@click.option(
    "--jobs", "at_once", type=click.IntRange(1, 64), metavar="K", help="How many logs at once.  [default: one per core]"
)
def command(
    roots: tuple[Path, ...],
    options: dict[str, Any],
    from_file: Path | None,
    since: str | None,
    only: str | None,
    at_once: int | None,
    **flags: bool,
) -> None:
    """Score what is missing or out of date in the logs at ROOT: no sidecar, another rubric, or changed inputs.

    A ROOT is a repository, a folder of repositories, or a log directory; by default the current directory. Skips what
    is up to date, continues past a broken log, can be interrupted and started again. Exit 1 when a log failed.
    """
    settings = resolve_settings(options)
    rubric = find_rubric(settings.rubric)
    if only is not None and rubric.signal(only) is None:
        raise SettingsError(f"--only {only!r} is no signal of rubric {rubric.version}")
    found = find_logs([*roots, *(roots_from_file(from_file) if from_file else ())] or [settings.repo_dir])
    wanted = min(at_once or os.cpu_count() or 1, len(found))
    plan = BackfillPlan(
        rubric,
        since=_date(since),
        only_absent=only,
        cache_dir=cache_dir(settings),
        processes=settings.processes if wanted == 1 else 1,
        **flags,
    )
    reports: list[LogReport] = []
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        jobs, broken = _jobs(found, options)
        done = itertools.chain(broken, _reports(jobs, plan, wanted))
        for report in _shown(done, len(found), settings.json, plan.dry_run):
            reports.append(report)
            for text in report.warnings:
                warn(text)
    finally:
        signal.signal(signal.SIGTERM, previous)
    reports.sort(key=lambda r: [os.fspath(log.iter_log_dir) for log in found].index(os.fspath(r.iter_log_dir)))
    if settings.json:
        write_json(backfill_payload(reports, plan))
    else:
        write(backfill_text(reports, plan))
    if failed := [r for r in reports if r.error]:
        raise DaScoreError(f"{len(failed)} of {len(reports)} logs failed; each is named above with its error")


def _date(text: str | None) -> datetime.date | None:
    try:
        return None if text is None else datetime.date.fromisoformat(text)
    except ValueError as e:
        raise SettingsError(f"--since {text!r} is no date; write it as 2026-06-03") from e


def _jobs(found: list[FoundLog], options: dict[str, Any]) -> tuple[list[LogJob], list[LogReport]]:
    """Return what to do, and a report of each log whose settings cannot be used."""
    jobs: list[LogJob] = []
    broken: list[LogReport] = []
    for log in found:
        try:
            jobs.append(_job(log, options))
        except DaScoreError as e:
            broken.append(LogReport(log.iter_log_dir, error=str(e)))
    return jobs, broken


def _job(log: FoundLog, options: dict[str, Any]) -> LogJob:
    """Return what to do for one log, under the settings of its own repository.

    Raises:
        NotARepositoryError: nothing says which repository that is: the log lies in none.
        RubricError, SettingsError: its settings cannot be used.
    """
    settings = settings_of(log, options)
    rubric = find_rubric(settings.rubric)
    for text in without_effect(settings, rules_of(rubric)):
        warn(f"{log.iter_log_dir}: {text}")
    named = settings.transcript_dirs
    return LogJob(log.iter_log_dir, settings.repo_dir, named, rubric, settings.transcripts, settings.trunk)


def _terminate(*_: object) -> None:
    raise KeyboardInterrupt


def _reports(jobs: list[LogJob], plan: BackfillPlan, processes: int) -> Iterator[LogReport]:
    """Yield a report per log, as they are done."""
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
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():  # nobody waits for what is under way: no file is half done
                worker.terminate()
            raise


def _report(job: LogJob, plan: BackfillPlan) -> LogReport:
    """Bring one log up to date; a bug that it brings to light does not stop the others."""
    try:
        return backfill_log(job, plan)
    except Exception as e:
        return LogReport(job.iter_log_dir, error=f"internal error, please report it: {type(e).__name__}: {e}")


def _quiet_worker(parent: int) -> None:
    """Leave interrupting to the process that started this one, and end when that is gone, however it ended."""

    def look_for_parent(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, look_for_parent)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)


def _shown(reports: Iterator[LogReport], total: int, quiet: bool, dry_run: bool) -> Iterator[LogReport]:
    """Pass reports on: under a progress bar when standard error is a terminal, otherwise with a line for each."""
    import sys

    if sys.stderr is not None and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import track

        yield from track(reports, "backfill", total, console=Console(stderr=True), transient=True)
        return
    for report in reports:
        if not quiet:
            write(backfill_line(report, dry_run))
        yield report
