"""``da-score doctor``: what is found to score from, what is not, and what to do about it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from rubric import RubricError, default_rubric, find_rubric
from scoring.cli.app import SCORING_OPTIONS, shared_options
from scoring.cli.output import reply
from scoring.cli.reading import sources
from scoring.errors import InputError, SettingsError
from scoring.evidence.rules import rules_of
from scoring.jobs.hook_install import HOOKS, hook_settings, hooks_that_do_not_run
from scoring.log.settings import DEFAULT_LOG_DIR, Settings, resolve_settings
from scoring.views.doctor import examine
from scoring.views.doctor.findings import BEST, Finding, findings, most_useful_first
from scoring.views.doctor.page import doctor_page, doctor_payload


@click.command(epilog="Example:  da-score doctor --rubric 3.1.0")
@shared_options(*SCORING_OPTIONS)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Show all that was found, not only the five most useful things.",
)
@click.option("--files", "list_files", is_flag=True, help="List every transcript too.")
def command(options: dict[str, Any], every: bool, list_files: bool) -> None:
    """Show what there is to score from: log, repository, trunk, transcripts, and how much each signal gets of it.

    Says at most five things to do, causes before effects, and what each would change. Writes nothing.
    """
    broken: list[Finding] = []
    settings = _settings(options, broken)
    try:
        rubric = find_rubric(settings.rubric)
    except RubricError as e:
        rubric = default_rubric()
        advice = f"name a released rubric with --rubric; this is what {rubric.version} would find"
        broken.append(Finding("settings", "problem", str(e), advice))
        settings = replace(settings, rubric=rubric.version)

    def note(text: str) -> None:
        broken.append(
            Finding(
                "settings", "note", text, f"leave the setting out, or score under rubric {BEST}"
            )
        )

    found = examine(settings.iter_log_dir, sources(settings, rules_of(rubric), warn=note), rubric)
    advice_on = most_useful_first([*broken, *_hooks(settings.repo_dir), *findings(found)])
    reply(
        settings.json,
        doctor_payload(found, advice_on),
        doctor_page(found, advice_on, every or list_files, list_files),
    )


def _hooks(repository: Path) -> Iterator[Finding]:
    known = [harness for harness, hook in HOOKS.items() if hook]
    for path in (
        hook_settings(harness, scope, repository)
        for harness in known
        for scope in ("project", "user")
    ):
        with contextlib.suppress(
            InputError
        ):  # a settings file that is not JSON is the harness's to complain of
            for why in hooks_that_do_not_run(path):
                advice = "'da-score hook install' repairs it, and writes the path of the da-score that is here"
                yield Finding("hook", "problem", f"the hook in {path} does not run: {why}", advice)


def _settings(options: dict[str, Any], broken: list[Any]) -> Settings:
    """Return the settings; where they cannot be used, those of the command line alone."""
    try:
        return resolve_settings(options)
    except SettingsError as e:
        broken.append(
            Finding("settings", "problem", str(e), "fix it; until then no other command works here")
        )
    repository = Path(options.get("repo-dir") or ".")
    try:
        return resolve_settings(options, {}, files=False)
    except SettingsError:
        return Settings(repository / DEFAULT_LOG_DIR, repository, json=bool(options.get("json")))
