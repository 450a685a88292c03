"""Words and phrases of a list, as they are searched in text: in any case, from a word boundary."""

import functools
import re

from scoring.frozen import Texts

_APOSTROPHES = str.maketrans("\u2018\u2019\u02bc\uff07", "''''")


def plain(text: str) -> str:
    """Return text in which phrases can be searched.

    In the result case is folded, spaces are single and apostrophes are straight.
    """
    return " ".join(text.translate(_APOSTROPHES).casefold().split())


_WHOLE = r"(?!\w)"
"""What follows a word that is searched as a whole."""


def has_word(words: Texts, text: str) -> bool:
    """Return whether :func:`plain` text has one of some words or phrases, as a whole."""
    return pattern_of(words, _WHOLE).search(text) is not None


def has_word_start(words: Texts, text: str) -> bool:
    """Return whether a word of :func:`plain` text starts with one of some words or phrases."""
    return pattern_of(words).search(text) is not None


def starts_with(words: Texts, text: str) -> bool:
    """Return whether :func:`plain` text starts with one of some phrases."""
    return text.startswith(tuple(plain(word) for word in words))


@functools.cache
def pattern_of(words: Texts, end: str = "") -> re.Pattern[str]:
    """Return a pattern of any of some phrases from a left word boundary on, in :func:`plain` text.

    Args:
        words: the phrases. Without any the pattern matches nothing.
        end: a further pattern that must follow; "" for none.
    """
    if not words:
        return re.compile(r"(?!)")
    phrases = "|".join(re.escape(plain(word)) for word in words)
    return re.compile(rf"(?<!\w)(?:{phrases}){end}")
