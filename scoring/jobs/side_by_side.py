"""Many logs at once, each in a process of its own; what stops one does not stop the others."""

import os
import signal
from collections.abc import Iterator, Sequence

from scoring.jobs.backfill import BackfillPlan, LogJob, LogReport, backfill_log


def backfill_logs(jobs: Sequence[LogJob], plan: BackfillPlan, processes: int) -> Iterator[LogReport]:
    """Yield a report for each log as it is done, with at most ``processes`` logs at once.

    A caller that stops early, also by an interruption, ends the processes: no file is left half written.
    """
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
            for worker in multiprocessing.active_children():  # files are replaced whole, so none is left half written
                worker.terminate()
            raise


def _report(job: LogJob, plan: BackfillPlan) -> LogReport:
    """Bring one log up to date; a bug that shows in it does not stop the others."""
    try:
        return backfill_log(job, plan)
    except Exception as e:
        return LogReport(job.iter_log_dir, error=f"internal error, please report it: {type(e).__name__}: {e}")


def _quiet_worker(parent: int) -> None:
    """Leave interruptions to the process that started this one, and end when that is gone, however it ended."""

    def look_for_parent(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, look_for_parent)
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
