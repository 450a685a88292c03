"""``da-score records``: the normalised records of a log."""

import click

from scoring.cli.app import LOG_OPTIONS, settings_options
from scoring.cli.output import write_json
from scoring.log.load import load_iteration_log
from scoring.log.settings import Settings


@click.command(epilog="Example:  da-score records --iter-log-dir .agents/active/iteration-log")
@settings_options(*LOG_OPTIONS)
def command(settings: Settings) -> None:
    """Print the records of a log as JSON, both schemas in one shape."""
    write_json([record.as_dict() for record in load_iteration_log(settings.iter_log_dir)])
