"""Following a log: what appears, changes, breaks and goes away while somebody looks."""

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from helpers.commands import DaScore, running
from helpers.repos import Repo

from rubric import default_rubric
from scoring.demo import Demo
from scoring.errors import LogError, NotARepositoryError
from scoring.evidence.rules import REFERENCE, Sources
from scoring.jobs.watch import PATIENCE, LogChange, LogWatch, times_to_look


@pytest.fixture
def log(demo: Demo) -> Path:
    return demo.iter_log_dir


@pytest.fixture
def watch(demo: Demo) -> LogWatch:
    return LogWatch(
        demo.iter_log_dir,
        default_rubric(),
        Sources.under(REFERENCE, demo.repo_dir, demo.transcript_dirs),
        last=9,
    )


def begin(watch: LogWatch, last: int) -> list[LogChange]:
    watch._last = last
    return watch.look()


def told(found: list[LogChange]) -> list[tuple[str, int | None]]:
    return [(seen.change, seen.iteration) for seen in found]


def renumbered(log: Path, number: int) -> str:
    return (
        (log / "iter-5.yaml")
        .read_text()
        .replace("iteration: 5", f"iteration: {number}")
    )


class TestLogWatch:
    def test_scores_what_changes_and_knows_what_it_was(
        self, watch: LogWatch, log: Path
    ) -> None:
        (first,) = begin(watch, 1)
        entry = log / "iter-9.yaml"
        entry.write_text(
            entry.read_text().replace(
                "tests_total_pass: true", "tests_total_pass: false"
            )
        )
        (seen,) = watch.look()
        assert first.score is not None
        assert seen.score is not None
        assert (seen.change, seen.iteration, seen.before) == (
            "changed",
            9,
            first.score.value,
        )
        assert seen.score.value < first.score.value

    def test_scores_again_when_hook_outcomes_arrive_and_not_at_a_touch(
        self, watch: LogWatch, log: Path
    ) -> None:
        assert told(begin(watch, 3)) == [("now", 7), ("now", 8), ("now", 9)]
        os.utime(log / "iter-5.yaml", ns=(1, 1))
        assert watch.look() == []
        (log / "iter-1.hook-outcomes.yaml").write_bytes(
            (log / "iter-5.hook-outcomes.yaml").read_bytes()
        )
        assert told(watch.look()) == [("changed", 1)]

    def test_waits_for_a_half_written_file_and_keeps_what_it_held_before(
        self, watch: LogWatch, log: Path
    ) -> None:
        begin(watch, 1)
        before = (log / "iter-9.yaml").read_text()
        for text in ("", before):
            (log / "iter-9.yaml").write_text(text)
            assert watch.look() == []
        whole = renumbered(log, 20)
        for part in (1, len(whole) // 3, len(whole) // 2):
            (log / "iter-20.yaml").write_text(whole[:part] + "\nx: [")
            assert watch.look() == []
        (log / "iter-20.yaml").write_text(whole)
        assert told(watch.look()) == [("new", 20)]

    def test_says_once_what_stays_broken(self, watch: LogWatch, log: Path) -> None:
        begin(watch, 0)
        (log / "iter-20.yaml").write_text("a: [")
        found = [watch.look() for _ in range(PATIENCE + 3)]
        assert [told(looked) for looked in found] == [[]] * (PATIENCE - 1) + [
            [("broken", None)]
        ] + [[]] * 3
        assert "iter-20.yaml" in found[PATIENCE - 1][0].reason

    def test_survives_renames_and_removals(self, watch: LogWatch, log: Path) -> None:
        begin(watch, 9)
        (log / "iter-9.yaml").rename(log / "iter-0009.yaml")
        assert watch.look() == []  # the same entry in a file of another name
        (log / "iter-0009.yaml").unlink()
        (seen,) = watch.look()
        assert (seen.change, seen.iteration, seen.task_id) == (
            "removed",
            9,
            "export-links",
        )
        assert seen.before is not None

    def test_tells_of_what_lands_when_the_trunk_moves_and_of_nothing_else(
        self, watch: LogWatch, demo: Demo
    ) -> None:
        begin(watch, 9)
        Repo.at(demo.repo_dir).commit(message="nothing")
        assert watch.look() == []
        Repo.at(demo.repo_dir).git("update-ref", "refs/heads/master", "89925c84a012")
        changed = {seen.iteration: seen for seen in watch.look()}
        assert changed[9].change == "changed"
        assert changed[9].score is not None
        assert changed[9].before is not None
        assert changed[9].score.value > changed[9].before
        assert watch.look() == []

    def test_what_could_not_be_scored_is_made_up_for(
        self, watch: LogWatch, demo: Demo, log: Path
    ) -> None:
        begin(watch, 0)
        (log / "iter-20.yaml").write_text(renumbered(log, 20))
        (log / "iter-1.yaml").unlink()
        git = demo.repo_dir / ".git"
        git.rename(demo.root / "away")
        with pytest.raises(NotARepositoryError):
            watch.look()
        (demo.root / "away").rename(git)
        assert told(watch.look()) == [("removed", 1), ("new", 20)]
        log.rename(log.with_name("away"))
        with pytest.raises(LogError):
            watch.look()
        log.with_name("away").rename(log)
        assert watch.look() == []


def test_a_look_that_takes_long_is_followed_by_a_longer_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rests: list[float] = []
    clock = iter((0.0, 0.01, 1.0, 3.0, 5.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(time, "sleep", rests.append)
    looks = times_to_look(1.0)
    for _ in range(3):
        next(looks)
    assert rests == [1.0, 40.0]


class TestCommand:
    @pytest.fixture(autouse=True)
    def _here(self, demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(demo.repo_dir)

    def test_prints_a_line_for_each(self, da_score: DaScore, log: Path) -> None:
        found = da_score("watch", "--once", "--last", "2")
        assert (found.status, found.err) == (0, "")
        assert found.out == (
            "now      iteration 8  daily-totals  0.845 good  correction_pressure cost most: "
            "1 retries, 0 user corrections\n"
            "now      iteration 9  export-links  0.704 good  landed cost most: "
            "commit 89925c84a012 not reachable from master\n"
        )
        assert not list(log.glob("*.score.yaml"))

    def test_names_no_band_where_scores_are_not_measured(
        self, da_score: DaScore
    ) -> None:
        shown = da_score("watch", "--once", "--last", "9", "--rubric", "3.1.0").out
        assert re.search(
            r"^now +iteration 7  \S+  evidence score 0\.\d{3}  \S", shown, re.M
        )
        enough = "  evidence score - not enough evidence\n"
        assert f"iteration 2  choose-alphabet{enough}" in shown

    def test_writes_sidecars_when_asked_to_and_prints_json_lines(
        self, da_score: DaScore, log: Path
    ) -> None:
        lines = da_score("watch", "--once", "--last", "9", "--json").out.splitlines()
        assert [json.loads(line)["iteration"] for line in lines] == list(range(1, 10))
        da_score("watch", "--once", "--write")
        assert [path.name for path in log.glob("*.score.yaml")] == ["iter-9.score.yaml"]

    def test_goes_on_until_it_is_interrupted(self, log: Path) -> None:
        with running("watch", "--interval", "0.05", "--json") as watching:
            assert watching.stdout is not None
            assert json.loads(watching.stdout.readline())["iteration"] == 9
            (log / "iter-20.yaml").write_text(renumbered(log, 20))
            seen = json.loads(watching.stdout.readline())
            assert (seen["change"], seen["iteration"]) == ("new", 20)
            watching.send_signal(signal.SIGINT)
            assert watching.wait(300) == 130
            assert watching.stderr is not None
            assert watching.stderr.read().lstrip() == "da-score: error: interrupted\n"

    def test_waits_for_a_log_that_is_not_there_yet(self, log: Path) -> None:
        log.rename(log.with_name("away"))
        with running("watch", "--interval", "0.05", "--json") as watching:
            assert watching.stdout is not None
            assert watching.stderr is not None
            assert watching.stderr.readline().endswith("; waiting for it\n")
            log.with_name("away").rename(log)
            seen = json.loads(watching.stdout.readline())
            assert (seen["change"], seen["iteration"]) == ("new", 1)
