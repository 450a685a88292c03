"""The rules for text: trimming, case, quoting, cutting, and what a terminal is shown."""

import pytest
from helpers import tables

from scoring.text import cell, cut, fold, lower, printable, quote, short, trim


@pytest.mark.parametrize(
    "space",
    [*"\t\n\v\f\r \x85\xa0\u1680", *map(chr, range(0x2000, 0x200B)), *"\u2028\u2029\u202f\u205f\u3000"],
    ids=ascii,
)
def test_trim_takes_unicode_white_space_off_both_ends(space: str) -> None:
    assert trim(f"{space}{space}a{space}b{space}") == f"a{space}b"


@pytest.mark.parametrize("other", [*"\x1c\x1d\x1e\x1f", *"\u200b\ufeff\u180e\0"], ids=ascii)
def test_trim_leaves_what_is_no_white_space(other: str) -> None:
    assert trim(f" {other}a{other} ") == f"{other}a{other}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("On-TARGET", "on-target", id="ascii"),
        pytest.param("\u00c9T\u00c9", "\u00e9t\u00e9", id="accents"),
        pytest.param("\u03a3A\u03a3", "\u03c3a\u03c3", id="a-last-sigma-is-no-final-sigma"),
        pytest.param("\u0130", "i", id="i-with-dot-becomes-one-letter"),
        pytest.param("\u212a", "k", id="kelvin"),
        pytest.param("\u00df", "\u00df", id="sharp-s-is-lower-already"),
        pytest.param("\U00010400", "\U00010428", id="beyond-the-basic-plane"),
    ],
)
def test_lower_maps_one_character_to_one(text: str, expected: str) -> None:
    assert lower(text) == expected


@pytest.mark.parametrize(("one", "other", "same"), tables.cases("text", "letters that differ in case only"))
def test_fold_takes_letters_for_equal_that_differ_in_case_only(one: str, other: str, same: bool) -> None:
    assert (fold(one) == fold(other)) is same


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "", id="empty"),
        pytest.param("0123456789ab", "0123456789ab", id="exactly-12"),
        pytest.param("0123456789abc", "0123456789ab", id="13"),
        pytest.param("\u00e9" * 13, "\u00e9" * 12, id="characters-not-bytes"),
        pytest.param("\U0001f389" * 13, "\U0001f389" * 12, id="beyond-the-basic-plane"),
    ],
)
def test_short_is_the_first_twelve_characters(text: str, expected: str) -> None:
    assert short(text) == expected


@pytest.mark.parametrize(("text", "expected"), tables.cases("text", "quote escapes what is not printable"))
def test_quote_escapes_what_is_not_printable(text: str, expected: str) -> None:
    assert quote(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m", id="terminal-colours"),
        pytest.param("a\r\nb\tc\a\b\f\v", r"a\r\nb\tc\a\b\f\v", id="named-escapes"),
        pytest.param("\x9b31m", r"\u009b31m", id="one-character-control-sequence"),
        pytest.param("\udc9b", r"\x9b", id="byte-that-a-terminal-takes-for-a-control"),
        pytest.param("\ud800", r"\ud800", id="half-a-character-that-cannot-be-written"),
        *((text, text) for text in ("", 'plain "quoted" \\ text', "caf\u00e9 \U0001f389 \u65e5", "\u00a0\u00ad")),
    ],
)
def test_printable_shows_controls_escaped_and_leaves_the_rest(text: str, expected: str) -> None:
    assert printable(text) == expected


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        pytest.param("0123456789", 10, "0123456789", id="fits-exactly"),
        pytest.param("0123456789a", 10, "0123456...", id="one-too-many"),
        pytest.param("", 10, "", id="empty"),
        pytest.param("abcd", 3, "...", id="nothing-but-dots"),
        pytest.param("\u00e9" * 11, 10, "\u00e9" * 7 + "...", id="never-splits-a-character"),
    ],
)
def test_cut_ends_in_three_dots(text: str, width: int, expected: str) -> None:
    assert cut(text, width) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("task-1", "task-1", id="plain"),
        pytest.param("a\nb", r"a\nb", id="escaped"),
        pytest.param("\n\n\n\n", r"\n\n\n\n", id="fits-when-escaped"),
        pytest.param("\n\n\n\n\n", r"\n\n\n...", id="cut-after-escaping"),
    ],
)
def test_cell_escapes_before_it_cuts(text: str, expected: str) -> None:
    assert cell(text, 9) == expected
    assert len(cell(text, 9)) <= 9
