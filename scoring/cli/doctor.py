"""``da-score doctor``: what is found to score from, what is not, and what to do about it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from scoring.cli.app import SCORING_OPTIONS, shared_options
from scoring.cli.output import show, write_json
from scoring.errors import SettingsError
from scoring.log.settings import DEFAULT_LOG_DIR, Settings, resolve_settings


@click.command(epilog="Example:  da-score doctor --rubric 2.3.0 --json")
@shared_options(*SCORING_OPTIONS)
@click.option("--files", "list_files", is_flag=True, help="List every transcript, not only how many there are.")
def command(options: dict[str, Any], list_files: bool) -> None:
    """Show what there is to score from: log, repository, trunk, transcripts, and how much each signal gets of it.

    Says what was left out and why, and what to do about each. Works on whatever is there, and writes nothing.
    """
    from rubric import RubricError, default_rubric, find_rubric
    from scoring.cli.reading import sources
    from scoring.evidence.rules import rules_of
    from scoring.views.doctor import examine
    from scoring.views.doctor.findings import Finding, findings
    from scoring.views.doctor.page import doctor_page, doctor_payload

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
        broken.append(Finding("settings", "note", text, "leave the setting out, or score under rubric 2.3.0"))

    found = examine(settings.iter_log_dir, sources(settings, rules_of(rubric), warn=note), rubric)
    advice_on = [*broken, *findings(found)]
    if settings.json:
        write_json(doctor_payload(found, advice_on))
    else:
        show(doctor_page(found, advice_on, list_files))


def _settings(options: dict[str, Any], broken: "list[Any]") -> Settings:
    """Return the settings; where they cannot be used, those of the command line alone."""
    try:
        return resolve_settings(options)
    except SettingsError as e:
        from scoring.views.doctor.findings import Finding

        broken.append(Finding("settings", "problem", str(e), "fix it; until then no other command works here"))
    repository = Path(options.get("repo-dir") or ".")
    try:
        return resolve_settings(options, {}, files=False)
    except SettingsError:
        return Settings(repository / DEFAULT_LOG_DIR, repository, json=bool(options.get("json")))
