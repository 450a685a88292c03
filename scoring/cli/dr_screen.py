"""The advice of ``da-score dr stop`` on a terminal."""

import io
import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scoring.meters.dr.advice import advice_rows
from scoring.text import printable

_STYLES = {"SHIP": "bold green", "ESCALATE": "bold red", "CONTINUE": "bold yellow"}


def show_advice(advice: dict[str, Any]) -> None:
    """Show an advice: the signal in its colour, the reasons below, nothing cut off."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that lacks a character gets another one
        sys.stdout.reconfigure(errors="replace")
    screen = Console(highlight=False, markup=False, emoji=False)
    screen.print(Text(advice["signal"], _STYLES[advice["signal"]]), f" as of round {advice['round']}\n")
    table = Table.grid(padding=(0, 2, 0, 0))
    for label, text in advice_rows(advice):
        table.add_row(Text(label, "bold"), Text(printable(text)), style="dim" if label == "Note" else "")
    screen.print(table)
