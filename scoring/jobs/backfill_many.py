"""Brings many logs up to date, several at once."""

import os
import signal
from collections.abc import Iterator

from scoring.errors import why_it_ended
from scoring.worker_processes import end_with_parent

from .backfill import BackfillPlan, LogReport, backfill_log


def backfill_logs(
    plans: list[BackfillPlan],
    processes: int,
) -> Iterator[LogReport]:
    """Bring logs up to date, and yield a report for each log as soon as it is done.

    Where a process is ended from outside, the logs that are not done get reports with an error.

    Args:
        plans: the logs.
        processes: how many logs at once. A caller that stops early ends these processes.
    """
    if processes <= 1:
        yield from map(_report_of, plans)
        return

    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(
        processes, context, _prepare_worker, (os.getpid(),)
    ) as pool:
        try:
            submitted = {pool.submit(_report_of, plan): plan for plan in plans}
            for future in as_completed(submitted):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    yield LogReport(
                        submitted[future].settings.iter_log_dir,
                        error="a process was ended from outside before this log was done;"
                        " start backfill again",
                    )
        except BaseException:
            # Files are replaced whole, so that none is left half written.
            for worker in multiprocessing.active_children():
                worker.terminate()
            # Leaving the pool waits for its thread, which would meet a closed pipe at exit.
            raise


def _report_of(plan: BackfillPlan) -> LogReport:
    """Bring one log up to date. A bug becomes the error of its report, so that other logs go on."""
    try:
        return backfill_log(plan)
    except Exception as e:
        return LogReport(plan.settings.iter_log_dir, error=why_it_ended(e))


def _prepare_worker(parent: int) -> None:
    """Leave interruptions to the process that started this one, and end when that process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent(parent)
