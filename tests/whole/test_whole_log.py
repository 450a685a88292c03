"""A whole log gone through once: the same answers as from memory, and little stays in memory."""

import gc
import json
from pathlib import Path

import pytest
from helpers.repos import Repo

from rubric import released_rubric
from scoring import whole_log
from scoring.demo import Demo
from scoring.evidence.rules import Sources, rules_of
from scoring.log.selection import Selection
from scoring.score import score_log
from scoring.scored import LogSummary, ScoredIteration
from scoring.sidecars.provenance import Loss
from scoring.sidecars.writing import write_scored_log
from scoring.views.run_pages import run_item, run_payload
from scoring.whole_log import score_whole_log

RUBRIC = released_rubric("3.1.0")
ALL = Selection()


def gone_through(
    demo: Demo, selection: Selection = ALL, write: bool = False
) -> tuple[LogSummary, str]:
    """Go through a log as ``run --json`` does; return it with what that prints."""
    sources = Sources.under(rules_of(RUBRIC), demo.repo_dir, demo.transcript_dirs)
    items: list[dict[str, object]] = []
    log = score_whole_log(
        demo.iter_log_dir,
        sources,
        RUBRIC,
        selection,
        lambda *one: items.append(run_item(*one)),
        write=write,
    )
    return log, json.dumps(run_payload(log) | {"iterations": items})


def test_says_what_a_log_in_memory_says(demo: Demo) -> None:
    in_memory = score_log(
        demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs, rubric=RUBRIC
    )
    items = list(map(run_item, in_memory.iterations))
    before = files_of(demo.iter_log_dir)
    log, said = gone_through(demo)
    assert (log.written, files_of(demo.iter_log_dir)) == (None, before)
    lines = [iteration.line() for iteration in in_memory.iterations]
    shares: dict[str, float] = {}
    for spec in RUBRIC.signals:
        present = [one.signals.value(spec.id).present for one in in_memory.iterations]
        shares[spec.id] = sum(present) / len(lines)
    summary = LogSummary(RUBRIC, lines, in_memory.sessions, shares)
    assert said == json.dumps(run_payload(summary) | {"iterations": items})


@pytest.mark.parametrize(
    ("selection", "shown"),
    [(Selection(last=3), [7, 8, 9]), (Selection(task="no-such-task"), [])],
    ids=str,
)
def test_shows_what_is_chosen(
    demo: Demo, selection: Selection, shown: list[int]
) -> None:
    assert [line.iteration for line in gone_through(demo, selection)[0].lines] == shown


def files_of(log: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in log.iterdir()
        if ".score." in path.name or ".evidence." in path.name
    }


@pytest.mark.parametrize("at_once", [1, 2, 1000])
def test_writes_what_a_log_in_memory_writes(
    demo: Demo, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(whole_log, "_SIDECARS_AT_ONCE", at_once)
    log, _ = gone_through(demo, Selection(last=1), write=True)
    found = files_of(demo.iter_log_dir)
    for name in found:
        (demo.iter_log_dir / name).unlink()
    in_memory = score_log(
        demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs, rubric=RUBRIC
    )
    iterations, sessions = write_scored_log(demo.iter_log_dir, in_memory)
    assert found == files_of(demo.iter_log_dir)
    assert log.written == (len(iterations), len(sessions))


@pytest.mark.parametrize("keeps", [False, True], ids=["shown", "kept by the caller"])
def test_keeps_no_iteration_whole(tmp_path: Path, keeps: bool) -> None:
    """The twin, in which the caller keeps them, shows that the count would tell."""
    repo = Repo(tmp_path)
    repo.commit({"a": "b"})
    log = tmp_path / "log"
    log.mkdir()
    for n in range(1, 41):
        (log / f"iter-{n}.yaml").write_text(
            f"schema_version: 2\niteration: {n}\nimpl: {{retries: 0}}\n"
        )
    kept: list[ScoredIteration] = []
    counts: list[int] = []

    def show(one: ScoredIteration, _: tuple[Loss, ...]) -> None:
        kept.extend([one] * keeps)
        counts.append(
            sum(isinstance(other, ScoredIteration) for other in gc.get_objects())
        )

    gc.freeze()  # what is there already need not be looked at
    try:
        sources = Sources.under(rules_of(RUBRIC), tmp_path, ())
        whole = score_whole_log(log, sources, RUBRIC, ALL, show, write=True)
    finally:
        gc.unfreeze()
    assert len(whole.lines) == 40
    assert (max(counts) > 20) == keeps
