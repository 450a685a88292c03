"""Text and tables are laid out for the width of a terminal: folded between words, columns below rows, or blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.views.layout import folded, folded_text
from scoring.views.table import Cell, Column, Line, Table, TableRow, pairs


def drawn(table: Table, width: int) -> list[str]:
    return [line.plain.rstrip() for line in table.drawn(width)]


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
            pytest.param("    longish word", 9, ["  longish", "  word"], id="no word is broken for that"),
            pytest.param("see a/path/to.txt", 9, ["see a/", "path/", "to.txt"], id="a long path after its separators"),
            pytest.param("a-long_name.score.yaml", 13, ["a-long_name.", "score.yaml"], id="a long name too"),
            pytest.param("abcdefgh", 3, ["abc", "def", "gh"], id="a long word without any where it must"),
            pytest.param("日本 日本", 5, ["日本", "日本"], id="wide letters take two columns"),
            pytest.param("write 109.0 k, read", 12, ["write", "109.0 k,", "read"], id="no number from its unit"),
            pytest.param("takes 12 kept", 8, ["takes 12", "kept"], id="a word is no unit"),
            pytest.param("of a score 0.7  (0.6–0.8)", 24, ["of a", "score 0.7  (0.6–0.8)"], id="nor from its range"),
            pytest.param("it holds   Source: a/b", 16, ["it holds", "Source: a/b"], id="no source from its word"),
            pytest.param("", 5, [""], id="nothing"),
        ],
    )
    def test_is_folded(self, text: str, width: int, lines: list[str]) -> None:
        assert [line.rstrip() for line in folded_text(text + "\n", width).splitlines()] == [x.rstrip() for x in lines]

    @given(st.text(st.sampled_from("ab日 /-.→1"), max_size=40), st.integers(2, 30))
    def test_loses_nothing(self, text: str, width: int) -> None:
        spans = folded(text, width)
        assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(" ", "")

    @pytest.mark.slow
    def test_of_many_words_takes_time_that_grows_with_them(self) -> None:
        assert len(folded("word " * 50_000, 60)) == 50_000 // 12 + 1
        assert len(folded("/" * 100_000 + "a", 60)) < 2_000


class TestTable:
    def test_that_fits_has_its_whole_texts(self) -> None:
        assert drawn(SCORES, 80) == [
            "ITER  TASK             SCORE  COVERAGE                 DETAIL",
            "   1  choose-alphabet  0.500  2 of 7 signals, 26.0 %   one word and more",
            "  12  redirect         -      7 of 7 signals, 100.0 %  -",
        ]

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
        line, second = Line([Cell("a word", style="bold"), " and more"]).drawn(8)
        assert ([str(span.style) for span in line.spans], line.plain, second.plain) == (["bold"], "a word", "and more")
