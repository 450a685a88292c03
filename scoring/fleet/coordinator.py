"""Hands repositories out to Dask's workers, few at a time (docs/FLEET.md, "When something fails")."""

import contextlib
import queue
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from rubric import Rubric
from scoring.errors import FleetError
from scoring.fleet.fleet_toml import FleetConfig
from scoring.fleet.on_worker import BEGUN, Result, begin_and_score
from scoring.fleet.sources import Repository

AHEAD = 1  # how many repositories wait at a worker for each that it works on
_LOOKS_EVERY = 2.0  # how often, in seconds, the coordinator asks how many workers there are
_WAITS = 1.0  # for how many seconds the coordinator waits for a result before it looks around
_LOST_AFTER, _EMPTY_AFTER = (
    15.0,
    45.0,
)  # seconds without a scheduler, and without a worker, that are an error
_OFTEN = 8  # a repository that was handed out so often goes alone: a worker that ends then ended because of it
_MOST_LOST = 50  # how often a repository is handed out of which no result arrives


@dataclass(frozen=True, slots=True)
class FleetEvent:
    """What happened: ``done``, ``retried``, ``failed`` and others, of which repository, and its ``result`` if done."""

    kind: str
    repository: str = ""
    more: dict[str, Any] = field(default_factory=dict)
    result: Result | None = None


@dataclass(slots=True)
class Task:
    """One repository on its way: how often it was handed out, and how often it failed."""

    repository: Repository
    handed_out: int = 0
    attempts: int = 0


class Coordinator:
    """One run over some repositories, through the client of a cluster."""

    def __init__(self, client: Any, config: FleetConfig, rubric: Rubric) -> None:
        self._client, self._config, self._rubric = client, replace(config, sources=()), rubric
        self._waiting: deque[Task] = deque()
        self._out: dict[str, tuple[Task, Any]] = {}
        self._begun: dict[str, bool] = {}
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._threads = self._number = 0
        self._looked, self._alone_since = float("-inf"), float("inf")

    @property
    def running(self) -> int:
        """How many repositories workers have begun with and not ended, as far as is known."""
        return sum(list(self._begun.values()))

    def run(self, repositories: Iterable[Repository]) -> Iterator[FleetEvent | None]:
        """Score repositories and yield what happens, None each idle second; FleetError if scheduler or workers go."""
        self._waiting.extend(Task(one) for one in repositories)
        self._client.subscribe_topic(BEGUN, lambda event: self._begins(event[1]))
        try:
            while self._waiting or self._out:
                self._look()
                self._hand_out()
                try:
                    yield self._ended(self._answers.get(timeout=_WAITS))
                except queue.Empty:
                    yield None
        finally:
            with contextlib.suppress(Exception):
                self._client.unsubscribe_topic(BEGUN)

    def _begins(self, key: str) -> None:
        if key in self._begun:
            self._begun[key] = True

    def _look(self) -> None:
        now, running = time.monotonic(), self._client.status == "running"
        if running and now - self._looked > _LOOKS_EVERY:
            self._looked = now
            with contextlib.suppress(
                Exception
            ):  # a scheduler that is gone shows in the client's status
                workers = self._client.scheduler_info(n_workers=-1)["workers"]
                self._threads = sum(worker["nthreads"] for worker in workers.values())
        if running and self._threads:
            self._alone_since = float("inf")
            return
        self._alone_since = min(self._alone_since, now)
        if now - self._alone_since > (_EMPTY_AFTER if running else _LOST_AFTER):
            where = self._client.scheduler.address if self._client.scheduler else "?"
            what = "has no workers" if running else "was lost"
            raise FleetError(
                f"scheduler {where}: {what}; what was added to the data set stays, start again to go on"
            )

    def _hand_out(self) -> None:
        room = max(self._threads, 1) * (1 + AHEAD)
        while self._waiting and len(self._out) < room and self._client.status == "running":
            often = any(task.handed_out > _OFTEN for task, _ in self._out.values())
            if self._out and (often or self._waiting[0].handed_out >= _OFTEN):
                break
            task = self._waiting.popleft()
            task.handed_out += 1
            self._number += 1
            key = f"da-score-{self._number}-{time.time_ns():x}"
            self._begun[key] = False
            given = task.repository, self._config, self._rubric, key
            future = self._client.submit(begin_and_score, *given, key=key, pure=False)
            self._out[key] = task, future
            future.add_done_callback(lambda _, key=key: self._answers.put(key))

    def _ended(self, key: str) -> FleetEvent | None:
        from distributed import KilledWorker

        task, future = self._out.pop(key)
        begun = self._begun.pop(key)
        try:
            error = future.exception(timeout=30) if future.status == "error" else None
            result: Result | None = (
                future.result(timeout=30) if future.status == "finished" else None
            )
        except Exception:  # its worker or the scheduler ended before it could be fetched
            error = result = None
        finally:
            future.release()
        if result is not None:
            if result.error:
                return self._failed(task, result.error)
            more = {
                "iterations": result.iterations,
                "broken": result.broken,
                "seconds": round(result.seconds, 3),
            }
            return FleetEvent(
                "done", result.repository, {**more, "warnings": list(result.warnings)}, result
            )
        if isinstance(error, KilledWorker):
            task.attempts += error.allowed_failures  # how often Dask tried again itself
            if begun or error.allowed_failures or task.handed_out > _OFTEN:
                return self._failed(
                    task, "its worker ended: it was killed, or went over its limit of memory"
                )
        elif error is not None:
            return self._failed(
                task, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            )
        elif task.handed_out > _MOST_LOST:
            return self._failed(task, "its result never arrives; look at the cluster's logs")
        self._waiting.append(task)
        return None

    def _failed(self, task: Task, reason: str) -> FleetEvent:
        task.attempts += 1
        more = {"reason": reason, "attempts": task.attempts}
        if task.attempts < self._config.attempts:
            self._waiting.append(task)
            return FleetEvent("retried", task.repository.name, more)
        return FleetEvent("failed", task.repository.name, more)
