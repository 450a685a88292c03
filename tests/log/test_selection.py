"""Which entries a command is about: the last ones, those since a day, of a task or of a session."""

import time
from datetime import UTC, date, datetime, timedelta

import pytest

from scoring.errors import OptionError
from scoring.log.model import AgentInfo, IterationRecord
from scoring.log.selection import (
    Selection,
    parse_period,
    period_between,
    today_here,
)

RECORDS = [
    IterationRecord(
        iteration=1, date="2026-05-01", task_id="a-1", agent=AgentInfo(session_id="s")
    ),
    IterationRecord(
        iteration=2, date="2026-05-02", task_id="b-1", agent=AgentInfo(session_id="t")
    ),
    IterationRecord(
        iteration=3, date="no day", task_id="a-2", agent=AgentInfo(session_id="s")
    ),
    IterationRecord(iteration=4, date="2026-05-04T10:00:00Z", task_id="b-2"),
]


@pytest.mark.parametrize(
    ("selection", "numbers"),
    [
        pytest.param(Selection(), {1, 2, 3, 4}, id="all"),
        pytest.param(Selection(last=2), {3, 4}, id="the last two"),
        pytest.param(Selection(last=9), {1, 2, 3, 4}, id="more than there are"),
        pytest.param(Selection(session="s"), {1, 3}, id="a session"),
        pytest.param(Selection(session="other"), set(), id="another session"),
        pytest.param(Selection(only=frozenset({2, 9})), {2}, id="a number"),
        pytest.param(Selection(task="a-1"), {1}, id="a task"),
        pytest.param(Selection(task="b-*"), {2, 4}, id="tasks by a pattern"),
        pytest.param(
            Selection(since=date(2026, 5, 2)),
            {2, 3, 4},
            id="since a day, or without any",
        ),
        pytest.param(
            Selection(session="s", last=1), {3}, id="the last one of a session"
        ),
    ],
)
def test_a_choice_of_entries(selection: Selection, numbers: set[int]) -> None:
    assert selection.numbers(RECORDS) == numbers


TODAY = date(2026, 3, 4)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-03-01", date(2026, 3, 1), date(2026, 3, 1)),
        ("2026-3-1", date(2026, 3, 1), date(2026, 3, 1)),
        ("2026-2", date(2026, 2, 1), date(2026, 2, 28)),
        ("2025-12", date(2025, 12, 1), date(2025, 12, 31)),
        ("9999-12", date(9999, 12, 1), date.max),
        ("today", TODAY, TODAY),
        ("Yesterday", date(2026, 3, 3), date(2026, 3, 3)),
        ("1d", TODAY, TODAY),
        ("30d", date(2026, 2, 3), TODAY),
        ("2 weeks", date(2026, 2, 19), TODAY),
        ("this week", date(2026, 3, 2), date(2026, 3, 8)),
        ("last  week", date(2026, 2, 23), date(2026, 3, 1)),
        ("this month", date(2026, 3, 1), date(2026, 3, 31)),
        ("last month", date(2026, 2, 1), date(2026, 2, 28)),
    ],
)
def test_days_as_people_name_them(text: str, first: date, last: date) -> None:
    assert parse_period(text, TODAY) == (first, last)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-2", "2026-02"),
        ("last month", "2026-02"),
        ("2026-03-01", "2026-03-01"),
        ("last week", "2026-02-23 to 2026-03-01"),
    ],
)
def test_a_whole_month_is_written_as_a_month(text: str, words: str) -> None:
    assert str(parse_period(text, TODAY)) == words


@pytest.mark.parametrize(
    ("since", "words"),
    [
        pytest.param("9999-12-30", "since 9999-12-30", id="in the last month of all"),
        pytest.param("9999-11-30", "since 9999-11-30", id="in the month before"),
    ],
)
def test_days_without_an_end(since: str, words: str) -> None:
    assert str(period_between(since, None, TODAY)) == words


@pytest.mark.parametrize(
    ("zone", "ahead"),
    [
        ("XXX-24", timedelta(hours=24)),
        ("XXX+24", timedelta(hours=-24)),
        ("UTC", timedelta()),
    ],
)
def test_today_in_any_zone(
    monkeypatch: pytest.MonkeyPatch, zone: str, ahead: timedelta
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        day = today_here()
    finally:
        monkeypatch.undo()
        time.tzset()
    now = datetime.now(UTC) + ahead
    assert day in {now.date(), (now - timedelta(minutes=1)).date()}


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2026-13-1", "2026-2-30", "d", "-3d", "0d", "0 weeks", "9999 weeks!"],
)
def test_what_names_no_days(text: str) -> None:
    with pytest.raises(OptionError, match="names no days"):
        parse_period(text, TODAY)
