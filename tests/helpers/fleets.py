"""Fleets for tests: copies of the demo as directories and as archives, and what scores them without a cluster."""

import io
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rubric import find_rubric
from scoring.demo import build_demo
from scoring.fleet.config import FleetConfig, read_config
from scoring.fleet.coordinator import add_results
from scoring.fleet.dataset import DataSet, Done
from scoring.fleet.repository import Result, score_repository
from scoring.fleet.run import changed
from scoring.fleet.sources import forget, repositories
from scoring.fleet.store import Store
from scoring.log.settings import DEFAULT_LOG_DIR

FLEET = """\
results = "results"
rubric = "2.3.0"
cache = "none"
[[source]]
path = "repos/*/repo"
transcripts = "../transcripts"
"""


def make_fleet(root: Path, count: int, text: str = FLEET) -> Path:
    """Make a folder of copies of the demo, ``repos/r0`` and so on, and return the path of its FLEET.toml."""
    seed = root / "seed"
    if not seed.exists():
        build_demo(seed)
    for number in range(count):
        shutil.copytree(seed, root / f"repos/r{number}")
    return write_fleet(root, text)


def write_fleet(root: Path, text: str) -> Path:
    path = root / "FLEET.toml"
    path.write_text(text)
    return path


def opened(config: FleetConfig) -> DataSet:
    return DataSet(Store(config.results, config.storage)).load()


def score_here(path: Path, rubric: str | None = None) -> list[Result]:
    """Score a fleet in this process, one repository after another, and add what came of it."""
    config = read_config(path)
    chosen = find_rubric(rubric or config.rubric)
    dataset = opened(config)
    forget()
    todo = changed(repositories(config), config, chosen, dataset)
    results = [score_repository(one, config, chosen) for one in todo]
    done = [
        (Done(r.repository, r.fingerprint, r.iterations, r.broken, r.watched), r.tables) for r in results if not r.error
    ]
    if done:
        add_results(dataset, chosen, done)
    return results


def rows_of(dataset: DataSet, table: str, rubric: str | None = None) -> list[dict[str, Any]]:
    """Return the rows of a table as they are in its files, sorted."""
    parts = [p for c in dataset.commits if rubric in (None, c.rubric) for p in c.parts if p.table == table]
    rows = [row for part in parts for row in dataset.read(part.name).to_pylist()]
    return sorted(rows, key=lambda row: [str(row[name]) for name in ("repository", "iteration")])


def archive_of(demo: Path, to: Path, bare: bool = False) -> Path:
    """Make a folder of a demo as archives hold it: a bundle or a bare repository, a log, transcripts."""
    to.mkdir(parents=True)
    git = partial(subprocess.run, check=True, capture_output=True)
    if bare:
        git(["git", "clone", "-q", "--bare", str(demo / "repo"), str(to / "demo.git")])
    else:
        git(["git", "-C", str(demo / "repo"), "bundle", "create", "-q", str(to / "demo.bundle"), "--all"])
    shutil.copytree(demo / "repo" / DEFAULT_LOG_DIR, to / "log")
    shutil.copytree(demo / "transcripts", to / "transcripts")
    return to


def tar_of(folder: Path, to: Path) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(to, "w:gz") as archive:
        archive.add(folder, arcname=".")
    return to


def tar_with(to: Path, files: Mapping[str, bytes], members: Iterable[tarfile.TarInfo] = ()) -> Path:
    to.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(to, "w:gz") as archive:
        for member in members:
            archive.addfile(member)
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return to
