"""Lines and tables on a terminal, by rich: nothing is cut; too wide tables use brief texts, then notes, then blocks."""

import io
import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from scoring.text import show_hidden, visible
from scoring.views.table import AnyCell, Block, Cell, Line, Table, as_cell

_GAP = 2
_BELOW = 4  # by how many spaces what goes below a row is moved to the right
_LEAST = 20  # the least width in which a text is folded beside another
_START = re.compile(
    r" *(?:(?:→|-|[0-9]{1,4}\.) +|\S{1,16} {2,})?"
)  # before a line's text: spaces, a mark, or a name


def draw(blocks: Iterable[Block], console: Console) -> None:
    """Draw lines and tables on a terminal."""
    for block in blocks:
        if block.only in (None, "terminal"):
            if isinstance(block, Line):
                parts = iter(
                    [_hung(Text(style=block.style).join(map(_text, block.cells())), console.width)]
                )
            else:
                parts = _table(block, console.width)
            for part in parts:
                console.print(part, overflow="fold")


def folded_text(text: str, width: int) -> str:
    """Return text with every line folded between words to a width."""
    screen = io.StringIO()
    console = Console(
        file=screen, width=width, color_system=None, highlight=False, markup=False, emoji=False
    )
    draw((Line([Cell(line)]) for line in text.splitlines()), console)
    return unpadded(screen.getvalue())


def unpadded(text: str) -> str:
    """Return text without the spaces at the ends of its lines."""
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def _text(cell: AnyCell, style: str = "", brief: bool = False) -> Text:
    found = as_cell(cell)
    return Text(show_hidden(found.shown(brief)), f"{style} {found.style}".strip())


def _row(texts: Sequence[Text], widths: Sequence[int], right: Sequence[bool] = ()) -> Text:
    aligned = [text.copy() for text in texts]
    for n, text in enumerate(aligned):
        text.align("right" if n < len(right) and right[n] else "left", widths[n])
    return Text(" " * _GAP).join(aligned)


def _beside(first: Text, width: int, last: Text) -> Grid:
    grid = Grid.grid()
    grid.add_column(width=width, no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(first, last)
    return grid


def _has_room(text: Text, width: int) -> bool:
    return max(map(cell_len, text.plain.split()), default=0) <= width


def _hung(text: Text, width: int) -> RenderableType:
    found = _START.match(text.plain)
    start = found.end() if found else 0
    wide = cell_len(text.plain[:start])
    if text.cell_len <= width or not start:
        return text
    if wide * 2 <= width and _has_room(text, width - wide):
        return _beside(text[:start], wide, text[start:])
    return text[len(text.plain) - len(text.plain.lstrip()) :]


def _below(text: Text, width: int) -> Padding:
    return Padding(_hung(text, width - _BELOW), (0, 0, 0, _BELOW))


def _table(table: Table, width: int) -> Iterator[RenderableType]:
    for part in _fitted(table.shown_in(None, "terminal", "full"), max(width - table.indent, 1)):
        yield Padding(part, (0, 0, 0, table.indent)) if table.indent else part


def _fitted(table: Table, width: int) -> Iterator[RenderableType]:
    rows, right = table.table_rows(), [column.right for column in table.columns]
    heads = [Text(visible(column.head), "bold") for column in table.columns] if table.heads else []
    texts = [[_text(cell, row.style) for cell in row.cells] for row in rows]
    if any(row.notes for row in rows):
        notes = [Text("\n".join(map(visible, row.notes)), row.style) for row in rows]
        lines = [
            [*heads, Text(table.notes, "bold")],
            *([*row, note] for row, note in zip(texts, notes, strict=True)),
        ]
    else:
        lines = [heads, *texts] if heads else texts
    if _sum(widths := _widths(lines)) <= width:
        for line in lines:
            last, *more = line[-1].split("\n")
            yield _row([*line[:-1], last], widths, right)
            yield from (Text(" " * (_sum(widths) - widths[-1])) + note for note in more)
        return
    if not heads:
        for row, line in zip(rows, texts, strict=True):
            yield from _beside_or_below(line, widths, width)
            yield from (_below(Text(visible(note), row.style), width) for note in row.notes)
        return
    for n in reversed(range(len(heads))):
        if _sum(_widths([heads, *texts])) > width:
            for row, line in zip(rows, texts, strict=True):
                line[n] = _text(row.cells[n], row.style, brief=True)
    widths, kept = _widths([heads, *texts]), list(range(len(heads)))
    while _sum([widths[n] for n in kept]) > width and len(kept) > 1 and not table.records:
        kept.remove(max(kept[1:], key=lambda n: (widths[n], n)))
    if _sum([widths[n] for n in kept]) > width:
        yield from _blocks(table, heads, width)
        return
    how = [widths[n] for n in kept], [right[n] for n in kept]
    yield _row([heads[n] for n in kept], *how)
    for row, line in zip(rows, texts, strict=True):
        yield _row([line[n] for n in kept], *how)
        moved = [n for n, text in enumerate(line) if n not in kept and text.plain not in ("", "-")]
        named = [
            line[n] if table.columns[n].prose else Text.assemble((f"{heads[n]} ", "dim"), line[n])
            for n in moved
        ]
        yield from ([_below(Text(" " * _GAP).join(named), width)] if named else [])
        yield from (_below(Text(visible(note), row.style), width) for note in row.notes)


def _widths(lines: Sequence[Sequence[Text]]) -> list[int]:
    columns = ("\n".join(text.plain for text in column) for column in zip(*lines, strict=True))
    return [max(map(cell_len, column.split("\n"))) for column in columns]


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _beside_or_below(
    texts: Sequence[Text], widths: Sequence[int], width: int
) -> Iterator[RenderableType]:
    *first, last = texts
    room = width - _sum([*widths[: len(first)], 0])
    if room >= _LEAST and (_has_room(last, room) or not _has_room(last, width - _BELOW)):
        yield _beside(_row(first, widths), width - room, last)
    else:
        yield from ([_row(first, widths)] if first else [])
        yield _below(last, width)


def _blocks(table: Table, heads: Sequence[Text], width: int) -> Iterator[RenderableType]:
    names = max(head.cell_len for head in heads)
    for number, row in enumerate(table.table_rows()):
        yield from ([Text()] if number else [])
        for head, cell in zip(heads, row.cells, strict=True):
            yield from _beside_or_below([head, _text(cell, row.style)], [names], width)
        yield from (Text(visible(note), row.style) for note in row.notes)
