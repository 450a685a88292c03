"""A fleet from its beginning to its end: what is to be done, the cluster, what came of it."""

import contextlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from rubric import Rubric, find_rubric
from scoring.errors import InputError
from scoring.fleet.cluster import default_workers, known_cluster, local_cluster
from scoring.fleet.commits import Failed
from scoring.fleet.coordinator import Coordinator, FleetEvent
from scoring.fleet.dataset import DataSet
from scoring.fleet.fleet_toml import FleetConfig
from scoring.fleet.lease import held
from scoring.fleet.sources import Repository, fingerprint_of, forget, repositories
from scoring.fleet.store import Store
from scoring.log.settings import days_of
from scoring.sidecars.fingerprint import digest_of

_LOOKING = 8
"""How many threads look whether repositories changed: they wait for the file system."""


@dataclass(frozen=True, slots=True)
class Where:
    """On what a fleet runs: the ``scheduler`` of a cluster, or else so many processes of this machine.

    ``dashboard`` is where Dask's dashboard listens, ``none`` for nowhere; without it, at a free port for this machine
    alone, if Bokeh is installed, which draws it.
    """

    scheduler: str | None = None
    workers: int | None = None
    dashboard: str | None = None

    @property
    def shown_at(self) -> str | None:
        """The address at which a cluster of this machine shows its dashboard; None for nowhere."""
        if self.dashboard is None:
            return "127.0.0.1:0" if importlib.util.find_spec("bokeh") else None
        return None if self.dashboard == "none" else self.dashboard


@dataclass(slots=True)
class FleetReport:
    """What came of a run: how many repositories there are, were skipped, scored, and which failed; rows are kept."""

    results: str
    rubric: str
    repositories: int = 0
    skipped: int = 0
    scored: int = 0
    iterations: int = 0
    retried: int = 0
    running: int = 0
    failed: list[Failed] = field(default_factory=list)
    dashboard: str | None = None
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as the last event of ``fleet --json`` has it."""
        failed = [{"repository": f.repository, "reason": f.reason, "attempts": f.attempts} for f in self.failed]
        names = ("results", "rubric", "repositories", "skipped", "scored", "iterations", "retried")
        return {name: getattr(self, name) for name in names} | {"failed": failed, "seconds": round(self.seconds, 3)}


Say = Callable[[FleetEvent, FleetReport], None]


def run_fleet(config: FleetConfig, where: Where, say: Say, force: bool = False) -> FleetReport:
    """Score what changed of all repositories that a configuration names. ``force`` scores the others as well.

    Raises:
        FleetError: another fleet writes the data set, or the scheduler is lost; what was added counts.
        InputError, RubricError, WriteError: a source, the rubric or the data set cannot be used.
    """
    began = time.monotonic()
    if not days_of(config.horizon):
        raise InputError(f"horizon {config.horizon!r} is not a time above 0 such as 14d, 2w or 36h")
    rubric = find_rubric(config.rubric)
    report = FleetReport(config.results, rubric.version)
    store = Store(config.results, config.storage)
    forget()
    found = repositories(config)
    with held(store) as lease:
        dataset = DataSet(store, lease).load()
        dataset.sweep()
        todo = found if force else changed(found, config, rubric, dataset)
        report.repositories, report.skipped = len(found), len(found) - len(todo)
        say(FleetEvent("begun", more={"repositories": len(found), "to_score": len(todo)}), report)
        if todo:
            with _cluster(config, where, len(todo)) as client:
                report.dashboard = client.dashboard_link if where.scheduler or where.shown_at else None
                say(
                    FleetEvent("cluster", more={"scheduler": client.scheduler.address, "dashboard": report.dashboard}),
                    report,
                )
                coordinator = Coordinator(client, dataset, config, rubric)
                for event in coordinator.run(todo):
                    _count(event, report)
                    report.running = coordinator.running
                    say(event, report)
        dataset.tidy()
    report.seconds = time.monotonic() - began
    say(FleetEvent("ended", more=report.as_dict()), report)
    return report


def changed(found: list[Repository], config: FleetConfig, rubric: Rubric, dataset: DataSet) -> list[Repository]:
    """Return the repositories of which nothing stands that was made of what is there now."""
    state = dataset.state(rubric.version)
    digests = {commit.id: commit.digest for commit in dataset.of(rubric.version)}

    def same(one: Repository) -> bool:
        known = state.standing.get(one.name)
        if known is None or one.name in state.failed or digests[known[0]] != digest_of(repr(rubric).encode()):
            return False
        return fingerprint_of(one, config, rubric, known[1].watched) == known[1].fingerprint

    with ThreadPoolExecutor(_LOOKING) as pool:
        return [one for one, stands in zip(found, pool.map(same, found), strict=True) if not stands]


@contextlib.contextmanager
def _cluster(config: FleetConfig, where: Where, tasks: int) -> Iterator[Any]:
    if where.scheduler:
        with known_cluster(where.scheduler) as client:
            yield client
        return
    workers = min(where.workers or config.workers or default_workers(), tasks)
    with local_cluster(workers, config.memory, where.shown_at) as client:
        yield client


def _count(event: FleetEvent, report: FleetReport) -> None:
    if event.kind == "done":
        report.scored += 1
        report.iterations += event.more["iterations"]
    elif event.kind == "retried":
        report.retried += 1
    elif event.kind == "failed":
        report.failed.append(Failed(event.repository, event.more["reason"], event.more["attempts"]))
