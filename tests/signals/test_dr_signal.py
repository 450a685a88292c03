"""diminishing_returns: what a DR transcript makes of a score.

Where it votes and where it is only shown.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.doors import ends, make_fifo, watched_doors
from helpers.repos import Repo

from rubric import Rubric, default_rubric, released_rubric
from scoring import build_signal_sets, examine_iteration, score_log
from scoring.cli import main
from scoring.evidence.entry_files import deliberation_facts
from scoring.jobs.backfill import BackfillPlan, backfill_log
from scoring.log.settings import Settings
from scoring.signals.diminishing_returns import DIMINISHING_RETURNS, deliberation_value
from scoring.signals.table import optional_signals
from scoring.signals.values import SignalValue, absent_signal, present_signal

NEXT = released_rubric("2.2.0")


def spoken(
    *claims: str, actions: tuple[str, ...] = (), questions: tuple[str, ...] = ()
) -> dict[str, Any]:
    return {
        "claims": list(claims),
        "next_actions": list(actions),
        "open_questions": list(questions),
    }


READY = ("I will run the tests and open the pull request", "Write docs/notes.md")

CONVERGED = (
    spoken(
        "the index lies beside the log",
        "a lock guards each writer",
        questions=("who owns the lock?",),
    ),
    spoken("the index lies beside the log"),
    spoken("a lock guards each writer", actions=READY),
)
"""Two raw-LOW rounds in a row at the end, and ready: SHIP with score 1."""

OPEN = (
    spoken("the index lies beside the log"),
    spoken("readers never wait for anybody", actions=READY),
)
"""As new as ever: CONTINUE with score 0."""

HALF = (
    spoken(
        "one about ducks", "two concerning geese", "three with swans", "four of herons"
    ),
    spoken("an entirely different matter", "plus yet another thing"),
)
"""Two new claims where there were four: CONTINUE with score 0.5."""

BLOCKED = (
    *CONVERGED[:2],
    spoken("a lock guards each writer", actions=("Waiting on access", *READY)),
)
"""Converged and blocked: ESCALATE."""


def document(*rounds: Mapping[str, Any]) -> str:
    return json.dumps(
        {
            "rounds": [
                {"round": n, "outputs": outputs} for n, outputs in enumerate(rounds, 1)
            ]
        }
    )


def lines(*rounds: Mapping[str, Any]) -> str:
    rows: list[dict[str, Any]] = [{"type": "transcript_header", "topic": "locks"}]
    rows += [
        {"type": "round", "round": n, "outputs": outputs}
        for n, outputs in enumerate(rounds, 1)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


class Log:
    """A log of two iterations in a repository."""

    def __init__(self, repo: Repo) -> None:
        self.repo, self.path = repo, repo.path / ".agents/active/iteration-log"
        self.path.mkdir(parents=True)
        for n in (1, 2):
            sha = repo.commit({f"src/{n}.py": "x"}, f"work {n}")
            text = (
                f"schema_version: 2\niteration: {n}\ncommit: {sha}\nagent: {{session_id: "
                f"s}}\nimpl: {{retries: 1}}\n"
            )
            (self.path / f"iter-{n}.yaml").write_text(text)

    def give(self, text: str, iteration: int = 1, suffix: str = ".dr.json") -> Path:
        path = self.path / f"iter-{iteration}{suffix}"
        path.write_text(text)
        return path

    def value(self, iteration: int = 1) -> SignalValue:
        return deliberation_value(deliberation_facts(self.path, iteration), iteration)

    def sidecars(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.path.glob("*.score.yaml")}


@pytest.fixture
def log(repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Log:
    monkeypatch.setenv("DA_SCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(repo.path)
    return Log(repo)


Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line that succeeds without a warning, and return what it prints."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        status = main(arguments)
        found = capsys.readouterr()
        assert (status, found.err) == (0, "")
        return found.out

    return run


class TestValue:
    """What a deliberation counts for."""

    @pytest.mark.parametrize(
        ("rounds", "sub_score", "detail"),
        [
            pytest.param(
                CONVERGED,
                1,
                "SHIP: novelty 0.000 LOW, readiness 1.00 HIGH, 3 rounds",
                id="converged",
            ),
            pytest.param(
                OPEN,
                0,
                "CONTINUE: novelty 1.000 HIGH, readiness 1.00 HIGH, 2 rounds",
                id="open",
            ),
            pytest.param(
                HALF,
                0.5,
                "CONTINUE: novelty 0.500 MEDIUM, readiness 0.50 MEDIUM, 2 rounds",
                id="half new",
            ),
            pytest.param(
                BLOCKED,
                0,
                "ESCALATE: novelty 0.000 LOW, readiness 0.80 HIGH, 3 rounds",
                id="blocked",
            ),
        ],
    )
    def test_is_its_score_and_zero_where_it_is_blocked(
        self,
        log: Log,
        rounds: tuple[dict[str, Any], ...],
        sub_score: float,
        detail: str,
    ) -> None:
        log.give(document(*rounds))
        assert log.value() == present_signal(sub_score, detail)

    def test_needs_two_rounds_in_a_row_whatever_the_settings_say(
        self, log: Log
    ) -> None:
        log.give(document(*CONVERGED[:2]))
        assert log.value().detail.startswith("CONTINUE: novelty 0.000 MEDIUM, ")
        log.give(document(*CONVERGED[:2], spoken(actions=READY)))
        assert log.value().detail.startswith("SHIP: novelty 0.000 LOW, ")

    def test_is_that_of_the_built_in_words_whatever_the_settings_say(
        self, log: Log, run: Run
    ) -> None:
        log.give(
            document(
                *CONVERGED[:2],
                spoken(
                    "a lock guards each writer", actions=("I will brew the tea", *READY)
                ),
            )
        )
        before = run("run", "--rubric", "2.2.0", "--json")
        settings = log.repo.path / ".agents/da-score.toml"
        settings.write_text(
            "[dr]\nk = 5\nthresholds = {novelty-high = 0.0, paraphrase = 0.1}\n"
            'words = {blockers = ["brew"]}\n'
        )
        assert run("run", "--rubric", "2.2.0", "--json") == before
        assert '"SHIP' in before

    def test_of_json_lines_is_the_same_and_json_wins_where_there_are_both(
        self, log: Log
    ) -> None:
        log.give(lines(*CONVERGED), suffix=".dr.jsonl")
        assert (
            log.value().detail
            == "SHIP: novelty 0.000 LOW, readiness 1.00 HIGH, 3 rounds"
        )
        log.give(document(*OPEN))
        assert log.value().detail.startswith("CONTINUE")
        log.give("{")
        assert not log.value().present


class TestAbsent:
    @pytest.mark.parametrize(
        ("rounds", "why"),
        [
            ((spoken("one claim"),), "has 1 round; at least 2 needed"),
            ((spoken(),), "has 1 round; at least 2 needed"),
            ((spoken(), spoken("  ", actions=READY)), "has no claims"),
        ],
    )
    def test_with_too_little_to_measure(
        self, log: Log, rounds: tuple[dict[str, Any], ...], why: str
    ) -> None:
        log.give(document(*rounds))
        assert log.value() == absent_signal(f"DR transcript for iter-1 {why}")

    @pytest.mark.parametrize(
        "text",
        [
            *("", "{", "null", '{"rounds": []}'),
            pytest.param(
                '{"rounds": [{"round": 1, "outputs": {"claims": "one"}}]}',
                id="claims that are no list",
            ),
            pytest.param(
                '{"rounds": [{"round": 1, "outputs": {"claims": [1]}}]}',
                id="a claim that is no text",
            ),
            pytest.param("[" * 100_000, id="deep"),
            pytest.param('{"rounds": "' + "x" * 5000 + '"}', id="a long value"),
            pytest.param(
                '{"rounds": "\\u001b[31m\\n\\u2028"}', id="control characters"
            ),
            pytest.param(
                document(*CONVERGED) + "\x1b]0;title\x07\n", id="something behind it"
            ),
        ],
    )
    def test_with_an_invalid_file_says_why_in_one_line(
        self, log: Log, text: str
    ) -> None:
        log.give(text)
        found = log.value()
        assert not found.present
        assert found.detail.startswith(
            "cannot read DR transcript for iter-1: iter-1.dr.json: "
        )
        assert len(found.detail.splitlines()) == 1
        assert found.detail.isprintable()
        assert len(found.detail) < 300


def test_it_is_to_vote_where_a_rubric_has_the_signal_and_nowhere_else() -> None:
    assert (
        optional_signals(NEXT)
        == optional_signals(default_rubric(), NEXT)
        == {DIMINISHING_RETURNS}
    )
    assert optional_signals(default_rubric()) == optional_signals() == frozenset()


class TestVotes:
    """Under 2.2.0, and any rubric with the signal."""

    @pytest.fixture(autouse=True)
    def _given(self, log: Log) -> None:
        log.give(document(*CONVERGED))
        log.give(document(*BLOCKED), iteration=2)

    def test_in_a_log_as_in_one_iteration_alone_and_in_sets_of_signals(
        self, log: Log
    ) -> None:
        scored = score_log(log.path, log.repo.path, rubric=NEXT)
        rows = [iteration.score.breakdown[-1] for iteration in scored.iterations]
        assert [
            (row.signal, row.label, row.present, row.sub_score) for row in rows
        ] == [
            ("diminishing_returns", "Diminishing returns", True, 1.0),
            ("diminishing_returns", "Diminishing returns", True, 0.0),
        ]
        first, second = (one.score for one in scored.iterations)
        before = [
            one.score.value for one in score_log(log.path, log.repo.path).iterations
        ]
        assert (before[0] < first.value, before[1] > second.value) == (True, True)
        assert (
            examine_iteration(log.path, log.repo.path, 2, rubric=NEXT).score == second
        )
        assert NEXT.score_all(build_signal_sets(log.path, log.repo.path)) == [
            first,
            second,
        ]

    def test_reads_each_transcript_once(self, log: Log) -> None:
        score_log(log.path, log.repo.path, rubric=NEXT)
        with watched_doors() as doors:
            score_log(log.path, log.repo.path, rubric=NEXT)
        assert sum(name.endswith("iter-1.dr.json") for name in doors.opened) == 1


class TestObserved:
    """Under 2.1.0, and any rubric without the signal."""

    @pytest.mark.parametrize("version", ["2.1.0", "2.0.2"])
    @pytest.mark.parametrize(
        "text",
        [document(*CONVERGED), document(*CONVERGED[:1]), "{"],
        ids=["good", "short", "bad"],
    )
    def test_changes_no_byte_of_a_sidecar(
        self, log: Log, run: Run, version: str, text: str
    ) -> None:
        without = run("run", "--rubric", version)
        sidecars = log.sidecars()
        assert len(sidecars) == 3
        log.give(text)
        assert run("run", "--rubric", version) == without
        assert log.sidecars() == sidecars
        run("run", "--rubric", version, "--json")
        run("iteration", "1", "--recompute", "--rubric", version)
        run("close-task", "1", "--rubric", version)
        run("backfill", "--force", "--rubric", version, ".")
        assert log.sidecars() == sidecars

    def test_is_one_block_after_the_table_of_an_iteration(
        self, log: Log, run: Run
    ) -> None:
        run("run")
        without = run("iteration", "1")
        path = log.give(document(*CONVERGED))
        shown = run("iteration", "1")
        head, _, rest = shown.partition(
            "\nDiminishing returns (observed, does not vote under rubric 2.1.0):\n"
        )
        block, _, tail = rest.partition("\nSource: ")
        assert f"{head}\nSource: {tail}" == without
        rows = dict(line.split(maxsplit=1) for line in block.splitlines())
        assert rows["SIGNAL"] == "SHIP"
        assert rows["SCORE"] == "1.000"
        assert rows["NOVELTY"] == "0.000 LOW, low in the last 2 of 3 rounds"
        assert rows["READINESS"] == "1.00 HIGH"
        assert rows["NEXT"] == "Converged. Ship the decision and verify."
        assert rows["SOURCE"] == str(path.relative_to(log.repo.path))
        assert run("iteration", "1", "--recompute") == shown

    def test_says_why_there_is_nothing_to_show(self, log: Log, run: Run) -> None:
        log.give(document(*CONVERGED[:1]))
        assert (
            "\n  ABSENT     DR transcript for iter-1 has 1 round; at least 2 needed\n"
            in run("iteration", "1")
        )
        log.give("{")
        found = json.loads(run("signals"))[0]["diminishing_returns"]
        assert (found["present"], found["meter"]) == (False, None)

    def test_is_in_the_json_of_a_run_an_iteration_and_the_signals(
        self, log: Log, run: Run
    ) -> None:
        path = log.give(document(*CONVERGED))
        run("run")
        expected = {
            "source": str(path.relative_to(log.repo.path)),
            "present": True,
            "sub_score": 1.0,
            "detail": "SHIP: novelty 0.000 LOW, readiness 1.00 HIGH, 3 rounds",
        }
        ran = json.loads(run("run", "--json"))["iterations"]
        for found in (
            ran[0],
            json.loads(run("iteration", "1", "--json")),
            json.loads(run("iteration", "1", "--json", "--recompute")),
            json.loads(run("signals"))[0],
        ):
            shown = found["diminishing_returns"]
            assert {key: shown[key] for key in expected} == expected
            assert shown["meter"]["stop_recommendation"]["signal"] == "SHIP"
        assert "diminishing_returns" not in ran[1]
        assert "diminishing_returns" not in json.loads(run("signals"))[0]["signals"]


@pytest.mark.parametrize(
    ("rubric", "command", "given", "loaded"),
    [
        pytest.param("2.1.0", "run", True, False, id="a run does not show it"),
        pytest.param("2.1.0", "run --json", True, True, id="its JSON does"),
        pytest.param("2.1.0", "run --json", False, False, id="nothing to show"),
        pytest.param("2.2.0", "run", False, False, id="nothing that votes"),
    ],
)
def test_the_meter_is_loaded_only_when_there_is_something_to_measure_and_to_show(
    log: Log,
    monkeypatch: pytest.MonkeyPatch,
    rubric: str,
    command: str,
    given: bool,
    loaded: bool,
) -> None:
    if given:
        log.give(document(*CONVERGED))
    monkeypatch.setenv("DA_SCORE_RUBRIC", rubric)
    code = f"import sys; from scoring.cli import main; main({command.split()})"
    code += "; sys.exit('scoring.meters.dr' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=log.repo.path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (int(loaded), b"")


class TestBackfill:
    """The batch job knows a DR transcript as an input, under rubrics in which it votes."""

    @staticmethod
    def scored(log: Log, rubric: Rubric, cache: Path) -> dict[int, str]:
        settings = Settings(log.path, log.repo.path, cache_dir=cache)
        report = backfill_log(BackfillPlan(settings, rubric))
        assert report.error is None
        return report.scored

    def test_scores_anew_what_a_transcript_changed(
        self, log: Log, tmp_path: Path
    ) -> None:
        assert self.scored(log, NEXT, tmp_path) == {1: "no sidecar", 2: "no sidecar"}
        assert self.scored(log, NEXT, tmp_path) == {}
        log.give(document(*CONVERGED))
        assert self.scored(log, NEXT, tmp_path) == {1: "inputs changed"}
        log.give(document(*OPEN))
        assert self.scored(log, NEXT, tmp_path) == {1: "inputs changed"}
        assert self.scored(log, NEXT, tmp_path) == {}

    def test_does_not_wait_for_a_fifo(self, log: Log, tmp_path: Path) -> None:
        make_fifo(log.path / "iter-1.dr.json")
        assert ends(lambda: self.scored(log, NEXT, tmp_path)) == {
            1: "no sidecar",
            2: "no sidecar",
        }
