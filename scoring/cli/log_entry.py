"""``da-score log entry``: an entry written by hand, with help."""

from typing import Any

import click

from scoring.log.settings import Settings
from scoring.text import printable

from .iteration_names import complete_iterations
from .options import (
    LOG_OPTIONS,
    NUMBER,
    Whole,
    settings_options,
    shared_options,
    valued,
)
from .output import reply, warn
from .reading import settings_of_whole_repository


@click.group
def command() -> None:
    """Write an entry of the log, or set a value in one.

    Example:  da-score log entry new 12
    """


@command.command
@click.argument("iteration", metavar="[N]", type=NUMBER, required=False)
@valued("--commit", "REF", "The commit that holds the work.", default="HEAD")
@shared_options(*LOG_OPTIONS)
def new(iteration: int | None, commit: str, options: dict[str, Any]) -> None:
    """Write the entry of iteration N, by default the next, with what git knows of a commit.

    Every other field is a comment that says what it means. Never replaces an entry.

    Example:  da-score log entry new 12 --commit HEAD~1
    """
    from scoring.jobs.entries import new_entry  # loads pydantic and ruamel.yaml

    settings = settings_of_whole_repository(options)
    path = new_entry(
        settings.iter_log_dir,
        settings.repo_dir,
        iteration,
        commit,
        warn,
    )
    reply(settings, {"path": path}, f"Wrote {printable(path)}\n")


@command.command("set")
@click.argument(
    "iteration", metavar="N", type=Whole(0), shell_complete=complete_iterations
)
@click.argument("key")
@click.argument("value")
@settings_options(*LOG_OPTIONS)
def set_(
    iteration: int,
    key: str,
    value: str,
    settings: Settings,
) -> None:
    """Set one field of an entry, named by its path: impl.retries or verifiers.0.status.

    Checks the value before it writes it. Comments and everything else stay as they are.

    Example:  da-score log entry set 12 impl.retries 1
    """
    from scoring.jobs.entry_edit import set_value  # loads pydantic and ruamel.yaml

    path = set_value(settings.iter_log_dir, iteration, key, value)
    reply(settings, {"path": path}, f"Wrote {printable(path)}\n")
