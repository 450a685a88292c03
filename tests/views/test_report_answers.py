"""What a report answers: weak signals, comparisons, what the tokens bought, and links."""

import hashlib
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.repos import Repo

from rubric import SignalContribution, default_rubric
from scoring.cli.report import _project_name
from scoring.evidence.transcripts.facts import Spent
from scoring.outcomes.cases import Case
from scoring.outcomes.spending import PaidWork, Spending, purchase
from scoring.outcomes.unit import State, Unit
from scoring.outcomes.validity import validity
from scoring.views.amounts import CountedShare
from scoring.views.comparisons import NO_DIFFERENCE, RANGES, comparisons, months, trend
from scoring.views.report import page_parts
from scoring.views.report.answers import nothing_known, pieces, signal_rows
from scoring.views.report.digest import Digest
from scoring.views.report.reported_iteration import ReportedIteration, TranscriptLines
from scoring.views.validity_pages import CLEAR_NOTE
from scoring.views.work_groups import FIXED_IN_TIME, FIXED_LATER, grouped
from scoring.views.work_pages import became_page
from scoring.views.work_rows import WorkRow, without_cost

SONNET = "claude-sonnet-4-5"
SHA = "0123456789abcdef0123456789abcdef01234567"


def line(
    number: int, votes: dict[str, float | None], **known: Any
) -> ReportedIteration:
    """An iteration whose signals have equal weights; ``None`` is a signal that is absent."""
    present = [vote for vote in votes.values() if vote is not None]
    value, share = (
        sum(present) / len(present) if present else None,
        1 / len(present or votes),
    )
    rows = tuple(
        SignalContribution(
            name,
            name.title(),
            vote is not None,
            vote or 0.0,
            "so",
            share,
            share,
            (vote or 0) * share,
        )
        for name, vote in votes.items()
    )
    made = ReportedIteration(
        number,
        "task",
        "2026-03-01",
        "s",
        "2.1.0",
        value,
        "good",
        "computed",
        0.5,
        rows,
        (),
    )
    return made._replace(**known)


def page(digest: Digest) -> str:
    """Return a report as HTML."""
    return "".join(page_parts(digest))


def made(*lines: ReportedIteration, **known: Any) -> Digest:
    return Digest("log", default_rubric(), list(lines), **known)


def paid(thousands: int, model: str = SONNET, **known: Any) -> Spending:
    """What so many thousand tokens of output cost: 15 dollars a million."""
    return Spending(
        "transcripts", (Spent(model, 0, 1, 0, thousands * 1_000, 0, 0),), 60.0, **known
    )


def piece(
    state: State, cost: float | None = None, day: str = "2026-03-01", **known: Any
) -> WorkRow:
    """A unit of work of which little is known."""
    unit = Unit(
        f"commit:{day}:{state}",
        "commit",
        state=state,
        is_settled=known.pop("is_settled", True),
        defective=known.pop("defective", None),
    )
    values = dict.fromkeys(
        ("commit", "subject", "harness", "model", "minutes", "defective")
    )
    values["tokens"] = {"output": None}
    return WorkRow(
        unit,
        cost,
        {
            **values,
            "kind": "commit",
            "iterations": [],
            "ended": f"{day}T12:00:00Z",
            **known,
        },
    )


def test_units_without_a_known_cost_are_of_all_units() -> None:
    """They are not of the landed ones alone, and talk is no unit."""
    work = [piece("landed", 2.0), piece("landed"), piece("open")]
    talk = WorkRow(Unit("talk", "talk", state="talk"), None, work[0].values)
    lines = list(became_page([*work, talk], 14))
    assert (
        "It cost $2.00 in all; the cost of 2 of 3 units is not known."
        " The cost of 1 landed unit is known: $2.00 each."
    ) in lines
    assert without_cost([*work, talk]) == 2


@pytest.mark.parametrize("unknown", [0, 1, 2])
def test_work_without_a_month_is_explained(unknown: int) -> None:
    """Where all of it has none, nothing is listed by month."""
    work = [piece("landed"), piece("landed")]
    for n in range(unknown):
        work[n] = piece("unclear", ended=None)
    lines = list(became_page(work, 14))
    said = "1 unit has no known month: neither git nor a transcript here says when it ended."
    assert (said in lines) is (unknown == 1)


