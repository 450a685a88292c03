"""``da-score completion SHELL``, and the iterations and sessions that completion offers."""

import functools
import re
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from scoring.cli.app import COMPLETION_VARIABLE, PROGRAM, cli
from scoring.cli.output import write
from scoring.log.find import names_in_log
from scoring.log.settings import resolve_settings

_ITERATION = re.compile(r"iter-([0-9]+)\.yaml")
_SESSION = re.compile(r"session-(.+)\.score\.yaml")


@click.command(epilog='Example:  eval "$(da-score completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell, to be evaluated in its start-up file."""
    kind = get_completion_class(shell)
    assert kind is not None  # click knows the three shells
    write(kind(cli, {}, PROGRAM, COMPLETION_VARIABLE).source() + "\n")


def session_ids(log_dir: Path, pattern: re.Pattern[str] = _SESSION) -> list[str]:
    """Return the sessions that have a sidecar in a log, sorted; or what another pattern finds in names of files."""
    return [m[1] for name in names_in_log(log_dir) if (m := pattern.fullmatch(name))]


def _offered(pattern: re.Pattern[str], ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    given = {"iter-log-dir": ctx.params.get("iter_log_dir"), "repo-dir": ctx.params.get("repo_dir")}
    try:
        found = session_ids(resolve_settings(given).iter_log_dir, pattern)
    except Exception:
        return []
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


complete_iterations = functools.partial(_offered, _ITERATION)
complete_sessions = functools.partial(_offered, _SESSION)
