"""What a command shows, as a value: lines and tables, as text for a pipe and as JSON; drawing.py draws them.

The text is byte for byte the reference's where the reference has such a table (docs/COMMANDS.md, "Tables on a pipe").
Every text is shown with its control characters escaped.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from rubric import BAND_LABELS, Bounds
from rubric.breakdown import Coverage
from scoring.text import as_utf8, cut, printable, short

Place: TypeAlias = Literal["pipe", "terminal"]

_GAP = "  "
_SUBJECT, _BRIEF = (
    72,
    40,
)  # how many characters of a subject are shown, and where there is little room

_GRADES = {"excellent": "bold green", "good": "green", "fair": "yellow", "poor": "red"}
BAND_STYLES = _GRADES | {"insufficient": "dim", "unscored": "dim"}


class Cell(NamedTuple):
    """Plain data for JSON, the text shown (``str(value)`` when None), a style of rich, and a ``brief`` text."""

    value: Any
    text: str | None = None
    style: str = ""
    brief: str | None = None

    def shown(self, brief: bool = False) -> str:
        """Return the text, or the brief one where there is one, with its control characters escaped."""
        text = self.brief if brief and self.brief is not None else self.text
        return printable(str(self.value) if text is None else text)


AnyCell: TypeAlias = Cell | str | int  # A cell; a plain string or integer is shown as it is


def as_cell(cell: AnyCell) -> Cell:
    """Return a cell as a :class:`Cell`."""
    return cell if isinstance(cell, Cell) else Cell(cell)


def number(value: float, present: bool = True) -> str:
    """Return a score as tables show it: three decimals, ``-`` when there is none."""
    return f"{value:.3f}" if present else "-"


def band_text(band: str) -> str:
    """Return what people read for a band."""
    return BAND_LABELS.get(band, band)


class Column(NamedTuple):
    """One column of a table, under the heading ``head``, and under ``key`` in JSON where it has one.

    Attributes:
        width: the width on a pipe, in characters; None makes the column as wide as its widest cell.
        cut: whether a longer text is cut to ``width`` on a pipe, with ``...`` at its end. A terminal cuts nothing.
        right: whether a terminal aligns it to the right, as numbers are; a pipe never does.
        only: the one place that shows it; None for both, ``full`` for a terminal and full text.
        prose: whether its texts explain themselves, so that they need no name below a row that has no room for them.
    """

    head: str
    key: str = ""
    width: int | None = None
    cut: bool = False
    right: bool = False
    only: Place | Literal["full"] | None = None
    prose: bool = False


class TableRow(NamedTuple):
    """One row: a cell for each column, notes that belong to it, and a style for all of it."""

    cells: Sequence[AnyCell]
    notes: Sequence[str] = ()
    style: str = ""


class Table(NamedTuple):
    """A table; a bare sequence of cells is a row without notes.

    Attributes:
        heads: whether the headings are shown.
        indent: by how many spaces everything is moved to the right.
        notes: the heading of the column in which a terminal shows the notes of rows, where it is wide enough.
        notes_indent: by how many spaces the notes are moved to the right on a pipe, where they follow their row.
        only: the one place that shows the table; None for both.
        full: whether its text on a pipe is full: no cell is cut, and the columns for full text are there.
        records: whether a terminal that is too narrow shows every row as a block, with a line for each column.
    """

    columns: Sequence[Column]
    rows: Sequence[TableRow | Sequence[AnyCell]]
    heads: bool = True
    indent: int = 0
    notes: str = ""
    notes_indent: int = 4
    only: Place | None = None
    full: bool = False
    records: bool = False

    def pipe(self) -> str:
        """Return the table as text; one with a column that fits its content has no spaces at line ends."""
        table = self.shown_in(*((None, "pipe", "full") if self.full else (None, "pipe")))
        lines = [[column.head for column in table.columns]] if self.heads else []
        for row in table.table_rows():
            texts = [as_cell(cell).shown() for cell in row.cells]
            cuts = [
                column.width if column.cut and not self.full else None for column in table.columns
            ]
            lines.append(
                [t if most is None else cut(t, most) for t, most in zip(texts, cuts, strict=True)]
            )
        fits = self.full or any(column.width is None for column in table.columns)
        widths = [
            max(map(len, texts)) if self.full or column.width is None else column.width
            for column, texts in zip(table.columns, zip(*lines, strict=True), strict=False)
        ]
        notes = [()] * self.heads + [row.notes for row in table.table_rows()]
        text = ""
        for line, below in zip(lines, notes, strict=True):
            padded = [f"{cell:<{width}}" for cell, width in zip(line[:-1], widths, strict=False)]
            shown = " " * self.indent + _GAP.join([*padded, *line[-1:]])
            text += (shown.rstrip(" ") if fits else shown) + "\n"
            text += "".join(
                " " * (self.indent + self.notes_indent) + printable(note) + "\n" for note in below
            )
        return text

    def shown_in(self, *places: str | None) -> "Table":
        """Return the table with the columns that are for some places; full text leaves out those without any text."""
        rows, shown = (
            self.table_rows(),
            [n for n, column in enumerate(self.columns) if column.only in places],
        )
        if "full" in places and rows:
            shown = [n for n in shown if any(as_cell(row.cells[n]).shown() for row in rows)]
        rows = [row._replace(cells=[row.cells[n] for n in shown]) for row in rows]
        return self._replace(columns=[self.columns[n] for n in shown], rows=rows)

    def as_json(self) -> list[dict[str, Any]]:
        """Return the rows as data: the values of the columns that have a key."""
        keys = [column.key for column in self.columns]
        rows = (zip(keys, row.cells, strict=True) for row in self.table_rows())
        return [{key: as_cell(cell).value for key, cell in row if key} for row in rows]

    def table_rows(self) -> list[TableRow]:
        """Return the rows, each with its notes."""
        return [row if isinstance(row, TableRow) else TableRow(row) for row in self.rows]


class Line(NamedTuple):
    """A line of text, in parts where a part has a style of its own; ``only`` is the one place that shows it."""

    parts: Sequence[AnyCell] | str = ""
    style: str = ""
    only: Place | None = None

    def pipe(self) -> str:
        """Return the line as text."""
        return "".join(as_cell(part).shown() for part in self.cells()) + "\n"

    def cells(self) -> Sequence[AnyCell]:
        """Return the parts."""
        return [self.parts] if isinstance(self.parts, str) else self.parts


Block: TypeAlias = Line | Table


def pairs(rows: Iterable[tuple[str, str]], width: int | None = None, indent: int = 0) -> Table:
    """Return names and texts as a table without headings, a pair a line."""
    return Table((Column("", width=width), Column("")), list(rows), heads=False, indent=indent)


def pipe_text(blocks: Iterable[Block]) -> str:
    """Return lines and tables as text for a pipe."""
    return "".join(block.pipe() for block in blocks if block.only in (None, "pipe"))


ITER = Column("ITER", width=6, right=True)
SCORE = Column("SCORE", width=9, right=True)
BAND = Column("BAND", width=0)
BOUNDS = Column("BOUNDS", only="terminal")
INTERVAL = Column("95 %", only="terminal")
COVERAGE = Column("COVERAGE", only="full")
TASK = Column("TASK", width=12, cut=True)
SHA = Column("SHA")
SUBJECT = Column("SUBJECT", prose=True)
NAMED = [ITER, TASK, SUBJECT, SHA]  # what the row of an iteration begins with


def band_cell(band: str, graded: bool = True) -> Cell:
    """Return a band as a cell, in its colour and by the name that people read; a grade only where that means much."""
    if not graded and band in _GRADES:
        return Cell(band, "")
    text = band_text(band)
    return Cell(band, text, BAND_STYLES.get(band, ""), brief=text.removesuffix(" evidence"))


def bounds_text(bounds: Bounds | None, scored: bool = True) -> str:
    """Return what the absent signals could make of a value, as a terminal shows it beside the value."""
    return f"({bounds.low:.2f}–{bounds.high:.2f})" if bounds and scored else ""


def coverage_cell(coverage: Coverage) -> Cell:
    """Return what a score rests on as a cell, in brief ``6/8 · 83 %``."""
    return Cell(
        None,
        str(coverage),
        brief=f"{coverage.present}/{coverage.total} · {coverage.weight * 100:.0f} %",
    )


def subject_cell(subject: str) -> Cell:
    """Return a subject as a cell, with its first words as a brief text."""
    text = cut(as_utf8(subject), _SUBJECT) or "-"
    words = text[: _BRIEF + 1].rpartition(" ")[0]
    return Cell(subject, text, brief=f"{words} ..." if words and len(text) > _BRIEF else text)


def named_cells(iteration: int, task: str, subject: str, sha: str | None) -> tuple[AnyCell, ...]:
    """Return the cells of :data:`NAMED`."""
    return iteration, task, subject_cell(subject), short(sha or "") or "-"
