"""What a command shows, as a value: lines and tables.

One value becomes text for a pipe and a drawing on a terminal (``drawing.py``). The text is byte for
byte the reference's where the reference has such a table (docs/COMMANDS.md, "Tables on a pipe").
Control characters in texts are always shown as escapes.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Literal, NamedTuple, TypeAlias

from rubric import BAND_LABELS, Bounds
from rubric.breakdown import Coverage
from scoring.text import as_utf8, cut, printable, short

Place: TypeAlias = Literal["pipe", "terminal"]

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


AnyCell: TypeAlias = Cell | str | int
"""A cell; a plain string or integer is shown as it is."""

Cells: TypeAlias = Sequence[AnyCell]
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
    """Return what people read for a band."""
    return BAND_LABELS.get(band, band)


class Column(NamedTuple):
    """One column of a table.

    Attributes:
        head: the heading.
        width: characters on a pipe; None makes the column as wide as its widest cell.
        cut: whether a pipe cuts longer texts to ``width``, with ``...`` at the end.
        right: whether a terminal aligns the column to the right, as numbers are; a pipe never does.
        only: the place that shows the column; None for both places. ``full`` means a terminal, and
            a pipe if the table is full.
        prose: whether the texts explain themselves: a narrow terminal shows them below their row
            without the heading.
    """

    head: str
    width: int | None = None
    cut: bool = False
    right: bool = False
    only: Place | Literal["full"] | None = None
    prose: bool = False


def numeric(head: str, width: int | None = None) -> Column:
    """Return a column of numbers, which a terminal aligns to the right."""
    return Column(head, width=width, right=True)


def columns_of(*heads: Column | str) -> list[Column]:
    """Return columns, where a bare string is the heading of a column of text."""
    return [Column(head) if isinstance(head, str) else head for head in heads]


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
        only: the place that shows the table; None for both places.
        full: whether a pipe cuts no cell and has the columns for full text.
        records: whether a narrow terminal shows each row as a block, one line a column.
    """

    columns: Sequence[Column]
    rows: Sequence[TableRow | Cells]
    heads: bool = True
    indent: int = 0
    notes: str = ""
    notes_indent: int = 4
    only: Place | None = None
    full: bool = False
    records: bool = False

    def pipe(self) -> str:
        """Return the table as text for a pipe, with the notes of a row below it.

        Spaces at the end of a line, as before an empty last cell, stay only where every column has
        a fixed width, as in the reference's tables.
        """
        table = self.shown_in(None, "pipe", "full" if self.full else None)
        rows = table.table_rows()
        if self.heads:
            rows.insert(0, TableRow([column.head for column in table.columns]))

        lines = []
        for row in rows:
            texts = []
            for column, cell in zip(table.columns, row.cells, strict=True):
                text = as_cell(cell).shown()
                if column.cut and column.width is not None and not self.full:
                    text = cut(text, column.width)
                texts.append(text)
            lines.append(texts)

        widths = []
        for column, column_texts in zip(
            table.columns, zip(*lines, strict=True), strict=False
        ):
            width = column.width
            if self.full or width is None:
                width = max(map(len, column_texts))
            widths.append(width)

        page = []
        is_padded = not self.full and all(
            column.width is not None for column in table.columns
        )
        margin = " " * (self.indent + self.notes_indent)
        for row, cells in zip(rows, lines, strict=True):
            padded = map(str.ljust, cells[:-1], widths)
            line = " " * self.indent + _GAP.join([*padded, *cells[-1:]])
            page.append(line if is_padded else line.rstrip(" "))
            page += [margin + printable(note) for note in row.notes]
        return "".join(f"{line}\n" for line in page)

    def shown_in(self, *places: str | None) -> "Table":
        """Return the table with the columns that have one of some places as ``only``.

        If ``full`` is among the places, columns that are empty in every row are left out; a table
        without rows keeps them.

        Args:
            places: the values of ``only``. None is that of a column which is shown everywhere.
        """
        rows = self.table_rows()
        is_shown = []
        for index, column in enumerate(self.columns):
            has_text = any(as_cell(row.cells[index]).shown() for row in rows)
            is_needed = has_text or not rows or "full" not in places
            is_shown.append(column.only in places and is_needed)

        chosen_rows = [
            row._replace(cells=list(compress(row.cells, is_shown))) for row in rows
        ]
        return self._replace(
            columns=list(compress(self.columns, is_shown)), rows=chosen_rows
        )

    def table_rows(self) -> list[TableRow]:
        """Return the rows, each as a :class:`TableRow`."""
        return [
            row if isinstance(row, TableRow) else TableRow(row) for row in self.rows
        ]


class Line(NamedTuple):
    """A line of text.

    Attributes:
        parts: the text, or parts of it that may have their own styles.
        style: a style of rich for the whole line.
        only: the place that shows the line; None for both places.
        pasted: whether people paste it into a shell, so that no terminal may break it.
    """

    parts: Cells | str = ""
    style: str = ""
    only: Place | None = None
    pasted: bool = False

    def pipe(self) -> str:
        """Return the line as text."""
        return "".join(as_cell(part).shown() for part in self.cells()) + "\n"

    def cells(self) -> Cells:
        """Return the parts."""
        if isinstance(self.parts, str):
            return [self.parts]
        return self.parts


Block: TypeAlias = Line | Table | str
"""A part of a page; a bare text is a line in the usual style."""

Pair: TypeAlias = tuple[str, str]
"""A name and a text."""

Page: TypeAlias = Iterator[Block]
"""What a command shows, from top to bottom."""

Lines: TypeAlias = Iterator[str]
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


def pairs(rows: Iterable[Pair], width: int | None = None) -> Table:
    """Return names and texts as a table without headings.

    Args:
        rows: the names and texts.
        width: characters for the names; None takes as many as the longest name has.
    """
    return Table(columns_of(Column("", width=width), ""), list(rows), heads=False)


def pipe_text(blocks: Iterable[Block]) -> str:
    """Return a page as text for a pipe."""
    lines_and_tables = map(line_or_table, blocks)
    return "".join(
        block.pipe() for block in lines_and_tables if block.only in (None, "pipe")
    )


def line_or_table(block: Block) -> Line | Table:
    """Return a part of a page, with a bare text as a :class:`Line`."""
    return Line(block) if isinstance(block, str) else block


ITER = numeric("ITER", 6)
SCORE = numeric("SCORE", 9)
BAND = Column("BAND", 0)
BOUNDS = Column("BOUNDS", only="terminal")
INTERVAL = Column("95 %", only="terminal")
COVERAGE = Column("COVERAGE", only="full")
TASK = Column("TASK", 12, cut=True)
SHA = Column("SHA")
SUBJECT = Column("SUBJECT", prose=True)
NAMED = [ITER, TASK, SUBJECT, SHA]
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
    """Return the subject of a commit as a cell, with its first words as the brief text."""
    text = cut(as_utf8(subject), _SUBJECT_WIDTH) or "-"
    first_words = text[: _BRIEF_SUBJECT_WIDTH + 1].rpartition(" ")[0]

    brief = text
    if first_words and len(text) > _BRIEF_SUBJECT_WIDTH:
        brief = f"{first_words} ..."
    return Cell(text, brief=brief)


def named_cells(iteration: int, task: str, subject: str, sha: str | None) -> Cells:
    """Return the cells of :data:`NAMED`."""
    return iteration, task, subject_cell(subject), short(sha or "") or "-"
