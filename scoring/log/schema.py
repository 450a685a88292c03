"""Checks entries against ``ENTRIES`` of :mod:`scoring.log.parse`, and prints it as JSON Schema."""

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

from scoring.errors import YamlError
from scoring.frozen import PlainData
from scoring.text import lower, shown, trim
from scoring.yamlnodes import (
    NULL,
    MappingNode,
    Node,
    Scalar,
    Sequence,
    is_merge,
    target_of,
)
from scoring.yamlread import Reader

from .model import SCHEMA_FLAT, SCHEMA_NESTED
from .parse import (
    BLOCKS,
    ENTRIES,
    NESTED_IMPL,
    UNREAD_FIELDS,
    EntryBlock,
    Field,
    Fields,
    ScalarField,
)

_Item = TypeVar("_Item")

_MOST_VALUES = 20_000
"""How many values of one entry are checked: aliases can make many out of few."""

_LONGEST_MISSPELT = 200  # characters of a key for which similar ones are looked up

_SIMILAR = 0.75
"""How similar a key must be to a field, from 0 to 1, to be taken for a slip."""

_READER = Reader()

NOT_READ = {
    (
        SCHEMA_NESTED,
        "impl.tests_total_pass",
    ): "is not a field of the reference, and rubrics before 3.1.0 do not read it; "
    "for them a verifier has one (verifiers[].tests_total_pass)"
}
"""Keys that are written by mistake so often that they only get a warning: by schema and path."""

_WORDS = {
    "verifiers[].status": ("pass", "fail", "partial", "unknown"),
    "verifiers[].tests_added_by_kind[].kind": (
        "positive",
        "negative",
        "edge",
        "regression",
    ),
}
"""The words that text fields take, by path. Other words can be read, and count for nothing."""


class DescribedField(NamedTuple):
    """A field of an entry, as documentation shows it.

    Attributes:
        path: the way to it through the entry, as ``verifiers[].status``.
        kind: ``list``, ``block``, or the name of a kind of single values.
        required: whether an entry must have it.
        meaning: what it means.
    """

    path: str
    kind: str
    required: bool
    meaning: str


def described_fields(entry: EntryBlock, prefix: str = "") -> Iterator[DescribedField]:
    """Yield the fields of a block in the order in which people write them, each block first.

    Args:
        entry: the block.
        prefix: the path of the block, with a dot at its end.
    """
    names = sorted(entry.fields, key=lambda name: name != "schema_version")
    for name in names:
        field = entry.fields[name]
        block = field.holds if isinstance(field.holds, EntryBlock) else None
        kind = "block" if block else field.holds.name
        path = prefix + name
        if field.is_list:
            kind = "list"
            if block:
                path += "[]"

        yield DescribedField(path, kind, field.required, field.description)
        if block:
            yield from described_fields(block, f"{path}.")


def entry_schema() -> PlainData:
    """Return the JSON Schema of an entry, as ``da-score log schema entry`` prints it."""
    blocks = (*BLOCKS.values(), NESTED_IMPL, *ENTRIES.values())
    schemas = {block.name: _schema_of_block(block) for block in blocks}

    references = {
        str(version): f"#/$defs/{entry.name}" for version, entry in ENTRIES.items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An entry of an iteration log (iter-N.yaml)",
        "description": "What an agent reports of one iteration."
        " Leave out what is not known: absent is not zero.",
        "$defs": dict(sorted(schemas.items())),
        "discriminator": {"mapping": references, "propertyName": "schema_version"},
        "oneOf": [{"$ref": reference} for reference in references.values()],
    }


def _schema_of_block(block: EntryBlock) -> PlainData:
    """Return the JSON Schema of a block, with the fields that nothing reads."""
    title = block.name
    for version, entry in ENTRIES.items():
        if entry is block:
            title = f"Entry, schema {version}"

    fields = {**block.fields, **UNREAD_FIELDS.get(block.name, {})}
    schema: PlainData = {
        "additionalProperties": False,
        "properties": {name: _schema_of_field(field) for name, field in fields.items()},
    }
    required = [name for name, field in block.fields.items() if field.required]
    if required:
        schema["required"] = required
    return {**schema, "title": title, "type": "object"}


