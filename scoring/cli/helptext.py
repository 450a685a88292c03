"""How the help of the commands is laid out."""

from collections.abc import Collection, Iterable

import click

_NARROW = 72
"""Help of fewer columns gives less room to names of options, and more to what they do."""

_UNBREAKABLE_HYPHEN = "\u2011"
"""Stands for a hyphen while text is folded, since lines would break after a plain one."""


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
    return text.replace("-", _UNBREAKABLE_HYPHEN)


class HelpfulContext(click.Context):
    """The context of a command, with help that is folded between words only."""

    formatter_class = _HelpFormatter


def with_help_layout(command: click.Command, shared: Collection[str]) -> click.Command:
    """Return the command, with help that lists its own options first and whole summaries.

    The last paragraph of its docstring may be an example, which goes to the end of the help.

    Args:
        command: the command, which is changed; so are the commands of a group.
        shared: long names of the options that many commands have, which come last.
    """

    def is_shared(parameter: click.Parameter) -> bool:
        return parameter.name is not None and parameter.name.replace("_", "-") in shared

    text, _, example = (command.help or "").rpartition("\n\n")
    if "Example:" in example:
        command.help = text
        command.epilog = example
    command.context_class = HelpfulContext
    command.params.sort(key=is_shared)

    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            subcommand.short_help = subcommand.get_short_help_str(limit=10**6)
            with_help_layout(subcommand, shared)
    return command
