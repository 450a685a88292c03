"""``da-score outcomes``: what became of the work of each iteration."""

from dataclasses import replace
from typing import Any

import click

from scoring.cli.app import EVIDENCE_OPTIONS, OUTCOME_OPTIONS, settings_options
from scoring.cli.output import reply
from scoring.cli.reading import broken_entries, outcome_rules, sources
from scoring.evidence.rewards import rewards
from scoring.evidence.rules import ATTRIBUTED
from scoring.examine import subjects_by_iteration
from scoring.log.load import load_iteration_log
from scoring.log.settings import Settings, cache_dir_of
from scoring.outcomes.ledger import ledger
from scoring.outcomes.outcome import log_outcomes
from scoring.views.outcome_pages import outcomes_page


@click.command(epilog="Example:  da-score outcomes --horizon 4w")
@settings_options(*EVIDENCE_OPTIONS, *OUTCOME_OPTIONS)
def command(settings: Settings) -> None:
    """Say what became of the work of each iteration within the horizon.

    Says how many lines of code it added, how many of them later commits of the trunk changed or removed, how many of
    these in a fix, and whether it was reverted; --json also says how many of the lines that the agent wrote landed.
    Outcomes never vote. Writes nothing.
    """
    rules = outcome_rules(settings)
    records = load_iteration_log(settings.iter_log_dir, broken=broken_entries)
    found = log_outcomes(records, settings.repo_dir, rules, cache_dir_of(settings), settings.trunk)
    if settings.json:
        units = ledger(records, settings.iter_log_dir, sources(settings, ATTRIBUTED), rules).units
        of_lines = "lines_written", "lines_landed", "landed_share"
        lines: Any = {
            unit.iteration: {name: getattr(unit, name) for name in of_lines} for unit in units
        }
        graded = rewards(records, settings.iter_log_dir, settings.repo_dir)
        found = [
            replace(o, **lines.get(o.iteration, {}), reward=graded.get(o.iteration)) for o in found
        ]
    commits = {one.iteration: one.commit for one in found}
    works = [(one, commits.get(one.iteration) or one.commit) for one in records]
    subjects = subjects_by_iteration(settings.repo_dir, works)
    page = outcomes_page(found, records, subjects, rules.horizon_days)
    data = [one.as_dict() | {"subject": subjects[one.iteration] or None} for one in found]
    reply(settings.json, {"horizon_days": rules.horizon_days, "outcomes": data}, page)