def _schema_of_field(field: Field) -> PlainData:
    value: PlainData
    if isinstance(field.holds, EntryBlock):
        value = {"$ref": f"#/$defs/{field.holds.name}"}
    else:
        value = dict(field.holds.json)

    if field.is_list:
        value = {"items": value, "type": "array"}
    return dict(sorted({"description": field.description, **value}.items()))


class EntryFault(NamedTuple):
    """Something wrong with an entry.

    Attributes:
        path: the field, as ``verifiers.0.status``; "" for the entry as a whole.
        line: the line in the file, from 1; None for an empty document.
        text: what is wrong, for people.
        is_error: False where the entry can be read, though perhaps not as it was meant.
    """

    path: str
    line: int | None
    text: str
    is_error: bool = True


def faults_of(
    document: Node | None, archived: bool = False, strict: bool = False
) -> list[EntryFault]:
    """Return what is wrong with an entry, sorted by line.

    Broken YAML and a wrong ``schema_version`` are left to the parser.

    Args:
        document: the entry.
        archived: whether it is in the archive, where every entry is read as schema 1.
        strict: whether keys that nothing reads are errors, though dot-agents writes them.
    """
    if not document:
        return [EntryFault("", None, "an entry is a mapping")]

    root = target_of(document)
    if not isinstance(root, MappingNode):
        return [EntryFault("", root.line, "an entry is a mapping")]

    version = SCHEMA_FLAT if archived else _version_of(root)
    if version not in ENTRIES:
        return []

    whole = _Value(root, root.line)
    faults = _EntryCheck(version, strict).value(whole, ENTRIES[version], "")
    return sorted(faults, key=lambda fault: (fault.line or 0, fault.path))


def _version_of(document: MappingNode) -> int | None:  # None: missing, or not a number
    try:
        fields = Reader().struct(document, {"schema_version": Reader.integer})
    except YamlError:
        return None
    return fields.get("schema_version")


class _Value(NamedTuple):
    """A value in a mapping, and the line of its key."""

    node: Node
    line: int


class _EntryCheck:
    """The check of one entry, which stops after a number of values."""

    def __init__(self, version: int, strict: bool) -> None:
        self._version = version
        self._strict = strict
        self._values_left = _MOST_VALUES

    def value(
        self, value: _Value, kind: ScalarField | EntryBlock, path: str
    ) -> Iterator[EntryFault]:
        """Yield what is wrong with a value.

        Args:
            value: the value.
            kind: what it should be.
            path: the field that it is in; "" for the entry as a whole.
        """
        if isinstance(kind, ScalarField):
            yield from _faults_of_scalar(value, kind, path)
        elif isinstance(value.node, MappingNode):
            yield from self._block(value.node, value.line, kind, path)
        else:
            yield _misfit(value, path, "a mapping")

    def _block(
        self, node: MappingNode, line: int, block: EntryBlock, path: str
    ) -> Iterator[EntryFault]:
        """Yield what is wrong with a mapping: missing fields, wrong values, unknown keys."""
        prefix = f"{path}." if path else ""
        unread = UNREAD_FIELDS.get(block.name, {})
        values = self._values_of(node, {**unread, **block.fields}, {id(node)})
        # the parser checks it
        values.pop("schema_version", None)

        for name, field in block.fields.items():
            if field.required and name not in values and name != "schema_version":
                yield EntryFault(prefix + name, line, f"{prefix}{name} is missing")

        fields = block.fields if self._strict else {**unread, **block.fields}
        for name, value in values.items():
            field_path = prefix + name
            if name in fields:
                yield from self._field(value, fields[name], field_path)
            elif name in unread:
                text = f"unknown key {shown(field_path)}: dot-agents writes it, da-score ignores it"
                yield EntryFault(field_path, value.line, text)
            elif (self._version, field_path) in NOT_READ:
                text = f"{field_path} {NOT_READ[self._version, field_path]}"
                yield EntryFault(field_path, value.line, text, is_error=False)
            else:
                suggestion = _suggestion(field_path, self._version)
                text = f"unknown key {shown(field_path)}{suggestion}"
                yield EntryFault(field_path, value.line, text)

    def _field(self, value: _Value, field: Field, path: str) -> Iterator[EntryFault]:
        """Yield what is wrong with the value of a field, or with the items of a list."""
        if not field.is_list:
            yield from self.value(value, field.holds, path)
            return

        if not isinstance(value.node, Sequence):
            yield _misfit(value, path, "a list")
            return

        items = [item for item in value.node.items if not _READER.is_null(item)]
        for index, item in enumerate(self._limited(items)):
            yield from self.value(
                _Value(target_of(item), item.line), field.holds, f"{path}.{index}"
            )

    def _values_of(
        self, node: MappingNode, fields: Fields, merging: set[int]
    ) -> dict[str, _Value]:
        """Return the values of a mapping, and of those that it merges, without nulls in fields.

        Args:
            node: the mapping.
            fields: the fields that it may have.
            merging: the ids of the mappings that are being merged, this one included.
        """
        values: dict[str, _Value] = {}
        sources: list[Node] = []

        for key, value in self._limited(node.pairs):
            name = target_of(key)
            target = target_of(value)
            if not isinstance(name, Scalar):
                continue

            if is_merge(name):
                sources.extend(
                    target.items if isinstance(target, Sequence) else [value]
                )
            elif name.value not in fields or not _READER.is_null(target):
                values[name.value] = _Value(target, key.line)

        for source in self._limited(sources):
            mapping = target_of(source)
            if not isinstance(mapping, MappingNode) or id(mapping) in merging:
                continue

            merged = self._values_of(mapping, fields, {*merging, id(mapping)})
            for name_merged, value_merged in merged.items():
                # People look for the value where it is merged.
                values.setdefault(name_merged, value_merged._replace(line=source.line))

        return values

    def _limited(self, items: Iterable[_Item]) -> Iterator[_Item]:
        for item in items:
            if self._values_left == 0:
                return
            self._values_left -= 1
            yield item


