"""Hands repositories out to workers, and takes down what comes back (``docs/FLEET.md``, "When something fails").

Only a few repositories are out at a time, so neither this process nor the scheduler grows with the fleet. What comes
back is added to the data set some at a time. A repository whose worker dies, or that fails, is handed out again behind
the others, until it has failed often enough. A worker says when it begins with one: what only waited on a worker that
died has not failed.

A message to a worker and back costs this process more than a tenth of what a small repository costs a worker, so it
takes several at once. A large one that is read in parts, and one that was on a worker that died, go alone.
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
from scoring.fleet.attempts import BEGUN, Task, begin_and_read, begin_and_score, score_some
from scoring.fleet.commits import Commit, Done, Failed
from scoring.fleet.dataset import DataSet
from scoring.fleet.fleet_toml import FleetConfig
from scoring.fleet.on_worker import Result, from_bytes
from scoring.fleet.sources import Repository, evidence_key
from scoring.fleet.splitting import parts_of
from scoring.sidecars.fingerprint import digest_of

AHEAD = 1
"""How often as much as a worker works on waits there beside that."""

_SEVERAL = 8
"""How many repositories go to a worker at once at most; fewer when few are left, so that all workers have some."""

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


@dataclass(frozen=True, slots=True)
class FleetEvent:
    """Something that happened: ``done``, ``retried``, ``failed`` or ``added``, of which repository, and more."""

    kind: str
    repository: str = ""
    more: dict[str, Any] = field(default_factory=dict)


class Coordinator:
    """One run over some repositories."""

    def __init__(self, client: Any, dataset: DataSet, config: FleetConfig, rubric: Rubric) -> None:
        """Take the client of a cluster and the data set, whose lease is held."""
        self._client, self._dataset, self._config, self._rubric = client, dataset, config, rubric
        self._waiting: deque[Task] = deque()
        self._out: dict[str, tuple[list[Task], Any]] = {}
        self._begun: dict[str, int] = {}
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._batch: list[tuple[Done | Failed, dict[str, bytes]]] = []
        self._batch_bytes = 0
        self._batch_since = 0.0
        self._number = self._threads = 0
        self._looked = float("-inf")

    @property
    def running(self) -> int:
        """How many repositories workers have begun with and not ended, as far as is known."""
        return sum(number >= 0 for number in list(self._begun.values()))

    def run(self, repositories: Iterable[Repository]) -> Iterator[FleetEvent]:
        """Score repositories, and yield what happens.

        Raises:
            FleetError: the scheduler is lost, or it has no workers, or another fleet has the data set; what was added
                before counts.
            WriteError: the data set cannot be written.
        """
        self._waiting.extend(Task(one) for one in repositories)
        self._client.subscribe_topic(BEGUN, lambda event: self._heard(event[1]))
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

    def _heard(self, key: str) -> None:
        """Take down that a worker began with a repository: with which of those that came together."""
        together, _, number = key.rpartition(".")
        if together in self._begun:
            self._begun[together] = max(self._begun[together], int(number))

    def _hand_out(self) -> None:
        room, config = self._room(), replace(self._config, sources=())
        while self._waiting and len(self._out) < room and self._client.status == "running":
            some, count = self._some(room)
            self._number += 1
            key = f"da-score-{self._number}-{digest_of(some[0].repository.name.encode())[:8]}"
            how = config, self._rubric, key
            self._begun[key] = -1
            first, what = some[0].repository, [task.repository for task in some]
            parts = [
                self._client.submit(begin_and_read, first, *how, n, count, key=f"{key}-part-{n}", pure=False)
                for n in range(count if count > 1 else 0)
            ]
            future = self._client.submit(score_some, begin_and_score, what, *how, *parts, key=key, pure=False)
            self._out[key] = some, future
            future.add_done_callback(lambda _, key=key: self._answers.put(key))

    def _some(self, room: int) -> tuple[list[Task], int]:
        """Take those that go to a worker together, and say in how many parts the transcripts of one alone are read."""
        several = min(_SEVERAL, -(-len(self._waiting) // (2 * room)))
        some: list[Task] = []
        while self._waiting and len(some) < several:
            task = self._waiting[0]
            parts = parts_of(task.repository, self._config)
            apart = task.alone or parts > 1
            if apart and some:
                break
            task.handed_out += 1
            some.append(self._waiting.popleft())
            if apart:
                return some, parts
        return some, 1

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
        some, future = self._out.pop(key)
        begun = self._begun.pop(key)
        try:
            if future.status == "finished":
                results: list[Result] = future.result(timeout=30)
            else:
                yield from self._fell(some, future, begun)
                return
        except Exception as e:  # its worker died before it could be fetched, or the scheduler did
            self._lost(some, e)
            return
        finally:
            future.release()
        for task in reversed(some[len(results) :]):
            task.handed_out -= 1
            self._waiting.appendleft(task)
        for task, result in zip(some, results, strict=False):
            yield from self._ended(task, result)

    def _ended(self, task: Task, result: Result) -> Iterator[FleetEvent]:
        if result.error:
            yield from self._failed(task, result.error)
            return
        done = Done(result.repository, result.fingerprint, result.iterations, result.broken, result.watched)
        self._hold(done, result.tables)
        more = {"iterations": result.iterations, "broken": result.broken, "seconds": round(result.seconds, 3)}
        yield FleetEvent("done", result.repository, {**more, "warnings": list(result.warnings)})

    def _fell(self, some: list[Task], future: Any, begun: int) -> Iterator[FleetEvent]:
        """Take repositories whose worker ended, or whose scheduler is gone. ``begun`` is with which it began last."""
        if future.status != "error":
            self._lost(some, FleetError("the scheduler let go of it"))
            return
        error = future.exception(timeout=30)
        from distributed import KilledWorker

        killed = isinstance(error, KilledWorker)
        if len(some) > 1:  # what came before was scored, and is lost; what comes after only waited
            self._apart(task for number, task in enumerate(some) if not (killed and number == begun))
            if killed and begun >= 0:
                some[begun].alone = True
                yield from self._killed(some[begun])
            return
        (task,) = some
        if isinstance(error, DaScoreError):
            yield from self._failed(task, str(error))
        elif not killed:
            yield from self._failed(task, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
        elif begun >= 0 or error.allowed_failures or task.handed_out > _SURELY_BEGUN:
            task.attempts += error.allowed_failures
            yield from self._killed(task)
        else:
            self._apart(some)

    def _killed(self, task: Task) -> Iterator[FleetEvent]:
        yield from self._failed(task, "its worker ended: it was killed, or went over its limit of memory")

    def _lost(self, some: list[Task], error: Exception) -> None:
        """Hand out again what was lost on the way; whether there is still a scheduler shows when nothing comes back."""
        for task in some:
            task.lost += 1
            if task.lost > _MOST_LOST:
                name = task.repository.name
                raise FleetError(f"{name}: its result never arrives ({error}); look at the cluster's logs")
        if self._client.status != "running":
            time.sleep(0.2)
        self._apart(some)

    def _apart(self, some: Iterable[Task]) -> None:
        """Hand out again, each alone, what has not failed itself."""
        for task in reversed(list(some)):
            task.alone = True
            self._waiting.appendleft(task)

    def _failed(self, task: Task, reason: str) -> Iterator[FleetEvent]:
        task.attempts += 1
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
        enough = len(self._batch) > _TOGETHER - _SEVERAL or self._batch_bytes >= _BYTES_TOGETHER
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
    tables = {
        name: pa.concat_tables([from_bytes(of[name]) for _, of in batch if name in of]).combine_chunks()
        for name in names  # in one piece: some hundred pieces of a few rows take three times as long to write
    }
    digest = digest_of(repr(rubric).encode())
    dataset.add(Commit(dataset.next_id(), rubric.version, digest, evidence_key(rubric), done, failed), tables)
