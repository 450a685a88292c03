"""YAML as nodes: scalars as they are written, and what a plain one is (``docs/LOG.md``, "How YAML scalars are read").

:func:`parse` reads the first document of a stream into nodes; :func:`resolve` says what an untyped scalar is: YAML 1.2
core with the extras of yaml.v3.
"""

import base64
import binascii
import datetime
import re
from typing import Any, TypeAlias

from msgspec import Struct

from scoring.errors import YamlError
from scoring.text import INT_MAX, INT_MIN, cut

MAX_DEPTH = 100  # how deep a document may nest; logs nest four deep

_UINT_MAX = 2**64 - 1

_PREFIX = "tag:yaml.org,2002:"
BINARY, BOOL, FLOAT, INT = "!!binary", "!!bool", "!!float", "!!int"
NULL, STR, TIMESTAMP = "!!null", "!!str", "!!timestamp"
_RESOLVABLE = {"", BOOL, FLOAT, INT, NULL, STR, TIMESTAMP}

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_WORDS: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("true", "True", "TRUE"), (BOOL, True)),
    **dict.fromkeys(("false", "False", "FALSE"), (BOOL, False)),
    **dict.fromkeys(NULLS, (NULL, None)),
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
_BASES = (0, 0, 16, 2, 8, 10, 2, 8)  # the base of the digits in each of its groups

_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_DOT_FLOAT = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?", re.ASCII)
_TIME = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[Tt]|( ))(\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(Z|[-+]\d\d:\d\d)?)?",
    re.ASCII,
)
_NUMERIC = frozenset("+-.0123456789")
LONGEST_INTEGER = (
    100  # no 64-bit number is written longer than this, and reading a huge one is slow
)


class Scalar(Struct, eq=False, gc=False):
    """A scalar as written: its text, its tag in short form ("" when untagged), whether it was quoted, its line."""

    value: str
    tag: str
    quoted: bool
    line: int

    @property
    def is_null(self) -> bool:
        """Whether it reads as null, or is tagged so."""
        return (self.value in NULLS and not self.quoted) if not self.tag else self.tag == NULL

    def resolved(self) -> tuple[str, Any]:
        """Return the tag and value of this scalar as read without a field's help."""
        if self.tag == STR or (
            self.quoted and not self.tag
        ):  # the document itself says that this is text
            return STR, self.value
        tag, value = resolve(self.value, self.tag, self.line)
        if tag == BINARY:
            data = self.value.replace("\n", "").replace("\r", "")
            try:
                value = base64.b64decode(data, validate=True).decode("utf-8", "surrogateescape")
            except (binascii.Error, ValueError) as e:
                raise YamlError(f"line {self.line}: !!binary value is not base64") from e
        return tag, value


class Sequence(Struct, eq=False):
    """A list node."""

    line: int
    items: list["Node"] = []


class MappingNode(Struct, eq=False):
    """A mapping node: its keys and values in turn, in document order, nothing merged."""

    line: int
    items: list["Node"] = []

    @property
    def pairs(self) -> list[tuple["Node", "Node"]]:
        """Its keys with their values."""
        return list(zip(self.items[::2], self.items[1::2], strict=True))


class Alias(Struct, eq=False):
    """A reference to an anchored node."""

    name: str
    target: "Node"
    line: int


Node: TypeAlias = Scalar | Sequence | MappingNode | Alias


def target_of(node: Node) -> Scalar | Sequence | MappingNode:
    """Return what a node is once aliases are followed."""
    while isinstance(node, Alias):
        node = node.target
    return node


def is_merge(key: Node) -> bool:
    """Tell whether a key of a mapping merges other mappings into it."""
    return (
        isinstance(key, Scalar)
        and key.value == "<<"
        and not key.quoted
        and key.tag in ("", "!!merge")
    )


