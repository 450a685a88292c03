"""One table value, rendered for a pipe and for a terminal of any width."""

import io
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from scoring.views.drawing import draw, folded_text
from scoring.views.table import (
    Block,
    Cell,
    Cells,
    Column,
    Line,
    Table,
    TableRow,
    fixed,
    pairs,
)

SCORES = Table(
    (
        Column("ITER", right=True),
        "TASK",
        Column("SCORE", right=True),
        "COVERAGE",
        "BAND",
    ),
    [
        (
            1,
            "a task of many words",
            "0.500",
            "3 of 4",
            Cell("good", style="green"),
        ),
        (12, "b\nc", "-", "0 of 4", Cell("", style="dim")),
    ],
)


def drawn(*blocks: Block, width: int = 100) -> list[str]:
    """The lines of a terminal, without what it pads them with."""
    screen = io.StringIO()
    draw(
        blocks,
        Console(file=screen, width=width, highlight=False, markup=False, emoji=False),
    )
    return [line.rstrip() for line in screen.getvalue().splitlines()]


def test_what_is_pasted_is_not_broken() -> None:
    command = "  git show a/long/name | sed -n 7p"
    assert drawn(Line(command, pasted=True), width=20) == [command]
    assert len(drawn(Line(command), width=20)) > 1


class TestPipe:
    def test_fits_columns_to_their_content_and_escapes(self) -> None:
        assert SCORES.pipe().splitlines() == [
            "ITER  TASK                  SCORE  COVERAGE  BAND",
            "1     a task of many words  0.500  3 of 4    good",
            "12    b\\nc                  -      0 of 4",
        ]

    @pytest.mark.parametrize(
        ("records", "text"),
        [(False, "A  C\nx  y\n"), (True, "A  B  C\nx     y\n")],
        ids=["is left out", "of records stays"],
    )
    def test_a_column_that_is_empty(self, records: bool, text: str) -> None:
        rows = [("x", "", "y")]
        assert Table(("A", "B", "C"), rows, records=records).pipe() == text
        assert Table(("A", "B", "C"), []).pipe() == "A  B  C\n"

    def test_puts_notes_below_their_row_and_indents(self) -> None:
        rows = [TableRow((1, 2), ("so\n", "and so")), TableRow((3, 4))]
        table = Table((Column("A"), Column("B")), rows, indent=2, notes_indent=3)
        assert table.pipe() == "  A  B\n  1  2\n     so\\n\n     and so\n  3  4\n"

    def test_of_no_rows_and_no_heads_is_empty(self) -> None:
        assert Table((Column("A"), Column("B")), [], heads=False).pipe() == ""


class TestFixed:
    def test_pads_what_is_shown_and_cuts_nothing(self) -> None:
        rows: list[Cells] = [("T", "U"), ("a\x01b", "a\x1bb"), ("longer than that", 12)]
        assert list(fixed((8, 0), rows, "  ")) == [
            "  T         U",
            "  a\\x01b    a\\x1bb",
            "  longer than that  12",
        ]

    def test_keeps_spaces_at_the_end_of_a_line(self) -> None:
        assert list(fixed((4, 0), [("abc", "")])) == ["abc   "]


class TestTerminal:
    def test_colors_cells_rows_and_lines(self) -> None:
        screen = io.StringIO()
        blocks: list[Block] = [
            Line(["all ", Cell("good", style="green")]),
            Line("bold", "bold"),
            SCORES,
            Table((Column("A"),), [TableRow(("x",), style="dim")]),
        ]
        draw(
            blocks,
            Console(
                file=screen,
                width=100,
                force_terminal=True,
                color_system="standard",
                highlight=False,
            ),
        )
        shown = screen.getvalue()
        assert "all \x1b[32mgood\x1b[0m" in shown
        assert "\x1b[1mbold\x1b[0m" in shown
        assert "\x1b[2mx" in shown

    def test_never_reads_markup_or_escapes(self) -> None:
        assert drawn(
            Line("[red]x[/] :smile: \x1b[31m"), Table((Column("[b]"),), [("[dim]y",)])
        ) == [
            "[red]x[/] :smile: \\x1b[31m",
            "[b]",
            "[dim]y",
        ]


