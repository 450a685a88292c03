"""``da-score run``: score the whole log."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rubric import find_rubric
from scoring.cli.app import SCORING_OPTIONS, selection_options, settings_options
from scoring.cli.output import (
    json_item,
    on_terminal,
    say,
    show,
    warn,
    write_json_in_parts,
)
from scoring.cli.reading import broken_entries, sources
from scoring.log.settings import Settings

if TYPE_CHECKING:
    from scoring.jobs.whole_log import WholeLog
    from scoring.log.selection import Selection


@click.command(epilog="Example:  da-score run --last 5")
@settings_options(*SCORING_OPTIONS)
@selection_options
@click.option("--no-write", is_flag=True, help="Print the scores and write no sidecar.")
def command(settings: Settings, selection: "Selection", no_write: bool) -> None:
    """Score every iteration and session of a log.

    Writes iter-N.score.yaml and session-ID.score.yaml beside the entries and prints a summary. --last, --since and
    --task choose what is printed; the whole log is scored and written all the same.
    """
    log_dir, evidence, rubric = settings.iter_log_dir, sources(settings), find_rubric(settings.rubric)
    with evidence.transcripts().start() as scan:
        # Transcripts are being read already, in processes of their own; the scorer is loaded meanwhile.
        from scoring.jobs.whole_log import WholeLog

        log = WholeLog(scan, log_dir, evidence, rubric, selection, observe=settings.json)
        broken_entries(*log.broken)
        first = not settings.json and not _has_scores(log_dir)
        _tell(log, log_dir, settings, no_write)
    if first and log.written and log.lines:
        from scoring.views.score_pages import next_steps

        show(next_steps(log))


def _tell(log: "WholeLog", log_dir: Path, settings: Settings, no_write: bool) -> None:
    """Score a log, and write and print what was asked for."""
    from scoring.views.score_pages import pointer, run_item, run_page, run_parts
    from scoring.views.session_pages import session_payload

    if settings.json:
        items = log.iterations(not no_write, lambda one: json_item(run_item(one)), warn)
        sessions = log.of_sessions(lambda session, members: json_item(session_payload(session, members)))
        write_json_in_parts(run_parts(log, items, sessions))
        return
    for _ in log.iterations(not no_write, lambda _: None, warn):  # of each a line is left
        pass
    if not log.lines:
        say(f"score: no iterations found in {log_dir}\n")
        return
    show(run_page(log, log_dir, log.written, on_terminal()))
    show(pointer(log, bool(settings.transcript_dirs)))


def _has_scores(log_dir: Path) -> bool:
    """Return whether anything in a log was scored before."""
    from scoring.files import list_names
    from scoring.sidecars.scores import is_iteration_score_name

    return any(map(is_iteration_score_name, list_names(log_dir)))
