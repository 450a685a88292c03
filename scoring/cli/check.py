"""``da-score check``: an exit status for a build."""

import os
from pathlib import Path
from typing import Any

import click

from scoring.cli.app import SCORING_OPTIONS, SHARE, settings_options
from scoring.cli.output import warn, write, write_json
from scoring.errors import SettingsError, WriteError
from scoring.log.settings import Settings
from scoring.text import printable

FAILED = 3
"""The exit status of a check that found something."""


@click.command(epilog="Example:  da-score check --min-score 0.5 --max-drop 0.1 --baseline origin/main")
@settings_options(*SCORING_OPTIONS)
@click.option("--min-score", type=SHARE, metavar="X", help="Every score is at least X.")
@click.option("--min-band", metavar="BAND", help="Every score has at least this band.")
@click.option("--min-mean", type=SHARE, metavar="X", help="The mean of the scores is at least X.")
@click.option(
    "--max-drop",
    type=SHARE,
    metavar="D",
    help="No score, nor their mean, is more than D below the baseline.",
)
@click.option(
    "--baseline", metavar="FILE|REV", help="What 'run --json' printed earlier, or a revision that has the sidecars."
)
@click.option("--last", type=click.IntRange(1), metavar="K", help="Check the K newest iterations only.")
@click.option("--no-over-claims", is_flag=True, help="Nobody claims more than was observed.")
@click.option("--no-unscored", is_flag=True, help="Every iteration has a score.")
@click.option("--recompute", is_flag=True, help="Take no score from a sidecar.")
@click.option("--junit", "junit_file", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML too.")
@click.option("--github-summary", is_flag=True, help="Append Markdown to the file that GITHUB_STEP_SUMMARY names.")
def command(
    settings: Settings,
    baseline: str | None,
    last: int | None,
    recompute: bool,
    junit_file: Path | None,
    github_summary: bool,
    **demands: Any,
) -> None:
    """Hold the scores of a log against gates: exit 0 when all hold, 3 when one does not, and say which and why.

    Scores are those of the sidecars; an iteration that has none is scored in memory. Every gate looks at every
    iteration; --min-mean and --max-drop look at the mean too.
    """
    from scoring.cli.views import log_view
    from scoring.views.baseline import find_baseline
    from scoring.views.gates import Gates, check

    summary = _summary_file() if github_summary else None
    if (demands["max_drop"] is None) != (baseline is None):
        raise SettingsError("--max-drop and --baseline go together: give both or none")
    view = log_view(settings, recompute, last)
    found = find_baseline(baseline, settings.iter_log_dir, settings.repo_dir) if baseline else None
    gates = Gates(baseline=found, last=last, **demands)
    if not gates:
        raise SettingsError(
            "nothing to check; give a gate such as --min-score 0.5, --min-band fair or --no-over-claims"
        )
    verdict = check(view.examine(), gates, view.rubric)
    log = str(settings.iter_log_dir)
    if junit_file is not None:
        from scoring.files import write_atomically
        from scoring.views.gate_reports import junit

        write_atomically(junit_file, junit(verdict, log), mode=0o644)
    if summary is not None:
        from scoring.views.gate_reports import markdown

        _append(summary, markdown(verdict, log))
    if not verdict.iterations:
        warn(f"{log}: holds no iterations, so there was nothing to check")
    if settings.json:
        write_json({"iter_log_dir": log, **verdict.as_dict()})
    else:
        write(_text(verdict, log))
    if not verdict.passed:
        click.get_current_context().exit(FAILED)


def _text(verdict: Any, log: str) -> str:
    lines = []
    for failure in verdict.failures:
        where = "all iterations" if failure.iteration is None else f"iteration {failure.iteration}"
        lines.append(f"FAIL  {where}: {failure.gate}: {printable(failure.reason)}\n")
    notes: dict[str, list[int]] = {}
    for one in verdict.iterations:
        for note in one.notes:
            notes.setdefault(note, []).append(one.iteration)
    from scoring.text import spans

    lines += [f"note  iteration {spans(iterations)}: {printable(note)}\n" for note, iterations in notes.items()]
    count, mean = len(verdict.iterations), "no score" if verdict.mean is None else f"mean score {verdict.mean:.3f}"
    failed = sum(bool(one.failures) for one in verdict.iterations)
    head = "passed" if verdict.passed else "failed"
    lines.append(f"check {head}: {count - failed} of {count} iterations hold, {mean}   Source: {printable(log)}\n")
    return "".join(lines)


def _summary_file() -> Path:
    name = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if not name:
        raise SettingsError("--github-summary: GITHUB_STEP_SUMMARY names no file; it is set inside a GitHub workflow")
    return Path(name)


def _append(path: Path, text: str) -> None:
    """Append in one write, so that nothing of another step comes between."""
    try:
        with path.open("ab", buffering=0) as f:
            f.write(text.encode("utf-8", "replace"))
    except OSError as e:
        raise WriteError(f"{path}: cannot append: {(e.strerror or str(e)).lower()}") from e
