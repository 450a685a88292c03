"""Whether a score foretells.

Figures of textbooks, planted relations, coins, and verdicts by the interval.
"""

import json
import os
import random
import re
import shutil
import sys
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.labels import SOUND
from helpers.repos import START, Repo
from msgspec.structs import replace

from scoring.outcomes.cases import OUTCOMES, Case, OutcomeName
from scoring.outcomes.validity import validity, verdict_of
from scoring.prediction import AUC, SPEARMAN, Foretold, GroupedDraws
from scoring.statistics import Interval
from scoring.views.table import Table
from scoring.views.validity_pages import (
    CLEAR_NOTE,
    validity_page,
    validity_parts,
    validity_sentences,
)

DAY = 86_400

NOISES = 100 if os.environ.get("DA_SCORE_SLOW_TESTS") == "1" else 30
"""How often a fit is tried on nothing but noise; once in twenty times chance may deceive it."""


def case(
    n: int,
    value: float | None,
    sound: float,
    session: str = "",
    **signals: float | None,
) -> Case:
    return Case(
        n,
        session or f"s{n}",
        value,
        "good",
        10 + n % 7,
        sound,
        signals,
        {"runs": float(n % 3)},
    )


class TestAuc:
    def test_of_a_worked_case(self) -> None:
        """Of 3 x 2 pairs 4 are the right way round and one is a tie."""
        assert AUC.of([0.9, 0.8, 0.4, 0.8, 0.1], [1, 1, 1, 0, 0]) == pytest.approx(
            4.5 / 6
        )

    @pytest.mark.parametrize(
        ("values", "truths", "expected"),
        [
            pytest.param([3, 4, 1, 2], [1, 1, 0, 0], 1.0, id="apart"),
            pytest.param([1, 2, 3, 4], [1, 1, 0, 0], 0.0, id="the wrong way"),
            pytest.param([1, 1, 1, 1], [1, 1, 0, 0], 0.5, id="a constant"),
            pytest.param([1, 2], [1, 1], None, id="of one kind"),
        ],
    )
    def test_of_the_ends(
        self, values: Sequence[float], truths: Sequence[float], expected: float | None
    ) -> None:
        assert AUC.of(values, truths) == expected

    def test_weights_are_repetitions(self) -> None:
        assert AUC.of([1, 2, 3], [0, 1, 0], [2, 1, 3]) == AUC.of(
            [1, 1, 2, 3, 3, 3], [0, 0, 1, 0, 0, 0]
        )

    def test_is_that_of_scikit_learn(self) -> None:
        metrics = pytest.importorskip("sklearn.metrics")
        chance = random.Random(3)
        values = [chance.randrange(6) / 5 for _ in range(80)]
        truths = [chance.randrange(2) for _ in values]
        assert AUC.of(values, truths) == pytest.approx(
            metrics.roc_auc_score(truths, values)
        )


class TestSpearman:
    def test_of_a_worked_case(self) -> None:
        """With ties the formula by squares does not hold; Pearson's of the mean ranks does."""
        assert SPEARMAN.of([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]) == pytest.approx(0.8207827)

    def test_of_a_constant_is_none(self) -> None:
        assert SPEARMAN.of([1, 1], [1, 2]) is None

    def test_is_that_of_scipy(self) -> None:
        stats = pytest.importorskip("scipy.stats")
        chance = random.Random(4)
        values, truths = ([chance.randrange(9) for _ in range(60)] for _ in range(2))
        assert SPEARMAN.of(values, truths) == pytest.approx(
            stats.spearmanr(values, truths).statistic
        )


