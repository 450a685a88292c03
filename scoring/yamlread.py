"""How YAML becomes typed fields, over libyaml's parser (``docs/LOG.md``, "How YAML scalars are read").

The reference decodes YAML into typed fields with yaml.v3. That is not what a YAML loader for Python does: the *field*
decides how a scalar reads (``date: 2026-04-18`` is text, ``first_commit: yes`` is true, ``retries: 1.5`` is 1), and
only what a field asks for is looked at (a key given twice matters only in a mapping that is read into fields).

So this module keeps scalars as written until a field takes them:

- :func:`parse` reads the first document of a stream into nodes,
- :func:`resolve` says what an untyped scalar is (YAML 1.2 core with the extras of yaml.v3),
- :class:`Reader` takes nodes into fields: ``string``, ``integer``, ``number``, ``boolean``, ``flag``, ``items``,
  ``struct``. Each raises :class:`~scoring.errors.YamlError` with the line when the value does not fit.

Nesting deeper than 100, and aliases that multiply (the ratio rule of yaml.v3), are refused. The module is long because
a scalar has one reading, and its forms are of no use apart from each other.
"""

import base64
import binascii
import datetime
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

import yaml
from yaml._yaml import CParser

from scoring.errors import YamlError
from scoring.numbers import INT_MAX, INT_MIN
from scoring.text import trim

MAX_DEPTH = 100
"""How deep a document may nest; logs nest four deep."""

_UINT_MAX = 2**64 - 1

_PREFIX = "tag:yaml.org,2002:"
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

