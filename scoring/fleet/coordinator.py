"""Hands repositories out to workers, and takes down what comes back (``docs/FLEET.md``, "When something fails").

Only a few repositories are out at a time, so neither this process nor the scheduler grows with the fleet. What comes
back is added to the data set some at a time. A repository whose worker dies, or that fails, is handed out again behind
the others, until it has failed often enough. A worker says when it begins with one: what only waited on a worker that
died has not failed.
"""

import contextlib
import queue
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rubric import Rubric
from scoring.errors import DaScoreError, FleetError
from scoring.fleet.commits import Commit, Done, Failed
from scoring.fleet.dataset import DataSet
from scoring.fleet.fleet_toml import FleetConfig
from scoring.fleet.on_worker import Result, from_bytes, score_repository
from scoring.fleet.sources import Repository, evidence_key
from scoring.fleet.splitting import PartRead, parts_of, read_part
from scoring.sidecars.fingerprint import digest_of

BEGUN = "da-score-fleet-begun"
"""The topic on which workers say which attempt they begin with."""

AHEAD = 1
"""How many repositories wait on each worker beside the one that it works on."""

_TOGETHER = 400
_BYTES_TOGETHER = 32 << 20
_SECONDS_TOGETHER = 20.0
"""After how many repositories, bytes of rows, or seconds what came back is added to the data set."""

_LOOKS_EVERY = 2.0
"""How often, in seconds, somebody looks how many workers there are."""

_LOST_AFTER, _EMPTY_AFTER = 15.0, 45.0
"""For how many seconds there may be no scheduler, and no worker, before that is an error. A worker that died is started
anew, which takes a while on a busy machine."""


_SURELY_BEGUN = 8
"""After how many times it must have been begun, whatever was heard of it."""

_MOST_LOST = 50
"""How often the result of one repository may be lost on the way."""


@dataclass(slots=True)
class Task:
    """One repository on its way: how often it was begun and failed, and why at last."""

    repository: Repository
    attempts: int = 0
    handed_out: int = 0
    reason: str = ""
    lost: int = 0


@dataclass(frozen=True, slots=True)
class FleetEvent:
    """Something that happened: ``done``, ``retried``, ``failed`` or ``added``, of which repository, and more."""

    kind: str
    repository: str = ""
    more: dict[str, Any] = field(default_factory=dict)


def begin_and_score(one: Repository, config: FleetConfig, rubric: Rubric, key: str, *parts: list[PartRead]) -> Result:
    """Say on a worker that an attempt begins, and score the repository."""
    _begin(key)
    return score_repository(one, config, rubric, parts)


def begin_and_read(
    one: Repository, config: FleetConfig, rubric: Rubric, key: str, part: int, parts: int
) -> list[PartRead]:
    """Say on a worker that an attempt begins, and read one part of the transcripts."""
    _begin(key)
    return read_part(one, config, rubric, part, parts)


def _begin(key: str) -> None:
    from distributed import get_worker

    with contextlib.suppress(Exception):  # nothing but the count of attempts depends on it
        get_worker().log_event(BEGUN, key)


