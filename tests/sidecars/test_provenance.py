"""Where scores come from.

What is kept beside a sidecar, in which order, and what a later recompute makes of it.
"""

import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.commands import DaScore
from helpers.facts import facts_of
from helpers.places import Place
from msgspec.structs import replace

import scoring.sidecars.scores
from rubric import released_rubric
from scoring.errors import WriteError
from scoring.evidence.transcripts.facts import HarnessFacts
from scoring.evidence.transcripts.observed_facts import (
    CorrectionsSeen,
    Observed,
    TestsSeen,
)
from scoring.files import write_together
from scoring.jobs.backfill import BackfillPlan, LogReport, backfill_log
from scoring.log.model import IterationRecord
from scoring.log.settings import Settings
from scoring.score import score_log
from scoring.scored import ScoredLog
from scoring.sidecars.emitter import emit
from scoring.sidecars.lost_evidence import in_words
from scoring.sidecars.provenance import (
    Loss,
    OwnLines,
    Provenance,
    changed_between,
    evidence_path,
    lost_between,
    provenance_as_dict,
    provenance_of,
    read_provenance,
)
from scoring.sidecars.scores import iteration_score_path
from scoring.sidecars.writing import (
    compare_with_sidecar,
    sidecar_of,
    write_scored_log,
    write_scores,
)

RUBRIC = released_rubric("3.1.0")
SHA = "8f1c" * 10
CLAUDE = HarnessFacts("claude", 1, 2, 40, 100, 200, 3000, 400, 12, 3, 7)
CODEX = HarnessFacts("codex", 1, 1, 4, 10, 20, 30, 40, 0, 0, 0)
ORIGIN = Provenance(
    4,
    1_776_000_000_000_000_000,
    1_776_003_600_000_000_000,
    "refs/heads/main",
    SHA,
    "squash",
    (CLAUDE,),
)
OWN = OwnLines("commit", ("a", "b"), 3, 1, "failed", True, 2, 1, 4)
OWNED = replace(ORIGIN, own=OWN)
CALLS, TURNS = "correction_pressure", "token_efficiency"
SESSION = "5c0e1b7a-93d4-4f0e-8a6b-2d71c94be310"
KEYS_OF_OWN_LINES = ["attribution", "tests", "corrections"]
KEYS = ["iteration", "rubric_version", "window", "trunk", "landed", "harnesses"]


@pytest.fixture
def place(place: Place) -> Place:
    """Two iterations, with transcripts of both in the user's home."""
    for n in (1, 2):
        place.iteration(n)
    place.session(
        "one",
        place.turn(1),
        place.turn(1, 2, calls=[3, 4]),
        place.call(1, 3, failed=True),
        place.call(1, 4),
    )
    place.session("two", place.turn(2), place.turn(2, 2))
    return place


def write_provenance(log: Path, provenance: Provenance) -> None:
    evidence_path(log, provenance.iteration).write_bytes(
        emit(provenance_as_dict(provenance, "3.1.0"))
    )


def scored(place: Place, **options: Any) -> ScoredLog:
    return score_log(place.log, place.path, rubric=RUBRIC, **options)


def content(place: Place, n: int) -> Any:
    return yaml.safe_load(evidence_path(place.log, n).read_text())


