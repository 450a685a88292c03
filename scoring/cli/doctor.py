"""``da-score doctor``: what there is to score from, what is missing, and what to do about it."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec.structs import replace

from rubric import RubricError, default_rubric
from scoring.errors import InputError, SettingsError
from scoring.evidence.rules import rules_of
from scoring.frozen import PlainData
from scoring.jobs.hook_install import hooks_that_do_not_run
from scoring.jobs.hook_places import hook_files
from scoring.log.settings import (
    DEFAULT_LOG_DIR,
    Settings,
    resolve_settings,
    settings_sources,
)
from scoring.views.doctor import examine
from scoring.views.doctor.finding import Finding, most_useful_first
from scoring.views.doctor.findings import BEST, findings
from scoring.views.doctor.page import doctor_page, doctor_payload

from .options import SCORING_OPTIONS, flag, shared_options
from .output import progress, reply
from .reading import rubric_of, sources


@click.command
@shared_options(*SCORING_OPTIONS)
@flag("--all", "Show all findings, not only the five most useful ones.", key="every")
def command(options: PlainData, every: bool) -> None:
    """Show what there is to score from, and what would give more.

    Looks at log, repository, trunk and transcripts, and at how much each signal gets of them.
    Says at most five things to do, causes before effects, and what each would change. Writes
    nothing.

    Example:  da-score doctor --rubric 3.1.0
    """
    of_settings: list[Finding] = []
    settings = _usable_settings(options, of_settings)
    if _nothing_is_set_up(settings, options):
        what = f"nothing is set up here: this is what rubric {BEST} finds, which init chooses"
        advice = f"'da-score init' writes settings; without them rubric {settings.rubric} scores"
        of_settings.append(Finding("settings", "note", what, advice))
        settings = replace(settings, rubric=BEST)
    try:
        rubric = rubric_of(settings)
    except RubricError as e:
        rubric = default_rubric()
        advice = f"name a released rubric with --rubric; this is what {rubric.version} would find"
        of_settings.append(Finding("settings", "problem", str(e), advice))
        settings = replace(settings, rubric=rubric.version)

    def note(text: str) -> None:
        advice = f"leave the setting out, or score under rubric {BEST}"
        of_settings.append(Finding("settings", "note", text, advice))

    evidence = sources(settings, rules_of(rubric), warn=note)
    with progress("Looking at git and transcripts"):
        examination = examine(settings.iter_log_dir, evidence, rubric)

    of_hooks = _hooks_that_do_not_run(settings.repo_dir)
    by_use = most_useful_first([*of_settings, *of_hooks, *findings(examination)])
    page = doctor_page(examination, by_use, every)
    reply(settings, doctor_payload(examination, by_use), page)


def _nothing_is_set_up(settings: Settings, options: PlainData) -> bool:
    """Return whether the log is missing, and no file, variable or rubric is named."""
    if options["rubric"] is not None or settings.iter_log_dir.exists():
        return False
    with contextlib.suppress(SettingsError):
        sources = settings_sources(options, settings.repo_dir, files=True)
        return all(source.startswith("--") for source in sources)
    return False


def _hooks_that_do_not_run(repository: Path) -> Iterator[Finding]:
    """Yield a finding for each reason why da-score's own hook does not run.

    The hook is looked for in the settings that the repository and the user have for harnesses.
    The program of each hook is started once, for its help.
    """
    advice = "'da-score hook install' repairs it, and writes the path of this da-score"
    for _, _, path in hook_files(repository):
        # Settings that cannot be read are for the harness to complain about.
        with contextlib.suppress(InputError):
            for reason in hooks_that_do_not_run(path):
                what = f"the hook in {path} does not run: {reason}"
                yield Finding("hook", "problem", what, advice)


def _usable_settings(options: PlainData, problems: list[Finding]) -> Settings:
    """Return the settings that can be used.

    Where the settings in files or variables cannot be used, only those of the command line count;
    where these cannot be used either, only ``--repo-dir`` and ``--json`` count.

    Args:
        options: the options of the command line, by name.
        problems: gets a finding about what is wrong with files or variables.
    """
    try:
        return resolve_settings(options)
    except SettingsError as e:
        advice = "fix it; until then no other command works here"
        problems.append(Finding("settings", "problem", str(e), advice))

    try:
        return resolve_settings(options, environment={}, files=False)
    except SettingsError:
        repository = Path(options.get("repo-dir") or ".")
        return Settings(
            repository / DEFAULT_LOG_DIR, repository, json=bool(options.get("json"))
        )
