"""``python -m benchmarks.fleet FOLDER``: makes a fleet, and measures it with one worker, with two, and under fire.

Makes ``--repositories`` small repositories below the folder, each a copy of one with a few entries and transcripts, and
prints one JSON object a measurement:

- ``compare``: repositories a second with one worker and with two, on ``--compared`` of the repositories, ``--rounds``
  times in turn, because a machine that others use is quiet at moments only; the best of each counts;
- ``beside``: a fleet with one worker and one with two at the same time, each on repositories of its own, and how many
  each did while both were at it: both have the same company, however that changes;
- ``fire``: a quarter of them, and then all, on two workers of which one is killed every ``--every`` seconds, with the
  memory of coordinator and workers on the way, and whether every row is there once;
- ``again``: a second start, which has nothing to do;
- ``large``: what a worker takes for a repository of 200 iterations and 1,000 commits with a quarter of its transcripts,
  and with all, without a cache: the difference is what bytes cost, the rest what git and everything else does;
- ``overhead``: what a task costs that does nothing;
- ``rescore``: a million made iterations under another rubric.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.corpus import Size, make_corpus, open_corpus, part_of
from rubric import default_rubric, find_rubric
from scoring.demo import build_demo
from scoring.fleet import coordinator
from scoring.fleet.cluster import local_cluster
from scoring.fleet.commits import Commit, Done
from scoring.fleet.dataset import DataSet
from scoring.fleet.fleet_toml import FleetConfig, Source
from scoring.fleet.on_worker import Result, from_bytes, score_repository
from scoring.fleet.sources import Repository, evidence_key, repositories
from scoring.fleet.store import Store
from scoring.fleet.tables import CLAIMS, FLEET_TABLES, SEEN, arrow_tables, how_column, kept_column
from scoring.log.settings import DEFAULT_LOG_DIR
from scoring.signals.table import SIGNALS

TEXT = """\
results = "{results}"
rubric = "2.3.0"
cache = "none"
[[source]]
path = {path}
transcripts = "../transcripts"
"""
MEASURED = ["compare", "beside", "fire", "again", "large", "overhead", "rescore"]
ENTRIES = 3
"""How many entries a small repository has."""


def make_fleet(folder: Path, count: int) -> None:
    """Make small repositories, those that are not there yet: copies of one with other logs, which share its objects."""
    seed = folder / "seed"
    if not seed.exists():
        build_demo(seed)
        log = seed / "repo" / DEFAULT_LOG_DIR
        for path in log.glob("iter-*.yaml"):
            if not 1 < int(path.name.split(".")[0].removeprefix("iter-")) < 2 + ENTRIES:
                path.unlink()
        subprocess.run(["git", "-C", str(seed / "repo"), "gc", "-q"], check=True)
        shutil.rmtree(seed / "repo/.git/hooks", ignore_errors=True)
    folders = [path.relative_to(seed) for path in sorted(seed.rglob("*")) if path.is_dir()]
    files = {path.relative_to(seed): path.read_bytes() for path in sorted(seed.rglob("*")) if path.is_file()}
    for number in range(count):
        place = folder / f"repos/r{number:05}"
        if place.exists():
            continue
        for name in folders:
            (place / name).mkdir(parents=True)
        for name, data in files.items():
            if "objects" in name.parts:
                os.link(seed / name, place / name)
            else:
                own = b"# repository %d\n" % number if name.name.startswith("iter-") else b""
                (place / name).write_bytes(data + own)


def memory_of(process: int) -> int:
    """Return how many MB a process holds; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmRSS"))
    except (OSError, StopIteration):
        return 0