class TestFile:
    def test_states_no_window_that_ends_before_it_begins(self, place: Place) -> None:
        place.repo.clock -= 10_000
        place.iteration(3)
        place.iteration(4)
        write_scored_log(place.log, scored(place))
        assert content(place, 3)["window"] == {"start": "", "end": ""}
        window = content(place, 4)["window"]
        assert window["start"] < window["end"]

    def test_holds_what_the_signals_were_computed_from(self, place: Place) -> None:
        write_scored_log(place.log, scored(place))
        found = content(place, 1)
        assert list(found) == [*KEYS, *KEYS_OF_OWN_LINES]
        assert found == {
            "iteration": 1,
            "rubric_version": "3.1.0",
            "window": {"start": "", "end": "2026-04-12T13:20:00Z"},
            "trunk": {"ref": "refs/heads/main", "commit": place.repo.head()},
            "landed": {"method": "ancestor"},
            "harnesses": [
                {
                    "name": "claude",
                    "sessions": 1,
                    "files": 1,
                    "turns": 2,
                    "input_tokens": 20,
                    "output_tokens": 10,
                }
                | {"cache_read_tokens": 150, "cache_creation_tokens": 50}
                | {"tool_calls": 2, "tool_errors": 1, "duplicates_dropped": 0}
            ],
            "attribution": {"method": "time", "sessions": [SESSION]},
            "tests": {"runs": 0, "failed": 0, "last": None, "edited_after": False},
            "corrections": dict.fromkeys(
                ("interrupts", "rejections", "resets", "words", "reports"), 0
            ),
        }
        assert content(place, 2)["window"] == {
            "start": "2026-04-12T13:20:00Z",
            "end": "2026-04-12T14:20:00Z",
        }
        # It is for its owner alone, and holds no word of a conversation.
        for n in (1, 2):
            path = evidence_path(place.log, n)
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert b"secret" not in path.read_bytes()

    @pytest.mark.parametrize(
        "changed",
        [
            {},
            {"start": None},
            {
                "start": None,
                "end": None,
                "trunk_ref": "",
                "trunk_commit": None,
                "landed": "",
                "harnesses": (),
            },
            {"harnesses": (CLAUDE, CODEX)},
            {"start": -1_000_000_001, "end": 1_776_003_600_123_456_789},
            {"trunk_ref": "refs/heads/a: b #"},
            {"own": OWN},
            {"own": OwnLines()},
            {"own": replace(OWN, last="passed", edited_after=False)},
            {"own": replace(OWN, last=None)},
        ],
        ids=lambda changed: " ".join(changed) or "whole",
    )
    def test_reads_back_as_it_was_written(
        self, tmp_path: Path, changed: dict[str, Any]
    ) -> None:
        origin = replace(ORIGIN, **changed)
        write_provenance(tmp_path, origin)
        assert read_provenance(tmp_path, 4) == origin

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "iteration: 4",
            "iteration: 4\nrubric_version: 3.1.0\nwindow: {start: a, end: b}\n",
            "iteration: 5\nrubric_version: 3.1.0\nwindow: {}\ntrunk: {}\nlanded: {}\nharnesses: "
            "[]\n",
            "iteration: 4\nrubric_version: 3.1.0\nwindow: {}\ntrunk: {}\nlanded: {}\nharnesses: "
            "[{turns: many}]\n",
        ],
    )
    def test_that_is_not_whole_is_as_if_it_were_not_there(
        self, tmp_path: Path, text: str
    ) -> None:
        evidence_path(tmp_path, 4).write_text(text)
        assert read_provenance(tmp_path, 4) is None
        assert read_provenance(tmp_path, 6) is None

    def test_of_the_document_is_one(self, tmp_path: Path) -> None:
        page = (Path(__file__).parents[2] / "docs" / "SIDECARS.md").read_text("utf-8")
        (example,) = re.findall(r"```yaml\n(iteration: 5\n.*?)```", page, re.S)
        evidence_path(tmp_path, 5).write_text(example)
        origin = read_provenance(tmp_path, 5)
        assert origin is not None
        write_provenance(tmp_path, origin)
        assert evidence_path(tmp_path, 5).read_text() == example

    @pytest.mark.parametrize("version", ["2.1.0", "2.2.0"])
    def test_is_written_under_no_rubric_of_the_reference(
        self, place: Place, version: str
    ) -> None:
        write_scored_log(
            place.log, score_log(place.log, place.path, rubric=released_rubric(version))
        )
        assert not list(place.log.glob("*.evidence.yaml"))


class TestCommands:
    """Whoever writes a sidecar of 3.1.0 writes where it comes from."""

    @pytest.mark.parametrize(
        ("arguments", "written"),
        [
            ("run", [1, 2]),
            ("iteration 2", [2]),
            ("iteration 1 --recompute", [1]),
            ("close-task 1 --strict", [1, 2]),
            ("backfill", [1, 2]),
            ("run --no-write", []),
            ("backfill --dry-run", []),
        ],
        ids=str,
    )
    def test_write(
        self, place: Place, da_score: DaScore, arguments: str, written: list[int]
    ) -> None:
        assert (
            da_score(*arguments.split(), "--rubric", "3.1.0", "--no-cache").status == 0
        )
        names = {evidence_path(place.log, n).name for n in written}
        assert {path.name for path in place.log.glob("*.evidence.yaml")} == names
        assert {path.name for path in place.log.glob("iter-*.score.yaml")} == {
            iteration_score_path(place.log, n).name for n in written
        }