def test_rich_is_loaded_for_the_terminal_only() -> None:
    code = (
        "import sys; from scoring.views.table import *\n"
        "table = Table((Column('A'),), [(1,)])\n"
        "loaded = [name for name in sys.modules if name.startswith('rich')]\n"
        "print(pipe_text([table, Line('x')]), loaded)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "A\n1\nx\n []\n"


WIDE = Table(
    (
        Column("ITER", right=True),
        Column("TASK"),
        Column("SCORE"),
        Column("COVERAGE"),
        Column("DETAIL", prose=True),
    ),
    [
        (
            1,
            "choose-alphabet",
            "0.500",
            Cell("2 of 7 signals, 26.0 %", brief="2/7 · 26 %"),
            "one word and more",
        ),
        (
            12,
            "redirect",
            "-",
            Cell("7 of 7 signals, 100.0 %", brief="7/7 · 100 %"),
            "-",
        ),
    ],
)


class TestFoldedText:
    @pytest.mark.parametrize(
        ("text", "width", "lines"),
        [
            pytest.param("a bc def", 8, ["a bc def"], id="what fits stays"),
            pytest.param("a bc def", 7, ["a bc", "def"], id="between words"),
            pytest.param(
                "  → to say so much",
                12,
                ["  → to say", "    so much"],
                id="below the text after an arrow",
            ),
            pytest.param(
                "  - to say so much",
                12,
                ["  - to say", "    so much"],
                id="below the text after a dash",
            ),
            pytest.param(
                " 10. to say so",
                12,
                [" 10. to say", "     so"],
                id="below the text after a number",
            ),
            pytest.param(
                "note  to say so",
                12,
                ["note  to say", "      so"],
                id="below the text of a column",
            ),
            pytest.param(
                "two words to say so",
                9,
                ["two words", "to say so"],
                id="not below a sentence's second word",
            ),
            pytest.param(
                "    longish word",
                9,
                ["longish", "word"],
                id="no word is broken for that",
            ),
            pytest.param(
                "abcdefgh",
                3,
                ["abc", "def", "gh"],
                id="a long word without any where it must",
            ),
            pytest.param(
                "日本 日本", 5, ["日本", "日本"], id="wide letters take two columns"
            ),
            pytest.param("日  a note", 10, ["日  a note"], id="beside a name of them"),
            pytest.param(
                "日本  two words",
                14,
                ["日本  two", "      words"],
                id="below the text of it",
            ),
            pytest.param("", 5, [""], id="nothing"),
        ],
    )
    def test_is_folded(self, text: str, width: int, lines: list[str]) -> None:
        assert [
            line.rstrip() for line in folded_text(text + "\n", width).splitlines()
        ] == [x.rstrip() for x in lines]

    @given(st.text(st.sampled_from("ab日 /-.→1"), max_size=40), st.integers(2, 30))
    def test_loses_nothing(self, text: str, width: int) -> None:
        assert "".join(folded_text(text, width).split()) == "".join(text.split())


class TestNarrow:
    @pytest.mark.parametrize("width", [24, 40, 60])
    def test_with_an_indent_has_so_much_less_room(self, width: int) -> None:
        rows = [("a" * 12, "some words that go on and on, and then a few more")]
        columns = (Column("A"), Column("B"))
        lines = drawn(Table(columns, rows, indent=6), width=width)
        assert [line[6:] for line in lines] == drawn(
            Table(columns, rows), width=width - 6
        )

    def test_that_fits_has_its_whole_texts(self) -> None:
        assert drawn(WIDE, width=80) == [
            "ITER  TASK             SCORE  COVERAGE                 DETAIL",
            "   1  choose-alphabet  0.500  2 of 7 signals, 26.0 %   one word and more",
            "  12  redirect         -      7 of 7 signals, 100.0 %  -",
        ]

    def test_that_is_a_little_too_wide_has_brief_ones(self) -> None:
        assert drawn(WIDE, width=65) == [
            "ITER  TASK             SCORE  COVERAGE     DETAIL",
            "   1  choose-alphabet  0.500  2/7 · 26 %   one word and more",
            "  12  redirect         -      7/7 · 100 %  -",
        ]

    def test_that_is_wider_has_its_widest_columns_below_the_row(self) -> None:
        assert drawn(WIDE, width=48) == [
            "ITER  TASK             SCORE  COVERAGE",
            "   1  choose-alphabet  0.500  2/7 · 26 %",
            "    one word and more",
            "  12  redirect         -      7/7 · 100 %",
        ]
        lines = drawn(WIDE, width=28)
        assert lines[:3] == [
            "ITER  SCORE  COVERAGE",
            "   1  0.500  2/7 · 26 %",
            "    TASK choose-alphabet",
        ]

    def test_of_records_has_a_block_for_each(self) -> None:
        assert drawn(WIDE._replace(records=True), width=40) == [
            *(
                "ITER      1",
                "TASK      choose-alphabet",
                "SCORE     0.500",
                "COVERAGE  2 of 7 signals, 26.0 %",
            ),
            *("DETAIL    one word and more", ""),
            *(
                "ITER      12",
                "TASK      redirect",
                "SCORE     -",
                "COVERAGE  7 of 7 signals, 100.0 %",
                "DETAIL    -",
            ),
        ]

    def test_whose_first_column_is_too_wide_has_blocks_too(self) -> None:
        table = Table((Column("NAME"), Column("N")), [("three words here", 1)])
        assert drawn(table, width=12) == [
            "NAME",
            "    three",
            "    words",
            "    here",
            "N",
            "    1",
        ]

    def test_has_notes_beside_its_rows_or_below(self) -> None:
        table = Table(
            (Column("A"),), [TableRow((1,), ("so", "  and so on")), (2,)], notes="WHY"
        )
        assert drawn(table, width=20) == ["A  WHY", "1  so", "     and so on", "2"]
        assert drawn(table, width=12) == [
            "A",
            "1",
            "    so",
            "      and so",
            "      on",
            "2",
        ]

    def test_of_pairs_folds_the_second_beside_the_first_or_below_where_a_word_has_no_room(
        self,
    ) -> None:
        beside = drawn(
            pairs([("LOG", "nine iterations are here"), ("X", "y")]), width=26
        )
        assert beside == ["LOG  nine iterations are", "     here", "X    y"]
        below = drawn(pairs([("REPOSITORY", "in /a/path/of/some/length")]), width=30)
        assert below == ["REPOSITORY", "    in /a/path/of/some/length"]

    def test_keeps_colors_where_it_is_folded(self) -> None:
        screen = io.StringIO()
        console = Console(
            file=screen,
            width=8,
            force_terminal=True,
            color_system="standard",
            highlight=False,
        )
        draw([Line([Cell("a word", style="bold"), " and more"])], console)
        assert screen.getvalue() == "\x1b[1ma word\x1b[0m \nand more\n"
