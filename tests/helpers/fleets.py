"""Fleets for tests: copies of the demo as directories and archives, scored without a cluster."""

import atexit
import contextlib
import functools
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from helpers.repos import Repo
from rubric import Rubric, find_rubric
from scoring.demo import build_demo
from scoring.fleet.coordinator import FleetEvent
from scoring.fleet.dataset import DataSet
from scoring.fleet.fleet_toml import FleetConfig, read_fleet
from scoring.fleet.on_worker import BEGUN, Result, begin_and_score, score_repository
from scoring.fleet.run import add_results, changed
from scoring.fleet.sources import Repository, repositories
from scoring.log.settings import DEFAULT_LOG_DIR

FLEET = """\
results = "results"
rubric = "3.1.0"
cache = "none"
[[source]]
path = "repos/*/repo"
transcripts = "../transcripts"
"""


@functools.cache
def _demo() -> Path:
    """Return a demo to copy, built once, its objects packed into few files."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    root = Path(folder, "demo")
    Repo.at(build_demo(root).repo_dir).git("repack", "-a", "-d", "-q")
    return root


def make_fleet(root: Path, count: int, text: str = FLEET) -> Path:
    """Make copies of the demo, ``repos/r0`` and so on, and return the path of their FLEET.toml."""
    seed = root / "seed"
    if not seed.exists():
        shutil.copytree(_demo(), seed, symlinks=True)
    for number in range(count):
        shutil.copytree(seed, root / f"repos/r{number}")
    return write_fleet(root, text)


def write_fleet(root: Path, text: str) -> Path:
    path = root / "FLEET.toml"
    path.write_text(text)
    return path


def opened(path: Path) -> DataSet:
    config = read_fleet(path)
    return DataSet(config.results, config.storage)


def score_here(path: Path, rubric: str | None = None) -> list[Result]:
    """Score a fleet in this process, one repository after another, and add what came of it."""
    config = read_fleet(path)
    chosen = find_rubric(rubric or config.rubric)
    with DataSet.for_writing(config.results, config.storage) as dataset:
        todo = changed(repositories(config), config, chosen, dataset)
        results = [score_repository(one, config, chosen) for one in todo]
        if events := [
            FleetEvent("done", r.state.repository, result=r)
            for r in results
            if not r.error
        ]:
            add_results(dataset, chosen, events)
    return results


def failed(path: Path, repository: str, reason: str = "it fails") -> None:
    """Have a repository be one that was given up."""
    config = read_fleet(path)
    event = FleetEvent("failed", repository, {"reason": reason, "attempts": 3})
    with DataSet.for_writing(config.results, config.storage) as dataset:
        add_results(dataset, find_rubric(config.rubric), [event])


def rows_of(path: Path, table: str, rubric: str | None = None) -> list[dict[str, Any]]:
    """Return the rows of a table that count, sorted."""
    return ordered(
        r
        for r in opened(path).rows(table).to_table().to_pylist()
        if rubric in (None, r.get("rubric", rubric))
    )


def ordered(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(
        rows,
        key=lambda r: [
            str(r.get(n)) for n in ("repository", "iteration", "signal", "role", "unit")
        ],
    )


def free_port() -> int:
    """Return a port of this machine at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def listens(port: int, seconds: float = 300) -> None:
    """Wait until something listens at a port of this machine."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def archive_of(demo: Path, to: Path, bare: bool = False) -> Path:
    """Make a demo as archives hold it: a bundle or a bare repository, a log, transcripts."""
    to.mkdir(parents=True)
    git = functools.partial(subprocess.run, check=True, capture_output=True)
    if bare:
        git(["git", "clone", "-q", "--bare", str(demo / "repo"), str(to / "demo.git")])
    else:
        git(
            [
                "git",
                "-C",
                str(demo / "repo"),
                "bundle",
                "create",
                "-q",
                str(to / "demo.bundle"),
                "--all",
            ]
        )
    shutil.copytree(demo / "repo" / DEFAULT_LOG_DIR, to / "log")
    shutil.copytree(demo / "transcripts", to / "transcripts")
    return to


def tar_of(folder: Path, to: Path) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(to, "w:gz") as archive:
        archive.add(folder, arcname=".")
    return to


def tar_with(
    to: Path, files: Mapping[str, bytes], members: Iterable[tarfile.TarInfo] = ()
) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(to, "w:gz") as archive:
        for member in members:
            archive.addfile(member)
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return to


def begin_or_die(
    one: Repository, config: FleetConfig, rubric: Rubric, key: str
) -> Result:
    """Stand in for what workers run, and fail as the name of a poisoned repository says."""
    from distributed import get_worker

    if "kills" in one.name:
        get_worker().log_event(BEGUN, key)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    if "eats" in one.name:
        get_worker().log_event(BEGUN, key)
        eaten = [bytearray(64 << 20) for _ in range(64)]
        time.sleep(60)
        assert eaten
    if "slow" in one.name:
        time.sleep(1)
    return begin_and_score(one, config, rubric, key)


def same_rows(found: Result, one: Repository, *_: object) -> Result:
    """Stand in for what workers run: return the rows of another repository at once."""
    return replace(found, state=found.state._replace(repository=one.name))


class Fleet:
    """A fleet that runs as a process of its own."""

    def __init__(self, path: Path, *arguments: str) -> None:
        command = [
            sys.executable,
            "-m",
            "scoring",
            "fleet",
            str(path),
            "--json",
            *arguments,
        ]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
        self.events: list[dict[str, Any]] = []

    def until(self, event: str, count: int = 1) -> None:
        """Read events until one has come so often."""
        assert self.process.stdout is not None
        while sum(found["event"] == event for found in self.events) < count:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(
                    f"it ended before {event}: {self.process.communicate()[1]}"
                )
            self.events.append(json.loads(line))

    def end(self, timeout: float = 900) -> tuple[int, str]:
        """Wait for its end, and return its status and what it said on standard error."""
        out, said = self.process.communicate(timeout=timeout)
        self.events += map(json.loads, out.splitlines())
        return self.process.returncode, said

    def workers(self) -> list[int]:
        """Return the processes of its workers that have begun to work."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "stat").read_text().rsplit(")", 1)[1].split()
                command = (place / "cmdline").read_bytes()
            except OSError:
                continue
            if int(words[1]) == self.process.pid and b"spawn_main" in command:
                found.append(int(place.name))
        return found

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
