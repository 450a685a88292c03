"""What a report answers: where it is weak, what to do next, who does better, what the tokens bought, and links."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.repos import Repo

from rubric import default_rubric
from scoring.evidence.transcripts.facts import Spent
from scoring.views.report import page_parts
from scoring.views.report.answers import ReportChanges, changes, comparisons, losses, nothing_known, steps
from scoring.views.report.digest import Digest, commit_page, commit_pages, where_it_is
from scoring.views.report.reported import ReportedClaim, ReportedIteration, Vote
from scoring.views.spending import Spending, Used, purchase

SONNET = "claude-sonnet-4-5"
SHA = "0123456789abcdef0123456789abcdef01234567"


def line(number: int, votes: dict[str, float | None], **known: Any) -> ReportedIteration:
    """An iteration whose signals have equal weights; ``None`` is a signal that is absent."""
    present = [vote for vote in votes.values() if vote is not None]
    value, share = sum(present) / len(present) if present else None, 1 / len(present or votes)
    rows = tuple(
        Vote(name, name.title(), vote is not None, vote or 0.0, share, (vote or 0) * share, "so")
        for name, vote in votes.items()
    )
    made = ReportedIteration(number, "task", "2026-03-01", "s", "2.1.0", value, "good", "computed", 0.5, "", rows, ())
    return replace(made, **known)


def page(digest: Digest) -> str:
    """Return a report as HTML."""
    return "".join(page_parts(digest, None))


def made(*lines: ReportedIteration, **known: Any) -> Digest:
    return Digest("log", default_rubric(), list(lines), **known)


def paid(thousands: int, model: str = SONNET, **known: Any) -> Spending:
    """What so many thousand tokens of output cost: 15 dollars a million."""
    return Spending("transcripts", (Spent(model, 0, 1, 0, thousands * 1_000, 0, 0),), 60.0, **known)


class TestLosses:
    def test_are_what_is_missing_from_the_mean_by_signal(self) -> None:
        found = made(line(1, {"landed": 0.0, "tests": 1.0}), line(2, {"landed": 1.0, "tests": 0.5}))
        rows = [(one.signal, one.mean, one.zeros, [w.iteration for w in one.worst]) for one in losses(found)]
        assert rows == [("landed", 0.25, [1], [1]), ("tests", 0.125, [], [2])]
        assert found.mean == pytest.approx(1 - 0.25 - 0.125)
        assert sum(one.share for one in losses(found)) == pytest.approx(1)

    @pytest.mark.parametrize(
        "only",
        [
            pytest.param(line(1, {"landed": 1.0}), id="every vote is full"),
            pytest.param(line(1, {"landed": None}), id="nothing voted"),
            pytest.param(line(1, {"landed": 0.0}, band="insufficient"), id="not enough evidence to count"),
        ],
    )
    def test_are_none(self, only: ReportedIteration) -> None:
        assert losses(made(only)) == []


class TestSteps:
    def test_what_promises_most_comes_first(self) -> None:
        advice = "land it", "run the tests"
        lines = [line(n, {"landed": 0.9, "tests": 0.1}, advice=advice) for n in (1, 2)]
        assert [step.what for step in steps(made(*lines))] == ["Tests: run the tests", "Landed: land it"]
        assert steps(made(*lines))[0].why == "costs 0.450 of the mean, in 2 iterations"

    def test_an_absent_signal_is_asked_for_where_it_is_missing_often(self) -> None:
        lines = [line(n, {"landed": 1.0, "tests": None}, advice=("", "run them")) for n in (1, 2)]
        assert [step.what for step in steps(made(*lines))] == ["Tests: run them"]

    @pytest.mark.parametrize(
        ("signal", "votes"),
        [
            pytest.param("tests", [None, 1.0, 1.0], id="it is missing seldom"),
            pytest.param("hook_outcomes", [None, None], id="a project chooses to have it"),
            pytest.param("diminishing_returns", [None, None], id="its absence is nothing to worry about"),
        ],
    )
    def test_an_absent_signal_is_not_asked_for(self, signal: str, votes: list[float | None]) -> None:
        lines = [line(n, {"landed": 1.0, signal: v}, advice=("", "have it")) for n, v in enumerate(votes)]
        assert steps(made(*lines)) == []

    def test_over_claims_and_old_scores_are_named(self) -> None:
        claim = ReportedClaim("impl", "tests", 1.0, 0.0, "yes", "no")
        found = steps(made(line(4, {"landed": 1.0}, claims=(claim,), state="stale")))
        assert [step.about for step in found] == [[4], [4]]
        assert found[0].why == "1 stale"
        assert found[1].why == "1 iteration claimed more than was seen"


class TestComparisons:
    def test_of_models_harnesses_and_tasks(self) -> None:
        lines = [
            line(1, {"landed": 1.0}, models=(SONNET,), harness="claude", landed=True, spending=paid(100)),
            line(2, {"landed": 0.0}, models=(SONNET,), harness="claude", landed=False, spending=paid(100)),
            line(3, {"landed": 1.0}, models=("gpt-5",), harness="codex", task_id="other", sound=False),
        ]
        model, harness, task = comparisons(made(*lines))
        sonnet, gpt = model.groups
        assert sonnet[:3] == (SONNET, 2, 0.5)
        assert (sonnet.landed, sonnet.landing_known) == (1, 2)
        assert sonnet.bought.per_landed == pytest.approx(3.0)
        assert (gpt.name, gpt.unsound, gpt.fate_known, gpt.bought.per_landed) == ("gpt-5", 1, 1, None)
        assert [group.name for group in harness.groups] == ["claude", "codex"]
        assert [group.name for group in task.groups] == ["task", "other"]

    def test_of_which_there_is_only_one_there_is_none(self) -> None:
        assert comparisons(made(line(1, {"landed": 1.0}), line(2, {"landed": 0.0}))) == []

    def test_of_many_tasks_the_dearest_are_listed(self) -> None:
        lines = [line(n, {"landed": 1.0}, task_id=f"t{n:02}", spending=paid(n)) for n in range(1, 31)]
        (tasks,) = comparisons(made(*lines))
        assert (tasks.groups[0].name, len(tasks.groups), tasks.more) == ("t30", 15, 15)


class TestPurchase:
    def test_what_came_to_nothing_is_in_what_a_landed_one_costs(self) -> None:
        fates = [(True, True), (True, False), (False, None)]
        found = purchase([Used(paid(n * 100), landed=there, sound=ok) for n, (there, ok) in enumerate(fates, 1)])
        costs = (found.cost, found.per_landed, found.unsound, found.not_landed)
        assert costs == pytest.approx((9.0, 4.5, 3.0, 4.5))

    @pytest.mark.parametrize(
        "spending", [None, paid(100, "made-up-9")], ids=["nobody knows the tokens", "nobody knows the price"]
    )
    def test_without_a_cost(self, spending: Spending | None) -> None:
        found = purchase([Used(spending, landed=True, sound=True)])
        assert (found.cost, found.per_landed, found.unsound, found.priced) == (None, None, None, 0)


def test_what_a_log_has_nothing_of_is_one_sentence() -> None:
    found = nothing_known(made(line(1, {"landed": 1.0, "tests": None})))
    assert found == ["the signal Tests", "hook outcomes", "sessions", "claims", "deliberations"]


@pytest.mark.usefixtures("without_pictures")
class TestSince:
    def test_is_grouped_and_what_moved_most_comes_first(self) -> None:
        lines = {n: line(n, {"landed": value}) for n, value in enumerate([0.5, 0.9, 0.1, 0.6, 0.7])}
        moved = [(lines[0], 0.4), (lines[1], 0.1), (lines[2], 0.8), (lines[4], None)]
        found = ReportChanges([lines[3]], moved, [9])
        groups = {title: [one.iteration for one, _ in changed] for title, changed in found.groups}
        assert groups == {"New": [3], "Better": [1, 0], "Worse": [2], "Scored otherwise than before": [4]}
        assert found.summary == "1 new with a mean of 0.600, 2 better, 1 worse, 1 scored otherwise than before, 1 gone"

    def test_scores_under_two_rubrics_do_not_compare(self) -> None:
        now = [line(1, {"landed": 0.5}), line(2, {"landed": 0.5})]
        found = changes(now, {"1": ["2.0.2", 0.9, "good"], "2": ["2.1.0", 0.9, "good"]})
        groups = {title: [one.iteration for one, _ in changed] for title, changed in found.groups}
        assert (groups["Worse"], groups["Scored otherwise than before"]) == ([2], [1])


class TestLinks:
    @pytest.mark.parametrize(
        ("url", "commit"),
        [
            ("https://github.com/o/r.git", "https://github.com/o/r/commit/"),
            ("git@github.com:o/r.git", "https://github.com/o/r/commit/"),
            ("ssh://git@gitlab.example.org:2222/g/sub/r", "https://gitlab.example.org/g/sub/r/-/commit/"),
            ("https://user:secret@bitbucket.org/o/r", "https://bitbucket.org/o/r/commits/"),
            ("http://codeberg.org/o/r/", "https://codeberg.org/o/r/commit/"),
            ("https://github.com/o/a b", "https://github.com/o/a%20b/commit/"),
            pytest.param("/srv/git/github.com/r.git", "", id="a path"),
            pytest.param("javascript:alert(1)//github.com/o/r", "", id="a script"),
            pytest.param("https://example.org/o/r", "", id="an unknown host"),
            pytest.param("https://github.com/", "", id="no repository"),
            pytest.param("https://github.com/o/../../r", "", id="a way upwards"),
            pytest.param("https://github.com\\@evil.example/o/r", "", id="a host with signs in it"),
            pytest.param("https://github.com/" + "a/" * 9_000, "", id="an endless path"),
            pytest.param("", "", id="nothing"),
        ],
    )
    def test_of_a_remote(self, url: str, commit: str) -> None:
        assert commit_pages({"origin": url}) == commit

    def test_of_a_remote_have_nothing_of_html(self) -> None:
        found = commit_pages({"origin": 'git@github.com:o/r"><script>alert(1)</script>'})
        assert not re.search(r"[\"<> ]", found)
        assert not found or found.startswith("https://")

    def test_only_the_name_of_a_commit_is_put_behind_it(self) -> None:
        assert commit_page("https://github.com/o/r/commit/", SHA).endswith(SHA)
        for odd in ("", "main", "abc", '0123456"><b>', "-" * 40):
            assert commit_page("https://github.com/o/r/commit/", odd) == ""
        assert commit_page("", SHA) == ""

    def test_the_project_is_named_by_its_remote_or_its_folder(self, tmp_path: Path) -> None:
        assert where_it_is(tmp_path)[1] == ""
        repo = Repo(tmp_path / "folder")
        assert where_it_is(repo.path) == ("folder", "")
        repo.config("remote.origin.url", "git@github.com:o/shortlink.git")
        assert where_it_is(repo.path) == ("shortlink", "https://github.com/o/shortlink/commit/")
        repo.config("remote.a.url", "https://github.com/o/a")  # origin comes first
        assert where_it_is(repo.path) == ("shortlink", "https://github.com/o/shortlink/commit/")


@pytest.mark.usefixtures("without_pictures")
class TestPage:
    @pytest.mark.slow
    def test_links_commits_and_escapes_what_they_are_called(self) -> None:
        one = line(1, {"landed": 1.0}, commit=SHA)
        shown = page(made(one, project="<b>evil</b>", pages="https://github.com/o/r/commit/"))
        assert f'<a href="https://github.com/o/r/commit/{SHA}" rel="noopener noreferrer">0123456789</a>' in shown
        assert "<b>evil</b>" not in shown
        assert "&lt;b&gt;evil&lt;/b&gt;: how is the agent doing?" in shown
        shown = page(made(one))
        assert "https://" not in shown.replace("http://www.w3.org", "")
        assert "<td>0123456789</td>" in shown

    @pytest.mark.slow
    def test_hostile_names_are_text(self) -> None:
        evil = "</script><script>alert(1)</script>"
        one = line(1, {"landed": 0.0}, models=(evil,), harness=evil, task_id=evil, advice=(evil,), commit=evil)
        one = replace(one, places=((evil, 1, 2),), spending=paid(10, evil))
        other = line(2, {"landed": 0.0}, models=("m",), harness="h", advice=("",), spending=paid(10))
        shown = page(made(one, other, project=evil, pages="https://github.com/o/r/commit/"))
        assert "<script>alert" not in shown
        assert shown.count("</script>") == 2

    @pytest.mark.slow
    def test_empty_parts_are_one_line(self) -> None:
        shown = page(made(line(1, {"landed": 1.0, "tests": None})))
        assert "This log has nothing of: the signal Tests; hook outcomes;" in shown
        assert "Hook gates</h2>" not in shown
        assert "What did the tokens buy?" not in shown

    def test_a_cost_says_what_it_leaves_out(self) -> None:
        lines = [line(1, {"landed": 1.0}, landed=True, spending=paid(100)), line(2, {"landed": 1.0})]
        shown = page(made(*lines))
        assert "A cost is known for 1 of 2 iterations." in shown
        assert "<dd>$1.50</dd>" in shown


@pytest.mark.usefixtures("here")
class TestUnderARubricThatAttributes:
    """What a command shows of costs: the demo has two harnesses, and models whose prices are known."""

    @pytest.mark.slow
    def test_iteration_and_session(self, da_score: DaScore) -> None:
        da_score("run", "--rubric", "3.1.0")
        found = da_score("iteration", "3", "--json").json["spending"]
        assert (found["source"], found["models"], found["unpriced_models"]) == ("transcripts", [SONNET], [])
        assert found["cost_usd"] == pytest.approx(0.145762, abs=1e-6)
        assert found["duration_seconds"] > 0
        shown = da_score("iteration", "3", "--rubric", "3.1.0").out
        assert "cost $0.15 · took 29 min · claude-sonnet-4-5" in shown
        session = da_score("session", "5c0e", "--json").json["spending"]
        assert session["cost_usd"] > found["cost_usd"]

    def test_under_the_reference_a_pipe_shows_what_it_did(self, da_score: DaScore) -> None:
        da_score("run")
        assert "Used" not in da_score("iteration", "3").out
        assert "cost" not in da_score("session", "5c0e").out
        assert da_score("iteration", "3", "--json").json["spending"]["cost_usd"] is None

    @pytest.mark.slow
    def test_tables(self, da_score: DaScore) -> None:
        rows = da_score("export", "--format", "jsonl", "--tables", "iterations", "--rubric", "3.1.0").out.splitlines()
        found = {row["iteration"]: row for row in map(json.loads, rows)}
        assert found[3]["used_models"] == SONNET
        assert found[3]["cost"] == pytest.approx(0.145762, abs=1e-6)
        assert (found[6]["used_from"], found[7]["used_models"]) == ("entry", "gpt-5-codex")
        assert found[1]["cost"] is None


@pytest.mark.slow
def test_of_three_thousand_iterations_is_below_5_mb() -> None:
    signals = [f"signal_{k}" for k in range(8)]
    lines = []
    for n in range(3_000):
        votes = {name: (n * 37 % 101) / 100 if (n + k) % 3 else None for k, name in enumerate(signals)}
        weakest = "a detail that is about sixty characters long, or more"
        known = {"task_id": f"task-{n % 40}", "commit": SHA, "retries": n % 3, "tool_errors": 0.1, "weakest": weakest}
        lines.append(line(n, votes, spending=paid(n % 7 + 1), **known))
    assert len(page(made(*lines, pages="https://github.com/o/r/commit/")).encode()) < 5_000_000
