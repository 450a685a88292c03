"""YAML as nodes: scalars as they are written, and what a plain one is (``docs/LOG.md``, "How YAML scalars are read").

:func:`resolve` says what an untyped scalar is: YAML 1.2 core with the extras of yaml.v3.
"""

import base64
import binascii
import datetime
import re
from typing import Any, TypeAlias, overload

from scoring.errors import YamlError
from scoring.numbers import INT_MAX, INT_MIN

MAX_DEPTH = 100
"""How deep a document may nest; logs nest four deep."""

_UINT_MAX = 2**64 - 1

BINARY, BOOL, FLOAT, INT, NULL, STR, TIMESTAMP = (
    "!!binary",
    "!!bool",
    "!!float",
    "!!int",
    "!!null",
    "!!str",
    "!!timestamp",
)
_RESOLVABLE = {"", BOOL, FLOAT, INT, NULL, STR, TIMESTAMP}

WORDS: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("true", "True", "TRUE"), (BOOL, True)),
    **dict.fromkeys(("false", "False", "FALSE"), (BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, float("nan"))),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (FLOAT, float("inf"))),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, float("-inf"))),
}
YES = {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"}
_NO = {"n", "N", "no", "No", "NO", "off", "Off", "OFF"}
OLD_BOOLEANS = YES | _NO
"""Words that YAML 1.1 reads as booleans; a boolean field takes them, other fields take them as text."""

_INTEGER = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([1-9][0-9]*|0))"
    r"|0(?:b([-+][01]+)|o([-+][0-7]+))",  # yaml.v3 takes a sign behind these two as well
    re.ASCII,
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_DOT_FLOAT = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?", re.ASCII)
_TIME = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[Tt]|( ))(\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(Z|[-+]\d\d:\d\d)?)?",
    re.ASCII,
)
LONGEST_INTEGER = 100
"""No 64-bit number is written longer than this, and reading a huge one is slow."""


class Scalar:
    """A scalar as written: its text, its tag in short form ("" when untagged), whether it was quoted, its line."""

    __slots__ = ("line", "quoted", "tag", "value")

    def __init__(self, value: str, tag: str, quoted: bool, line: int) -> None:
        self.value, self.tag, self.quoted, self.line = value, tag, quoted, line

    @property
    def is_text(self) -> bool:
        """Whether the document itself says that this is text: tagged so, or quoted and untagged."""
        return self.tag == STR or (self.quoted and self.tag == "")

    def resolved(self) -> tuple[str, Any]:
        """Return the tag and value of this scalar as read without a field's help."""
        if self.is_text:
            return STR, self.value
        tag, value = resolve(self.value, self.tag, self.line)
        if tag == BINARY:
            try:
                value = base64.b64decode(self.value.replace("\n", "").replace("\r", ""), validate=True).decode(
                    "utf-8", "surrogateescape"
                )
            except (binascii.Error, ValueError) as e:
                raise YamlError(f"line {self.line}: !!binary value is not base64") from e
        return tag, value


class Sequence:
    """A list node."""

    __slots__ = ("items", "line")

    def __init__(self, line: int) -> None:
        self.items: list[Node] = []
        self.line = line


class MappingNode:
    """A mapping node: its keys and values in document order, nothing merged."""

    __slots__ = ("line", "pairs")

    def __init__(self, line: int) -> None:
        self.pairs: list[tuple[Node, Node]] = []
        self.line = line


class Alias:
    """A reference to an anchored node."""

    __slots__ = ("line", "name", "target")

    def __init__(self, name: str, target: "Node", line: int) -> None:
        self.name, self.target, self.line = name, target, line


Node: TypeAlias = Scalar | Sequence | MappingNode | Alias


@overload
def target_of(node: Node) -> "Scalar | Sequence | MappingNode": ...
@overload
def target_of(node: Node | None) -> "Scalar | Sequence | MappingNode | None": ...
def target_of(node: Node | None) -> "Scalar | Sequence | MappingNode | None":
    """Return what a node is once aliases are followed."""
    while isinstance(node, Alias):
        node = node.target
    return node


def is_merge(key: Node | None) -> bool:
    """Tell whether a key of a mapping merges other mappings into it."""
    return isinstance(key, Scalar) and key.value == "<<" and not key.quoted and key.tag in ("", "!!merge")


def resolve(text: str, tag: str = "", line: int = 0) -> tuple[str, Any]:
    """Say what a plain scalar is: its tag and its value (None, bool, int, float, or the text itself).

    A tag that YAML defines must fit the text; a tag of another kind leaves the text alone.

    Raises:
        YamlError: when the text is not what its tag says.
    """
    if tag not in _RESOLVABLE:
        return tag, text
    found, value = _resolve_untagged(text, tag) if tag != STR else (STR, text)
    if tag in ("", found, STR):
        return found, value
    if tag == FLOAT and found == INT and isinstance(value, int) and value <= INT_MAX:
        return FLOAT, float(value)
    raise YamlError(f"line {line}: cannot read {shown_scalar(text)} as {tag}")


def _resolve_untagged(text: str, tag: str) -> tuple[str, Any]:
    first = text[:1]
    if first in "+-0123456789" and first:
        if word := WORDS.get(text):
            return word
        return _resolve_number(text, tag)
    if first == ".":
        if word := WORDS.get(text):
            return word
        if _DOT_FLOAT.fullmatch(text) and (number := float(text)) != float("inf"):
            return FLOAT, number
        return STR, text
    return WORDS.get(text, (STR, text))


def _resolve_number(text: str, tag: str) -> tuple[str, Any]:
    if tag in ("", TIMESTAMP) and is_timestamp(text):
        return TIMESTAMP, text
    plain = text.replace("_", "")
    if m := _INTEGER.fullmatch(plain):
        number = _integer(m)
        if INT_MIN <= number <= (INT_MAX if m[1] or m[6] or m[7] else _UINT_MAX):  # beyond 63 bits only without a sign
            return INT, number
    if _FLOAT.fullmatch(plain) and abs(real := float(plain)) != float("inf"):
        return FLOAT, real
    return STR, text


def _integer(m: re.Match[str]) -> int:
    sign, hexa, binary, octal, decimal, signed_binary, signed_octal = m.groups()
    bases = ((hexa, 16), (binary or signed_binary, 2), (octal or signed_octal, 8), (decimal, 10))
    digits, base = next((d, b) for d, b in bases if d is not None)
    if len(digits) > LONGEST_INTEGER:
        return _UINT_MAX + 1
    return -int(digits, base) if sign == "-" else int(digits, base)


def is_timestamp(text: str) -> bool:
    """Tell whether yaml.v3 reads plain text as a time stamp (a date, or a date and a time)."""
    m = _TIME.fullmatch(text)
    if not m:
        return False
    year, month, day, space, hour, minute, second, zone = m.groups()
    if hour is not None and bool(space) == bool(zone):  # after T a zone is needed, after a space there is none
        return False
    try:
        datetime.date(int(year) or 4, int(month), int(day))  # year 0 is a leap year that Python does not have
    except ValueError:
        return False
    return hour is None or (int(hour) < 24 and int(minute) < 60 and int(second) < 60)


def shown_scalar(text: str) -> str:
    """Return a scalar as errors quote it, cut short."""
    text = text if len(text) <= 20 else text[:17] + "..."
    return repr(text)
