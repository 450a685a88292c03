"""The program ``da-score``: its groups of commands, their help, and the options that all share.

``commands.toml`` lists the commands with their summaries. The module of a command has its name:
``scoring/cli/close_task.py`` is ``close-task``.

A group may do something itself: ``da-score label 3`` next to ``da-score label list``.
"""

import importlib
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.core import augment_usage_errors

from rubric.datafiles import RUBRIC_VERSION
from scoring import __version__
from scoring.log.setting_rows import SETTINGS
from scoring.settings_table import own_table

from .output import WARNINGS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PROGRAM = "da-score"
COMPLETION_VARIABLE = "_DA_SCORE_COMPLETE"

BROKEN_ENTRIES = "da-score.broken"
"""Under this key the context of a command keeps the errors of entries that the command left out."""

_NARROW = 72
"""Help of fewer columns gives less room to names of options, and more to what they do."""

_UNBREAKABLE_HYPHEN = "\u2011"
"""Stands for a hyphen while text is folded, since lines would break after a plain one."""


# The commands

_TABLES = own_table(__file__, "commands.toml")

SECTIONS: dict[str, dict[str, str]] = _TABLES["sections"]
"""The summaries of the commands at the top, by section of the help and by name."""

OLD_NAMES: list[str] = _TABLES["old_names"]
"""Commands of ``log`` that work without that word too, as in earlier versions. No help shows it."""

COMMANDS: Mapping[str, str] = ChainMap(*reversed(SECTIONS.values()))
"""The summaries of all commands at the top, in the order of the help."""


def module_of(command: str) -> str:
    """Return the module of a command at the top: "scoring.cli.close_task" of "close-task"."""
    return "scoring.cli." + command.replace("-", "_")


# How help is laid out


class _HelpFormatter(click.HelpFormatter):
    """Folds help between words only, and never inside ``da-score``."""

    def write_usage(
        self,
        prog: str,
        args: str = "",
        prefix: str | None = None,
    ) -> None:
        super().write_usage(_unbreakable(prog), _unbreakable(args), prefix)

    def write_text(self, text: str) -> None:
        super().write_text(_unbreakable(text))

    def write_dl(
        self,
        rows: Iterable[tuple[str, str]],
        col_max: int = 30,
        col_spacing: int = 2,
    ) -> None:
        if self.width < _NARROW:
            col_max = _NARROW // 4
        unbreakable_rows = [(name, _unbreakable(text)) for name, text in rows]
        super().write_dl(unbreakable_rows, col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_UNBREAKABLE_HYPHEN, "-")


def _unbreakable(text: str) -> str:
    """Return a text with hyphens at which no line breaks."""
    return text.replace("-", _UNBREAKABLE_HYPHEN)


class HelpfulContext(click.Context):
    """The context of a command, with help that is folded between words only."""

    formatter_class = _HelpFormatter

    @contextmanager
    def scope(self, cleanup: bool = True) -> Iterator[click.Context]:
        """Name this command in errors of usage, also where click does not: a missing value."""
        with augment_usage_errors(self), super().scope(cleanup) as context:
            yield context


def with_help_layout(command: click.Command) -> click.Command:
    """Return the command, with help that lists its own options first and whole summaries.

    The last paragraph of its docstring may be an example, which goes to the end of the help.

    Args:
        command: the command, which is changed; so are the commands of a group.
    """

    def is_shared(parameter: click.Parameter) -> bool:
        return str(parameter.name).replace("_", "-") in (*SETTINGS, "quiet", "verbose")

    text, _, example = (command.help or "").rpartition("\n\n")
    if "Example:" in example:
        command.help = text
        command.epilog = example
    command.context_class = HelpfulContext
    command.params.sort(key=is_shared)

    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            subcommand.short_help = subcommand.get_short_help_str(limit=10**6)
            with_help_layout(subcommand)
    return command


# Groups of commands


