"""Some work against other work: which differences are told, and why others are not."""

import datetime
import re
from pathlib import Path

import pytest
from helpers.commands import DaScore, one_line
from helpers.histories import TEXT, History, writes

from scoring.errors import InputError
from scoring.evidence.transcripts.facts import NS, TranscriptFacts
from scoring.outcomes.unit import State, Unit
from scoring.statistics import Cluster, design_effect, share_difference_interval
from scoring.views.against import Figure, against_page, compare
from scoring.views.table import pipe_text
from scoring.views.work_rows import WorkRow
from scoring.views.work_sides import (
    Other,
    Sides,
    other_named,
    sides_of,
    sides_of_commit,
)

DAY = 86_400
TODAY = datetime.date(2026, 5, 20)
FIRST_OF_MARCH = 1_772_323_200


def unit(
    state: State = "landed",
    day: int = 0,
    session: str = "",
    cost: float | None = None,
    harness: str | None = "claude",
    model: str | None = "opus",
    defective: bool | None = None,
    author: str = "Ann",
) -> WorkRow:
    """A unit that ended so many days after 2026-03-01; without ``session`` it has its own."""
    ended = FIRST_OF_MARCH + day * DAY
    made = Unit(
        f"{state}-{day}", "commit", state=state, defective=defective, ended=ended * NS
    )
    made.is_settled = day < 27
    made.author = made.author._replace(name=author)
    made.session = ("claude", session or f"s{id(made)}")
    when = datetime.datetime.fromtimestamp(ended, datetime.UTC)
    values = {
        "ended": f"{when:%Y-%m-%dT%H:%M:%SZ}",
        "harness": harness,
        "model": model,
        "tokens": {"output": None},
    }
    return WorkRow(made, cost, values)


def many(count: int, state: State = "landed", **known: object) -> list[WorkRow]:
    return [unit(state, **known) for _ in range(count)]  # type: ignore[arg-type]


def compared(
    first: list[WorkRow], second: list[WorkRow], periods: bool = False
) -> dict[str, Figure]:
    """Compare two sides, long after they ended."""
    sides = Sides(("a", "b"), (first, second), {}, periods)
    against = compare(sides, 14, FIRST_OF_MARCH + 400 * DAY)
    return {figure.measure.key: figure for figure in against.figures}


def alone(part: int, whole: int) -> list[Cluster]:
    """Units that do not depend on each other."""
    return [Cluster(float(n < part), 1) for n in range(whole)]


class TestIntervals:
    def test_of_independent_units_are_those_of_newcombe(self) -> None:
        interval = share_difference_interval(alone(56, 70), alone(48, 80))
        assert tuple(interval) == pytest.approx((0.0524, 0.3339), abs=1e-4)

    def test_of_units_of_one_session_are_wider(self) -> None:
        grouped = [Cluster(4.0 * (n % 2), 4) for n in range(20)]
        single = alone(40, 80)
        assert design_effect(single, single) == pytest.approx(1, abs=0.02)
        assert design_effect(grouped, grouped) == pytest.approx(4, abs=0.3)
        narrow = share_difference_interval(single, single)
        wide = share_difference_interval(grouped, grouped)
        assert wide.high - wide.low > 1.8 * (narrow.high - narrow.low)

    def test_of_money_draw_whole_sessions(self) -> None:
        first = [unit(cost=1.0 + n % 3, session=f"a{n // 4}") for n in range(100)]
        second = [unit(cost=4.0 + n % 3, session=f"b{n // 4}") for n in range(100)]
        figure = compared(first, second)["cost_per_landed"]
        assert figure.interval is not None
        assert (figure.certain, figure.verdict) == (True, "less")
        assert figure.interval.low < -3 < figure.interval.high < -2.5
        assert figure == compared(first, second)["cost_per_landed"]


