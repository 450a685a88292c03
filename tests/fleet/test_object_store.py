"""Sources and results in an object store: a real S3 server on a port of this machine."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

import pytest
from helpers.commands import DaScore
from helpers.extras import needs
from helpers.fleets import (
    archive_of,
    free_port,
    listens,
    rows_of,
    score_here,
    tar_of,
    write_fleet,
)

from scoring.demo import build_demo
from scoring.errors import FleetError
from scoring.fleet.dataset import DataSet, RepositoryState
from scoring.fleet.fleet_toml import read_fleet
from scoring.fleet.storage import file_system

pytestmark = [
    pytest.mark.slow,
    needs("s3fs", "moto", "flask", "deltalake"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere)
    url = f"http://127.0.0.1:{port}"
    try:
        listens(port)
        urlopen(f"{url}/moto-api/", timeout=300).close()
        yield url
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def fleet(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    bucket = f"fleet-{tmp_path.name.replace('_', '-')}"[:60].rstrip("-")
    storage = f'[storage.s3]\nendpoint_url = "{server}"\n'
    text = (
        f'results = "s3://{bucket}/scores"\nrubric = "3.1.0"\n'
        f'[[source]]\nurl = "s3://{bucket}/in/*"\n{storage}'
    )
    path = write_fleet(tmp_path, text)
    fs, _ = file_system(f"s3://{bucket}", read_fleet(path).storage)
    fs.mkdir(bucket)
    demo = build_demo(tmp_path / "seed").root
    fs.put(str(archive_of(demo, tmp_path / "folder")), f"{bucket}/in/", recursive=True)
    fs.put_file(
        str(tar_of(tmp_path / "folder", tmp_path / "demo.tar.gz")),
        f"{bucket}/in/demo.tar.gz",
    )
    return path


def test_archives_and_folders_there_give_rows_there(
    fleet: Path, da_score: DaScore
) -> None:
    results = score_here(fleet)
    assert [(r.error, r.state.iterations) for r in results] == [("", 9), ("", 9)]
    assert score_here(fleet) == []
    rows = rows_of(fleet, "iterations")
    assert len(rows) == 18
    assert [r["score"] for r in rows[:9]] == [r["score"] for r in rows[9:]]
    found = da_score(
        "query",
        "--fleet",
        str(fleet),
        "select count(*) n, avg(score) s from iterations",
        "--json",
    )
    assert found.json[0]["n"] == 18
    assert (
        da_score(
            "fleet", "rescore", str(fleet), "--rubric", "3.1.0", "--from", "2.2.0"
        ).status
        == 1
    )


def test_of_several_that_add_at_once_one_goes_on(fleet: Path) -> None:
    """Nothing but the store keeps them apart: of two commits of one version it takes the first."""
    config = read_fleet(fleet)
    url = config.results
    with DataSet.for_writing(url, config.storage) as first:
        first.note([RepositoryState("3.1.0", "old", True)])
    together = threading.Barrier(3)

    def add(name: str) -> str:
        with DataSet.for_writing(url, config.storage) as dataset:
            together.wait()
            try:
                dataset.note([RepositoryState("3.1.0", name, True)])
            except FleetError as e:
                assert "another fleet" in str(e)
                return "refused"
            return "added"

    with ThreadPoolExecutor(3) as pool:
        assert Counter(pool.map(add, "abc")) == {"added": 1, "refused": 2}
    assert len(DataSet(url, config.storage).of("3.1.0")) == 2


def test_a_changed_object_is_scored_anew(fleet: Path, tmp_path: Path) -> None:
    score_here(fleet)
    config = read_fleet(fleet)
    fs, root = file_system(config.results.removesuffix("/scores"), config.storage)
    (tmp_path / "folder/transcripts/claude/more.jsonl").write_text("{}\n")
    fs.put_file(
        str(tar_of(tmp_path / "folder", tmp_path / "new.tar.gz")),
        f"{root}/in/demo.tar.gz",
    )
    fs.invalidate_cache()
    (result,) = score_here(fleet)
    assert result.state.repository.endswith("demo.tar.gz")
    assert len(rows_of(fleet, "iterations")) == 18


def test_a_bucket_that_is_not_there_is_one_line(fleet: Path, da_score: DaScore) -> None:
    fleet.write_text(fleet.read_text().replace("/in/*", "-missing/in/*"))
    found = da_score("fleet", str(fleet))
    assert found.status == 1
    assert len(found.err.splitlines()) == 1
