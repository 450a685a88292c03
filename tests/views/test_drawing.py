"""Text and tables are laid out for the width of a terminal: folded between words, columns below rows, or blocks."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from scoring.views.drawing import draw, folded_text
from scoring.views.table import Cell, Column, Line, Table, TableRow, pairs


def drawn(table: Table, width: int) -> list[str]:
    screen = io.StringIO()
    draw([table], Console(file=screen, width=width, highlight=False, markup=False, emoji=False))
    return [line.rstrip() for line in screen.getvalue().splitlines()]


SCORES = Table(
    (Column("ITER", right=True), Column("TASK"), Column("SCORE"), Column("COVERAGE"), Column("DETAIL", prose=True)),
    [
        (1, "choose-alphabet", "0.500", Cell(1, "2 of 7 signals, 26.0 %", brief="2/7 · 26 %"), "one word and more"),
        (12, "redirect", "-", Cell(1, "7 of 7 signals, 100.0 %", brief="7/7 · 100 %"), "-"),
    ],
)


class TestText:
    @pytest.mark.parametrize(
        ("text", "width", "lines"),
        [
            pytest.param("a bc def", 8, ["a bc def"], id="what fits stays"),
            pytest.param("a bc def", 7, ["a bc", "def"], id="between words"),
            pytest.param("  → to say so much", 12, ["  → to say", "    so much"], id="below the text after an arrow"),
            pytest.param("  - to say so much", 12, ["  - to say", "    so much"], id="below the text after a dash"),
            pytest.param(" 10. to say so", 12, [" 10. to say", "     so"], id="below the text after a number"),
            pytest.param("note  to say so", 12, ["note  to say", "      so"], id="below the text of a column"),
            pytest.param("two words to say so", 9, ["two words", "to say so"], id="not below a sentence's second word"),
            pytest.param("    longish word", 9, ["longish", "word"], id="no word is broken for that"),
            pytest.param("abcdefgh", 3, ["abc", "def", "gh"], id="a long word without any where it must"),
            pytest.param("日本 日本", 5, ["日本", "日本"], id="wide letters take two columns"),
            pytest.param("", 5, [""], id="nothing"),
        ],
    )
    def test_is_folded(self, text: str, width: int, lines: list[str]) -> None:
        assert [line.rstrip() for line in folded_text(text + "\n", width).splitlines()] == [x.rstrip() for x in lines]

    @given(st.text(st.sampled_from("ab日 /-.→1"), max_size=40), st.integers(2, 30))
    def test_loses_nothing(self, text: str, width: int) -> None:
        assert "".join(folded_text(text, width).split()) == "".join(text.split())


class TestTable:
    def test_that_fits_has_its_whole_texts(self) -> None:
        assert drawn(SCORES, 80) == [
            "ITER  TASK             SCORE  COVERAGE                 DETAIL",
            "   1  choose-alphabet  0.500  2 of 7 signals, 26.0 %   one word and more",
            "  12  redirect         -      7 of 7 signals, 100.0 %  -",
        ]

    def test_has_the_columns_for_full_text(self) -> None:
        columns = Column("NAME", width=6, cut=True), Column("SURE", only="full"), Column("P", only="pipe")
        assert drawn(Table(columns, [("a-long-name", "7 of 7", 1)]), 80) == ["NAME         SURE", "a-long-name  7 of 7"]

    def test_that_is_a_little_too_wide_has_brief_ones(self) -> None:
        assert drawn(SCORES, 65) == [
            "ITER  TASK             SCORE  COVERAGE     DETAIL",
            "   1  choose-alphabet  0.500  2/7 · 26 %   one word and more",
            "  12  redirect         -      7/7 · 100 %  -",
        ]

    def test_that_is_wider_has_its_widest_columns_below_the_row(self) -> None:
        assert drawn(SCORES, 48) == [
            "ITER  TASK             SCORE  COVERAGE",
            "   1  choose-alphabet  0.500  2/7 · 26 %",
            "    one word and more",
            "  12  redirect         -      7/7 · 100 %",
        ]
        assert drawn(SCORES, 28)[:3] == ["ITER  SCORE  COVERAGE", "   1  0.500  2/7 · 26 %", "    TASK choose-alphabet"]

    def test_of_records_has_a_block_for_each(self) -> None:
        assert drawn(SCORES._replace(records=True), 40) == [
            *("ITER      1", "TASK      choose-alphabet", "SCORE     0.500", "COVERAGE  2 of 7 signals, 26.0 %"),
            *("DETAIL    one word and more", ""),
            *("ITER      12", "TASK      redirect", "SCORE     -", "COVERAGE  7 of 7 signals, 100.0 %", "DETAIL    -"),
        ]

    def test_whose_first_column_is_too_wide_has_blocks_too(self) -> None:
        table = Table((Column("NAME"), Column("N")), [("three words here", 1)])
        assert drawn(table, 12) == ["NAME", "    three", "    words", "    here", "N", "    1"]

    def test_has_notes_beside_its_rows_or_below(self) -> None:
        table = Table((Column("A"),), [TableRow((1,), ("so", "  and so on")), (2,)], notes="WHY")
        assert drawn(table, 20) == ["A  WHY", "1  so", "     and so on", "2"]
        assert drawn(table, 12) == ["A", "1", "    so", "      and so", "      on", "2"]

    def test_of_pairs_folds_the_second_beside_the_first(self) -> None:
        assert drawn(pairs([("LOG", "nine iterations are here"), ("X", "y")], 5), 26) == [
            "LOG  nine iterations are",
            "     here",
            "X    y",
        ]

    def test_of_pairs_puts_the_second_below_where_one_of_its_words_has_no_room(self) -> None:
        assert drawn(pairs([("REPOSITORY", "in /a/path/of/some/length")]), 30) == [
            "REPOSITORY",
            "    in /a/path/of/some/length",
        ]

    def test_keeps_colours_where_it_is_folded(self) -> None:
        screen = io.StringIO()
        console = Console(file=screen, width=8, force_terminal=True, color_system="standard", highlight=False)
        draw([Line([Cell("a word", style="bold"), " and more"])], console)
        assert screen.getvalue() == "\x1b[1ma word\x1b[0m \nand more\n"
