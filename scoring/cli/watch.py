"""``da-score watch``: scores entries while they are written."""

import click

from rubric import find_rubric
from scoring.cli.app import SCORING_OPTIONS, Number, Whole, settings_options
from scoring.cli.output import WARNINGS, say, warn, write_json
from scoring.cli.reading import options
from scoring.errors import DaScoreError, LogError
from scoring.jobs.watch import LogWatch, Seen, times_to_look
from scoring.log.settings import Settings
from scoring.sidecars.provenance import sidecar_of, write_scores
from scoring.text import cell, printable
from scoring.views.gates.gate import weakest
from scoring.views.table import band_text


@click.command(epilog="Example:  da-score watch --json")
@settings_options(*SCORING_OPTIONS)
@click.option("--last", type=Whole(0), default=1, show_default=True, metavar="K", help="Begin with the K newest ones.")
@click.option(
    "--interval",
    type=Number(0.05, 3600),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait between two looks where the system announces no changes.",
)
@click.option("--write", "writes", is_flag=True, help="Write the sidecar of what was scored too.")
@click.option("--once", is_flag=True, help="Look once and end.")
def command(settings: Settings, last: int, interval: float, writes: bool, once: bool) -> None:
    """Score entries as they appear or change, a line each, until it is interrupted.

    Waits for a half-written entry, and for a log that is not there yet; reports entries that are removed too. When the
    trunk moves, entries that score differently then are reported as changed. With --json every line is a JSON object,
    for a status bar.
    """
    log = settings.iter_log_dir
    watch = LogWatch(
        log, settings.repo_dir, settings.transcript_dirs, find_rubric(settings.rubric), **options(settings)
    )
    WARNINGS.hold_no_longer()
    warned = ""

    def show(found: list[Seen]) -> None:
        for seen in found:
            if writes and seen.score is not None:
                write_scores(log, [sidecar_of(seen.score, seen.provenance)])
            if settings.json:
                write_json(seen.as_dict(), indent=None)
            else:
                say(_line(seen))

    def wait_after(error: DaScoreError) -> str:
        if warned != (text := f"{error}; waiting for it"):
            warn(text)
        return text

    try:
        show(watch.begin(last))
    except LogError as e:
        if once:
            raise
        warned = wait_after(e)
    if once:
        return
    for _ in times_to_look(interval, lambda: watch.places, lambda: watch.restless, watch.matters):
        try:
            show(watch.look())
            warned = ""
        except DaScoreError as e:  # a log that is away for a moment may come back
            warned = wait_after(e)


def _line(seen: Seen) -> str:
    if seen.change == "broken":
        return f"broken   {printable(seen.reason)}\n"
    head = f"{seen.change:<9}iteration {seen.iteration}"
    task = f"  {cell(seen.task_id, 60)}" if seen.task_id else ""
    if seen.score is None:
        return f"{head}{task}\n"
    value = f"{seen.score.value:.3f}" if seen.score.scored else "-"
    before = f"  (was {seen.before:.3f})" if seen.before is not None and seen.change != "now" else ""
    why = f"  {printable(weakest(seen.score))}" if seen.score.scored else ""
    return f"{head}{task}  {value} {printable(band_text(seen.score.band))}{before}{why}\n"
