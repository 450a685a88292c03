"""``da-score integrity``: what agents claimed against what was observed."""

import click

from rubric import evidence_of
from scoring.cli.app import SCORING_OPTIONS, settings_options
from scoring.cli.output import on_terminal, write, write_json
from scoring.cli.reading import options
from scoring.log.settings import Settings
from scoring.parity import build_signal_sets
from scoring.views.integrity import summarize_integrity


@click.command(epilog="Example:  da-score integrity --json")
@settings_options(*SCORING_OPTIONS)
def command(settings: Settings) -> None:
    """Show claimed against observed over the whole log, per role and signal.

    Weights and bands have no part in it; of --rubric only the rules count by which evidence is read.
    """
    log_dir = settings.iter_log_dir
    how, rules = options(settings), evidence_of(settings.rubric)
    sets = build_signal_sets(
        log_dir, settings.repo_dir, *settings.transcript_dirs, meter="unread", evidence=rules, **how
    )
    rows = summarize_integrity(sets)
    if settings.json:
        write_json({"pairs": [row.as_dict() for row in rows]})
    elif on_terminal():
        from scoring.cli.screen import show_integrity

        show_integrity(rows, log_dir)
    else:
        from scoring.cli.tables import integrity_text

        write(integrity_text(rows, log_dir))
