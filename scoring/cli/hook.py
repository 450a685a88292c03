"""``da-score hook``: put the close-task hook into a harness's settings, take it out, or show where it is."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from scoring.cli.app import LOG_OPTIONS, Whole, settings_options, shared_options
from scoring.cli.output import reply, warn
from scoring.errors import OptionError
from scoring.evidence.beside import SCORED_CLASSES, HookOutcome
from scoring.evidence.git.repository import GitRepository
from scoring.jobs import hook_install
from scoring.jobs.write_beside import CLASSES, RESULTS, record_hook_outcome, stamp
from scoring.log.settings import Settings, resolve_settings
from scoring.text import printable
from scoring.views.table import Cell, Column, Table

_WHEN = f"When it ran: {', '.join(CLASSES)}, or another name."


@click.group("hook", epilog="Example:  da-score hook install --harness claude --scope project")
def command() -> None:
    """Install, remove and show the hook that scores every task of an agent."""


def warn_of_tracked(path: Path, repo_dir: Path) -> None:
    """Warn where git tracks a settings file, so that a path of this machine would reach others; raises without one."""
    if (
        GitRepository(repo_dir)
        .ask("ls-files", "--error-unmatch", "--", str(path.absolute()))
        .returncode
        == 0
    ):
        warn(
            f"{path}: git tracks it, and the hook names a path of this machine: others need --scope user instead"
        )


def _place_options(function: Callable[..., Any]) -> Callable[..., Any]:
    how: dict[str, Any] = {"show_default": True}
    scopes = click.Choice(["project", "user"])
    says = "The project's settings, or the user's."
    function = click.option("--scope", type=scopes, default="project", help=says, **how)(function)
    harnesses = click.Choice(list(hook_install.HOOKS))
    return click.option(
        "--harness", type=harnesses, default="claude", help="Which harness runs it.", **how
    )(function)


@command.command("install", epilog="Example:  da-score hook install --harness codex --scope user")
@_place_options
@shared_options("repo-dir")
def install(harness: str, scope: str, options: dict[str, Any]) -> None:
    """Run close-task whenever the agent stops. Keeps everything else in the settings file, and a copy of it.

    Writes the absolute path of this da-score, and runs it once before. A project is a git work tree.
    """
    settings = resolve_settings(options)
    place = _place(harness, scope, settings, options)
    if scope == "project":
        warn_of_tracked(place, settings.repo_dir)
    change = hook_install.install_command(place, hook_install.HOOKS[harness] or hook_install.USUAL)
    _report(change, settings, "installed", "already installed")


@command.command(
    "uninstall", epilog="Example:  da-score hook uninstall --harness codex --scope user"
)
@_place_options
@shared_options("repo-dir")
def uninstall(harness: str, scope: str, options: dict[str, Any]) -> None:
    """Take the hook out of the settings file again, and what installing it left behind."""
    settings = resolve_settings(options)
    change = hook_install.uninstall_hook(_place(harness, scope, settings, options))
    _report(change, settings, "removed", "not installed")


def _place(harness: str, scope: str, settings: Settings, options: dict[str, Any]) -> Path:
    """Return the settings file to write; InputError where it is that of the project, and a link leads out of it."""
    path = hook_install.hook_settings(harness, scope, settings.repo_dir)
    if scope == "project":
        hook_install.refuse_outside(path, resolve_settings(options, files=False).repo_dir)
    return path


@command.command(
    "record",
    epilog="Example:  da-score hook record 7 --rule no-tests --result advise --lifecycle stop",
)
@click.argument("iteration", metavar="N", type=Whole(0, 10**9))
@click.option(
    "--rule", "rule_id", required=True, metavar="ID", help="The rule that the hook gate checked."
)
@click.option("--result", required=True, type=click.Choice(RESULTS), help="What the gate did.")
@click.option("--lifecycle", "lifecycle_point", required=True, metavar="POINT", help=_WHEN)
@click.option(
    "--class",
    "intervention",
    metavar="NAME",
    help="The intervention class.  [default: by the lifecycle]",
)
@click.option(
    "--correlation",
    "correlation_id",
    default="",
    metavar="ID",
    help="What joins records of one event.",
)
@click.option("--sentinel", "sentinel_id", default="", metavar="ID", help="The gate.")
@click.option("--skill", default="", metavar="NAME", help="The skill that the gate belongs to.")
@click.option("--platform", default="", metavar="NAME", help="The harness.")
@settings_options(*LOG_OPTIONS)
def record(iteration: int, intervention: str | None, settings: Settings, **given: str) -> None:
    """Add what a hook gate did to the hook outcomes of iteration N; one process at a time writes."""
    kind = intervention or CLASSES.get(lifecycle := given["lifecycle_point"])
    if kind is None:
        raise OptionError(
            f"--lifecycle {lifecycle}: its intervention class is not known; name it with --class"
        )
    outcome = HookOutcome(**given, intervention_class=kind, ts=stamp())
    path = record_hook_outcome(settings.iter_log_dir, iteration, outcome)
    counts = kind in SCORED_CLASSES
    text = f"{printable(str(path))}: recorded{'' if counts else f' ({kind} is observed and never scored)'}\n"
    reply(settings.json, {"path": str(path), "intervention_class": kind, "is_scored": counts}, text)


@command.command("show", epilog="Example:  da-score hook show --json")
@settings_options("repo-dir")
def show(settings: Settings) -> None:
    """Show where the hook is installed, and whether it runs."""
    rows, broken = [], {}
    for harness, scope in itertools.product(
        filter(hook_install.HOOKS.get, hook_install.HOOKS), ("project", "user")
    ):
        path = hook_install.hook_settings(harness, scope, settings.repo_dir)
        events = hook_install.installed_in(path)
        for problem in (
            problems := list(hook_install.hooks_that_do_not_run(path)) if events else []
        ):
            warn(f"{path}: the hook does not run: {problem}; 'da-score hook install' repairs it")
            broken[str(path)] = {"problems": problems}
        rows.append((harness, scope, Cell(events, ", ".join(events) or "not installed"), str(path)))
    table = Table(
        [Column("", key) for key in ("harness", "scope", "events", "path")], rows, heads=False
    )
    reply(settings.json, [row | broken.get(row["path"], {}) for row in table.as_json()], [table])


def _report(change: hook_install.HookChange, settings: Settings, done: str, not_done: str) -> None:
    backup = str(change.backup) if change.backup else None
    kept = f" (the former file is {printable(backup)})" if backup else ""
    text = f"{printable(str(change.path))}: {done if change.changed else not_done}{kept}\n"
    reply(
        settings.json, {"path": str(change.path), "changed": change.changed, "backup": backup}, text
    )
