"""``python -m benchmarks.fleet FOLDER`` makes a fleet and measures it.

It runs with one worker, with two, and with workers that are killed.

Makes ``--repositories`` small repositories below the folder, each a copy of one with a few entries
and transcripts, and prints one JSON object a measurement:

- ``compare``: repositories a second with one worker and with two, on ``--compared`` of the
  repositories, ``--rounds`` times in turn; before each of them, what this machine gives at that
  moment to two processes that have nothing to do with each other, against one. In the end the
  median of the rounds, the processor time that a repository takes in the coordinator, in workers,
  and in the git that workers start, and how much two workers can do at most by that: they share two
  cores with the coordinator, while one worker has a core for itself;
- ``middling``: the same with 40 equal repositories of 40 iterations, 200 commits and 16 MB of
  transcripts each;
- ``beside``: a fleet with one worker and one with two at the same time, each on repositories of its
  own, and how many each did while both were at it: both have the same company, however that
  changes;
- ``memory``: what coordinator and workers hold after each 500 of all repositories, on two workers
  of which none dies;
- ``fire``: a quarter of them, and then all, on two workers of which one is killed every ``--every``
  seconds, with the memory of coordinator and workers on the way, and whether every row is there
  once;
- ``again``: a second start, which has nothing to do;
- ``large``: what a worker takes for a repository of 200 iterations and 1,000 commits with a quarter
  of its transcripts, and with all, without a cache: the difference is what bytes cost, the rest
  what git and everything else does;
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
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.corpus import Size, make_corpus, open_corpus, part_of
from rubric import default_rubric, find_rubric
from scoring.demo import build_demo
from scoring.fleet import coordinator
from scoring.fleet.cluster import cluster
from scoring.fleet.dataset import DataSet, RepositoryState
from scoring.fleet.fleet_toml import FleetConfig, Source
from scoring.fleet.on_worker import Result, score_repository
from scoring.fleet.sources import Repository, evidence_key, repositories
from scoring.fleet.tables import CLAIMS, FLEET_TABLES, SEEN, how_column, kept_column
from scoring.log.settings import DEFAULT_LOG_DIR
from scoring.signals.table import SIGNALS

TEXT = """\
results = "{results}"
rubric = "3.1.0"
cache = "none"
[[source]]
path = {path}
transcripts = "../transcripts"
"""
MEASURED = [
    "compare",
    "middling",
    "beside",
    "memory",
    "fire",
    "again",
    "large",
    "overhead",
    "rescore",
]
WARM = 20
"""After how many repositories the processor time of a fleet is first noted.

By then workers have loaded everything.
"""
EVERY = 500
"""After how many repositories each time the memory of a fleet is taken down."""
MIDDLING = 40
"""How many repositories are made that are neither small nor large."""
ENTRIES = 3
"""How many entries a small repository has."""


def make_fleet(folder: Path, count: int) -> None:
    """Make the small repositories that are missing.

    They are copies of one with other logs, and share its objects.
    """
    seed = folder / "seed"
    if not seed.exists():
        build_demo(seed)
        log = seed / "repo" / DEFAULT_LOG_DIR
        for path in log.glob("iter-*.yaml"):
            if not 1 < int(path.name.split(".")[0].removeprefix("iter-")) < 2 + ENTRIES:
                path.unlink()
        subprocess.run(["git", "-C", str(seed / "repo"), "gc", "-q"], check=True)
        shutil.rmtree(seed / "repo/.git/hooks", ignore_errors=True)
    folders = [
        path.relative_to(seed) for path in sorted(seed.rglob("*")) if path.is_dir()
    ]
    files = {
        path.relative_to(seed): path.read_bytes()
        for path in sorted(seed.rglob("*"))
        if path.is_file()
    }
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
                own = (
                    b"# repository %d\n" % number
                    if name.name.startswith("iter-")
                    else b""
                )
                (place / name).write_bytes(data + own)


def memory_of(process: int) -> int:
    """Return how many MB a process holds; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return next(
            int(line.split()[1]) >> 10 for line in lines if line.startswith("VmRSS")
        )
    except (OSError, StopIteration):
        return 0


