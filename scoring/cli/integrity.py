"""``da-score integrity``: what agents claimed against what was observed."""

import click

from scoring.cli.app import SCORING_OPTIONS, selection_options, settings_options
from scoring.cli.output import reply
from scoring.cli.reading import log_view
from scoring.log.find import Selection
from scoring.log.settings import Settings
from scoring.views.integrity import integrity_page, summarize_integrity


@click.command(epilog="Example:  da-score integrity --json")
@settings_options(*SCORING_OPTIONS)
@selection_options
def command(settings: Settings, selection: Selection) -> None:
    """Show claimed against observed over the whole log, per role and signal.

    Weights and bands have no part in it; --rubric only says under which rules evidence is read.
    """
    examined = log_view(settings, recompute=True, selection=selection).examine()
    rows = summarize_integrity(one.signals for one in examined)
    reply(settings.json, {"pairs": [row.as_dict() for row in rows]}, integrity_page(rows, settings.iter_log_dir))
