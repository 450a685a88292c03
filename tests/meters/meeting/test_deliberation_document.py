"""The page on the meeting meter is true: its presets, rules, worked meeting, config and loop."""

import json
import re
from pathlib import Path
from typing import Any

from helpers.meetings import record
from helpers.pages import block, code, section, table

from scoring import MeetingVerdict, meeting_config, score_meeting
from scoring.meters import NOVELTY_HIGH, NOVELTY_LOW
from scoring.meters.meeting.config import PRESETS, find_meeting_config
from scoring.meters.meeting.decision_rules import RULES
from scoring.meters.meeting.stated_differences import MARGIN
from scoring.meters.plaindata import read_yaml

PAGE = (Path(__file__).parents[3] / "docs" / "DELIBERATION.md").read_text("utf-8")
PAGE_ON_ONE_LINE = " ".join(PAGE.split())


# Data


def test_the_margin_and_classes_are_those_of_the_code() -> None:
    assert f"by more than {MARGIN}," in PAGE_ON_ONE_LINE
    assert f"HIGH above {NOVELTY_HIGH} and LOW below {NOVELTY_LOW}" in PAGE_ON_ONE_LINE


def test_every_rule_has_its_row_in_order() -> None:
    rows = table(section(PAGE, "Rules"))
    assert [row[1].strip("`") for row in rows] == list(RULES)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)


def test_the_numbers_of_the_rules_are_those_of_every_preset() -> None:
    when = {name.strip("`"): text for _, name, text, _ in table(section(PAGE, "Rules"))}
    for rules in (find_meeting_config(name).rules for name in PRESETS):
        early = rules.early_consensus_requires_extra_check
        assert when["early_consensus"].startswith(
            f"up to round {early.early_round_cutoff}, C is at least {early.convergence_high}, "
            f"and E is below {early.exploration_low} "
        )
        stalled = rules.stalled_debate_detection
        assert when["stalled"] == (
            f"from round {stalled.rounds_before_check}, "
            f"RECENT is at most {stalled.low_novelty_recent} and C gained less than "
            f"{stalled.min_delta_convergence_over_2_rounds} over two rounds"
        )
        assert when["late_round"].startswith(
            f"from round {rules.late_rounds.from_round}, "
        )


def test_the_presets_are_those_of_the_data() -> None:
    def column(name: str) -> list[str]:
        c = find_meeting_config(name)
        t = c.thresholds
        numbers = (
            *(
                c.weights.exploration,
                c.weights.convergence,
                c.weights.focus,
                c.weights.low_novelty,
            ),
            *(c.round_limits.min_rounds, c.round_limits.max_rounds),
            *(t.exploration.min_to_allow_end, t.exploration.target_good),
            *(t.convergence.min_to_allow_end, t.convergence.target_good),
            *(t.focus.min_acceptable, t.focus.target_good),
            *(t.novelty.novelty_floor_recent, t.composite.min_index_to_recommend_end),
            *(
                t.progress.min_delta_convergence_over_2_rounds,
                t.progress.min_delta_exploration_over_2_rounds,
            ),
        )
        return [f"{number:g}" for number in numbers]

    assert block(PAGE, "presets").splitlines()[0] == f"| | {' | '.join(PRESETS)} |"
    stated = [row[1:] for row in table(block(PAGE, "presets"))]
    assert [list(cells) for cells in zip(*stated, strict=True)] == [
        column(name) for name in PRESETS
    ]


def test_the_example_of_a_config_is_one() -> None:
    own = meeting_config(read_yaml(code(PAGE, "yaml")[0].encode(), "the page"))
    assert (own.round_limits.min_rounds, own.round_limits.max_rounds) == (4, 10)
    assert own.weights == find_meeting_config("strategic").weights
    assert (
        own.rules.require_exploration_coverage.required_aspects_deep[-1]
        == "constraints"
    )


# The worked meeting


def worked_meeting() -> list[dict[str, Any]]:
    """Return the records of the evidence on the page."""
    records = []
    for number, deep, shallow, experts, messages, points in table(
        block(PAGE, "evidence")
    ):
        core, context, off_topic = map(int, messages.split())
        new, repeated = map(int, points.split())
        votes = [
            (vote.split()[0], float(vote.split()[1])) for vote in experts.split(", ")
        ]
        levels = dict.fromkeys(shallow.split(), "shallow") | dict.fromkeys(
            deep.split(), "deep"
        )
        records.append(
            record(
                int(number), levels, votes, (core, context, off_topic), (new, repeated)
            )
        )
    records[4]["user_confirmed"] = False
    return records


def test_the_worked_meeting_gives_the_stated_verdicts() -> None:
    def row(verdict: MeetingVerdict) -> list[str]:
        s = verdict.as_dict()["scores"]
        names = (
            "exploration",
            "convergence",
            "focus",
            "novelty",
            "novelty_recent",
            "completeness",
        )
        status = f"`{verdict.status}`" + (
            f", {verdict.strength}" if verdict.strength else ""
        )
        may_end = "yes" if verdict.ending_allowed else "no"
        return [
            str(verdict.round_index),
            *(f"{s[name]:g}" for name in names),
            may_end,
            f"`{verdict.rule}`",
            status,
        ]

    assert table(block(PAGE, "verdicts")) == [
        row(verdict) for verdict in score_meeting(worked_meeting())
    ]


def test_what_is_said_of_the_worked_meeting_is_so() -> None:
    verdicts = score_meeting(worked_meeting())
    said = re.findall(
        r"^\d\. (.*?)(?=^\d\. |\Z)", section(PAGE, "A worked meeting"), re.M | re.S
    )
    assert len(said) == len(verdicts)
    assert all(
        f"`{prompt}`" in said[1] for prompt in verdicts[1].next_round_focus_prompts
    )
    assert "0.6 of them must be" in said[2]
    assert "0.5 of all aspects are deep, at least 0.6 must be" in verdicts[2].reasons
    assert verdicts[2].next_round_focus_prompts == ("come back to the decision",)
    assert [verdict.ending_allowed for verdict in verdicts].index(True) == 3
    assert [verdict.strength for verdict in verdicts[4:]] == [None, "strong", "strong"]


# The loop


def answers(*records: dict[str, Any]) -> Any:
    given = iter(records)
    return lambda talk: json.dumps(next(given)) if talk else ""


def hold(
    records: list[dict[str, Any]], confirmed: bool, config: str = "default"
) -> tuple[Any, list[Any]]:
    """Run the page's loop on prepared records, and return its outcome and each round's prompts."""
    names: dict[str, Any] = {}
    exec(compile(code(PAGE, "python")[0], "DELIBERATION.md", "exec"), names)
    asked: list[Any] = []

    def discuss(number: int, prompts: Any) -> str:
        asked.append((number, tuple(prompts)))
        return "talk"

    outcome = names["hold_meeting"](
        discuss, answers(*records), lambda prompt: confirmed and bool(prompt), config
    )
    return outcome, asked


def test_the_loop_hands_prompts_on_and_ends_with_a_decision() -> None:
    unanswered = [
        {k: v for k, v in given.items() if k != "user_confirmed"}
        for given in worked_meeting()
    ]
    (outcome, verdict), asked = hold(unanswered, confirmed=True)
    assert (outcome, verdict.round_index, len(asked)) == ("decision", 5, 5)
    assert asked[0] == (1, ())
    assert asked[2] == (3, ("risks_failure_modes", "options_alternatives"))
