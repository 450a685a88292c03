"""Text as the reference compares, quotes and cuts it: one character at a time, by Unicode's simple mappings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode white space. Python strips U+001C to U+001F too, which the contract does not."""

SHORT_LENGTH = 12

_VALUE_WIDTH = 40  # characters of a value that a message shows

_MOST_BITS = 4000  # Python writes no whole number that is much longer

_ESCAPES = {
    char: f"\\{letter}" for char, letter in zip('"\\\a\b\f\n\r\t\v', '"\\abfnrtv', strict=True)
}
_PLAIN = re.compile(r"[ !#-\[\]-~]*")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_LATE_CONTROL = re.compile("[\x7f-\x9f]")
_HIDDEN = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What has no shape of its own, and no place in the text of a log but to hide something."""


def trim(text: str) -> str:
    """Strip leading and trailing Unicode white space."""
    return text.strip(WHITE_SPACE)


def lower(text: str) -> str:
    """Lower-case by the one-to-one mapping: no letter becomes two, and a final sigma is a sigma."""
    # İ is the one letter of which Python makes two
    return (
        text.lower()
        if text.isascii()
        else "".join("i" if char == "İ" else char.lower() for char in text)
    )


def fold(text: str) -> str:
    """Map text to a key that is equal for texts that differ in case only, one character at a time (ß is not ss)."""
    return text.lower() if text.isascii() else "".join(map(_fold_char, text))


def _fold_char(char: str) -> str:
    folded = char.casefold()
    if len(folded) == 1:
        return folded
    low = char.lower()
    return low if len(low) == 1 else char


def short(text: str) -> str:
    """Return the first 12 characters, as commits are shown."""
    return text[:SHORT_LENGTH]


def quote(text: str) -> str:
    """Quote text in double quotes, all that is not printable escaped (``%q`` of the contract), bytes by number."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return (
        '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else _escape(c)) for c in text) + '"'
    )


def printable(text: str) -> str:
    """Show control characters escaped, so that text from a log cannot write to a terminal."""
    return _CONTROL.sub(lambda m: _ESCAPES.get(m[0]) or _escape(m[0]), text)


def visible(text: str) -> str:
    """Show as escapes what a terminal would not: control characters, direction marks, invisible joins and the like."""
    return show_hidden(printable(text))


def show_hidden(text: str, before: str = "") -> str:
    """Show invisible formatting as escapes, with something ``before`` each, and leave other control characters."""
    return text if text.isascii() else _HIDDEN.sub(lambda m: before + _escape(m[0]), text)


def csv_field(text: str) -> str:
    """Return a text as a field that no spreadsheet takes for a formula, with invisible formatting as escapes."""
    return show_hidden("'" + text if text[:1] in tuple("=+-@\t\r") else text)


def json_escaped(text: str) -> str:
    """Return JSON in which invisible formatting and U+007F to U+009F, which JSON allows as they are, are escapes."""
    import json  # a command that prints JSON has loaded it

    escaped = _LATE_CONTROL.sub(lambda m: f"\\u{ord(m[0]):04x}", text)
    return _HIDDEN.sub(lambda m: json.dumps(m[0])[1:-1], escaped)


def as_utf8(text: str) -> str:
    """Return text that can be written as UTF-8: what was no UTF-8 in a file becomes a replacement character."""
    return (
        text
        if text.isascii()
        else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    )


def _escape(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # an undecodable byte, carried as a surrogate escape
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def cut(text: str, width: int) -> str:
    """Cut text to ``width`` characters, the last three of them ``...`` when something was cut."""
    return text if len(text) <= width else text[: width - 3] + "..."


def shortened(text: str | None, width: int = 200) -> str:
    """Return a name, or a longer text, as it is shown: UTF-8, and cut where it is very long; "" for None."""
    return cut(as_utf8(text or ""), width)


def cell(text: str, width: int) -> str:
    """Return text fit for a table column: control characters escaped, cut to ``width`` characters."""
    return cut(printable(text), width)


def shown(value: Any) -> str:
    """Return a value as JSON, cut to a width that a line can hold."""
    if isinstance(value, Mapping | list | tuple):
        return "an object" if isinstance(value, Mapping) else "a list"
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "a number of too many digits"
    import json  # only faults show values, and most commands start without it

    try:
        return cell(json.dumps(value, ensure_ascii=False), _VALUE_WIDTH)
    except (TypeError, ValueError):
        return cell(repr(value), _VALUE_WIDTH)


def spans(numbers: Sequence[int]) -> str:
    """Return ascending numbers as runs: ``1-3, 7``."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def some_spans(numbers: Iterable[int], most: int = 12) -> str:
    """Return numbers as :func:`spans` does, in order and cut behind some: ``1-3, 7 and 12 more``."""
    ordered = sorted(numbers)
    return spans(ordered[:most]) + and_more(ordered, most)


def some_of(names: Sequence[object], most: int) -> str:
    """Return the first names, as ``a, b and 3 more``."""
    return ", ".join(map(str, names[:most])) + and_more(names, most)


def and_more(names: Sequence[object], most: int) -> str:
    """Return how many there are behind the first, as `` and 3 more``; "" where there are none."""
    return f" and {len(names) - most} more" if len(names) > most else ""


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: ``1 entry``, ``2 entries``; ``many`` is for nouns that take more than an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


# Whole numbers of 64 bits, signed: the reference's integers, limits and overflow included.

INT_MIN, INT_MAX = -(2**63), 2**63 - 1


def wrap64(number: int) -> int:
    """Bring a number into 64 bits, the way signed integers wrap around."""
    return number if INT_MIN <= number <= INT_MAX else (number - INT_MIN) % 2**64 + INT_MIN
