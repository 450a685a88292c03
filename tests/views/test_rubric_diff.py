"""Two rubrics compared: what the step does to weights, values and bands, and why."""

import json
import math
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

import pytest
from helpers.commands import DaScore, one_line
from helpers.deliberations import document, write_json
from helpers.projects import LOG, tree
from hypothesis import given, settings
from hypothesis import strategies as st

from rubric import (
    COMBINE_WEIGHTED_MEAN_RENORMALIZED,
    Rubric,
    ScoreBand,
    SignalID,
    SignalSpec,
    default_rubric,
    released_rubric,
    rubric_versions,
)
from scoring.demo import Demo
from scoring.signals.values import SignalValue, absent_signal, present_signal
from scoring.views.compare import (
    EQUAL_WITHIN,
    IterationDiff,
    LogDiff,
    diff_rubrics,
    diff_scores,
)
from scoring.views.compare_page import comparison_page
from scoring.views.table import pipe_text

NEXT = released_rubric("2.2.0")
BANDS = (ScoreBand("good", 0.5), ScoreBand("bad", 0.0))
Diff = Callable[..., str]
Moves: TypeAlias = dict[str, tuple[float, tuple[str, ...]]]


def weighing(version: str = "1", **weights: float) -> Rubric:
    signals = tuple(
        SignalSpec(SignalID(name), name.title(), weight)
        for name, weight in weights.items()
    )
    return Rubric(version, COMBINE_WEIGHTED_MEAN_RENORMALIZED, signals, BANDS)


@dataclass(frozen=True)
class Found:
    """One iteration's signals; those that are not given are absent."""

    values: Mapping[str, SignalValue] = field(default_factory=dict)
    iteration: int = 1

    def value(self, signal_id: str) -> SignalValue:
        return self.values.get(signal_id, absent_signal(f"no {signal_id}"))


def found(**sub_scores: float) -> Found:
    return Found(
        {
            name: present_signal(value, f"{name} is {value}")
            for name, value in sub_scores.items()
        }
    )


def step(
    before: Rubric, after: Rubric, first: Found, second: Found | None = None
) -> IterationDiff:
    return diff_scores(before.score(first), after.score(second or first))


def moves(diff: IterationDiff) -> Moves:
    """Return the effect and causes of the signals that have any."""
    return {
        m.signal: (round(m.effect, 9), m.causes)
        for m in diff.signals
        if m.moved or m.causes
    }


class TestRubrics:
    def test_side_by_side_say_what_became_of_each_signal(self) -> None:
        diff = diff_rubrics(
            weighing(a=0.5, b=0.3, c=0.2), weighing("2", a=0.5, c=0.4, d=0.1)
        )
        assert [(s.signal, s.change, s.fields) for s in diff.signals] == [
            ("a", "same", ()),
            ("c", "changed", ("weight",)),
            ("d", "added", ()),
            ("b", "removed", ()),
        ]

    @pytest.mark.parametrize(
        ("before", "after", "same"),
        [
            pytest.param(
                default_rubric(),
                NEXT,
                True,
                id="one more signal and the others in proportion",
            ),
            pytest.param(
                released_rubric("2.0.2"),
                default_rubric(),
                False,
                id="one more and the others otherwise",
            ),
            pytest.param(
                weighing(a=1.0), weighing(b=1.0), True, id="nothing in common"
            ),
            pytest.param(
                weighing(a=0.5, b=0.5),
                weighing(a=0.6, b=0.4),
                False,
                id="other weights",
            ),
        ],
    )
    def test_tell_whether_proportions_stay(
        self, before: Rubric, after: Rubric, same: bool
    ) -> None:
        assert (
            diff_rubrics(before, after).same_proportions
            is diff_rubrics(after, before).same_proportions
            is same
        )


