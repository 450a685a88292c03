"""Sources and results in an object store: a real server that speaks S3, on a port of this machine."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

import pytest
from helpers.commands import DaScore
from helpers.extras import needs
from helpers.fleets import archive_of, free_port, listens, opened, rows_of, score_here, tar_of, write_fleet

from scoring.demo import build_demo
from scoring.errors import FleetError
from scoring.fleet import lease
from scoring.fleet.fleet_toml import read_config
from scoring.fleet.store import Store

pytestmark = [
    pytest.mark.slow,
    needs("s3fs", "moto", "flask"),
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
    text = f'results = "s3://{bucket}/scores"\nrubric = "2.3.0"\n[[source]]\nurl = "s3://{bucket}/in/*"\n{storage}'
    path = write_fleet(tmp_path, text)
    store = Store(f"s3://{bucket}", read_config(path).storage)
    store.fs.mkdir(bucket)
    demo = build_demo(tmp_path / "seed").root
    store.fs.put(str(archive_of(demo, tmp_path / "folder")), f"{bucket}/in/", recursive=True)
    store.fs.put_file(str(tar_of(tmp_path / "folder", tmp_path / "demo.tar.gz")), f"{bucket}/in/demo.tar.gz")
    return path


def test_archives_and_folders_there_give_rows_there(fleet: Path, da_score: DaScore) -> None:
    results = score_here(fleet)
    assert [(r.error, r.iterations) for r in results] == [("", 9), ("", 9)]
    assert score_here(fleet) == []
    dataset = opened(read_config(fleet))
    rows = rows_of(dataset, "iterations")
    assert len(rows) == 18
    assert [r["score"] for r in rows[:9]] == [r["score"] for r in rows[9:]]
    assert dataset.sweep() == 0
    found = da_score("query", "--fleet", str(fleet), "select count(*) n, avg(score) s from iterations", "--json")
    assert found.json[0]["n"] == 18


def test_a_lease_there_is_held_by_one(fleet: Path) -> None:
    config = read_config(fleet)
    store = Store(config.results, config.storage)
    with lease.held(store), pytest.raises(FleetError, match="another fleet"), lease.held(store):
        pass
    with lease.held(store):
        pass


def test_of_several_that_take_it_over_there_at_once_one_goes_on(fleet: Path) -> None:
    config = read_config(fleet)
    store = Store(config.results, config.storage)
    store.put("_fleet/lease-x.json", b'{"id": "x", "host": "elsewhere", "process": 1, "seen": 0}')
    together, all_tried = threading.Barrier(3), threading.Barrier(3)

    def take(_: int) -> str:
        together.wait()
        try:
            with lease.held(Store(config.results, config.storage)) as held:
                all_tried.wait()
                held.renew()
                return "held"
        except FleetError:
            all_tried.wait()
            return "refused"

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(take, range(3))) == ["held", "refused", "refused"]
    assert store.names("_fleet") == []


def test_a_changed_object_is_scored_anew(fleet: Path, tmp_path: Path) -> None:
    score_here(fleet)
    config = read_config(fleet)
    store = Store(config.results.removesuffix("/scores"), config.storage)
    (tmp_path / "folder/transcripts/claude/more.jsonl").write_text("{}\n")
    store.fs.put_file(str(tar_of(tmp_path / "folder", tmp_path / "new.tar.gz")), f"{store.root}/in/demo.tar.gz")
    (result,) = score_here(fleet)
    assert result.repository.endswith("demo.tar.gz")
    dataset = opened(config)
    assert dataset.tidy() == 1
    assert len(rows_of(dataset, "iterations")) == 18


def test_a_bucket_that_is_not_there_is_one_line(fleet: Path, da_score: DaScore) -> None:
    fleet.write_text(fleet.read_text().replace("/in/*", "-missing/in/*"))
    found = da_score("fleet", str(fleet))
    assert found.status == 1
    assert len(found.err.splitlines()) == 1
