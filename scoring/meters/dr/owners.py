"""Whether an action says who does it: a handle, a phrase of a list, a person, a role or a team."""

import re

from .phrases import has_word, plain
from .profile import Profile

_HANDLE = re.compile(r"(?<!\w)@\w")
_LEADING_NAME = re.compile(r"\s*([^\W\d_][\w'\u2019-]*):(?!//)")
_NAME = re.compile(r"[^\W\d_][^\W\d_'\u2019-]*(?:['\u2019-][^\W\d_]+)*")
# What Markdown puts before an action.
_BULLET = re.compile(r"[\s*_>\[-]*(?:\d{1,3}[.)]\s+)?[\s*_\[]*")
# "Anna (ops): …", "the platform team will …".
_ACTOR = re.compile(
    r"(?:the )?([^\W\d_][^\s:,()\[\]*]*(?: [^\s:,()\[\]*]+){0,3}?)(?: \([^()]*\))?"
    r"[*_\]]*(?::(?!//)| +will(?! not)(?!\w))",
    re.IGNORECASE,
)
_BETWEEN_NAMES = re.compile(r" (?:and|&|\+) |/")
_OWNER = re.compile(
    r"(?<!\w)(?:(?<!no )(?:owners?|assignees?|dri) ?(?::|=|-|is|are)|owned by|"
    r"assign(?:ed)? to|(?:responsible|assigned) ?:) ?@?(?:the )?(\w[\w'-]*)(?: (\w+))?"
)
_TITLES = frozenset(("dr", "mr", "mrs", "ms", "prof"))
_LABEL_ENDINGS = tuple(
    "tion tions sion sions ness ing ings ally ately ently ously ively ility "
    "ality ment ments ated ized ised ified ected sted osed ible less ware point".split()
)
_LONGEST_SURE_NAME = 6
"""A word of at most this many letters may be a name even with such an ending."""


def says_who_acts(action: str, profile: Profile) -> bool:
    """Return whether an action says who acts.

    That is so where it has a handle (``@name``) or a phrase of the list, or names a person, role or
    team. Without ``sentences``, only a capitalized word with a colon at its beginning names one.

    Args:
        action: the action, as it is written.
        profile: what the meter goes by, with the words that settings add.
    """
    text = plain(action)
    if has_word(profile.words.ownership, text) or _HANDLE.search(action):
        return True

    if not profile.sentences:
        name = _LEADING_NAME.match(action)
        return name is not None and name[1][0].isupper()

    not_owners = (*profile.labels, *profile.words.verbs)
    for match in _OWNER.finditer(text):  # "owner: …" or the like
        if match[1] not in not_owners or match[2] in profile.teams:
            return True
    return _begins_with_actor(action, profile)


def _begins_with_actor(action: str, profile: Profile) -> bool:
    """Return whether an action begins with who acts, and a colon or "will"."""
    bullet = _BULLET.match(action)
    assert bullet is not None  # it may be empty
    actor = _ACTOR.match(action, bullet.end())
    if actor is None:
        return False

    for name in _BETWEEN_NAMES.split(actor[1]):
        if _may_act(name.split(), profile):
            return True
    return False


def _may_act(words: list[str], profile: Profile) -> bool:
    """Return whether some words, such as ``Dr. Anna Lee`` or ``Team B``, name who may act.

    That is a person, a role or a team. Words in which a sentence ends name none.
    """
    folded = [word.casefold().strip(".") for word in words]

    last = words[-1] if len(words) > 1 else ""
    if len(last) == 1 or last.isdigit():  # "Agent 2", "Team B"
        words = words[:-1]
        folded = folded[:-1]
        if len(words) == 1 and folded[0] not in profile.teams:
            return False

    for word, folded_word in zip(words, folded, strict=True):
        if word.endswith(".") and folded_word not in _TITLES:  # a sentence ends in it
            return False
    if not folded or folded[0] in profile.addressed:
        return False
    may_be_team = len(folded) > 1 or folded[0] not in profile.labels
    if may_be_team and folded[-1] in profile.teams:
        return True

    if len(words) > 1 and folded[0] in _TITLES:
        words = words[1:]
    return len(words) <= 2 and all(_is_name(word, profile) for word in words)


def _is_name(word: str, profile: Profile) -> bool:
    """Return whether a word looks like a name.

    A name is capitalized, but not all in capitals, is in no word list, and is not a long word with
    an ending such as -tion.
    """
    if not word[0].isupper() or not _NAME.fullmatch(word):
        return False
    if word.isupper() and len(word) > 1:
        return False

    folded = word.casefold()
    if (
        folded in profile.labels
        or folded in profile.words.verbs
        or folded in profile.tools
    ):
        return False
    return len(word) <= _LONGEST_SURE_NAME or not folded.endswith(_LABEL_ENDINGS)
