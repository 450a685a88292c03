"""What became of one unit, in one line."""

from collections import Counter
from typing import get_args

from helpers.facts import facts_of

from scoring.evidence.git.facts import Landing, LineShare, Trunk, Unknown
from scoring.log.model import IterationRecord
from scoring.outcomes.unit import State, Unit
from scoring.signals.landed import missing_commit
from scoring.views.landing_text import STATE_WORDS, landing_text, states_text, unit_text


def test_open_work_with_a_commit_has_the_figure_of_its_signal() -> None:
    landing = Landing(
        sha="83c840a2c85f",
        unknown=Unknown.TOO_YOUNG,
        lines=LineShare(0, 18),
        trunk=Trunk("refs/heads/main", "main", "f446dcfc", ""),
        rules="attributed",
    )
    unit = Unit(
        "u", "commit", landing=landing, state="open", written_here=18, lines_there=1
    )
    what = landing_text(landing).partition(": ")[2]
    assert "0 of 18 lines are there" in what
    assert unit_text(unit) == f"Open: {what}"

    # in a clone of months ago today's date says nothing
    advice = missing_commit(facts_of(IterationRecord(), landing=landing))
    assert advice.endswith("or the trunk's newest commit is 14 days newer")


def test_work_that_is_there_in_part_may_be_merged_or_be_in_a_pull_request() -> None:
    def advice(unknown: Unknown) -> str:
        trunk = Trunk("refs/heads/main", "main", "f446dcfc", "")
        landing = Landing(
            sha="83c840a2c85f", unknown=unknown, trunk=trunk, rules="attributed"
        )
        return missing_commit(facts_of(IterationRecord(), landing=landing))

    assert advice(Unknown.NOT_FOUND).startswith("merge it; if a pull request did, ")
    assert advice(Unknown.SHALLOW).startswith("fetch the whole history: ")


def test_open_work_without_a_commit_is_known_by_the_lines_that_it_wrote() -> None:
    unit = Unit("u", "rest", state="open", written_here=18, lines_there=1)
    assert unit_text(unit) == "Open: the trunk has 1 of the 18 lines it wrote"


def test_each_state_has_one_word_for_people_and_one_in_data() -> None:
    for state in get_args(State):
        if state != "talk":  # which is no unit
            assert STATE_WORDS[state] == state.replace("_", " ")

    count = dict.fromkeys(STATE_WORDS, 1) | {"may_be_undone": 0}
    assert states_text(count, "unit", "units") == (
        "Of 6 units 1 landed, 1 was reverted, 1 was taken back, 1 is open, 1 was lost, "
        "1 is unclear."
    )


def test_where_git_could_not_tell_all_no_count_of_undone_work_is_called_whole() -> None:
    count = Counter(landed=3, may_be_undone=2)
    assert states_text(count, "unit", "units") == (
        "Of 3 units 3 landed, 0 are known as reverted, 0 are open, 0 were lost, 0 are unclear; "
        "git could not tell whether 2 of those that landed stayed."
    )