class TestIntervals:
    @pytest.mark.parametrize("binary", [True, False], ids=["auc", "spearman"])
    def test_are_the_same_with_and_without_numpy(
        self, monkeypatch: pytest.MonkeyPatch, binary: bool
    ) -> None:
        pytest.importorskip("numpy")
        monkeypatch.setattr("scoring.prediction.DRAWS", 200)
        chance = random.Random(5)
        groups = [f"g{chance.randrange(9)}" for _ in range(40)]
        truths = [float(chance.randrange(2 if binary else 7)) for _ in groups]
        figures = [
            None if chance.random() < 0.2 else chance.randrange(5) / 4 for _ in groups
        ]
        fast = GroupedDraws(groups, truths, binary).measured(figures)
        monkeypatch.setitem(sys.modules, "numpy", None)
        slow = GroupedDraws(groups, truths, binary).measured(figures)
        assert fast[:2] == slow[:2]
        assert fast[2] == pytest.approx(slow[2])

    def test_of_many_cases_take_little_memory(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("numpy")
        monkeypatch.setattr("scoring.prediction._WEIGHTS_AT_ONCE", 20_000)
        monkeypatch.setattr("scoring.prediction.DRAWS", 100)
        chance = random.Random(6)
        groups = [f"g{chance.randrange(20)}" for _ in range(2000)]
        figures = [chance.random() for _ in groups]
        draws = GroupedDraws(groups, figures[::-1], binary=False)
        tracemalloc.start()
        try:
            draws.measured(figures)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert most < 4_000_000

    def test_are_wider_where_cases_share_sessions(self) -> None:
        chance = random.Random(7)
        kinds = [(chance.random(), float(chance.random() < 0.5)) for _ in range(20)]
        values, truths = (
            [v for v, _ in kinds for _ in range(10)],
            [t for _, t in kinds for _ in range(10)],
        )
        alone = GroupedDraws([str(n) for n in range(200)], truths).measured(values)[2]
        shared = GroupedDraws([str(n // 10) for n in range(200)], truths).measured(
            values
        )[2]
        assert alone is not None
        assert shared is not None
        assert shared.high - shared.low > 2 * (alone.high - alone.low)

    def test_are_those_of_a_plain_bootstrap_by_session(self) -> None:
        """Sessions are drawn one by one, and each draw is measured by scikit-learn."""
        metrics = pytest.importorskip("sklearn.metrics")
        chance = random.Random(8)
        groups = [f"g{n // 3}" for n in range(90)]
        truths = [float(chance.random() < 0.6) for _ in groups]
        values = [chance.random() + truth * 0.4 for truth in truths]
        drawn = []
        for _ in range(600):
            rows = [
                3 * first + k
                for first in chance.choices(range(30), k=30)
                for k in range(3)
            ]
            drawn.append(
                metrics.roc_auc_score(
                    [truths[n] for n in rows], [values[n] for n in rows]
                )
            )
        drawn.sort()
        found = GroupedDraws(groups, truths).measured(values)[2]
        assert found is not None
        assert list(found) == pytest.approx([drawn[15], drawn[585]], abs=0.03)

    def test_of_one_session_are_unknown(self) -> None:
        assert GroupedDraws(["a", "a"], [0, 1]).measured([0, 1])[:3] == (2, 1.0, None)

    def test_hold_the_truth_about_as_often_as_they_say(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("scoring.prediction.DRAWS", 300)
        chance = random.Random(6)
        held = 0
        for _ in range(100):
            truths = [float(chance.random() < 0.5) for _ in range(80)]
            draws = GroupedDraws([str(n) for n in range(80)], truths)
            interval = draws.measured([chance.random() for _ in truths]).interval
            held += interval is not None and interval.low <= 0.5 <= interval.high
        assert 86 <= held <= 100


COUNTING = "no better than counting lines"


@pytest.mark.parametrize(
    ("figure", "interval", "n", "said"),
    [
        pytest.param(
            0.55, (0.45, 0.65), 100, "no better than a coin", id="a half is in it"
        ),
        pytest.param(
            0.6, (0.5, 0.7), 100, "no better than a coin", id="it ends at a half"
        ),
        pytest.param(0.6, (0.51, 0.7), 100, "weak", id="above a half"),
        pytest.param(0.7, (0.6, 0.8), 100, "weak", id="it ends at 0.6"),
        pytest.param(0.7, (0.61, 0.8), 100, "useful", id="above 0.6"),
        pytest.param(
            0.4,
            (0.3, 0.49),
            100,
            f"points the wrong way, {COUNTING}",
            id="below a half",
        ),
        pytest.param(
            0.4,
            (0.3, 0.5),
            100,
            f"no better than a coin, {COUNTING}",
            id="it reaches a half from below",
        ),
        pytest.param(
            0.52, (0.51, 0.7), 100, f"weak, {COUNTING}", id="as good as counting lines"
        ),
        pytest.param(0.9, (0.8, 1.0), 29, "too few", id="29 iterations"),
    ],
)
def test_a_verdict_goes_by_the_interval(
    figure: float, interval: tuple[float, float], n: int, said: str
) -> None:
    assert (
        verdict_of(
            Foretold(n, figure, Interval(*interval)), min(n - 10, 40), [0.52, 0.5]
        )
        == said
    )


@pytest.mark.parametrize("positives", [9, 91], ids=["9 defective", "9 sound"])
def test_nine_of_a_kind_are_too_few(positives: int) -> None:
    assert verdict_of(Foretold(100, 0.9, Interval(0.8, 1)), positives, []) == "too few"


def made(
    count: int,
    relation: float,
    seed: int,
    names: Sequence[str] = ("tests", "landed", "scope"),
) -> list[Case]:
    """Make cases of which only the first signal foretells, as far as the relation goes."""
    chance = random.Random(seed)
    found = []
    for n in range(count):
        sound = float(chance.random() < 0.7)
        signals: dict[str, float | None] = {name: chance.random() for name in names}
        signals[names[0]] = (1 - relation) * chance.random() + relation * sound
        value = sum(part or 0 for part in signals.values()) / len(names)
        found.append(case(n, value, sound, f"s{n // 3}", **signals))
    return found


class TestValidity:
    def test_finds_a_planted_relation(self) -> None:
        found = validity(made(150, 0.8, 1), "defective", "x", 14)
        assert found.verdict == "useful"
        assert found.signals["tests"].auc == 1.0
        assert found.signals["scope"].interval is not None
        assert found.signals["scope"].interval.low < 0.5

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_calls_a_coin_a_coin(self, seed: int) -> None:
        assert validity(made(150, 0, seed), "defective", "x", 14).verdict.startswith(
            "no better than a coin"
        )

    def test_leaves_out_what_has_no_score(self) -> None:
        found = validity([*made(60, 0.3, 1), case(99, None, 0)], "defective", "x", 14)
        assert found.score.n == 60

    def test_says_it_again_of_those_with_enough_evidence(self) -> None:
        cases = made(60, 0.3, 1)
        assert (
            validity(cases, "defective", "x", 14).sufficient
            == validity(cases, "defective", "x", 14).score
        )
        some = [
            replace(one, band="insufficient" if n % 3 == 0 else "good")
            for n, one in enumerate(cases)
        ]
        found = validity(some, "defective", "x", 14)
        there = [one for one in some if one.band == "good"]
        assert found.score == validity(cases, "defective", "x", 14).score
        assert (found.sufficient.n, found.as_dict()["sufficient"]["n"]) == (40, 40)
        assert found.sufficient.auc == AUC.of(
            [one.value or 0 for one in there], [one.truth for one in there]
        )
        rows = validity_parts(found)["The score and what it must beat"]
        assert "where there is enough evidence" in [name for name, *_ in rows]

    @pytest.mark.parametrize("is_clear", [True, False])
    def test_what_is_clear_is_so_here_alone(self, is_clear: bool) -> None:
        cases = [
            case(n, n / 80 if is_clear else 0.5, float(n >= 40)) for n in range(80)
        ]
        page = list(validity_page(validity(cases, "defective", "x", 14)))
        assert (CLEAR_NOTE in page) is is_clear

    @pytest.mark.parametrize("count", [80, 29])
    def test_figures_are_shown_where_they_allow_a_verdict(self, count: int) -> None:
        cases = [case(n, n / 80, float(n % 2)) for n in range(count)]
        page = list(validity_page(validity(cases, "defective", "x", 14)))
        has_tables = any(isinstance(part, Table) for part in page)
        assert has_tables is (count == 80)
        assert any(" a verdict needs 30 " in str(part) for part in page) is (
            count == 29
        )

    def test_of_degrees_is_a_correlation(self) -> None:
        cases = [case(n, n / 50, (n * 7 % 50) / 50 + n / 50) for n in range(50)]
        found = validity(cases, "survival", "x", 14)
        assert (found.measure, found.positives) == ("spearman", None)
        assert found.score.auc == SPEARMAN.of(
            [c.value or 0 for c in cases], [c.truth for c in cases]
        )

    def test_nothing_is_too_few(self) -> None:
        found = validity([], "defective", "x", 14)
        assert (found.score, found.verdict, found.bands) == (
            Foretold(0, None, None, 0),
            "too few",
            (),
        )


@pytest.fixture(scope="session")
def _worked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repo = Repo(tmp_path_factory.mktemp("worked") / "repo")
    log = repo.path / ".agents/active/iteration-log"
    log.mkdir(parents=True)
    commits = []
    for n in range(36):
        body = "".join(
            f"v{n}_{line} = {line}\n" for line in range(6 + n % 5 if n % 12 else 4)
        )
        commits.append(repo.commit({f"f{n}.py": body}, f"work {n}"))
    for n in range(0, 36, 3):
        repo.commit({f"f{n}.py": "v = 1\n"}, f"fix {n}")
    repo.commit(message="later", time=START + 90 * DAY)
    for n, sha in enumerate(commits, 1):
        entry = {
            "schema_version": 2,
            "iteration": n,
            "date": "2026-04-01",
            "task_id": "t",
            "commit": sha,
        }
        tests = {"focused_tests_pass": n % 3 != 1 or n % 2 == 0, "retries": n % 4}
        entry |= {
            "agent": {"session_id": f"s{n // 4}"},
            "impl": {"summary": f"work {n}", **tests},
        }
        (log / f"iter-{n}.yaml").write_text(json.dumps(entry))
    repo.git("repack", "-a", "-d", "-q")
    return repo.path


@pytest.fixture
def worked(_worked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """A repository with a log of 36 iterations; a fix goes over every third one's work."""
    shutil.copytree(_worked, tmp_path / "repo")
    monkeypatch.chdir(tmp_path / "repo")
    return Repo.at(tmp_path / "repo")


@pytest.mark.usefixtures("worked")
class TestCommands:
    def test_outcomes_as_data(self, da_score: DaScore, worked: Repo) -> None:
        found = da_score("outcomes", "--horizon", "7d", "--json").json
        assert found["horizon_days"] == 7
        assert len(found["outcomes"]) == 36
        keys = (
            "iteration status commit lines_added lines_changed survival lines_fixed "
            "reverted reverted_by defective"
        )
        keys += " taken_back came_back partly_reverted fixed_in"
        keys += " lines_written lines_landed yield reward"
        keys += " subject state"
        assert list(found["outcomes"][0]) == keys.split()
        assert sum(one["defective"] for one in found["outcomes"]) == 12
        assert worked.head() not in {one["commit"] for one in found["outcomes"]}

    def test_outcomes_as_text(self, da_score: DaScore, worked: Repo) -> None:
        text = da_score("outcomes").out
        assert worked.head("HEAD~13")[:12] in text
        assert "Within 14 days 12 of 36 were defective." in text.splitlines()
        gone = r"\nIteration 31: commit \w{12} removed or replaced all 6 of its lines of code"
        assert re.search(gone, text)

    @pytest.mark.parametrize("horizon", ["soon", "0d", "-3d", ""])
    def test_a_horizon_that_is_none_is_refused(
        self, da_score: DaScore, horizon: str
    ) -> None:
        done = da_score("outcomes", "--horizon", horizon)
        assert done.status == 2
        assert "is not a time above 0 such as 14d, 2w or 36h" in done.err

    def test_outcomes_stand_beside_the_score(self, da_score: DaScore) -> None:
        assert "\nWithin 14 days " in da_score("explain", "1").out
        assert da_score("explain", "2", "--json").json["outcome"]["survival"] == 1.0
        rows = da_score(
            "export", "--tables", "iterations", "--format", "jsonl"
        ).out.splitlines()
        assert sum(json.loads(row)["defective"] for row in rows) == 12

    @pytest.mark.parametrize("rubric", ["2.1.0", "3.0.0"])
    def test_validate_is_what_an_own_computation_gives(
        self, da_score: DaScore, rubric: str
    ) -> None:
        found = da_score("validate", "--rubric", rubric, "--json").json
        outcomes = {
            one["iteration"]: one
            for one in da_score("outcomes", "--json").json["outcomes"]
        }
        rows = da_score(
            "export", "--rubric", rubric, "--tables", "iterations", "--format", "jsonl"
        ).out.splitlines()
        scores = {
            one["iteration"]: one["score"]
            for one in map(json.loads, rows)
            if outcomes[one["iteration"]]["lines_added"] >= 5
            and one["score"] is not None
        }
        sound = [scores[n] for n in scores if not outcomes[n]["defective"]]
        other = [scores[n] for n in scores if outcomes[n]["defective"]]
        wins = sum((a > b) + (a == b) / 2 for a in sound for b in other)
        assert (found["n"], found["positives"]) == (len(scores), len(other))
        assert found["auc"] == pytest.approx(wins / len(sound) / len(other))
        assert found["interval"][0] <= found["auc"] <= found["interval"][1]
        keys = {
            "outcome",
            "rubric",
            "n",
            "positives",
            "auc",
            "interval",
            "verdict",
            "signals",
            "baselines",
        }
        assert keys <= found.keys()
        assert found["signals"]["tests"].keys() == {"n", "auc", "interval"}
        assert found["baselines"]["constant"]["auc"] == 0.5

    def test_validate_in_words(self, da_score: DaScore) -> None:
        text = da_score("validate").out
        assert "Verdict: too few" in text
        assert "; a verdict needs 30 iterations, with 10 of either kind." in text
        assert "fewer lines added" not in text

    def test_a_report_says_whether_its_scores_mean_anything(
        self, da_score: DaScore
    ) -> None:
        assert "not known yet: too few outcomes" in da_score("report", "--terminal").out
        found = da_score("report", "--json").json["validity"]
        assert (found["outcome"], found["verdict"]) == ("defective", "too few")
        page = Path("report.html").read_text()
        assert "Does this score mean anything here?</h2>" in page
        assert "<b>Verdict: too few.</b>" in page

    def test_two_rubrics_are_a_list(self, da_score: DaScore) -> None:
        found = da_score(
            "validate", "--rubric", "2.2.0", "--rubric", "3.1.0", "--json"
        ).json
        assert [one["rubric"] for one in found] == ["2.2.0", "3.1.0"]
        against = found[1]["against"]
        assert against["rubric"] == "2.2.0"
        assert against["gain"] == pytest.approx(found[1]["auc"] - found[0]["auc"])
        assert against["interval"][0] <= against["gain"] <= against["interval"][1]

    def test_validate_by_other_outcomes(self, da_score: DaScore) -> None:
        found = da_score("validate", "--outcome", "reverted", "--json").json
        assert (
            found["measure"],
            found["positives"],
            found["verdict"],
            found["auc"],
        ) == (
            "auc",
            0,
            "too few",
            None,
        )
        assert (
            da_score("validate", "--outcome", "survival", "--json").json["measure"]
            == "spearman"
        )

    def test_validate_by_what_people_said(self, da_score: DaScore) -> None:
        for n in range(1, 9):
            done = da_score(
                "label", str(n), "--as", "a", *SOUND, "--correctness", str(n % 4)
            )
            assert done.status == 0, done.err
        found = da_score(
            "validate", "--outcome", "label", "--rubric", "3.0.0", "--json"
        ).json
        assert (found["measure"], found["n"], found["verdict"]) == (
            "spearman",
            7,
            "too few",
        )


def test_single_observations_are_clear_of_chance_only_for_as_many_as_were_tried() -> (
    None
):
    chance = random.Random(5)
    cases = []
    for n in range(80):
        truth = chance.random()
        noise = {f"noise {m}": chance.random() for m in range(20)}
        cases.append(
            Case(
                n,
                f"s{n}",
                chance.random(),
                "good",
                10,
                truth,
                {},
                {"edits": -truth, **noise, "same": 1.0},
            )
        )
    found = validity(cases, "yield", "3.1.0", 14)
    assert (found.measure, found.tried, found.foretelling) == (
        "spearman",
        21,
        ("edits",),
    )
    without = [
        replace(one, observed={k: v for k, v in one.observed.items() if k != "edits"})
        for one in cases
    ]
    assert validity(without, "yield", "3.1.0", 14).foretelling == ()
    assert validity(cases[:20], "yield", "3.1.0", 14).foretelling == ()
    for known, clear in (
        (range(80), ("edits",)),
        (range(9, 80), ()),
    ):  # of twelve defective ones, and of three
        seen = {n: {"edits": float(n < 12)} for n in known}
        some = [
            replace(
                one,
                truth=float(one.iteration > 11),
                observed=seen.get(one.iteration, {}),
            )
            for one in cases
        ]
        assert validity(some, "defective", "3.1.0", 14).foretelling == clear


@pytest.mark.parametrize(
    ("pairs", "tried"),
    [
        pytest.param("00 00 00 01 10 11 11 11", 1, id="a correlation of 0.5"),
        pytest.param("00 00 01 01 10 10 11 11", 0, id="a correlation of 0"),
    ],
)
def test_of_outcomes_by_degrees_a_coin_has_a_correlation_of_0(
    pairs: str, tried: int
) -> None:
    cases = []
    for n, pair in enumerate(pairs.split() * 4):
        observed = {"edits": float(pair[0])}
        good = 0.2 + int(pair[1]) / 2
        cases.append(Case(n, f"s{n // 16}", good, "good", 10, good, {}, observed))
    found = validity(cases, "yield", "3.1.0", 14)
    assert (found.tried, len(found.foretelling)) == (tried, tried)


def test_the_help_names_every_outcome(da_score: DaScore) -> None:
    text = " ".join(da_score("validate", "--help").out.split())
    assert f"What the score should predict: {', '.join(OUTCOMES)}." in text


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_every_outcome_has_its_question(outcome: OutcomeName) -> None:
    question = next(iter(validity_sentences(validity([], outcome, "3.1.0", 14))))
    assert question.startswith("Does the score of rubric 3.1.0 foretell ")
    # it has no word of its own for what was taken back
    assert ("was reverted or taken back, or" in question) is (outcome == "defective")
