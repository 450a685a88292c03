"""A whole log gone through once: the same as when all of it is held, and of what is done nothing is held whole."""

import gc
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.repos import Repo

from rubric import released_rubric
from scoring.demo import Demo
from scoring.evidence.rules import Sources, rules_of
from scoring.jobs import whole_log
from scoring.jobs.whole_log import WholeLog
from scoring.log.selection import Selection
from scoring.score import ScoredIteration, score_log, write_scored_log
from scoring.views.score_pages import run_item, run_parts, run_payload
from scoring.views.session_pages import session_payload

RUBRIC = released_rubric("2.3.0")
ALL = Selection()


def gone_through(demo: Demo, selection: Selection = ALL, write: bool = False) -> tuple[WholeLog, str]:
    """Go through a log as ``run --json`` does; return it with what that prints."""
    sources = Sources.under(rules_of(RUBRIC), demo.repo_dir, demo.transcript_dirs, {"processes": 1})
    with sources.transcripts().start() as scan:
        log = WholeLog(scan, demo.iter_log_dir, sources, RUBRIC, selection)
        parts = run_parts(log, log.iterations(write, run_item), log.of_sessions(session_payload))
        page = {key: list(value) if hasattr(value, "__next__") else value for key, value in parts}
    return log, json.dumps(page)


def held(demo: Demo, selection: Selection = ALL) -> str:
    return json.dumps(
        run_payload(score_log(demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs, rubric=RUBRIC).of(selection))
    )


@pytest.mark.parametrize(
    "selection",
    [
        pytest.param(Selection(), id="all of them"),
        pytest.param(Selection(last=3), id="the newest"),
        pytest.param(Selection(task="no-such-task"), id="none of them"),
    ],
)
@pytest.mark.parametrize("at_once", [1, 4, 1000])
def test_says_what_the_log_says_that_is_held(
    demo: Demo, monkeypatch: pytest.MonkeyPatch, selection: Selection, at_once: int
) -> None:
    monkeypatch.setattr(whole_log, "_AT_ONCE", at_once)
    assert gone_through(demo, selection)[1] == held(demo, selection)


def files_of(log: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in log.iterdir() if ".score." in path.name or ".evidence." in path.name
    }


def test_writes_what_the_log_writes_that_is_held(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_log, "_AT_ONCE", 2)
    log, _ = gone_through(demo, Selection(last=1), write=True)
    found = files_of(demo.iter_log_dir)
    for name in found:
        (demo.iter_log_dir / name).unlink()
    held = score_log(demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs, rubric=RUBRIC)
    iterations, sessions = write_scored_log(demo.iter_log_dir, held)
    assert found == files_of(demo.iter_log_dir)
    assert log.written == (len(iterations), len(sessions))


def test_writes_nothing_unless_asked(demo: Demo) -> None:
    before = files_of(demo.iter_log_dir)
    log, _ = gone_through(demo)
    assert (log.written, files_of(demo.iter_log_dir)) == (None, before)


@pytest.mark.parametrize(
    ("shown", "keeps"),
    [pytest.param(run_item, False, id="what is shown"), pytest.param(lambda one: one, True, id="the whole")],
)
def test_holds_no_iteration_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: Callable[[ScoredIteration], object], keeps: bool
) -> None:
    """The twin, which shows all of each iteration, shows that the count would tell."""
    repo = Repo(tmp_path)
    repo.commit({"a": "b"})
    log = tmp_path / "log"
    log.mkdir()
    for n in range(1, 41):
        (log / f"iter-{n}.yaml").write_text(f"schema_version: 2\niteration: {n}\nimpl: {{retries: 0}}\n")
    monkeypatch.setattr(whole_log, "_AT_ONCE", 1000)
    sources = Sources.under(rules_of(RUBRIC), tmp_path, (), {"processes": 1})
    most = 0
    gc.freeze()  # what is there already need not be looked at
    try:
        with sources.transcripts().start() as scan:
            whole = WholeLog(scan, log, sources, RUBRIC, ALL)
            for _ in whole.iterations(False, shown):
                most = max(most, sum(isinstance(one, ScoredIteration) for one in gc.get_objects()))
    finally:
        gc.unfreeze()
    assert len(whole.lines) == 40
    assert (most > 20) == keeps


COUNTED_FORKS = """
import os, sys
real, forks = os.fork, []
os.fork = lambda: forks.append(1) or real()
from scoring.cli import main
from scoring.jobs import whole_log
whole_log._AT_ONCE = 100  # so that some are scored while those before them are written
status = main(sys.argv[1:])
print(len(forks), file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.parametrize("version", ["2.1.0", pytest.param("2.3.0", marks=pytest.mark.slow), "3.1.0"])
def test_several_processes_say_and_write_the_same(tmp_path: Path, version: str) -> None:
    """Of a log with a broken entry, where that is left out, and with counts below 0, of which a rubric warns."""
    repo = Repo(tmp_path / "repo")
    log = tmp_path / "log"
    log.mkdir()
    shas = [repo.commit({"a": str(n)}, message=f"change {n}") for n in range(5)]
    for n in range(1, 251):
        fields = [f"schema_version: 2\niteration: {n}", f"commit: {shas[n % 5]}", f"task_id: t{n % 3}"]
        retries = -1 if n % 60 == 0 else n % 4
        fields += [f"agent: {{session_id: s{n % 40}}}", f"impl: {{summary: change {n}, retries: {retries}}}"]
        fields += ["verifiers: [{type: unit, status: fail, result_artifact: none.json}]"] * (n % 7 == 0)
        (log / f"iter-{n}.yaml").write_text("\n".join(fields) + "\n")
    (log / "iter-251.yaml").write_text(
        "schema_version: 2\niteration: [\n" if version == "3.1.0" else "schema_version: 2"
    )
    found = []
    for processes in "1", "2":
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        options = ["--repo-dir", repo.path, "--iter-log-dir", log, "--cache-dir", tmp_path / "cache"]
        options += ["--rubric", version, "--processes", processes, "--json"]
        command = [sys.executable, "-c", COUNTED_FORKS, "run", *map(str, options)]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
        *said, forks = done.stderr.decode().splitlines()
        assert (int(forks) > 1) == (processes == "2")
        found.append((done.returncode, done.stdout, said, files_of(log)))
        for name in files_of(log):
            (log / name).unlink()
    one, two = found
    assert one == two
    assert len(one[3]) > 250
