"""``da-score check``: an exit status for a build."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from scoring.cli.app import BROKEN, PATH, SCORING_OPTIONS, SHARE, selection_options, settings_options
from scoring.cli.output import reply, warn
from scoring.cli.reading import log_view
from scoring.errors import SettingsError, WriteError
from scoring.files import reason, refuse_special, remove_stale, write_atomically
from scoring.log.find import Selection
from scoring.log.settings import Settings
from scoring.text import counted, printable, spans
from scoring.views.gates import GATES, Verdict, check, demands, junit, markdown

FAILED = 3  # the exit status of a check that found something


def _gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed([option for gate in GATES for option in gate.options]):
        if option.kind == "flag":
            add = click.option(f"--{option.name}", is_flag=True, help=option.help)
        else:
            kind = SHARE if option.kind == "share" else click.STRING
            add = click.option(f"--{option.name}", type=kind, metavar=option.metavar, help=option.help)
        command = add(command)
    return command


@click.command(epilog="Example:  da-score check --min-score 0.5 --no-over-claims")
@settings_options(*SCORING_OPTIONS)
@_gate_options
@selection_options
@click.option("--recompute", is_flag=True, help="Take no score from a sidecar.")
@click.option("--junit", "junit_file", type=PATH, metavar="FILE", help="Write JUnit XML too.")
@click.option("--github-summary", is_flag=True, help="Append Markdown to the file that GITHUB_STEP_SUMMARY names.")
def command(
    settings: Settings,
    selection: Selection,
    recompute: bool,
    junit_file: Path | None,
    github_summary: bool,
    **given: Any,
) -> int:
    """Check the scores of a log: exit 0 when all gates hold, 3 when one does not, and say which and why.

    Scores anew from the evidence that is here. A sidecar that says more fails; one whose evidence is gone counts as it
    is, and is noted as unverified. Every gate looks at every iteration; --min-mean and --max-drop at the mean too.
    """
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if github_summary and not summary:
        raise SettingsError("--github-summary: GITHUB_STEP_SUMMARY names no file; it is set inside a GitHub workflow")
    options = (option for gate in GATES for option in gate.options)
    if all(given[option.key] is None or given[option.key] is False for option in options):
        raise click.UsageError(
            "nothing to check; give a gate such as --min-score 0.5, --min-band fair or --no-over-claims"
        )
    view = log_view(settings, recompute, selection)
    verdict = check(view.examine(), demands(given, view), selection.last)
    log = str(settings.iter_log_dir)
    if junit_file is not None:
        remove_stale(junit_file.parent)
        write_atomically(junit_file, junit(verdict, log), mode=0o644)
    if github_summary and summary:
        _append(Path(summary), markdown(verdict, log))
    if not verdict.iterations:
        warn(f"{log}: holds no iterations, so there was nothing to check")
    reply(settings.json, {"iter_log_dir": log, **verdict.as_dict()}, _text(verdict, log))
    return 0 if verdict.passed else FAILED


def _text(verdict: Verdict, log: str) -> str:
    lines = []
    for failure in verdict.failures:
        where = "all iterations" if failure.iteration is None else f"iteration {failure.iteration}"
        lines.append(f"FAIL  {where}: {failure.gate}: {printable(failure.reason)}\n")
    notes: dict[str, list[int]] = {}
    for one in verdict.iterations:
        for note in one.notes:
            notes.setdefault(note, []).append(one.iteration)
    lines += [f"note  iteration {spans(iterations)}: {printable(note)}\n" for note, iterations in notes.items()]
    count, mean = len(verdict.iterations), "no score" if verdict.mean is None else f"mean score {verdict.mean:.3f}"
    failed = sum(bool(one.failures) for one in verdict.iterations)
    head = "passed" if verdict.passed else "failed"
    left_out = len(click.get_current_context().meta.get(BROKEN, {}))
    why = f"; exit 1: {counted(left_out, 'entry', 'entries')} cannot be read" if left_out else ""
    lines.append(f"check {head}: {count - failed} of {count} iterations hold, {mean}{why}   Source: {printable(log)}\n")
    return "".join(lines)


def _append(path: Path, text: str) -> None:
    """Append in one write, so that nothing of another step comes between."""
    try:
        if path.exists():
            refuse_special(path)
        with open(path, "ab", buffering=0, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK, 0o666)) as f:
            f.write(text.encode("utf-8", "replace"))
    except OSError as e:
        raise WriteError(f"{path}: cannot append: {reason(e)}") from e
