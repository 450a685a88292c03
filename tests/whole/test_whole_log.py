"""A whole log gone through once: the same as when all of it is held, and of what is done nothing is held whole."""

import gc
import json
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

RUBRIC = released_rubric("2.3.0")
ALL = Selection()


def gone_through(demo: Demo, selection: Selection = ALL, write: bool = False) -> tuple[WholeLog, str]:
    """Go through a log as ``run --json`` does; return it with what that prints."""
    sources = Sources.under(rules_of(RUBRIC), demo.repo_dir, demo.transcript_dirs, {"processes": 1})
    with sources.transcripts().start() as scan:
        log = WholeLog(scan, demo.iter_log_dir, sources, RUBRIC, selection)
        parts = run_parts(log, log.iterations(write, run_item))
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
    ("at_once", "keeps"), [pytest.param(3, False, id="some at a time"), pytest.param(1000, True, id="all at once")]
)
def test_holds_few_iterations_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int, keeps: bool) -> None:
    """The twin, in which all of them are scored together, shows that the count would tell."""
    repo = Repo(tmp_path)
    repo.commit({"a": "b"})
    log = tmp_path / "log"
    log.mkdir()
    for n in range(1, 41):
        (log / f"iter-{n}.yaml").write_text(f"schema_version: 2\niteration: {n}\nimpl: {{retries: 0}}\n")
    monkeypatch.setattr(whole_log, "_AT_ONCE", at_once)
    sources = Sources.under(rules_of(RUBRIC), tmp_path, (), {"processes": 1})
    most = 0
    gc.freeze()  # what is there already need not be looked at
    try:
        with sources.transcripts().start() as scan:
            whole = WholeLog(scan, log, sources, RUBRIC, ALL)
            for _ in whole.iterations(False, run_item):
                most = max(most, sum(isinstance(one, ScoredIteration) for one in gc.get_objects()))
    finally:
        gc.unfreeze()
    assert len(whole.lines) == 40
    assert (most > 20) == keeps
