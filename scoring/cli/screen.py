"""Until ``query`` and ``meeting`` use :mod:`scoring.views.table`: what they draw on a terminal."""

import io
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def _console() -> Console:
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that lacks a character gets another one
        sys.stdout.reconfigure(errors="replace")
    return Console(highlight=False, markup=False, emoji=False)


def _table(*columns: str, right: Sequence[str] = ()) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def _plain(*cells: str) -> list[Text]:
    return [Text(c) for c in cells]


def show_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Show a table of texts that are fit to be printed."""
    table = _table(*heads)
    for row in rows:
        table.add_row(*_plain(*row))
    _console().print(table)
