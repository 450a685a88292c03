"""What is handed out to workers, and what counts when it does not come back; without a cluster."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.extras import needs

from rubric import find_rubric
from scoring.cli.fleet import _text_of
from scoring.errors import FleetError
from scoring.fleet import coordinator
from scoring.fleet.coordinator import Coordinator, FleetEvent
from scoring.fleet.dataset import RepositoryState
from scoring.fleet.fleet_toml import FleetConfig, Source
from scoring.fleet.on_worker import BEGUN, Result
from scoring.fleet.run import FleetReport
from scoring.fleet.sources import Repository

pytestmark = needs("distributed")


class Given:
    """What a client gives for something that was submitted."""

    def __init__(self) -> None:
        self.status, self.value = "pending", None
        self.error: Exception | None = None
        self._callbacks: list[Callable[[Given], None]] = []

    def end(
        self, value: Any = None, error: Exception | None = None, status: str = ""
    ) -> None:
        self.value, self.error = value, error
        self.status = status or ("error" if error else "finished")
        for function in self._callbacks:
            function(self)

    def result(self, timeout: float) -> Any:  # noqa: ARG002 - as that of Dask
        return self.value

    def exception(self, timeout: float) -> Exception | None:  # noqa: ARG002 - as that of Dask
        return self.error

    def add_done_callback(self, function: Callable[["Given"], None]) -> None:
        if self.status == "pending":
            self._callbacks.append(function)
        else:
            function(self)

    def release(self) -> None:
        pass


class OneWorker:
    """A cluster of one worker. A ``poisoned`` repository ends it, and all that waits there."""

    status = "running"
    scheduler = None
    cluster = None

    def __init__(
        self,
        poisoned: Sequence[str] = (),
        says: bool = True,
        broken: Sequence[str] = (),
        lost: Sequence[str] = (),
    ) -> None:
        self.handed_out: list[str] = []
        self._poisoned, self._says, self._broken, self._lost = (
            poisoned,
            says,
            broken,
            lost,
        )
        self._there: list[tuple[str, str, Given]] = []
        self._quiet = False

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:  # noqa: ARG002 - as that of Dask
        if self._quiet:
            self.work()
        self._quiet = True
        return {"workers": {"tcp://one": {"nthreads": 1}}}

    def subscribe_topic(
        self, topic: str, handler: Callable[[tuple[float, str]], None]
    ) -> None:
        assert topic == BEGUN
        self.begins = handler

    def unsubscribe_topic(self, topic: str) -> None:
        pass

    def submit(self, _: Any, one: Repository, *__: Any, key: str, pure: bool) -> Given:
        assert not pure
        self.handed_out.append(one.name)
        future = Given()
        self._there.append((one.name, key, future))
        self._quiet = False
        if len(self._there) > coordinator.AHEAD:
            self.work()
        return future

    def work(self) -> None:
        """Do what is first, and end all that is there where that kills the worker."""
        import distributed

        killed: Any = distributed.KilledWorker  # wants the worker that it names
        if not self._there:
            return
        name, key, future = self._there.pop(0)
        if self._says:
            self.begins((time.time(), key))
        if name in self._poisoned:
            ended, self._there = [future, *(one for *_, one in self._there)], []
            for one in ended:
                one.end(error=killed(key, None, 0))
        elif name in self._lost:
            future.end(status="lost")
        else:
            future.end(
                Result(RepositoryState("3.1.0", name)),
                TypeError("it cannot be sent") if name in self._broken else None,
            )


@pytest.fixture(autouse=True)
def looks_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "_LOOKS_EVERY", -1)
    monkeypatch.setattr(coordinator, "_WAITS", 0.01)


def fleet_of(folder: Path, count: int) -> list[Repository]:
    return [
        Repository(f"r{number}", Source(), folder, folder) for number in range(count)
    ]


def run(folder: Path, cluster: OneWorker, count: int) -> list[FleetEvent]:
    """Run a fleet of so many repositories, ``r0`` and so on, to its end."""
    fleet = fleet_of(folder, count)
    started = Coordinator(
        cluster, FleetConfig(str(folder / "results")), find_rubric("3.1.0")
    )
    events = [event for event in started.run(fleet) if event]
    cluster.begins((time.time(), "of another fleet on the scheduler"))
    done = Counter(
        event.repository for event in events if event.kind in ("done", "failed")
    )
    assert done == Counter(one.name for one in fleet)
    return events


def failures(events: list[FleetEvent]) -> list[tuple[str, str, int]]:
    return [
        (e.kind, e.repository, e.more["attempts"]) for e in events if e.kind != "done"
    ]


def test_each_goes_to_a_worker_once_in_order(tmp_path: Path) -> None:
    cluster = OneWorker()
    run(tmp_path, cluster, 5)
    assert cluster.handed_out == ["r0", "r1", "r2", "r3", "r4"]


@pytest.mark.parametrize(
    ("worker", "reason"),
    [
        pytest.param({"poisoned": ["r1"]}, "its worker ended", id="kills its worker"),
        pytest.param(
            {"broken": ["r1"]}, "TypeError: it cannot be sent", id="cannot be run"
        ),
        pytest.param({"lost": ["r1"]}, "", id="its result never arrives"),
    ],
)
def test_one_that_fails_three_times_is_given_up_with_the_reason_and_the_others_have_not_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker: dict[str, Any], reason: str
) -> None:
    monkeypatch.setattr(coordinator, "_MOST_LOST", 5)
    cluster = OneWorker(**worker)
    events = run(tmp_path, cluster, 5)
    assert failures(events) == [
        ("retried", "r1", 1),
        ("retried", "r1", 2),
        ("failed", "r1", 3),
    ]
    assert reason in next(e.more["reason"] for e in events if e.kind == "failed")
    if "poisoned" in worker:
        assert cluster.handed_out.count("r2") > 1, "it was handed out again"


def test_one_that_kills_before_its_worker_can_say_so_is_given_up_all_the_same(
    tmp_path: Path,
) -> None:
    events = run(tmp_path, OneWorker(poisoned=["r1"], says=False), 5)
    assert {event.repository for event in events if event.kind != "done"} == {"r1"}


def test_a_cluster_without_workers_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "_EMPTY_AFTER", 0.01)
    cluster = OneWorker()
    monkeypatch.setattr(cluster, "scheduler_info", lambda **_: {"workers": {}})
    started = Coordinator(cluster, FleetConfig(str(tmp_path)), find_rubric("3.1.0"))
    with pytest.raises(FleetError, match="has no workers"):
        list(started.run(fleet_of(tmp_path, 2)))


@pytest.mark.parametrize(
    ("seconds", "said"), [(9.5, "a: 3 scored"), (12.2, "a: 3 scored (took 12 s)")]
)
def test_a_repository_that_took_long_says_so(seconds: float, said: str) -> None:
    more = {"iterations": 3, "broken": 0, "seconds": seconds}
    event = FleetEvent("done", "a", more)
    assert _text_of(event, FleetReport("results", "3.1.0")) == said
