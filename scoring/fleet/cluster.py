"""Dask: a cluster of processes on this machine, or one that runs somewhere."""

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from typing import Any

from scoring.errors import FleetError
from scoring.views.formats import require

_CONNECTS_WITHIN = 20
"""How many seconds a scheduler has to answer."""

SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # the coordinator counts: it knows which repository was begun
    "distributed.scheduler.work-stealing": False,
    "distributed.admin.low-level-log-length": 50,  # whole messages of each worker: with the usual 1,000 it grows
    "distributed.admin.log-length": 500,
    "distributed.comm.timeouts.connect": f"{_CONNECTS_WITHIN}s",
    "distributed.worker.daemon": True,
    "distributed.admin.log-format": "%(message)s",
    # What Dask does all the time whether there is work or not, in this process for the scheduler and for each worker's
    # guard: as often as it is by default it takes a twentieth of a core.
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "200ms",
    "distributed.worker.profile.interval": "100ms",
}


@contextlib.contextmanager
def cluster(scheduler: str | None, workers: int, memory: int = 0, dashboard: str | None = None) -> Iterator[Any]:
    """Give the client of a cluster: that of a scheduler, or one of processes here that ends with the block.

    Dask's log is switched off meanwhile: the coordinator says in its own words what happens.

    Args:
        scheduler: the address of a scheduler that runs; the others are for processes of this machine.
        workers: how many processes, one thread each.
        memory: how many bytes each may take before it is ended and started anew; 0 is its share of the machine.
        dashboard: the address of Dask's dashboard, as ``:8787``; None has none.

    Raises:
        FleetError: nothing answers at the address.
    """
    require("fleet", "distributed")
    import dask
    import distributed

    library: Any = distributed

    with contextlib.ExitStack() as stack:
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.CRITICAL)
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(dask.config.set(SETTINGS))
        if scheduler:
            try:
                client = library.Client(scheduler, timeout=_CONNECTS_WITHIN, set_as_default=False)
            except (OSError, TimeoutError, ValueError) as e:
                said = " ".join(str(e).split())[:200]
                raise FleetError(
                    f"scheduler {scheduler}: does not answer ({said}); is it running, and is this its address?"
                ) from e
            stack.callback(_closed, client, 5)
        else:
            local = library.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=memory or "auto",
                dashboard_address=dashboard or "127.0.0.1:0",
                scheduler_kwargs={"dashboard": dashboard is not None},
                silence_logs=logging.CRITICAL,
            )
            stack.callback(_closed, local, 10)
            client = stack.enter_context(library.Client(local, set_as_default=False))
        yield client


def _closed(opened: Any, seconds: float) -> None:
    with contextlib.suppress(Exception):  # a scheduler that was lost cannot be asked to end
        opened.close(timeout=seconds)


def default_workers() -> int:
    """Return how many workers are worth it here: one a core."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
