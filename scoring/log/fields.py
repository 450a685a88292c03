"""The fields of an entry in both schemas: the one table that the parser, the JSON Schema, lint and templates use.

What a field is and what it means is said once, at the record (:mod:`scoring.log.model`). Here is how its type is read,
and where schema 1, which is flat, has another name for it.
"""

from collections.abc import Callable, Iterator, Mapping
from types import GenericAlias, UnionType
from typing import Any, NamedTuple, TypeAlias, get_args

from scoring.log.model import (
    SCHEMA_FLAT,
    SCHEMA_NESTED,
    AgentInfo,
    ImplBlock,
    IterationRecord,
    LinkedTrace,
    ReviewBlock,
    SelfAssessment,
    TestAdded,
    TokenUsage,
    VerifierRecord,
)
from scoring.yamlnodes import BOOL, FLOAT, INT, Node
from scoring.yamlread import Reader


class ScalarField(NamedTuple):
    """How a single value is taken, and what it is called in a table, in a fault, and in JSON Schema.

    ``tags`` are those of YAML with which it is read as it is written; empty for any.
    """

    name: str
    wanted: str
    take: Callable[[Reader, Node], Any]
    json: Mapping[str, Any]
    tags: tuple[str, ...] = ()


_WHOLE = ScalarField("integer", "a whole number", Reader.integer, {"type": "integer"}, (INT,))
_SCALARS: dict[Any, ScalarField] = {
    str: ScalarField("text", "text", Reader.string, {"type": "string"}),
    int: _WHOLE._replace(json={"minimum": 0, "type": "integer"}),
    float: ScalarField("number", "a number", Reader.number, {"type": "number"}, (INT, FLOAT)),
    bool: ScalarField("yes or no", "true or false", Reader.boolean, {"type": "boolean"}, (BOOL,)),
    bool | None: ScalarField(
        "flag", "a flag (true, false, or nothing)", Reader.flag, {"type": ["boolean", "null"]}, (BOOL,)
    ),
}


class EntryBlock(NamedTuple):
    """A mapping in an entry: its name in JSON Schema, the class of its value, and its fields by name."""

    name: str
    model: type[Any]
    fields: "Fields"


class Field(NamedTuple):
    """A field: one value, or a list of values, each a scalar or a block; and its description, a sentence.

    ``may_be_none``: without it the record has None there.
    """

    holds: ScalarField | EntryBlock
    description: str
    is_list: bool = False
    required: bool = False
    may_be_none: bool = False


Fields: TypeAlias = Mapping[str, Field]


def _fields(model: type[Any]) -> dict[str, Field]:
    kinds = {name: kind for name, kind in model.__annotations__.items() if hasattr(kind, "__metadata__")}
    return {name: _field(*get_args(kind)) for name, kind in kinds.items()}


def _field(kind: Any, description: str) -> Field:
    if kind in _SCALARS:
        return Field(_SCALARS[kind], description)
    if isinstance(kind, GenericAlias):  # tuple[X, ...]
        return _field(get_args(kind)[0], description)._replace(is_list=True)
    if isinstance(kind, UnionType):
        return _field(get_args(kind)[0], description)._replace(may_be_none=True)
    return Field(_BLOCKS[kind], description)


_BLOCKS: dict[Any, EntryBlock] = {}
for _model, _name in {
    SelfAssessment: "AssessmentFields",
    AgentInfo: "AgentFields",
    TokenUsage: "TokenFields",
    ImplBlock: "ImplFields",
    TestAdded: "TestFields",
    LinkedTrace: "TraceFields",
    VerifierRecord: "VerifierFields",
    ReviewBlock: "ReviewFields",
}.items():  # a block comes before those that hold it
    _BLOCKS[_model] = EntryBlock(_name, _model, _fields(_model))


def _version(number: int) -> Field:
    version = _WHOLE._replace(json={"const": number, "type": "integer"})
    return Field(version, f"The version of this form of entries: {number}.", required=True)


_IMPL = _BLOCKS[ImplBlock]
_TOP = _fields(IterationRecord)
_TOP["iteration"] = _TOP["iteration"]._replace(holds=_WHOLE, required=True)
_ONLY_NESTED = ("branch", "checkpoint_at", "agent", "session_tokens", "impl", "verifiers", "review")
_COMMON = {name: field for name, field in _TOP.items() if name not in _ONLY_NESTED}

FLAT_IMPL = {
    "summary": "summary",
    "scope_note": "scope_note",
    "retries": "retries",
    "tests_added": "focused_tests_added",
    "tests_total_pass": "tests_total_pass",
    "self_assessment": "self_assessment",
}
"""The fields of schema 1 that are in the block ``impl`` of a record, with their names there."""

NESTED_IMPL = _IMPL._replace(fields={name: one for name, one in _IMPL.fields.items() if name != "tests_total_pass"})
"""The block ``impl`` of schema 2: its ``tests_total_pass`` is a claim that the reference does not read."""

ENTRIES: dict[int, EntryBlock] = {
    SCHEMA_FLAT: EntryBlock(
        "FlatEntry",
        IterationRecord,
        _COMMON | {"schema_version": _version(1)} | {name: _IMPL.fields[there] for name, there in FLAT_IMPL.items()},
    ),
    SCHEMA_NESTED: EntryBlock(
        "NestedEntry",
        IterationRecord,
        _COMMON
        | {"schema_version": _version(2)}
        | {name: _TOP[name] for name in _ONLY_NESTED}
        | {"impl": _TOP["impl"]._replace(holds=NESTED_IMPL)},
    ),
}
"""An entry of each schema."""


class DescribedField(NamedTuple):
    """A field with its way through the entry (``verifiers[].status``), what it holds, and what it means."""

    way: str
    kind: str
    required: bool
    meaning: str


def described_fields(entry: EntryBlock, way: str = "") -> Iterator[DescribedField]:
    """Yield the fields of a block in the order in which they are written, blocks before what is in them."""
    first = ("schema_version",) if "schema_version" in entry.fields else ()
    for name in dict.fromkeys((*first, *entry.fields)):
        field = entry.fields[name]
        inside = field.holds if isinstance(field.holds, EntryBlock) else None
        whole = f"{way}{name}{'[]' if field.is_list and inside else ''}"
        kind = "list" if field.is_list else "block" if inside else field.holds.name
        yield DescribedField(whole, kind, field.required, field.description)
        if inside:
            yield from described_fields(inside, f"{whole}.")
