"""``da-score run``: score the whole log."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoring.cli.app import SCORING_OPTIONS, selection_options, settings_options
from scoring.cli.output import on_terminal, say, show, warn, write_json_in_parts
from scoring.cli.reading import broken_entries, cache_dir, sources
from scoring.log.settings import Settings

if TYPE_CHECKING:
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
    log_dir = settings.iter_log_dir
    evidence = sources(settings)
    with evidence.transcripts().start() as scan:
        # Transcripts are being read already, in processes of their own; the scorer is loaded meanwhile.
        from rubric import find_rubric
        from scoring.score import remember, score_log_with, with_losses, write_scored_log
        from scoring.views.score_pages import next_steps, pointer, run_page, run_parts

        (scored,) = score_log_with(
            scan, log_dir, evidence, find_rubric(settings.rubric), observe=settings.json, compare=False
        )
    broken_entries(*scored.broken)
    first, written = not _has_scores(log_dir), None
    scored = with_losses(log_dir, scored)
    if not no_write and scored.iterations:
        iterations, sessions = write_scored_log(log_dir, scored, warn)
        remember(cache_dir(settings), log_dir, settings.repo_dir, scored.rubric, *scored.iterations)
        written = len(iterations), len(sessions)
    scored = scored.of(selection)
    if settings.json:
        write_json_in_parts(run_parts(scored))
    elif not scored.iterations:
        say(f"score: no iterations found in {log_dir}\n")
    else:
        show(run_page(scored, log_dir, written, on_terminal()))
        show(pointer(scored, bool(settings.transcript_dirs)))
        if first and written is not None:
            show(next_steps(scored))


def _has_scores(log_dir: Path) -> bool:
    """Return whether anything in a log was scored before."""
    from scoring.files import list_names
    from scoring.sidecars.scores import is_iteration_score_name

    return any(map(is_iteration_score_name, list_names(log_dir)))