class TestEffects:
    def test_of_a_signal_that_joins_are_its_own_alone(self) -> None:
        diff = step(
            default_rubric(),
            NEXT,
            found(landed=1.0, tests=0.5, scope=0.25, diminishing_returns=1.0),
        )
        assert diff.change is not None
        assert diff.change > 0
        assert moves(diff) == {
            "diminishing_returns": (round(diff.change, 9), ("presence",))
        }

    @pytest.mark.parametrize(
        ("first", "second", "effects", "change"),
        [
            (
                found(a=1.0, b=0.5),
                found(a=0.5, b=0.5),
                {"a": (-0.375, ("sub-score",))},
                -0.375,
            ),
            (found(), found(a=1.0), {"a": (0.0, ("presence",))}, None),
            (found(a=1.0), found(), {"a": (0.0, ("presence",))}, None),
        ],
        ids=[
            "its weight times its change",
            "scored on one side only",
            "scored on the other side only",
        ],
    )
    def test_of_a_sub_score(
        self, first: Found, second: Found, effects: Moves, change: float | None
    ) -> None:
        diff = step(weighing(a=0.75, b=0.25), weighing(a=0.75, b=0.25), first, second)
        assert (moves(diff), diff.change, diff.moved) == (effects, change, True)

    def test_of_weights_go_to_the_signals_whose_proportion_changed(self) -> None:
        diff = step(
            weighing(a=0.5, b=0.5), weighing("2", a=0.75, b=0.25), found(a=1.0, b=0.0)
        )
        assert moves(diff) == {"a": (0.125, ("weight",)), "b": (0.125, ("weight",))}
        assert (diff.change, diff.band_changed) == (0.25, False)

    def test_of_everything_at_once_are_distinct(self) -> None:
        before, after = (
            weighing(a=0.4, b=0.4, c=0.2),
            weighing("2", a=0.4, b=0.3, d=0.3),
        )
        diff = step(
            before, after, found(a=1.0, b=0.5, c=0.0), found(a=0.9, b=0.5, d=0.2)
        )
        causes = {
            "a": ("sub-score", "weight"),
            "b": ("weight",),
            "c": ("presence",),
            "d": ("presence",),
        }
        assert {name: cause for name, (_, cause) in moves(diff).items()} == causes

    def test_of_different_iterations_do_not_compare(self) -> None:
        with pytest.raises(ValueError, match="iterations 1 and 2 do not compare"):
            step(default_rubric(), default_rubric(), Found({}, 1), Found({}, 2))

    @settings(derandomize=True)
    @given(st.data())
    def test_add_up_to_the_change_and_pass_by_what_keeps_its_proportion(
        self, data: st.DataObject
    ) -> None:
        versions = st.sampled_from(
            [released_rubric(version) for version in rubric_versions()]
        )
        before, after = data.draw(versions), data.draw(versions)
        names = [str(spec.id) for spec in NEXT.signals]

        def signals() -> Found:
            given_ids = data.draw(st.sets(st.sampled_from(names), min_size=1))
            return found(
                **{name: data.draw(st.floats(0, 1)) for name in sorted(given_ids)}
            )

        first = signals()
        second = data.draw(st.sampled_from([first, signals()]))
        diff = step(before, after, first, second)
        if diff.change is None:
            return
        assert math.fsum(m.effect for m in diff.signals) == pytest.approx(
            diff.change, abs=1e-12
        )
        for move in diff.signals:
            assert move.moved <= bool(move.causes), move


class TestTotals:
    @pytest.fixture
    def log(self) -> LogDiff:
        before, after = weighing(a=1.0), weighing("2", a=0.5, b=0.5)
        given_signals = [
            found(a=1.0),
            found(a=0.4, b=0.8),
            found(a=0.6, b=0.0),
            found(),
        ]
        return LogDiff(
            tuple(
                step(before, after, replace(s, iteration=n))
                for n, s in enumerate(given_signals, 1)
            )
        )

    def test_count_and_average_what_moved(self, log: LogDiff) -> None:
        totals = log.totals()
        assert (totals.iterations, totals.moved) == (4, 2)
        assert totals.mean_change == pytest.approx((0.2 - 0.3) / 3)
        assert totals.mean_move == pytest.approx((0.2 - 0.3) / 2)
        assert totals.band_changes == {("bad", "good"): 1, ("good", "bad"): 1}
        assert list(totals.signals) == ["b"]
        assert totals.signals["b"][0] == 2
        assert totals.signals["b"][1] == pytest.approx(-0.05)

    def test_of_rounding_are_no_move(self) -> None:
        item = step(
            default_rubric(),
            NEXT,
            found(landed=1.0, tests=0.7, scope=0.3, verifier=0.1),
        )
        for share, moved in ((0.9, 0), (1.1, 1)):
            score = replace(item.after, value=item.before.value + share * EQUAL_WITHIN)
            assert LogDiff((item._replace(after=score),)).totals().moved == moved