_WORDS: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("true", "True", "TRUE"), (BOOL, True)),
    **dict.fromkeys(("false", "False", "FALSE"), (BOOL, False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), (NULL, None)),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), (FLOAT, float("nan"))),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), (FLOAT, float("inf"))),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), (FLOAT, float("-inf"))),
}
_YES = {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"}
_NO = {"n", "N", "no", "No", "NO", "off", "Off", "OFF"}
OLD_BOOLEANS = _YES | _NO
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
_DECIMAL = re.compile(r"[-+]?[0-9]+", re.ASCII)
_LONGEST_INTEGER = 100
"""No 64-bit number is written longer than this, and reading a huge one is slow."""

_TRUE_TEXT = {"1", "t", "T", "TRUE", "true", "True"}
_FALSE_TEXT = {"0", "f", "F", "FALSE", "false", "False"}


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


def parse(data: bytes) -> Node | None:
    """Read the first document of a YAML stream; None when there is none.

    Raises:
        YamlError: broken syntax, an alias without an anchor, or nesting beyond :data:`MAX_DEPTH`.
    """
    try:
        return _compose(CParser(data))
    except YamlError:
        raise
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise YamlError(f"{where}{e.problem or e.context}") from e
    except (yaml.YAMLError, ValueError) as e:
        raise YamlError(f"not YAML text: {getattr(e, 'reason', None) or ' '.join(str(e).split())}") from e


def _compose(parser: Any) -> Node | None:
    """Build nodes from parser events, without recursion, up to the end of the first document."""
    root: Node | None = None
    anchors: dict[str, Node] = {}
    stack: list[tuple[Sequence | MappingNode, list[Node]]] = []
    while True:
        event = parser.get_event()
        kind = type(event)
        node: Node
        if kind is yaml.ScalarEvent:
            tag = event.tag
            style = event.style
            node = Scalar(
                event.value,
                _short_tag(tag) if tag and tag != "!" else "",
                style is not None and style != "",
                event.start_mark.line + 1,
            )
        elif kind is yaml.AliasEvent:
            if event.anchor not in anchors:
                raise YamlError(f"line {event.start_mark.line + 1}: unknown anchor {event.anchor!r}")
            node = Alias(event.anchor, anchors[event.anchor], event.start_mark.line + 1)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            line = event.start_mark.line + 1
            if len(stack) >= MAX_DEPTH:
                raise YamlError(f"line {line}: nested more than {MAX_DEPTH} deep")
            node = MappingNode(line) if kind is yaml.MappingStartEvent else Sequence(line)
            if event.anchor:
                anchors[event.anchor] = node
            stack.append((node, []))
            continue
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            node, children = stack.pop()
            if isinstance(node, MappingNode):
                node.pairs = list(zip(children[::2], children[1::2], strict=True))
            else:
                node.items = children
        elif kind is yaml.DocumentEndEvent or kind is yaml.StreamEndEvent:
            return root
        else:  # the start of the stream or the document
            continue
        if kind is yaml.ScalarEvent and event.anchor:
            anchors[event.anchor] = node
        if stack:
            stack[-1][1].append(node)
        else:
            root = node


def _short_tag(tag: str) -> str:
    return "!!" + tag[len(_PREFIX) :] if tag.startswith(_PREFIX) else tag


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
    raise YamlError(f"line {line}: cannot read {_shown(text)} as {tag}")


def _resolve_untagged(text: str, tag: str) -> tuple[str, Any]:
    first = text[:1]
    if first in "+-0123456789" and first:
        if word := _WORDS.get(text):
            return word
        return _resolve_number(text, tag)
    if first == ".":
        if word := _WORDS.get(text):
            return word
        if _DOT_FLOAT.fullmatch(text) and (number := float(text)) != float("inf"):
            return FLOAT, number
        return STR, text
    return _WORDS.get(text, (STR, text))


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
    if len(digits) > _LONGEST_INTEGER:
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


def _shown(text: str) -> str:
    text = text if len(text) <= 20 else text[:17] + "..."
    return repr(text)


Take: TypeAlias = Callable[["Reader", Node], Any]
"""How one field takes its node."""


TRUE_FLAGS = frozenset({"true"})
"""The spellings of a plain boolean that a tri-state flag takes for true, as the reference does."""


class Reader:
    """Takes nodes into typed fields, and counts the work that aliases cause."""

    def __init__(self, true_flags: Collection[str] = TRUE_FLAGS) -> None:
        """Prepare to take nodes; ``true_flags`` are the plain booleans that a tri-state flag takes for true."""
        self._true_flags = true_flags
        self._decoded = 0
        self._aliased = 0
        self._open_aliases: set[int] = set()
        self._path: list[str] = []

    def string(self, node: Node) -> str:
        """Take any scalar as its source text; null is empty, binary is decoded."""
        tag, value = self._scalar(node, "text")
        if value is None:
            return ""
        text: str = value if tag == BINARY else self._target(node).value
        return text

    def integer(self, node: Node) -> int:
        """Take a whole number in any spelling, a float cut to a whole number, or null as 0; 64 bits, signed."""
        _, value = self._scalar(node, "a whole number")
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._misfit(node, "a whole number")
        if isinstance(value, float):
            if not value <= 2.0**63:  # too large, or not a number
                raise self._misfit(node, "a whole number")
            return int(value) if -(2.0**63) <= value < 2.0**63 else INT_MIN
        if value > INT_MAX:
            raise self._misfit(node, "a whole number of 64 bits")
        return value

    def number(self, node: Node) -> float:
        """Take a number; null is 0. The result may be infinite or not a number."""
        _, value = self._scalar(node, "a number")
        if value is None:
            return 0.0
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._misfit(node, "a number")
        return float(value)

    def boolean(self, node: Node) -> bool:
        """Take true, false, or one of YAML 1.1's words for them; null is false."""
        _, value = self._scalar(node, "true or false")
        if value is None:
            return False
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in OLD_BOOLEANS:
            return value in _YES
        raise self._misfit(node, "true or false")

    def flag(self, node: Node) -> bool | None:
        """Take a tri-state flag: true, false, or None for not reported (null, empty).

        A plain boolean is true only in the spellings that the reader was given; a decimal integer is true unless 0;
        text is read after trimming. Anything else raises.
        """
        target = self._enter(node)
        try:
            if not isinstance(target, Scalar):
                raise self._misfit(target, "a test flag")
            if isinstance(target, Scalar) and self.is_null(target):
                target.resolved()  # a null tag on text that is not null is an error
                return None
            tag = target.tag or (STR if target.quoted else resolve(target.value)[0])
            text = target.value
            if tag == BOOL:
                return text in self._true_flags
            if tag == INT and len(text) <= _LONGEST_INTEGER and _DECIMAL.fullmatch(text):
                if INT_MIN <= int(text) <= INT_MAX:
                    return int(text) != 0
            elif tag == STR:
                text = trim(text)
                if text == "":
                    return None
                if text in _TRUE_TEXT or text in _FALSE_TEXT:
                    return text in _TRUE_TEXT
            raise self._misfit(target, "a test flag (true, false, or a count)")
        finally:
            self._leave(node)

    def items(self, node: Node, take: Take) -> list[Any]:
        """Take a list, each item by ``take``; null items are dropped, null is empty."""
        target = self._enter(node)
        try:
            if isinstance(target, Sequence):
                return [take(self, item) for item in target.items if not self.is_null(item)]
            if isinstance(target, Scalar) and self.is_null(target):
                target.resolved()  # a null tag on text that is not null is an error
                return []
            raise self._misfit(target, "a list")
        finally:
            self._leave(node)

    def struct(self, node: Node, fields: Mapping[str, Take]) -> dict[str, Any]:
        """Take a mapping into fields; keys that no field has are ignored, null is empty.

        Merge keys (``<<``) fill in fields that the mapping itself does not give; of several, the first one that gives
        a field wins. Returns the fields that were given.
        """
        values: dict[str, Any] = {}
        self._struct(node, fields, values, None)
        return values

    def _struct(self, node: Node, fields: Mapping[str, Take], values: dict[str, Any], done: set[str] | None) -> None:
        target = self._enter(node)
        try:
            if not isinstance(target, MappingNode):
                if isinstance(target, Scalar) and self.is_null(target):
                    target.resolved()  # as for lists
                    return
                raise self._misfit(target, "a mapping")
            self._refuse_duplicates(target)
            merge: Node | None = None
            given: set[str] = set()
            for key, value in target.pairs:
                if _is_merge(key):
                    merge = value
                    continue
                if isinstance(self._target(key), Scalar) and self.is_null(key):
                    continue
                name = self.string(key)
                given.add(name)
                if done is not None:
                    if name in done:
                        continue
                    done.add(name)
                if take := fields.get(name):
                    self._path.append(name)
                    try:
                        values[name] = take(self, value)
                    finally:  # whoever takes a list may go on after an item that does not fit
                        self._path.pop()
            if merge is not None:
                self._merge(merge, fields, values, given if done is None else done)
        finally:
            self._leave(node)

    def _merge(self, node: Node, fields: Mapping[str, Take], values: dict[str, Any], done: set[str]) -> None:
        sources = node.items if isinstance(node, Sequence) else [node]
        for source in sources:
            if not isinstance(self._target(source), MappingNode):
                raise YamlError(f"line {source.line}: a merge key takes a mapping or a list of mappings")
            self._struct(source, fields, values, done)

    def _refuse_duplicates(self, mapping: MappingNode) -> None:
        seen: dict[tuple[type, str], int] = {}
        for key, _ in mapping.pairs:
            text = key.value if isinstance(key, Scalar) else key.name if isinstance(key, Alias) else ""
            identity = (type(key), text)
            if identity in seen:
                raise YamlError(f"line {key.line}: key {_shown(text)} is already given on line {seen[identity]}")
            seen[identity] = key.line

    def is_null(self, node: Node) -> bool:
        """Tell whether a node reads as null."""
        target = self._target(node)
        if not isinstance(target, Scalar) or target.is_text:
            return False
        return target.tag == NULL or (target.tag == "" and _WORDS.get(target.value, (STR,))[0] == NULL)

    def _scalar(self, node: Node, wanted: str) -> tuple[str, Any]:
        target = self._enter(node)
        try:
            if not isinstance(target, Scalar):
                raise self._misfit(target, wanted)
            return target.resolved()
        finally:
            self._leave(node)

    @staticmethod
    def _target(node: Node) -> Any:
        while isinstance(node, Alias):
            node = node.target
        return node

    def _enter(self, node: Node) -> Node:
        """Count one decoding step, follow an alias, and refuse aliases that multiply or contain themselves."""
        self._decoded += 1
        if self._open_aliases:
            self._aliased += 1
            if (
                self._aliased > 100
                and self._decoded > 1000
                and self._aliased / self._decoded > _allowed_alias_ratio(self._decoded)
            ):
                raise YamlError(f"line {node.line}: aliases multiply beyond reason")
        if isinstance(node, Alias):
            if id(node) in self._open_aliases:
                raise YamlError(f"line {node.line}: anchor {node.name!r} contains itself")
            self._open_aliases.add(id(node))
        return self._target(node)  # type: ignore[no-any-return]

    def _leave(self, node: Node) -> None:
        self._open_aliases.discard(id(node))

    def _misfit(self, node: Node, wanted: str) -> YamlError:
        target = self._target(node)
        if isinstance(target, Scalar):
            what = f"quoted {_shown(target.value)}" if target.quoted else _shown(target.value)
        else:
            what = "a list" if isinstance(target, Sequence) else "a mapping"
        field = ".".join(self._path)
        return YamlError(f"line {node.line}: {field}{': ' if field else ''}{what} where {wanted} belongs")


def items_of(take: Take) -> Take:
    """Return how a list field takes its node: each item by ``take``, null items dropped, null as empty."""

    def take_list(reader: Reader, node: Node) -> list[Any]:
        return reader.items(node, take)

    return take_list


def _is_merge(key: Node) -> bool:
    return isinstance(key, Scalar) and key.value == "<<" and not key.quoted and key.tag in ("", "!!merge")


def _allowed_alias_ratio(decoded: int) -> float:
    """Return the share of decoding steps that may come from aliases: nearly all of a small document, few of a large."""
    low, high = 400_000, 4_000_000
    if decoded <= low:
        return 0.99
    return 0.10 if decoded >= high else 0.99 - 0.89 * (decoded - low) / (high - low)
