"""How YAML becomes typed fields (``docs/LOG.md``, "How YAML scalars are read").

Scalars stay as written until a field takes them: the *field* decides how one reads (``date: 2026-04-18`` is text,
``retries: 1.5`` is 1), and a key given twice matters only where fields are read, as with yaml.v3 in the reference. Deep
nesting, and aliases that multiply, are refused.
"""

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from sys import intern
from typing import Any, TypeAlias

import scoring.yamlnodes as nodes
from scoring.errors import InputError, YamlError
from scoring.files import read_file
from scoring.text import INT_MAX, INT_MIN, trim
from scoring.yamlnodes import parse as parse

_DECIMAL = re.compile(r"[-+]?[0-9]+", re.ASCII)
_TRUE_TEXT = {"1", "t", "T", "TRUE", "true", "True"}
_FALSE_TEXT = {"0", "f", "F", "FALSE", "false", "False"}


_NAMELESS = nodes.NULLS | {"<<"}

Take: TypeAlias = Callable[["Reader", nodes.Node], Any]  # how one field takes its node


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

    def string(self, node: nodes.Node) -> str:
        """Take any scalar as its source text; null is empty, binary is decoded."""
        scalar = self._scalar(node, "text")
        if scalar.tag:
            tag, value = scalar.resolved()
            return str(value) if tag == nodes.BINARY else "" if tag == nodes.NULL else scalar.value
        return "" if scalar.is_null else intern(scalar.value)  # entries have many texts in common

    def integer(self, node: nodes.Node) -> int:
        """Take a whole number in any spelling, a float cut to a whole number, or null as 0; 64 bits, signed."""
        _, value = self._scalar(node, "a whole number").resolved()
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

    def number(self, node: nodes.Node) -> float:
        """Take a number; null is 0. The result may be infinite or not a number."""
        _, value = self._scalar(node, "a number").resolved()
        if value is None:
            return 0.0
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._misfit(node, "a number")
        return float(value)

    def boolean(self, node: nodes.Node) -> bool:
        """Take true, false, or one of YAML 1.1's words for them; null is false."""
        _, value = self._scalar(node, "true or false").resolved()
        if value is None:
            return False
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in nodes.OLD_BOOLEANS:
            return value in nodes.YES
        raise self._misfit(node, "true or false")

    def flag(self, node: nodes.Node) -> bool | None:
        """Take a tri-state flag: true, false, or None for not reported (null, empty).

        A plain boolean is true only in the spellings that the reader was given; a decimal integer is true unless 0;
        text is read after trimming. Anything else raises.
        """
        scalar = self._scalar(node, "a test flag")
        text = scalar.value
        tag = scalar.tag or (nodes.STR if scalar.quoted else nodes.resolve(text)[0])
        if tag == nodes.NULL:
            scalar.resolved()  # raises where the tag is wrong
            return None
        if tag == nodes.BOOL:
            return text in self._true_flags
        if tag == nodes.INT and len(text) <= nodes.LONGEST_INTEGER and _DECIMAL.fullmatch(text):
            if INT_MIN <= int(text) <= INT_MAX:
                return int(text) != 0
        elif tag == nodes.STR:
            text = trim(text)
            if text == "":
                return None
            if text in _TRUE_TEXT or text in _FALSE_TEXT:
                return text in _TRUE_TEXT
        raise self._misfit(scalar, "a test flag (true, false, or a count)")

    def items(self, node: nodes.Node, take: Take) -> list[Any]:
        """Take a list, each item by ``take``; null items are dropped, null is empty."""
        target = self._enter(node)
        try:
            if isinstance(target, nodes.Sequence):
                return [take(self, item) for item in target.items if not self.is_null(item)]
            if self._is_nothing(target):
                return []
            raise self._misfit(target, "a list")
        finally:
            self._leave(node)

    def struct(
        self, node: nodes.Node, fields: Mapping[str, Take], merged_into: set[str] | None = None
    ) -> dict[str, Any]:
        """Take a mapping into fields; keys that no field has are ignored, null is empty.

        Merge keys (``<<``) fill in fields that the mapping itself does not give; of several, the first one that gives
        a field wins. ``merged_into`` are the names that a mapping which merges this one has. Returns the fields that
        were given.
        """
        target = self._enter(node)
        try:
            if self._is_nothing(target):
                return {}
            if not isinstance(target, nodes.MappingNode):
                raise self._misfit(target, "a mapping")
            pairs = target.pairs
            _refuse_duplicates(pairs)
            values: dict[str, Any] = {}
            given: set[str] = set() if merged_into is None else merged_into
            merges: list[nodes.Node] = []
            for key, value in pairs:
                name = self._name(key)
                if name is None:
                    if nodes.is_merge(key):
                        merges = value.items if isinstance(value, nodes.Sequence) else [value]
                    continue
                if merged_into is not None and name in merged_into:
                    continue
                given.add(name)
                if take := fields.get(name):
                    self._path.append(name)
                    try:
                        values[name] = take(self, value)
                    finally:  # a list may go on after an item that does not fit
                        self._path.pop()
            for source in merges:
                if not isinstance(nodes.target_of(source), nodes.MappingNode):
                    raise YamlError(
                        f"line {source.line}: a merge key takes a mapping or a list of mappings"
                    )
                values |= self.struct(source, fields, given)
            return values
        finally:
            self._leave(node)

    def _name(self, key: nodes.Node) -> str | None:
        """Return the name that a key of a mapping gives; None for null and for a merge."""
        if (
            type(key) is nodes.Scalar
            and not key.tag
            and key.value not in _NAMELESS
            and not self._open_aliases
        ):
            self._decoded += 1
            return key.value
        return None if nodes.is_merge(key) or self.is_null(key) else self.string(key)

    def is_null(self, node: nodes.Node) -> bool:
        """Tell whether a node reads as null."""
        target = nodes.target_of(node)
        return isinstance(target, nodes.Scalar) and target.is_null

    def _is_nothing(self, target: nodes.Node) -> bool:
        """Tell whether a node reads as null; a null tag on text that is not null is an error."""
        return isinstance(target, nodes.Scalar) and target.is_null and target.resolved()[1] is None

    def _scalar(self, node: nodes.Node, wanted: str) -> nodes.Scalar:
        if type(node) is nodes.Scalar and not self._open_aliases:
            self._decoded += 1
            return node
        target = self._enter(node)
        self._leave(node)
        if not isinstance(target, nodes.Scalar):
            raise self._misfit(target, wanted)
        return target

    def _enter(self, node: nodes.Node) -> nodes.Scalar | nodes.Sequence | nodes.MappingNode:
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
        if isinstance(node, nodes.Alias):
            if id(node) in self._open_aliases:
                raise YamlError(f"line {node.line}: anchor {node.name!r} contains itself")
            self._open_aliases.add(id(node))
        return nodes.target_of(node)

    def _leave(self, node: nodes.Node) -> None:
        self._open_aliases.discard(id(node))

    def _misfit(self, node: nodes.Node, wanted: str) -> YamlError:
        target = nodes.target_of(node)
        if isinstance(target, nodes.Scalar):
            what = (
                f"quoted {nodes.shown_scalar(target.value)}"
                if target.quoted
                else nodes.shown_scalar(target.value)
            )
        else:
            what = "a list" if isinstance(target, nodes.Sequence) else "a mapping"
        field = ".".join(self._path)
        return YamlError(
            f"line {node.line}: {field}{': ' if field else ''}{what} where {wanted} belongs"
        )


