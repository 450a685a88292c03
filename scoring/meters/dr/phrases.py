"""Finds words and phrases in text, whatever their case, the spaces between them, and the kind of apostrophe."""

import functools
import re
from collections.abc import Iterable

_APOSTROPHES = str.maketrans("\u2018\u2019\u02bc\uff07", "''''")


def plain(text: str) -> str:
    """Return text as phrases are matched against it: case folded, single spaces, straight apostrophes."""
    return " ".join(text.translate(_APOSTROPHES).casefold().split())


def has_word(words: tuple[str, ...], text: str) -> bool:
    """Tell whether one of some words or phrases stands in :func:`plain` text as a whole."""
    return bool(words) and _whole(words).search(text) is not None


def has_word_start(words: tuple[str, ...], text: str) -> bool:
    """Tell whether one of some words or phrases stands in :func:`plain` text from a left word boundary on."""
    return bool(words) and _left(words).search(text) is not None


def starts_with(words: tuple[str, ...], text: str) -> bool:
    """Tell whether :func:`plain` text starts with one of some words or phrases."""
    return text.startswith(tuple(map(plain, words)))


@functools.cache
def _whole(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_any_of(words)})(?!\w)")


@functools.cache
def _left(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_any_of(words)})")


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(plain(word)) for word in words)
