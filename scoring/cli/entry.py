"""``da-score entry``: an entry written by hand, with help."""

from typing import Any

import click

from scoring.cli.app import LOG_OPTIONS, Whole, settings_options, shared_options
from scoring.cli.completion import complete_iterations
from scoring.cli.output import reply, warn
from scoring.log.settings import Settings
from scoring.text import printable


@click.group("entry", epilog="Example:  da-score entry new 12")
def command() -> None:
    """Write an entry of the log, or set a value in one."""


@command.command("new", epilog="Example:  da-score entry new 12 --commit HEAD~1")
@click.argument("iteration", metavar="[N]", type=Whole(0, 10**9), required=False)
@click.option(
    "--commit",
    default="HEAD",
    metavar="REF",
    show_default=True,
    help="The commit that holds the work.",
)
@shared_options(*LOG_OPTIONS)
def new(iteration: int | None, commit: str, options: dict[str, Any]) -> None:
    """Write the entry of iteration N, by default the next one, filled with what git knows of a commit.

    Every other field is there as a comment with what it means. Never replaces an entry.
    """
    from scoring.cli.reading import settings_of_whole
    from scoring.jobs.entries import new_entry

    settings = settings_of_whole(options)
    _report(new_entry(settings.iter_log_dir, settings.repo_dir, iteration, commit, warn), settings)


@command.command("set", epilog="Example:  da-score entry set 12 impl.retries 1")
@click.argument("iteration", metavar="N", type=Whole(0), shell_complete=complete_iterations)
@click.argument("key")
@click.argument("value")
@settings_options(*LOG_OPTIONS)
def set_(iteration: int, key: str, value: str, settings: Settings) -> None:
    """Set a value of an entry: a field by its path, as in impl.retries or verifiers.0.status.

    The value is checked before it is written; comments and everything else stay as they are.
    """
    from scoring.jobs.entry_edit import set_value

    _report(set_value(settings.iter_log_dir, iteration, key, value), settings)


def _report(path: object, settings: Settings) -> None:
    reply(settings.json, {"path": str(path)}, f"Wrote {printable(str(path))}\n")
