"""The command group: which commands there are, and the options of all."""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rubric.datafiles import RUBRIC_VERSION
from scoring import __version__
from scoring.cli.helptext import COMMANDS, GROUPS, HelpfulContext, with_its_help
from scoring.cli.output import WARNINGS
from scoring.log.setting_rows import SETTINGS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PROGRAM = "da-score"
COMPLETION_VARIABLE = "_DA_SCORE_COMPLETE"


class _LazyGroup(click.Group):
    context_class = HelpfulContext

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("\nCommands:\n")
        for title, summaries in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(summaries.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem  # only a shell asks

        commands = [
            CompletionItem(name, help=text)
            for name, text in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            if cmd_name.startswith("-") or ctx.resilient_parsing:
                return None
            from difflib import get_close_matches  # only a word that is no command needs it

            meant = "".join(
                f" Did you mean {name!r}?" for name in get_close_matches(cmd_name, COMMANDS, 1)
            )
            ctx.fail(f"No such command {cmd_name!r}.{meant}")
        command: click.Command = importlib.import_module(
            f"scoring.cli.{cmd_name.replace('-', '_')}"
        ).command
        return with_its_help(command, {*SETTINGS, "quiet", "verbose"})


def _set_loudness(_: click.Context, param: click.Parameter, wanted: bool) -> None:
    if wanted:
        setattr(WARNINGS, str(param.name), True)


def loudness_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``-q`` and ``-v``, which act by themselves."""
    how: dict[str, Any] = {"is_flag": True, "expose_value": False, "callback": _set_loudness}
    quiet = click.option("-q", "--quiet", help="Print no warnings.", **how)
    return quiet(
        click.option("-v", "--verbose", help="Print every warning by itself.", **how)(command)
    )


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Example:  da-score work",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON; may also be given after the command."
)
@click.version_option(
    __version__,
    message=f"{PROGRAM} %(version)s (default rubric {RUBRIC_VERSION})",
    help="Print the version.",
)
@loudness_options
@click.pass_context
def cli(ctx: click.Context, as_json: bool) -> None:
    """Say what became of coding agents' work, what it cost, and how good the evidence says it was.

    In your repository: da-score init, then da-score work. Facts come from git and the transcripts of agents; scores
    also from an iteration log and what is beside it. Settings that are not given here are taken from DA_SCORE_*
    variables, .agents/da-score.toml and [tool.da-score] in pyproject.toml.
    """
    ctx.obj = {"json": as_json}


BROKEN = "da-score.broken"  # where the context of a command keeps which entries it left out because they cannot be read


@cli.result_callback()
def _status(status: object, **_: object) -> object:
    return 1 if click.get_current_context().meta.get(BROKEN) else status
