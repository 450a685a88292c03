"""``da-score cost``: sums by time and by whom, what became of them, and the dearest work."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from helpers.histories import DAY, TEXT, History, writes
from helpers.repos import Repo

from scoring.evidence.transcripts.facts import Spent
from scoring.outcomes.unit import State, Unit
from scoring.views.amounts import cost_text
from scoring.views.cost import (
    GROUPINGS,
    HEADINGS,
    CostFate,
    Costs,
    PaidUnit,
    cost_sum,
    expenses,
)
from scoring.views.cost_days import CostDays
from scoring.views.cost_pages import cost_page
from scoring.views.table import pipe_text
from scoring.views.work_rows import WorkRow


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """Two commits that landed, a day apart, work that came to nothing, and talk."""
    made = History(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(tmp_path)
    session = made.session("s1")
    for n in (1, 2):
        second = n * DAY
        writes(session, second, n, f"src/{n}.py")
        mark = made.commit(second + 50, f"Add {n}", files={f"src/{n}.py": TEXT})
        session.commits(second + 50, 10 + n, mark, f"Add {n}")
    session.turn(2 * DAY + 400, 4)
    writes(made.session("s2"), 3 * DAY, 500, "src/never.py")
    made.commit(40 * DAY, "Much later")
    made.write()
    return made


@pytest.fixture
def cost(history: History, da_score: Any) -> Any:
    places = (
        "--iter-log-dir",
        str(history.log),
        "--repo-dir",
        str(history.repo),
        "--no-cache",
    )
    return lambda *more, command="cost": da_score(command, *more, *places)


def test_every_sum_is_that_of_work(cost: Any) -> None:
    work = cost("--json", command="work").json
    for grouping in GROUPINGS:
        value = cost("--by", grouping, "--json").json
        assert value["total"]["cost"] == pytest.approx(work["summary"]["cost"])
        sums = [value["total"], *value["groups"]]
        for one in sums:
            assert sum(one[fate.value] for fate in CostFate) == pytest.approx(
                one["cost"]
            )
        for key in ("cost", *(fate.value for fate in CostFate)):
            total = sum(one[key] for one in value["groups"])
            assert total == pytest.approx(value["total"][key])
    assert value["total"]["nothing"] == pytest.approx(work["summary"]["cost_lost"])
    assert value["total"]["talk"] == pytest.approx(work["summary"]["cost_talk"])
    costs = {unit["unit"]: unit["cost"] for unit in work["units"]}
    assert [unit["cost"] for unit in value["dearest"]] == sorted(
        costs.values(), reverse=True
    )
    for unit in value["dearest"]:
        assert unit["cost"] == pytest.approx(costs[unit["unit"]])


def test_unclear_work_is_apart_from_open_work() -> None:
    """As in ``work``; the key ``open`` still holds both, and ``unclear`` is a part of it."""
    states: list[tuple[State, int]] = [
        ("landed", 3_000),
        ("open", 2_000),
        ("unclear", 5_000),
    ]
    rows = []
    for state, tokens in states:
        spent = Spent("claude-sonnet-4-5", 0, 1, 0, tokens, 0, 0)
        unit = Unit(state, "commit", state=state, spent={("claude", "s"): (spent,)})
        rows.append(WorkRow(unit, None, {}))

    total = cost_sum("all", expenses(rows, CostDays()))
    cost = total.cost
    assert cost
    assert total.by_fate[CostFate.OPEN] == pytest.approx(cost * 0.7)
    assert total.unclear == pytest.approx(cost * 0.5)
    assert sum(total.by_fate.values()) == pytest.approx(cost)
    shares = dict(zip(HEADINGS, total.shares, strict=True))
    assert {name: share for name, share in shares.items() if share != "0 %"} == {
        "Landed": "30 %",
        "Open": "20 %",
        "Unclear": "50 %",
    }


def test_by_task_is_that_of_the_first_entry(history: History, cost: Any) -> None:
    sha = Repo.at(history.repo).git("log", "-1", "--format=%H", "--grep=Add 1")
    history.log.mkdir(parents=True, exist_ok=True)
    (history.log / "iter-1.yaml").write_text(
        f"schema_version: 2\niteration: 1\ntask_id: links\ncommit: {sha}\n"
    )
    groups = cost("--by", "task", "--json").json["groups"]
    costs = {group["name"]: group["cost"] for group in groups}
    units = cost("--json", command="work").json["units"]
    (unit,) = (unit for unit in units if unit["iteration"] == 1)
    assert costs["links"] == pytest.approx(unit["cost"])
    assert costs.keys() == {"links", "unknown"}


def test_of_an_author_is_the_sum_of_that_work(history: History, cost: Any) -> None:
    git = Repo.at(history.repo).git
    git("config", "user.name", "Zoe")
    git("config", "user.email", "zoe@example.com")
    (author, *others) = cost("--by", "author", "--json").json["groups"]
    for who in ("--author", author["name"].upper()), ("--mine",):
        value = cost(*who, "--json").json
        units = cost(*who, "--json", command="work").json["units"]
        assert value["total"]["cost"] == pytest.approx(
            sum(unit["cost"] for unit in units)
        )
        assert len(value["dearest"]) == len(units)
    assert len(others) == 1
    sentence, note = cost("--author", "other@example.com").out.splitlines()
    assert sentence == "No cost is known."
    assert note.startswith("The options choose none of ")


def test_days_are_those_of_the_time_zone(cost: Any) -> None:
    def days(zone: str) -> list[str]:
        return [
            one["name"] for one in cost("--timezone", zone, "--json").json["groups"]
        ]

    in_utc, in_line_islands = days("UTC"), days("Pacific/Kiritimati")
    assert len(in_utc) == len(in_line_islands) == 3
    assert in_line_islands > in_utc
    shown = cost("--timezone", "Pacific/Kiritimati").out
    assert "Days are those of Pacific/Kiritimati." in shown
    assert "Days are those of this machine (UTC)." in cost().out


def test_one_day_and_its_dearest_work(cost: Any) -> None:
    first, *_ = cost("--json").json["groups"]
    year, month, day = first["name"].split("-")
    value = cost(f"{year}-{int(month)}-{int(day)}", "--json").json
    assert value["total"]["cost"] == pytest.approx(first["cost"])
    assert [unit["subject"] for unit in value["dearest"]] == ["Add 1"]
    (unit,) = value["dearest"]
    assert (unit["state"], len(unit["where"])) == ("landed", 40)
    since = cost("--since", first["name"], "--until", first["name"], "--json").json
    assert since["total"] == value["total"]


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("/home/a/.local/share/amp/threads/T-1.json", None),
        ("/home/a/s.jsonl:4", None),
        ("session 0123456789abcdef", None),
        ("a" * 40, "a" * 12),
    ],
)
def test_the_place_of_the_dearest_work_is_whole_but_for_a_commit(
    where: str, shown: str | None
) -> None:
    """The document of a harness that counts events is a path without the number of a line."""
    total = cost_sum("all", [])._replace(cost=1.0)
    unit = PaidUnit(Unit("u", "rest"), None, 1.0, where)
    page = pipe_text(
        cost_page(Costs(CostDays(), "day", total, [total], [unit], 0, [], []))
    )
    assert page.split("\n")[-2].endswith(shown or where)


def test_what_has_no_price_is_counted_and_never_priced_as_usual(
    history: History, cost: Any
) -> None:
    (path,) = history.home.rglob("s1.jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for line in lines:
        usage = (line.get("message") or {}).get("usage")
        if usage:
            usage["speed"] = "fast"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")

    value = cost("--json").json
    (model,) = value["total"]["unpriced"]
    assert model.endswith(" (fast)")
    responses = value["total"]["unpriced"][model]
    assert f"{responses} responses have no known price: {model}." in cost().out
    assert (
        f"{responses} responses have no known price: {model}."
        in cost(command="work").out
    )


@pytest.mark.parametrize(
    ("unpriced", "is_known"),
    [
        pytest.param("s?.jsonl", False, id="no response has a price"),
        pytest.param("s1.jsonl", True, id="those of one session have"),
    ],
)
def test_without_a_known_cost_there_is_no_table(
    history: History, cost: Any, unpriced: str, is_known: bool
) -> None:
    for path in history.home.rglob(unpriced):
        text = re.sub('"model": *"[^"]*"', '"model": "unheard-of"', path.read_text())
        path.write_text(text)
    head, *lines = cost().out.splitlines()
    assert ("The dearest" in lines) == is_known
    if is_known:
        assert head.startswith("At least $")
        assert "The cost of 2 units is not known." in lines
    else:
        assert head == "No cost is known."
        (of_responses,) = lines
        assert of_responses.endswith(" responses have no known price: unheard-of.")
        assert of_responses in cost(command="work").out
    of_machine = cost("--everything").out
    known = "At least $" if is_known else "No known cost for 2 sessions "
    assert of_machine.startswith(known)


@pytest.mark.parametrize("is_fast", [True, False], ids=["fast", "usual"])
def test_a_cost_without_some_responses_is_said_to_be_at_least_that(
    history: History, cost: Any, is_fast: bool
) -> None:
    (path,) = history.home.rglob("s1.jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    answers = [line for line in lines if (line.get("message") or {}).get("usage")]
    if is_fast:
        answers[0]["message"]["usage"]["speed"] = "fast"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    units = cost("--json", command="work").json["units"]
    (unit,) = (unit for unit in units if unit["subject"] == "Add 1")
    text = cost_text(unit["cost"], is_partial=is_fast)
    page = cost(unit["unit"], command="explain").out
    assert f"It took {text}, " in page
    assert ("1 response has no known price: " in page) == is_fast
    head = cost(command="work").out
    assert ("It cost at least $" in head) == is_fast
    assert ("is known: at least $" in head) == is_fast
    assert "at least <" not in head
    for option in ("--by=day", "--everything"):
        assert cost(option).out.startswith("At least $" if is_fast else "$")
    page = cost("--out", "-", "--rubric", "3.1.0", command="report").out
    assert ("<dt>Cost of all</dt><dd>at least $" in page) == is_fast


def test_days_without_cost_are_one_sentence(cost: Any) -> None:
    sentence, *none = cost("1999-12").out.splitlines()
    assert sentence == "No cost is known, 1999-12."
    (note,) = cost("1999-12", "--json").json["notes"]
    assert none == [note]
    assert note.startswith("The options choose none of ")
    assert " units of work here, and the newest ended on " in note
    assert cost("--json").json["notes"] == []


def test_days_say_of_how_many_units_the_cost_is_not_known(
    history: History, cost: Any
) -> None:
    september = 1788220800  # 2026-09-01
    message = "Add it\n\nCo-Authored-By: Claude <noreply@anthropic.com>"
    Repo.at(history.repo).commit({"made.py": TEXT}, message, september)

    assert cost("--json").json["without_cost"] == 1
    assert cost("--until", "2026-08", "--json").json["without_cost"] == 0
    assert cost("--since", "2026-08", "--json").json["without_cost"] == 1


@pytest.mark.usefixtures("history")
def test_without_any_cost_no_days_are_named(da_score: Any) -> None:
    assert (
        da_score("cost", "--everything", "--transcripts", "none").out
        == "No cost is known.\n"
    )


def test_work_takes_the_days_that_cost_takes(
    cost: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *_ = (one["name"] for one in cost("--json").json["groups"])
    chosen = "--since", first, "--until", first
    (unit,) = cost(*chosen, "--json", command="work").json["units"]
    assert unit["subject"] == "Add 1"
    assert (
        "Days and months are those of this machine (UTC)." in cost(command="work").out
    )

    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        days = {one["name"] for one in cost("--json").json["groups"]}
        assert first not in days or second not in days
        for day in days:
            units = cost("--since", day, "--until", day, "--json", command="work").json[
                "units"
            ]
            assert cost(day, "--json").json["total"]["units"] == sum(
                unit["kind"] != "talk" for unit in units
            )
    finally:
        monkeypatch.undo()
        time.tzset()


def test_since_alone_has_no_end(cost: Any) -> None:
    value = cost("--since", "2026-06-03", "--json").json
    assert (value["since"], value["until"]) == ("2026-06-03", None)
    page = cost("--since", "2026-06-03").out.splitlines()
    assert page[0] == "No cost is known, since 2026-06-03."


def test_the_units_it_counts_are_units_of_work(cost: Any) -> None:
    units = cost("--json").json["total"]["units"]
    assert f" for {units} units of work, talk included, all days" in cost().out


@pytest.mark.parametrize("command", ["cost", "work"])
@pytest.mark.parametrize(
    ("days", "problem"),
    [
        (
            ("--since", "soon"),
            "--since 'soon' names no days; write 2026-06-03, 2026-06, 30d",
        ),
        (("--until", ""), "--until '' names no days"),
        (
            ("--since", "2026-06-03", "--until", "2026-06-01"),
            "--since 2026-06-03 is after the last day, 2026-06-01",
        ),
    ],
)
def test_days_that_cannot_be_are_one_line(
    cost: Any, command: str, days: tuple[str, ...], problem: str
) -> None:
    done = cost(*days, command=command)
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert problem in done.err


def test_without_a_log_the_sessions_count(
    history: History, cost: Any, da_score: Any
) -> None:
    places = "--repo-dir", str(history.repo), "--no-cache"
    value = da_score("cost", *places, "--json").json
    assert value["total"]["cost"] == pytest.approx(cost("--json").json["total"]["cost"])


def test_without_a_log_explain_says_what_to_look_at(
    da_score: Any, tmp_path: Path
) -> None:
    made = History(tmp_path)
    writes(made.session("s1"), DAY, 700, "src/by_hand.py")
    made.commit(DAY + 500, "Commit by hand", files={"src/by_hand.py": TEXT})
    failing = made.session("s2")
    failing.run(2 * DAY - 20, 795, "pytest -q", "4 passed in 0.1s")
    writes(failing, 2 * DAY, 800, "src/failing.py")
    mark = made.commit(2 * DAY + 50, "Add failing", files={"src/failing.py": TEXT})
    failing.run(
        2 * DAY + 20, 805, "pytest -q", "1 failed, 3 passed in 0.1s", failed=True
    )
    failing.commits(2 * DAY + 50, 810, mark, "Add failing")
    made.write()
    places = (
        "--repo-dir",
        str(made.repo),
        "--transcript-dir",
        str(made.home),
        "--no-cache",
    )

    by_hand = da_score("explain", "HEAD~1", *places).out.splitlines()
    assert by_hand[1].endswith("Commit by hand")
    (last,) = (
        n for n, line in enumerate(by_hand) if line.startswith("It has no score")
    )
    assert re.fullmatch(
        r"It took .*, \d+ (s|min) without pauses, and its edits added \d+ lines\.",
        by_hand[last - 1],
    )

    failed = da_score("explain", "HEAD", *places).out
    assert re.search(
        r"^Look at .*jsonl:\d+: landed, and its last test run failed", failed, re.M
    )


def test_without_any_work_sessions_that_are_not_read_are_named(
    history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, da_score: Any
) -> None:
    home = tmp_path / "another home"
    path = home / ".windsurf" / "transcripts" / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.setenv("HOME", str(home))
    found = da_score("cost", "--repo-dir", str(history.repo), "--no-cache")
    assert "1 session of Windsurf is here; da-score does not read it." in found.out


def test_the_report_has_the_same_days(cost: Any, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    cost("--out", page, command="report")
    _, _, data = page.read_text("utf-8").partition('id="da-score-data">')
    data = json.loads(data.partition("</script>")[0])
    shown = dict(data["work"]["days"])
    (table,) = re.findall(
        'aria-label="Cost by day".*?</table>', page.read_text("utf-8"), re.DOTALL
    )
    assert re.findall(r'class="n">([A-Z][^<]*)</th>', table) == [
        *("Cost", "Landed", "Fixed", "Undone", "Lost", "Open", "Unclear", "Talk")
    ]
    assert table.count("<td") == 8 * len(shown)
    groups = cost("--json").json["groups"]
    assert shown == pytest.approx({one["name"]: one["cost"] for one in groups})


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["whenever"], "'whenever' names no days"),
        (["2026-2-30"], "'2026-2-30' names no days"),
        (["--since", "soon"], "'soon' names no days"),
        (["--timezone", "Mars"], "--timezone 'Mars' is not a time zone"),
        (["today", "--since", "today"], "give DAYS, or --since and --until"),
        (
            ["--everything", "--mine"],
            "--everything sums sessions, which have no author",
        ),
    ],
)
def test_wrong_usage_is_one_line(cost: Any, arguments: list[str], problem: str) -> None:
    done = cost(*arguments)
    assert done.status == 2
    assert problem in done.err
    assert done.err.count("\n") == 1