class TestSignals:
    def test_say_what_they_take_from_the_mean(self) -> None:
        found = made(
            line(1, {"landed": 0.0, "tests": 1.0}),
            line(2, {"landed": 1.0, "tests": 0.5}),
        )
        rows = [
            (
                one.label,
                one.present,
                one.mean,
                one.lost,
                one.zeros,
                [w.iteration for w in one.worst],
            )
            for one in signal_rows(found)
        ]
        assert rows == [
            ("Landed", 2, 0.5, 0.25, [1], [1]),
            ("Tests", 2, 0.75, 0.125, [], [2]),
        ]
        assert found.mean == pytest.approx(1 - 0.25 - 0.125)

    @pytest.mark.parametrize(
        "only",
        [
            pytest.param(line(1, {"landed": 1.0}), id="every vote is full"),
            pytest.param(line(1, {"landed": None}), id="nothing voted"),
            pytest.param(
                line(1, {"landed": 0.0}, band="insufficient"),
                id="not enough evidence to count",
            ),
        ],
    )
    def test_take_nothing(self, only: ReportedIteration) -> None:
        (found,) = signal_rows(made(only))
        assert (found.lost, found.zeros, found.worst) == (0, [], [])


class TestComparisons:
    def test_of_models_and_harnesses_by_what_became_of_the_work(self) -> None:
        work = [
            piece("landed", 2.0, model=SONNET, harness="claude", defective=True),
            piece("lost", 1.0, model=SONNET, harness="claude"),
            piece("open", model=SONNET, harness="claude"),
            piece("landed", model="gpt-5", harness="codex", defective=False),
        ]
        harness, model = comparisons(work)
        assert [one.name for one in harness.groups] == ["claude", "codex"]
        sonnet, gpt = model.groups
        assert (sonnet.name, sonnet.summary["units"], sonnet.landed, sonnet.fixed) == (
            SONNET,
            3,
            (1, 2),
            (1, 1),
        )
        costs = [one.summary["cost_per_landed"] for one in (sonnet, gpt)]
        assert costs == [2.0, None]
        assert str(sonnet.landed) == "1 of 2 (50 %, 9–91 %)"
        assert model.verdicts == [
            f"Landed: {NO_DIFFERENCE} (too few: 2 and 1 units; each side needs 20).",
            f"Fixed, reverted or taken back later: {NO_DIFFERENCE} "
            "(too few: 1 and 1 units; each side needs 20).",
        ]

    @pytest.mark.parametrize(
        ("other", "verdicts"), [("talk", 0), ("open", 0), ("landed", 1)]
    )
    def test_compare_what_units_of_two_groups_have(
        self, other: State, verdicts: int
    ) -> None:
        work = [piece("landed", 2.0, model="a"), piece(other, 1.0, model="b")]
        (model,) = comparisons(work)
        assert [group.name for group in model.groups] == ["a", "b"]
        assert len(model.verdicts) == verdicts

    def test_say_which_is_better_where_the_intervals_do_not_touch(self) -> None:
        work = [piece("landed", model="a") for _ in range(30)]
        work += [piece("lost" if n % 2 else "landed", model="b") for n in range(40)]
        (model,) = comparisons(work)
        assert model.verdicts == ["Landed: a more often than b."]

    @pytest.mark.parametrize(
        ("decided", "verdict"), [(19, "(too few: 30 and 19 units; "), (20, "a more")]
    )
    def test_need_twenty_decided_units_on_each_side(
        self, decided: int, verdict: str
    ) -> None:
        work = [piece("landed", model="a") for _ in range(30)]
        work += [piece("lost", model="b") for _ in range(decided)]
        work += [piece("open", model="b") for _ in range(5)]
        (model,) = comparisons(work)
        assert verdict in model.verdicts[0]

    def test_name_the_unclear_units_that_could_change_a_verdict(self) -> None:
        landed = [piece("landed", model="a") for _ in range(60)]
        mixed = [piece("lost" if n < 12 else "landed", model="b") for n in range(40)]
        unclear = [piece("unclear", model="a") for _ in range(18)]
        (clear,) = comparisons(landed + mixed)
        (open_to_change,) = comparisons(landed + mixed + unclear)
        assert clear.verdicts[0] == "Landed: a more often than b."
        assert open_to_change.verdicts[0] == (
            f"Landed: {NO_DIFFERENCE} (18 unclear units could change this)."
        )

    def test_count_no_unclear_and_no_open_unit_as_one_that_did_not_land(self) -> None:
        unclear = [piece("unclear", harness="h") for _ in range(17)]
        (harness,) = comparisons(unclear, least=1)
        assert (harness.groups[0].landed, harness.groups[0].summary["unclear"]) == (
            (0, 0),
            17,
        )
        assert str(harness.groups[0].landed) == "-"

    def test_of_which_there_is_only_one_there_is_none(self) -> None:
        assert (
            comparisons(
                [
                    piece("landed", model="a", harness="h"),
                    piece("lost", model="a", harness="h"),
                ]
            )
            == []
        )

    def test_of_many_those_with_most_work_are_listed(self) -> None:
        work = [
            piece("landed", model=f"m{n:02}") for n in range(30) for _ in range(n + 1)
        ]
        (models,) = comparisons(work)
        assert (models.groups[0].name, len(models.groups), models.more) == (
            "m29",
            15,
            15,
        )

    def test_a_landed_unit_costs_what_those_with_a_known_cost_do(self) -> None:
        (month,) = months(
            [
                piece("landed", 3.0),
                piece("landed"),
                piece("lost", 1.0),
                piece("talk", 2.0),
            ]
        )
        summary = month.summary
        assert (summary["cost"], without_cost(month.rows)) == (6.0, 1)
        assert (summary["landed_priced"], summary["cost_per_landed"]) == (1, 3.0)

    def test_each_model_has_what_it_cost_itself(self) -> None:
        both = piece("landed", 3.0, model="b", cost_by_model={"a": 2.0, "b": 1.0})
        small, large = (
            group.summary for group in grouped([both, piece("open", 4.0)], "model")[:2]
        )
        assert (small["units"], small["cost"]) == (0, 2.0)
        assert (large["units"], large["cost"], large["cost_per_landed"]) == (
            1,
            1.0,
            3.0,
        )

    def test_work_that_cost_nothing_gives_no_cost_to_a_model_that_is_not_known(
        self,
    ) -> None:
        work = [piece("landed"), piece("talk", 0.0, cost_by_model={"": 0.0})]
        (unknown,) = grouped(work, "model")
        assert unknown.summary["cost"] is None
        (known,) = grouped([piece("talk", 0.0, model="m")], "model")
        assert known.summary["cost"] == 0.0


