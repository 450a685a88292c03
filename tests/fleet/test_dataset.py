"""The data set: a row is there once or not at all, whatever ends in the middle, and who started first writes alone."""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.fleets import make_fleet, opened, rows_of, score_here

from scoring.cli.fleet_progress import Progress
from scoring.errors import FleetError, InputError, WriteError
from scoring.fleet import lease
from scoring.fleet.commits import Commit, Failed
from scoring.fleet.coordinator import FleetEvent
from scoring.fleet.dataset import DataSet
from scoring.fleet.fleet_toml import read_config
from scoring.fleet.run import FleetReport
from scoring.fleet.store import Store
from scoring.log.settings import DEFAULT_LOG_DIR

pytest.importorskip("fsspec", reason="the extra 'fleet' is not installed")


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return make_fleet(tmp_path, 2)


def each_once(dataset: DataSet, rows: int) -> None:
    found = Counter((row["repository"], row["iteration"]) for row in rows_of(dataset, "iterations"))
    assert set(found.values()) == {1}
    assert len(found) == rows


def test_nothing_is_scored_twice(fleet: Path) -> None:
    assert len(score_here(fleet)) == 2
    assert score_here(fleet) == []
    each_once(opened(read_config(fleet)), 18)


CHANGES: dict[str, Callable[[Path], object]] = {
    "an entry": lambda root: (root / "repo" / DEFAULT_LOG_DIR / "iter-3.yaml").write_text(
        (root / "repo" / DEFAULT_LOG_DIR / "iter-3.yaml").read_text() + "\n# edited\n"
    ),
    "a new transcript": lambda root: (root / "transcripts/claude/new.jsonl").write_text("{}\n"),
    "an artifact": lambda root: next((root / "repo/.agents/active/verification").rglob("*.yaml")).write_text("a: 1\n"),
    "a sidecar, which stands where the evidence is gone": lambda root: (
        root / "repo" / DEFAULT_LOG_DIR / "iter-3.score.yaml"
    ).write_text("value: 1\n"),
    "its provenance": lambda root: (root / "repo" / DEFAULT_LOG_DIR / "iter-3.evidence.yaml").write_text("value: 1\n"),
    "a ref": lambda root: subprocess.run(["git", "-C", str(root / "repo"), "branch", "another"], check=True),
    "the settings": lambda root: (root / "repo/.agents/da-score.toml").write_text('trunk = "master"\n'),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.sampled(100)
def test_what_changed_is_scored_anew_and_the_old_rows_go(fleet: Path, change: str) -> None:
    score_here(fleet)
    CHANGES[change](fleet.parent / "repos/r1")
    (result,) = score_here(fleet)
    assert result.repository.endswith("r1/repo")
    dataset = opened(read_config(fleet))
    assert list(dataset.superseded().values()) == [{result.repository}]
    assert dataset.tidy() == 1
    each_once(dataset, 18)
    each_once(opened(read_config(fleet)), 18)
    there = {p.relative_to(dataset.store.url).as_posix() for p in Path(dataset.store.url).rglob("*.parquet")}
    assert there == {part.name for commit in dataset.commits for part in commit.parts}


UNCHANGED: dict[str, Callable[[Path], object]] = {
    "what stands for a session": lambda root: (root / "repo" / DEFAULT_LOG_DIR / "session-1.score.yaml").write_text(
        "a: 1\n"
    ),
    "a temporary file": lambda root: (root / "repo" / DEFAULT_LOG_DIR / ".da-score-1-00.tmp").write_text("a: 1\n"),
    "a file that no entry names": lambda root: (root / "repo/notes.txt").write_text("x"),
}


@pytest.mark.parametrize("change", UNCHANGED)
@pytest.mark.sampled(100)
def test_what_no_score_rests_on_changes_nothing(fleet: Path, change: str) -> None:
    score_here(fleet)
    UNCHANGED[change](fleet.parent / "repos/r1")
    assert score_here(fleet) == []


@pytest.mark.slow
def test_files_without_a_commit_count_for_nothing_and_are_swept(fleet: Path) -> None:
    score_here(fleet)
    dataset = opened(read_config(fleet))
    part = dataset.commits[0].parts[0]
    left = Path(dataset.store.path(part.name)).with_name("99999999999999999999.parquet")
    left.write_bytes(b"half")
    each_once(opened(read_config(fleet)), 18)
    assert dataset.sweep() == 1
    assert not left.exists()
    assert dataset.sweep() == 0


@pytest.mark.slow
def test_a_commit_that_cannot_be_written_leaves_what_was(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    score_here(fleet)
    dataset = opened(read_config(fleet))
    put = Store.put

    def full(store: Store, name: str, data: bytes) -> None:
        if name.endswith(".json"):
            raise WriteError("no space left on device")
        put(store, name, data)

    monkeypatch.setattr(Store, "put", full)
    CHANGES["an entry"](fleet.parent / "repos/r1")
    with pytest.raises(WriteError):
        score_here(fleet)
    monkeypatch.undo()
    each_once(opened(read_config(fleet)), 18)
    assert dataset.sweep() > 0


@pytest.mark.slow
def test_many_small_commits_are_joined(fleet: Path) -> None:
    score_here(fleet)
    dataset = opened(read_config(fleet))
    (first,) = dataset.commits
    for number in range(30):
        failed = (Failed(f"/gone/{number}", "it fails", 3),)
        dataset.put(Commit(dataset.next_id(), first.rubric, first.digest, first.evidence, (), failed), [])
    assert dataset.tidy() == 31
    again = opened(read_config(fleet))
    assert len(again.commits) == 1
    assert len(again.state("2.3.0").failed) == 30
    each_once(again, 18)


def test_a_failure_is_forgotten_when_the_repository_succeeds(fleet: Path) -> None:
    config = read_config(fleet)
    dataset = opened(config)
    name = str(fleet.parent / "repos/r0/repo")
    dataset.put(Commit(dataset.next_id(), "2.3.0", "", {}, (), (Failed(name, "why", 3),)), [])
    assert list(opened(config).state("2.3.0").failed) == [name]
    score_here(fleet)
    assert opened(config).state("2.3.0").failed == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [("{", "no commit"), ('{"format": 99}', "newer da-score"), ("[]", "no commit"), ('{"format": 1}', "no commit")],
)
def test_a_commit_that_is_none_is_named(tmp_path: Path, content: str, said: str) -> None:
    folder = tmp_path / "_fleet/commits"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text(content)
    with pytest.raises((InputError, FleetError), match=said):
        DataSet(Store(str(tmp_path))).load()


class SlowStore(Store):
    """A store each of whose answers takes a moment, so that what others do falls in between."""

    def get(self, name: str) -> bytes | None:
        found = super().get(name)
        time.sleep(random.random() / 50)
        return found


def left_behind(store: Store, **other: object) -> None:
    """Leave the lease of a fleet that has ended, or of one that ``other`` describes."""
    held = {"id": "x", "host": "elsewhere", "process": 1, "seen": 0, **other}
    store.put("_fleet/lease-x.json", json.dumps(held).encode())


TAKES = """
import os, random, sys, time
from pathlib import Path
from scoring.errors import FleetError
from scoring.fleet import lease
from scoring.fleet.store import Store

class SlowStore(Store):
    def get(self, name):
        found = super().get(name)
        time.sleep(random.random() / 20)
        return found

def wait_for_all(what):
    (Path(sys.argv[2]) / f"{what}-{os.getpid()}").touch()
    while sum(name.startswith(what) for name in os.listdir(sys.argv[2])) < 4:
        time.sleep(0.005)

wait_for_all("ready")
try:
    with lease.held(SlowStore(sys.argv[1])):
        wait_for_all("tried")
        print("held")
except FleetError:
    wait_for_all("tried")
    print("refused")
"""


class TestLease:
    def test_a_second_one_is_refused_and_says_who_has_it(self, tmp_path: Path) -> None:
        store = Store(str(tmp_path))
        with lease.held(store), pytest.raises(FleetError, match=f"process {os.getpid()}"), lease.held(store):
            pass
        with lease.held(store):
            pass

    @pytest.mark.parametrize(
        ("host", "process", "age", "free"),
        [
            pytest.param(socket.gethostname(), "ended", 0, True, id="ended here"),
            pytest.param(socket.gethostname(), "lives", 10**6, False, id="lives here"),
            pytest.param("elsewhere", "ended", 0, False, id="renewed elsewhere"),
            pytest.param("elsewhere", "ended", 2 * lease.LASTS, True, id="not renewed elsewhere"),
        ],
    )
    def test_one_that_ended_without_a_word_does_not_stop_the_next(
        self, tmp_path: Path, host: str, process: str, age: float, free: bool
    ) -> None:
        store = Store(str(tmp_path))
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        number = ended.pid if process == "ended" else os.getppid()
        left_behind(store, host=host, process=number, seen=time.time() - age)
        if free:
            with lease.held(store):
                pass
        else:
            with pytest.raises(FleetError), lease.held(store):
                pass

    @pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"host": 1}'])
    def test_one_that_cannot_be_read_is_nobodys(self, tmp_path: Path, content: str) -> None:
        store = Store(str(tmp_path))
        store.put("_fleet/lease-x.json", content.encode())
        with lease.held(store):
            pass

    def test_of_several_that_take_it_over_at_once_one_goes_on(self, tmp_path: Path) -> None:
        for turn in range(4):
            store = SlowStore(str(tmp_path / str(turn)))
            left_behind(store)
            together, all_tried = threading.Barrier(4), threading.Barrier(4)

            def take(store: Store, together: threading.Barrier, all_tried: threading.Barrier) -> str:
                together.wait()
                try:
                    with lease.held(store):
                        all_tried.wait()
                        return "held"
                except FleetError:
                    all_tried.wait()
                    return "refused"

            with ThreadPoolExecutor(4) as pool:
                jobs = [pool.submit(take, store, together, all_tried) for _ in range(4)]
                assert sorted(job.result() for job in jobs) == ["held", *["refused"] * 3]

    @pytest.mark.slow
    def test_of_several_processes_that_take_it_over_at_once_one_goes_on(self, tmp_path: Path) -> None:
        left_behind(Store(str(tmp_path / "results")))
        (tmp_path / "meeting").mkdir()
        command = [sys.executable, "-c", TAKES, str(tmp_path / "results"), str(tmp_path / "meeting")]
        processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
        said = sorted(process.communicate(timeout=60)[0].strip() for process in processes)
        assert said == ["held", *["refused"] * 3]

    def test_one_that_goes_on_is_renewed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lease, "_RENEWED", 0.02)
        store = Store(str(tmp_path))
        with lease.held(store) as held:
            (before,) = held._found().values()
            deadline = time.monotonic() + 300
            while held._found()[held._name]["seen"] == before["seen"] and time.monotonic() < deadline:
                time.sleep(0.02)
            assert held._found()[held._name]["seen"] > before["seen"]
            held.check()

    @pytest.mark.parametrize("still_there", [True, False], ids=["the other writes", "the other has ended"])
    def test_one_that_was_silent_for_too_long_adds_nothing_more(
        self, fleet: Path, monkeypatch: pytest.MonkeyPatch, still_there: bool
    ) -> None:
        score_here(fleet)
        first = opened(read_config(fleet)).commits[0]
        store = Store(read_config(fleet).results)
        with lease.held(store) as old, monkeypatch.context() as silent:
            silent.setattr(lease, "_lives", lambda other: other.get("id") != old._mine["id"])
            other = lease.Lease(store)
            if not still_there:
                other.give_back()
            dataset = DataSet(store, old).load()
            with pytest.raises(FleetError, match="took it over") as said:
                dataset.put(Commit(dataset.next_id(), first.rubric, "", {}, (), ()), [])
            assert "\n" not in str(said.value)
            with pytest.raises(FleetError, match="took it over"):
                dataset.check()
            assert len(opened(read_config(fleet)).commits) == 1
            if still_there:
                other.renew()


