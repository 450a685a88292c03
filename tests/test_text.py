"""The rules for text: trimming, case, quoting, cutting, and what a terminal is shown."""

import json
import tomllib
from collections.abc import Callable

import pytest
from helpers import tables

from scoring.text import (
    cell,
    cut,
    fold,
    lower,
    printable,
    quote,
    short,
    syntax_problem,
    trim,
)


@pytest.mark.parametrize(
    "space",
    [
        *"\t\n\v\f\r \x85\xa0\u1680",
        *map(chr, range(0x2000, 0x200B)),
        *"\u2028\u2029\u202f\u205f\u3000",
    ],
    ids=ascii,
)
def test_trim_takes_unicode_white_space_off_both_ends(space: str) -> None:
    assert trim(f"{space}{space}a{space}b{space}") == f"a{space}b"


@pytest.mark.parametrize(
    "other", [*"\x1c\x1d\x1e\x1f", *"\u200b\ufeff\u180e\0"], ids=ascii
)
def test_trim_leaves_what_is_no_white_space(other: str) -> None:
    assert trim(f" {other}a{other} ") == f"{other}a{other}"


@pytest.mark.parametrize(("text", "expected"), tables.cases("text", "lower"))
def test_lower_maps_one_character_to_one(text: str, expected: str) -> None:
    assert lower(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"), tables.cases("text", "letters that differ in case only")
)
def test_fold_takes_letters_for_equal_that_differ_in_case_only(
    one: str, other: str, same: bool
) -> None:
    assert (fold(one) == fold(other)) is same


@pytest.mark.parametrize(("text", "expected"), tables.cases("text", "short"))
def test_short_is_the_first_twelve_characters(text: str, expected: str) -> None:
    assert short(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), tables.cases("text", "quote escapes what is not printable")
)
def test_quote_escapes_what_is_not_printable(text: str, expected: str) -> None:
    assert quote(text) == expected


@pytest.mark.parametrize(("text", "expected"), tables.cases("text", "printable"))
def test_printable_shows_controls_escaped_and_leaves_the_rest(
    text: str, expected: str
) -> None:
    assert printable(text) == expected


@pytest.mark.parametrize(("text", "width", "expected"), tables.cases("text", "cut"))
def test_cut_ends_in_three_dots(text: str, width: int, expected: str) -> None:
    assert cut(text, width) == expected


@pytest.mark.parametrize(("text", "expected"), tables.cases("text", "cell"))
def test_cell_escapes_before_it_cuts(text: str, expected: str) -> None:
    assert cell(text, 9) == expected
    assert len(cell(text, 9)) <= 9


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (json.loads, '{"a":\n 1,]', "line 2, column 4: expecting property name"),
        (json.loads, "", "line 1, column 1: expecting value"),
        (json.loads, "9" * 5000, "a number has too many digits"),
        (json.loads, "[" * 100_000, "nested too deep"),
        (json.loads, b'"\xff"', "not UTF-8"),
        (tomllib.loads, "a = 1\nb = \n", "line 2, column 5: invalid value"),
        (tomllib.loads, "a", "end of document: expected '='"),
        (tomllib.loads, f"a = {'9' * 5000}", "a number has too many digits"),
        (tomllib.loads, f"a = {'[' * 3000}", "nested too deep"),
    ],
)
def test_a_problem_of_syntax_begins_with_its_place(
    read: Callable[[str | bytes], object], text: str | bytes, problem: str
) -> None:
    with pytest.raises((ValueError, RecursionError)) as raised:
        read(text)
    assert syntax_problem(raised.value).startswith(problem)


def test_a_problem_without_a_place_is_kept_as_it_is() -> None:
    assert syntax_problem(ValueError("larger than 1 MiB")) == "larger than 1 MiB"