class TestTime:
    def test_months_come_in_order_and_what_has_no_time_at_the_end(self) -> None:
        work = [
            piece("landed", day="2026-04-01"),
            piece("lost", day="2026-03-31"),
            piece("open", ended=None),
        ]
        assert [(one.name, one.summary["units"]) for one in months(work)] == [
            ("2026-03", 1),
            ("2026-04", 1),
            ("", 1),
        ]
        assert months(work[2:]) == []

    def test_halves_are_compared(self) -> None:
        lost = [piece("lost", day="2026-03-01") for _ in range(20)]
        landed = [piece("landed", day="2026-04-01") for _ in range(20)]
        fixed = [piece("landed", day="2026-04-01", defective=n > 19) for n in range(40)]
        assert trend([*lost, *landed])[0].endswith(
            "the newer half more often than the older half."
        )
        assert trend([*landed, *lost])[0].endswith(
            "the older half more often than the newer half."
        )
        assert [text.endswith(f"{NO_DIFFERENCE}.") for text in trend(fixed)] == [
            True,
            False,
        ]
        assert trend(fixed)[1].startswith(
            "Fixed, reverted or taken back later: 0 of 20 ("
        )
        assert trend([piece("open"), piece("landed")]) == []

    def test_halves_are_of_the_units_that_against_compares(self) -> None:
        """What landed of young work is known sooner than what came to nothing of it."""
        lost = [piece("lost") for _ in range(40)]
        landed = [
            piece("landed", day="2026-04-01", is_settled=False) for _ in range(20)
        ]
        (sentence,) = trend([*lost, *landed])
        assert sentence.startswith("Landed: 0 of 20 (")
        half = "of the newer half, of 40 units that are old enough"
        assert f"{half}: {NO_DIFFERENCE}." in sentence
        assert trend([*lost[1:], *landed]) == []

    def test_halves_of_different_harnesses_are_not_compared(self) -> None:
        lost = [piece("lost", day="2026-03-01", harness="codex") for _ in range(20)]
        landed = [
            piece("landed", day="2026-04-01", harness="claude") for _ in range(20)
        ]
        assert trend([*lost, *landed])[0].endswith(
            f"{NO_DIFFERENCE} (the harness changed)."
        )

    @pytest.mark.parametrize(
        ("share", "said"),
        [
            ((0, 4), "0 %, 0–49 %"),
            ((4999, 5000), "99.9 %, 99.9–99.9 %"),
            ((282, 283), "99.6 %, 98–99.9 %"),
            ((4, 4), "100 %, 51–100 %"),
            ((0, 0), ""),
        ],
    )
    def test_a_share_says_its_range(self, share: tuple[int, int], said: str) -> None:
        assert CountedShare(*share).range == said