class TestVerdicts:
    def test_tell_a_large_difference(self) -> None:
        figure = compared(many(200), many(150) + many(50, "lost"))["landed"]
        assert (figure.certain, figure.verdict, figure.difference) == (
            True,
            "more often",
            0.25,
        )

    def test_tell_nothing_of_equal_sides(self) -> None:
        side = many(95) + many(5, "lost")
        figure = compared(side, side)["landed"]
        assert (figure.certain, figure.difference) == (False, 0)
        assert figure.verdict.startswith("needs about ")

    def test_say_how_many_more_units_would_tell_what_is_seen(self) -> None:
        few = compared(many(36) + many(4, "lost"), many(30) + many(10, "lost"))[
            "landed"
        ]
        assert (
            few.verdict == f"needs about {few.more_units} more units to tell 15 points"
        )
        assert few.more_units
        factor = 1 + few.more_units // 80
        enough = compared(
            many(36 * factor) + many(4 * factor, "lost"),
            many(30 * factor) + many(10 * factor, "lost"),
        )["landed"]
        assert enough.certain

    @pytest.mark.parametrize(
        ("count", "verdict"), [(19, "too few: 19 and 60 units"), (20, "less often")]
    )
    def test_need_twenty_units_on_each_side(self, count: int, verdict: str) -> None:
        assert compared(many(count, "lost"), many(60))["landed"].verdict == verdict

    def test_of_means_need_twenty_sessions(self) -> None:
        one_session = many(40, cost=1.0, session="one")
        figure = compared(one_session, many(40, cost=3.0))["cost_per_landed"]
        assert (figure.verdict, figure.interval) == ("too few sessions: 1 and 40", None)

    def test_name_the_unclear_units_that_could_change_them(self) -> None:
        first = many(60)
        second = many(45) + many(15, "lost")
        assert compared(first, second)["landed"].certain
        figure = compared(first + many(18, "unclear"), second)["landed"]
        assert (figure.certain, figure.verdict) == (
            False,
            "18 unclear units could change this",
        )

    @pytest.mark.parametrize(("periods", "told"), [(True, False), (False, True)])
    def test_are_not_given_of_periods_in_which_the_harness_changed(
        self, periods: bool, told: bool
    ) -> None:
        figure = compared(many(100, harness="codex"), many(100, "lost"), periods)[
            "landed"
        ]
        assert figure.certain == told
        assert (figure.verdict == "the harness changed") == periods

    def test_leave_out_what_is_too_young_to_judge(self) -> None:
        sides = Sides(("a", "b"), (many(30, day=40), many(30)), {}, True)
        against = compare(sides, 14, FIRST_OF_MARCH + 41 * DAY)
        assert against.young == [30, 0]
        assert str(against.latest) == "2026-03-28"
        text = pipe_text(against_page(against))
        note = "as of 2026-04-11, the trunk's newest commit: what ended after 2026-03-28 is"
        assert note in text
        assert (
            "holds the true one with 95 % confidence. A verdict asks for 99 %" in text
        )
        assert against.figures[0].verdict == "too few: 0 and 30 units"

    def test_of_what_was_undone_count_what_was_on_the_trunk(self) -> None:
        first = (
            many(60) + many(20, "taken_back") + many(20, "reverted") + many(9, "lost")
        )
        figure = compared(first, many(100))["taken_back"]
        assert (figure.first.total, figure.first.units, figure.verdict) == (
            40,
            100,
            "more often",
        )

    def test_of_fixes_count_what_is_judged(self) -> None:
        figure = compared(
            many(50, defective=True) + many(9), many(50, defective=False)
        )["fixed"]
        assert (figure.first.units, figure.certain, figure.verdict) == (
            50,
            True,
            "more often",
        )


ROWS = [
    unit(day=0, model="claude-opus-4-5", author="Ann"),
    unit(day=31, model="claude-opus-4-6", author="Bo"),
    unit(day=62, model=None, harness=None, author="Bo"),
    unit(day=70, model="gpt-5-codex", harness="codex", author="Cy"),
]


def test_a_range_is_shown_where_a_verdict_could_be() -> None:
    """A range that leaves out 0 beside "too few" reads as a verdict."""
    first = many(4, cost=1.0) + many(1, "reverted", cost=1.0)
    sides = Sides(("a", "b"), (first, many(60, cost=1.0)), {}, False)
    text = pipe_text(against_page(compare(sides, 14, FIRST_OF_MARCH + 400 * DAY)))
    (line,) = [line for line in text.splitlines() if line.startswith("landed ")]
    assert re.search(r"-20\.0 +too few: 5 and 60 units$", line.replace("\t", " "))


def test_a_difference_that_is_missing_is_named() -> None:
    first = [unit(cost=1.0 + 9 * (n % 3)) for n in range(40)]
    second = [unit(cost=1.0 + 9 * ((n + 1) % 3)) for n in range(40)]
    verdict = compared(first, second)["cost_per_landed"].verdict
    assert verdict.endswith("more units to tell a difference of a fifth ($2.00)")