def items_of(take: Take) -> Take:
    """Return how a list field takes its node: each item by ``take``, null items dropped, null as empty."""

    def take_list(reader: Reader, node: nodes.Node) -> list[Any]:
        return reader.items(node, take)

    return take_list


def _refuse_duplicates(pairs: Collection[tuple[nodes.Node, nodes.Node]]) -> None:
    if len({key.value for key, _ in pairs if isinstance(key, nodes.Scalar)}) == len(pairs):
        return
    lines: dict[tuple[type, str], int] = {}
    for key, _ in pairs:
        text = (
            key.value
            if isinstance(key, nodes.Scalar)
            else key.name
            if isinstance(key, nodes.Alias)
            else ""
        )
        if (identity := (type(key), text)) in lines:
            raise YamlError(
                f"line {key.line}: key {nodes.shown_scalar(text)} is already given on line {lines[identity]}"
            )
        lines[identity] = key.line


def _allowed_alias_ratio(decoded: int) -> float:
    """Return the share of decoding steps that may come from aliases: nearly all of a small document, few of a large."""
    low, high = 400_000, 4_000_000
    if decoded <= low:
        return 0.99
    return 0.10 if decoded >= high else 0.99 - 0.89 * (decoded - low) / (high - low)


def read_fields(
    path: Path | None, fields: Mapping[str, Take], within: Path | str | None = None
) -> dict[str, Any] | None:
    """Return what a file of YAML gives of some fields; None where there is none that can be read."""
    if path is None:
        return None
    try:
        node = parse(read_file(path, within=within))
        return {} if node is None else Reader().struct(node, fields)
    except InputError:
        return None
