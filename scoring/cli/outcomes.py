"""``da-score outcomes``: what became of the work of each iteration."""

import click

from scoring.cli.app import LOG_OPTIONS, OUTCOME_OPTIONS, settings_options
from scoring.cli.output import reply
from scoring.cli.reading import broken_entries, outcome_rules
from scoring.log.load import load_iteration_log
from scoring.log.settings import Settings, cache_dir_of
from scoring.outcomes.outcome import log_outcomes
from scoring.views.outcome_pages import outcomes_page


@click.command(epilog="Example:  da-score outcomes --horizon 4w")
@settings_options(*LOG_OPTIONS, "trunk", *OUTCOME_OPTIONS, "cache-dir", "no-cache")
def command(settings: Settings) -> None:
    """Say what became of the work of each iteration within the horizon, going by git alone.

    How many lines of code it added, how many of them later commits of the trunk changed or removed, how many of these
    in a fix, and whether it was reverted. Outcomes never vote. Writes nothing.
    """
    rules = outcome_rules(settings)
    records = load_iteration_log(settings.iter_log_dir, broken=broken_entries)
    found = log_outcomes(records, settings.repo_dir, rules, cache_dir_of(settings), settings.trunk)
    page = outcomes_page(found, rules.horizon_days)
    reply(settings.json, {"horizon_days": rules.horizon_days, "outcomes": [one.as_dict() for one in found]}, page)
