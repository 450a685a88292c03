"""What run shows, and that figures are the same wherever they are shown."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.commands import DaScore, OnTerminal, lines_of, one_line
from helpers.harness_lines import cases
from helpers.projects import CODEX_SESSION, LOG

from rubric import Bounds, Coverage, default_rubric
from scoring.outcomes.outcome_rules import OutcomeRules
from scoring.scored import LogSummary, ScoredLine
from scoring.sidecars.meaning import Meaning, keep_meaning, kept_meaning
from scoring.views.amounts import cost_text
from scoring.views.run_pages import RunShown, run_page
from scoring.views.table import pipe_text

NEW, OLD = ("--rubric", "3.1.0"), ("--rubric", "2.1.0")
BEGINS, ENDS = "Of 9 units of work 6 landed, 1 was reverted", "reverted by dc5fe68d151e"


@pytest.mark.usefixtures("project")
class TestRun:
    def test_begins_with_what_became_of_the_work_and_ends_with_what_to_look_at(
        self, da_score: DaScore
    ) -> None:
        shown = da_score("run", "--no-write", *NEW).out
        assert shown.startswith(BEGINS)
        assert ENDS in shown.partition("\nLook at\n")[2]
        rows = shown.partition("\nITER")[2].splitlines()
        assert re.match(
            r"3 +redirect +feat\(api\): redirect short links +1b0a1589693b +0\.\d{3} ",
            rows[3],
        )

    def test_in_a_pipe_under_an_old_rubric_is_the_text_of_the_reference(
        self, da_score: DaScore
    ) -> None:
        shown = da_score("run", "--no-write", *OLD).out
        assert shown.startswith(
            "Outcome scoring \N{EM DASH} rubric 2.1.0\nIterations: 9   Sessions: 2   "
        )
        assert (
            BEGINS in shown,
            "Look at" in shown,
            "redirect short links" in shown,
        ) == (
            False,
            False,
            False,
        )

    @pytest.mark.parametrize("columns", [60, 160])
    def test_on_a_terminal_begins_so_under_every_rubric(
        self, on_a_terminal: OnTerminal, monkeypatch: pytest.MonkeyPatch, columns: int
    ) -> None:
        monkeypatch.setenv("NO_COLOR", "1")
        status, shown = on_a_terminal("run", "--no-write", *OLD, columns=columns)
        text = " ".join(" ".join(lines_of(shown)).split())
        assert (
            status,
            text.startswith(BEGINS),
            ENDS in text.partition("Look at")[2],
        ) == (
            0,
            True,
            True,
        )
        assert max(map(len, lines_of(shown))) <= columns

    def test_without_colors_has_no_bold_and_no_dim(
        self, on_a_terminal: OnTerminal, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for command in (
            "run --no-write",
            "work",
            "report --terminal",
            "doctor",
            "iteration 5",
        ):
            monkeypatch.setenv("NO_COLOR", "1")
            assert b"\x1b[" not in b"".join(on_a_terminal(*command.split())[1]), command
            monkeypatch.delenv("NO_COLOR")
            monkeypatch.setenv("TERM", "xterm-256color")

    def test_figures_are_the_same_in_every_place(self, da_score: DaScore) -> None:
        work = da_score("work", "--json").json
        run = da_score("run", "--no-write", "--json", *NEW).json
        text = da_score("run", "--no-write", *NEW).out
        assert (run["work"]["summary"], run["work"]["by"], run["look_at"]) == tuple(
            work[name] for name in ("summary", "by", "look_at")
        )
        asked = ("run", "--no-write", *NEW), ("work",), ("report", "--terminal", *NEW)
        head, *others = (da_score(*one).out.partition("\n\n")[0] for one in asked)
        assert others == [head, head]
        assert f"It cost {cost_text(work['summary']['cost'])} in all" in head
        for name in ("harness", "model", "month"):
            rows = da_score("query", f"from by_{name}", "--json").json
            for one, view in zip(work["by"][name], rows, strict=True):
                assert [
                    one["name"],
                    one["units"],
                    one["landed"],
                    one["lost"],
                    one["cost"],
                ] == [view[key] for key in (name, "units", "landed", "lost", "cost")]
                assert [
                    one["landed_share"][key] for key in ("value", "low", "high")
                ] == pytest.approx(
                    [view[f"landed_{key}"] for key in ("share", "low", "high")]
                )
                if one["name"] != "unknown":
                    assert re.search(
                        rf"^{name} {re.escape(one['name'])} +{one['units']} ",
                        text,
                        re.M,
                    )
        exported = da_score(
            "export", "--format", "jsonl", "--tables", "work"
        ).out.splitlines()
        for lines in (
            da_score("query", "from work", "--json").json,
            list(map(json.loads, exported)),
        ):
            assert [
                (line["unit"], line["state"], line["cost"], line["minutes"])
                for line in lines
            ] == [
                (unit["unit"], unit["state"], unit["cost"], unit["minutes"])
                for unit in work["units"]
            ]
        lines = da_score(
            "export", "--format", "jsonl", "--tables", "iterations", *NEW
        ).out.splitlines()
        written = {row["iteration"]: row for row in map(json.loads, lines)}
        assert [(n, row["score_raw"], row["band"]) for n, row in written.items()] == [
            (one["iteration"], one["value"] if one["scored"] else None, one["band"])
            for one in run["iterations"]
        ]
        outcomes = {
            one["iteration"]: one["defective"]
            for one in da_score("outcomes", "--json").json["outcomes"]
        }
        for unit in (unit for unit in work["units"] if len(unit["iterations"]) == 1):
            (n,) = unit["iterations"]
            assert written[n]["defective"] == unit["defective"], n
            if n == 9:  # its unit has what the agent said to report the commit, too
                assert written[n]["cost"] < unit["cost"]
            else:
                assert written[n]["cost"] == unit["cost"], n
            assert outcomes[n] == unit["defective"]


def shown(count: int, verdict: str | None = None, every: bool = False) -> str:
    known = (
        "task",
        "2026-03-01",
        0.9,
        True,
        "excellent",
        Coverage(1, 1, 1.0),
        Bounds(0.9, 0.9),
    )
    scored = LogSummary(
        default_rubric(), [ScoredLine(n, *known) for n in range(1, count + 1)], [], {}
    )
    page = run_page(
        scored,
        Path("log"),
        RunShown(meaning=Meaning(verdict), terminal=True, every=every),
    )
    return pipe_text(page)


class TestScores:
    @pytest.mark.parametrize(
        ("verdict", "said", "mean"),
        [
            pytest.param(
                None,
                "Evidence scores under rubric 2.1.0: not known yet if that foretells "
                "anything: run da-score validate",
                False,
                id="not measured",
            ),
            pytest.param(
                "weak", "Scores under rubric 2.1.0: weak", True, id="they foretell"
            ),
            pytest.param(
                "no better than a coin",
                "Evidence scores under rubric 2.1.0: no better than a coin",
                False,
                id="a coin",
            ),
        ],
    )
    def test_are_in_a_headline_only_where_they_foretell(
        self, verdict: str | None, said: str, mean: bool
    ) -> None:
        text = shown(2, verdict)
        assert (said in text, "mean 0.900" in text, "excellent" in text) == (
            True,
            mean,
            mean,
        )

    def test_of_a_long_log_are_the_last_twenty_on_a_terminal(self) -> None:
        assert "The last 20 of 25 iterations; --all shows every one." in shown(25)
        assert "--all" not in shown(20)
        assert "--all" not in shown(25, every=True)

    @cases(
        "kept, rubric, days, marks, verdict",
        {
            "all of them": (True, "3.1.0", 14, (b"score  1", b"score  2"), "weak"),
            "one of them": (True, "3.1.0", 14, (b"score  2",), "weak"),
            "another one": (True, "3.1.0", 14, (b"score  2", b"score  3"), None),
            "none": (True, "3.1.0", 14, (), None),
            "another horizon": (True, "3.1.0", 7, (b"score  2",), None),
            "another rubric": (True, "3.0.0", 14, (b"score  2",), None),
            "no store": (False, "3.1.0", 14, (b"score  2",), None),
        },
    )
    def test_keep_their_verdict_where_each_was_measured(
        self,
        tmp_path: Path,
        kept: bool,
        rubric: str,
        days: int,
        marks: Sequence[bytes],
        verdict: str | None,
    ) -> None:
        keep_meaning(
            tmp_path,
            (Path("log"), "3.1.0", OutcomeRules(14)),
            (b"score  1", b"score  2"),
            "weak",
        )
        place = tmp_path if kept else None
        assert (
            kept_meaning(
                place, (Path("log"), rubric, OutcomeRules(days)), marks
            ).verdict
            == verdict
        )


@pytest.mark.usefixtures("scored")
class TestNames:
    @pytest.mark.parametrize(
        ("name", "iteration"),
        [
            pytest.param("3", 3, id="a number"),
            pytest.param("1b0a158", 3, id="seven digits of a SHA"),
            pytest.param("last", 9, id="the newest commit"),
            pytest.param(CODEX_SESSION[:8], 9, id="a session, of which it is the last"),
        ],
    )
    def test_name_an_iteration(
        self, da_score: DaScore, name: str, iteration: int
    ) -> None:
        assert da_score("explain", name, "--json").json["iteration"] == iteration
        assert da_score("iteration", name, "--json").json["iteration"] == iteration

    @pytest.mark.parametrize("name", ["1b0a15", "nothing", "0000000", ""])
    def test_that_name_nothing_say_so(self, da_score: DaScore, name: str) -> None:
        assert one_line(da_score("explain", name)).endswith(
            "name one by number, last, SHA, branch or session"
        ) or ("no entry for iteration 0" in one_line(da_score("explain", name)))


@pytest.mark.usefixtures("project")
def test_names_come_with_the_subject(da_score: DaScore) -> None:
    assert (
        da_score("iteration", "3", "--json").json["subject"]
        == "feat(api): redirect short links"
    )
    assert (
        "\nCommit 1b0a1589693b: feat(api): redirect short links\n"
        in da_score("explain", "3").out
    )
    named = r"^3 +redirect +feat\(api\): redirect short links +1b0a1589693b +"
    assert re.search(named + "landed .*too young", da_score("outcomes").out, re.M)
    assert (
        da_score("outcomes", "--json").json["outcomes"][2]["subject"]
        == "feat(api): redirect short links"
    )
    da_score("run", *NEW)
    assert re.search(named + r"0\.\d{3} ", da_score("session", "5c0e").out, re.M)
    assert LOG in da_score("explain", "3").out
