"""The table of work, and numbers that cannot mislead: costs that add up, views."""

import json
from typing import Any

import pytest
from helpers.fleets import rows_of, score_here, write_fleet
from helpers.histories import DAY, TEXT, History, writes

from scoring.statistics import wilson
from scoring.views.work_rows import STATES


@pytest.fixture
def history(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> History:
    """Two commits that landed, work that came to nothing, talk, and a prompt without an answer."""
    made = History(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(tmp_path)
    session = made.session("s1")
    for n in (1, 2):
        writes(session, n * 100, n, f"src/{n}.py")
        mark = made.commit(n * 100 + 50, f"Add {n}", files={f"src/{n}.py": TEXT})
        session.commits(n * 100 + 50, 10 + n, mark, f"Add {n}")
        made.entry(mark, f"Add {n}", "s1")
    session.prompt(390, "what is next?")
    session.turn(400, 4)
    writes(made.session("s2"), 500, 5, "src/never.py")
    made.session("s3").prompt(600, "Is anybody there?")
    made.commit(30 * DAY, "Much later")
    made.write()
    return made


@pytest.fixture
def query(history: History, da_score: Any) -> Any:
    places = (
        "--iter-log-dir",
        str(history.log),
        "--repo-dir",
        str(history.repo),
        "--no-cache",
    )
    return lambda sql, *more: da_score("query", sql, "--json", *places, *more).json


def test_the_views_are_what_work_says(
    history: History, query: Any, da_score: Any
) -> None:
    places = (
        "--iter-log-dir",
        str(history.log),
        "--repo-dir",
        str(history.repo),
        "--no-cache",
    )
    work = da_score("work", "--json", *places).json
    states = query(
        "select kind, state, count(*)::int n, sum(cost) cost from work group by all order by all"
    )
    assert [(row["kind"], row["state"], row["n"]) for row in states] == [
        ("commit", "landed", 2),
        ("rest", "lost", 1),
        ("talk", "talk", 2),
    ]
    assert sum(row["cost"] for row in states) == pytest.approx(work["summary"]["cost"])
    for view, name in (
        ("by_month", "month"),
        ("by_model", "model"),
        ("by_harness", "harness"),
    ):
        rows = query(f"from {view}")
        for row, said in zip(rows, work["by"][name], strict=True):
            assert row[name] == (said["name"] or "unknown")
            counts = (*STATES, "units", "decided", "judged", "defective", "cost")
            assert [row[key] for key in counts] == [
                pytest.approx(said[key]) for key in counts
            ]
            for share in ("landed", "defective"):
                shown = [row[f"{share}_{end}"] for end in ("share", "low", "high")]
                assert shown == [
                    pytest.approx(end) for end in said[f"{share}_share"].values()
                ]
    row = rows[0]
    assert (row["harness"], row["decided"]) == ("claude", 3)
    assert [row["landed_low"], row["landed_high"]] == [
        pytest.approx(end) for end in wilson(2, 3)
    ]


def test_a_score_without_enough_evidence_is_in_no_mean(query: Any) -> None:
    """The entries say only the commit, which landed; the transcript shows who made it."""
    asked = (
        "select iteration, score, score_raw, band, harness, model, cost from iterations"
    )
    rows = query(asked, "--rubric", "3.1.0")
    assert [(row["score"], row["score_raw"] > 0.9, row["band"]) for row in rows] == [
        (None, True, "insufficient")
    ] * 2
    assert {(row["harness"], row["model"]) for row in rows} == {
        ("claude", "claude-opus-4-1")
    }
    (whole,) = query("select sum(cost) cost from work where iteration is not null")
    assert sum(row["cost"] for row in rows) == pytest.approx(whole["cost"])


def test_a_choice_of_entries_is_one_of_units_too(query: Any) -> None:
    units = "select unit from work"
    assert len(query(units)) == 5
    assert len(query(units, "--last", "1")) == 1
    assert query(units, "--task", "nothing") == []
    assert query(units, "--since", "2999-01-01") == []


def test_a_fleet_has_each_unit_once_whatever_rubrics_it_has(
    history: History, query: Any, da_score: Any
) -> None:
    """Also when it is scored again. No text of a commit and no name leaves the worker."""
    (history.repo / ".agents/active").mkdir(parents=True)
    (history.repo / ".agents/active/iteration-log").symlink_to(history.log)
    root = history.log.parent
    text = f'results = "results"\ncache = "none"\n[[source]]\npath = "{history.repo}"\n'
    fleet = write_fleet(root, text)
    mine = (
        "unit",
        "kind",
        "state",
        "iteration",
        "cost",
        "output_tokens",
        "harness",
        "model",
        "yield",
    )
    here = [
        {name: row[name] for name in mine} for row in query("from work order by unit")
    ]
    score_here(fleet, "3.1.0")
    score_here(fleet, "3.1.0")
    score_here(fleet, "3.0.0")
    rows = sorted(rows_of(fleet, "work"), key=lambda row: str(row["unit"]))
    assert [{name: row[name] for name in mine} for row in rows] == here
    assert not {"subject", "author", "rubric"} & rows[0].keys()
    iterations = rows_of(fleet, "iterations", "3.1.0")
    scores = [
        (row["score"], row["score_raw"] > 0.9, row["landed_commit"] is not None)
        for row in iterations
    ]
    assert scores == [(None, True, True)] * 2
    asked = "select log, sum(cost) cost, count(*)::int n from work group by all"
    (found,) = json.loads(da_score("query", "--fleet", str(fleet), asked, "--json").out)
    assert (found["log"], found["n"]) == (rows[0]["repository"], 5)
    (month,) = json.loads(
        da_score("query", "--fleet", str(fleet), "from by_month", "--json").out
    )
    assert month["cost"] == pytest.approx(found["cost"])