def workers_of(process: int) -> list[int]:
    """Return the processes that Dask started below one."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "stat").read_text().rsplit(")", 1)[1].split()
            if (
                int(words[1]) == process
                and b"spawn_main" in (place / "cmdline").read_bytes()
            ):
                found.append(int(place.name))
        except OSError:
            continue
    return found


def processor_seconds(process: int) -> tuple[float, float]:
    """Return the processor time of a process, and that of its ended children.

    Both are 0 when it has ended.
    """
    try:
        words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0, 0.0
    user, system, of_children, of_children_system = (
        int(word) / os.sysconf("SC_CLK_TCK") for word in words[11:15]
    )
    return user + system, of_children + of_children_system


def plain_work() -> None:
    """Do some seconds of plain work in memory, which needs nothing but a core."""
    made = {
        str(number): {"a": number, "b": [number] * 5, "c": "x" * 20}
        for number in range(2000)
    }
    for _ in range(60):
        read = json.loads(json.dumps(made))
        sorted(read, key=lambda key: read[key]["a"])


def machine(count: int) -> float:
    """Return how many seconds some processes take that do the same plain work at the same time."""
    began = time.perf_counter()
    processes = []
    for _ in range(count):
        process = os.fork()
        if not process:
            plain_work()
            os._exit(0)
        processes.append(process)
    for process in processes:
        os.waitpid(process, 0)
    return time.perf_counter() - began


def run(folder: Path, path: str, workers: int, every: float = 0) -> dict[str, Any]:
    """Run a fleet from scratch, and return what was measured."""
    file = folder / "FLEET.toml"
    results = folder / "results"
    shutil.rmtree(results, ignore_errors=True)
    file.write_text(TEXT.format(results=results, path=path))
    return start(file, workers, every)


def start(file: Path, workers: int, every: float = 0) -> dict[str, Any]:
    """Start a fleet, kill one of its workers every few seconds, and return what was measured."""
    command = [sys.executable, "-m", "scoring", "fleet", str(file), "--json"]
    began = time.monotonic()
    samples: list[tuple[int, list[int]]] = []
    spent: list[tuple[float, float, dict[int, tuple[float, float]]]] = []
    memory: dict[int, dict[str, int]] = {}
    kills = done = 0
    process = subprocess.Popen(
        [*command, "--workers", str(workers)], stdout=subprocess.PIPE, text=True
    )
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
    events: list[dict[str, Any]] = []
    for line in process.stdout:
        events.append(json.loads(line))
        done += events[-1]["event"] == "done"
        if events[-1]["event"] == "done" and done in (WARM, events[0]["to_score"]):
            of_workers = {
                one: processor_seconds(one) for one in workers_of(process.pid)
            }
            spent.append((time.time(), processor_seconds(process.pid)[0], of_workers))
        if events[-1]["event"] == "done" and done % EVERY == 0:
            largest = max(map(memory_of, workers_of(process.pid)), default=0)
            memory[done] = {"coordinator": memory_of(process.pid), "worker": largest}
        if (
            events[-1]["event"] == "added" and len(spent) == 2
        ):  # what was scored last is written when all is done
            spent[-1] = spent[-1][0], processor_seconds(process.pid)[0], spent[-1][2]
    process.wait()
    ended.set()
    now, last = time.monotonic(), events[-1]
    first, *_, until = [
        e["time"] for e in events if e["event"] in ("cluster", "added")
    ] or [0, 0]
    quarter = max(len(samples) // 4, 1)
    return {
        "status": process.returncode,
        "seconds": round(now - began, 1),
        "to_score": events[0].get("to_score"),
        "scored": last.get("scored"),
        "failed": len(last.get("failed", [])),
        "per_second": round(last["scored"] / (until - first), 2) if first else None,
        "processor_ms": None
        if kills
        else _per_repository(
            spent, [e["time"] for e in events if e["event"] == "done"]
        ),
        "kills": kills,
        "mb": memory,
        "coordinator_mb": [
            max((c for c, _ in part), default=0)
            for part in (samples[:quarter], samples[-quarter:])
        ],
        "worker_mb": [
            max((m for _, w in p for m in w), default=0)
            for p in (samples[:quarter], samples[-quarter:])
        ],
    }


def _per_repository(
    spent: list[tuple[float, float, dict[int, tuple[float, float]]]], done: list[float]
) -> dict[str, float] | None:
    """Return the processor time per repository between two looks at all processes, in ms."""
    if len(spent) < 2:
        return None
    (since, before, workers_before), (until, after, workers_after) = spent[0], spent[-1]
    count = sum(since < time <= until for time in done)
    same = workers_before.keys() & workers_after.keys()
    own, git = (
        sum(workers_after[one][n] - workers_before[one][n] for one in same)
        for n in (0, 1)
    )
    found = {"coordinator": after - before, "workers": own, "git": git}
    return {name: round(seconds / count * 1000, 1) for name, seconds in found.items()}


def make_middling(folder: Path) -> list[str]:
    """Make the middle-sized repositories that are missing, as copies of one."""
    places = [folder / f"middling/r{number:02}" for number in range(MIDDLING)]
    if not places[0].exists():
        make_corpus(places[0], Size(40, transcript_mb=16))
    for place in places[1:]:
        if not place.exists():
            shutil.copytree(places[0], place, symlinks=True)
    return [str(open_corpus(place).repo) for place in places]


def compare(
    folder: Path,
    repositories: list[str],
    rounds: int,
    say: Callable[[str, dict[str, Any]], None],
    name: str = "compare",
) -> None:
    """Run a fleet with one worker and with two in turn, and print each round and the medians."""
    found: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    machines: list[float] = []
    for number in range(rounds):
        for workers in (1, 2) if number % 2 == 0 else (2, 1):
            alone, together = machine(1), machine(2)
            machines.append(2 * alone / together)
            found[workers].append(run(folder, json.dumps(repositories), workers))
            say(
                name,
                {
                    "workers": workers,
                    "machine": round(machines[-1], 2),
                    **found[workers][-1],
                },
            )
    speed = {
        workers: median(one["per_second"] for one in runs)
        for workers, runs in found.items()
    }
    spent = {
        workers: {
            name: median(one["processor_ms"][name] for one in runs)
            for name in runs[0]["processor_ms"]
        }
        for workers, runs in found.items()
    }
    ratios = [
        two["per_second"] / one["per_second"]
        for one, two in zip(found[1], found[2], strict=True)
    ]
    work = spent[2]["workers"] + spent[2]["git"]
    say(
        name,
        {
            "median_per_second": speed,
            "ratio": round(median(ratios), 2),
            "ratios": [round(ratio, 2) for ratio in ratios],
            "machine_ratio": round(median(machines), 2),
            "machine_ratios": [round(ratio, 2) for ratio in machines],
            "processor_ms": spent,
            "most_on_two_cores": round(2 * work / sum(spent[2].values()), 2),
        },
    )


def beside(folder: Path, repositories: list[str]) -> dict[str, Any]:
    """Run fleets with one worker and with two at once, and return what each did meanwhile."""
    shares = {
        1: repositories[: len(repositories) // 3],
        2: repositories[len(repositories) // 3 :],
    }
    events: dict[int, list[dict[str, Any]]] = {}

    def go(workers: int) -> None:
        file, results = folder / f"FLEET-{workers}.toml", folder / f"results-{workers}"
        shutil.rmtree(results, ignore_errors=True)
        file.write_text(TEXT.format(results=results, path=json.dumps(shares[workers])))
        command = [sys.executable, "-m", "scoring", "fleet", str(file), "--json"]
        said = subprocess.run(
            [*command, "--workers", str(workers)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        events[workers] = [json.loads(line) for line in said.splitlines()]

    threads = [threading.Thread(target=go, args=(workers,)) for workers in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times = {
        workers: [e["time"] for e in found if e["event"] == "done"]
        for workers, found in events.items()
    }
    begun, ended = (
        max(found[0] for found in times.values()),
        min(found[-1] for found in times.values()),
    )
    done = {
        workers: sum(begun < time <= ended for time in found)
        for workers, found in times.items()
    }
    return {
        "seconds": round(ended - begun, 1),
        "done": done,
        "ratio": round(done[2] / done[1], 2),
    }


def rows_once(folder: Path) -> dict[str, Any]:
    """Return how many rows of iterations there are, and how often one is there at most."""
    rows = (
        DataSet(str(folder / "results"))
        .rows("iterations")
        .to_table(["repository", "iteration"])
        .to_pydict()
    )
    found = Counter(zip(rows["repository"], rows["iteration"], strict=True))
    return {"rows": len(found), "most_often": max(found.values(), default=0)}


def large(folder: Path) -> dict[str, Any]:
    """Measure one large repository, in processor time with that of git."""
    place = folder / "large"
    whole = open_corpus(place) if place.exists() else make_corpus(place, Size())
    shutil.rmtree(folder / "part", ignore_errors=True)
    found = []
    for corpus in (part_of(whole, whole.transcript_bytes // 4, folder / "part"), whole):
        source = Source(
            (str(corpus.repo),), transcripts=tuple(map(str, corpus.transcripts))
        )
        config = FleetConfig(str(folder / "none"), "3.1.0", (source,), cache="")
        (one,) = repositories(config)
        best = float("inf")
        for _ in range(3):
            before = sum(os.times()[:4])
            result = score_repository(one, config, find_rubric(config.rubric))
            best = min(best, sum(os.times()[:4]) - before)
        found.append(
            (corpus.transcript_bytes / 1e6, best, result.state.iterations, result.error)
        )
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


def do_nothing(repository: Repository, *_: Any) -> Result:
    """Stand in for scoring, and return no rows."""
    return Result(RepositoryState("", repository.name))


def overhead(folder: Path, count: int) -> dict[str, Any]:
    """Measure what a task costs that does nothing, and what the coordinator holds in the end."""
    config = FleetConfig(str(folder / "nothing"))
    tasks = [
        Repository(f"/r{number}", Source(), Path("/r"), Path("/r"))
        for number in range(count)
    ]
    module: Any = coordinator
    original, module.begin_and_score = module.begin_and_score, do_nothing
    try:
        with cluster(None, 2) as client:
            client.wait_for_workers(2)
            began = time.monotonic()
            for _ in coordinator.Coordinator(client, config, default_rubric()).run(
                tasks
            ):
                pass
            seconds = time.monotonic() - began
    finally:
        module.begin_and_score = original
    return {
        "tasks": count,
        "ms_a_task": round(seconds / count * 1000, 2),
        "coordinator_mb": memory_of(os.getpid()),
    }


def make_million(folder: Path, rows: int) -> None:
    """Make a data set of so many iterations, by repeating those of the demo with other votes."""
    import numpy as np
    import pyarrow as pa

    shutil.rmtree(folder / "million", ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        build_demo(Path(place) / "demo")
        source = Source((f"{place}/demo/repo",), transcripts=("../transcripts",))
        config = FleetConfig(str(folder / "million"), "3.1.0", (source,), cache="")
        rubric = find_rubric("3.1.0")
        result = score_repository(repositories(config)[0], config, rubric)
    base = result.tables
    random, each = np.random.default_rng(1), 500
    months = [f"2025-{month:02}" for month in range(1, 13)]
    for start_at in range(0, rows, 250_000):
        names = [
            f"/fleet/r{start_at // each + n}"
            for n in range(min(250_000, rows - start_at) // each)
        ]
        tables = {}
        for table in FLEET_TABLES:
            a_row = round(base[table].num_rows / base["iterations"].num_rows)
            owner = np.repeat(np.arange(len(names) * each), a_row)
            made = base[table].take(
                pa.array(np.arange(len(owner)) % base[table].num_rows)
            )
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
                        words = np.where(
                            absent,
                            "",
                            np.where(
                                random.random(len(owner)) < 0.3, "claimed", "observed"
                            ),
                        )
                        values |= {
                            kept_column(signal.id, way): votes,
                            how_column(signal.id, way): pa.array(words.tolist()),
                        }
            for name, column in values.items():
                at = made.schema.get_field_index(name)
                made = made.set_column(at, made.schema.field(at), column)
            tables[table] = made
        evidence = json.dumps(evidence_key(rubric))
        with DataSet.for_writing(config.results) as dataset:
            first = RepositoryState(
                rubric.version, "", True, evidence=evidence, iterations=each
            )
            dataset.put(tables)
            dataset.note([first._replace(repository=name) for name in names])


def rescoring(folder: Path, rows: int) -> dict[str, Any]:
    """Measure the command ``fleet rescore`` over a made data set."""
    import yaml

    make_million(folder, rows)
    data = yaml.safe_load(
        (Path(__file__).parents[1] / "rubric/versions/3.1.0.yaml").read_text()
    )
    (folder / "other.yaml").write_text(yaml.safe_dump({**data, "version": "9.9.9"}))
    command = [
        sys.executable,
        "-m",
        "scoring",
        "fleet",
        "rescore",
        str(folder / "million"),
    ]
    before, began = os.times(), time.monotonic()
    subprocess.run(
        [*command, "--rubric", str(folder / "other.yaml")],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = os.times()
    used = (
        after.children_user
        + after.children_system
        - before.children_user
        - before.children_system
    )
    return {
        "iterations": rows,
        "seconds": round(time.monotonic() - began, 1),
        "processor_seconds": round(used, 1),
    }


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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

    if not {"compare", "beside", "memory", "fire", "again"}.isdisjoint(given.only):
        make_fleet(folder, given.repositories)
    every = [
        str(folder / f"repos/r{number:05}/repo") for number in range(given.repositories)
    ]
    if "compare" in given.only:
        compare(folder, every[: given.compared], given.rounds, say)
    if "middling" in given.only:
        compare(folder, make_middling(folder), given.rounds, say, "middling")
    if "beside" in given.only:
        for _ in range(given.rounds):
            say("beside", beside(folder, every[: 3 * given.compared]))
    if "memory" in given.only:
        say("memory", run(folder, json.dumps(every), 2))
    if "fire" in given.only:
        for some in (every[: len(every) // 4], every):
            say(
                "fire",
                run(folder, json.dumps(some), 2, given.every) | rows_once(folder),
            )
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
