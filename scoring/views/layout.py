"""How lines and tables are laid out on a terminal of some width: no row is wrapped, and no word is broken.

A table that is too wide for the terminal shows the brief texts of its cells, from the right; then the widest columns go
below their row, with their names; then every row is a block with a line for each column. Text is folded between words,
and a path or an id that is longer than the terminal after one of its separators.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from scoring.text import show_hidden, visible

if TYPE_CHECKING:
    from rich.text import Text

    from scoring.views.table import Cell, Table, TableRow

_GAP = "  "
_BELOW = 4
"""By how many spaces what goes below a row is moved to the right."""
_LEAST = 20
"""The least width in which the last column of a table without headings is folded."""

_UNIT = r" (?:[kMGhs%]|ms|min|MB|GB)(?![^\s,;.:)])[,;.:)]*"
_RANGE = r" {1,2}\([0-9.]+–[0-9.]+\)"
_WORD = re.compile(rf"(?:(?:Source:|score) )?\S+(?:(?<=[0-9])(?:{_UNIT}|{_RANGE}))*")
"""What is not broken at its spaces either: a number with its unit or its range, a score, and a source."""
_SEPARATORS = (re.compile(r"[^/\\]+[/\\]*|[/\\]+"), re.compile(r"[^,;:=&?._-]+[,;:=&?._-]*|[,;:=&?._-]+"))
"""The parts of a word that is too long, each with the separators after it: first those of a path."""
_START = re.compile(r" *(?:(?:→|-|[0-9]{1,4}\.) +|\S{1,16} {2,})?")


def folded(text: str, width: int) -> list[tuple[int, int]]:
    """Return where the lines of a text begin and end that is folded between words to some width.

    Lines after the first are for :func:`hang` spaces less, by which they are to be moved to the right.
    """
    if _cells(text) <= width:
        return [(0, len(text))]
    room = width - hang(text, width)
    lines: list[tuple[int, int]] = []
    start, end = 0, 0
    for begin, stop in _pieces(text, room):
        if not end and _cells(text[:stop]) > width:  # the spaces before the first word give way to it
            start = max(begin - max(width - _cells(text[begin:stop]), 0), 0)
        if end and _cells(text[start:stop]) > (room if lines else width) and text[start:end].strip():
            lines.append((start, end))
            start = begin
        end = stop
    return [*lines, (start, end)]


def hang(text: str, width: int) -> int:
    """Return by how many spaces the lines after the first are moved to the right: to below the text of the first."""
    found = _START.match(text)
    length = found.end() if found else 0
    return min(length if length * 2 <= width else 0, width - _longest(text, width))


def folded_text(text: str, width: int) -> str:
    """Return text of many lines with every line folded to a width, each with its line end."""
    lines = []
    for line in text.splitlines():
        spans, spaces = folded(line, width), " " * hang(line, width)
        lines += [(spaces if n else "") + line[start:end] for n, (start, end) in enumerate(spans)]
    return "".join(f"{line}\n" for line in lines)


def _pieces(text: str, room: int) -> Iterator[tuple[int, int]]:
    """Yield what is not to be broken: words, and of words that are too long their parts, the largest that have room."""
    for word in _WORD.finditer(text):
        yield from _parts(text, *word.span(), room, _SEPARATORS)


def _parts(
    text: str, start: int, end: int, room: int, separators: "Sequence[re.Pattern[str]]"
) -> Iterator[tuple[int, int]]:
    if _cells(text[start:end]) <= room:
        yield start, end
    elif not separators:
        step = max(room if text[start:end].isascii() else room // 2, 1)
        yield from ((n, min(n + step, end)) for n in range(start, end, step))
    else:
        for part in separators[0].finditer(text, start, end):
            yield from _parts(text, *part.span(), room, separators[1:])


def _longest(text: str, width: int) -> int:
    """Return how many columns the longest word takes that a line of a width can hold."""
    return max((length for word in _WORD.findall(text) if (length := _cells(word)) <= width), default=0)


def _cells(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # only text that is not ASCII needs its tables

    return cell_len(text)


def text_drawn(text: "Text", width: int) -> "Iterator[Text]":
    """Yield a text of one line as lines of a terminal."""
    from rich.text import Text

    spaces = Text(" " * hang(text.plain, width))
    for n, (start, end) in enumerate(folded(text.plain, width)):
        yield Text.assemble(spaces, text[start:end]) if n and spaces.plain else text[start:end]


def table_drawn(table: "Table", width: int) -> "Iterator[Text]":
    """Yield a table as lines of a terminal."""
    from rich.text import Text

    indent = Text(" " * table.indent)
    for line in _Shape.of(table).lines(max(width - table.indent, 1)):
        yield Text.assemble(indent, line) if table.indent else line


class _Shape(NamedTuple):
    """A table as a terminal shows it: of each column what it is like, and the cells."""

    heads: tuple[str, ...]
    right: tuple[bool, ...]
    prose: tuple[bool, ...]
    rows: "tuple[tuple[TableRow, tuple[Cell, ...]], ...]"
    headed: bool
    records: bool
    notes: str

    @classmethod
    def of(cls, table: "Table") -> "_Shape":
        shown = table.columns_drawn()
        return cls(
            tuple(visible(table.columns[n].head) for n in shown),
            tuple(table.columns[n].right for n in shown),
            tuple(table.columns[n].prose for n in shown),
            tuple((row, tuple(table.cells_of(row)[n] for n in shown)) for row in table.table_rows()),
            table.heads,
            table.records,
            table.notes,
        )

    def lines(self, width: int) -> "Iterator[Text]":
        """Yield the lines, in the first form that fits."""
        notes = max((_cells(visible(note)) for row, _ in self.rows for note in row.notes), default=0)
        beside = max(notes, _cells(self.notes)) + len(_GAP) if notes else 0
        everything = list(range(len(self.heads)))
        widths = self._widths(())
        if _sum(widths, everything) + beside <= width:
            yield from self._rows(everything, (), widths, width, beside=bool(notes))
            return
        if not self.headed:
            yield from self._last_folded(widths, width)
            return
        brief: list[int] = []
        for n in reversed(everything):
            if _sum(widths, everything) <= width:
                break
            if any(cells[n].brief is not None for _, cells in self.rows):
                brief.append(n)
                widths = self._widths(brief)
        kept = list(everything)
        while _sum(widths, kept) > width and len(kept) > 1 and not self.records:
            kept.remove(max(kept[1:], key=lambda n: (widths[n], n)))
        if _sum(widths, kept) <= width:
            yield from self._rows(kept, brief, widths, width)
        else:
            yield from self._blocks(width)

    def _widths(self, brief: Sequence[int]) -> list[int]:
        return [
            max((_cells(self._text(cells, n, brief)) for _, cells in self.rows), default=0)
            if not self.headed
            else max([_cells(head), *(_cells(self._text(cells, n, brief)) for _, cells in self.rows)])
            for n, head in enumerate(self.heads)
        ]

    @staticmethod
    def _text(cells: "Sequence[Cell]", n: int, brief: Sequence[int]) -> str:
        return show_hidden(cells[n].brief_shown if n in brief else cells[n].shown)

    def _rows(
        self, kept: Sequence[int], brief: Sequence[int], widths: Sequence[int], width: int, beside: bool = False
    ) -> "Iterator[Text]":
        """Yield a line for each row with the columns that are kept, and the others below it."""
        from rich.text import Text

        if self.headed:
            heads = [Text(self.heads[n], "bold") for n in kept]
            yield self._line(heads, kept, widths, Text(self.notes, "bold") if beside else None)
        moved = [n for n in range(len(self.heads)) if n not in kept]
        for row, cells in self.rows:
            texts = [Text(self._text(cells, n, brief), cells[n].style) for n in kept]
            notes = [Text(visible(note)) for note in row.notes]
            line = self._line(texts, kept, widths, notes[0] if beside and notes else None)
            yield _styled(line, row.style)
            if beside:
                start = " " * (_sum(widths, kept) + len(_GAP))
                yield from (_styled(Text.assemble(start, note), row.style) for note in notes[1:])
                continue
            below = [*self._below(cells, moved, brief, width - _BELOW)]
            below += [line for note in notes for line in text_drawn(note, max(width - _BELOW, 1))]
            yield from (_styled(Text.assemble(" " * _BELOW, line), row.style) for line in below)

    def _line(self, texts: "Iterable[Text]", kept: Sequence[int], widths: Sequence[int], note: "Text | None") -> "Text":
        from rich.text import Text

        padded = []
        for n, text in zip(kept, texts, strict=True):
            spaces = " " * (widths[n] - _cells(text.plain))
            padded.append(Text.assemble(spaces, text) if self.right[n] else Text.assemble(text, spaces))
        line = Text(_GAP).join([*padded, *([note] if note else [])])
        line.rstrip()
        return line

    def _below(
        self, cells: "Sequence[Cell]", moved: Sequence[int], brief: Sequence[int], room: int
    ) -> "Iterator[Text]":
        """Yield the columns that have no room in a row, with their names, as many on a line as fit."""
        from rich.text import Text

        line = Text()
        for n in moved:
            text = Text(self._text(cells, n, brief), cells[n].style)
            if text.plain in ("", "-"):
                continue
            item = text if self.prose[n] else Text.assemble((f"{self.heads[n]} ", "dim"), text)
            if line.plain and _cells(line.plain) + len(_GAP) + _cells(item.plain) > room:
                yield from text_drawn(line, max(room, 1))
                line = item
            else:
                line = Text.assemble(line, _GAP, item) if line.plain else item
        if line.plain:
            yield from text_drawn(line, max(room, 1))

    def _last_folded(self, widths: Sequence[int], width: int) -> "Iterator[Text]":
        """Yield a table without headings, its last column folded beside the others, or below them."""
        from rich.text import Text

        *first, last = range(len(self.heads))
        beside = _sum(widths, first) + len(_GAP) if first else 0
        for row, cells in self.rows:
            used = beside
            start = self._line([Text(show_hidden(cells[n].shown), cells[n].style) for n in first], first, widths, None)
            room, text = width - used, Text(show_hidden(cells[last].shown), cells[last].style)
            if first and not _has_room(text.plain, room, width):
                yield from (_styled(line, row.style) for line in text_drawn(start, width))
                used, room = _BELOW, max(width - _BELOW, 1)
                start = Text()
            for line in text_drawn(text, max(room, 1)):
                yield _styled(Text.assemble(start, " " * (used - _cells(start.plain)), line), row.style)
                start = Text()
            notes = [Text(visible(note)) for note in row.notes]
            for line in (line for note in notes for line in text_drawn(note, max(width - _BELOW, 1))):
                yield _styled(Text.assemble(" " * _BELOW, line), row.style)

    def _blocks(self, width: int) -> "Iterator[Text]":
        """Yield a block for each row: a line for each column, its name first."""
        from rich.text import Text

        names = max(map(_cells, self.heads))
        for number, (row, cells) in enumerate(self.rows):
            if number:
                yield Text()
            for head, cell in zip(self.heads, cells, strict=True):
                name, text = Text(head, "bold"), Text(show_hidden(cell.shown), cell.style)
                used = names + len(_GAP)
                if not _has_room(text.plain, width - used, width):
                    yield from text_drawn(name, width)
                    name, used = Text(), _BELOW
                for line in text_drawn(text, max(width - used, 1)):
                    found = Text.assemble(name, " " * (used - _cells(name.plain)), line)
                    found.rstrip()
                    yield _styled(found, row.style)
                    name = Text()
            for note in row.notes:
                yield from text_drawn(Text(visible(note)), width)


def _has_room(text: str, room: int, width: int) -> bool:
    """Return whether a text can be folded beside something, and need not go below it for one of its words."""
    return room >= _LEAST and _longest(text, width - _BELOW) <= room


def _sum(widths: Sequence[int], columns: Sequence[int]) -> int:
    return sum(widths[n] for n in columns) + len(_GAP) * (len(columns) - 1) if columns else 0


def _styled(text: "Text", style: str) -> "Text":
    if style:
        text.stylize_before(style)
    return text
