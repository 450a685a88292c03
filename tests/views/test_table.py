"""One table value, rendered for a pipe, for a terminal and as JSON."""

import io
import subprocess
import sys

import pytest
from rich.console import Console

from scoring.views.drawing import draw
from scoring.views.table import Block, Cell, Column, Line, Table, TableRow, number, pairs, pipe_text

SCORES = Table(
    (
        Column("ITER", "iteration", 6, right=True),
        Column("TASK", "task_id", 8, cut=True),
        Column("SCORE", "score", 9, right=True),
        Column("COVERAGE", "coverage", only="terminal"),
        Column("", "secret", only="json"),
        Column("BAND", "band"),
    ),
    [
        (1, "a task of many words", Cell(0.5, "0.500"), "3 of 4", Cell([1, 2]), Cell("good", style="green")),
        (12, "b\nc", Cell(None, "-"), "0 of 4", Cell(None), Cell("", style="dim")),
    ],
)


def drawn(*blocks: Block, width: int = 100) -> list[str]:
    """The lines of a terminal, without what it pads them with."""
    screen = io.StringIO()
    draw(blocks, Console(file=screen, width=width, highlight=False, markup=False, emoji=False))
    return [line.rstrip() for line in screen.getvalue().splitlines()]


class TestPipe:
    def test_has_columns_of_their_widths_the_last_not_padded(self) -> None:
        heads = Table(SCORES.columns[:3], [])
        assert heads.pipe() == "ITER    TASK      SCORE\n"

    def test_cuts_and_escapes(self) -> None:
        fixed = Table((*SCORES.columns[:2], Column("BAND", width=4)), [(1, "a task of many words", "a\x1bb")])
        assert fixed.pipe() == "ITER    TASK      BAND\n1       a tas...  a\\x1bb\n"

    def test_cuts_what_is_shown_and_not_what_is_meant(self) -> None:
        escaped = Table((Column("T", width=8, cut=True), Column("U", width=1)), [("ab\x01cdefg", "")])
        assert escaped.pipe() == "T         U\nab\\x0...  \n"

    @pytest.mark.parametrize(
        ("width", "end"), [(3, "  "), (None, "")], ids=["a fixed table keeps it", "a fitted does not"]
    )
    def test_space_at_the_end_of_a_line(self, width: int | None, end: str) -> None:
        assert (
            Table((Column("A", width=width), Column("B", width=1)), [("abc", "")]).pipe().splitlines()[1] == "abc" + end
        )

    def test_fits_a_column_without_a_width_to_its_content(self) -> None:
        table = Table((Column("A"), Column("B"), Column("C")), [("abcd", 1, "x"), ("b", "", "")])
        assert table.pipe() == "A     B  C\nabcd  1  x\nb\n"

    def test_leaves_out_what_only_a_terminal_or_json_shows(self) -> None:
        assert SCORES.pipe().splitlines() == [
            "ITER    TASK      SCORE      BAND",
            "1       a tas...  0.500      good",
            "12      b\\nc      -",
        ]

    def test_puts_notes_below_their_row_and_indents(self) -> None:
        table = Table(
            (Column("A"), Column("B")), [TableRow((1, 2), ("so\n", "and so")), (3, 4)], indent=2, notes_indent=3
        )
        assert table.pipe() == "  A  B\n  1  2\n     so\\n\n     and so\n  3  4\n"

    def test_of_no_rows_and_no_heads_is_empty(self) -> None:
        assert Table((Column("A"), Column("B")), [], heads=False).pipe() == ""

    def test_pairs(self) -> None:
        assert pairs([("LOG", "here"), ("TRUNK", "main")], 6, 1).pipe() == " LOG     here\n TRUNK   main\n"


class TestTerminal:
    def test_cuts_nothing_and_aligns_numbers(self) -> None:
        assert drawn(SCORES) == [
            "ITER  TASK                  SCORE  COVERAGE  BAND",
            "   1  a task of many words  0.500  3 of 4    good",
            "  12  b\\nc                      -  0 of 4",
        ]

    def test_shows_notes_in_a_column_where_there_are_some(self) -> None:
        columns = (Column("A"), Column("B"))
        assert drawn(Table(columns, [TableRow((1, 2), ("so", "and so")), (3, 4)], notes="WHY")) == [
            "A  B  WHY",
            "1  2  so",
            "      and so",
            "3  4",
        ]
        assert drawn(Table(columns, [(3, 4)], notes="WHY")) == ["A  B", "3  4"]

    def test_colours_cells_rows_and_lines(self) -> None:
        screen = io.StringIO()
        blocks: list[Block] = [
            Line(["all ", Cell("good", style="green")]),
            Line("bold", "bold"),
            SCORES,
            Table((Column("A"),), [TableRow(("x",), style="dim")]),
        ]
        draw(blocks, Console(file=screen, width=100, force_terminal=True, color_system="standard", highlight=False))
        shown = screen.getvalue()
        assert "all \x1b[32mgood\x1b[0m" in shown
        assert "\x1b[1mbold\x1b[0m" in shown
        assert "\x1b[2mx" in shown

    def test_never_reads_markup_or_escapes(self) -> None:
        assert drawn(Line("[red]x[/] :smile: \x1b[31m"), Table((Column("[b]"),), [("[dim]y",)])) == [
            "[red]x[/] :smile: \\x1b[31m",
            "[b]",
            "[dim]y",
        ]


class TestPlaces:
    BLOCKS = (
        Line("both"),
        Line("pipe", only="pipe"),
        Line("terminal", only="terminal"),
        Line(),
        Table((Column("A"),), [(1,)], only="pipe"),
        Table((Column("B"),), [(2,)], indent=3, only="terminal"),
    )

    def test_pipe(self) -> None:
        assert pipe_text(self.BLOCKS) == "both\npipe\n\nA\n1\n"

    def test_terminal(self) -> None:
        assert drawn(*self.BLOCKS) == ["both", "terminal", "", "   B", "   2"]

    def test_rich_is_loaded_for_the_terminal_only(self) -> None:
        code = (
            "import sys; from scoring.views.table import *\n"
            "table = Table((Column('A', 'a'),), [(1,)])\n"
            "print(pipe_text([table, Line('x')]), table.as_json(), [m for m in sys.modules if m.startswith('rich')])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "A\n1\nx\n [{'a': 1}] []\n"


class TestJson:
    def test_has_the_values_of_columns_with_a_key(self) -> None:
        assert SCORES.as_json()[1] == {
            "iteration": 12,
            "task_id": "b\nc",
            "score": None,
            "coverage": "0 of 4",
            "secret": None,
            "band": "",
        }
        assert Table((Column("A"), Column("B", "b")), [(1, 2)]).as_json() == [{"b": 2}]


def test_number() -> None:
    assert (number(0.12345), number(0, present=False)) == ("0.123", "-")