class TestSides:
    @pytest.mark.parametrize(
        ("text", "other"),
        [
            ("2026-04", Other("month", "2026-04")),
            ("2026-4", Other("month", "2026-04")),
            ("Last  month", Other("month", "2026-04")),
            ("Codex", Other("harness", "codex")),
            ("claude-opus-4-6", Other("model", "claude-opus-4-6")),
            ("gpt", Other("model", "gpt-5-codex")),
            ("bo", Other("author", "Bo")),
        ],
    )
    def test_are_named_by_month_harness_model_or_author(
        self, text: str, other: Other
    ) -> None:
        assert other_named(text, ROWS, TODAY) == other

    def test_are_named_as_tables_mark_them(self) -> None:
        rows = [*ROWS, unit(day=71, model="gpt-6 (stated)")]
        for text in ("gpt-6", "gpt-6 (stated)", "-6 (stated)"):
            other = other_named(text, rows[-2:], TODAY)
            assert other == Other("model", "gpt-6")
            assert sides_of(other, rows, rows, "").rows[1] == rows[-1:]

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("opus", "may mean claude-opus-4-5, claude-opus-4-6"),
            (
                "2026-13",
                "name a month (2026-05, this month, last month), an author, or a harness or model "
                "that worked here: claude",
            ),
            ("", "name a month"),
            ("nobody", "claude, codex, claude-opus-4-5"),
        ],
    )
    def test_that_nothing_names_are_an_error(self, text: str, words: str) -> None:
        with pytest.raises(InputError) as e:
            other_named(text, ROWS, TODAY)
        assert words in str(e.value)

    @pytest.mark.parametrize(
        ("text", "today"), [("30d", "2026-04-30"), ("4 weeks", "2026-02-28")]
    )
    def test_are_no_month_by_days_on_any_day(self, text: str, today: str) -> None:
        with pytest.raises(InputError, match="name a month"):
            other_named(text, ROWS, datetime.date.fromisoformat(today))

    def test_of_a_month_are_the_newest_other_month_and_this_one(self) -> None:
        sides = sides_of(Other("month", "2026-04"), ROWS, ROWS, "")
        assert sides.names == ("2026-05", "2026-04")
        assert sides.rows == (ROWS[2:], [ROWS[1]])
        assert sides.left_out == {"of other times": 1}

    def test_count_what_no_side_has(self) -> None:
        timeless = unit()
        timeless.unit.ended = timeless.values["ended"] = None
        rows = [*ROWS, timeless]
        sides = sides_of(Other("month", "2026-04"), ROWS[:2], rows, "until 2026-04-30")
        assert sides.left_out == {"of other times": 2, "without a known month": 1}
        sides = sides_of(Other("author", "Bo"), ROWS[:1], rows, "ann")
        assert sides.left_out == {"by other authors": 2}
        sides = sides_of_commit("f" * 40, FIRST_OF_MARCH + 40 * DAY, rows)
        assert sides.left_out == {"without a known time": 1}

    def test_of_a_month_are_the_chosen_days_and_this_month(self) -> None:
        sides = sides_of(Other("month", "2026-03"), ROWS[1:], ROWS, "since 2026-04-01")
        assert sides.names == ("since 2026-04-01", "2026-03")
        assert sides.rows == (ROWS[1:], [ROWS[0]])

    def test_of_a_model_leave_out_what_is_of_an_unknown_one(self) -> None:
        sides = sides_of(Other("model", "gpt-5-codex"), ROWS, ROWS, "")
        assert sides.names == ("other models", "gpt-5-codex")
        assert sides.rows == (ROWS[:2], [ROWS[3]])
        assert sides.left_out == {"without a known model": 1}

    def test_without_work_are_an_error(self) -> None:
        with pytest.raises(InputError, match="no work of 2026-01"):
            sides_of(Other("month", "2026-01"), ROWS, ROWS, "")

    @pytest.mark.parametrize(
        ("asked", "chosen", "before"),
        [
            ("2026-11", [], "2026-04"),
            ("2026-03", [], "2026-03"),
            ("2026-05", [], "2026-04"),
        ],
    )
    def test_without_work_of_a_month_say_what_to_write(
        self, asked: str, chosen: list[WorkRow], before: str
    ) -> None:
        with pytest.raises(InputError) as e:
            sides_of(Other("month", asked), chosen, ROWS, "2026-12")
        assert str(e.value).endswith(
            f"; write --since 2026-05 --until 2026-05 --against {before}"
        )
        with pytest.raises(InputError) as e:
            sides_of(Other("author", "Bo"), chosen, ROWS, "ann")
        assert "; write" not in str(e.value)

    def test_of_a_commit_are_what_came_after_it_and_before_it(self) -> None:
        sides = sides_of_commit("f" * 40, FIRST_OF_MARCH + 31 * DAY, ROWS)
        assert sides.names == ("since ffffffffffff", "before ffffffffffff")
        assert sides.rows == (ROWS[2:], [ROWS[0]])
        assert sides.left_out == {"that went on when the commit was made": 1}
        assert sides.periods

    @pytest.mark.parametrize(("began", "is_after"), [(39, False), (41, True)])
    def test_of_a_commit_leave_out_what_went_on_while_it_was_made(
        self, began: int, is_after: bool
    ) -> None:
        row = unit(day=42)
        row.unit.counted = TranscriptFacts(began=(FIRST_OF_MARCH + began * DAY) * NS)
        others = [unit(day=10), unit(day=50)]
        sides = sides_of_commit("f" * 40, FIRST_OF_MARCH + 40 * DAY, [*others, row])
        assert (row in sides.rows[0], bool(sides.left_out)) == (is_after, not is_after)


