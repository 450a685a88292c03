"""Entries that claim more than there is, beside honest ones: whole logs, from the transcript to the band."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.histories import History, Session

from rubric import BAND_INSUFFICIENT, Score, SignalContribution, released_rubric
from scoring.score import score_log

pytestmark = pytest.mark.sampled(3)

RUBRIC = released_rubric("3.1.0")
ARTIFACT = "checks/t/unit.yaml"
PASSED = "12 passed in 0.31s"

CLAIMS: dict[str, Any] = {
    "impl": {"summary": "work", "scope_note": "on-target", "focused_tests_pass": True, "tests_total_pass": True},
    "verifiers": [{"type": "unit", "status": "pass", "result_artifact": ARTIFACT, "tests_total_pass": True}],
    "session_tokens": {"input_tokens": 1, "cache_read_tokens": 99, "cache_creation_tokens": 1, "cache_hit_rate": 0.99},
}

Write = Callable[[Session, Path], None]
"""What the agent does about the artifact, by its transcript."""


class Log:
    """A repository in which one agent works, and entries that somebody writes about it."""

    def __init__(self, folder: Path) -> None:
        self.history = History(folder)
        self.session = self.history.session("s1")
        self.clock = 0.0

    def work(self, write: Write | None = None, printed: str = PASSED, **commit: Any) -> int:
        """Edit, test, verify and commit; return the mark of the commit."""
        begun, self.clock, turns = self.clock, self.clock + 100, len(self.session.lines) * 10
        self.session.edit(begun + 10, turns + 1, "src/a.py")
        self.session.run(begun + 20, turns + 2, "pytest -q", printed)
        if write:
            write(self.session, self.history.repo)
        self.session.run(begun + 40, turns + 4, f"scripts/verify --out {ARTIFACT}", "done")
        mark = self.history.commit(begun + 50, "work", **commit)
        self.session.commits(begun + 50, turns + 5, mark, "work")
        return mark

    def entry(self, commit: int | str, **said: Any) -> None:
        """Write an entry that claims everything."""
        self.said = [*getattr(self, "said", []), said]
        self.history.entry(commit, "work")

    def scores(self) -> list[Score]:
        self.history.write()
        for n, said in enumerate(self.said, 1):
            path = self.history.log / f"iter-{n}.yaml"
            path.write_text(json.dumps(json.loads(path.read_text()) | CLAIMS | said))
        artifact = self.history.repo / ARTIFACT
        artifact.parent.mkdir(parents=True, exist_ok=True)
        artifact.write_text("status: pass\n")
        (self.history.repo / "link.yaml").symlink_to(ARTIFACT)
        (self.history.repo / "linked").symlink_to("checks/t")
        os.link(artifact, self.history.repo / "twin.yaml")
        return [one.score for one in score_log(self.history.log, self.history.repo, rubric=RUBRIC).iterations]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    made = Log(tmp_path)
    monkeypatch.setenv("HOME", str(made.history.home))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(made.history.home / ".claude"))
    return made


def row(score: Score, signal: str) -> SignalContribution:
    return next(row for row in score.breakdown if row.signal == signal)


def writes(path: str) -> Write:
    """An edit tool writes a file, by its absolute path."""

    def write(session: Session, _: Path) -> None:
        session.edit(30, 7777, path)

    return write


def runs(command: str) -> Write:
    def write(session: Session, _: Path) -> None:
        session.run(30, 7777, command, "")

    return write


def test_an_honest_entry_loses_nothing(log: Log) -> None:
    log.entry(log.work())
    (score,) = log.scores()
    assert {r.signal: (r.sub_score, r.source) for r in score.breakdown if r.present} == {
        "landed": (1, "observed"),
        "verifier": (1, "observed"),
        "tests": (1, "observed"),
        "correction_pressure": (1, "observed"),
        "token_efficiency": (0.7, "observed"),
    }
    assert row(score, "verifier").detail == "1/1 verifiers observed, mean status; evidence by commit"
    assert row(score, "tests").detail == (
        "1 test run, 0 failed; last passed: pytest -q (12 passed); evidence by commit"
    )
    assert score.band == "excellent"


@pytest.mark.sampled(100)
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(writes(ARTIFACT), id="an edit tool"),
        pytest.param(writes("link.yaml"), id="an edit tool through a link"),
        pytest.param(writes("linked/unit.yaml"), id="an edit tool through a linked folder"),
        pytest.param(writes("twin.yaml"), id="an edit tool by another name of the file"),
        pytest.param(runs(f"echo 'status: pass' > {ARTIFACT}"), id="a redirection"),
        pytest.param(runs("cd checks && echo 'status: pass' >>t/unit.yaml"), id="a redirection in a folder"),
        pytest.param(runs("cd linked && echo 'status: pass' > unit.yaml"), id="a redirection in a linked folder"),
        pytest.param(runs("echo 'status: pass' > link.yaml"), id="a redirection through a link"),
        pytest.param(runs(f"echo 'status: pass' | tee {ARTIFACT}"), id="tee"),
        pytest.param(runs(f"cat > {ARTIFACT} <<EOF\nstatus: pass\nEOF"), id="a here-document"),
    ],
)
def test_an_artifact_that_the_agent_wrote_has_no_vote(log: Log, write: Write) -> None:
    log.entry(log.work(write))
    (score,) = log.scores()
    why = "none of 1 verifiers observed: the agent wrote its artifact itself; evidence by commit"
    assert (row(score, "verifier").present, row(score, "verifier").detail) == (False, why)


@pytest.mark.sampled(100)
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(writes("src/unit.yaml"), id="another file of that name"),
        pytest.param(writes("gone/unit.yaml"), id="a file that is not there"),
        pytest.param(runs(f"cat {ARTIFACT} > out.txt"), id="a copy of it"),
        pytest.param(runs(f"cat < {ARTIFACT}"), id="it was read"),
        pytest.param(runs(f"git commit -m 'wrote > {ARTIFACT}'"), id="a message names it"),
    ],
)
def test_an_artifact_that_the_agent_did_not_write_has_one(log: Log, write: Write) -> None:
    log.entry(log.work(write))
    (score,) = log.scores()
    assert row(score, "verifier").present


@pytest.mark.parametrize(
    "commit",
    [
        pytest.param(None, id="with the commit of somebody else"),
        pytest.param("deadbeefdeadbeef", id="with a commit that is nowhere"),
        pytest.param("", id="without a commit"),
    ],
)
def test_claims_alone_give_no_band(log: Log, commit: str | None) -> None:
    theirs = log.history.commit(10, "of a person")
    log.entry(theirs if commit is None else commit, impl=CLAIMS["impl"] | {"summary": "made up"})
    (score,) = log.scores()
    assert score.band == BAND_INSUFFICIENT
    assert {r.signal for r in score.breakdown if r.present} <= {"landed"}
    assert all(r.detail for r in score.breakdown)


@pytest.mark.slow
def test_a_commit_named_twice_gives_the_second_entry_nothing(log: Log) -> None:
    mark = log.work()
    log.entry(mark)
    log.entry(mark)
    first, second = log.scores()
    assert first.band == "excellent"
    assert [r.signal for r in second.breakdown if r.present] == []
    assert row(second, "landed").detail == "commit already counted for iteration 1"


DOCUMENTS = {"README.md": "1", "docs/a.rst": "1", "LICENSE": "1", "docs/b.png": "1"}


def test_tests_say_nothing_of_documents(log: Log) -> None:
    log.entry(log.work(files=DOCUMENTS))
    (score,) = log.scores()
    assert not row(score, "tests").applicable
    assert score.coverage.total == len(RUBRIC.signals) - 1
    assert score.coverage.weight == pytest.approx((0.1564 + 0.138 + 0.1012 + 0.0736) / (1 - 0.1288))
    assert score.bounds.high == pytest.approx(score.bounds.low + 1 - score.coverage.weight)


def test_tests_say_something_of_documents_with_code(log: Log) -> None:
    log.entry(log.work(files=DOCUMENTS | {"src/a.py": "1"}))
    (score,) = log.scores()
    assert (row(score, "tests").applicable, row(score, "tests").present) == (True, True)


def test_a_failed_last_run_allows_fair_at_best(log: Log) -> None:
    log.entry(log.work(printed="1 failed, 11 passed in 0.31s"))
    (score,) = log.scores()
    assert (score.band, RUBRIC.band(score.value)) == ("fair", "good")
    assert "caps the band at fair" in row(score, "tests").detail