def _faults_of_scalar(
    value: _Value, kind: ScalarField, path: str
) -> Iterator[EntryFault]:
    """Yield an error for a value that cannot be read, a warning for one that reads otherwise."""
    node: Any = value.node
    try:
        read = kind.take(_READER, node)  # no kind takes a list or a mapping
        tag, plain_value = node.resolved()
    except YamlError:
        yield _misfit(value, path, kind.wanted)
        return

    problem = ""
    if kind.tags and tag not in (*kind.tags, NULL):
        problem = f"is not {kind.wanted}, and is read as {shown(read)}"
    elif plain_value is True and read is False:
        problem = "is read as false by rubrics before 3.1.0; write true"
    elif isinstance(read, str):
        words = _WORDS.get(numberless_path(path), ())
        if words and read and lower(trim(read)) not in words:
            problem = f"is not one of {', '.join(words)}, and counts for nothing"
    if problem:
        text = f"{path}: {_words_for(node)} {problem}"
        yield EntryFault(path, value.line, text, is_error=False)


def _misfit(value: _Value, path: str, wanted: str) -> EntryFault:
    text = f"{path}: {_words_for(value.node)} where {wanted} belongs"
    return EntryFault(path, value.line, text)


def _words_for(node: Node) -> str:
    if isinstance(node, Scalar):
        return shown(node.value)
    return "a list" if isinstance(node, Sequence) else "a mapping"


def _suggestion(path: str, version: int) -> str:
    """Return words on what an unknown key may mean, for the end of a message, or "" without any."""
    if len(path) > _LONGEST_MISSPELT:
        return ""

    numberless = numberless_path(path)
    name = numberless.rpartition(".")[2]

    other = SCHEMA_NESTED if version == SCHEMA_FLAT else SCHEMA_FLAT
    if numberless in _paths_in_schema(other):
        return f", which is a field of schema {other}"

    paths = _paths_in_schema(version)
    by_name: dict[str, str] = {}
    for field in paths:
        by_name.setdefault(field.rpartition(".")[2], field)

    # The same name in another block, then a similar path, then a similar name.
    meant = [by_name[name]] if name in by_name else []
    meant += get_close_matches(numberless, paths, 1, _SIMILAR)
    meant += [by_name[each] for each in get_close_matches(name, by_name, 1, _SIMILAR)]
    if meant:
        return f"; did you mean {meant[0]}?"
    return ""


def _paths_in_schema(version: int) -> list[str]:
    return [field.path for field in described_fields(ENTRIES[version])]


def numberless_path(path: str) -> str:
    """Return the path of a field with ``[]`` for each number: ``verifiers[].status``."""
    return re.sub(r"(^|\.)\d+(?=\.|$)", "[]", path)