def resolve(text: str, tag: str = "", line: int = 0) -> tuple[str, Any]:
    """Say what a plain scalar is: its tag and its value; YamlError when it is not what its tag says."""
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
    if (word := _WORDS.get(text)) or first not in _NUMERIC:
        return word or (STR, text)
    if first == ".":
        number = float(text) if _DOT_FLOAT.fullmatch(text) else float("inf")
        return (FLOAT, number) if number != float("inf") else (STR, text)
    if tag in ("", TIMESTAMP) and is_timestamp(text):
        return TIMESTAMP, text
    plain = text.replace("_", "")
    if m := _INTEGER.fullmatch(plain):
        whole = _integer(m)
        if (
            INT_MIN <= whole <= (INT_MAX if m[1] or m[6] or m[7] else _UINT_MAX)
        ):  # beyond 63 bits only without a sign
            return INT, whole
    if _FLOAT.fullmatch(plain) and abs(real := float(plain)) != float("inf"):
        return FLOAT, real
    return STR, text


def _integer(m: re.Match[str]) -> int:
    group = m.lastindex or 0
    if len(m[group]) > LONGEST_INTEGER:
        return _UINT_MAX + 1
    whole = int(m[group], _BASES[group])
    return -whole if m[1] == "-" else whole


def is_timestamp(text: str) -> bool:
    """Tell whether yaml.v3 reads plain text as a time stamp (a date, or a date and a time)."""
    m = _TIME.fullmatch(text)
    if not m:
        return False
    year, month, day, space, hour, minute, second, zone = m.groups()
    if hour is not None and bool(space) == bool(
        zone
    ):  # after T a zone is needed, after a space there is none
        return False
    try:
        # year 0 is a leap year that Python does not have
        datetime.datetime(
            int(year) or 4, int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0)
        )
    except ValueError:
        return False
    return True


def shown_scalar(text: str) -> str:
    """Return a scalar as errors quote it, cut short."""
    return repr(cut(text, 20))


def parse(data: bytes) -> Node | None:
    """Read the first document of a YAML stream, None when there is none; YamlError where it is broken or too deep."""
    import yaml  # 15 ms that a log from the store does without

    try:
        return _composed(data)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        problem = e.problem or e.context or ""
        if "nesting depth" in problem:  # newer libyaml has a limit of its own, and reads ahead
            problem = f"nested more than {MAX_DEPTH} deep"
        raise YamlError(f"{where}{problem}") from e
    except YamlError:
        raise
    except (yaml.YAMLError, ValueError) as e:
        raise YamlError(
            f"not YAML text: {getattr(e, 'reason', None) or ' '.join(str(e).split())}"
        ) from e


def _composed(data: bytes) -> Node | None:
    """Build nodes from what libyaml's parser reads, without recursion, up to the end of the first document."""
    import yaml
    from yaml._yaml import CParser

    get_event: Any = CParser(data).get_event
    anchors: dict[str, Node] = {}
    root = Sequence(0)  # the document is its only item
    stack: list[Sequence | MappingNode] = [root]
    while True:
        event = get_event()
        kind = type(event)
        if kind is yaml.ScalarEvent:
            node: Scalar | Sequence | MappingNode = Scalar(
                event.value, _short_tag(event.tag), bool(event.style), event.start_mark.line + 1
            )
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            node = (MappingNode if kind is yaml.MappingStartEvent else Sequence)(
                event.start_mark.line + 1
            )
            if len(stack) > MAX_DEPTH:
                raise YamlError(f"line {node.line}: nested more than {MAX_DEPTH} deep")
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            stack.pop()
            continue
        elif kind is yaml.AliasEvent:
            line = event.start_mark.line + 1
            if event.anchor not in anchors:
                raise YamlError(f"line {line}: unknown anchor {event.anchor!r}")
            stack[-1].items.append(Alias(event.anchor, anchors[event.anchor], line))
            continue
        elif kind is yaml.DocumentEndEvent or kind is yaml.StreamEndEvent:
            return root.items[0] if root.items else None
        else:  # the start of the stream or the document
            continue
        stack[-1].items.append(node)
        if event.anchor:
            anchors[event.anchor] = node
        if not isinstance(node, Scalar):
            stack.append(node)


def _short_tag(tag: str | None) -> str:
    if tag is None or tag == "!":
        return ""
    return f"!!{tag.removeprefix(_PREFIX)}" if tag.startswith(_PREFIX) else tag