class LazyGroup(click.Group):
    """The program: the commands that ``commands.toml`` lists, each loaded when it runs."""

    context_class = HelpfulContext

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name, or by its name in an earlier version.

        None for an unknown word that begins like an option, or while a shell completes.

        Raises:
            click.UsageError: no command has that name.
        """
        if cmd_name in COMMANDS:
            return _load(cmd_name)
        if cmd_name in OLD_NAMES:
            log = _load("log")
            assert isinstance(log, click.Group)
            return log.commands[cmd_name]

        if not cmd_name.startswith("-") and not ctx.resilient_parsing:
            meant = _closest(cmd_name, [*COMMANDS, *OLD_NAMES])
            if meant in OLD_NAMES:
                meant = f"log {meant}"
            hint = f" Did you mean {meant!r}?" if meant else ""
            ctx.fail(f"No such command {cmd_name!r}.{hint}")
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name of the command to run, the command, and its arguments.

        ``help COMMAND`` is ``COMMAND --help``, and ``help`` alone prints the help of the program.
        """
        if args[0] != "help":
            return super().resolve_command(ctx, args)

        words = [word for word in args if word != "help" and not word.startswith("-")]
        if not words:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().resolve_command(ctx, [*words, "--help"])

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries, in sections."""
        formatter.write("\nCommands:\n")
        for title, summaries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(summaries.items()))

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> "list[CompletionItem]":
        """Offer the commands that begin with the word, without loading any of them."""
        from click.shell_completion import CompletionItem  # only a shell asks

        offers = [
            CompletionItem(name, help=summary)
            for name, summary in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return offers + click.Command.shell_complete(self, ctx, incomplete)


def _load(command: str) -> click.Command:
    """Return a command at the top by its name."""
    module = importlib.import_module(module_of(command))
    return with_help_layout(module.command)


def _closest(word: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like a mistyped word, or None where none is like it."""
    from difflib import get_close_matches  # only a mistyped word needs it

    return next(iter(get_close_matches(word, names, n=1)), None)


class CommandGroup(click.Group):
    """A group that answers an unknown word with the command that was meant, or all it has."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command of the group by its name.

        None for an unknown word that begins like an option, or while a shell completes.

        Raises:
            click.UsageError: no command has that name.
        """
        command = super().get_command(ctx, cmd_name)
        if command or cmd_name.startswith("-") or ctx.resilient_parsing:
            return command

        meant = _closest(cmd_name, self.commands)
        hint = f"The commands are {', '.join(sorted(self.commands))}."
        if meant:
            hint = f"Did you mean {meant!r}?"
        raise click.UsageError(f"No such command {cmd_name!r}. {hint}", ctx)


class _ContextOfGroup(HelpfulContext):
    """The context of a default command, which users know by the name of its group."""

    @property
    def command_path(self) -> str:
        return self.parent.command_path if self.parent else ""


class DefaultCommand(click.Command):
    """What a :class:`GroupWithDefault` does itself. Its help is the help of the group."""

    context_class = _ContextOfGroup

    def get_help(self, ctx: click.Context) -> str:
        """Return the help of the group."""
        return ctx.parent.get_help() if ctx.parent else ""


class GroupWithDefault(click.Group):
    """A group that passes its arguments to a default command, unless they name another one.

    Attributes:
        default: the command that runs without a command's name.
        usage: the argument of the default command, as the help shows it.
    """

    def __init__(
        self,
        default: click.Command,
        usage: str,
        **group: Any,
    ) -> None:
        super().__init__(**group, context_settings={"ignore_unknown_options": True})
        self.default = default
        self.usage = usage

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name of the command to run, the command, and its arguments.

        ``--json`` may come before the name, as it may before any command. Without the name of one,
        the default command runs.
        """
        if args[:1] == ["--json"] and len(args) > 1 and args[1] in self.commands:
            args = [args[1], "--json", *args[2:]]

        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return self.name, self.default, args

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """Return the two ways to call the group."""
        return [f"{self.usage} [OPTIONS]", "| COMMAND [ARGS]..."]

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options of the default command, then the commands."""
        self.default.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> "list[CompletionItem]":
        """Offer the commands, and the values of the default command's argument."""
        offers = super().shell_complete(ctx, incomplete)
        if not incomplete.startswith("-"):
            offers += self.default.params[0].shell_complete(ctx, incomplete)
        return offers


# The program


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
    verbose = click.option(
        "-v", "--verbose", help="Print every warning by itself.", **declaration
    )
    quiet = click.option("-q", "--quiet", help="Print no warnings.", **declaration)
    return quiet(verbose(command))


@click.group(
    cls=LazyGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 110,
        "show_default": True,
    },
    epilog="Example:  da-score work",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON; you can also give it after the command.",
)
@click.version_option(
    __version__,
    message=f"{PROGRAM} %(version)s (default rubric {RUBRIC_VERSION})",
    help="Print the version.",
)
@loudness_options
def cli(as_json: bool) -> None:
    """Say what became of coding agents' work, what it cost, and how good the evidence says it was.

    Begin in your repository with da-score init, then da-score work. Facts come from git and from
    the transcripts of agents; scores also use an iteration log and the files next to it. Settings
    that you do not give here come from DA_SCORE_* variables, .agents/da-score.toml and
    [tool.da-score] in pyproject.toml.
    """


@cli.result_callback()
def _status(status: object, **_: object) -> object:
    """Return the exit status of the program: 1 where a command left out broken entries."""
    if click.get_current_context().meta.get(BROKEN_ENTRIES):
        return 1
    return status