def workers_of(process: int) -> list[int]:
    """Return the processes that Dask started below one."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "stat").read_text().rsplit(")", 1)[1].split()
            if int(words[1]) == process and b"spawn_main" in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def run(folder: Path, path: str, workers: int, every: float = 0) -> dict[str, Any]:
    """Run a fleet from scratch, and return what was measured."""
    file = folder / "FLEET.toml"
    results = folder / "results"
    shutil.rmtree(results, ignore_errors=True)
    file.write_text(TEXT.format(results=results, path=path))
    return start(file, workers, every)


def start(file: Path, workers: int, every: float = 0) -> dict[str, Any]:
    """Start a fleet, kill one of its workers every few seconds, and return what was measured."""
    command = [sys.executable, "-m", "scoring", "fleet", str(file), "--json", "--dashboard", "none"]
    began = time.monotonic()
    samples: list[tuple[int, list[int]]] = []
    kills = 0
    process = subprocess.Popen([*command, "--workers", str(workers)], stdout=subprocess.PIPE, text=True)
    ended = threading.Event()

    def watch() -> None:
        nonlocal kills
        due = time.monotonic() + every
        while not ended.wait(5):
            there = workers_of(process.pid)
            samples.append((memory_of(process.pid), [memory_of(one) for one in there]))
            if every and time.monotonic() > due and there:
                due, kills = time.monotonic() + every, kills + 1
                os.kill(max(there, key=memory_of), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    assert process.stdout is not None
    events = [json.loads(line) for line in process.stdout]
    process.wait()
    ended.set()
    now, last = time.monotonic(), events[-1]
    first, *_, done = [e["time"] for e in events if e["event"] in ("cluster", "done")] or [0, 0]
    quarter = max(len(samples) // 4, 1)
    return {
        "status": process.returncode,
        "seconds": round(now - began, 1),
        "to_score": events[0].get("to_score"),
        "scored": last.get("scored"),
        "failed": len(last.get("failed", [])),
        "per_second": round(last["scored"] / (done - first), 2) if first else None,
        "kills": kills,
        "coordinator_mb": [max((c for c, _ in part), default=0) for part in (samples[:quarter], samples[-quarter:])],
        "worker_mb": [max((m for _, w in p for m in w), default=0) for p in (samples[:quarter], samples[-quarter:])],
    }


def beside(folder: Path, repositories: list[str]) -> dict[str, Any]:
    """Run a fleet with one worker and one with two side by side, and return what each did in the same time."""
    shares = {1: repositories[: len(repositories) // 3], 2: repositories[len(repositories) // 3 :]}
    events: dict[int, list[dict[str, Any]]] = {}

    def go(workers: int) -> None:
        file, results = folder / f"FLEET-{workers}.toml", folder / f"results-{workers}"
        shutil.rmtree(results, ignore_errors=True)
        file.write_text(TEXT.format(results=results, path=json.dumps(shares[workers])))
        command = [sys.executable, "-m", "scoring", "fleet", str(file), "--json", "--dashboard", "none"]
        said = subprocess.run(
            [*command, "--workers", str(workers)], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        events[workers] = [json.loads(line) for line in said.splitlines()]

    threads = [threading.Thread(target=go, args=(workers,)) for workers in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times = {workers: [e["time"] for e in found if e["event"] == "done"] for workers, found in events.items()}
    begun, ended = max(found[0] for found in times.values()), min(found[-1] for found in times.values())
    done = {workers: sum(begun < time <= ended for time in found) for workers, found in times.items()}
    return {"seconds": round(ended - begun, 1), "done": done, "ratio": round(done[2] / done[1], 2)}


def rows_once(folder: Path) -> dict[str, Any]:
    """Return how many rows of iterations there are, and how often one is there at most."""
    dataset = DataSet(Store(str(folder / "results"))).load()
    names = [p.name for c in dataset.commits for p in c.parts if p.table == "iterations"]
    found: Counter[tuple[str, int]] = Counter()
    for name in names:
        rows = dataset.read(name, ["repository", "iteration"]).to_pydict()
        found.update(zip(rows["repository"], rows["iteration"], strict=True))
    return {"rows": len(found), "most_often": max(found.values(), default=0)}


def large(folder: Path) -> dict[str, Any]:
    """Measure one large repository, in processor time with that of git."""
    place = folder / "large"
    whole = open_corpus(place) if place.exists() else make_corpus(place, Size())
    shutil.rmtree(folder / "part", ignore_errors=True)
    found = []
    for corpus in (part_of(whole, whole.transcript_bytes // 4, folder / "part"), whole):
        source = Source((str(corpus.repo),), transcripts=tuple(map(str, corpus.transcripts)))
        config = FleetConfig(str(folder / "none"), "3.1.0", (source,), cache="")
        (one,) = repositories(config)
        best = float("inf")
        for _ in range(3):
            before = sum(os.times()[:4])
            result = score_repository(one, config, find_rubric(config.rubric))
            best = min(best, sum(os.times()[:4]) - before)
        found.append((corpus.transcript_bytes / 1e6, best, result.iterations, result.error))
    (few, less, *_), (many, more, iterations, error) = found
    rate = (many - few) / (more - less)
    return {
        "mb": [round(few), round(many)],
        "processor_seconds": [round(less, 2), round(more, 2)],
        "mb_a_second": round(rate, 1),
        "seconds_without_bytes": round(less - few / rate, 2),
        "iterations": iterations,
        "error": error,
    }


def do_nothing(one: Repository, config: FleetConfig, rubric: Any, key: str, *_: Any) -> Result:  # noqa: ARG001
    """Stand in for scoring, and return no rows."""
    return Result(one.name, "x")


def overhead(folder: Path, count: int) -> dict[str, Any]:
    """Measure what a task costs that does nothing, and what the coordinator holds in the end."""
    config = FleetConfig(str(folder / "nothing"))
    tasks = [Repository(f"/r{number}", Source(), Path("/r"), Path("/r")) for number in range(count)]
    original, coordinator.begin_and_score = coordinator.begin_and_score, do_nothing
    try:
        with local_cluster(2) as client:
            dataset = DataSet(Store(config.results))
            began = time.monotonic()
            for _ in coordinator.Coordinator(client, dataset, config, default_rubric()).run(tasks):
                pass
            seconds = time.monotonic() - began
    finally:
        coordinator.begin_and_score = original
        shutil.rmtree(folder / "nothing", ignore_errors=True)
    return {"tasks": count, "ms_a_task": round(seconds / count * 1000, 2), "coordinator_mb": memory_of(os.getpid())}


def make_million(folder: Path, rows: int) -> DataSet:
    """Make a data set of so many iterations, by repeating those of the demo with other votes."""
    import numpy as np
    import pyarrow as pa

    shutil.rmtree(folder / "million", ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        build_demo(Path(place) / "demo")
        source = Source((f"{place}/demo/repo",), transcripts=("../transcripts",))
        config = FleetConfig(str(folder / "million"), "2.3.0", (source,), cache="")
        rubric = find_rubric("2.3.0")
        result = score_repository(repositories(config)[0], config, rubric)
    base = {name: from_bytes(data) for name, data in result.tables.items()} or arrow_tables([])
    dataset, random, each = DataSet(Store(config.results)), np.random.default_rng(1), 500
    months = [f"2025-{month:02}" for month in range(1, 13)]
    for start_at in range(0, rows, 250_000):
        names = [f"/fleet/r{start_at // each + n}" for n in range(min(250_000, rows - start_at) // each)]
        tables = {}
        for table in FLEET_TABLES:
            a_row = round(base[table].num_rows / base["iterations"].num_rows)
            owner = np.repeat(np.arange(len(names) * each), a_row)
            made = base[table].take(pa.array(np.arange(len(owner)) % base[table].num_rows))
            values = {
                "repository": pa.array(np.array(names)[owner // each].tolist()),
                "iteration": pa.array(owner % each + 1),
                "month": pa.array(np.array(months)[owner % each * 12 // each].tolist()),
            }
            if table == "kept":
                for signal in SIGNALS:
                    for way in (CLAIMS, SEEN):
                        absent = random.random(len(owner)) < 0.4
                        votes = pa.array(random.random(len(owner)), mask=absent)
                        words = np.where(absent, "", np.where(random.random(len(owner)) < 0.3, "claimed", "observed"))
                        values |= {
                            kept_column(signal.id, way): votes,
                            how_column(signal.id, way): pa.array(words.tolist()),
                        }
            for name, column in values.items():
                at = made.schema.get_field_index(name)
                made = made.set_column(at, made.schema.field(at), column)
            tables[table] = made
        done = tuple(Done(name, "x", each) for name in names)
        dataset.add(Commit(dataset.next_id(), rubric.version, "x", evidence_key(rubric), done), tables)
    return dataset


def rescoring(folder: Path, rows: int) -> dict[str, Any]:
    """Measure the command ``fleet rescore`` over a made data set."""
    import yaml

    make_million(folder, rows)
    data = yaml.safe_load((Path(__file__).parents[1] / "rubric/versions/2.3.0.yaml").read_text())
    (folder / "other.yaml").write_text(yaml.safe_dump({**data, "version": "9.9.9"}))
    command = [sys.executable, "-m", "scoring", "fleet", "rescore", str(folder / "million")]
    before, began = os.times(), time.monotonic()
    subprocess.run([*command, "--rubric", str(folder / "other.yaml")], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {"iterations": rows, "seconds": round(time.monotonic() - began, 1), "processor_seconds": round(used, 1)}


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repositories", type=int, default=2000)
    parser.add_argument("--compared", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--every", type=float, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", default=MEASURED)
    given = parser.parse_args()
    folder: Path = given.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)

    def say(name: str, found: dict[str, Any]) -> None:
        load = [round(one, 1) for one in os.getloadavg()]
        print(json.dumps({"measured": name, "load": load, **found}), flush=True)

    if not {"compare", "fire", "again"}.isdisjoint(given.only):
        make_fleet(folder, given.repositories)
    every = [str(folder / f"repos/r{number:05}/repo") for number in range(given.repositories)]
    if "compare" in given.only:
        best = {1: 0.0, 2: 0.0}
        for workers in (1, 2) * given.rounds:
            found = run(folder, json.dumps(every[: given.compared]), workers)
            best[workers] = max(best[workers], found["per_second"])
            say("compare", {"workers": workers, **found})
        say("compare", {"best": best, "ratio": round(best[2] / best[1], 2)})
    if "beside" in given.only:
        for _ in range(given.rounds):
            say("beside", beside(folder, every[: 3 * given.compared]))
    if "fire" in given.only:
        for some in (every[: len(every) // 4], every):
            say("fire", run(folder, json.dumps(some), 2, given.every) | rows_once(folder))
    if "again" in given.only:
        say("again", start(folder / "FLEET.toml", 2))
    if "large" in given.only:
        say("large", large(folder))
    if "overhead" in given.only:
        for count in (500, 2000):
            say("overhead", overhead(folder, count))
    if "rescore" in given.only:
        say("rescore", rescoring(folder, given.rows))


if __name__ == "__main__":
    main()
