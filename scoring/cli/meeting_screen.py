"""What ``da-score meeting`` shows on a terminal: the same as on a pipe, drawn and coloured by status."""

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from scoring.cli import meeting_text
from scoring.cli.screen import _console, _plain, _table
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.simulate import Ending, MeetingKnobs
from scoring.meters.meeting.verdict import MeetingVerdict
from scoring.text import printable

_STATUS_STYLES = {
    "must_continue": "red",
    "continue_targeted": "yellow",
    "ready_to_decide": "bold green",
    "park_or_abort": "magenta",
}


def _status(name: str) -> Text:
    return Text(name, _STATUS_STYLES[name])


def show_meeting(verdicts: Sequence[MeetingVerdict], config: MeetingConfig, name: str, config_name: str) -> None:
    """Show the rounds of a meeting as a table, and the reasons of each in words."""
    console = _console()
    console.print(Text(meeting_text.title(name, config_name, config) + "\n", "bold"))
    head = meeting_text.SCORE_HEAD
    table = _table(*head, right=("ROUND", *head[4:]))
    for verdict in verdicts:
        number, status, *cells = meeting_text.score_cells(verdict)
        table.add_row(Text(number), _status(status), *_plain(*cells))
    console.print(table)
    console.print(Text("\n" + " ".join(meeting_text.LEGEND.split()), "dim"))
    for verdict in verdicts:
        console.print()
        console.print(Text(f"Round {verdict.round_index}: ", "bold"), _status(verdict.status), sep="")
        lines = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
        lines.add_column(style="dim", no_wrap=True)
        lines.add_column(overflow="fold")
        for row in meeting_text.round_lines(verdict):
            lines.add_row(*_plain(*row))
        console.print(lines)


def show_simulation(knobs: MeetingKnobs, found: Sequence[Ending], out: Path | None) -> None:
    """Show when each config would end a made meeting, by which rule and why."""
    console = _console()
    console.print(Text(meeting_text.knobs_line(knobs) + "\n", "bold"))
    table = _table(*meeting_text.ENDING_HEAD, right=meeting_text.ENDING_HEAD[5:])
    for ending in found:
        name, ends, status, *cells = meeting_text.ending_cells(ending)
        table.add_row(*_plain(name, ends), _status(status), *_plain(*cells))
    console.print(table)
    console.print()
    lines = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for row in meeting_text.reason_lines(found):
        lines.add_row(*_plain(*row))
    console.print(lines)
    if out is not None:
        console.print(Text(f"\nWrote the records to {printable(str(out))}", "dim"))
