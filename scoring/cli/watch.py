"""``da-score watch``: scores entries while they are written."""

import click

from rubric import find_rubric
from scoring.cli.app import SCORING_OPTIONS, Number, Whole, settings_options
from scoring.cli.output import WARNINGS, reply, warn
from scoring.cli.reading import sources
from scoring.errors import DaScoreError, LogError
from scoring.jobs.watch import LogChange, LogWatch, times_to_look
from scoring.log.settings import Settings
from scoring.sidecars.provenance import sidecar_of, write_scores
from scoring.text import cell, printable
from scoring.views.gates.gate import weakest
from scoring.views.table import band_text


@click.command(epilog="Example:  da-score watch --json")
@settings_options(*SCORING_OPTIONS)
@click.option(
    "--last",
    type=Whole(0),
    default=1,
    show_default=True,
    metavar="K",
    help="Begin with the K newest ones.",
)
@click.option(
    "--interval",
    type=Number(0.05, 3600),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait between two looks.",
)
@click.option("--write", "writes", is_flag=True, help="Write the sidecar of what was scored too.")
@click.option("--once", is_flag=True, help="Look once and end.")
def command(settings: Settings, last: int, interval: float, writes: bool, once: bool) -> None:
    """Score entries as they appear or change, a line each, until it is interrupted.

    Waits for a half-written entry, and for a log that is not there yet; reports entries that are removed too. When the
    trunk moves, entries that score differently then are reported as changed. With --json every line is a JSON object,
    for a status bar.
    """
    watch = LogWatch(settings.iter_log_dir, find_rubric(settings.rubric), sources(settings))
    WARNINGS.hold_no_longer()
    warned, is_first = "", True
    for _ in times_to_look(interval):
        try:
            for seen in watch.begin(last) if is_first else watch.look():
                if writes and seen.score is not None:
                    write_scores(settings.iter_log_dir, [sidecar_of(seen.score, seen.provenance)])
                reply(settings.json, seen.as_dict(), _line(seen), indent=None)
            warned = ""
        except DaScoreError as e:  # a log that is away for a moment may come back
            if is_first and (once or not isinstance(e, LogError)):
                raise
            if (text := f"{e}; waiting for it") != warned:
                warn(text)
            warned = text
        if once:
            return
        is_first = False


def _line(seen: LogChange) -> str:
    if seen.change == "broken":
        return f"broken   {printable(seen.reason)}\n"
    head = f"{seen.change:<9}iteration {seen.iteration}"
    task = f"  {cell(seen.task_id, 60)}" if seen.task_id else ""
    if seen.score is None:
        return f"{head}{task}\n"
    value = f"{seen.score.value:.3f}" if seen.score.scored else "-"
    before = (
        f"  (was {seen.before:.3f})" if seen.before is not None and seen.change != "now" else ""
    )
    why = f"  {printable(weakest(seen.score))}" if seen.score.scored else ""
    return f"{head}{task}  {value} {printable(band_text(seen.score.band))}{before}{why}\n"
