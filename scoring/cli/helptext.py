"""How help is laid out: folded between words, summaries whole, a command's own options first."""

from collections.abc import Collection, Iterable

import click


class _Help(click.HelpFormatter):
    """Help that is folded between words only, and not inside ``da-score``."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog.replace("-", _HYPHEN), args.replace("-", _HYPHEN), prefix)

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        most = col_max if self.width >= _NARROW else _NARROW // 4
        super().write_dl([(name, text.replace("-", _HYPHEN)) for name, text in rows], most, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_HYPHEN, "-")


_NARROW = 72
"""Help of fewer columns gives less room to the names of options, and more to what they do."""

_HYPHEN = "\u2011"
"""A hyphen at which no line breaks."""


class HelpfulContext(click.Context):
    """The context of a command whose help is folded like that."""

    formatter_class = _Help


def with_its_help(command: click.Command, shared: Collection[str]) -> click.Command:
    """Return a command whose help is as it should be; of a group each of its commands.

    It lists what only the command has before the options that are ``shared``, and no summary is cut off.
    """
    command.context_class = HelpfulContext
    command.params.sort(key=lambda param: param.name is not None and param.name.replace("_", "-") in shared)
    for inner in (command.commands if isinstance(command, click.Group) else {}).values():
        inner.short_help = inner.get_short_help_str(10**6)
        with_its_help(inner, shared)
    return command
