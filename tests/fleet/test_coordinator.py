"""What is handed out to workers together, and what counts when it does not come back; without a cluster."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.extras import needs

import scoring.fleet.attempts
import scoring.fleet.coordinator
from rubric import Rubric, find_rubric
from scoring.fleet.attempts import BEGUN, score_some
from scoring.fleet.coordinator import Coordinator, FleetEvent
from scoring.fleet.dataset import DataSet
from scoring.fleet.fleet_toml import FleetConfig, Source
from scoring.fleet.on_worker import Result
from scoring.fleet.sources import Repository
from scoring.fleet.store import Store

pytestmark = needs("distributed")


class Given:
    """What a client gives for something that was submitted, and that has ended already."""

    def __init__(self, result: object = None, error: Exception | None = None) -> None:
        self._result, self._error = result, error
        self.status = "error" if error else "finished"

    def result(self, timeout: float) -> object:  # noqa: ARG002 - as that of Dask
        return self._result

    def exception(self, timeout: float) -> Exception | None:  # noqa: ARG002 - as that of Dask
        return self._error

    def add_done_callback(self, function: Callable[["Given"], None]) -> None:
        function(self)

    def release(self) -> None:
        pass


class OneWorker:
    """A cluster of one worker, which does at once what is submitted; ``poisoned`` repositories kill it."""

    status = "running"

    def __init__(self, poisoned: Sequence[str] = (), says: bool = True, broken: Sequence[str] = ()) -> None:
        self.handed_out: list[list[str]] = []
        self._poisoned, self._says, self._broken = poisoned, says, broken

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:  # noqa: ARG002 - as that of Dask
        return {"workers": {"tcp://one": {"nthreads": 1}}}

    def subscribe_topic(self, topic: str, handler: Callable[[tuple[float, str]], None]) -> None:
        assert topic == BEGUN
        self._handler = handler

    def unsubscribe_topic(self, topic: str) -> None:
        pass

    def submit(self, function: Callable[..., Any], *what: Any, key: str, pure: bool) -> Given:  # noqa: ARG002
        import distributed

        killed: Any = distributed.KilledWorker  # wants the worker that it names
        if function is not score_some:
            return Given()
        self.handed_out.append([one.name for one in what[1]])
        if any(one.name in self._broken for one in what[1]):
            return Given(error=TypeError("it cannot be sent"))
        try:
            return Given(function(self.score, *what[1:]))
        except ProcessLookupError:
            return Given(error=killed(key, None, 0))

    def score(self, one: Repository, config: FleetConfig, rubric: Rubric, key: str, *parts: object) -> Result:  # noqa: ARG002
        if self._says:
            self._handler((time.time(), key))
        if one.name in self._poisoned:
            raise ProcessLookupError
        return Result(one.name, "x")


def run(folder: Path, cluster: OneWorker, count: int) -> list[FleetEvent]:
    """Run a fleet of so many repositories, ``r0`` and so on, to its end."""
    config = FleetConfig(str(folder / "results"))
    fleet = [Repository(f"r{number}", Source(), folder, folder) for number in range(count)]
    events = list(Coordinator(cluster, DataSet(Store(config.results)), config, find_rubric("2.3.0")).run(fleet))
    done = Counter(event.repository for event in events if event.kind in ("done", "failed"))
    assert done == Counter(one.name for one in fleet)
    return events


def test_several_go_to_a_worker_together_and_fewer_when_few_are_left(tmp_path: Path) -> None:
    cluster = OneWorker()
    run(tmp_path, cluster, 60)
    sizes = [len(some) for some in cluster.handed_out]
    assert sizes[0] == 8
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


def test_what_a_worker_did_not_come_to_is_handed_out_again_and_has_not_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring.fleet.attempts, "A_WHILE", -1.0)
    cluster = OneWorker()
    events = run(tmp_path, cluster, 40)
    assert len(cluster.handed_out) == 40
    assert max(map(len, cluster.handed_out)) > 1
    assert {event.kind for event in events} == {"done", "added"}


def test_of_several_on_a_worker_that_died_only_the_one_it_worked_on_has_failed(tmp_path: Path) -> None:
    cluster = OneWorker(poisoned=["r3"])
    events = run(tmp_path, cluster, 40)
    assert {event.repository for event in events if event.kind in ("retried", "failed")} == {"r3"}
    assert [event.more["attempts"] for event in events if event.kind == "retried"] == [1, 2]
    (failed,) = (event for event in events if event.kind == "failed")
    assert failed.more["attempts"] == 3
    assert "its worker ended" in failed.more["reason"]
    assert len(cluster.handed_out[0]) > 4
    again = [some for some in cluster.handed_out[1:] if set(some) & set(cluster.handed_out[0])]
    assert all(len(some) == 1 for some in again), "each of them goes alone from then on"


def test_one_that_kills_before_its_worker_can_say_so_is_given_up_all_the_same(tmp_path: Path) -> None:
    events = run(tmp_path, OneWorker(poisoned=["r3"], says=False), 40)
    assert {event.repository for event in events if event.kind in ("retried", "failed")} == {"r3"}


def test_of_several_that_could_not_be_run_each_is_tried_alone(tmp_path: Path) -> None:
    events = run(tmp_path, OneWorker(broken=["r5"]), 40)
    failures = [event for event in events if event.kind in ("retried", "failed")]
    assert {event.repository for event in failures} == {"r5"}
    assert len(failures) == 3
    assert failures[-1].more["reason"] == "TypeError: it cannot be sent"


def test_a_large_repository_goes_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def parts_of(one: Repository, config: FleetConfig) -> int:  # noqa: ARG001 - as the other
        return 3 if one.name == "r3" else 1

    monkeypatch.setattr(scoring.fleet.coordinator, "parts_of", parts_of)
    cluster = OneWorker()
    run(tmp_path, cluster, 40)
    assert cluster.handed_out[:2] == [["r0", "r1", "r2"], ["r3"]]


def test_running_counts_what_was_begun_and_has_not_ended(tmp_path: Path) -> None:
    cluster = OneWorker()
    config = FleetConfig(str(tmp_path / "results"))
    coordinator = Coordinator(cluster, DataSet(Store(config.results)), config, find_rubric("2.3.0"))
    fleet = [Repository(f"r{number}", Source(), tmp_path, tmp_path) for number in range(40)]
    running = {coordinator.running for _ in coordinator.run(fleet)}
    assert running <= {0, 1, 2}
    assert coordinator.running == 0
    cluster._handler((time.time(), "da-score-1-another.0"))
    assert coordinator.running == 0, "what another fleet on the scheduler begins with, or comes late, is nobody's here"
