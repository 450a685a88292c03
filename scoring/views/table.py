"""What a command shows, as a value: lines and tables.

One value becomes text for a pipe and a drawing on a terminal (``drawing.py``). Control characters
in texts are always shown as escapes.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import NamedTuple

from rubric import BAND_LABELS, Bounds
from rubric.breakdown import Coverage
from scoring.text import (
    MOST_SHOWN,
    as_utf8,
    cut,
    printable,
    short,
    without_middle,
)

_GAP = "  "
_SUBJECT_WIDTH = 72
_BRIEF_SUBJECT_WIDTH = 40

_GRADES = {"excellent": "bold green", "good": "green", "fair": "yellow", "poor": "red"}
_BAND_STYLES = _GRADES | {"insufficient": "dim", "unscored": "dim"}


class Cell(NamedTuple):
    """One cell of a table, or one part of a line.

    Attributes:
        text: what people read.
        style: a style of rich, such as ``bold red``.
        brief: a shorter text for a narrow terminal; None where the cell has none.
    """

    text: str
    style: str = ""
    brief: str | None = None

    def shown(self, brief: bool = False) -> str:
        """Return the text, or the brief text if ``brief`` is set and there is one, escaped."""
        if brief and self.brief is not None:
            return printable(self.brief)
        return printable(self.text)


AnyCell = Cell | str | int
"""A cell; a plain string or integer is shown as it is."""

Cells = Sequence[AnyCell]
"""The cells of a row, one for each column."""


def as_cell(cell: AnyCell) -> Cell:
    """Return a cell as a :class:`Cell`."""
    if isinstance(cell, Cell):
        return cell
    return Cell(str(cell))


def number(value: float | None, present: bool = True) -> str:
    """Return a score as tables show it: three decimals, or ``-`` for None or if not present."""
    if value is None or not present:
        return "-"
    return f"{value:.3f}"


def band_text(band: str) -> str:
    """Return what people read for a band: an unknown one as it is."""
    return BAND_LABELS.get(band, band)


class Column(NamedTuple):
    """One column of a table.

    Attributes:
        head: the heading.
        right: whether a terminal aligns the column to the right, as numbers are; a pipe never does.
        prose: whether the texts explain themselves: a narrow terminal shows them below their row
            without the heading.
    """

    head: str
    right: bool = False
    prose: bool = False


def numeric(head: str) -> Column:
    """Return a column of numbers, which a terminal aligns to the right."""
    return Column(head, right=True)


Columns = Sequence[Column | str]
"""The columns of a table; a bare string is the heading of a column of text."""


class TableRow(NamedTuple):
    """One row of a table.

    Attributes:
        cells: one for each column.
        notes: lines that belong to the row.
        style: a style of rich for the whole row.
    """

    cells: Cells
    notes: Sequence[str] = ()
    style: str = ""


class Table(NamedTuple):
    """A table.

    Attributes:
        columns: the columns.
        rows: the rows; a bare sequence of cells is a row without notes.
        heads: whether the headings are shown.
        indent: spaces before each line.
        notes: the heading of the column in which a wide terminal shows the notes of rows.
        notes_indent: further spaces before notes on a pipe, where they are below their row.
        records: whether a narrow terminal shows each row as a block, one line a column, and every
            column is shown, be it empty or not.
    """

    columns: Columns
    rows: Sequence[TableRow | Cells]
    heads: bool = True
    indent: int = 0
    notes: str = ""
    notes_indent: int = 4
    records: bool = False

    def pipe(self) -> str:
        """Return the table as text for a pipe, with the notes of a row below it."""
        columns, rows = self.shown()
        if self.heads:
            rows.insert(0, TableRow([column.head for column in columns]))

        lines = [[as_cell(cell).shown() for cell in row.cells] for row in rows]
        widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]

        page = []
        margin = " " * (self.indent + self.notes_indent)
        for row, texts in zip(rows, lines, strict=True):
            line = _GAP.join(map(str.ljust, texts, widths))
            page.append(" " * self.indent + line.rstrip(" "))
            page += [margin + printable(note) for note in row.notes]
        return "".join(f"{line}\n" for line in page)

    def shown(self) -> tuple[list[Column], list[TableRow]]:
        """Return the columns and rows, without the columns that are empty in every row.

        A table without rows, or of records, keeps its columns.
        """
        columns = [
            Column(column) if isinstance(column, str) else column
            for column in self.columns
        ]
        rows = [
            row if isinstance(row, TableRow) else TableRow(row) for row in self.rows
        ]
        if self.records or not rows:
            return columns, rows

        is_shown = [
            any(as_cell(cell).shown() for cell in cells)
            for cells in zip(*(row.cells for row in rows), strict=True)
        ]
        return list(compress(columns, is_shown)), [
            row._replace(cells=list(compress(row.cells, is_shown))) for row in rows
        ]


class Line(NamedTuple):
    """A line of text.

    Attributes:
        parts: the text, or parts of it that may have their own styles.
        style: a style of rich for the whole line.
        pasted: whether people paste it into a shell, so that no terminal may break it.
    """

    parts: Cells | str = ""
    style: str = ""
    pasted: bool = False

    def pipe(self) -> str:
        """Return the line as text."""
        return "".join(as_cell(part).shown() for part in self.cells()) + "\n"

    def cells(self) -> Cells:
        """Return the parts."""
        if isinstance(self.parts, str):
            return [self.parts]
        return self.parts


Block = Line | Table | str
"""A part of a page; a bare text is a line in the usual style."""

Pair = tuple[str, str]
"""A name and a text."""

Page = Iterator[Block]
"""What a command shows, from top to bottom."""

Lines = Iterator[str]
"""Lines of a page, each a text."""


def commands_to_paste(title: str, commands: Iterable[str]) -> Page:
    """Yield commands under a title, or nothing without commands."""
    lines = [Line(f"  {command}", pasted=True) for command in commands]
    if lines:
        yield ""
        yield title
        yield from lines


def titled(title: str, *blocks: Block) -> Iterator[Block]:
    """Yield blocks under a title, with an empty line before it."""
    yield ""
    yield Line(title, "bold")
    yield from blocks


def pairs(rows: Iterable[Pair]) -> Table:
    """Return names and texts as a table without headings."""
    return Table(("", ""), list(rows), heads=False)


def fixed(widths: Sequence[int], rows: Iterable[Cells], indent: str = "") -> Page:
    """Yield rows in columns of fixed widths, as the reference's tables are.

    Args:
        widths: the least characters of each column.
        rows: the rows, with the headings among them.
        indent: what each line begins with.
    """
    for row in rows:
        texts = [
            printable(str(cell)).ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ]
        yield indent + _GAP.join(texts)


def pipe_text(blocks: Iterable[Block]) -> str:
    """Return a page as text for a pipe."""
    return "".join(line_or_table(block).pipe() for block in blocks)


def with_short_texts(block: Block) -> Block:
    """Return a part of a page without the middle of each text over 2,000 characters.

    A line that people paste stays whole.
    """
    block = line_or_table(block)
    if isinstance(block, Line):
        return (
            block if block.pasted else block._replace(parts=_shortened(block.cells()))
        )

    rows = []
    for row in block.rows:
        if not isinstance(row, TableRow):
            row = TableRow(row)
        notes = [without_middle(note, MOST_SHOWN) for note in row.notes]
        rows.append(row._replace(cells=_shortened(row.cells), notes=notes))
    return block._replace(rows=rows)


def _shortened(cells: Cells) -> list[Cell]:
    """Return cells, each without the middle of a text over 2,000 characters."""
    shortened = []
    for cell in map(as_cell, cells):
        text = without_middle(cell.text, MOST_SHOWN)
        brief = cell.brief and without_middle(cell.brief, MOST_SHOWN)
        shortened.append(cell._replace(text=text, brief=brief))
    return shortened


def line_or_table(block: Block) -> Line | Table:
    """Return a part of a page, with a bare text as a :class:`Line`."""
    return Line(block) if isinstance(block, str) else block


ITER = numeric("ITER")
SCORE = numeric("SCORE")
SHA = Column("SHA")
SUBJECT = Column("SUBJECT", prose=True)
NAMED = [ITER, Column("TASK"), SUBJECT, SHA]
"""The columns that name an iteration, at the beginning of its row."""


def band_cell(band: str, graded: bool = True) -> Cell:
    """Return a band as a colored cell.

    Args:
        band: the band.
        graded: whether scores mean something here; if not, a grade such as ``good`` stays empty.
    """
    if not graded and band in _GRADES:
        return Cell("")

    text = band_text(band)
    return Cell(text, _BAND_STYLES.get(band, ""), text.removesuffix(" evidence"))


def bounds_text(bounds: Bounds | None, scored: bool = True) -> str:
    """Return the bounds of a score, as ``(0.40–0.90)``, or "" for None or without a score."""
    if bounds is None or not scored:
        return ""
    return f"({bounds.low:.2f}–{bounds.high:.2f})"


def coverage_cell(coverage: Coverage) -> Cell:
    """Return how much of the rubric voted, as a cell with the brief text ``6/8 · 83 %``."""
    signals = f"{coverage.present}/{coverage.total}"
    brief = f"{signals} · {coverage.weight * 100:.0f} %"
    return Cell(str(coverage), brief=brief)


def subject_cell(subject: str) -> Cell:
    """Return the subject of a commit as a cell, cut, with its first words as the brief text.

    An empty one is shown as ``-``.
    """
    text = cut(as_utf8(subject), _SUBJECT_WIDTH) or "-"
    first_words = text[: _BRIEF_SUBJECT_WIDTH + 1].rpartition(" ")[0]

    brief = text
    if first_words and len(text) > _BRIEF_SUBJECT_WIDTH:
        brief = f"{first_words} ..."
    return Cell(text, brief=brief)


def named_cells(iteration: int, task: str, subject: str, sha: str | None) -> Cells:
    """Return the cells of :data:`NAMED`. The SHA is cut; without one, the cell is ``-``."""
    return iteration, task, subject_cell(subject), short(sha or "") or "-"
