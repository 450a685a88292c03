"""``da-score watch``: score entries while they are written."""

from scoring.errors import DaScoreError, LogError
from scoring.jobs.watch import LogChange, LogWatch, times_to_look
from scoring.log.settings import Settings
from scoring.sidecars.writing import sidecar_of, write_scores
from scoring.text import cell, printable
from scoring.views.gates.gate import weakest

from .options import (
    SCORING_OPTIONS,
    Number,
    Whole,
    flag,
    settings_command,
    valued,
)
from .output import WARNINGS, reply, warn
from .reading import rubric_of, sources
from .work_reading import score_words

_TASK_WIDTH = 60


@settings_command(*SCORING_OPTIONS)
@valued(
    "--last",
    "K",
    "Begin with the K newest iterations.",
    type=Whole(0),
    default=1,
)
@valued(
    "--interval",
    "SECONDS",
    "How long to wait between two looks at the log.",
    type=Number(0.05, 3600),
    default=1.0,
)
@flag("--write", "Write the sidecars of what is scored.", key="writes")
@flag("--once", "Look once, then end.")
def command(
    settings: Settings,
    last: int,
    interval: float,
    writes: bool,
    once: bool,
) -> None:
    """Score entries as they appear or change, one line each, until interrupted.

    Waits for half-written entries, and for a log that is not there yet. Also reports entries that
    are removed, and those that score differently after the trunk moves. With --json every line is
    a JSON object, for a status bar.

    Example:  da-score watch --json
    """
    watch = LogWatch(
        settings.iter_log_dir, rubric_of(settings), sources(settings), last
    )
    WARNINGS.hold_no_longer()

    is_first_look = True
    last_warning = ""
    for _ in times_to_look(interval):
        try:
            for change in watch.look():
                if writes and change.score is not None:
                    sidecar = sidecar_of(change.score, change.provenance)
                    write_scores(settings.iter_log_dir, [sidecar])
                reply(settings, change.as_dict(), _line(change, settings), indent=0)
            last_warning = ""
        except DaScoreError as e:
            may_come_back = isinstance(e, LogError)
            if is_first_look and (once or not may_come_back):
                raise

            warning = f"{e}; waiting for it"
            if warning != last_warning:
                warn(warning)
            last_warning = warning

        if once:
            return
        is_first_look = False


def _line(change: LogChange, settings: Settings) -> str:
    """Return a change of a log as a line: what happened, the score, and its weakest signal."""
    if change.change == "broken":
        return f"broken   {printable(change.reason)}\n"

    line = f"{change.change:<9}iteration {change.iteration}"
    if change.task_id:
        line += f"  {cell(change.task_id, _TASK_WIDTH)}"
    if change.score is None:
        return line + "\n"

    value = f"{change.score.value:.3f}" if change.score.scored else "-"
    words = score_words(settings, change.score.rubric_version, change.score.band)
    if words.name != "score":
        value = f"{words.name} {value}"
    line += f"  {value}"
    if words.band:
        line += f" {printable(words.band)}"
    if change.before is not None and change.change != "now":
        line += f"  (was {change.before:.3f})"
    if change.score.scored:
        line += f"  {printable(weakest(change.score))}"
    return line + "\n"
