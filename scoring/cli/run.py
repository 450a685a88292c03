"""``da-score run``: score the whole log."""

import contextlib
from tempfile import SpooledTemporaryFile

import click

from rubric import find_rubric
from scoring.cli.app import SCORING_OPTIONS, selection_options, settings_options
from scoring.cli.output import on_terminal, put_item, say, show, write_json_around
from scoring.cli.reading import broken_entries, sources
from scoring.errors import InputError
from scoring.files import list_names
from scoring.log.find import Selection
from scoring.log.settings import Settings
from scoring.score import ScoredIteration, score_whole_log
from scoring.sidecars.provenance import Loss
from scoring.sidecars.scores import is_iteration_score_name
from scoring.views.score_pages import next_steps, pointer, run_item, run_page, run_payload

_IN_MEMORY = 8 << 20  # how many bytes of JSON wait in memory; more of them wait in a temporary file


@click.command(epilog="Example:  da-score run --last 5")
@settings_options(*SCORING_OPTIONS)
@selection_options
@click.option("--no-write", is_flag=True, help="Print the scores and write no sidecar.")
def command(settings: Settings, selection: Selection, no_write: bool) -> None:
    """Score every iteration and session of a log.

    Writes iter-N.score.yaml and session-ID.score.yaml beside the entries and prints a summary. --last, --since and
    --task choose what is printed; the whole log is scored and written all the same.
    """
    log_dir, evidence, rubric = settings.iter_log_dir, sources(settings), find_rubric(settings.rubric)
    had_scores = False
    with contextlib.suppress(InputError):  # loading the log says why
        had_scores = any(map(is_iteration_score_name, list_names(log_dir)))
    with SpooledTemporaryFile(_IN_MEMORY) as items:

        def add_item(one: ScoredIteration, lost: tuple[Loss, ...]) -> None:
            put_item(items, run_item(one, lost))

        show_one, write = add_item if settings.json else None, not no_write
        log = score_whole_log(
            log_dir, evidence, rubric, selection, show_one, write, observe=settings.json, broken=broken_entries
        )
        if settings.json:
            write_json_around(run_payload(log), "iterations", items)
            return
    if not log.lines:
        say(f"score: no iterations found in {log_dir}\n")
        return
    show(run_page(log, log_dir, log.written, on_terminal()))
    show(pointer(log, bool(settings.transcript_dirs)))
    if log.written and not had_scores:
        show(next_steps(log))
