"""``da-score integrity``: what agents claimed against what was observed."""

import click

from scoring.assemble import build_signal_sets
from scoring.cli.app import EVIDENCE_OPTIONS, settings_options
from scoring.cli.output import on_terminal, write, write_json
from scoring.cli.reading import reading
from scoring.integrity import summarize_integrity
from scoring.settings import Settings


@click.command(epilog="Example:  da-score integrity --json")
@settings_options(*EVIDENCE_OPTIONS)
def command(settings: Settings) -> None:
    """Show claimed against observed over the whole log, per role and signal."""
    log_dir = settings.iter_log_dir
    sets = build_signal_sets(log_dir, settings.repo_dir, *settings.transcript_dirs, meter="unread", **reading(settings))
    rows = summarize_integrity(sets)
    if settings.json:
        write_json({"pairs": [row.as_dict() for row in rows]})
    elif on_terminal():
        from scoring.cli.screen import show_integrity

        show_integrity(rows, log_dir)
    else:
        from scoring.cli.tables import integrity_text

        write(integrity_text(rows, log_dir))
