"""``da-score check``: an exit status for a build."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from rubric import is_rubric_file
from scoring.cli.app import PATH, SCORING_OPTIONS, SHARE, selection_options, shared_options, swept
from scoring.cli.group import BROKEN
from scoring.cli.output import alike, reply, warn
from scoring.cli.reading import log_view
from scoring.errors import OptionError, SettingsError, WriteError
from scoring.evidence.rules import Sources, rules_of
from scoring.examine import LogView
from scoring.files import in_checkout, reason, refuse_special, write_atomically
from scoring.log.selection import Selection
from scoring.log.settings import Settings, cache_dir_of, resolve_settings, settings_sources
from scoring.text import counted, printable, spans
from scoring.views.gates import GATES, Verdict, check, demands
from scoring.views.gates.build_reports import junit, markdown

FAILED = 3  # the exit status of a check that found something
_KINDS: dict[str, dict[str, Any]] = {
    "flag": {"is_flag": True},
    "share": {"type": SHARE},
    "text": {},
}


def _gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed([option for gate in GATES for option in gate.options]):
        how = _KINDS[option.kind] | ({"metavar": option.metavar} if option.metavar else {})
        command = click.option(f"--{option.name}", help=option.help, **how)(command)
    return command


@click.command(epilog="Example:  da-score check --min-score 0.5 --no-over-claims")
@shared_options(*SCORING_OPTIONS)
@_gate_options
@selection_options
@click.option("--trusted", is_flag=True, help="Take only entries and git from the checkout.")
@click.option(
    "--trust-checkpoints", is_flag=True, help="With --trusted: take checkpoints in git too."
)
@click.option("--allow-empty", is_flag=True, help="A gate that finds nothing to look at holds.")
@click.option("--recompute", is_flag=True, help="Take no score from a sidecar.")
@click.option("--junit", "junit_file", type=PATH, metavar="FILE", help="Write JUnit XML too.")
@click.option(
    "--github-summary",
    is_flag=True,
    help="Append Markdown to the file that GITHUB_STEP_SUMMARY names.",
)
def command(
    options: dict[str, Any],
    selection: Selection,
    trusted: bool,
    trust_checkpoints: bool,
    allow_empty: bool,
    recompute: bool,
    junit_file: Path | None,
    github_summary: bool,
    **given: Any,
) -> int:
    """Check the scores of a log: exit 0 when all gates hold, 3 when one does not, and say which and why.

    Scores anew from the evidence that is here. A sidecar with a higher score fails; where its evidence is gone, a
    sidecar counts as it is, and is noted as unverified. Every gate looks at every iteration; --min-mean and --max-drop
    at the mean too. A gate that finds nothing to look at does not hold.

    With --trusted a pull request contributes nothing but entries and commits: settings are those of options and
    variables, transcripts those in the default folders, and the rubric is a released one.
    """
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if github_summary and not summary:
        raise SettingsError(
            "--github-summary: GITHUB_STEP_SUMMARY names no file; it is set inside a GitHub workflow"
        )
    asked = (option for gate in GATES for option in gate.options)
    if all(given[option.key] is None or given[option.key] is False for option in asked):
        raise click.UsageError(
            "nothing to check; give a gate such as --min-score 0.5 or --no-over-claims"
        )
    settings = swept(resolve_settings(options, files=not trusted))
    if trusted:
        _refuse_untrusted(settings, given)
        if (cache := cache_dir_of(settings)) and in_checkout(cache, settings.repo_dir):
            settings = replace(settings, no_cache=True)
    elif trust_checkpoints:
        raise OptionError(
            "--trust-checkpoints goes with --trusted; without it checkpoints count anyway"
        )
    view = log_view(settings, recompute or trusted, selection)
    if trusted:
        view = replace(
            view, options={**view.options, "trusted": True, "checkpoints": trust_checkpoints}
        )
        if view.rubric.claims_vote:
            warn(
                f"rubric {view.rubric.version} lets an author's own claims vote; --rubric 3.1.0 does not"
            )
    verdict = check(view.examine(), demands(given, view), selection.last, allow_empty)
    log = str(settings.iter_log_dir)
    origins = {
        "settings": settings_sources(options, settings.repo_dir, files=not trusted),
        "transcripts": _transcripts(view),
    }
    if junit_file is not None:
        write_atomically(junit_file, junit(verdict, log), mode=0o644)
    if github_summary and summary:
        _append(Path(summary), markdown(verdict, log))
    if not verdict.iterations:
        why = (
            "holds no iterations"
            if selection == Selection()
            else "none of its iterations is chosen"
        )
        warn(f"{log}: {why}, so there was nothing to check")
    reply(
        settings.json,
        {"iter_log_dir": log, "origins": origins, **verdict.as_dict()},
        _text(verdict, log, origins),
    )
    return 0 if verdict.passed else FAILED


def _refuse_untrusted(settings: Settings, given: dict[str, Any]) -> None:
    """Raise OptionError where something is asked for that --trusted does not take."""
    if settings.transcript_dirs:
        raise OptionError(
            "--trusted takes transcripts from the default folders alone; leave out --transcript-dir"
        )
    log, repository = settings.iter_log_dir, settings.repo_dir
    if in_checkout(log, repository) and not in_checkout(os.path.realpath(log), repository):
        raise OptionError(
            f"--trusted takes no log behind a link of the checkout: {log} is outside of it"
        )
    if is_rubric_file(settings.rubric):
        raise OptionError(f"--trusted takes a released rubric; {settings.rubric} is a file")
    if given["no_stale"] or given["require_verified"]:
        raise OptionError("--trusted takes no sidecar; leave out --no-stale and --require-verified")


def _transcripts(view: LogView) -> list[str]:
    sources = Sources.under(
        rules_of(view.rubric), view.repo_dir, view.transcript_dirs, view.options
    )
    found = [*map(str, sources.places.directories), *["the default folders"] * sources.places.auto]
    return [
        *found,
        *["checkpoints in git"] * (sources.rules.as_observed and sources.places.checkpoints),
    ]


def _text(verdict: Verdict, log: str, origins: Mapping[str, Sequence[str]]) -> str:
    lines = []
    for failure in verdict.failures:
        where = "all iterations" if failure.iteration is None else f"iteration {failure.iteration}"
        lines.append(f"FAIL  {where}: {failure.gate}: {printable(failure.reason)}\n")
    notes: dict[str, list[tuple[int, str]]] = {}
    for one in verdict.iterations:
        for note in one.notes:
            notes.setdefault(alike(note), []).append((one.iteration, note))
    for said in notes.values():
        more = len({note for _, note in said}) - 1
        like = f" (and {more} more like it; --json has each)" if more else ""
        where = spans(sorted({n for n, _ in said}))
        lines.append(
            f"note  iteration{'s' if len(said) > 1 else ''} {where}: {printable(said[0][1])}{like}\n"
        )
    count, mean = (
        len(verdict.iterations),
        "no score" if verdict.mean is None else f"mean score {verdict.mean:.3f}",
    )
    failed = sum(bool(one.failures) for one in verdict.iterations)
    head = "passed" if verdict.passed else "failed"
    left_out = len(click.get_current_context().meta.get(BROKEN, {}))
    why = f"; exit 1: {counted(left_out, 'entry', 'entries')} cannot be read" if left_out else ""
    froms = "".join(
        f"; {what} from {printable(', '.join(names)) or 'no file'}"
        for what, names in origins.items()
    )
    whole = ", the log as a whole does not" if verdict.whole else ""
    held = f"{count - failed} of {count} iterations hold{whole}, {mean}{why}"
    lines.append(f"check {head}: {held}   Source: {printable(log)}{froms}\n")
    return "".join(lines)


def _append(path: Path, text: str) -> None:
    """Append in one write, so that nothing of another step comes between."""
    try:
        if path.exists():
            refuse_special(path)
        with open(
            path,
            "ab",
            buffering=0,
            opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK, 0o666),
        ) as f:
            f.write(text.encode("utf-8", "replace"))
    except OSError as e:
        raise WriteError(f"{path}: cannot append: {reason(e)}") from e
