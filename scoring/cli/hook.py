"""``da-score hook``: put the close-task hook into a harness's settings, take it out, or show it."""

from datetime import UTC, datetime
from pathlib import Path

import click

from scoring.evidence.entry_files import SCORED_CLASSES, HookOutcome
from scoring.frozen import PlainData
from scoring.jobs import hook_install
from scoring.jobs.hook_places import (
    HOOKS,
    SCOPES,
    hook_files,
    hook_of,
    hook_settings,
    is_tracked,
    place_in_project,
    refuse_outside,
)
from scoring.jobs.write_beside import (
    CLASSES,
    LIFECYCLES,
    PLATFORMS,
    RESULTS,
    SKILLS,
    record_hook_outcome,
)
from scoring.log.settings import Settings, resolve_settings
from scoring.text import printable
from scoring.views.table import Table

from .group import CommandGroup
from .options import (
    LOG_OPTIONS,
    NUMBER,
    Command,
    choice,
    settings_options,
    shared_options,
    valued,
)
from .output import reply, warn


@click.group(cls=CommandGroup)
def command() -> None:
    """Install, remove and show the hook that scores every task of an agent.

    Example:  da-score hook install --harness claude --scope project
    """


def _place_options(command: Command) -> Command:
    """Add the options that say into which settings the hook goes."""
    harness = choice(
        "--harness",
        [*HOOKS],
        "Which harness runs it.",
        default="claude",
    )
    scope = choice(
        "--scope",
        SCOPES,
        "The settings of the project, or of the user.",
        default="project",
    )
    return harness(scope(command))


@command.command
@_place_options
@shared_options("repo-dir")
def install(harness: str, scope: str, options: PlainData) -> None:
    """Run close-task whenever the agent stops.

    Keeps everything else in the settings file, and a copy of the file. Settings that git tracks
    get the plain command, which others have on their path too. Otherwise the hook has the absolute
    path of this da-score, and goes into settings for you alone where the harness has them, as
    Claude Code has .claude/settings.local.json. Runs the command once before. A project is a git
    work tree.

    Example:  da-score hook install --harness codex --scope user
    """
    settings = resolve_settings(options)
    hook = hook_of(harness)
    shared = False
    if scope == "project":
        path, shared = place_in_project(harness, settings.repo_dir)
    else:
        path, *_ = hook_settings(harness, scope, settings.repo_dir)

    # A hook that is there already is repaired in its file. Where git shares that file, its command
    # names no path of this machine, and stays.
    for each in _settings_files_of(harness, scope, settings, options):
        names_no_path = (
            scope == "project" and each != path and is_tracked(each, settings.repo_dir)
        )
        if hook_install.installed_in(each) and not names_no_path:
            shared = shared and each == path
            path = each
    change = hook_install.install_command(path, hook, shared)
    _report(change, settings, done="installed", not_done="already installed")


@command.command
@_place_options
@shared_options("repo-dir")
def uninstall(harness: str, scope: str, options: PlainData) -> None:
    """Take the hook out of the settings file, with everything that installing it added.

    Example:  da-score hook uninstall --harness codex --scope user
    """
    settings = resolve_settings(options)
    paths = _settings_files_of(harness, scope, settings, options)
    with_hook = [path for path in paths if hook_install.installed_in(path)]
    for path in with_hook or paths[-1:]:
        change = hook_install.uninstall_hook(path)
        _report(change, settings, done="removed", not_done="not installed")


def _settings_files_of(
    harness: str, scope: str, settings: Settings, options: PlainData
) -> list[Path]:
    """Return the settings files of a harness that may hold the hook.

    Raises:
        InputError: the harness runs no hooks, or a link leads from a file of the project to outside
            of the project.
        OptionError, SettingsError: a setting has a wrong value.
    """
    paths = hook_settings(harness, scope, settings.repo_dir)
    if scope == "project":
        project = resolve_settings(options, files=False).repo_dir
        for path in paths:
            refuse_outside(path, project)
    return paths


def _report(
    change: hook_install.HookChange,
    settings: Settings,
    done: str,
    not_done: str,
) -> None:
    """Print what was done with a settings file: ``done`` if it was changed, else ``not_done``."""
    text = f"{printable(change.path)}: {done if change.changed else not_done}"
    if change.backup:
        text += f" (the former file is {printable(change.backup)})"
    reply(settings, change._asdict(), f"{text}\n")


@command.command
@click.argument("iteration", metavar="[N]", type=NUMBER, required=False)
@valued("--sentinel", "ID", "The run of the gate.", key="sentinel_id", required=True)
@valued(
    "--rule",
    "ID",
    "The rule that it checked, as iteration-close.R1.1.",
    key="rule_id",
    required=True,
)
@choice("--result", RESULTS, "What the gate did.", required=True)
@choice(
    "--lifecycle",
    list(LIFECYCLES),
    "When it ran.",
    key="lifecycle_point",
    required=True,
)
@choice(
    "--class",
    CLASSES,
    "The intervention class.  [default: by the lifecycle]",
    key="intervention",
)
@valued(
    "--correlation",
    "ID",
    "What the records of one event have in common.  [default: the sentinel]",
    key="correlation_id",
)
@choice("--skill", SKILLS, "The skill of the gate.")
@choice("--platform", PLATFORMS, "The harness.")
@settings_options(*LOG_OPTIONS)
def record(
    iteration: int | None,
    intervention: str | None,
    settings: Settings,
    **fields: str | None,
) -> None:
    """Add what a hook gate did to the hook outcomes of iteration N.

    N is by default the newest iteration of the log. A record that the file has already, of the
    same sentinel, rule, lifecycle and class, is not added again. Several processes may do this at
    once: each waits for the others.

    Example:  da-score hook record --sentinel run-7 --rule tests.R1 --result advise --lifecycle stop
    """
    texts = {name: text or "" for name, text in fields.items()}
    intervention_class = intervention or LIFECYCLES[texts["lifecycle_point"]]
    outcome = HookOutcome(
        **texts,
        intervention_class=intervention_class,
        ts=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    recorded = record_hook_outcome(settings.iter_log_dir, iteration, outcome)
    if recorded is None:
        warn(f"{settings.iter_log_dir} has no entry, so nothing was recorded")
        reply(settings, {"path": None, "is_recorded": False}, "")
        return

    path, is_new = recorded
    is_scored = intervention_class in SCORED_CLASSES

    text = f"{printable(path)}: {'recorded' if is_new else 'recorded already'}"
    if not is_scored:
        text += f" ({intervention_class} is observed and never scored)"
    value = {
        "path": path,
        "intervention_class": intervention_class,
        "is_scored": is_scored,
        "is_recorded": is_new,
    }
    reply(settings, value, f"{text}\n")


@command.command
@settings_options("repo-dir")
def show(settings: Settings) -> None:
    """Show where the hook is installed, and whether it runs.

    Example:  da-score hook show --json
    """
    value = []
    rows = []
    for harness, scope, path in hook_files(settings.repo_dir):
        events = hook_install.installed_in(path)
        row: PlainData = {
            "harness": harness,
            "scope": scope,
            "events": events,
            "path": path,
        }
        if problems := list(hook_install.hooks_that_do_not_run(path)):
            row["problems"] = problems
        for problem in problems:
            warn(
                f"{path}: the hook does not run: {problem}; 'da-score hook install' repairs it"
            )

        value.append(row)
        rows.append((harness, scope, ", ".join(events) or "not installed", str(path)))

    table = Table([""] * 4, rows, heads=False)
    reply(settings, value, [table])