class Coordinator:
    """One run over some repositories."""

    def __init__(self, client: Any, dataset: DataSet, config: FleetConfig, rubric: Rubric) -> None:
        """Take the client of a cluster and the data set, whose lease is held."""
        self._client, self._dataset, self._config, self._rubric = client, dataset, config, rubric
        self._waiting: deque[Task] = deque()
        self._out: dict[str, tuple[Task, Any]] = {}
        self._begun: set[str] = set()
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._batch: list[tuple[Done | Failed, dict[str, bytes]]] = []
        self._batch_bytes = 0
        self._batch_since = 0.0
        self._number = self._threads = 0
        self._looked = float("-inf")

    @property
    def running(self) -> int:
        """How many repositories workers have begun with and not ended, as far as is known."""
        return len(self._begun)

    def run(self, repositories: Iterable[Repository]) -> Iterator[FleetEvent]:
        """Score repositories, and yield what happens.

        Raises:
            FleetError: the scheduler is lost, or it has no workers, or another fleet has the data set; what was added
                before counts.
            WriteError: the data set cannot be written.
        """
        self._waiting.extend(Task(one) for one in repositories)
        self._client.subscribe_topic(BEGUN, lambda event: self._begun.add(event[1]))
        try:
            while self._waiting or self._out:
                self._dataset.check()
                self._hand_out()
                yield from self._take(self._next())
                yield from self._added(whatever=False)
            yield from self._added(whatever=True)
        except (FleetError, KeyboardInterrupt):
            with contextlib.suppress(Exception):
                for _ in self._added(whatever=True):
                    pass
            raise
        finally:
            with contextlib.suppress(Exception):
                self._client.unsubscribe_topic(BEGUN)

    def _hand_out(self) -> None:
        room, config = self._room(), replace(self._config, sources=())
        while self._waiting and len(self._out) < room and self._client.status == "running":
            task = self._waiting.popleft()
            self._number += 1
            task.handed_out += 1
            key = f"da-score-{self._number}-{digest_of(task.repository.name.encode())[:8]}"
            what = task.repository, config, self._rubric, key
            count = parts_of(task.repository, config)
            parts = [
                self._client.submit(begin_and_read, *what, n, count, key=f"{key}-part-{n}", pure=False)
                for n in range(count if count > 1 else 0)
            ]
            future = self._client.submit(begin_and_score, *what, *parts, key=key, pure=False)
            self._out[key] = task, future
            future.add_done_callback(lambda _, key=key: self._answers.put(key))

    def _room(self) -> int:
        if time.monotonic() - self._looked > _LOOKS_EVERY:
            with contextlib.suppress(Exception):  # whether the scheduler is there shows when nothing comes back
                workers = self._client.scheduler_info(n_workers=-1)["workers"]
                self._threads = sum(worker["nthreads"] for worker in workers.values())
            self._looked = time.monotonic()
        return max(self._threads, 1) * (1 + AHEAD)

    def _next(self) -> str | None:
        """Wait for an answer and return its key; None when there is none for now.

        Raises:
            FleetError: the scheduler is lost, or has had no workers for too long.
        """
        began = time.monotonic()
        while time.monotonic() - began < (_EMPTY_AFTER if self._client.status == "running" else _LOST_AFTER):
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=0.5)
            if self._client.status == "running":
                with contextlib.suppress(Exception):
                    if self._client.scheduler_info(n_workers=-1)["workers"]:
                        return None
            if self._batch and time.monotonic() - began > 1:
                return None
        where = self._client.scheduler.address if self._client.scheduler else "?"
        gone = "was lost" if self._client.status != "running" else "has no workers"
        raise FleetError(f"scheduler {where}: {gone}; what was added to the data set stays, start again to go on")

    def _take(self, key: str | None) -> Iterator[FleetEvent]:
        if key is None or key not in self._out:
            return
        task, future = self._out.pop(key)
        begun = key in self._begun
        self._begun.discard(key)
        try:
            if future.status == "finished":
                result: Result = future.result(timeout=30)
            else:
                yield from self._fell(task, future, begun)
                return
        except Exception as e:  # its worker died before it could be fetched, or the scheduler did
            self._lost(task, e)
            return
        finally:
            future.release()
        if result.error:
            yield from self._failed(task, result.error)
            return
        done = Done(result.repository, result.fingerprint, result.iterations, result.broken, result.watched)
        self._hold(done, result.tables)
        more = {"iterations": result.iterations, "broken": result.broken, "seconds": round(result.seconds, 3)}
        yield FleetEvent("done", result.repository, {**more, "warnings": list(result.warnings)})

    def _fell(self, task: Task, future: Any, begun: bool) -> Iterator[FleetEvent]:
        """Take a repository whose worker ended, or whose scheduler is gone."""
        if future.status != "error":
            self._lost(task, FleetError("the scheduler let go of it"))
            return
        error = future.exception(timeout=30)
        from distributed import KilledWorker

        if isinstance(error, DaScoreError):
            yield from self._failed(task, str(error))
        elif not isinstance(error, KilledWorker):
            yield from self._failed(task, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
        elif begun or error.allowed_failures or task.handed_out > _SURELY_BEGUN:
            task.attempts += error.allowed_failures
            yield from self._failed(task, "its worker ended: it was killed, or went over its limit of memory")
        else:
            self._waiting.appendleft(task)

    def _lost(self, task: Task, error: Exception) -> None:
        """Hand out again what was lost on the way; whether there is still a scheduler shows when nothing comes back."""
        task.lost += 1
        if task.lost > _MOST_LOST:
            raise FleetError(f"{task.repository.name}: its result never arrives ({error}); look at the cluster's logs")
        if self._client.status != "running":
            time.sleep(0.2)
        self._waiting.appendleft(task)

    def _failed(self, task: Task, reason: str) -> Iterator[FleetEvent]:
        task.attempts += 1
        task.reason = reason
        more = {"reason": reason, "attempts": task.attempts}
        if task.attempts < self._config.attempts:
            self._waiting.append(task)
            yield FleetEvent("retried", task.repository.name, more)
            return
        self._hold(Failed(task.repository.name, reason, task.attempts), {})
        yield FleetEvent("failed", task.repository.name, more)

    def _hold(self, what: Done | Failed, tables: dict[str, bytes]) -> None:
        if not self._batch:
            self._batch_since = time.monotonic()
        self._batch.append((what, tables))
        self._batch_bytes += sum(map(len, tables.values()))

    def _added(self, whatever: bool) -> Iterator[FleetEvent]:
        """Add what came back to the data set, when it is enough, or ``whatever`` there is."""
        if not self._batch:
            return
        enough = len(self._batch) >= _TOGETHER or self._batch_bytes >= _BYTES_TOGETHER
        if whatever or enough or time.monotonic() - self._batch_since > _SECONDS_TOGETHER:
            batch, self._batch, self._batch_bytes = self._batch, [], 0
            add_results(self._dataset, self._rubric, batch)
            yield FleetEvent("added", more={"repositories": len(batch)})


def add_results(dataset: DataSet, rubric: Rubric, batch: Sequence[tuple[Done | Failed, dict[str, bytes]]]) -> None:
    """Add the rows of some repositories to the data set, all of them at once.

    Raises:
        WriteError: they could not be written; then none counts.
    """
    import pyarrow as pa

    done = tuple(what for what, _ in batch if isinstance(what, Done))
    failed = tuple(what for what, _ in batch if isinstance(what, Failed))
    names = dict.fromkeys(name for _, tables in batch for name in tables)
    tables = {name: pa.concat_tables([from_bytes(of[name]) for _, of in batch if name in of]) for name in names}
    digest = digest_of(repr(rubric).encode())
    dataset.add(Commit(dataset.next_id(), rubric.version, digest, evidence_key(rubric), done, failed), tables)