class TestCommands:
    @pytest.mark.slow
    def test_query_asks_the_rows(self, fleet: Path, da_score: DaScore) -> None:
        score_here(fleet)
        where = str(fleet.parent / "results")
        sql = "select count(*) n, count(distinct repository) r, min(rubric) v, min(month) m from iterations"
        found = da_score("query", "--fleet", where, sql, "--json")
        assert found.json == [{"n": 18, "r": 2, "v": "2.3.0", "m": "2026-03"}]
        for table in ("signals", "integrity", "outcomes", "provenance"):
            assert da_score("query", "--fleet", str(fleet), f"select count(*) n from {table}", "--json").json[0]["n"]

    @pytest.mark.slow
    def test_query_leaves_out_what_no_longer_counts(self, fleet: Path, da_score: DaScore) -> None:
        score_here(fleet)
        CHANGES["an entry"](fleet.parent / "repos/r1")
        score_here(fleet)
        found = da_score("query", "--fleet", str(fleet), "select count(*) n from iterations", "--json")
        assert found.json == [{"n": 18}]

    @pytest.mark.slow
    @pytest.mark.parametrize("sql", ["select * from read_csv('/etc/passwd')", "select * from dataset", "select"])
    def test_query_reads_nothing_else(self, fleet: Path, da_score: DaScore, sql: str) -> None:
        score_here(fleet)
        found = da_score("query", "--fleet", str(fleet), sql)
        assert found.status == 1
        assert "Traceback" not in found.err

    def test_status_counts_and_lists(self, fleet: Path, da_score: DaScore) -> None:
        score_here(fleet)
        dataset = opened(read_config(fleet))
        dataset.put(Commit(dataset.next_id(), "2.3.0", "", {}, (), (Failed("/gone", "it fails", 3),)), [])
        found = da_score("fleet", "status", str(fleet), "--json").json["rubrics"]
        failed = [{"repository": "/gone", "attempts": 3, "reason": "it fails"}]
        assert found == [
            {"rubric": "2.3.0", "repositories": 2, "iterations": 18, "broken_entries": 0, "failed": failed}
        ]
        assert "it fails" in da_score("fleet", "status", str(fleet)).out

    def test_init_writes_one_that_can_be_read(self, tmp_path: Path, da_score: DaScore) -> None:
        path = tmp_path / "FLEET.toml"
        assert da_score("fleet", "init", str(path)).status == 0
        assert read_config(path).sources[0].paths == (str(tmp_path / "repositories/*"),)
        again = da_score("fleet", "init", str(path))
        assert again.status == 1
        assert "already" in again.err

    @pytest.mark.parametrize(
        ("number", "words"),
        [
            (1, ("1 repository,", "1 broken entry ", "1 time:")),
            (2, ("2 repositories,", "2 broken entries ", "2 times:")),
        ],
    )
    def test_one_is_one(self, number: int, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
        report, progress = FleetReport("x", "2.3.0", repositories=number), Progress(False)
        done = {"iterations": 3, "broken": number, "warnings": []}
        progress.say(FleetEvent("begun", more={"to_score": number}), report)
        progress.say(FleetEvent("done", "/r", done), report)
        progress.say(FleetEvent("failed", "/r", {"attempts": number, "reason": "it fails"}), report)
        said = capsys.readouterr().out
        assert [word in said for word in words] == [True] * 3

    @pytest.mark.slow
    def test_a_second_start_does_nothing(self, fleet: Path, da_score: DaScore) -> None:
        score_here(fleet)
        begun, ended = map(json.loads, da_score("fleet", str(fleet), "--json").out.splitlines())
        assert (begun["event"], begun["to_score"]) == ("begun", 0)
        assert (ended["event"], ended["skipped"], ended["scored"]) == ("ended", 2, 0)
