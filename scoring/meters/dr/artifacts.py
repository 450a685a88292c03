"""Whether an action names something concrete: a URL, a path, a file, a command (contract section 6)."""

import re

from scoring.meters.dr.phrases import has_word, plain

WORDS = ("pr", "pull request", "branch", "file", "command", "tool", "url")
"""Words for concrete things."""

ALTERNATIVES = frozenset(
    {
        *("and/or", "or/and", "either/or", "neither/nor", "yes/no", "no/yes", "true/false", "on/off", "in/out"),
        *("he/she", "she/he", "s/he", "he/she/they", "his/her", "her/his", "him/her", "her/him", "his/hers"),
        *("pass/fail", "before/after", "pros/cons", "n/a", "w/o", "w/", "b/c", "i/o"),
    }
)
"""Slashes between words that are no paths."""

_URL = re.compile(r"(?<!\w)(?:[a-z][a-z0-9+.-]*://|www\.)\w", re.IGNORECASE)
_FILE = re.compile(r"\w\w\.(?=\d*[^\W\d_])[^\W_]{1,5}(?!\w)")
_BACKTICKS = re.compile(r"`[^`]*[^`\s][^`]*`")
_NUMBERED = re.compile(r"(?<!\w)#\d+(?!\w)")
_PUNCTUATION = ".,;:!?\"'()[]{}<>*_\u201c\u201d\u2018\u2019\u2026"


def names_artifact(action: str) -> bool:
    """Tell whether an action names a URL, a path, a file, something in backticks, ``#123``, or a word for such."""
    return (
        any(pattern.search(action) for pattern in (_URL, _FILE, _BACKTICKS, _NUMBERED))
        or any(map(_is_path, action.split()))
        or has_word(WORDS, plain(action))
    )


def _is_path(token: str) -> bool:
    """Tell whether a token is a path: it has a slash, is no pair of alternatives, and is not of numbers alone."""
    if "/" not in token:
        return False
    bare = token.strip(_PUNCTUATION)
    return bare.casefold() not in ALTERNATIVES and any(char.isalpha() for char in bare)
