"""Fleets on a real cluster: what is killed or lost costs a retry, and no row comes twice."""

import asyncio
import contextlib
import gc
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore, process
from helpers.extras import needs
from helpers.fleets import (
    FLEET,
    Fleet,
    begin_or_die,
    free_port,
    listens,
    make_fleet,
    opened,
    rows_of,
    same_rows,
    score_here,
)
from helpers.pages import code
from helpers.repos import Repo

import scoring.fleet.cluster
import scoring.fleet.coordinator
import scoring.fleet.run
from scoring.fleet.coordinator import FleetEvent
from scoring.fleet.fleet_toml import read_fleet
from scoring.fleet.run import FleetReport, run_fleet
from scoring.fleet.sources import repositories
from scoring.log.settings import DEFAULT_LOG_DIR

PAGE = Path(__file__).parents[2] / "docs/FLEET.md"

pytestmark = [pytest.mark.slow, needs("distributed")]


def each_once(path: Path, repositories: int) -> None:
    found = Counter(
        (row["repository"], row["iteration"]) for row in rows_of(path, "iterations")
    )
    assert set(found.values()) <= {1}
    assert len(found) == 9 * repositories


def test_a_cluster_of_this_machine_takes_nothing_from_who_has_no_key() -> None:
    from distributed import core

    library: Any = core

    async def answers(address: str) -> bool:
        other = library.rpc(address, timeout=2)
        try:
            await asyncio.wait_for(other.identity(), 4)
        except (OSError, TimeoutError):
            return False
        return True

    with scoring.fleet.cluster.cluster(None, 1) as client:
        assert client.submit(os.getpid).result() != os.getpid()
        workers = client.scheduler_info()["workers"]
        addresses = [
            client.scheduler.address,
            *workers,
            *(worker["nanny"] for worker in workers.values()),
        ]
        assert len(addresses) == 3
        for address in addresses:
            assert address.startswith("tls://127.0.0.1:")
            assert not asyncio.run(answers(address.replace("tls://", "tcp://")))


@needs("duckdb")
def test_the_commands_at_the_top_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    """The first one installs, and is left out."""
    _, *commands = code(PAGE.read_text("utf-8"), "console")[0].splitlines()
    done = []
    for line in commands:
        program, *words = shlex.split(line.removeprefix("$ "), comments=True)
        assert program == "da-score"
        done.append(process(*words, cwd=tmp_path))
        assert done[-1].status == 0, done[-1].err

    _, _, scored, status, query = done
    assert "\n             scored     1\n" in scored.out
    assert status.out.splitlines()[1].split() == ["3.1.0", "1", "9", "0", "0"]
    header, month, *_ = query.out.splitlines()
    assert (
        header.split() == "month units landed_share landed_low landed_high cost".split()
    )
    assert month.startswith("2026-03  8      0.857")


def test_what_cannot_be_known_of_a_repository_is_printed_with_its_name(
    tmp_path: Path,
) -> None:
    """By the command when it scores, and in the table of repositories."""
    path = make_fleet(tmp_path, 2)
    without_log = tmp_path / "repos/r0/repo"
    shutil.rmtree(without_log / DEFAULT_LOG_DIR)
    repo = Repo.at(tmp_path / "repos/r1/repo")
    (repo.path / ".git/shallow").write_text(f"{repo.head()}\n")
    found = process("fleet", path, "--workers", "1")
    assert f"{without_log}: work read, no iterations\n" in found.out
    (warning,) = [line for line in found.err.splitlines() if "warning" in line]
    assert warning.startswith(
        f"da-score: warning: {repo.path}: this is a shallow clone, and history is cut"
    )
    states = opened(path).of("3.1.0")
    warnings = {
        Path(name).parent.name: state.warnings for name, state in states.items()
    }
    assert warnings["r0"] == ""
    assert warnings["r1"].startswith("this is a shallow clone")


def test_rows_are_those_of_one_process_and_a_second_start_does_nothing(
    tmp_path: Path,
) -> None:
    path = make_fleet(tmp_path, 6)
    with Fleet(path, "--workers", "2") as fleet:
        assert fleet.end() == (0, "")
    assert fleet.events[-1]["scored"] == 6
    mine = {table: rows_of(path, table) for table in ("iterations", "signals", "kept")}
    with Fleet(path, "--workers", "2") as again:
        assert again.end()[0] == 0
    assert again.events[0]["to_score"] == 0
    shutil.rmtree(tmp_path / "results")
    score_here(path)
    assert mine == {table: rows_of(path, table) for table in mine}


@pytest.fixture
def poisoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(scoring.fleet.coordinator, "begin_and_score", begin_or_die)
    return make_fleet(tmp_path, 5)


def run_here(path: Path) -> FleetReport:
    return run_fleet(read_fleet(path), lambda *_: None, workers=2)


