"""What an expert prefers by its own words: the lines ``Option:`` and ``Confidence:``."""

import re
from typing import NamedTuple

UNDECIDED = "undecided"
"""The option of an expert that states none."""

_LONGEST_OPTION = 200
_MARKS = " \t*_`\"'.,;"
_STATED = re.compile(
    r"[ \t>*_`#+-]*(?:my |preferred |current )*(option|confidence)[ \t*_`]*:(.*)",
    re.IGNORECASE,
)
_CONFIDENCE_AFTER_IT = re.compile(r"\bconfidence[ \t*_`]*:(.*)", re.IGNORECASE)
_MARKS_BETWEEN = " \t,;|(*_`"
_NUMBER = re.compile(
    r"([0-9]{1,9}(?:[.,][0-9]{1,9})?|\.[0-9]{1,9})[ \t]*"
    r"(?:(?P<percent>%)|(?:/|out of)[ \t]*(?P<whole>100|10|5|1)\b)?"
)


class StatedVote(NamedTuple):
    """What an expert states.

    Attributes:
        option: the option, as the expert spells it.
        confidence: how sure the expert is, from 0 to 1.
    """

    option: str
    confidence: float


def vote_in(text: str) -> StatedVote | None:
    """Return what the last lines ``Option:`` and ``Confidence:`` of an answer state.

    Marks of Markdown do not matter, and 80 % and 8/10 are 0.8. None where one of the lines is
    missing or says nothing that can be used.
    """
    option = ""
    confidence: float | None = None
    for line in text.splitlines():
        stated = _STATED.match(line)
        if stated is None:
            continue

        value = stated[2]
        if stated[1].lower() == "option":
            both = _CONFIDENCE_AFTER_IT.search(value[:1000])
            if both is not None:
                value = value[: both.start()].rstrip(_MARKS_BETWEEN)
                confidence = _share_in(both[1])
            option = value.strip(_MARKS)
        else:
            confidence = _share_in(value)

    if not option or len(option) > _LONGEST_OPTION or confidence is None:
        return None
    return StatedVote(option, confidence)


def _share_in(text: str) -> float | None:
    """Return the share at the start of a text, such as .8, 80 % or 8/10, as a number.

    None without one, and above 1. A fraction is of 1, 5, 10 or 100.
    """
    match = _NUMBER.match(text.strip(" \t*_`\"'~("))
    if match is None:
        return None

    number = float(match[1].replace(",", "."))
    if match["percent"]:
        number /= 100
    elif match["whole"]:
        number /= int(match["whole"])
    return number if number <= 1 else None


def name_of_option(option: str) -> str:
    """Return an option without marks around it, in lower case, with single spaces.

    Spellings of one option are the same in this form.
    """
    return " ".join(option.strip(_MARKS).casefold().split())