def test_iterations_without_a_unit_are_in_the_table_too() -> None:
    found = made(line(1, {"landed": 1.0}), line(2, {"landed": 1.0}, commit=SHA))
    found.work = [piece("landed", iterations=[1], subject="one", commit="f" * 40)]
    rows = [
        (one.number, one.subject, one.commit, [n.iteration for n in one.lines])
        for one in pieces(found)
    ]
    assert rows == [(0, "one", "f" * 40, [1]), (1, "", SHA, [2])]


@pytest.mark.parametrize("state", ["landed", "reverted", "taken_back"])
def test_only_work_that_stayed_is_called_fixed_later(state: State) -> None:
    found = made()
    found.work = [piece(state, defective=True)]
    found.work[0].values["defective"] = True
    table = page(found).partition('<tr id="u0">')[2].partition("</tr>")[0]
    assert ("fixed later" in table) is (state == "landed")


@pytest.mark.parametrize(
    ("state", "defective", "count"),
    [
        pytest.param("taken_back", True, "1 of 1", id="taken back"),
        pytest.param("landed", False, "0 of 1", id="neither"),
    ],
)
def test_every_page_says_that_work_taken_back_counts_as_fixed_or_undone(
    state: State, defective: bool, count: str
) -> None:
    """One line without tags says the same as the page of ``work``."""
    work = [piece(state, defective=defective)]
    lines = list(map(str, became_page(work, 14)))
    verb = "was" if defective else "were"
    assert any(
        line.startswith(f"Of those on the trunk for 14 days {count} (")
        and line.endswith(f") {verb} fixed, reverted or taken back in that time.")
        for line in lines
    )

    found = made(horizon_days=0.5)
    found.work = work
    report = page(found)
    text = re.sub("<[^>]+>", "", report)
    judged = f"Of 1 on the trunk for 12 hours {count[0]} {verb} {FIXED_IN_TIME} ("
    assert judged in text
    assert f">{FIXED_LATER.capitalize()}, of those old enough</th>" in report


@pytest.mark.parametrize(
    ("states", "said"),
    [
        (["lost"], "1 unit was lost: "),
        (["lost", "reverted"], "2 units were lost or reverted: "),
        (
            ["lost", "reverted", "taken_back"],
            "3 units were lost, reverted or taken back: ",
        ),
    ],
)
def test_what_came_to_nothing_is_said_in_one_list(
    states: list[State], said: str
) -> None:
    lines = map(str, became_page([piece(state, cost=1.0) for state in states], 14))
    assert any(line.startswith(said) for line in lines)


def test_what_is_not_judged_yet_is_said_in_the_same_words() -> None:
    work = [piece("landed")]
    found = made(horizon_days=14)
    found.work = work
    said = f"None can be judged yet: what was {FIXED_LATER} is counted after 14 days on the trunk."
    assert said in list(became_page(work, 14))
    assert said in page(found)


def test_of_a_fleet_the_page_on_a_terminal_has_the_words_of_the_report() -> None:
    judged = [piece("landed", defective=False)]
    none_judged = (
        f"None can be judged yet: what was {FIXED_LATER} is counted of work that"
    )
    for work, said in (
        (judged, "Of those old enough to judge 0 of 1 ("),
        (
            [piece("landed")],
            none_judged,
        ),
    ):
        lines = map(str, became_page(work, 0))
        assert any(line.startswith(said) for line in lines)
    found = made(horizon_days=0, is_fleet=True)
    found.work = judged
    assert "old enough to judge" in page(found)


