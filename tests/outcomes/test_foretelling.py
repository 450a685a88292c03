"""The search for what foretells defective work, against plain figures and on made work."""

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.extras import needs
from helpers.histories import History
from helpers.repos import Repo
from msgspec.structs import replace

pytest.importorskip("numpy")

from benchmarks.deeds import deeds_of
from benchmarks.foretelling import main
from benchmarks.history import history
from benchmarks.trial import (
    Cases,
    Combination,
    chance_of,
    foretold,
    holm,
    learned,
    needed,
    of_words,
    ranked,
    variance,
    weighed,
)
from rubric import released_rubric
from scoring.evidence.git.repository import GitRepository
from scoring.outcomes.cases import Case
from scoring.outcomes.outcome_rules import OutcomeRules
from scoring.score import score_log

pytestmark = needs("sklearn")

PAGE = Path(__file__).parents[2] / "docs" / "validity" / "foretelling.txt"
REAL = Path(__file__).parents[3] / "shared" / "real"


def cases(count: int, seed: int, per_session: int = 2) -> list[Case]:
    chance = random.Random(seed)
    return [
        Case(
            n,
            f"s{n // per_session}",
            0.5,
            "good",
            chance.randrange(5, 80),
            float(chance.random() < 0.7),
            {},
            {},
        )
        for n in range(count)
    ]


def figures_of(of: list[Case], relation: float, seed: int) -> dict[int, float | None]:
    """Return a figure of each case that tells as much of its outcome as the relation, or None."""
    chance = random.Random(seed)
    found = {
        one.iteration: (1 - relation) * chance.randrange(9) / 8 + relation * one.truth
        for one in of
    }
    return {n: None if chance.random() < 0.1 else value for n, value in found.items()}


class TestFigures:
    @pytest.mark.parametrize("alike", [False, True], ids=["all", "of one size"])
    def test_are_those_of_all_pairs_within_repositories(self, alike: bool) -> None:
        sample = [
            (Cases(of), figures_of(of, 0.2, n))
            for n, of in enumerate((cases(40, 1), cases(30, 2)))
        ]
        wins, pairs = 0.0, 0
        for of, figures in sample:
            there = [one for one in of.cases if figures[one.iteration] is not None]
            for good in (one for one in there if one.truth):
                for bad in (one for one in there if not one.truth):
                    if alike and not 0.5 <= good.lines_added / bad.lines_added <= 2:
                        continue
                    a, b = figures[good.iteration] or 0, figures[bad.iteration] or 0
                    wins, pairs = wins + (a > b) + (a == b) / 2, pairs + 1
        found = foretold(sample, alike)
        assert found.auc == pytest.approx(wins / pairs)
        assert found.interval is not None
        assert found.interval.low < wins / pairs < found.interval.high

    def test_of_one_kind_are_none(self) -> None:
        of = [one for one in cases(20, 1) if one.truth]
        assert foretold([(Cases(of), figures_of(of, 0, 1))]).auc is None
        assert chance_of([(Cases(of), figures_of(of, 0, 1))]) is None


