"""The program ``da-score``: which commands it has, and the options that all of them share."""

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from rubric.datafiles import RUBRIC_VERSION
from scoring import __version__
from scoring.cli.catalog import OLD_NAMES, SECTIONS, commands_in, module_of
from scoring.cli.helptext import HelpfulContext, with_help_layout
from scoring.cli.output import WARNINGS
from scoring.log.setting_rows import SETTINGS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PROGRAM = "da-score"
COMPLETION_VARIABLE = "_DA_SCORE_COMPLETE"

BROKEN_ENTRIES = "da-score.broken"
"""Under this key the context of a command keeps the errors of entries that it left out."""


class LazyGroup(click.Group):
    """A group of commands that ``commands.txt`` lists, each of which is loaded when it runs.

    Attributes:
        path: the name of the group, as users type it after ``da-score``; "" for the program.
    """

    context_class = HelpfulContext

    def __init__(
        self,
        *arguments: Any,
        path: str = "",
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.path = path

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands, in the order of the help."""
        return list(commands_in(self.path))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name, or by its name in an earlier version.

        Raises:
            click.UsageError: no command has that name.
        """
        if cmd_name in commands_in(self.path):
            return _load(f"{self.path} {cmd_name}".strip())
        if not self.path and cmd_name in OLD_NAMES:
            return _load(OLD_NAMES[cmd_name])

        if not cmd_name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches  # only a mistyped word needs it

            old_names: Mapping[str, str] = {} if self.path else OLD_NAMES
            message = f"No such command {cmd_name!r}."
            for match in get_close_matches(cmd_name, [*commands_in(self.path), *old_names], n=1):
                message += f" Did you mean {old_names.get(match, match)!r}?"
            ctx.fail(message)
        return None

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries, for the program in sections."""
        if self.path:
            with formatter.section("Commands"):
                formatter.write_dl(list(commands_in(self.path).items()))
            return

        formatter.write("\nCommands:\n")
        for title, summaries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(summaries.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer the commands that begin like the word, without loading any of them."""
        from click.shell_completion import CompletionItem  # only a shell asks

        offers = []
        for name, summary in commands_in(self.path).items():
            if name.startswith(incomplete):
                offers.append(CompletionItem(name, help=summary))
        return offers + click.Command.shell_complete(self, ctx, incomplete)


def _load(command: str) -> click.Command:
    """Return a command by its full name, such as "log lint"."""
    module = importlib.import_module(module_of(command))
    return with_help_layout(module.command, {*SETTINGS, "quiet", "verbose"})


def _set_loudness(_: click.Context, param: click.Parameter, is_set: bool) -> None:
    if is_set:
        setattr(WARNINGS, str(param.name), True)


def loudness_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``-q`` and ``-v``, which take effect by themselves: the command does not get them."""
    declaration: dict[str, Any] = {
        "is_flag": True,
        "expose_value": False,
        "callback": _set_loudness,
    }
    verbose = click.option("-v", "--verbose", help="Print every warning by itself.", **declaration)
    quiet = click.option("-q", "--quiet", help="Print no warnings.", **declaration)
    return quiet(verbose(command))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Example:  da-score work",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON; you can also give it after the command."
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

    Begin in your repository with da-score init, then da-score work. Facts come from git and from
    the transcripts of agents; scores also use an iteration log and the files next to it. Settings
    that you do not give here come from DA_SCORE_* variables, .agents/da-score.toml and
    [tool.da-score] in pyproject.toml.
    """
    ctx.obj = {"json": as_json}


@cli.result_callback()
def _status(status: object, **_: object) -> object:
    """Return the exit status of the program: 1 where a command left out broken entries."""
    if click.get_current_context().meta.get(BROKEN_ENTRIES):
        return 1
    return status