class TestPurchase:
    def test_what_came_to_nothing_is_not_in_what_a_landed_one_costs(self) -> None:
        fates = [(True, True), (True, False), (False, None)]
        found = purchase(
            [
                PaidWork(paid(n * 100), landed=there, sound=ok)
                for n, (there, ok) in enumerate(fates, 1)
            ]
        )
        costs = (found.cost, found.per_landed, found.unsound, found.not_landed)
        assert costs == pytest.approx((9.0, 2.25, 3.0, 4.5))

    @pytest.mark.parametrize(
        "spending",
        [None, paid(100, "made-up-9")],
        ids=["nobody knows the tokens", "nobody knows the price"],
    )
    def test_without_a_cost(self, spending: Spending | None) -> None:
        found = purchase([PaidWork(spending, landed=True, sound=True)])
        assert (found.cost, found.per_landed, found.unsound, found.priced) == (
            None,
            None,
            None,
            0,
        )


def test_what_a_log_has_nothing_of_is_one_sentence() -> None:
    found = nothing_known(made(line(1, {"landed": 1.0, "tests": None})))
    assert found == [
        "the signal Tests",
        "hook outcomes",
        "sessions",
        "claims",
        "deliberations",
    ]


def test_the_project_is_named_by_its_remote_or_its_folder(tmp_path: Path) -> None:
    assert _project_name(tmp_path) == tmp_path.name
    repo = Repo(tmp_path / "folder")
    assert _project_name(repo.path) == "folder"
    repo.config("remote.origin.url", "git@github.com:o/shortlink.git")
    assert _project_name(repo.path) == "shortlink"


class TestPage:
    def test_names_commits_and_escapes_what_they_are_called(self) -> None:
        one = line(1, {"landed": 1.0}, commit=SHA)
        shown = page(made(one, project="<b>evil</b>"))
        assert "<b>evil</b>" not in shown
        assert "&lt;b&gt;evil&lt;/b&gt;: what became of the agent" in shown
        assert "https://" not in re.sub(r"<script>.*?</script>", "", shown, flags=re.S)
        assert "<td>0123456789ab</td>" in shown

    def test_hostile_names_are_text(self) -> None:
        evil = "</script><script>alert(1)</script>"
        one = line(1, {"landed": 0.0}, task_id=evil, commit=evil, date=evil)
        one = one._replace(
            places=(TranscriptLines(evil, 1, 2),), spending=paid(10, evil)
        )
        known = {"subject": evil, "model": evil, "harness": evil, "iterations": [1]}
        work = [
            piece("reverted", 1.0, evil, **known),
            piece("lost", 1.0, "<b>x</b>", model="m"),
            piece("landed"),
        ]
        shown = page(made(one, project=evil, work=work))
        assert "Lost, reverted or taken back" in shown
        assert "<script>alert" not in shown
        assert "<b>x" not in shown
        assert shown.count("</script>") == 4

    def test_a_score_on_too_little_evidence_is_not_shown(self) -> None:
        shown = page(
            made(
                line(1, {"landed": 1.0}, band="insufficient"), line(2, {"landed": 1.0})
            )
        )
        assert re.findall(r'data-label="evidence score">([^<]+?)\s*</td>', shown) == [
            "-",
            "1.000",
        ]

    def test_empty_parts_are_one_line(self) -> None:
        shown = page(made(line(1, {"landed": 1.0, "tests": None})))
        assert "This log has nothing of: the signal Tests; hook outcomes;" in shown
        assert "Hook gates</h2>" not in shown
        assert "What did it cost?" not in shown

    def test_a_cost_says_what_it_leaves_out(self) -> None:
        shown = page(
            made(work=[piece("landed", 1.5), piece("landed"), piece("lost", 1.0)])
        )
        unknown = "1 of 3 units is not known"
        assert f"$2.50 in all; the cost of {unknown}." in shown
        assert f"<dd>$2.50 <small>that of {unknown}</small></dd>" in shown
        assert "<dd>$1.00 <small>1 unit</small></dd>" in shown
        assert "<dd>$1.50 <small>1 of 2 have a cost</small></dd>" in shown
        assert "Of 0 " not in shown

    @pytest.mark.parametrize(
        ("name", "digest"),
        [
            (
                "d3.min.js",
                "912111098ea99503a6f4967361d2bbdc9dbf58cf9c678c8e27e5b02d1a07f0c1",
            ),
            (
                "plot.umd.min.js",
                "4358086467740777dd788d6b27a95cebdbaefdd50c730a3060117073bd7134cb",
            ),
        ],
    )
    def test_the_library_of_charts_is_as_it_was_published(
        self, name: str, digest: str
    ) -> None:
        """docs/DEPENDENCIES.md, "Charts", says where it comes from."""
        path = resources.files("scoring.views.report") / "page" / "vendor" / name
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest


