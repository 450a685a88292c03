"""A fleet from its beginning to its end: what is to be done, the cluster by Dask, what came of it."""

import contextlib
import functools
import json
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rubric import Rubric, find_rubric
from scoring.errors import FleetError, InputError
from scoring.fleet.coordinator import Coordinator, FleetEvent
from scoring.fleet.dataset import DataSet, RepositoryState, where_of
from scoring.fleet.fleet_toml import FleetConfig
from scoring.fleet.sources import (
    Repository,
    evidence_key,
    fingerprint_of,
    folder_state,
    repositories,
)
from scoring.fleet.tables import FLEET_TABLES, WORK
from scoring.log.settings import days_of
from scoring.settings_table import read_toml
from scoring.sidecars.fingerprint import digest_of
from scoring.views.formats import require

_CONNECTS_WITHIN = 20  # how many seconds a scheduler has to answer


@contextlib.contextmanager
def cluster(scheduler: str | None, workers: int, memory: int = 0) -> Iterator[Any]:
    """Give the client of a scheduler, else FleetError, or of processes here of so many bytes, 0 for their share."""
    require("fleet", "distributed", "cryptography")
    import dask
    import distributed

    library: Any = distributed

    def close(opened: Any, seconds: float) -> None:
        with contextlib.suppress(Exception):  # a scheduler that was lost cannot be asked to end
            opened.close(timeout=seconds)

    with contextlib.ExitStack() as stack:
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.CRITICAL)  # the coordinator says in its own words what happens
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(
            dask.config.set(read_toml((Path(__file__).parent / "dask.toml").read_text("utf-8")))
        )
        if scheduler:
            try:
                client = library.Client(scheduler, timeout=_CONNECTS_WITHIN, set_as_default=False)
            except (OSError, TimeoutError, ValueError) as e:
                said = " ".join(str(e).split())[:200]
                raise FleetError(
                    f"scheduler {scheduler}: does not answer ({said}); is it running, and is this its address?"
                ) from e
            stack.callback(close, client, 5)
        else:
            local = library.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=memory or "auto",
                security=library.Security.temporary(),  # who has no key of this cluster cannot hand it code
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
            )
            stack.callback(close, local, 10)
            client = stack.enter_context(library.Client(local, set_as_default=False))
        yield client


_LOOKING = 8  # how many threads look whether repositories changed: they wait for the file system
_TOGETHER, _SECONDS_TOGETHER = (
    400,
    20.0,
)  # after how many repositories, or seconds, results are added to the data set


@dataclass(frozen=True, slots=True)
class Failed:
    """A repository that was given up: why, and after how many attempts."""

    repository: str
    reason: str
    attempts: int


