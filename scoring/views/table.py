"""What a command shows, as a value: lines and tables, rendered as text for a pipe, drawn on a terminal, or as JSON.

The text is byte for byte the reference's where the reference has such a table (docs/COMMANDS.md, "Tables on a pipe").
Every text is shown with its control characters escaped; rich is imported only to draw.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from scoring.text import cut, printable, show_hidden, visible

if TYPE_CHECKING:
    import rich.console
    import rich.table
    import rich.text

Place: TypeAlias = Literal["pipe", "terminal"]

_GAP = "  "


class Cell(NamedTuple):
    """Plain data, for JSON; the text that is shown, ``str(value)`` when None; a style of rich (``bold green``)."""

    value: Any
    text: str | None = None
    style: str = ""

    @property
    def shown(self) -> str:
        """The text, safe to print: control characters are escaped."""
        return printable(str(self.value) if self.text is None else self.text)


AnyCell: TypeAlias = Cell | str | int
"""A cell; a plain string or integer is shown as it is."""


def _cell(cell: AnyCell) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def number(value: float, present: bool = True) -> str:
    """Return a score as tables show it: three decimals, ``-`` when there is none."""
    return f"{value:.3f}" if present else "-"


class Column(NamedTuple):
    """One column of a table, under the heading ``head``.

    Attributes:
        key: the key in JSON; empty leaves the column out of JSON.
        width: the width on a pipe, in characters; None makes the column as wide as its widest cell.
        cut: whether a longer text is cut to ``width`` on a pipe, with ``...`` at its end. A terminal shows it whole.
        right: whether the terminal aligns it to the right, as numbers are. A pipe aligns everything to the left.
        only: the one place that shows the column; None for both, ``json`` for neither. A column ``full`` is for a
            terminal, and for a table whose text is full.
    """

    head: str
    key: str = ""
    width: int | None = None
    cut: bool = False
    right: bool = False
    only: Place | Literal["json", "full"] | None = None


class TableRow(NamedTuple):
    """One row: a cell for each column, notes that belong to it, and a style for all of it."""

    cells: Sequence[AnyCell]
    notes: Sequence[str] = ()
    style: str = ""


class Table(NamedTuple):
    """A table.

    Attributes:
        rows: the rows; a bare sequence of cells is a row without notes.
        heads: whether the headings are shown.
        indent: by how many spaces everything is moved to the right.
        notes: the heading of the column in which a terminal shows the notes of rows.
        notes_indent: by how many spaces the notes are moved to the right on a pipe, where they follow their row.
        only: the one place that shows the table; None for both.
        full: whether its text on a pipe is full: no cell is cut, and the columns for full text are there.
    """

    columns: Sequence[Column]
    rows: Sequence[TableRow | Sequence[AnyCell]]
    heads: bool = True
    indent: int = 0
    notes: str = ""
    notes_indent: int = 4
    only: Place | None = None
    full: bool = False

    def pipe(self) -> str:
        """Return the table as text: two spaces between columns, the last one not padded.

        A table with a column that fits its content has no spaces at line ends.
        """
        here = (None, "pipe", "full") if self.full else (None, "pipe")
        shown = [n for n, column in enumerate(self.columns) if column.only in here]
        columns = [self.columns[n] for n in shown]
        if self.full:
            columns = [column._replace(width=None, cut=False) for column in columns]
        lines: list[tuple[list[str], Sequence[str]]] = []
        if self.heads:
            lines.append(([column.head for column in columns], ()))
        for row in self._rows():
            cells = [_cell(row.cells[n]).shown for n in shown]
            limits = [column.width if column.cut else None for column in columns]
            fitted = [text if most is None else cut(text, most) for text, most in zip(cells, limits, strict=True)]
            lines.append((fitted, row.notes))
        widths = [
            max((len(cells[n]) for cells, _ in lines), default=0) if column.width is None else column.width
            for n, column in enumerate(columns)
        ]
        fits = any(column.width is None for column in columns)
        text = []
        for cells, notes in lines:
            padded = [f"{cell:<{width}}" for cell, width in zip(cells[:-1], widths, strict=False)]
            line = " " * self.indent + _GAP.join([*padded, *cells[-1:]])
            text.append(line.rstrip(" ") if fits else line)
            text += [" " * (self.indent + self.notes_indent) + printable(note) for note in notes]
        return "".join(f"{line}\n" for line in text)

    def drawn(self) -> "rich.table.Table":
        """Return the table as one of rich: nothing cut off, long texts folded."""
        from rich.table import Table as RichTable
        from rich.text import Text

        shown = [n for n, column in enumerate(self.columns) if column.only in (None, "terminal", "full")]
        table = RichTable(box=None, header_style="bold", padding=(0, 2, 0, 0), show_header=self.heads)
        for n in shown:
            column = self.columns[n]
            table.add_column(visible(column.head), justify="right" if column.right else "left", overflow="fold")
        rows = self._rows()
        with_notes = any(row.notes for row in rows)
        if with_notes:
            table.add_column(self.notes, overflow="fold")
        for row in rows:
            cells = [_drawn(row.cells[n]) for n in shown]
            if with_notes:
                cells.append(Text("\n".join(map(visible, row.notes))))
            table.add_row(*cells, style=row.style)
        return table

    def as_json(self) -> list[dict[str, Any]]:
        """Return the rows as data: the values of the columns that have a key."""
        return [
            {column.key: _cell(cell).value for column, cell in zip(self.columns, row.cells, strict=True) if column.key}
            for row in self._rows()
        ]

    def _rows(self) -> list[TableRow]:
        return [row if isinstance(row, TableRow) else TableRow(row) for row in self.rows]


class Line(NamedTuple):
    """A line of text, in parts where a part has a style of its own; ``only`` is the one place that shows it."""

    parts: Sequence[AnyCell] | str = ""
    style: str = ""
    only: Place | None = None

    def pipe(self) -> str:
        """Return the line as text."""
        return "".join(_cell(part).shown for part in self._cells()) + "\n"

    def drawn(self) -> "rich.text.Text":
        """Return the line as a text of rich."""
        from rich.text import Text

        return Text(style=self.style).join(map(_drawn, self._cells()))

    def _cells(self) -> Sequence[AnyCell]:
        return [self.parts] if isinstance(self.parts, str) else self.parts


Block: TypeAlias = Line | Table


def _drawn(cell: AnyCell) -> "rich.text.Text":
    from rich.text import Text

    found = _cell(cell)
    return Text(show_hidden(found.shown), found.style)


def pairs(rows: Iterable[tuple[str, str]], width: int | None = None, indent: int = 0) -> Table:
    """Return names and texts as a table without headings, a pair a line."""
    return Table((Column("", width=width), Column("")), list(rows), heads=False, indent=indent)


def pipe_text(blocks: Iterable[Block]) -> str:
    """Return lines and tables as text for a pipe."""
    return "".join(block.pipe() for block in blocks if block.only in (None, "pipe"))


def draw(blocks: Iterable[Block], console: "rich.console.Console") -> None:
    """Draw lines and tables on a terminal."""
    from rich.padding import Padding

    for block in blocks:
        if block.only in (None, "terminal"):
            indent = block.indent if isinstance(block, Table) else 0
            console.print(Padding(block.drawn(), (0, 0, 0, indent)) if indent else block.drawn())
