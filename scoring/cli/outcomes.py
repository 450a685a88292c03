"""``da-score outcomes``: what became of the work of each iteration."""

from collections.abc import Sequence
from typing import Any

import click
from msgspec.structs import replace

from scoring.cli.options import EVIDENCE_OPTIONS, OUTCOME_OPTIONS, settings_options
from scoring.cli.output import reply
from scoring.cli.reading import outcome_rules, sources, warn_of_broken_entry
from scoring.evidence.rewards import rewards
from scoring.evidence.rules import ATTRIBUTED
from scoring.examine import subjects_by_iteration
from scoring.log.load import load_iteration_log
from scoring.log.model import IterationRecord
from scoring.log.settings import Settings, cache_dir_of
from scoring.outcomes.ledger import ledger
from scoring.outcomes.outcome import Outcome, log_outcomes
from scoring.outcomes.outcome_rules import OutcomeRules
from scoring.views.outcome_pages import outcomes_page


@click.command(epilog="Example:  da-score outcomes --horizon 4w")
@settings_options(*EVIDENCE_OPTIONS, *OUTCOME_OPTIONS)
def command(settings: Settings) -> None:
    """Say what became of the work of each iteration within the horizon.

    Says how many lines of code it added, how many of these later commits of the trunk changed or
    removed, how many of them in a fix, and whether the work was reverted. --json also says how
    many of the lines that the agent wrote landed. Outcomes never vote. Writes nothing.
    """
    rules = outcome_rules(settings)
    records = load_iteration_log(settings.iter_log_dir, broken=warn_of_broken_entry)
    outcomes = log_outcomes(
        records, settings.repo_dir, rules, cache_dir_of(settings), settings.trunk
    )
    if settings.json:
        outcomes = _with_lines_and_rewards(outcomes, records, settings, rules)

    commits = {outcome.iteration: outcome.commit for outcome in outcomes}
    works = [(record, commits.get(record.iteration) or record.commit) for record in records]
    subjects = subjects_by_iteration(settings.repo_dir, works)

    rows = []
    for outcome in outcomes:
        rows.append(outcome.as_dict() | {"subject": subjects[outcome.iteration] or None})
    page = outcomes_page(outcomes, records, subjects, rules.horizon_days)
    reply(settings.json, {"horizon_days": rules.horizon_days, "outcomes": rows}, page)


def _with_lines_and_rewards(
    outcomes: Sequence[Outcome],
    records: Sequence[IterationRecord],
    settings: Settings,
    rules: OutcomeRules,
) -> list[Outcome]:
    """Return outcomes with how many written lines landed, and with the rewards of graded runs."""
    book = ledger(records, settings.iter_log_dir, sources(settings, ATTRIBUTED), rules)
    units = {unit.iteration: unit for unit in book.units}
    reward_by_iteration = rewards(records, settings.iter_log_dir, settings.repo_dir)

    completed = []
    for outcome in outcomes:
        additions: dict[str, Any] = {"reward": reward_by_iteration.get(outcome.iteration)}
        if unit := units.get(outcome.iteration):
            additions["lines_written"] = unit.lines_written
            additions["lines_landed"] = unit.lines_landed
            additions["landed_share"] = unit.landed_share
        completed.append(replace(outcome, **additions))
    return completed