class TestChance:
    def test_is_small_where_something_is_planted_and_even_where_nothing_is(
        self,
    ) -> None:
        of = cases(60, 1)
        assert (chance_of([(Cases(of), figures_of(of, 0.6, 1))]) or 1) < 0.001
        found = []
        for seed in range(30):
            of = cases(40, seed)
            found.append(
                chance_of([(Cases(of, shuffles=300), figures_of(of, 0, seed))]) or 0
            )
        assert sum(chance < 0.1 for chance in found) <= 7
        assert 0.35 < sum(found) / len(found) < 0.65

    def test_sees_through_sessions_that_share_everything(self) -> None:
        """Ten sessions, in each of which all is alike, are ten cases and not a hundred."""
        of = cases(100, 3, per_session=10)
        chance = random.Random(4)
        alike = [(float(chance.random() < 0.5), chance.random()) for _ in range(10)]
        of = [replace(one, truth=alike[one.iteration // 10][0]) for one in of]
        figures: Mapping[int, float | None] = {
            one.iteration: alike[one.iteration // 10][1] for one in of
        }
        assert (chance_of([(Cases(of), figures)]) or 0) > 0.05

    def test_of_many_tried_is_that_of_a_worked_case(self) -> None:
        """Holm (1979): 0.01 <= 0.05 / 4, but 0.02 > 0.05 / 3, and the rest is not looked at."""
        assert holm({"a": 0.02, "b": 0.01, "c": 0.04, "d": 0.03}) == ["b"]
        assert holm({"a": 0.9}) == []


class TestPower:
    def test_variance_is_that_of_hanley_and_mcneil(self) -> None:
        """Their case (1982): 0.893 over 58 and 51 cases has a standard error of about 0.03."""
        assert variance(0.893, 51, 58) ** 0.5 == pytest.approx(0.032, abs=0.001)

    def test_takes_more_for_less(self) -> None:
        assert needed(0.6, 10) > 2 * needed(0.7, 10) > 4
        assert needed(0.6, 10, design=2) > needed(0.6, 10)


class TestTogether:
    @pytest.mark.slow
    def test_finds_what_is_planted_and_leaves_out_what_points_the_wrong_way(
        self,
    ) -> None:
        of = cases(200, 5)
        noise, good, bad = (
            figures_of(of, 0, 6),
            figures_of(of, 0.5, 7),
            figures_of(of, 0.5, 8),
        )
        found = {n: {"noise": noise[n], "good": good[n], "bad": bad[n]} for n in good}
        tried = Combination("all", {"noise": 1, "good": 1, "bad": -1})
        older, newest = of[:130], of[130:]
        weights = learned(ranked(tried, older, older, found), tried)
        assert "bad" not in weights
        assert max(weights, key=lambda name: weights[name]) == "good"
        figures = weighed(ranked(tried, newest, older, found), weights)
        assert (foretold([(Cases(newest), figures)]).auc or 0) > 0.8

    def test_of_words(self) -> None:
        of = cases(120, 9)
        said = {
            one.iteration: f"change number {'careful' if one.truth else 'hasty'} thing"
            for one in of
        }
        assert foretold([(Cases(of[80:]), of_words(of[:80], of[80:], said))]).auc == 1


class TestHistory:
    def test_looks_back_and_not_ahead(self, repo: Repo) -> None:
        repo.commit({"a/x.py": "one\ntwo\nthree\n", "b/y.py": "one\n"}, "begin")
        repo.commit({"a/x.py": "one\nTWO\nthree\n"}, "fix two")
        sha = repo.commit(
            {"a/x.py": "one\nTwo\nthree\n    if four:\n", "a/z.py": "new\n"},
            "review feedback",
        )
        repo.commit({"a/x.py": "gone\n"}, "fix again")
        found = history(GitRepository(repo.path), [sha], OutcomeRules().is_fix)[sha]
        expected = {
            "files": 2,
            "folders": 1,
            "lines removed": 1,
            "lines of its files before": 3,
            "changes of its files before": 2,
            "fixes of its files before": 1,
            "share of fixes among the changes before": 0.5,
            "share of new files": 0.5,
            "people who changed its files": 1,
            "commits of its author before": 2,
            "is a fix itself": 0,
            "is a round of review": 1,
            "deepest indentation of added lines": 1,
            "commits whose lines it replaces": 1,
            "replaced lines younger than 3 days, share": 1,
            "median age of replaced lines, days": pytest.approx(1 / 24),
        }
        assert {name: found[name] for name in expected} == expected

    def test_counts_what_its_branch_had_before(self, repo: Repo) -> None:
        repo.commit({"a.py": "a\n"})
        repo.branch("side")
        repo.commit({"b.py": "b\n"}, "address review comments")
        sha = repo.commit({"b.py": "b\nc\n"})
        repo.checkout("master")
        repo.merge("side")
        found = history(GitRepository(repo.path), [sha], OutcomeRules().is_fix)[sha]
        names = (
            "commits of its branch before",
            "of these on its files",
            "rounds of review on its branch before",
        )
        assert [found[name] for name in names] == [1, 1, 1]


def test_deeds_are_those_of_an_iterations_own_lines(tmp_path: Path) -> None:
    made = History(tmp_path)
    session = made.session("s1", stored=False)
    session.edit(10, 1, "src/a.py")
    session.edit(11, 2, "src/a.py")
    session.run(12, 4, "cat src/b.py", "b")
    made.entry(made.commit(20, "work", made.checkpoint(1, ({}, session.lines))), "work")
    made.write()
    log = score_log(
        made.log, made.repo, rubric=released_rubric("3.1.0"), transcripts="none"
    )
    lines = {
        one.record.iteration: one.facts.observed.lines
        for one in log.iterations
        if one.facts.observed
    }
    ((iteration, deeds),) = deeds_of(GitRepository(made.repo), lines)
    found = deeds.figures(10, ["src/a.py", "src/c.py"])
    assert iteration == 1
    assert deeds.count["edits"] == 2
    assert found["edits per edited file"] == 2
    assert found["files edited outside of the session, share"] == 0.5
    assert found["reads per edit"] == 0.5


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the real repositories are not here")
def test_the_page_is_what_the_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clones = []
    for name in ("entire-cli", "git-sync"):
        clones.append(str(tmp_path / name))
        Repo(tmp_path / "at").git(
            "clone", "-q", str(REAL / f"{name}.bundle"), clones[-1]
        )
    assert main(clones) == 0
    assert capsys.readouterr().out == PAGE.read_text()
