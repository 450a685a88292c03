"""The commands with their summaries, which ``commands.txt`` has, and how help is laid out."""

from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import click

GROUPS: dict[
    str, dict[str, str]
] = {}  # the commands by what they are for, in the order of the help
for _line in (Path(__file__).parent / "commands.txt").read_text("utf-8").splitlines():
    _name, _, _summary = _line.strip().partition(": ")
    if _summary:
        GROUPS[next(reversed(GROUPS))][_name] = _summary
    elif _name:
        GROUPS[_name] = {}
COMMANDS: Mapping[str, str] = ChainMap(
    *reversed(GROUPS.values())
)  # in that order; its module has ``command``


class _Help(click.HelpFormatter):
    """Help that is folded between words only, and not inside ``da-score``."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog.replace("-", _HYPHEN), args.replace("-", _HYPHEN), prefix)

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _HYPHEN))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        most = col_max if self.width >= _NARROW else _NARROW // 4
        super().write_dl(
            [(name, text.replace("-", _HYPHEN)) for name, text in rows], most, col_spacing
        )

    def getvalue(self) -> str:
        return super().getvalue().replace(_HYPHEN, "-")


_NARROW = (
    72  # help of fewer columns gives less room to the names of options, and more to what they do
)
_HYPHEN = "\u2011"  # a hyphen at which no line breaks


class HelpfulContext(click.Context):
    """The context of a command that folds its help like that."""

    formatter_class = _Help


def with_its_help(command: click.Command, shared: Collection[str]) -> click.Command:
    """Return a command with whole summaries, its options, and those of its commands, before the ``shared`` ones."""
    command.context_class = HelpfulContext
    command.params.sort(
        key=lambda param: param.name is not None and param.name.replace("_", "-") in shared
    )
    for inner in (command.commands if isinstance(command, click.Group) else {}).values():
        inner.short_help = inner.get_short_help_str(10**6)
        with_its_help(inner, shared)
    return command