@pytest.mark.usefixtures("here")
class TestUnderARubricThatAttributes:
    """What a command shows of costs; the demo has two harnesses, and models with known prices."""

    def test_iteration_and_session(self, da_score: DaScore) -> None:
        da_score("run", "--rubric", "3.1.0")
        found = da_score("iteration", "3", "--json").json["spending"]
        assert (found["source"], found["models"], found["unpriced_models"]) == (
            "transcripts",
            [SONNET],
            [],
        )
        assert found["cost_usd"] == pytest.approx(0.145762, abs=1e-6)
        assert found["duration_seconds"] > 0
        shown = da_score("iteration", "3", "--rubric", "3.1.0").out
        assert (
            "cost $0.15 · 29 min from first to last line, pauses included · claude-sonnet-4-5"
            in shown
        )
        session = da_score("session", "5c0e", "--json").json["spending"]
        assert session["cost_usd"] > found["cost_usd"]

    def test_under_the_reference_a_pipe_shows_what_it_did(
        self, da_score: DaScore
    ) -> None:
        da_score("run")
        assert "Used" not in da_score("iteration", "3").out
        assert "cost" not in da_score("session", "5c0e").out
        assert da_score("iteration", "3", "--json").json["spending"]["cost_usd"] is None

    def test_tables(self, da_score: DaScore) -> None:
        rows = da_score(
            "export", "--format", "jsonl", "--tables", "iterations", "--rubric", "3.1.0"
        ).out.splitlines()
        found = {row["iteration"]: row for row in map(json.loads, rows)}
        assert found[3]["used_models"] == SONNET
        assert found[3]["cost"] == pytest.approx(0.145762, abs=1e-6)
        assert (found[6]["used_from"], found[7]["used_models"]) == (
            "entry",
            "gpt-5-codex",
        )
        assert found[1]["cost"] is None


@pytest.mark.parametrize("is_clear", [True, False])
def test_says_what_clear_means(is_clear: bool) -> None:
    cases = []
    for n in range(80):
        value = n / 80 if is_clear else 0.5
        cases.append(Case(n, f"s{n}", value, "good", 10, float(n >= 40), {}, {}))
    digest = made(line(1, {"tests": 1.0}))
    digest.validity = validity(cases, "defective", "x", 14)
    assert (CLEAR_NOTE in page(digest)) is is_clear


@pytest.mark.parametrize("harnesses", [1, 2])
def test_says_once_what_the_ranges_are(harnesses: int) -> None:
    work = []
    for day in ("2026-02-01", "2026-03-01"):
        for n in range(harnesses):
            work.append(piece("landed", 1.0, day, harness=f"h{n}"))
    assert page(made(work=work)).count(RANGES) == 1


def test_of_three_thousand_iterations_is_below_5_mb() -> None:
    signals = [f"signal_{k}" for k in range(8)]
    lines = []
    for n in range(3_000):
        votes = {
            name: (n * 37 % 101) / 100 if (n + k) % 3 else None
            for k, name in enumerate(signals)
        }
        of_it = {"task_id": f"task-{n % 40}", "commit": SHA}
        lines.append(line(n, votes, spending=paid(n % 7 + 1), **of_it))
    known = {
        "subject": "a subject of about fifty characters, as they are",
        "commit": SHA,
        "model": SONNET,
    }
    work = [piece("landed", 1.0, iterations=[n], **known) for n in range(3_000)]
    assert len(page(made(*lines, work=work)).encode()) < 5_500_000