class TestOrder:
    """Two files are two renames: should only one of them happen, nothing is lost."""

    @pytest.fixture
    def together(self, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
        """Which files are renamed together, in which order."""
        names: list[list[str]] = []

        def noted(files: Sequence[tuple[Path, bytes]]) -> None:
            names.append([path.name for path, _ in files])
            write_together(files)

        monkeypatch.setattr(scoring.sidecars.scores, "write_together", noted)
        return names

    @pytest.mark.parametrize(
        ("before", "expected"),
        [
            pytest.param(None, ["evidence", "score"], id="nothing is there yet"),
            pytest.param(CLAUDE, ["evidence", "score"], id="the same evidence"),
            pytest.param(
                replace(CLAUDE, turns=39),
                ["evidence", "score"],
                id="more evidence than before",
            ),
            pytest.param(
                replace(CLAUDE, turns=41),
                ["score", "evidence"],
                id="less evidence than before",
            ),
        ],
    )
    def test_keeps_the_richer_evidence_longest(
        self,
        place: Place,
        together: list[list[str]],
        before: HarnessFacts | None,
        expected: list[str],
    ) -> None:
        item = scored(place).iterations[0]
        origin = replace(ORIGIN, iteration=1, harnesses=(CLAUDE,))
        if before is not None:
            write_provenance(place.log, replace(origin, harnesses=(before,)))
        write_scores(place.log, [sidecar_of(item.persisted, origin)])
        assert [name for names in together for name in names] == [
            f"iter-1.{kind}.yaml" for kind in expected
        ]

    @pytest.mark.parametrize(
        ("broken", "written"), [(evidence_path, []), (iteration_score_path, [1])]
    )
    def test_stops_at_the_first_that_cannot_be_written(
        self, place: Place, broken: Callable[[Path, int], Path], written: list[int]
    ) -> None:
        """Evidence goes first, so no score stands without it."""
        broken(place.log, 2).mkdir()
        with pytest.raises(
            WriteError, match=re.escape(broken(place.log, 2).name)
        ) as raised:
            write_scored_log(place.log, scored(place))
        assert list(raised.value.written) == [
            iteration_score_path(place.log, n) for n in written
        ]
        assert not [path for path in place.log.iterdir() if path.name.startswith(".")]
        assert not iteration_score_path(place.log, 2).is_file()

    def test_of_a_whole_log_is_the_same_and_waits_for_the_disk_together(
        self, place: Place, together: list[list[str]]
    ) -> None:
        write_scored_log(place.log, scored(place))
        scores = ["iter-1.score.yaml", "iter-2.score.yaml"]
        assert together[:3] == [
            ["iter-1.evidence.yaml", "iter-2.evidence.yaml"],
            scores,
            [],
        ]
        richer = read_provenance(place.log, 1)
        assert richer is not None
        write_provenance(
            place.log, replace(richer, harnesses=(replace(CLAUDE, turns=99),))
        )
        together.clear()
        write_scored_log(place.log, scored(place))
        assert together[:3] == [[], ["iter-1.score.yaml"], ["iter-1.evidence.yaml"]]


def turns_left(n: int) -> Loss:
    return Loss(TURNS, f"{n} of 40 claude turns are left")


def calls_left(n: int) -> Loss:
    return Loss(CALLS, f"{n} of 12 claude tool calls are left")


UNKNOWN = Loss("landed", "it was known by squash and is not known any more")


class TestLost:
    @pytest.mark.parametrize(
        ("now", "lost"),
        [
            pytest.param({}, [], id="the same"),
            pytest.param(
                {"harnesses": (replace(CLAUDE, turns=50, tool_calls=20),)},
                [],
                id="more",
            ),
            pytest.param(
                {"harnesses": (replace(CLAUDE, files=1, sessions=1),)},
                [],
                id="a copy that is gone",
            ),
            pytest.param(
                {"harnesses": (replace(CLAUDE, turns=30),)},
                [turns_left(30)],
                id="some turns",
            ),
            pytest.param(
                {"harnesses": (replace(CLAUDE, tool_calls=11),)},
                [calls_left(11)],
                id="some tool calls",
            ),
            pytest.param(
                {"harnesses": (CODEX,)},
                [turns_left(0), calls_left(0)],
                id="a whole harness",
            ),
            pytest.param(
                {"start": 5, "harnesses": ()},
                [],
                id="turns of another window are changed, not lost",
            ),
            pytest.param(
                {"landed": "not-landed"},
                [],
                id="another answer of git is changed, not lost",
            ),
            pytest.param({"landed": ""}, [UNKNOWN], id="no answer of git any more"),
            pytest.param(
                {"start": None, "end": None, "harnesses": (), "landed": "ancestor"},
                [turns_left(0), calls_left(0)],
                id="no window any more",
            ),
        ],
    )
    def test_is_what_was_there_and_is_not_any_more(
        self, now: dict[str, Any], lost: list[Loss]
    ) -> None:
        assert lost_between(ORIGIN, replace(ORIGIN, **now)) == lost

    @pytest.mark.parametrize(
        ("now", "told"),
        [
            pytest.param({}, [], id="nothing"),
            pytest.param({"trunk_commit": "0" * 40}, [], id="a trunk that moved on"),
            pytest.param({"start": 5}, ["its window moved"], id="window"),
            pytest.param(
                {"trunk_ref": "dev"},
                ["the trunk is dev, and was refs/heads/main"],
                id="trunk",
            ),
            pytest.param(
                {"landed": ""},
                ["landed is known by nothing, and was by squash"],
                id="landing",
            ),
            pytest.param(
                {"harnesses": (replace(CLAUDE, turns=41), CODEX)},
                [
                    "claude: 40 → 41 turns, 12 → 12 tool calls",
                    "codex: 0 → 4 turns, 0 → 0 tool calls",
                ],
                id="turns",
            ),
            pytest.param(
                {"harnesses": (replace(CLAUDE, cache_read_tokens=1),)},
                ["claude: other numbers in as many turns and calls"],
                id="tokens",
            ),
            pytest.param(
                {"harnesses": (replace(CLAUDE, files=9, duplicates_dropped=1),)},
                [],
                id="copies alone",
            ),
        ],
    )
    def test_and_changed_is_told_in_words(
        self, now: dict[str, Any], told: list[str]
    ) -> None:
        assert changed_between(ORIGIN, replace(ORIGIN, **now)) == told


class TestOwnLines:
    def test_are_kept_as_the_contract_names_them(self) -> None:
        observed = Observed(
            "checkpoint",
            ("s1", "s2"),
            tests=TestsSeen(3, 1, False, True, "pytest"),
            corrections=CorrectionsSeen(
                interrupts=2, rejections=1, corrections=3, resets=4, words=5, reports=6
            ),
        )
        kept = provenance_of(facts_of(IterationRecord(2, 4), observed=observed))
        content = yaml.safe_load(emit(provenance_as_dict(kept, "3.1.0")))
        assert list(content) == [*KEYS, *KEYS_OF_OWN_LINES]
        assert content["attribution"] == {
            "method": "checkpoint",
            "sessions": ["s1", "s2"],
        }
        assert content["tests"] == {
            "runs": 3,
            "failed": 1,
            "last": "failed",
            "edited_after": True,
        }
        counted = {
            "interrupts": 2,
            "rejections": 1,
            "resets": 4,
            "words": 5,
            "reports": 6,
        }
        assert content["corrections"] == counted

    @pytest.mark.parametrize("words", [None, 0, 2])
    def test_say_whether_words_were_judged(
        self, tmp_path: Path, words: int | None
    ) -> None:
        kept = Provenance(2, own=OwnLines("commit", ("s1",), words=words))
        evidence_path(tmp_path, 2).write_bytes(emit(provenance_as_dict(kept, "3.1.0")))
        assert read_provenance(tmp_path, 2) == kept

    def test_of_rules_that_do_not_attribute_are_not_in_the_file(self) -> None:
        kept = provenance_of(facts_of(IterationRecord(2, 4)))
        assert kept.own is None
        assert list(provenance_as_dict(kept, "3.1.0")) == KEYS

    @pytest.mark.parametrize(
        ("now", "lost"),
        [
            pytest.param(OWN, [], id="the same"),
            pytest.param(replace(OWN, method="time"), [], id="another way"),
            pytest.param(replace(OWN, runs=4), [], id="more runs"),
            pytest.param(
                replace(OWN, runs=1, sessions=("a", "c")),
                [],
                id="fewer runs of other sessions",
            ),
            pytest.param(
                replace(OWN, runs=1, sessions=("a",)),
                [Loss("tests", "1 of 3 test runs are left")],
                id="fewer runs",
            ),
            pytest.param(
                OwnLines(),
                [
                    Loss(
                        "correction_pressure",
                        "its lines were found by commit and are not found any more",
                    ),
                    Loss("tests", "0 of 3 test runs are left"),
                ],
                id="no session any more",
            ),
            pytest.param(None, [], id="under rules that do not attribute"),
        ],
    )
    def test_are_lost_when_they_were_found_and_are_not_any_more(
        self, now: OwnLines | None, lost: list[Loss]
    ) -> None:
        assert lost_between(OWNED, replace(OWNED, own=now)) == lost

    def test_compare_turns_by_sessions_and_not_by_window(self) -> None:
        fewer = replace(OWNED, end=7, harnesses=(replace(CLAUDE, turns=39),))
        assert lost_between(OWNED, fewer) == [turns_left(39)]
        others = replace(fewer, own=replace(OWN, sessions=("c",)))
        assert lost_between(OWNED, others) == []

    def test_that_changed_are_told_in_words(self) -> None:
        now = OwnLines("shared", ("b",), 3, 0, "passed", False, 2, 0, 4)
        assert changed_between(OWNED, replace(OWNED, own=now)) == [
            "its lines are found by shared, and were by commit",
            "sessions: a, b → b",
            "tests: failed 1 → 0",
            "tests: last failed → passed",
            "tests: edited_after true → false",
            "corrections: rejections 1 → 0",
        ]
        assert changed_between(OWNED, OWNED) == []


def backfill(place: Place, **plan: Any) -> LogReport:
    return backfill_log(
        BackfillPlan(Settings(place.log, place.path, no_cache=True), RUBRIC, **plan)
    )


def on_side_branch(place: Place) -> Callable[[], object]:
    """Take iteration 2 off main, and return what lets its horizon pass."""
    repo = place.repo
    repo.branch("side")
    repo.git("update-ref", "refs/heads/main", "side~1")

    def pass_horizon() -> None:
        later = repo.git(
            *("commit-tree", "main^{tree}", "-p", "main", "-m", "later"),
            time=repo.clock + 20 * 86_400,
        )
        repo.git("update-ref", "refs/heads/main", later)

    return pass_horizon


def gone(place: Place) -> None:
    (place.projects / "-app" / "one.jsonl").unlink()


def half_gone(place: Place) -> None:
    place.session(
        "one",
        place.turn(1, calls=[3, 4]),
        place.call(1, 3, failed=True),
        place.call(1, 4),
    )


def grown(place: Place) -> None:
    place.session("more", place.turn(1, 9, cache_read_input_tokens=1))


def other_numbers(place: Place) -> None:
    first = place.turn(1, input_tokens=9, cache_read_input_tokens=0)
    place.session(
        "one", first, place.turn(1, 2, calls=[3, 4]), place.call(1, 3), place.call(1, 4)
    )


def lost_on_disk(place: Place) -> list[str]:
    item = scored(place).iterations[0]
    return in_words(compare_with_sidecar(place.log, item).lost)


class TestRecompute:
    @pytest.mark.parametrize(
        ("change", "lost"),
        [
            (lambda _: None, []),
            (grown, []),
            (other_numbers, []),
            (half_gone, [f"{TURNS} (1 of 2 claude turns are left)"]),
            (
                gone,
                [
                    f"{CALLS} (0 of 2 claude tool calls are left; its lines were found by time"
                    " and are not found any more)",
                    f"{TURNS} (0 of 2 claude turns are left)",
                ],
            ),
        ],
        ids=["nothing", "grown", "other numbers", "half gone", "gone"],
    )
    def test_tells_lost_from_changed_evidence(
        self, place: Place, change: Callable[[Place], object], lost: list[str]
    ) -> None:
        write_scored_log(place.log, scored(place))
        change(place)
        assert lost_on_disk(place) == lost

    def test_without_what_was_kept_sees_only_the_loss_of_all(
        self, place: Place
    ) -> None:
        write_scored_log(place.log, scored(place))
        evidence_path(place.log, 1).unlink()
        half_gone(place)
        assert lost_on_disk(place) == []
        gone(place)
        assert lost_on_disk(place) == [CALLS, TURNS]

    def test_of_a_run_warns(self, place: Place, da_score: DaScore) -> None:
        write_scored_log(place.log, scored(place))
        half_gone(place)
        assert da_score("run", "--rubric", "3.1.0", "--no-cache").err == (
            "da-score: warning: iteration 1: what its score was computed from is not all there "
            "any more; "
            "token_efficiency (1 of 2 claude turns are left) lost evidence that the old sidecar "
            "had\n"
        )

    def test_of_backfill_keeps_a_score_that_would_lose_evidence(
        self, place: Place
    ) -> None:
        assert backfill(place).scored == {1: "no sidecar", 2: "no sidecar"}
        half_gone(place)
        before = {path.name: path.read_bytes() for path in place.log.iterdir()}
        # The rate of one turn alone is the same as that of both, so the score is made to differ as
        # well.
        place.session("one", place.turn(1, cache_read_input_tokens=0))
        found = backfill(place)
        assert (found.scored, list(found.kept)) == ({}, [1])
        assert (
            found.kept[1].lost[-1] == "token_efficiency (1 of 2 claude turns are left)"
        )
        assert {path.name: path.read_bytes() for path in place.log.iterdir()} == before
        assert list(backfill(place, allow_evidence_loss=True).scored) == [1]
        assert content(place, 1)["harnesses"][0]["turns"] == 1

    def test_of_backfill_says_what_changed_though_the_cache_was_lost(
        self, place: Place
    ) -> None:
        backfill(place)
        grown(place)
        told = "evidence changed (claude: 2 → 3 turns, 2 → 2 tool calls)"
        assert backfill(place).scored == {1: told}
        assert backfill(place).scored == {}
        entry = place.log / "iter-1.yaml"
        entry.write_text(entry.read_text().replace("retries: 0", "retries: 3"))
        assert backfill(place).scored == {1: "inputs changed"}

    def test_of_backfill_lists_what_only_git_says_otherwise_though_the_cache_was_lost(
        self, place: Place
    ) -> None:
        pass_horizon = on_side_branch(place)
        assert backfill(place).scored.keys() == {1, 2}
        pass_horizon()
        report = backfill(place)
        assert (report.scored, report.git_changed) == ({}, [2])
        assert backfill(place, refresh_git=True).scored == {
            2: "git answers differently"
        }

    def test_of_backfill_is_a_change_where_transcripts_say_otherwise_as_well(
        self, place: Place
    ) -> None:
        pass_horizon = on_side_branch(place)
        backfill(place)
        pass_horizon()
        place.session("two", *(place.turn(2, n) for n in (1, 2, 3)))
        told = (
            "evidence changed (landed is known by not-landed, and was by nothing;"
            " claude: 2 → 3 turns, 0 → 0 tool calls)"
        )
        assert backfill(place).scored == {2: told}

    def test_of_backfill_writes_what_is_missing_beside_a_score_that_stands(
        self, place: Place
    ) -> None:
        backfill(place)
        evidence_path(place.log, 2).unlink()
        assert backfill(place, dry_run=True).scored == {}
        assert not evidence_path(place.log, 2).exists()
        assert backfill(place).scored == {}
        assert content(place, 2)["iteration"] == 2

    def test_under_a_rubric_of_the_reference_leaves_what_was_kept(
        self, place: Place
    ) -> None:
        write_scored_log(place.log, scored(place))
        kept = evidence_path(place.log, 1).read_bytes()
        write_scored_log(
            place.log, score_log(place.log, place.path, rubric=released_rubric("2.1.0"))
        )
        assert evidence_path(place.log, 1).read_bytes() == kept
