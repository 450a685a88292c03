"""A group of commands that does something itself: ``da-score label 3`` next to ``label list``."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _ContextOfGroup(click.Context):
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

        ``--json`` may come before the name, as it may before any command.
        """
        if args[:1] == ["--json"] and len(args) > 1 and args[1] in self.commands:
            args = [args[1], "--json", *args[2:]]

        if args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return self.name, self.default, args

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """Return the two ways to call the group."""
        return [f"{self.usage} [OPTIONS]", "| COMMAND [ARGS]..."]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the default command, then the commands."""
        self.default.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer the commands, and the values of the default command's argument."""
        offers = super().shell_complete(ctx, incomplete)
        if not incomplete.startswith("-"):
            offers += self.default.params[0].shell_complete(ctx, incomplete)
        return offers