@pytest.fixture
def log(here: Demo) -> Path:
    """The log of the demo, with two DR transcripts; the current directory is its repository."""
    actions = ["I will write the tests", "Open the pull request"]
    same = {"claims": ["slugs are short", "slugs are stable"], "next_actions": actions}
    blocked = {**same, "next_actions": ["Blocked by a key"]}
    for n, last in ((2, same), (3, blocked)):
        write_json(here.iter_log_dir / f"iter-{n}.dr.json", document(same, same, last))
    return here.iter_log_dir


@pytest.fixture
def diff(da_score: DaScore) -> Diff:
    """Compare two rubrics, which succeeds without a warning, and return what is printed."""

    def run(*arguments: str | Path) -> str:
        found = da_score("rubric", "diff", *arguments)
        assert (found.status, found.err) == (0, "")
        return found.out

    return run


class TestCommand:
    def test_shows_weights_alone_where_there_is_no_log(
        self, diff: Diff, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        text = diff("2.1.0", "2.2.0")
        assert text.startswith(
            "Rubric 2.1.0 → 2.2.0\n\n"
            "SIGNAL               2.1.0  2.2.0   CHANGE\n"
            "landed               0.2    0.184   -0.016\n"
            "verifier             0.18   0.1656  -0.0144\n"
        )
        assert "\ndiminishing_returns  -      0.08    added\n" in text
        assert (
            "The signals that both have keep their proportions to each other." in text
        )
        assert (
            "\nBands: excellent from 0.85, good from 0.7, fair from 0.5, poor from 0 in both.\n"
            in text
        )
        assert text.endswith(
            f"There is no iteration log at {LOG}; --iter-log-dir compares the scores of one.\n"
        )
        data = json.loads(diff("2.1.0", "2.2.0", "--json"))
        assert (data["iterations"], data["totals"], data["iter_log_dir"]) == (
            None,
            None,
            None,
        )

    @pytest.mark.usefixtures("log")
    @pytest.mark.parametrize("other", ["3.1.0", "2.2.0"])
    def test_names_bands_as_everywhere(self, da_score: DaScore, other: str) -> None:
        text = da_score("rubric", "diff", "2.1.0", other, "--transcripts", "none").out
        (bands,) = (line for line in text.splitlines() if line.startswith("BANDS "))
        assert ("→ not enough evidence " in bands) is (other == "3.1.0")
        assert "insufficient" not in text

    def test_of_a_removed_signal_and_of_rubrics_that_name_bands_otherwise(
        self, diff: Diff, tmp_path: Path, da_score: DaScore
    ) -> None:
        data = da_score("rubric", "show", "--json").json
        own = write_json(tmp_path / "own.yaml", data)
        assert diff("2.1.0", own).startswith("Rubric 2.1.0 (A) → 2.1.0 (B)\n")
        data["bands"] = [{"name": "fine", "min": 0.5}, {"name": "poor", "min": 0}]
        data["signals"][0]["label"] = "Landed\n"
        text = diff("2.2.0", write_json(own, data))
        assert "\ndiminishing_returns  0.08    -      removed\n" in text
        assert "\n    label: Landed on master → Landed\\n\n" in text
        assert "\nBands of 2.2.0: excellent from 0.85" in text
        assert "\nBands of 2.1.0: fine from 0.5, poor from 0\n" in text

    @pytest.mark.usefixtures("log")
    def test_shows_what_moves_in_a_log_and_why(self, diff: Diff) -> None:
        text = diff("2.1.0", "2.2.0")
        assert (
            f"\nIterations of {LOG}\n\nITER  TASK             2.1.0  2.2.0  CHANGE  BAND\n"
            in text
        )
        assert re.search(
            r"^2     choose-alphabet  0\.500  0\.625  \+0\.125  fair\n"
            r"        diminishing_returns  \+0\.125  presence: absent → 1\.000\n"
            r"          2\.1\.0: not in this rubric\n"
            r"          2\.2\.0: SHIP: novelty 0\.000 LOW, readiness 1\.00 HIGH, 3 rounds\n",
            text,
            re.MULTILINE,
        )
        assert re.search(
            r"^1     store-links      1\.000  1\.000  -       excellent\n2 ",
            text,
            re.MULTILINE,
        )
        assert re.search(
            r"^3     redirect         0\.933  0\.858  -0\.075  excellent\n",
            text,
            re.MULTILINE,
        )
        assert "\nMOVED        2 of 9 iterations\n" in text
        assert "diminishing_returns moved 2, by " in text

    @pytest.mark.usefixtures("log")
    def test_agrees_with_scoring_under_each(
        self, diff: Diff, da_score: DaScore
    ) -> None:
        data = json.loads(diff("2.0.2", "2.2.0", "--json"))
        for side, version in (("a", "2.0.2"), ("b", "2.2.0")):
            scored = da_score("run", "--no-write", "--json", "--rubric", version).json[
                "iterations"
            ]
            assert [item[side]["value"] for item in data["iterations"]] == [
                item["value"] for item in scored
            ]
            assert [item[side]["band"] for item in data["iterations"]] == [
                item["band"] for item in scored
            ]
            rows = [
                {s["signal"]: s[side] for s in item["signals"] if s[side]}
                for item in data["iterations"]
            ]
            assert [
                {n: r["contribution"] for n, r in item.items()} for item in rows
            ] == [
                {row["signal"]: row["contribution"] for row in item["breakdown"]}
                for item in scored
            ]
        for item in data["iterations"]:
            assert sum(s["effect"] for s in item["signals"]) == pytest.approx(
                item["change"], abs=1e-12
            )
        assert data["totals"]["moved"] == sum(
            item["moved"] for item in data["iterations"]
        )

    def test_reads_transcripts_and_writes_nothing(
        self, log: Path, here: Demo, diff: Diff
    ) -> None:
        before = tree(log)
        data = json.loads(
            diff(
                "2.1.0", "2.2.0", "--transcript-dir", here.transcript_dirs[0], "--json"
            )
        )
        rows = {s["signal"]: s for s in data["iterations"][4]["signals"]}
        assert "backfilled from" in rows["token_efficiency"]["a"]["detail"]
        assert tree(log) == before

    def test_of_an_empty_log_has_no_iterations(self, log: Path, diff: Diff) -> None:
        shutil.rmtree(log)
        log.mkdir()
        data = json.loads(diff("2.1.0", "2.2.0", "--json"))
        assert (data["iterations"], data["totals"]["iterations"]) == ([], 0)
        assert "MOVED  0 of 0 iterations" in diff("2.1.0", "2.2.0")

    @pytest.mark.usefixtures("here")
    @pytest.mark.parametrize(
        "arguments",
        [
            "2.1.0 9.9.9",
            "9.9.9 2.1.0",
            "2.1.0 ./no.yaml",
            "2.1.0 2.2.0 --iter-log-dir no",
        ],
    )
    def test_of_what_is_not_there_is_an_error(
        self, da_score: DaScore, arguments: str
    ) -> None:
        found = da_score("rubric", "diff", *arguments.split())
        assert (found.status, bool(one_line(found))) == (1, True)

    def test_of_a_log_that_is_not_there_is_an_error_only_where_it_was_named(
        self, here: Demo, diff: Diff, da_score: DaScore
    ) -> None:
        shutil.rmtree(here.iter_log_dir)
        assert one_line(
            da_score("rubric", "diff", "2.1.0", "2.2.0", "--iter-log-dir", LOG)
        )
        assert diff("2.1.0", "2.2.0")


def test_details_are_shown_where_they_differ_in_words_that_say_the_cause() -> None:
    before, after = weighing(a=0.4, b=0.4, c=0.2), weighing("2", a=0.4, b=0.3, d=0.3)
    first = Found(
        {
            "a": present_signal(1.0, "by merge"),
            "b": present_signal(0.5, "b"),
            "c": present_signal(0.5, "c"),
        }
    )
    second = Found(
        {"a": present_signal(0.5, "by squash"), "b": present_signal(0.0, "b")}
    )
    log = LogDiff((step(before, after, first, second),))
    shown = pipe_text(comparison_page(diff_rubrics(before, after), log, Path("log")))
    assert (
        "\n        a  -0.186  sub-score: 1.000 → 0.500, weight: in proportion to others\n"
        in shown
    )
    assert "\n          1: by merge\n          2: by squash\n" in shown
    assert (
        "\n        b  -0.179  sub-score: 0.500 → 0.000, weight: 0.4 → 0.3\n        c  "
        in shown
    )
    assert (
        "  presence: 0.500 → absent\n          1: c\n          2: not in this rubric\n"
        in shown
    )
