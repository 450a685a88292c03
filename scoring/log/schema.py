"""What an entry may hold, as JSON Schema, and what is wrong with one, by the table in :mod:`scoring.log.parse`."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

from scoring.errors import YamlError
from scoring.log.model import SCHEMA_FLAT, SCHEMA_NESTED
from scoring.log.parse import ENTRIES, EntryBlock, Field, ScalarField, described_fields
from scoring.text import shown
from scoring.yamlnodes import NULL, MappingNode, Node, Scalar, Sequence, target_of
from scoring.yamlread import Reader

_MOST_NODES = 20_000  # how many values of one entry are looked at; aliases may make many of few
_READER = Reader()

NOT_READ = {
    (
        SCHEMA_NESTED,
        "impl.tests_total_pass",
    ): "is no field of the reference, and rubrics before 3.0.0 do not read it; "
    "for them a verifier has one (verifiers[].tests_total_pass)"
}  # keys that are written by mistake so often that they are no error, by schema, and what is said of them


def entry_schema() -> dict[str, Any]:
    """Return the JSON Schema of an entry of either schema, as ``da-score schema entry`` prints it."""
    blocks: dict[str, EntryBlock] = {}
    for entry in ENTRIES.values():
        blocks |= {block.name: block for block in _blocks(entry)}
    names = {str(version): f"#/$defs/{entry.name}" for version, entry in ENTRIES.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An entry of an iteration log (iter-N.yaml)",
        "description": "What an agent reports of one iteration. Leave out what is not known: absent is not zero.",
        "$defs": {name: _block_schema(block) for name, block in sorted(blocks.items())},
        "discriminator": {"mapping": names, "propertyName": "schema_version"},
        "oneOf": [{"$ref": name} for name in names.values()],
    }


def _blocks(block: EntryBlock) -> Iterator[EntryBlock]:
    yield block
    for field in block.fields.values():
        if isinstance(field.holds, EntryBlock):
            yield from _blocks(field.holds)


def _block_schema(block: EntryBlock) -> dict[str, Any]:
    title = next(
        (f"Entry, schema {version}" for version, entry in ENTRIES.items() if entry is block),
        block.name,
    )
    required = [name for name, field in block.fields.items() if field.required]
    return {
        "additionalProperties": False,
        "properties": {name: _field_schema(field) for name, field in block.fields.items()},
        **({"required": required} if required else {}),
        "title": title,
        "type": "object",
    }


def _field_schema(field: Field) -> dict[str, Any]:
    held = (
        {"$ref": f"#/$defs/{field.holds.name}"}
        if isinstance(field.holds, EntryBlock)
        else field.holds.json
    )
    whole = {"items": held, "type": "array"} if field.is_list else held
    return dict(sorted({"description": field.description, **whole}.items()))


class EntryFault(NamedTuple):
    """What is wrong with an entry: where ("" for all of it), its line, what; no error where it is read otherwise."""

    way: str
    line: int | None
    what: str
    is_error: bool = True


def faults_of(document: Node | None, archived: bool = False) -> list[EntryFault]:
    """Compare a document with its schema, an archived one with schema 1; what the parser refuses is not looked for."""
    whole = document and target_of(document)
    if not isinstance(whole, MappingNode):
        return [EntryFault("", whole.line if whole else None, "an entry is a mapping")]
    version = SCHEMA_FLAT if archived else _version(whole)
    if version not in ENTRIES:
        return []  # the parser says so
    found = _faults(whole, ENTRIES[version], "", whole.line, version, iter(range(_MOST_NODES)))
    return sorted(found, key=lambda fault: (fault.line or 0, fault.way))


def _faults(
    node: Node,
    holds: ScalarField | EntryBlock,
    way: str,
    line: int,
    version: int,
    left: Iterator[int],
) -> Iterator[EntryFault]:
    """Yield what is wrong with a value, which begins in ``line``; each that is looked at takes one of ``left``."""
    if isinstance(holds, ScalarField):
        yield from _scalar(node, holds, way, line)
        return
    if not isinstance(node, MappingNode):
        yield EntryFault(way, line, f"{way}: {_words(node)} where a mapping belongs")
        return
    prefix = f"{way}." if way else ""
    given = _given(node, holds, {id(node)}, left)
    for name, field in holds.fields.items():
        if field.required and name not in given and name != "schema_version":
            yield EntryFault(f"{prefix}{name}", line, f"{prefix}{name} is missing")
    for name, (value, at) in given.items():
        whole, known = f"{prefix}{name}", holds.fields.get(name)
        if whole == "schema_version":
            continue  # the parser says what is wrong with it
        if known is None and (said := NOT_READ.get((version, whole))):
            yield EntryFault(whole, at, f"{whole} {said}", is_error=False)
        elif known is None:
            yield EntryFault(whole, at, f"unknown key {shown(whole)}{_meant(whole, version)}")
        elif not known.is_list:
            yield from _faults(value, known.holds, whole, at, version, left)
        elif not isinstance(value, Sequence):
            yield EntryFault(whole, at, f"{whole}: {_words(value)} where a list belongs")
        else:
            items = (item for item in value.items if not _READER.is_null(item))
            for n, (item, _) in enumerate(zip(items, left, strict=False)):
                yield from _faults(
                    target_of(item), known.holds, f"{whole}.{n}", item.line, version, left
                )


def _given(
    node: MappingNode, block: EntryBlock, merging: set[int], left: Iterator[int]
) -> dict[str, tuple[Node, int]]:
    """Return the values of a mapping and of what it merges, by name, each with its line; no nulls of its fields."""
    given: dict[str, tuple[Node, int]] = {}
    merged: list[Node] = []
    for (key, value), _ in zip(node.pairs, left, strict=False):
        name, held = target_of(key), target_of(value)
        if isinstance(name, Scalar) and name.value == "<<" and not name.quoted:
            merged.extend(held.items if isinstance(held, Sequence) else [value])
        elif isinstance(name, Scalar) and (
            name.value not in block.fields or not _READER.is_null(held)
        ):
            given[name.value] = held, key.line
    for other, _ in zip(merged, left, strict=False):
        source = target_of(other)
        if isinstance(source, MappingNode) and id(source) not in merging:
            for key_, (target, _) in _given(source, block, {*merging, id(source)}, left).items():
                given.setdefault(key_, (target, other.line))
    return given


def _scalar(value: Any, holds: ScalarField, way: str, line: int) -> Iterator[EntryFault]:
    try:
        taken = holds.take(_READER, value)
        tag, meant = value.resolved()
    except YamlError:
        yield EntryFault(way, line, f"{way}: {_words(value)} where {holds.wanted} belongs")
        return
    if holds.tags and tag not in (*holds.tags, NULL):
        said = f"{_words(value)} is no {holds.wanted.removeprefix('a ')}, and is read as {shown(taken)}"
        yield EntryFault(way, line, f"{way}: {said}", is_error=False)
    elif meant is True and taken is False:
        said = "is read as false by rubrics before 2.3.0; write true"
        yield EntryFault(way, line, f"{way}: {_words(value)} {said}", is_error=False)


def _words(node: Node) -> str:
    if isinstance(node, Scalar):
        return shown(node.value)
    return "a list" if isinstance(node, Sequence) else "a mapping"


def _meant(way: str, version: int) -> str:
    numbered = "".join("[]" if part.isdigit() else f".{part}" for part in way.split("."))[1:]
    known = {
        number: [field.way for field in described_fields(entry)]
        for number, entry in ENTRIES.items()
    }
    other = SCHEMA_FLAT + SCHEMA_NESTED - version
    name = numbered.rpartition(".")[2]
    if numbered in known[other]:
        return f", which is a field of schema {other}"
    if same := [one for one in known[version] if one.rpartition(".")[2] == name]:
        return f"; did you mean {same[0]}?"
    close = get_close_matches(numbered, known[version], 1, 0.75)
    names = {one.rpartition(".")[2]: one for one in reversed(known[version])}
    close = close or [names[one] for one in get_close_matches(name, names, 1, 0.75)]
    return f"; did you mean {close[0]}?" if close else ""


def _version(document: MappingNode) -> int | None:
    try:
        found: int | None = (
            Reader().struct(document, {"schema_version": Reader.integer}).get("schema_version")
        )
    except YamlError:
        return None
    return found