@dataclass(slots=True)
class FleetReport:
    """What came of a run: how many repositories there are, were skipped, scored, and which failed; rows are kept."""

    results: str
    rubric: str
    repositories: int = 0
    skipped: int = 0
    scored: int = 0
    iterations: int = 0
    running: int = 0
    failed: list[Failed] = field(default_factory=list)
    seconds: float = 0.0

    def count(self, event: FleetEvent) -> None:
        """Add what came of a repository."""
        match event.kind:
            case "done":
                self.scored += 1
                self.iterations += event.more["iterations"]
            case "failed":
                self.failed.append(
                    Failed(event.repository, event.more["reason"], event.more["attempts"])
                )

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as the last event of ``fleet --json`` has it."""
        given = asdict(self) | {"seconds": round(self.seconds, 3)}
        del given["running"]
        return given


Say = Callable[[FleetEvent, FleetReport], None]


def run_fleet(
    config: FleetConfig,
    say: Say,
    scheduler: str | None = None,
    workers: int | None = None,
    force: bool = False,
) -> FleetReport:
    """Score what changed of all repositories, with ``force`` all; FleetError, InputError, RubricError, WriteError.

    That is done by the cluster of a ``scheduler``, or else by so many ``workers``, which are processes here.
    """
    began = time.monotonic()
    if not days_of(config.horizon):
        raise InputError(f"horizon {config.horizon!r} is not a time above 0 such as 14d, 2w or 36h")
    rubric = find_rubric(config.rubric)
    report = FleetReport(config.results, rubric.version)
    found = repositories(config)
    with DataSet.for_writing(config.results, config.storage) as dataset:
        todo = found if force else changed(found, config, rubric, dataset)
        report.repositories, report.skipped = len(found), len(found) - len(todo)
        say(FleetEvent("begun", more={"repositories": len(found), "to_score": len(todo)}), report)
        if todo:
            count = min(workers or config.workers or len(os.sched_getaffinity(0)), len(todo))
            with cluster(scheduler, count, config.memory) as client:
                say(FleetEvent("cluster", more={"scheduler": client.scheduler.address}), report)
                _score(todo, dataset, Coordinator(client, config, rubric), rubric, say, report)
            dataset.tidy()
    report.seconds = time.monotonic() - began
    say(FleetEvent("ended", more=report.as_dict()), report)
    return report


def _score(
    todo: list[Repository],
    dataset: DataSet,
    coordinator: Coordinator,
    rubric: Rubric,
    say: Say,
    report: FleetReport,
) -> None:
    batch: list[FleetEvent] = []
    added = time.monotonic()

    def add() -> None:
        some, batch[:] = batch.copy(), []
        add_results(dataset, rubric, some)
        say(FleetEvent("added", more={"repositories": len(some)}), report)

    try:
        for event in coordinator.run(todo):
            if event is not None:
                report.count(event)
                report.running = coordinator.running
                say(event, report)
                batch += [event] if event.kind in ("done", "failed") else []
            if len(batch) >= _TOGETHER or (batch and time.monotonic() - added > _SECONDS_TOGETHER):
                add()
                added = time.monotonic()
    finally:
        if batch:
            add()


def add_results(dataset: DataSet, rubric: Rubric, events: Sequence[FleetEvent]) -> None:
    """Add repositories that are done or were given up to the data set, all or none; raises as :meth:`DataSet.put`."""
    import pyarrow as pa

    results = [event.result for event in events if event.result]
    tables = {
        name: pa.concat_tables([result.tables[name] for result in results]).combine_chunks()
        for name in (FLEET_TABLES if results else ())
    }
    before = dataset.of(rubric.version)
    states = [_state(event, rubric, before.get(event.repository)) for event in events]
    names = [result.repository for result in results]
    again = any(before[name].scored for name in names if name in before)
    known = {name for (_, name), state in dataset.states.items() if state.scored}
    dataset.put(
        {WORK: tables.pop(WORK)} if tables else {},
        where_of(None, names) if known & {*names} else None,
    )
    dataset.put(tables, where_of(rubric.version, names) if again else None)
    dataset.note(states)


def _state(event: FleetEvent, rubric: Rubric, before: RepositoryState | None) -> RepositoryState:
    if event.result is None:
        before = before or RepositoryState(
            rubric.version, event.repository, evidence=json.dumps(evidence_key(rubric))
        )
        return replace(before, reason=event.more["reason"], attempts=event.more["attempts"])
    r = event.result
    digest, evidence = digest_of(repr(rubric).encode()), json.dumps(evidence_key(rubric))
    return RepositoryState(
        rubric.version,
        r.repository,
        True,
        digest,
        evidence,
        r.fingerprint,
        r.iterations,
        r.broken,
        r.watched,
    )


def changed(
    found: list[Repository], config: FleetConfig, rubric: Rubric, dataset: DataSet
) -> list[Repository]:
    """Return the repositories that failed, are new, or have changed since their rows were made."""
    known, digest = dataset.of(rubric.version), digest_of(repr(rubric).encode())
    look = functools.cache(
        folder_state
    )  # 2,000 repositories may share one folder of 5,000 transcripts

    def same(one: Repository) -> bool:
        state = known.get(one.name)
        if state is None or state.reason or state.digest != digest:
            return False
        return (
            fingerprint_of(one, config, rubric, json.loads(state.watched), look)
            == state.fingerprint
        )

    with ThreadPoolExecutor(_LOOKING) as pool:
        return [
            one for one, is_same in zip(found, pool.map(same, found), strict=True) if not is_same
        ]