@pytest.mark.parametrize("way", ["kills", "eats"])
def test_a_poisoned_repository_is_given_up_and_stops_no_other(
    tmp_path: Path, poisoned: Path, way: str
) -> None:
    if way == "eats":
        poisoned.write_text(FLEET + '[workers]\nmemory = "700MB"\n')
    shutil.copytree(tmp_path / "seed", tmp_path / f"repos/{way}")
    report = run_here(poisoned)
    (failed,) = report.failed
    assert (Path(failed.repository).parent.name, failed.attempts) == (way, 3)
    assert "its worker ended" in failed.reason
    assert report.scored == 5
    each_once(poisoned, 5)
    assert [
        state.repository
        for state in opened(poisoned).of("3.1.0").values()
        if state.reason
    ] == [failed.repository]


def test_one_worker_after_another_is_killed_and_every_row_is_there_once(
    tmp_path: Path,
) -> None:
    path = make_fleet(tmp_path, 40)
    with Fleet(path, "--workers", "2") as fleet:
        for count in range(3, 34, 6):
            fleet.until("done", count)
            for worker in fleet.workers()[:1]:
                os.kill(worker, signal.SIGKILL)
        assert fleet.end() == (0, "")
    each_once(path, 40)


def test_workers_that_are_killed_while_they_start_are_replaced(tmp_path: Path) -> None:
    """Those that a fleet starts with, and those in their place."""
    path = make_fleet(tmp_path, 2)
    killed = set[int]()
    with Fleet(path, "--workers", "2") as fleet:
        while len(killed) < 4 and fleet.process.poll() is None:
            for worker in set(fleet.workers()) - killed:
                os.kill(worker, signal.SIGKILL)
                killed.add(worker)
            time.sleep(0.01)
        assert fleet.end() == (0, "")
    each_once(path, 2)


def test_who_restarts_a_worker_waits_until_it_has_started() -> None:
    import dask

    soon = {"distributed.deploy.lost-worker-timeout": "1ms"}  # below what a start takes
    with dask.config.set(soon), scoring.fleet.cluster.cluster(None, 1) as client:
        first = client.submit(os.getpid).result()
        (nanny,) = client.cluster.workers.values()
        assert client.submit(os._exit, 1).exception()
        assert client.submit(os.getpid, pure=False).result(timeout=300) != first
        assert list(client.cluster.workers.values()) == [nanny]


def test_the_coordinator_does_not_grow_with_the_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = score_here(make_fleet(tmp_path, 1))
    source = repositories(read_fleet(tmp_path / "FLEET.toml"))[0]
    fleet = [source._replace(name=f"r{number}") for number in range(2000)]
    monkeypatch.setattr(scoring.fleet.run, "repositories", lambda _: fleet)
    monkeypatch.setattr(scoring.fleet.run, "changed", lambda *_: fleet)
    monkeypatch.setattr(
        scoring.fleet.coordinator, "begin_and_score", partial(same_rows, one)
    )
    # after how many repositories how many blocks of memory are
    held: list[tuple[int, int]] = []

    def look(event: FleetEvent, report: FleetReport) -> None:
        if event.kind == "added" and report.scored >= (
            held[-1][0] + 400 if held else 600
        ):
            gc.collect()
            held.append((report.scored, sys.getallocatedblocks()))

    report = run_fleet(read_fleet(tmp_path / "FLEET.toml"), look, workers=2)
    assert report.scored == 2000
    (_, before), *_, (_, after) = held
    assert after < 1.2 * before


def test_a_coordinator_that_is_killed_can_be_started_again(tmp_path: Path) -> None:
    path = make_fleet(tmp_path, 6)
    with Fleet(path, "--workers", "1") as first:
        first.until("done", 2)
        os.killpg(first.process.pid, signal.SIGKILL)
    with Fleet(path, "--workers", "2") as second:
        assert second.end()[0] == 0
    each_once(path, 6)


@contextlib.contextmanager
def dask(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments], stdout=nowhere, stderr=nowhere
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_scheduler_that_goes_away_is_a_clear_error_and_a_restart_goes_on(
    tmp_path: Path,
) -> None:
    path = make_fleet(tmp_path, 8)
    port = str(free_port())
    address = f"tcp://127.0.0.1:{port}"
    options = "--host", "127.0.0.1", "--port", port, "--no-dashboard"
    with (
        dask("scheduler", *options) as scheduler,
        dask("worker", address, "--nthreads", "1", "--no-dashboard"),
    ):
        listens(int(port))
        fleet = Fleet(path, "--scheduler", address)
        with fleet:
            fleet.until("done", 3)
            scheduler.kill()
            status, said = fleet.end()
    assert status == 1
    assert "was lost" in said
    assert "start again" in said
    assert len(said.splitlines()) == 1
    with (
        dask("scheduler", *options),
        dask("worker", address, "--nthreads", "1", "--no-dashboard"),
    ):
        listens(int(port))
        with Fleet(path, "--scheduler", address) as again:
            assert again.end()[0] == 0
    assert again.events[0]["to_score"] < 8
    each_once(path, 8)


def test_a_scheduler_that_is_not_there_is_a_clear_error(
    tmp_path: Path, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring.fleet.cluster, "_CONNECTS_WITHIN", 1)
    found = da_score(
        "fleet", make_fleet(tmp_path, 1), "--scheduler", "tcp://127.0.0.1:1"
    )
    assert found.status == 1
    assert "does not answer" in found.err
    assert len(found.err.splitlines()) == 1