@pytest.mark.usefixtures("project")
class TestCommand:
    def test_prints_both_sides_with_their_differences(self, da_score: DaScore) -> None:
        shown = da_score("work", "--against", "codex").out
        assert shown.startswith("other harnesses against codex\n\n")
        assert " too few: " in shown
        assert "3 units without a known harness are on neither side." in shown
        assert "VERDICT, AT 99 %" in shown
        assert shown == da_score("work", "--against", "codex").out

    def test_has_the_same_in_json(self, da_score: DaScore) -> None:
        found = da_score("work", "--against", "codex", "--json").json
        assert [side["name"] for side in found["sides"]] == ["other harnesses", "codex"]
        assert (found["on_no_side"], found["notes"]) == (3, [])
        assert found["left_out"] == {"without a known harness": 3}
        assert [figure["name"] for figure in found["figures"]] == [
            "landed",
            "taken_back",
            "fixed",
            "cost_per_landed",
            "corrections",
        ]

    def test_compares_what_came_before_and_after_a_commit(
        self, da_score: DaScore
    ) -> None:
        shown = da_score("work", "--since-commit", "f05ce0048ec2").out
        assert shown.startswith("since f05ce0048ec2 against before f05ce0048ec2\n")
        assert "  since f05ce0048ec2  before f05ce0048ec2  DIFFERENCE" in shown

    def test_says_what_cannot_be_compared(self, da_score: DaScore) -> None:
        assert "this repository has no such commit" in one_line(
            da_score("work", "--since-commit", "deadbeef")
        )
        assert "no work of 2020-01" in one_line(
            da_score("work", "--against", "2020-01")
        )
        empty = da_score("work", "--since", "2031-11", "--against", "2026-03")
        assert (
            "--since or --until chooses no work to compare with 2026-03: since 2031-11-01, and "
            "the newest ended on 2026-03-05" in one_line(empty)
        )
        # one month alone has work
        assert "; write --since" not in one_line(empty)
        both = da_score("work", "--against", "codex", "--since-commit", "f05ce0048ec2")
        assert "--against and --since-commit ask for two answers: give one." in both.err

    def test_and_since_take_the_same_words(
        self, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They count from today, and say which dates were meant."""
        may = datetime.date(2026, 5, 10)
        monkeypatch.setattr("scoring.cli.work.today_here", lambda: may)
        last = da_score("work", "--against", "last month")
        assert one_line(last).endswith(
            "there is no work of 2026-04, and the newest ended on 2026-03-05"
        )
        (note, _) = da_score("work", "--since", "last month", "--json").json["notes"]
        assert note == (
            "Only work that ended in these days counts: since 2026-04-01; "
            "1 unit without a known time is left out."
        )
        days = ("--since", "2026-03-02", "--until", "2026-03-05")
        compared = da_score("work", *days, "--against", "codex").out
        assert "counts: 2026-03-02 to 2026-03-05; 1 unit without" in compared
        assert "counts: " not in da_score("work", "--against", "codex").out


def test_days_choose_one_side_of_a_month(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, da_score: DaScore
) -> None:
    made = History(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    for n, day in enumerate((0, 40)):
        session = made.session(f"s{n}")
        writes(session, day * DAY, 10, f"src/{n}.py")
        mark = made.commit(day * DAY + 50, f"Step {n}", files={f"src/{n}.py": TEXT})
        session.commits(day * DAY + 50, 12, mark, f"Step {n}")
    made.write()
    places = ("--repo-dir", str(made.repo), "--no-cache")
    by_month = da_score("work", "--json", *places).json["by"]["month"]
    before, after = [month["name"] for month in by_month]
    shown = da_score("work", "--since", after, "--against", before, *places).out
    assert shown.startswith(f"since {after}-01 against {before}\n")
    assert "in these days counts" not in shown
