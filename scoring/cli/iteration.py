"""``da-score iteration N``: the breakdown of one iteration."""

from typing import Any

import click

from rubric import is_rubric_file
from scoring.cli.app import SCORING_OPTIONS, shared_options
from scoring.cli.completion import complete_iterations
from scoring.cli.output import WARNINGS, copied, drawn_for, write_bytes
from scoring.errors import InputError
from scoring.files import read_file
from scoring.jobs.unchanged import Unchanged
from scoring.log.settings import Settings, cache_dir_of, resolve_settings


@click.command(epilog="Example:  da-score iteration 3 --recompute")
@click.argument("iteration", type=int, shell_complete=complete_iterations)
@shared_options(*SCORING_OPTIONS)
@click.option("--recompute", is_flag=True, help="Score the iteration again, write its sidecar, and show it.")
def command(iteration: int, options: dict[str, Any], recompute: bool) -> None:
    """Show how the score of one iteration came about.

    Reads the iteration's sidecar, and says whether it is what the evidence gives that is here. Where there is none, or
    with --recompute, scores the iteration and brings its session's sidecar up to date.
    """
    settings, warnings = resolve_settings(options), WARNINGS.count
    unchanged = _question(settings, iteration, recompute, follow=not options["rubric"])
    if answer := unchanged.answer():
        for piece in answer:
            write_bytes(piece)
        return
    from scoring.cli.iteration_shown import show_iteration  # an answer that is kept needs nothing of it

    with copied(unchanged.take):
        folders = show_iteration(settings, iteration, recompute, not options["rubric"], unchanged)
    if folders is not None and WARNINGS.count == warnings:
        unchanged.keep(folders)


def _question(settings: Settings, iteration: int, recompute: bool, follow: bool) -> Unchanged:
    """Return the question; to ``follow`` is to look at a sidecar under its own rubric."""
    cache_dir = None if recompute else cache_dir_of(settings)
    asked = settings, follow, drawn_for(), _rubric_file(settings.rubric)
    kind = f"iteration {settings.json}"
    return Unchanged(cache_dir, kind, asked, settings.iter_log_dir, settings.repo_dir, iteration)


def _rubric_file(name: str) -> bytes | None:
    """Return what a rubric file says that the settings name; None where they name a released one."""
    try:
        return read_file(name) if is_rubric_file(name) else None
    except (FileNotFoundError, InputError):  # whoever looks for the rubric will say so
        return b""
