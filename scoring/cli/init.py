"""``da-score init``: a settings file with comments, written after a look at the repository."""

from dataclasses import replace
from typing import Any

import click

from scoring.cli.app import EVIDENCE_OPTIONS, shared_options
from scoring.cli.output import write, write_json
from scoring.errors import GitError, SettingsError
from scoring.evidence.git.repository import GitRepository
from scoring.log.settings import Settings, resolve_settings


@click.command(epilog="Example:  da-score init --print")
@shared_options(*EVIDENCE_OPTIONS)
@click.option("--force", is_flag=True, help="Replace a settings file that is there.")
@click.option("--print", "only_print", is_flag=True, help="Print the settings and write nothing.")
def command(options: dict[str, Any], force: bool, only_print: bool) -> None:
    """Write .agents/da-score.toml, with comments, after looking at the repository.

    Chooses the newest rubric for real work and notes what was found: the log, the trunk, the transcripts. What the
    options name goes into the file.
    """
    from rubric import released_rubric
    from scoring.cli.reading import sources
    from scoring.evidence.rules import rules_of
    from scoring.jobs.init import rubric_for_real_work, settings_text, write_settings
    from scoring.views.doctor import examine

    settings = _settings(options)
    rubric = released_rubric(rubric_for_real_work())
    under = replace(settings, rubric=rubric.version)
    seen = examine(settings.iter_log_dir, sources(under, rules_of(rubric)), rubric)
    if seen.repository.trunk_problem:
        raise SettingsError(seen.repository.trunk_problem)
    text = settings_text(seen, under)
    if only_print:
        write(text)
        return
    path = write_settings(seen, text, force)
    if settings.json:
        write_json({"path": str(path), "rubric": rubric.version})
    else:
        write(f"Wrote {path}; da-score doctor shows what is found under it\n")


def _settings(options: dict[str, Any]) -> Settings:
    """Return the settings of the command line and the variables, for the whole repository and not a folder in it."""
    settings = resolve_settings(options, files=False)
    try:
        top = GitRepository(settings.repo_dir).top_level
    except GitError:  # the examination reports it
        return settings
    return settings if top.samefile(settings.repo_dir) else resolve_settings(options | {"repo-dir": top}, files=False)
