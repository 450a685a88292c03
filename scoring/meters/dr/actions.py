"""Whether a next action is specific, and whether somebody owns it (contract section 6)."""

import re

from scoring.meters.dr.artifacts import names_artifact
from scoring.meters.dr.phrases import has_word, plain, starts_with
from scoring.meters.dr.words import BUILT_IN, OWNERSHIP, VAGUE, VAGUE_STARTS, VERBS, Words

_SHORT = 5
"""An action of fewer words needs a verb of the list."""

_HANDLE = re.compile(r"(?<!\w)@\w")
_NAMED = re.compile(r"\s*([^\W\d_][\w'\u2019-]*):(?!//)")


def has_verb(action: str, words: Words = BUILT_IN) -> bool:
    """Tell whether a verb of the list stands in an action, as a whole word."""
    return has_word(VERBS + words.verbs, plain(action))


def is_vague(action: str, words: Words = BUILT_IN) -> bool:
    """Tell whether an action starts vaguely, has a vague word, or is short and without a verb of the list."""
    text = plain(action)
    if starts_with(VAGUE_STARTS + words.vague_starts, text) or has_word(VAGUE + words.vague, text):
        return True
    return len(text.split()) < _SHORT and not has_verb(action, words)


def is_specific(action: str, words: Words = BUILT_IN) -> bool:
    """Tell whether an action is not vague, and has a verb of the list or names an artifact."""
    return not is_vague(action, words) and (has_verb(action, words) or names_artifact(action))


def is_owned(action: str, words: Words = BUILT_IN) -> bool:
    """Tell whether an action says who acts: a phrase of the list, ``@name``, or ``Name:`` at its start."""
    if has_word(OWNERSHIP + words.ownership, plain(action)) or _HANDLE.search(action):
        return True
    named = _NAMED.match(action)
    return named is not None and named[1][0].isupper()
