"""What options choose of the work, and what is left out because its time is not known."""

import datetime

from scoring.evidence.git.agents import Identity
from scoring.evidence.transcripts.facts import NS
from scoring.log.selection import Period
from scoring.outcomes.unit import Unit
from scoring.views.chosen_work import none_chosen, period_text, timeless_text

NOON_OF_2026_03_01 = 1_772_366_400 * NS
JUNE = Period(datetime.date(2026, 6, 1), datetime.date(2026, 6, 30))

TIMELESS = Unit("commit:a", "commit")
TIMED = Unit("commit:b", "commit", ended=NOON_OF_2026_03_01)
TALK = Unit("talk:c", "talk", state="talk", ended=2 * NOON_OF_2026_03_01)
TIMELESS_TALK = Unit("talk:d", "talk", state="talk")


def test_none_chosen_says_how_much_is_here_and_when_the_newest_ended() -> None:
    assert none_chosen([TIMELESS, TIMED, TALK]) == (
        "the options choose none of 2 units of work here, and the newest ended on 2026-03-01"
    )
    assert none_chosen([TIMELESS]) == "the options choose none of 1 unit of work here"


def test_none_chosen_names_the_authors_where_none_of_the_work_is_by_the_people() -> (
    None
):
    units = [TIMELESS, Unit("commit:e", "commit", author=Identity("Ann Lee", "a@b.c"))]
    none = "the options choose none of 2 units of work here"
    assert none_chosen(units, {"ann"}) == f"{none}; the authors here are Ann Lee"
    assert none_chosen(units, {"a@b.c"}) == none_chosen(units) == none
    assert none_chosen([TIMELESS], {"ann"}).endswith("1 unit of work here")


def test_without_work_to_choose_from_nothing_is_said() -> None:
    assert none_chosen([]) == none_chosen([TALK]) == ""


def test_days_leave_out_work_without_a_time_and_count_it() -> None:
    assert timeless_text([TIMED, TIMELESS]) == "1 unit without a known time is left out"
    assert period_text(JUNE, [TIMED, TIMELESS, TIMELESS]) == (
        "Only work that ended in these days counts: 2026-06; "
        "2 units without a known time are left out."
    )


def test_where_all_work_has_a_time_days_leave_out_nothing() -> None:
    assert timeless_text([TIMED, TIMELESS_TALK]) == ""
    assert period_text(JUNE, [TIMED]) == (
        "Only work that ended in these days counts: 2026-06."
    )
