"""``da-score integrity``: what agents claimed against what was observed."""

import click

from rubric import evidence_of
from scoring.cli.app import SCORING_OPTIONS, settings_options
from scoring.cli.output import show, write_json
from scoring.cli.reading import options
from scoring.log.settings import Settings
from scoring.parity import build_signal_sets
from scoring.views.integrity import integrity_page, integrity_table, summarize_integrity


@click.command(epilog="Example:  da-score integrity --json")
@settings_options(*SCORING_OPTIONS)
def command(settings: Settings) -> None:
    """Show claimed against observed over the whole log, per role and signal.

    Weights and bands have no part in it; --rubric only says under which rules evidence is read.
    """
    log_dir = settings.iter_log_dir
    how, rules = options(settings), evidence_of(settings.rubric)
    sets = build_signal_sets(
        log_dir, settings.repo_dir, *settings.transcript_dirs, meter="unread", evidence=rules, **how
    )
    rows = summarize_integrity(sets)
    if settings.json:
        write_json({"pairs": integrity_table(rows).as_json()})
    else:
        show(integrity_page(rows, log_dir))
